// The meaning of conditions.
#include <algorithm>
#include <set>

#include <boost/json.hpp>
// Compiles the library into this file, and nowhere else, so that nothing is linked.
#include <boost/json/src.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/waits.hpp"

namespace flowfabric {
namespace {

bool has_field(const boost::json::value& payload, const SignalField& field) {
  boost::system::error_code failed;
  const boost::json::value* found = payload.find_pointer(field.pointer, failed);
  if (found == nullptr || failed) return false;
  const boost::json::value wanted = boost::json::parse(field.equals, failed);
  return !failed && *found == wanted;
}

// A signal that is compared with several matches: its payload is read as JSON at most once.
class Seen {
 public:
  explicit Seen(const Signal& signal) : signal_(&signal) {}
  const Signal& signal() const { return *signal_; }
  // Null if it is no JSON.
  const boost::json::value* payload() const {
    if (!parsed_) {
      boost::system::error_code failed;
      boost::json::value value = boost::json::parse(signal_->payload, failed);
      parsed_.emplace();
      if (!failed) parsed_->emplace(std::move(value));
    }
    return *parsed_ ? &**parsed_ : nullptr;
  }

 private:
  const Signal* signal_;
  mutable std::optional<std::optional<boost::json::value>> parsed_{};
};

std::vector<Seen> seen(const std::vector<Signal>& signals) { return {signals.begin(), signals.end()}; }

bool has_fields(const std::vector<SignalField>& fields, const Seen& signal) {
  if (fields.empty()) return true;
  const boost::json::value* value = signal.payload();
  if (value == nullptr) return false;
  return std::all_of(fields.begin(), fields.end(), [&](const SignalField& field) { return has_field(*value, field); });
}

bool allows(const SignalMatch& match, const Seen& seen_signal) {
  const Signal& signal = seen_signal.signal();
  if (!match.waitpoint.empty() && match.waitpoint != signal.waitpoint) return false;
  if (!match.name.empty() && match.name != signal.name) return false;
  const auto& sources = match.sources;
  if (!sources.empty() && std::find(sources.begin(), sources.end(), signal.source) == sources.end()) return false;
  return has_fields(match.fields, seen_signal);
}

bool allows_any(const std::vector<SignalMatch>& matches, const Seen& signal) {
  return std::any_of(matches.begin(), matches.end(), [&](const SignalMatch& match) { return allows(match, signal); });
}

std::string distinct_thing(CountBy by, const Signal& signal) {
  switch (by) {
    case CountBy::signals: return std::to_string(signal.number);
    case CountBy::waitpoints: return signal.waitpoint;
    case CountBy::sources: return signal.source;
  }
  return {};
}

std::set<std::string> distinct_things(const SignalCount& count, const std::vector<Seen>& signals) {
  std::set<std::string> found;
  for (const Seen& signal : signals) {
    if (allows_any(count.of, signal)) found.insert(distinct_thing(count.by, signal.signal()));
  }
  return found;
}

std::uint32_t reached(const SignalCount& count, const std::vector<Seen>& signals) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(distinct_things(count, signals).size(), count.n));
}

bool has_signal(const SignalMatch& match, const std::vector<Seen>& signals) {
  return std::any_of(signals.begin(), signals.end(), [&](const Seen& signal) { return allows(match, signal); });
}

void add_progress(const WaitCondition& condition, const std::vector<Seen>& signals,
                  std::vector<std::uint32_t>& progress) {
  if (condition.signal) progress.push_back(has_signal(*condition.signal, signals) ? 1 : 0);
  if (condition.count) progress.push_back(reached(*condition.count, signals));
  for (const auto* members : {&condition.all_of, &condition.any_of}) {
    if (!*members) continue;
    for (const WaitCondition& member : **members) add_progress(member, signals, progress);
  }
}

