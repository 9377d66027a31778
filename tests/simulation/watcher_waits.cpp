// What the watcher checks about waits, waitpoints and signals.
#include <algorithm>
#include <set>

#include "core/state.hpp"
#include "engine/reads.hpp"
#include "model/wait_evaluator.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

std::size_t count_of(const std::vector<Event>& events, EventType type) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.type == type; }));
}

const WaitpointFacts* open_number(const WaitFacts& waits, std::uint32_t number) {
  for (const WaitpointFacts& waitpoint : waits.open) {
    if (waitpoint.number == number) return &waitpoint;
  }
  return nullptr;
}

// A token that names nobody decides only where everybody may.
bool may_decide(const WaitpointFacts& waitpoint, const KeptSignal& kept) {
  return !waitpoint.approval || waitpoint.approval->approvers.empty() || !kept.unnamed;
}

// All signals that a waitpoint of the current wait has: whether they count was decided by the engine.
std::vector<Signal> signals_for_wait(const WaitFacts& waits) {
  std::vector<Signal> all;
  for (const KeptSignal& kept : waits.signals) {
    if (kept.counts && open_number(waits, kept.waitpoint_number) == nullptr)
      all.push_back(kept.signal);  // it was closed
  }
  for (const WaitpointFacts& waitpoint : waits.open) {
    if (!waitpoint.waited_for) continue;
    std::vector<Signal> here;
    for (const KeptSignal& kept : waits.signals) {
      const bool addressed = kept.waitpoint_number == 0 || kept.waitpoint_number == waitpoint.number;
      if (addressed && kept.signal.waitpoint == waitpoint.name && may_decide(waitpoint, kept)) {
        here.push_back(kept.signal);
      }
    }
    if (waitpoint.approval) here = test::decisions_among(*waitpoint.approval, here);
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

// The events of one commit, as far as they move signals.
struct Moves {
  std::size_t waits_ended = 0;
  bool ended_at_once = false;  // a wait, by signals that were there
  bool suspended = false;
  bool closed = false;
  bool life_ended = false;  // or began again
};

Moves moves_of(const std::vector<Event>& events) {
  Moves moves;
  moves.waits_ended = count_of(events, EventType::wait_ended);
  moves.suspended = count_of(events, EventType::suspended) > 0;
  moves.closed = count_of(events, EventType::waitpoint_closed) > 0;
  for (const Event& event : events) {
    if (is_terminal(event.type) || event.type == EventType::replayed) moves.life_ended = true;
    if (event.type == EventType::wait_ended && event.state_before == PublicState::active) moves.ended_at_once = true;
  }
  return moves;
}

bool has_number(const std::vector<Signal>& signals, std::uint64_t number) {
  return std::any_of(signals.begin(), signals.end(), [&](const Signal& signal) { return signal.number == number; });
}

}  // namespace

void Watcher::check_waits(Shadow& shadow, const Facts& before, const std::vector<Event>& events) {
  const Facts& now = shadow.execution.facts;
  const std::string id = to_string(shadow.execution.id);
  if (before.waits && !now.waits) violated("numbers never come back", "the waits of {} are gone", id);
  const bool waits = now.waits && now.waits->wait;
  if (waits != (now.phase == Phase::suspended)) violated("suspended means that it waits", "{}", id);
  if (!now.waits) return;
  const WaitFacts was = before.waits.value_or(WaitFacts{});
  const WaitFacts& is = *now.waits;
  if (is.waitpoint_count < was.waitpoint_count || is.wait_count < was.wait_count ||
      is.signal_count < was.signal_count) {
    violated("numbers never come back", "a count of {} fell", id);
  }
  check_waitpoints(id, was, is);
  if (is.wait) {
    const Wait& wait = *is.wait;
    if (wait.number > is.wait_count ||
        (wait.number <= was.wait_count && !(was.wait && was.wait->number == wait.number)))
      violated("numbers never come back", "wait {} of {}", wait.number, id);
    if (wait.timeout_at != 0 && (now.armed_due == 0 || now.armed_due > wait.timeout_at)) {
      violated("a wait ends in time", "{} times out at {}, its entry says {}", id, wait.timeout_at, now.armed_due);
    }
    if (test::end_of_wait(wait.condition, wait.veto, signals_for_wait(is))) {
      violated("what is fulfilled does not wait", "wait {} of {}", wait.number, id);
    }
  }
  const std::vector<Signal> used = check_outcome(shadow, was, events);
  check_signals(shadow, was, used, events);
}

void Watcher::check_waitpoints(const std::string& id, const WaitFacts& was, const WaitFacts& is) const {
  std::set<std::string> names;
  std::set<std::uint32_t> numbers;
  for (const WaitpointFacts& waitpoint : is.open) {
    const std::uint32_t number = waitpoint.number;
    if (!names.insert(waitpoint.name).second || !numbers.insert(number).second) {
      violated("one open waitpoint of a name", "\"{}\" of {}", waitpoint.name, id);
    }
    const WaitpointFacts* earlier = open_number(was, number);
    const bool is_new = number > was.waitpoint_count;
    if (number == 0 || number > is.waitpoint_count || is_new == (earlier != nullptr)) {
      violated("numbers never come back", "waitpoint {} of {}", number, id);
    }
    if (earlier != nullptr && (earlier->name != waitpoint.name || earlier->generation > waitpoint.generation)) {
      violated("a revoked token stays revoked", "waitpoint {} of {}", number, id);
    }
    if (!waitpoint.approval) continue;
    std::vector<Signal> counted;
    for (const KeptSignal& kept : is.signals) {
      if (!kept.counts || kept.waitpoint_number != number) continue;
      counted.push_back(kept.signal);
      if (!may_decide(waitpoint, kept))
        violated("only those who may decide do, once", "waitpoint {} of {}", number, id);
    }
    if (test::decisions_among(*waitpoint.approval, counted) != counted) {
      violated("only those who may decide do, once", "waitpoint {} of {}", number, id);
    }
  }
}

// Returns the signals of the outcomes that this commit has recorded, as far as they can still be read.
std::vector<Signal> Watcher::check_outcome(Shadow& shadow, const WaitFacts& was, const std::vector<Event>& events) {
  const Moves moves = moves_of(events);
  if (moves.waits_ended == 0) return {};
  const ExecutionId id = shadow.execution.id;
  const std::string name = to_string(id);
  const auto stored =
      ok(store_->load_satellites(execution_key(id), static_cast<std::uint8_t>(SatelliteKind::wait_outcome), 0, 1));
  if (stored.empty()) violated("a wait that ended has an outcome", "{}", name);
  WaitOutcome outcome = ok(decode_wait_outcome(stored.front().body));
  WaitBook& book = shadow.waits;
  if (outcome.number <= book.last_ended) {
    violated("a wait ends once", "wait {} of {} after wait {}", outcome.number, name, book.last_ended);
  }
  book.last_ended = outcome.number;
  book.ended += moves.waits_ended;
  if (book.ended > shadow.execution.facts.waits->wait_count) {
    violated("a wait ends once", "{} ends of {} waits of {}", book.ended, shadow.execution.facts.waits->wait_count,
             name);
  }
  for (const Signal& signal : outcome.signals) note_signal(shadow, signal, 0);
  const bool clear = moves.waits_ended == 1 && was.wait && !moves.suspended && !moves.life_ended;
  if (!clear) return outcome.signals;
  const auto event =
      std::find_if(events.begin(), events.end(), [](const Event& one) { return one.type == EventType::wait_ended; });
  check_cause(shadow, *was.wait, outcome, *event);
  return outcome.signals;
}

void Watcher::check_cause(const Shadow& shadow, const Wait& wait, const WaitOutcome& outcome, const Event& event) {
  const std::string id = to_string(shadow.execution.id);
  if (outcome.number != wait.number)
    violated("a wait ends once", "{} ended instead of {}", outcome.number, wait.number);
  const auto cause = test::end_of_wait(wait.condition, wait.veto, outcome.signals);
  const bool by_signals = outcome.cause == WaitCause::signals || outcome.cause == WaitCause::veto;
  if (by_signals ? cause != outcome.cause : cause.has_value()) {
    violated("a wait ends for its reason", "wait {} of {}: {}", wait.number, id, to_string(outcome.cause));
  }
  if (by_signals) {
    const std::vector<Signal> without_last(outcome.signals.begin(), outcome.signals.end() - 1);
    if (test::end_of_wait(wait.condition, wait.veto, without_last)) {
      violated("what is fulfilled does not wait", "wait {} of {} needed fewer signals", wait.number, id);
    }
  }
  if (outcome.cause == WaitCause::timeout && (wait.timeout_at == 0 || event.at < wait.timeout_at)) {
    violated("a wait ends for its reason", "wait {} of {} timed out at {}", wait.number, id, event.at);
  }
  if (wait.position == 0) return;
  const auto kind = static_cast<std::uint8_t>(SatelliteKind::step);
  const auto steps = ok(store_->load_satellites(execution_key(shadow.execution.id), kind, wait.position, 1));
  if (steps.empty() || steps.front().name.n != wait.position || !shadow.execution.facts.steps.contains(wait.position)) {
    violated("the end of a wait is a step", "wait {} of {}", wait.number, id);
  }
  const Step step = ok(decode_step(steps.front().body));
  if (step.state != StepState::wait || step.wait != outcome) {
    violated("the end of a wait is a step", "wait {} of {} has another", wait.number, id);
  }
}

void Watcher::note_signal(Shadow& shadow, const Signal& signal, std::uint32_t waitpoint_number) {
  auto [entry, is_new] = shadow.waits.seen.try_emplace(signal.number, SeenSignal{signal, waitpoint_number});
  if (waitpoint_number != 0) entry->second.waitpoint_number = waitpoint_number;
  if (entry->second.signal != signal) {
    violated("a signal does not change", "signal {} of {}", signal.number, to_string(shadow.execution.id));
  }
  // Clients give this beginning to payloads that they send with an idempotency key.
  if (!is_new || !signal.payload.starts_with("{\"key\"")) return;
  if (!shadow.waits.keyed.insert(signal.payload).second) {
    violated("a key has one effect", "signal {} of {}", signal.number, to_string(shadow.execution.id));
  }
}

// No signal disappears: `used` are those that have ended a wait.
void Watcher::check_signals(Shadow& shadow, const WaitFacts& was, const std::vector<Signal>& used,
                            const std::vector<Event>& events) {
  const WaitFacts& is = *shadow.execution.facts.waits;
  const std::string id = to_string(shadow.execution.id);
  std::set<std::uint64_t> there;
  std::set<std::uint64_t> before;
  for (const KeptSignal& kept : was.signals) before.insert(kept.signal.number);
  for (const KeptSignal& kept : is.signals) {
    const std::uint64_t number = kept.signal.number;
    if (!there.empty() && *there.rbegin() >= number) violated("signals are in order", "signal {} of {}", number, id);
    there.insert(number);
    if (number == 0 || number > is.signal_count || (number <= was.signal_count && !before.contains(number))) {
      violated("numbers never come back", "signal {} of {}", number, id);
    }
    note_signal(shadow, kept.signal, kept.waitpoint_number);
  }
  const Moves moves = moves_of(events);
  if (moves.life_ended || moves.waits_ended > 1) return;
  for (const KeptSignal& kept : was.signals) {
    const std::uint64_t number = kept.signal.number;
    if (there.contains(number) || has_number(used, number)) continue;
    const bool closed = kept.waitpoint_number != 0 && open_number(is, kept.waitpoint_number) == nullptr;
    // It got the number of its waitpoint in the same commit in which that ended.
    const bool vague = moves.suspended || moves.closed;
    if (!closed && !vague) violated("no signal is lost", "signal {} of {}", number, id);
    if (closed && kept.counts) violated("no signal is lost", "signal {} of {} counted", number, id);
  }
  if (moves.suspended || moves.closed || moves.ended_at_once) return;
  for (std::uint64_t number = was.signal_count + 1; number <= is.signal_count; ++number) {
    if (there.contains(number) || has_number(used, number)) continue;
    violated("no signal is lost", "signal {} of {} was never there", number, id);
  }
}

// The list of those that wait has exactly them, those that wait longest first.
void Watcher::check_list_of_waits() {
  std::vector<std::pair<TimestampMs, ExecutionId>> expected;
  std::size_t approvals = 0;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed || !shadow.life.suspended()) continue;
    const WaitFacts& waits = *shadow.execution.facts.waits;
    expected.emplace_back(waits.wait->since, shadow.execution.id);
    for (const WaitpointFacts& waitpoint : waits.open) {
      if (!waitpoint.waited_for || !waitpoint.approval) continue;
      ++approvals;
      break;
    }
  }
  for (const bool only_approvals : {false, true}) {
    std::vector<std::pair<TimestampMs, ExecutionId>> listed;
    ListWaitsRequest request;
    request.approvals = only_approvals;
    request.limit = 3;
    do {
      const ListWaitsReply page = ok(reads::waits(*store_, request));
      for (const WaitingExecution& waiting : page.waits) listed.emplace_back(waiting.since, waiting.execution_id);
      request.cursor = page.next_cursor;
    } while (!request.cursor.empty());
    const bool sorted =
        std::is_sorted(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::size_t wanted = only_approvals ? approvals : expected.size();
    const std::set<std::pair<TimestampMs, ExecutionId>> distinct(listed.begin(), listed.end());
    if (!sorted || listed.size() != wanted || distinct.size() != wanted) {
      violated("the list of waits is right", "{} listed, {} wait", listed.size(), wanted);
    }
  }
}

}  // namespace flowfabric::simulation
