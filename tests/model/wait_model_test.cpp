// Random conditions and signals: what core says about them is what they mean (wait_evaluator.hpp).
//
// FF_MODEL_SEED and FF_MODEL_WAITS choose other conditions than the usual ones, and how many.
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.hpp"
#include "core/waits.hpp"
#include "model/wait_evaluator.hpp"

namespace flowfabric::test {
namespace {

constexpr std::uint64_t usual_wait_cases = 4000;

const std::vector<std::string> wait_names = {"a", "b", "c"};
const std::vector<std::string> sent_names = {"", "go", "approve", "reject"};
const std::vector<std::string> senders = {"", "ann", "bob", "eve"};
const std::vector<std::string> payloads = {"",
                                           "not JSON",
                                           "{}",
                                           R"({"state": "paid"})",
                                           R"({"state": "open", "lines": [1, {"sku": "x"}]})",
                                           R"({"a/b": {"~": 1}, "": null})",
                                           "[\"paid\"]",
                                           "42",
                                           "null"};
const std::vector<SignalField> asked_fields = {
    {"/state", "\"paid\""}, {"/state", "\"open\""}, {"/lines/1/sku", "\"x\""},
    {"/lines/0", "1"},      {"/lines/01", "1"},     {"/lines/-", "1"},
    {"/a~1b/~0", "1"},      {"/", "null"},          {"", "42"},
    {"", "null"},           {"/0", "\"paid\""},     {"/lines", "[1,{\"sku\":\"x\"}]"},
    {"/missing", "null"}};

// Numbers that choose, so that a failing case shrinks to few and small ones.
class Choices {
 public:
  explicit Choices(const std::vector<std::uint32_t>& numbers) : numbers_(numbers) {}
  std::uint32_t below(std::uint32_t n) { return next_ < numbers_.size() ? numbers_[next_++] % n : 0; }
  bool chance(std::uint32_t percent) { return below(100) >= 100 - percent; }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  const std::vector<std::uint32_t>& numbers_;
  std::size_t next_ = 0;
};

SignalMatch chosen_match(Choices& choices) {
  SignalMatch match;
  if (choices.chance(70)) match.waitpoint = choices.pick(wait_names);
  if (choices.chance(25)) match.name = choices.pick(sent_names);
  if (choices.chance(25)) match.sources = {choices.pick(senders), "ann"};
  if (choices.chance(30)) match.fields.push_back(choices.pick(asked_fields));
  if (choices.chance(5)) match.fields.push_back(choices.pick(asked_fields));
  return match;
}

WaitCondition chosen_condition(Choices& choices, int depth) {
  WaitCondition condition;
  const std::uint32_t kind = choices.below(depth > 4 ? 2 : 4);
  if (kind == 0) {
    condition.signal = chosen_match(choices);
  } else if (kind == 1) {
    SignalCount& count = condition.count.emplace();
    count.n = 1 + choices.below(4);
    count.by = static_cast<CountBy>(choices.below(3));
    for (std::uint32_t i = 0; i <= choices.below(3); ++i) count.of.push_back(chosen_match(choices));
  } else {
    std::vector<WaitCondition> members;
    const std::uint32_t size = 1 + choices.below(3);
    for (std::uint32_t i = 0; i < size; ++i) members.push_back(chosen_condition(choices, depth + 1));
    (kind == 2 ? condition.all_of : condition.any_of) = std::move(members);
  }
  return condition;
}

Signal chosen_signal(Choices& choices, std::uint64_t number) {
  Signal signal;
  signal.number = number;
  signal.waitpoint = choices.pick(wait_names);
  signal.name = choices.chance(60) ? signal.waitpoint : choices.pick(sent_names);
  signal.source = choices.pick(senders);
  signal.payload = choices.pick(payloads);
  return signal;
}

struct ChosenWait {
  WaitCondition condition;
  std::optional<WaitCondition> veto;
  std::vector<Signal> signals;
};

rc::Gen<std::uint32_t> choice() { return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 10000)); }

ChosenWait chosen_wait() {
  const auto of_condition = *rc::gen::container<std::vector<std::uint32_t>>(choice());
  const auto of_signals = *rc::gen::container<std::vector<std::uint32_t>>(choice());
  ChosenWait wait;
  Choices for_condition(of_condition);
  wait.condition = chosen_condition(for_condition, 0);
  if (for_condition.chance(40)) wait.veto = chosen_condition(for_condition, 3);
  Choices for_signals(of_signals);
  const std::size_t count = std::min<std::size_t>(of_signals.size() / 4, 12);
  for (std::size_t i = 1; i <= count; ++i) wait.signals.push_back(chosen_signal(for_signals, i));
  return wait;
}

std::uint64_t number_from_environment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

