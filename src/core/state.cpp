#include "core/state.hpp"

#include <algorithm>

#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/limiting.hpp"
#include "core/submitting.hpp"

namespace flowfabric {
namespace {

PublicState terminal_state(Outcome outcome) {
  switch (outcome) {
    case Outcome::success: return PublicState::completed;
    case Outcome::cancelled: return PublicState::cancelled;
    case Outcome::expired: return PublicState::expired;
    case Outcome::skipped: return PublicState::skipped;
    // A terminal execution without an outcome cannot exist; it would be shown as failed, to be noticed.
    case Outcome::none:
    case Outcome::failed: return PublicState::failed;
  }
  return PublicState::failed;
}

bool awaits_approval(const WaitFacts& waits) {
  return std::any_of(waits.open.begin(), waits.open.end(),
                     [](const WaitpointFacts& waitpoint) { return waitpoint.waited_for && waitpoint.approval; });
}

bool is_suspended_attempt(const Facts& facts) {
  return !facts.pending && facts.attempt && facts.attempt->attempt_state == AttemptState::suspended;
}

AttemptPhase attempt_phase(const Facts& facts) {
  if (facts.phase == Phase::terminal) return facts.attempt ? AttemptPhase::attempt_terminal : AttemptPhase::none;
  if (facts.pending) {
    switch (facts.pending->type) {
      case AttemptType::initial: return AttemptPhase::pending_first_attempt;
      case AttemptType::retry: return AttemptPhase::pending_retry_attempt;
      case AttemptType::reclaim: return AttemptPhase::pending_reclaim_attempt;
      case AttemptType::replay: return AttemptPhase::pending_replay_attempt;
    }
  }
  if (facts.lease) return AttemptPhase::running_attempt;
  return AttemptPhase::attempt_interrupted;
}

Ownership ownership(const Facts& facts) {
  if (facts.phase != Phase::active) return Ownership::unowned;
  if (facts.lease) return Ownership::leased;
  return facts.lost.cause == LeaseLoss::revoked ? Ownership::lease_revoked : Ownership::lease_expired_reclaimable;
}

bool lane_blocks_claims(LaneState lane) { return lane == LaneState::paused || lane == LaneState::disabled; }

Eligibility eligibility(const Facts& facts, LaneState lane) {
  if (facts.phase != Phase::runnable) return Eligibility::not_applicable;
  if ((facts.gates & dependency_gate) != 0) return Eligibility::blocked_by_dependencies;
  if (facts.delay_until != 0) return Eligibility::not_eligible_until_time;
  if (facts.limits.held) {
    return facts.limits.held->by_budget ? Eligibility::blocked_by_budget : Eligibility::blocked_by_quota;
  }
  if (lane_blocks_claims(lane)) return Eligibility::blocked_by_lane_state;
  return Eligibility::eligible_now;
}

BlockingReason delay_reason(DelayCause cause) {
  switch (cause) {
    case DelayCause::backoff: return BlockingReason::waiting_for_retry_backoff;
    case DelayCause::reclaim_grace: return BlockingReason::waiting_for_reclaim_grace;
    default: return BlockingReason::waiting_for_delay;
  }
}

BlockingReason blocking_reason(const Execution& execution, LaneState lane) {
  const Facts& facts = execution.facts;
  if (facts.phase == Phase::active && !facts.lease) return BlockingReason::waiting_for_reclaim;
  if (facts.phase == Phase::suspended) {
    return awaits_approval(*facts.waits) ? BlockingReason::waiting_for_approval : BlockingReason::waiting_for_signal;
  }
  if (facts.phase != Phase::runnable) return BlockingReason::none;
  if ((facts.gates & dependency_gate) != 0) return BlockingReason::waiting_for_children;
  if (facts.delay_until != 0) return delay_reason(facts.delay_cause);
  if (facts.grant) return BlockingReason::reserved_by_grant;
  if (facts.limits.held) {
    return facts.limits.held->by_budget ? BlockingReason::waiting_for_budget : BlockingReason::waiting_for_limit;
  }
  if (lane_blocks_claims(lane)) return BlockingReason::paused_by_lane;
  return execution.spec.required_capabilities.empty() ? BlockingReason::waiting_for_worker
                                                      : BlockingReason::waiting_for_capable_worker;
}

// What it waits for, and what happens if that does not come.
std::vector<Reason> explain_wait(const WaitFacts& waits) {
  const Wait& wait = *waits.wait;
  const std::string code(
      to_string(awaits_approval(waits) ? BlockingReason::waiting_for_approval : BlockingReason::waiting_for_signal));
  const std::string until = wait.timeout_at == 0
                                ? ""
                                : "; at " + format_utc(wait.timeout_at) + ": " +
                                      std::string(to_string(wait.escalated ? wait.after_escalation : wait.on_timeout));
  std::vector<Reason> reasons;
  for (const std::string& one : missing(wait.condition, signals_of_wait(waits))) {
    reasons.push_back({code, "It waits for " + one + until + ".", wait.timeout_at});
  }
  return reasons;
}

std::string listed_tags(const Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) {
    if (text.empty()) text = "\x1f";
    text += key;
    text += '=';
    text += value;
    text += '\x1f';
  }
  return text;
}

Reason delay_sentence(const Execution& execution) {
  const Facts& facts = execution.facts;
  const std::string until = format_utc(facts.delay_until);
  if (is_collecting(facts)) {
    return {"waiting_for_delay",
            "It starts at " + until + ", unless another create comes with debounce key \"" + execution.spec.submit_key +
                "\"; it has the input of the last of " + std::to_string(std::uint64_t{facts.submit.merged} + 1) + ".",
            facts.delay_until};
  }
  switch (facts.delay_cause) {
    case DelayCause::backoff:
      return {"waiting_for_retry_backoff", "Its last attempt failed; the next one may start at " + until + ".",
              facts.delay_until};
    case DelayCause::reclaim_grace:
      return {"waiting_for_reclaim_grace", "Its lease was lost; it may be claimed again at " + until + ".",
              facts.delay_until};
    case DelayCause::worker:
      return {"waiting_for_delay", "Its worker delayed it until " + until + ".", facts.delay_until};
    default: return {"waiting_for_delay", "It was submitted to start at " + until + ".", facts.delay_until};
  }
}

Reason grant_sentence(const HeldGrant& grant) {
  return {"reserved_by_grant",
          "A " + std::string(to_string(grant.kind)) + " grant reserves it for worker " + grant.worker_id + " until " +
              format_utc(grant.expires_at) + ".",
          grant.expires_at};
}

Reason capability_sentence(const Spec& spec, bool capable_worker_lives) {
  const std::string wanted = join(spec.required_capabilities, ", ");
  return {"waiting_for_capable_worker",
          capable_worker_lives ? "Only a worker that offers " + wanted + " may claim it; such a worker is live."
                               : "Only a worker that offers " + wanted + " may claim it; no live worker offers " +
                                     wanted + " on lane \"" + spec.lane + "\".",
          0};
}

// The upstream nodes whose edges of one group are not resolved, as far as they are known.
std::string open_edges(const Membership& member, std::uint32_t group, const Surroundings& surroundings) {
  std::string text;
  std::size_t named = 0;
  for (const IncomingEdge& edge : member.incoming) {
    if (edge.group != group) continue;
    const auto upstream = surroundings.upstream.find(edge.from);
    if (upstream == surroundings.upstream.end()) continue;
    if (++named > limits::max_explained_edges) break;
    if (!text.empty()) text += ", ";
    text += upstream->second + " (" + std::string(to_string(edge.kind)) + ")";
  }
  return text;
}

std::string what_it_waits_for(const IncomingGroup& group, const GroupTally& tally) {
  const std::uint32_t open = group.edges - tally.satisfied - tally.unsatisfiable;
  const std::string of_all = " of " + std::to_string(group.edges);
  if (group.policy == GroupPolicy::gather) {
    return "It is a flow and ends with the nodes in it; " + std::to_string(open) + of_all + " have not ended";
  }
  if (is_inner_group(group.name)) return "The flow in which it lies has not begun";
  const std::string name = group.name.empty() ? "its upstream nodes" : "group \"" + group.name + "\"";
  return "It waits for " + name + ": " + std::to_string(tally.satisfied) + " of " + std::to_string(group.needed) +
         " needed edges are satisfied, " + std::to_string(open) + of_all + " are open";
}

void explain_dependencies(const Execution& execution, const Surroundings& surroundings, std::vector<Reason>& reasons) {
  const Membership& member = *execution.spec.member;
  for (std::uint32_t i = 0; i < member.groups.size(); ++i) {
    const IncomingGroup& group = member.groups[i];
    const GroupTally& tally = execution.facts.member->groups[i];
    if (tally.state != GroupState::waiting) continue;
    const std::string open = open_edges(member, i, surroundings);
    reasons.push_back(
        {"waiting_for_children", what_it_waits_for(group, tally) + (open.empty() ? "." : ": " + open + "."), 0});
  }
}

// How much the limit allows, in words.
std::string allowance(const LimitInfo& limit) {
  std::string text;
  if (limit.concurrency) text = std::to_string(*limit.concurrency) + " at a time";
  if (!limit.rate) return text;
  if (!text.empty()) text += " and ";
  return text + std::to_string(limit.rate->count) + " in " + std::to_string(limit.rate->period_ms) + " ms";
}

std::string holders_text(const LimitUse& use) {
  if (use.in_use == 0) return {};
  if (use.holders.empty()) return "; executions of other namespaces have its " + std::to_string(use.in_use) + " slots";
  std::string text = "; its slots are held by ";
  const std::size_t shown = std::min(use.holders.size(), limits::max_explained_holders);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + to_string(use.holders[i]);
  if (use.in_use > shown) text += " and " + std::to_string(use.in_use - shown) + " more";
  return text;
}

Reason limit_sentence(const Surroundings::Limited& limited, TimestampMs since) {
  const LimitUse& use = limited.use;
  const std::string of = use.key.empty() ? "" : " of " + join(use.key, ", ");
  const std::string next = use.next_start_at == 0 ? "" : "; the next one may start at " + format_utc(use.next_start_at);
  return {"waiting_for_limit",
          "Limit \"" + limited.limit.name + "\" has held it back since " + format_utc(since) + ": it lets executions" +
              of + " start " + allowance(limited.limit) + "; " + std::to_string(use.held_back) + " wait for it" +
              holders_text(use) + next + ".",
          use.next_start_at};
}

std::string dimension_text(const DimensionUse& use, std::int64_t need) {
  std::string text = std::to_string(use.spent) + " " + use.name + " spent";
  if (use.reserved != 0) text += ", " + std::to_string(use.reserved) + " reserved";
  if (use.hard) text += " of " + std::to_string(*use.hard);
  if (need > 0) text += ", it reserves " + std::to_string(need);
  if (use.hard && need > *use.hard) text += ", which is more than the budget allows at all";
  return text;
}

Reason budget_sentence(const Execution& execution, const Surroundings::Limited& limited) {
  const BudgetUse& use = *limited.use.budget;
  const Amounts need = limited.limit.budget ? need_of(*limited.limit.budget, execution.spec.reserve) : Amounts{};
  const std::string of = limited.use.key.empty() ? "" : " of " + join(limited.use.key, ", ");
  std::string text = "Budget \"" + limited.limit.name + "\"" + of;
  text += use.paused ? " is paused until an operator resumes it: " : " has too little left: ";
  bool first = true;
  for (const DimensionUse& one : use.dimensions) {
    const auto wanted = need.find(one.name);
    text += (first ? "" : "; ") + dimension_text(one, wanted == need.end() ? 0 : wanted->second);
    first = false;
  }
  if (use.period_end != 0) text += "; the period ends at " + format_utc(use.period_end);
  return {"waiting_for_budget", text + "; " + std::to_string(limited.use.held_back) + " wait for it.",
          use.paused ? 0 : use.period_end};
}

std::vector<Reason> explain_runnable(const Execution& execution, const Surroundings& surroundings) {
  const LaneInfo& lane = surroundings.lane;
  const std::uint64_t ahead = surroundings.ahead;
  std::vector<Reason> reasons;
  const bool gated = (execution.facts.gates & dependency_gate) != 0;
  if (gated) explain_dependencies(execution, surroundings, reasons);
  if (execution.facts.delay_until != 0) reasons.push_back(delay_sentence(execution));
  if (execution.facts.grant) reasons.push_back(grant_sentence(*execution.facts.grant));
  if (surroundings.limited) {
    const auto& held = execution.facts.limits.held;
    const bool by_budget = held && held->by_budget && surroundings.limited->use.budget;
    reasons.push_back(by_budget ? budget_sentence(execution, *surroundings.limited)
                                : limit_sentence(*surroundings.limited, held->since));
  }
  if (lane_blocks_claims(lane.state)) {
    reasons.push_back({"paused_by_lane",
                       "Lane \"" + lane.lane + "\" is " + std::string(to_string(lane.state)) +
                           " and hands out no executions" + (lane.reason.empty() ? "." : " (" + lane.reason + ")."),
                       0});
  }
  if (!execution.spec.required_capabilities.empty()) {
    reasons.push_back(capability_sentence(execution.spec, surroundings.capable_worker_lives));
  }
  const bool waits_for_worker =
      !gated && execution.facts.delay_until == 0 && !execution.facts.grant && !execution.facts.limits.held;
  if (!waits_for_worker) return reasons;
  std::string sentence = ahead == 0   ? "It is next in its queue and waits for a worker to claim it."
                         : ahead == 1 ? "One execution is ahead of it in its queue."
                                      : std::to_string(ahead) + " executions are ahead of it in its queue.";
  if (const auto& share = surroundings.share) {
    sentence += " The share \"" + share->first + "\" gives its key turns by the weight " +
                std::to_string(share->second) + "; executions of other keys that come later may be served before it.";
  }
  reasons.push_back({"waiting_for_worker", std::move(sentence), 0});
  return reasons;
}

}  // namespace