bool is_open(const SignalMatch& match, const std::vector<std::string>& open) {
  if (match.waitpoint.empty()) return !open.empty();
  return std::find(open.begin(), open.end(), match.waitpoint) != open.end();
}

// Sources that may still come: without bound if one of the matches allows everybody.
bool can_reach(const SignalCount& count, const std::vector<std::string>& open, const std::vector<Seen>& signals) {
  std::set<std::string> things = distinct_things(count, signals);
  for (const SignalMatch& match : count.of) {
    if (!is_open(match, open)) continue;
    if (count.by == CountBy::signals) return true;
    if (count.by == CountBy::sources) {
      if (match.sources.empty()) return true;
      things.insert(match.sources.begin(), match.sources.end());
    } else if (!match.waitpoint.empty()) {
      things.insert(match.waitpoint);
    } else {
      things.insert(open.begin(), open.end());
    }
  }
  return things.size() >= count.n;
}

std::string place_of(const SignalMatch& match) {
  std::string text = match.name.empty() || match.name == match.waitpoint ? "" : "\"" + match.name + "\" ";
  text += match.waitpoint.empty() ? "at any waitpoint" : "at \"" + match.waitpoint + "\"";
  if (!match.sources.empty()) text += " from " + match.sources.front() + (match.sources.size() > 1 ? " or others" : "");
  if (!match.fields.empty()) text += " with " + match.fields.front().pointer + " = " + match.fields.front().equals;
  return text;
}

std::string what_is_missing(const SignalCount& count, std::uint32_t have) {
  const std::string things(to_string(count.by));
  std::string text = std::to_string(count.n - have) + " more " +
                     (count.n - have == 1 ? things.substr(0, things.size() - 1) : things) + " of " +
                     std::to_string(count.n);
  for (std::size_t i = 0; i < std::min<std::size_t>(count.of.size(), 3); ++i) {
    text += (i == 0 ? " " : " or ") + place_of(count.of[i]);
  }
  return text;
}

bool holds_seen(const WaitCondition& condition, const std::vector<Seen>& signals) {
  const auto member_holds = [&](const WaitCondition& member) { return holds_seen(member, signals); };
  if (condition.signal) return has_signal(*condition.signal, signals);
  if (condition.count) return reached(*condition.count, signals) >= condition.count->n;
  if (condition.all_of) return std::all_of(condition.all_of->begin(), condition.all_of->end(), member_holds);
  if (condition.any_of) return std::any_of(condition.any_of->begin(), condition.any_of->end(), member_holds);
  return false;
}

bool can_hold_seen(const WaitCondition& condition, const std::vector<std::string>& open,
                   const std::vector<Seen>& signals) {
  const auto member_can = [&](const WaitCondition& member) { return can_hold_seen(member, open, signals); };
  if (condition.signal) return is_open(*condition.signal, open) || has_signal(*condition.signal, signals);
  if (condition.count) return can_reach(*condition.count, open, signals);
  if (condition.all_of) return std::all_of(condition.all_of->begin(), condition.all_of->end(), member_can);
  if (condition.any_of) return std::any_of(condition.any_of->begin(), condition.any_of->end(), member_can);
  return false;
}

void add_missing(const WaitCondition& condition, const std::vector<Seen>& signals, std::vector<std::string>& texts) {
  if (texts.size() >= limits::max_explained_signals || holds_seen(condition, signals)) return;
  if (condition.signal) texts.push_back("a signal " + place_of(*condition.signal));
  if (condition.count) texts.push_back(what_is_missing(*condition.count, reached(*condition.count, signals)));
  if (condition.all_of) {
    for (const WaitCondition& member : *condition.all_of) add_missing(member, signals, texts);
  }
  if (condition.any_of) {
    std::vector<std::string> alternatives;
    for (const WaitCondition& member : *condition.any_of) add_missing(member, signals, alternatives);
    std::string text;
    for (const std::string& one : alternatives) text += (text.empty() ? "" : ", or ") + one;
    texts.push_back(std::move(text));
  }
}

