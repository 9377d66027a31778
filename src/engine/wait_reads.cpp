// Reading what executions wait for.
#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/ingress.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t wait_cursor_version = 1;
constexpr std::uint32_t wait_page = 500;
constexpr int most_wait_pages = 20;  // that one call examines: a page that finds little ends with a cursor

WaitpointInfo waitpoint_info(const WaitFacts& waits, const WaitpointFacts& waitpoint) {
  WaitpointInfo info;
  info.name = waitpoint.name;
  info.number = waitpoint.number;
  info.opened_at = waitpoint.opened_at;
  info.waited_for = waitpoint.waited_for;
  info.signals =
      static_cast<std::uint32_t>(std::count_if(waits.signals.begin(), waits.signals.end(), [&](const KeptSignal& kept) {
        return kept.waitpoint_number == waitpoint.number;
      }));
  if (waitpoint.approval) {
    ApprovalInfo& approval = info.approval.emplace();
    approval.title = waitpoint.approval->title;
    approval.approvers = waitpoint.approval->approvers;
    approval.needed = waitpoint.approval->needed;
    approval.rejections = waitpoint.approval->rejections;
    approval.decisions = decisions_at(waits, waitpoint.number);
  }
  return info;
}

WaitInfo wait_info(const Wait& wait) {
  WaitInfo info;
  info.number = wait.number;
  info.reason = wait.reason;
  info.since = wait.since;
  info.timeout_at = wait.timeout_at;
  info.on_timeout = wait.escalated ? wait.after_escalation : wait.on_timeout;
  info.escalated = wait.escalated;
  info.condition = wait.condition;
  info.veto = wait.veto;
  return info;
}

Result<void> add_context(Store& store, const Execution& execution, WaitpointInfo& info) {
  if (!info.approval) return {};
  FF_TRY(found, store.load_satellites(execution_key(execution.id),
                                      static_cast<std::uint8_t>(SatelliteKind::approval_context), info.number, 1));
  if (found.empty() || found.front().name.n != info.number) return {};
  FF_TRY(context, decode_approval_context(found.front().body));
  info.approval->context = std::move(context.context);
  info.approval->context_encoding = std::move(context.context_encoding);
  return {};
}

WaitingExecution waiting_execution(const Execution& execution) {
  const WaitFacts& waits = *execution.facts.waits;
  WaitingExecution waiting;
  waiting.execution_id = execution.id;
  waiting.name_space = execution.spec.name_space;
  waiting.lane = execution.spec.lane;
  waiting.kind = execution.spec.kind;
  waiting.reason = waits.wait->reason;
  waiting.since = waits.wait->since;
  waiting.timeout_at = waits.wait->timeout_at;
  waiting.escalated = waits.wait->escalated;
  for (const WaitpointFacts& waitpoint : waits.open) {
    if (waitpoint.waited_for) waiting.waitpoints.push_back(waitpoint_info(waits, waitpoint));
  }
  return waiting;
}

std::string wait_cursor(const Store::GroupPosition& position) {
  Encoder out;
  out.u8(wait_cursor_version);
  out.number(position.rank);
  out.text(position.key.bytes);
  return to_base64url(out.take());
}