PublicState public_state(const Facts& facts) {
  switch (facts.phase) {
    case Phase::terminal: return terminal_state(facts.outcome);
    case Phase::suspended: return PublicState::suspended;
    // Without a lease nobody runs it: it waits for a reclaim.
    case Phase::active: return facts.lease ? PublicState::active : PublicState::waiting;
    case Phase::runnable: break;
  }
  if ((facts.gates & dependency_gate) != 0) return PublicState::waiting_children;
  if (facts.delay_until != 0) return PublicState::delayed;
  return is_suspended_attempt(facts) ? PublicState::resumable : PublicState::waiting;
}

StateVector state_vector(const Execution& execution, LaneState lane) {
  const Facts& facts = execution.facts;
  StateVector vector;
  vector.lifecycle_phase = facts.phase;
  vector.ownership_state = ownership(facts);
  vector.eligibility_state = eligibility(facts, lane);
  vector.blocking_reason = blocking_reason(execution, lane);
  vector.terminal_outcome = facts.outcome;
  vector.attempt_state = attempt_phase(facts);
  vector.public_state = public_state(facts);
  return vector;
}

std::vector<Reason> explain(const Execution& execution, const Surroundings& surroundings) {
  const Facts& facts = execution.facts;
  switch (facts.phase) {
    case Phase::terminal:
      return {{"terminal",
               "It has ended: " + std::string(to_string(public_state(facts))) + " at " + format_utc(facts.finished_at) +
                   ".",
               0}};
    case Phase::suspended: return explain_wait(*facts.waits);
    case Phase::runnable: return explain_runnable(execution, surroundings);
    case Phase::active: break;
  }
  if (!facts.lease) {
    std::vector<Reason> reasons = {
        {"waiting_for_reclaim",
         "Its lease was " + std::string(to_string(facts.lost.cause)) +
             " and its policy requires a manual reclaim: issue a reclaim grant, or cancel it.",
         0}};
    if (facts.grant) reasons.push_back(grant_sentence(*facts.grant));
    return reasons;
  }
  if (facts.lease->expires_at <= surroundings.now) {
    return {{"lease_expired",
             "The lease of worker instance " + facts.lease->worker_instance_id + " expired at " +
                 format_utc(facts.lease->expires_at) + " and is being released.",
             surroundings.now}};
  }
  return {};
}

