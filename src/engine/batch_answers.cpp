// The part of a batch after its commit: verdicts, replies, and what other claims and engines must be told.
#include <algorithm>

#include "base/check.hpp"
#include "core/limiting.hpp"
#include "core/sharing.hpp"
#include "core/state.hpp"
#include "engine/batch.hpp"
#include "engine/spans.hpp"

namespace flowfabric {

void Batch::answer() {
  if (!outcome_) return fail_all(outcome_.error());
  count_batch(plan_.sets.empty() ? "unchanged" : "committed");
  count_commits();
  const auto committed = static_cast<std::size_t>(std::count(verdicts_.begin(), verdicts_.end(), Verdict::committed));
  if (!plan_.sets.empty()) {
    runtime_.health_.note_success();
    runtime_.statistics_.batches += 1;
    runtime_.statistics_.commands += size();
    runtime_.statistics_.stale += verdicts_.size() - committed;
  }
  if (from_ahead_) note_what_became_of_ahead(committed);
  // What was read ahead and is stale a search finds again, at once.
  const bool barren = !from_ahead_ && due_found_ > 0 && committed == 0;
  if (sweeping_) runtime_.sweep_finished(more_is_due_, barren);
  use_new_keys();
  const Wakeup unused = unused_offers();
  // Claims first: an earlier start of a worker is worth more than an earlier reply to a submitter.
  for (ClaimState& state : claims_) answer_claim(state);
  std::vector<Work> again;
  for (CommandState& state : commands_) answer_command(state, again);
  runtime_.enqueue_again(std::move(again));
  runtime_.after_commit(plan_, verdicts_, unused);
}

// If another engine works on the same entries, it is better to search for entries that are not locked.
void Batch::note_what_became_of_ahead(std::size_t committed) {
  runtime_.statistics_.swept_ahead += committed;
  if (committed < verdicts_.size()) runtime_.ahead_.distrust(context_.now);
}

// The verdict on the change of a record; nothing if there was none.
std::optional<Verdict> Batch::verdict_on(const Slot& slot) const {
  if (slot.planned == Slot::unplanned) return std::nullopt;
  return verdicts_[slot.planned];
}

std::optional<Verdict> Batch::verdict_on(const Key& key) const {
  const Slot* slot = workspace_.find(key);
  return slot == nullptr ? std::nullopt : verdict_on(*slot);
}

// Everything is counted before it is answered: a caller that has its answer finds it in the metrics.
void Batch::count_batch(std::string_view outcome) {
  runtime_.metrics_.batch_ended(sweeping_, outcome, size(), watch_.nanoseconds());
}

void Batch::count_commits() {
  const LimitsRecord* limits = limits_of(workspace_);
  const bool shares = limits != nullptr && any_share(*limits);
  for (const Slot* slot : workspace_.slots()) {
    if (verdict_on(*slot) != Verdict::committed) continue;
    const Execution* execution = shares ? slot->execution() : nullptr;
    const bool shared = execution != nullptr && is_shared(*limits, execution->spec.lane);
    runtime_.metrics_.committed(*slot, context_.now, shared);
    count_held_back(*slot);
    if (runtime_.options_.tracer) record_spans(*slot, *runtime_.options_.tracer);
  }
}

// The event has only the name of the limit, which a namespace and all namespaces may both have.
void Batch::count_held_back(const Slot& slot) {
  const Execution* execution = slot.erased ? nullptr : slot.execution();
  const LimitsRecord* limits = limits_of(workspace_);
  if (execution == nullptr || limits == nullptr || !execution->facts.limits.held) return;
  const bool now = std::any_of(slot.events.begin(), slot.events.end(),
                               [](const Event& event) { return event.type == EventType::limited; });
  const Slot* pool = now ? workspace_.find(execution->facts.limits.held->pool) : nullptr;
  if (pool == nullptr || pool->pool() == nullptr) return;
  const LimitDefinition* limit = limits->find(pool->pool()->limit);
  if (limit != nullptr) runtime_.metrics_.held_back(limit->info);
}

// Before the rotation is answered: from the answer on, tokens of expired keys must be refused.
void Batch::use_new_keys() {
  if (verdict_on(keyring_key()) != Verdict::committed) return;
  runtime_.set_signer(std::get<KeyringRecord>(workspace_.at(keyring_key()).record));
}

// Candidates that were reserved but not taken: other claims may have skipped them and parked. The same applies to those
// whose guard failed: they may still be claimable, and the claim that they were meant for may have taken others; and to
// those that were given out and taken back. Of a batch that failed, these are all.
Wakeup Batch::unused_offers() const {
  const auto is_left = [&](const Offer& offer) {
    if (!outcome_ || !offer.used) return true;
    const Slot& slot = *workspace_.find(offer.entry.key);
    const auto verdict = verdict_on(slot);
    if (!verdict) return false;  // a claim was refused it; the next one would be, too
    if (*verdict != Verdict::committed) return true;
    return !slot.erased && ready_entry(*slot.execution()) == offer.entry;
  };
  Wakeup wakeup;
  for (const auto& [route, line] : offers_) {
    if (paused_routes_.contains(route)) continue;  // no claim could take these
    for (const Offer& offer : line) {
      if (is_left(offer)) ++wakeup.ready[{route, offer.entry.name_space}];
    }
  }
  add_passed_by(wakeup);
  return wakeup;
}

// While a sweep works on a record, searches of other batches pass it by. If the sweep does not itself make the record claimable,
// a claim that has parked meanwhile would not learn that it is: another batch may have made it so, or it was all the time.
void Batch::add_passed_by(Wakeup& wakeup) const {
  if (from_ahead_) return;  // what is read ahead is not held
  for (const ClockCommand& command : clock_commands_) {
    const auto* due = std::get_if<DueCommand>(&command);
    const Slot* slot = due == nullptr ? nullptr : workspace_.find(due->key);
    const Execution* execution = slot == nullptr ? nullptr : slot->execution();
    if (execution == nullptr || slot->erased) continue;
    const auto entry = ready_entry(*execution);
    const bool announced =
        outcome_ && verdict_on(*slot) == Verdict::committed && (!entry || entry != slot->indexed_ready);
    if (announced) continue;
    ++wakeup.ready[{execution->spec.route, execution->spec.name_space}];
  }
}

// A create is valid once its execution is committed, regardless of the change to its lane in the same batch.
bool Batch::create_stands(const CommandState& state) const {
  const auto* create = std::get_if<CreateCommand>(&state.queued->command);
  if (create == nullptr || !*state.reply || std::get<Created>(**state.reply).duplicate) return false;
  return verdict_on(execution_key(create->id)) == Verdict::committed;
}

void Batch::answer_command(CommandState& state, std::vector<Work>& again) {
  if (state.postponed) {
    again.emplace_back(std::move(state.queued));
    return;
  }
  for (const Key& key : state.touched) {
    const auto verdict = verdict_on(key);
    if (!verdict || *verdict == Verdict::committed) continue;
    if (create_stands(state)) break;
    if (++state.queued->stale > limits::max_stale_retries) {
      return state.queued->done(fail(Errc::contended, "other changes of the record prevented this one; try again"));
    }
    // What many change at the same time is the pool of their share, rather than a record of their own.
    if (state.queued->stale >= limits::max_hopeful_tries) state.queued->contended = state.place_in.value_or(key);
    // What the completion of a node met may be another change of its flow; its own record alone is not contended.
    if (auto* complete = std::get_if<CompleteCommand>(&state.queued->command)) complete->leaves_edges = true;
    runtime_.metrics_.requeued.add();
    again.emplace_back(std::move(state.queued));
    return;
  }
  if (const auto* create = std::get_if<CreateCommand>(&state.queued->command)) {
    runtime_.metrics_.create_answered(create->request, *state.reply);
  }
  state.queued->done(std::move(*state.reply));
}

// Nothing was left for this claim only because the search was limited: other claims of the batch took the results, or
// they could not be leased.
bool Batch::may_have_missed_work(const ClaimState& state) const {
  const ClaimRequest& request = state.queued->request;
  return std::any_of(state.covered.begin(), state.covered.end(), [&](RouteNo route) {
    if (!cut_off_.contains({route, request.name_space})) return false;
    const auto line = offers_.find(route);
    return line == offers_.end() || std::all_of(line->second.begin(), line->second.end(), [&](const Offer& offer) {
             return offer.used || !may_take(request, offer.entry);
           });
  });
}

// A claim that was woken for one entry and took a better one passes the wake-up on to the next waiting claim.
void Batch::pass_on_wakeup(const ClaimState& state, const std::vector<ClaimedExecution>& won) {
  const auto& woken_for = state.queued->woken_for;
  if (!woken_for) return;
  const bool took_it = std::any_of(won.begin(), won.end(), [&](const ClaimedExecution& claim) {
    const Spec& spec = workspace_.at(execution_key(claim.execution_id)).execution()->spec;
    return spec.route == woken_for->route && spec.name_space == woken_for->name_space;
  });
  if (!took_it) runtime_.enqueue_claims(runtime_.parking_.wake(*woken_for, 1));
}

void Batch::answer_claim(ClaimState& state) {
  if (!state.may_claim) return state.queued->done(Unexpected(state.may_claim.error()));
  const auto committed = [&](const Key& key) {
    const auto verdict = verdict_on(key);
    FF_CHECK(verdict.has_value());
    return *verdict == Verdict::committed;
  };
  std::vector<ClaimedExecution> won;
  for (std::size_t i = 0; i < state.taken.size(); ++i) {
    if (!committed(state.taken_keys[i])) continue;
    won.push_back(std::move(state.taken[i]));
  }
  if (!won.empty()) {
    pass_on_wakeup(state, won);
    return state.queued->done(std::move(won));
  }
  if (!state.grants.empty() && committed(state.taken_keys.front())) {
    return state.queued->granted(std::move(state.grants.front()));
  }
  if (state.queued->withdrawn) {
    pass_on_wakeup(state, won);
    return state.queued->done(std::move(won));
  }
  if (state.postponed) return runtime_.enqueue_claims({state.queued});
  const bool lost_a_race = !state.taken_keys.empty();
  // Whatever limits hold back is out of the way now, so this comes to an end; the search is further each time.
  if (state.met_limits && !lost_a_race && may_have_missed_work(state)) {
    std::uint32_t& look_past = state.queued->look_past;
    look_past = std::min(std::max(2 * look_past, limits::first_look_past), limits::max_route_candidates);
    return runtime_.enqueue_claims({state.queued});
  }
  if ((lost_a_race || may_have_missed_work(state)) && ++state.queued->stale <= limits::max_stale_retries) {
    if (lost_a_race) runtime_.metrics_.requeued.add();
    return runtime_.enqueue_claims({state.queued});
  }
  runtime_.answer_unserved(state.queued);
}

void Batch::fail_all(const Error& error) {
  count_batch(to_string(error.code));
  if (sweeping_) runtime_.sweep_finished(true, true);  // something may be due; look again after a pause
  runtime_.batch_failed(error, unused_offers());
  for (CommandState& state : commands_) state.queued->done(Unexpected(error));
  for (ClaimState& state : claims_) state.queued->done(Unexpected(error));
}

}  // namespace flowfabric