Result<std::optional<Store::GroupPosition>> decode_wait_cursor(const std::string& cursor) {
  if (cursor.empty()) return std::optional<Store::GroupPosition>();
  const auto bytes = from_base64url(cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == wait_cursor_version;
  Store::GroupPosition position;
  position.rank = in.number();
  position.key.bytes = in.text();
  if (!known || !in.at_end() || position.key.bytes.size() > limits::max_key_bytes) return Unexpected(bad_cursor());
  return std::optional(std::move(position));
}

// The suspended executions of one group that one call asks for, from the longest wait on. Both groups are read side by side
// when all waits are asked for.
class LongestWaits {
 public:
  LongestWaits(Store& store, const ListWaitsRequest& request, std::optional<Store::GroupPosition> after)
      : store_(store), request_(request), position_(std::move(after)) {}

  Result<ListWaitsReply> run() {
    for (int page = 0; page < most_wait_pages; ++page) {
      FF_TRY(entries, next_entries());
      if (entries.empty()) return std::move(reply_);
      FF_TRY(full, take(entries));
      if (full) return std::move(reply_);
    }
    reply_.next_cursor = wait_cursor(*position_);
    return std::move(reply_);
  }

 private:
  static bool is_before(const DueEntry& a, const DueEntry& b) {
    return std::pair(a.rank, a.key.bytes) < std::pair(b.rank, b.key.bytes);
  }

  Result<std::vector<DueEntry>> next_entries() {
    FF_TRY(entries, store_.group_entries(approvals_group, position_, wait_page));
    if (request_.approvals) return entries;
    FF_TRY(others, store_.group_entries(waits_group, position_, wait_page));
    // What lies behind the end of either page may still have others before it.
    const bool approvals_end = entries.size() < wait_page;
    const bool others_end = others.size() < wait_page;
    std::optional<DueEntry> horizon;
    if (!approvals_end) horizon = entries.back();
    if (!others_end && (!horizon || is_before(others.back(), *horizon))) horizon = others.back();
    entries.insert(entries.end(), others.begin(), others.end());
    std::sort(entries.begin(), entries.end(), is_before);
    if (horizon) std::erase_if(entries, [&](const DueEntry& entry) { return is_before(*horizon, entry); });
    return entries;
  }

  // Whether the page is full, or nothing is left.
  Result<bool> take(const std::vector<DueEntry>& entries) {
    std::vector<Key> keys;
    for (const DueEntry& entry : entries) keys.push_back(entry.key);
    FF_TRY(records, store_.load(keys));
    std::map<Key, const Record*> by_key;
    for (const Record& record : records) by_key[record.key] = &record;
    for (const DueEntry& entry : entries) {
      const auto record = by_key.find(entry.key);
      if (record != by_key.end()) {
        const auto execution = decode_execution(*record->second);
        if (execution && is_wanted(*execution)) {
          if (reply_.waits.size() == request_.limit) {
            reply_.next_cursor = wait_cursor(*position_);
            return true;
          }
          reply_.waits.push_back(waiting_execution(*execution));
        }
      }
      position_ = Store::GroupPosition{entry.rank, entry.key};
    }
    return false;
  }

  // It may have gone on meanwhile.
  bool is_wanted(const Execution& execution) const {
    if (execution.facts.phase != Phase::suspended) return false;
    return !request_.name_space || *request_.name_space == execution.spec.name_space;
  }

  Store& store_;
  const ListWaitsRequest& request_;
  std::optional<Store::GroupPosition> position_;
  ListWaitsReply reply_;
};

Result<std::optional<EndedWait>> last_ended_wait(Store& store, const Execution& execution) {
  if (!execution.facts.waits || !execution.facts.waits->has_outcome) return std::optional<EndedWait>();
  FF_TRY(found, store.load_satellites(execution_key(execution.id),
                                      static_cast<std::uint8_t>(SatelliteKind::wait_outcome), 0, 1));
  if (found.empty()) return std::optional<EndedWait>();
  FF_TRY(ended, decode_ended_wait(found.front().body));
  return std::optional(std::move(ended));
}

// What came of the approval, for the bearer of its token: nothing if another wait has ended since, or none ever did.
Result<void> add_ended_approval(Store& store, const Execution& execution, WaitpointInfo& info) {
  FF_TRY(ended, last_ended_wait(store, execution));
  if (!ended) return {};
  for (const EndedApproval& approval : ended->approvals) {
    if (approval.number != info.number) continue;
    info.approval = ApprovalInfo{.title = approval.title,
                                 .needed = approval.needed,
                                 .rejections = approval.rejections,
                                 .decisions = decisions_at(*ended, approval)};
    return add_context(store, execution, info);
  }
  return {};
}

}  // namespace

Result<std::optional<WaitOutcome>> last_wait(Store& store, const Execution& execution) {
  FF_TRY(ended, last_ended_wait(store, execution));
  if (!ended) return std::optional<WaitOutcome>();
  return std::optional(std::move(ended->outcome));
}

Result<ExecutionWaits> execution_waits(Store& store, const ExecutionId& id) {
  FF_TRY(execution, load_execution(store, id));
  ExecutionWaits reply;
  if (!execution.facts.waits) return reply;
  const WaitFacts& waits = *execution.facts.waits;
  if (waits.wait) reply.wait = wait_info(*waits.wait);
  for (const WaitpointFacts& waitpoint : waits.open) {
    WaitpointInfo info = waitpoint_info(waits, waitpoint);
    FF_TRY_VOID(add_context(store, execution, info));
    reply.waitpoints.push_back(std::move(info));
  }
  for (const KeptSignal& kept : waits.signals) {
    reply.signals.push_back(kept.signal);
    reply.signals.back().payload.clear();
  }
  FF_TRY(outcome, last_wait(store, execution));
  reply.last_wait = std::move(outcome);
  return reply;
}

Result<TokenInfo> token_info(Store& store, const WaitpointClaims& claims) {
  const auto execution = load_execution(store, claims.execution_id);
  if (!execution && execution.error().code != Errc::not_found) return Unexpected(execution.error());
  FF_TRY(now_us, store.now_us());
  if (!execution || (claims.expires_at != 0 && claims.expires_at <= now_us / 1000)) return refuse_wait_token();
  TokenInfo info;
  info.execution_id = claims.execution_id;
  info.name_space = execution->spec.name_space;
  info.kind = execution->spec.kind;
  info.source = claims.source;
  info.expires_at = claims.expires_at;
  info.waitpoint.name = claims.waitpoint;
  info.waitpoint.number = claims.number;
  if (!execution->facts.waits) return info;
  for (const WaitpointFacts& waitpoint : execution->facts.waits->open) {
    if (waitpoint.number != claims.number) continue;
    if (waitpoint.generation != claims.generation) return refuse_wait_token();
    info.open = true;
    info.waitpoint = waitpoint_info(*execution->facts.waits, waitpoint);
    FF_TRY_VOID(add_context(store, *execution, info.waitpoint));
  }
  if (!info.open) FF_TRY_VOID(add_ended_approval(store, *execution, info.waitpoint));
  return info;
}

Result<ListWaitsReply> waits(Store& store, const ListWaitsRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(after, decode_wait_cursor(request.cursor));
  return LongestWaits(store, request, std::move(after)).run();
}

}  // namespace flowfabric::reads