ExecutionSummary summarize(const Execution& execution) {
  ExecutionSummary summary;
  summary.execution_id = execution.id;
  summary.name_space = execution.spec.name_space;
  summary.lane = execution.spec.lane;
  summary.kind = execution.spec.kind;
  summary.public_state = public_state(execution.facts);
  summary.priority = execution.facts.priority;
  summary.tags = execution.facts.tags;
  summary.created_at = execution.spec.created_at;
  summary.started_at = execution.facts.started_at;
  summary.finished_at = execution.facts.finished_at;
  summary.attempt_count = execution.facts.attempt_count;
  if (execution.spec.member) {
    summary.flow_id = flow_of(execution);
    summary.node = execution.spec.member->node;
  }
  return summary;
}

FlowSummary summarize(const FlowRecord& flow) {
  const FlowFacts& facts = flow.facts;
  FlowSummary summary;
  summary.flow_id = flow.id;
  summary.name_space = flow.spec.name_space;
  summary.kind = flow.spec.kind;
  summary.state = facts.state;
  summary.counts = {
      facts.members, facts.members - facts.ended(), facts.succeeded, facts.failed, facts.cancelled, facts.expired,
      facts.skipped};
  summary.tags = facts.tags;
  summary.created_at = flow.spec.created_at;
  summary.finished_at = facts.finished_at;
  return summary;
}