bool is_decision(const Signal& signal) {
  const bool named =
      signal.name == to_string(ApprovalDecision::approve) || signal.name == to_string(ApprovalDecision::reject);
  return named && !signal.source.empty();
}

Decision decision_of(const Signal& signal) {
  const bool rejects = signal.name == to_string(ApprovalDecision::reject);
  return {rejects ? ApprovalDecision::reject : ApprovalDecision::approve, signal.source, signal.payload,
          signal.delivered_at};
}

}  // namespace

bool allows(const SignalMatch& match, const Signal& signal) { return allows(match, Seen(signal)); }

bool holds(const WaitCondition& condition, const std::vector<Signal>& signals) {
  return holds_seen(condition, seen(signals));
}

std::vector<std::uint32_t> progress(const WaitCondition& condition, const std::vector<Signal>& signals) {
  std::vector<std::uint32_t> progress;
  add_progress(condition, seen(signals), progress);
  return progress;
}

bool can_hold(const WaitCondition& condition, const std::vector<std::string>& open,
              const std::vector<Signal>& signals) {
  return can_hold_seen(condition, open, seen(signals));
}

std::vector<std::string> missing(const WaitCondition& condition, const std::vector<Signal>& signals) {
  std::vector<std::string> texts;
  add_missing(condition, seen(signals), texts);
  return texts;
}

std::vector<Signal> signals_of_wait(const WaitFacts& waits) {
  std::vector<Signal> signals;
  for (const KeptSignal& kept : waits.signals) {
    if (kept.counts) signals.push_back(kept.signal);
  }
  return signals;
}

std::optional<WaitCause> cause_of_end(const WaitFacts& waits) {
  const std::vector<Signal> signals = signals_of_wait(waits);
  if (waits.wait->veto && holds(*waits.wait->veto, signals)) return WaitCause::veto;
  if (holds(waits.wait->condition, signals)) return WaitCause::signals;
  return std::nullopt;
}

bool makes_difference(const WaitFacts& waits, const Signal& signal) {
  std::vector<Signal> after = signals_of_wait(waits);
  after.push_back(signal);
  const std::vector<Seen> all = seen(after);
  const std::vector<Seen> before(all.begin(), all.end() - 1);
  const auto differs = [&](const WaitCondition& condition) {
    std::vector<std::uint32_t> progress_before;
    std::vector<std::uint32_t> progress_after;
    add_progress(condition, before, progress_before);
    add_progress(condition, all, progress_after);
    return progress_before != progress_after;
  };
  return differs(waits.wait->condition) || (waits.wait->veto && differs(*waits.wait->veto));
}

void forget_waits(WaitFacts& waits) {
  waits.wait.reset();
  waits.open.clear();
  waits.signals.clear();
}

WaitpointFacts* find_open(WaitFacts& waits, std::string_view name) {
  const auto found = std::find_if(waits.open.begin(), waits.open.end(),
                                  [&](const WaitpointFacts& waitpoint) { return waitpoint.name == name; });
  return found == waits.open.end() ? nullptr : &*found;
}

std::vector<Decision> decisions_at(const WaitFacts& waits, std::uint32_t waitpoint_number) {
  std::vector<Decision> decisions;
  for (const KeptSignal& kept : waits.signals) {
    if (kept.waitpoint_number == waitpoint_number && is_decision(kept.signal)) {
      decisions.push_back(decision_of(kept.signal));
    }
  }
  return decisions;
}

std::vector<Decision> decisions_at(const EndedWait& ended, const EndedApproval& approval) {
  std::vector<Decision> decisions;
  for (const Signal& signal : ended.outcome.signals) {
    if (signal.waitpoint == approval.waitpoint && is_decision(signal)) decisions.push_back(decision_of(signal));
  }
  return decisions;
}

}  // namespace flowfabric
