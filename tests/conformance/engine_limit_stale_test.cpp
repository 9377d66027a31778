// The clock reads the definitions, a pool and the executions that wait for it at different moments, so some records may be
// older than others. What is decided by old ones must not be committed.
#include <algorithm>
#include <utility>

#include "conformance/engine_limit_suite.hpp"

namespace flowfabric::test {
namespace {

bool is_pool(const Key& key) { return key.kind() == RecordKind::limit_pool; }

class StaleLimits : public LimitSuite {
 protected:
  void SetUp() override {
    EngineSuite::SetUp();
    engine_.reset();
    engine_ = std::make_unique<Driver>(std::make_unique<WatchedStore>(open_store(), watch_), clock_, 1);
  }

  // In one batch, so that the pool has room for more than wait for it, and the clock learns that these are all.
  void complete_both(const Claims& claims) {
    std::vector<Command> commands;
    for (const ClaimedExecution& one : claims) commands.emplace_back(CompleteCommand{fence_of(one), {"", ""}});
    ASSERT_EQ(commands.size(), 2U);
    for (const auto& reply : call_together(engine(), commands)) ASSERT_TRUE(reply);
  }
  Record stored(const Key& key) { return value_of(engine().store().load({key})).at(0); }
  // A sweep that could commit nothing is followed by a pause.
  void let_the_clock_try_again() {
    EXPECT_TRUE(handed_out_);
    engine().advance(1000);
  }

  // The next sweep that works on a pool also works on the execution, as it was then.
  void hand_out_with_a_pool(const Record& old) {
    watch_->change_reply = [this, old](const ReadRequest& request, ReadReply& reply) {
      if (handed_out_ || request.due_limit == 0) return;
      const bool works_on_pool =
          std::any_of(reply.due.begin(), reply.due.end(), [](const auto& found) { return is_pool(found.record.key); });
      if (!works_on_pool) return;
      std::erase_if(reply.due, [&](const DueCandidate& found) { return found.record.key == old.key; });
      reply.due.insert(reply.due.begin(), DueCandidate{{now(), old.key}, old});
      handed_out_ = true;
    };
  }
  // The next sweep that works on a pool finds the definitions as they were then.
  void hand_out_definitions(const Record& old) {
    watch_->change_reply = [this, old](const ReadRequest& request, ReadReply& reply) {
      if (handed_out_) return;
      if (request.due_limit != 0) {
        pool_is_due_ = std::any_of(reply.due.begin(), reply.due.end(),
                                   [](const auto& found) { return is_pool(found.record.key); });
      }
      if (!pool_is_due_) return;
      for (Record& record : reply.records) {
        if (record.key != old.key) continue;
        record = old;
        handed_out_ = true;
      }
    };
  }

  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  bool handed_out_ = false;
  bool pool_is_due_ = false;
};
ON_EVERY_STORE(StaleLimits);

// It was held back after its record was read, so the group has it, and the record does not say that it waits.
TEST_P(StaleLimits, AnExecutionThatWasReadBeforeItWasHeldBackIsNotForgotten) {
  set(at_most(2));
  const auto ids = make_n(3);
  const Claims running = claim(ask(2));
  const Record before = stored(execution_key(ids[2]));
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  ASSERT_TRUE(is_held(ids[2]));
  hand_out_with_a_pool(before);
  complete_both(running);
  let_the_clock_try_again();
  EXPECT_EQ(claimed(1), std::vector{ids[2]});
}

// It was held back for another limit when its record was read.
TEST_P(StaleLimits, AnExecutionThatWaitedForAnotherLimitIsNotForgotten) {
  set(at_most(2, {}, "a"));
  set(at_most(2, {}, "b"));
  const auto ids = make_n(3);
  const Claims running = claim(ask(2));
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  const Record waiting_for_a = stored(execution_key(ids[2]));
  set(at_most(9, {}, "a"));
  engine().settle();
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  ASSERT_TRUE(is_held(ids[2]));
  hand_out_with_a_pool(waiting_for_a);
  complete_both(running);
  let_the_clock_try_again();
  EXPECT_EQ(claimed(1), std::vector{ids[2]});
}

// By definitions that were read before the limit was made, its pool is one of a limit that was removed.
TEST_P(StaleLimits, APoolIsNotRemovedByDefinitionsFromBeforeItsLimit) {
  set(at_most(9, {}, "other"));
  const Record before = stored(limits_key());
  set(at_most(2));
  make_n(4);
  const Claims running = claim(ask(4));
  ASSERT_EQ(running.size(), 2U);
  EXPECT_EQ(claimed(4).size(), 0U);
  hand_out_definitions(before);
  complete(running[0]);
  engine().settle();
  let_the_clock_try_again();
  EXPECT_EQ(use().in_use, 1U);
  EXPECT_EQ(claimed(4).size(), 1U) << "one runs already";
  EXPECT_EQ(use().in_use, 2U);
}

}  // namespace
}  // namespace flowfabric::test