Listing listing_of(const Execution& execution) {
  Listing listing;
  listing.name_space = execution.spec.name_space;
  listing.lane = execution.spec.lane;
  listing.kind = execution.spec.kind;
  if (execution.spec.flow) {
    const auto& bytes = execution.spec.flow->bytes;
    listing.flow.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  listing.state = static_cast<std::uint8_t>(public_state(execution.facts));
  listing.created_at = execution.spec.created_at;
  listing.finished_at = execution.facts.finished_at;
  listing.tags = listed_tags(execution.facts.tags);
  return listing;
}

Listing listing_of(const FlowRecord& flow) {
  Listing listing;
  listing.name_space = flow.spec.name_space;
  listing.kind = flow.spec.kind;
  listing.state = static_cast<std::uint8_t>(flow.facts.state);
  listing.created_at = flow.spec.created_at;
  listing.finished_at = flow.facts.finished_at;
  listing.tags = listed_tags(flow.facts.tags);
  return listing;
}

std::optional<ReadyEntry> ready_entry(const Execution& execution) {
  const Facts& facts = execution.facts;
  if (facts.ready_sequence == 0 || facts.grant) return std::nullopt;
  return ReadyEntry{execution.spec.route, facts.priority, facts.ready_sequence, execution_key(execution.id),
                    execution.spec.name_space};
}

Route route_of(const Spec& spec) { return {spec.route, spec.lane, spec.required_capabilities, spec.name_space}; }

bool has_started(const Facts& facts) {
  const bool is_replayed = facts.pending && facts.pending->type == AttemptType::replay;
  return facts.attempt_count > 0 && !is_replayed;
}

TimestampMs next_due(const Facts& facts) {
  // Long ago: the clock goes to it at once.
  if (owes_slots(facts) || owes_key(facts)) return facts.last_transition_at;
  // `finished_at` is now: the clock goes to it at once.
  if ((facts.gates & untold_schedule) != 0) return facts.finished_at;
  const TimestampMs due = facts.phase == Phase::terminal ? facts.retain_until : next_transition(facts);
  if (!facts.member || facts.member->work_at == 0) return due;
  return due == 0 ? facts.member->work_at : std::min(due, facts.member->work_at);
}

TimestampMs next_due(const FlowFacts& facts) {
  if (facts.untold_schedule) return facts.finished_at;
  if (facts.replay) return facts.replay->at;
  if (facts.cancel && !facts.cancel->done) return facts.cancel->at;
  return has_ended(facts.state) ? facts.retain_until : facts.deadline_at;
}

TimestampMs next_transition(const Facts& facts) {
  TimestampMs due = 0;
  const auto consider = [&](TimestampMs at) {
    if (at != 0 && (due == 0 || at < due)) due = at;
  };
  if (facts.phase == Phase::terminal) return 0;
  consider(facts.deadline_at);
  if (facts.grant) consider(facts.grant->expires_at);
  // A grant prevents transitions that would make the execution claimable for others.
  if (facts.phase == Phase::runnable && !facts.grant) consider(facts.delay_until);
  if (facts.phase == Phase::suspended) consider(facts.waits->wait->timeout_at);
  if (facts.phase == Phase::active && facts.lease) {
    consider(facts.lease->expires_at);
    if (facts.attempt) consider(facts.attempt->timeout_at);
  }
  return due;
}

TimestampMs next_due(const WorkerRecord& worker) {
  // Where the entry of a lapsed worker already is: the clock continues with other due entries, and returns to it.
  if (worker.release_until != 0) return worker.release_until;
  if (worker.info.state == WorkerState::live) return worker.info.expires_at;
  return worker.info.ended_at + limits::dead_worker_retention_ms;
}

bool has_lost_lease(const Facts& facts) {
  if (facts.lost.cause == LeaseLoss::none || facts.lease) return false;
  if (facts.phase == Phase::active) return true;
  return facts.phase == Phase::runnable && facts.delay_until != 0 && facts.delay_cause == DelayCause::reclaim_grace;
}

std::uint64_t holder_group(std::string_view name_space, std::string_view worker_instance_id) {
  std::string name(name_space);
  name += '\0';
  name += worker_instance_id;
  return (fnv1a64(name) >> 2) + 2;
}

// Behind the groups of holders, which are below 2^62 + 2.
std::optional<std::uint64_t> group_of_state(PublicState state) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 62) + 256;
  switch (state) {
    case PublicState::failed:
    case PublicState::cancelled:
    case PublicState::expired:
    case PublicState::skipped: return first + static_cast<std::uint8_t>(state);
    default: return std::nullopt;
  }
}

Grouping grouping(const Execution& execution) {
  const Facts& facts = execution.facts;
  if (facts.lease) {
    return {holder_group(facts.lease->worker_namespace, facts.lease->worker_instance_id), facts.lease->acquired_at};
  }
  if (has_lost_lease(facts)) return {lost_leases_group, facts.lost.lost_at};
  if (facts.phase == Phase::suspended) {
    return {awaits_approval(*facts.waits) ? approvals_group : waits_group, facts.waits->wait->since};
  }
  if (const auto& held = facts.limits.held) {
    return {group_held_by(held->pool, execution.spec.route), held_rank(facts.priority, held->ready_sequence)};
  }
  if (facts.phase != Phase::terminal) return {};
  const auto group = group_of_state(public_state(facts));
  return group ? Grouping{*group, execution.spec.created_at} : Grouping{};
}

Grouping grouping(const PoolRecord& pool) {
  return {group_of_pools(pool.limit), static_cast<std::int64_t>(pool.revision)};
}

WorkerInfo worker_info(const WorkerRecord& worker, TimestampMs now) {
  WorkerInfo info = worker.info;
  if (info.state == WorkerState::live && info.expires_at <= now) info.state = WorkerState::lapsed;
  return info;
}

}  // namespace flowfabric
