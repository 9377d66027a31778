// Reads of the fleet: workers, expired leases, signing keys.
#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/ingress.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t worker_cursor_version = 1;
constexpr std::uint8_t lease_cursor_version = 1;
constexpr std::uint8_t held_lease_cursor_version = 2;
constexpr std::uint32_t scan_page = 500;

// ---- Workers

std::string worker_cursor(const WorkerInfo& last) {
  Encoder out;
  out.u8(worker_cursor_version);
  out.text(last.name_space);
  out.text(last.worker_instance_id);
  return to_base64url(out.take());
}

// The key after which the scan continues.
Result<std::string> scan_start(const ListWorkersRequest& request) {
  if (request.cursor.empty()) {
    if (!request.name_space) return std::string();
    // All keys of the namespace come after its name and a zero.
    return static_cast<char>(RecordKind::worker) + *request.name_space + '\0';
  }
  const auto bytes = from_base64url(request.cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == worker_cursor_version;
  const std::string name_space = in.text();
  const std::string instance = in.text();
  if (!known || !in.at_end() || !admit_worker_name(name_space, instance)) return Unexpected(bad_cursor());
  if (request.name_space && *request.name_space != name_space) return Unexpected(bad_cursor());
  return worker_key(name_space, instance).bytes;
}

bool contains(const std::vector<std::string>& sorted, const std::string& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

bool wanted(const WorkerInfo& info, const ListWorkersRequest& request) {
  if (!request.include_expired && info.state != WorkerState::live) return false;
  if (request.lane && !contains(info.lanes, *request.lane)) return false;
  return !request.capability || contains(info.capabilities, *request.capability);
}

// Calls `visit` with every worker after `start`, in order, until it returns false.
template <class Visit>
Result<void> each_worker(Store& store, std::string start, TimestampMs now, Visit visit) {
  for (;;) {
    FF_TRY(records, store.scan(RecordKind::worker, start, scan_page));
    for (const Record& record : records) {
      const auto worker = decode_worker(record.body);
      if (!worker) continue;  // damaged; an integrity check names it
      if (!visit(worker_info(*worker, now))) return {};
    }
    if (records.size() < scan_page) return {};
    start = records.back().key.bytes;
  }
}

// ---- Leases

struct LeasePosition {
  TimestampMs at = 0;  // when it ceased, or when it was acquired
  Key key;

  friend auto operator<=>(const LeasePosition&, const LeasePosition&) = default;
};

LeasePosition position_of(const ExpiredLease& lease) { return {lease.expires_at, execution_key(lease.execution_id)}; }

std::string lease_cursor(std::uint8_t version, const LeasePosition& last) {
  Encoder out;
  out.u8(version);
  out.number(last.at);
  out.text(last.key.bytes);
  return to_base64url(out.take());
}

Result<std::optional<LeasePosition>> decode_lease_cursor(std::uint8_t version, const std::string& cursor) {
  if (cursor.empty()) return std::optional<LeasePosition>{};
  const auto bytes = from_base64url(cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == version;
  LeasePosition position;
  position.at = in.number();
  position.key.bytes = in.text();
  constexpr std::size_t execution_key_bytes = 19;
  if (!known || !in.at_end() || position.key.bytes.size() != execution_key_bytes ||
      position.key.kind() != RecordKind::execution) {
    return Unexpected(bad_cursor());
  }
  return std::optional<LeasePosition>{position};
}

// The lease of this execution that has expired by `as_of`, or that was lost and not claimed again.
std::optional<ExpiredLease> expired_lease(const Execution& execution, TimestampMs as_of) {
  const Facts& facts = execution.facts;
  ExpiredLease found;
  found.execution_id = execution.id;
  found.name_space = execution.spec.name_space;
  if (facts.lease && facts.attempt) {
    found.lease_id = facts.lease->lease_id;
    found.lease_epoch = facts.lease->lease_epoch;
    found.worker_id = facts.lease->worker_id;
    found.worker_instance_id = facts.lease->worker_instance_id;
    found.attempt_index = facts.attempt->attempt_index;
    found.expires_at = facts.lease->expires_at;
  } else if (has_lost_lease(facts)) {
    found.lease_id = facts.lost.lease_id;
    found.lease_epoch = facts.lost.lease_epoch;
    found.worker_id = facts.lost.worker_id;
    found.worker_instance_id = facts.lost.worker_instance_id;
    found.attempt_index = facts.lost.attempt_index;
    found.expires_at = facts.lost.lost_at;
    found.cause = facts.lost.cause;
  } else {
    return std::nullopt;
  }
  if (found.expires_at > as_of) return std::nullopt;
  return found;
}

// Collects the first `limit` leases after a position, in any order of arrival.
class FirstLeases {
 public:
  FirstLeases(const ListExpiredLeasesRequest& request, TimestampMs as_of, std::optional<LeasePosition> after)
      : request_(request), as_of_(as_of), after_(std::move(after)) {}

  TimestampMs as_of() const { return as_of_; }
  const std::optional<LeasePosition>& after() const { return after_; }

  Result<void> offer(Store& store, const std::vector<DueEntry>& entries) {
    std::vector<Key> keys;
    for (const DueEntry& entry : entries) {
      if (entry.key.kind() == RecordKind::execution) keys.push_back(entry.key);
    }
    if (keys.empty()) return {};
    FF_TRY(records, store.load(keys));
    for (const Record& record : records) {
      const auto execution = decode_execution(record);
      if (!execution) continue;  // damaged; a listing shows it
      const auto lease = expired_lease(*execution, as_of_);
      if (lease) take(*lease);
    }
    return {};
  }

  // No lease that expires at `expires_at` or later can still be among the first.
  bool complete_before(TimestampMs expires_at) const {
    return found_.size() > request_.limit && found_.rbegin()->first.at < expires_at;
  }

  ListExpiredLeasesReply reply() && {
    ListExpiredLeasesReply reply;
    const bool more = found_.size() > request_.limit;
    for (auto& [position, lease] : found_) {
      if (reply.leases.size() == request_.limit) break;
      reply.leases.push_back(std::move(lease));
    }
    if (more) reply.next_cursor = lease_cursor(lease_cursor_version, position_of(reply.leases.back()));
    return reply;
  }

 private:
  void take(const ExpiredLease& lease) {
    if (request_.name_space && lease.name_space != *request_.name_space) return;
    const LeasePosition position = position_of(lease);
    if (after_ && position <= *after_) return;
    found_.insert_or_assign(position, lease);
    // One more than requested, to know whether there are more.
    if (found_.size() > request_.limit + 1) found_.erase(std::prev(found_.end()));
  }

  const ListExpiredLeasesRequest& request_;
  TimestampMs as_of_;
  std::optional<LeasePosition> after_;
  std::map<LeasePosition, ExpiredLease> found_;
};

// Leases that have not been released yet. Their due entries are not later than their expiry.
Result<void> offer_unswept(Store& store, FirstLeases& first) {
  std::optional<DuePosition> after;
  for (;;) {
    FF_TRY(entries, store.due_entries(after, first.as_of(), scan_page));
    FF_TRY_VOID(first.offer(store, entries));
    if (entries.size() < scan_page || first.complete_before(entries.back().due_at)) return {};
    after = DuePosition{entries.back().due_at, entries.back().key};
  }
}

// Leases that were lost and not claimed again. Their group has the order of the reply, so the scan starts at the
// cursor.
Result<void> offer_lost(Store& store, FirstLeases& first) {
  std::optional<Store::GroupPosition> after;
  if (first.after()) after = Store::GroupPosition{first.after()->at, first.after()->key};
  for (;;) {
    FF_TRY(entries, store.group_entries(lost_leases_group, after, scan_page));
    FF_TRY_VOID(first.offer(store, entries));
    if (entries.size() < scan_page || entries.back().rank > first.as_of() ||
        first.complete_before(entries.back().rank)) {
      return {};
    }
    after = Store::GroupPosition{entries.back().rank, entries.back().key};
  }
}

// The lease of this execution, if the worker holds it: the group of an entry only shows where to look.
std::optional<HeldLease> held_lease(const Execution& execution, const ListWorkerLeasesRequest& request) {
  const Facts& facts = execution.facts;
  if (!facts.lease || !facts.attempt || facts.lease->worker_namespace != request.name_space ||
      facts.lease->worker_instance_id != request.worker_instance_id) {
    return std::nullopt;
  }
  const Spec& spec = execution.spec;
  if (request.execution_namespace && spec.name_space != *request.execution_namespace) return std::nullopt;
  return HeldLease{execution.id,
                   spec.name_space,
                   spec.lane,
                   spec.kind,
                   facts.attempt->attempt_index,
                   facts.lease->lease_epoch,
                   facts.lease->acquired_at,
                   facts.lease->renewed_at,
                   facts.lease->expires_at};
}

}  // namespace

Result<ListWorkerLeasesReply> worker_leases(Store& store, const ListWorkerLeasesRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(from, decode_lease_cursor(held_lease_cursor_version, request.cursor));
  const std::uint64_t group = holder_group(request.name_space, request.worker_instance_id);
  std::optional<Store::GroupPosition> after;
  if (from) after = Store::GroupPosition{from->at, from->key};
  ListWorkerLeasesReply reply;
  LeasePosition last;
  for (;;) {
    FF_TRY(entries, store.group_entries(group, after, scan_page));
    if (entries.empty()) return reply;
    std::vector<Key> keys;
    for (const DueEntry& entry : entries) keys.push_back(entry.key);
    FF_TRY(records, store.load(keys));
    std::map<Key, const Record*> by_key;
    for (const Record& record : records) by_key[record.key] = &record;
    for (const DueEntry& entry : entries) {
      const auto record = by_key.find(entry.key);
      const auto execution =
          record == by_key.end() ? Result<Execution>(Unexpected(Error{})) : decode_execution(*record->second);
      const auto lease = execution ? held_lease(*execution, request) : std::nullopt;  // gone meanwhile, or damaged
      if (!lease) continue;
      if (reply.leases.size() == request.limit) {
        reply.next_cursor = lease_cursor(held_lease_cursor_version, last);
        return reply;
      }
      reply.leases.push_back(*lease);
      last = {entry.rank, entry.key};
    }
    if (entries.size() < scan_page) return reply;
    after = Store::GroupPosition{entries.back().rank, entries.back().key};
  }
}

Result<ListWorkersReply> workers(Store& store, const ListWorkersRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(start, scan_start(request));
  FF_TRY(now_us, store.now_us());
  ListWorkersReply reply;
  FF_TRY_VOID(each_worker(store, std::move(start), now_us / 1000, [&](WorkerInfo info) {
    if (request.name_space && info.name_space != *request.name_space) return false;
    if (!wanted(info, request)) return true;
    if (reply.workers.size() == request.limit) {
      reply.next_cursor = worker_cursor(reply.workers.back());
      return false;
    }
    reply.workers.push_back(std::move(info));
    return true;
  }));
  return reply;
}

Result<LiveWorkers> count_workers(Store& store) {
  FF_TRY(now_us, store.now_us());
  LiveWorkers count;
  FF_TRY_VOID(each_worker(store, {}, now_us / 1000, [&](const WorkerInfo& info) {
    if (info.state == WorkerState::live) ++(info.draining ? count.draining : count.working);
    return true;
  }));
  return count;
}

Result<bool> capable_worker_lives(Store& store, const Spec& spec, TimestampMs now) {
  bool lives = false;
  FF_TRY_VOID(each_worker(store, {}, now, [&](const WorkerInfo& info) {
    lives = info.state == WorkerState::live && contains(info.lanes, spec.lane) &&
            covers(info.capabilities, spec.required_capabilities);
    return !lives;
  }));
  return lives;
}

Result<ListExpiredLeasesReply> expired_leases(Store& store, const ListExpiredLeasesRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(after, decode_lease_cursor(lease_cursor_version, request.cursor));
  TimestampMs as_of = 0;
  if (request.as_of) {
    as_of = *request.as_of;
  } else {
    FF_TRY(now_us, store.now_us());
    as_of = now_us / 1000;
  }
  FirstLeases first(request, as_of, std::move(after));
  FF_TRY_VOID(offer_unswept(store, first));
  FF_TRY_VOID(offer_lost(store, first));
  return std::move(first).reply();
}

Result<std::vector<SigningKeyInfo>> keys(Store& store) {
  FF_TRY(records, store.load({keyring_key()}));
  std::vector<SigningKeyInfo> infos;
  if (records.empty()) return infos;
  FF_TRY(keyring, decode_keyring(records.front().body));
  for (const auto& key : keyring.keys) infos.push_back({key.key_id, key.created_at, key.expires_at});
  return infos;
}

Result<std::vector<ApiKeyInfo>> api_keys(Store& store) {
  FF_TRY(record, api_keys_record(store));
  std::vector<ApiKeyInfo> infos;
  for (const auto& key : record.keys) infos.push_back(key.info);
  return infos;
}

Result<HooksRecord> hooks_record(Store& store) {
  FF_TRY(records, store.load({hooks_key()}));
  if (records.empty()) return HooksRecord{};
  return decode_hooks(records.front().body);
}

Result<std::vector<HookInfo>> hooks(Store& store) {
  FF_TRY(record, hooks_record(store));
  FF_TRY(now_us, store.now_us());
  std::vector<HookInfo> infos;
  for (const HooksRecord::Hook& hook : record.hooks) infos.push_back(info_of(hook, now_us / 1000));
  return infos;
}

Result<ApiKeysRecord> api_keys_record(Store& store) {
  FF_TRY(records, store.load({api_keys_key()}));
  if (records.empty()) return ApiKeysRecord{};
  return decode_api_keys(records.front().body);
}

}  // namespace flowfabric::reads