template <class Property>
void hold_for_waits(const char* what, Property property) {
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = what;
  rc::detail::TestParams params;
  params.seed = number_from_environment("FF_MODEL_SEED", 20240501);
  params.maxSuccess = static_cast<int>(number_from_environment("FF_MODEL_WAITS", usual_wait_cases));
  params.maxSize = 60;
  const auto result = rc::detail::checkTestable([&] { property(chosen_wait()); }, metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
}

TEST(WaitModel, ConditionsMeanWhatTheyAreDescribedAs) {
  hold_for_waits("core and the evaluator agree", [](const ChosenWait& wait) {
    RC_TAG(fulfils(wait.condition, wait.signals));
    RC_ASSERT(holds(wait.condition, wait.signals) == fulfils(wait.condition, wait.signals));
  });
}

TEST(WaitModel, ASignalMoreNeverMakesAConditionUntrue) {
  hold_for_waits("monotone", [](const ChosenWait& wait) {
    std::vector<Signal> so_far;
    bool held = holds(wait.condition, so_far);
    std::vector<std::uint32_t> before = progress(wait.condition, so_far);
    for (const Signal& signal : wait.signals) {
      so_far.push_back(signal);
      const bool now = holds(wait.condition, so_far);
      RC_ASSERT(now || !held);
      held = now;
      const std::vector<std::uint32_t> after = progress(wait.condition, so_far);
      for (std::size_t i = 0; i < after.size(); ++i) RC_ASSERT(after[i] >= before[i]);
      before = after;
    }
  });
}

// Delivered one after another, with only those kept that make a difference, the wait ends with the signal with which it ends
// when all are kept, and for the same reason.
TEST(WaitModel, WhatMakesNoDifferenceMayBeDropped) {
  hold_for_waits("dropped signals are not missed", [](const ChosenWait& chosen) {
    WaitFacts waits;
    waits.wait.emplace();
    waits.wait->condition = chosen.condition;
    waits.wait->veto = chosen.veto;
    std::vector<Signal> all;
    for (const Signal& signal : chosen.signals) {
      all.push_back(signal);
      if (makes_difference(waits, signal)) waits.signals.push_back({signal, 1, true});
      const auto meant = end_of_wait(chosen.condition, chosen.veto, all);
      RC_ASSERT(cause_of_end(waits) == meant);
      if (meant) return;
    }
  });
}

// What cannot hold any more never does; what is missing is told until it holds.
TEST(WaitModel, WhatCanHoldAndWhatIsMissing) {
  hold_for_waits("can_hold and missing", [](const ChosenWait& wait) {
    const bool fulfilled = fulfils(wait.condition, wait.signals);
    RC_ASSERT(missing(wait.condition, wait.signals).empty() == fulfilled);
    if (!can_hold(wait.condition, wait_names, {})) RC_ASSERT(!fulfilled);
    if (fulfilled) RC_ASSERT(can_hold(wait.condition, {}, wait.signals));
  });
}

WaitCondition two_of(const std::string& waitpoint) {
  WaitCondition condition;
  condition.count = SignalCount{2, CountBy::signals, {SignalMatch{waitpoint, {}, {}, {}}}};
  return condition;
}

Signal signal_at(std::uint64_t number, const std::string& waitpoint, const std::string& source = "") {
  Signal signal;
  signal.number = number;
  signal.waitpoint = signal.name = waitpoint;
  signal.source = source;
  return signal;
}

using Holds = bool (*)(const WaitCondition&, const std::vector<Signal>&);

// S4
TEST(WaitModel, EachCountHasItsOwnSignals) {
  WaitCondition both;
  both.all_of = {two_of("a"), two_of("b")};
  for (const Holds evaluate : {Holds{holds}, Holds{fulfils}}) {
    std::vector<Signal> signals;
    for (const char* waitpoint : {"a", "a", "b", "b"}) {
      EXPECT_FALSE(evaluate(both, signals));
      signals.push_back(signal_at(signals.size() + 1, waitpoint));
    }
    EXPECT_TRUE(evaluate(both, signals));
  }
}

// S3
TEST(WaitModel, NestedConditionsHoldWithTheirOnlyMember) {
  WaitCondition innermost;
  innermost.signal = SignalMatch{"x", {}, {}, {}};
  WaitCondition condition = innermost;
  for (int i = 0; i < 3; ++i) {
    WaitCondition outer;
    outer.all_of = {condition};
    condition = outer;
  }
  for (const Holds evaluate : {Holds{holds}, Holds{fulfils}}) {
    EXPECT_FALSE(evaluate(condition, {signal_at(1, "y")}));
    EXPECT_TRUE(evaluate(condition, {signal_at(1, "y"), signal_at(2, "x")}));
  }
}

// S5
TEST(WaitModel, ASourceCountsOnce) {
  WaitCondition condition;
  condition.count = SignalCount{2, CountBy::sources, {SignalMatch{}}};
  for (const Holds evaluate : {Holds{holds}, Holds{fulfils}}) {
    EXPECT_FALSE(evaluate(condition, {signal_at(1, "a", "ann"), signal_at(2, "b", "ann")}));
    EXPECT_TRUE(evaluate(condition, {signal_at(1, "a", "ann"), signal_at(2, "b", "bob")}));
  }
}

// S12
TEST(WaitModel, AVetoEndsTheWaitWhateverIsMissing) {
  WaitFacts waits;
  waits.wait.emplace();
  waits.wait->condition = two_of("a");
  waits.wait->veto.emplace().signal = SignalMatch{"a", "reject", {}, {}};
  waits.signals = {{signal_at(1, "a"), 1, true}};
  EXPECT_EQ(cause_of_end(waits), std::nullopt);
  waits.signals.push_back({signal_at(2, "a"), 1, true});
  waits.signals.back().signal.name = "reject";
  EXPECT_EQ(cause_of_end(waits), WaitCause::veto);
  EXPECT_EQ(end_of_wait(waits.wait->condition, waits.wait->veto, signals_of_wait(waits)), WaitCause::veto);
}

}  // namespace
}  // namespace flowfabric::test
