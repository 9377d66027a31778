// Durable steps and checkpoints: conformance on every store.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineSteps : public EngineSuite {
 protected:
  StepReply record(const ClaimedExecution& claimed, StepRequest request) {
    return std::get<StepReply>(value_of(engine().call(StepCommand{engine().fence(claimed), std::move(request)})));
  }
  StepReply record(const ClaimedExecution& claimed, std::uint32_t position, std::string result = {}) {
    StepRequest request;
    request.position = position;
    request.name = "step-" + std::to_string(position);
    request.result = std::move(result);
    return record(claimed, std::move(request));
  }
  std::vector<std::uint32_t> positions(const std::vector<flowfabric::Step>& steps) {
    std::vector<std::uint32_t> out;
    for (const auto& step : steps) out.push_back(step.position);
    return out;
  }
  std::vector<flowfabric::Step> steps(const ExecutionId& id) {
    return value_of(reads::steps(engine().store(), id, 0, 1000)).steps;
  }
};

ON_EVERY_STORE(EngineSteps);

TEST_P(EngineSteps, what_is_recorded_comes_with_the_next_claim) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  EXPECT_TRUE(first.steps.empty());
  const std::string large(100 * 1024, 'x');
  EXPECT_EQ(record(first, 1, std::string("\0\xff", 2)).recorded_at, now());
  record(first, 2, large);
  engine().advance(1500);
  const ClaimedExecution second = engine().take("default", 1000, "w-2");
  ASSERT_EQ(positions(second.steps), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(second.steps[0].result, std::string("\0\xff", 2));
  EXPECT_EQ(second.steps[1].result, large);
  EXPECT_EQ(second.steps[0].attempt_index, 0u);
  EXPECT_EQ(second.next_step_position, 0u);
  EXPECT_EQ(steps(id), second.steps);
}

TEST_P(EngineSteps, step_and_claim_in_one_batch_see_each_other) {
  engine().make();
  const ClaimedExecution first = engine().take("default", 60000);
  const Fence fence = engine().fence(first);
  std::optional<Result<Reply>> recorded, delayed;
  engine().runtime().submit(StepCommand{fence, {.position = 1, .name = "a", .result = "r"}},
                            [&](Result<Reply> reply) { recorded = std::move(reply); });
  engine().runtime().submit(ReleaseHeldCommand{fence}, [&](Result<Reply> reply) { delayed = std::move(reply); });
  ClaimRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = "w-2";
  const auto claimed = value_of(engine().claim(request));
  ASSERT_EQ(claimed.size(), 1u);
  ASSERT_EQ(claimed[0].steps.size(), 1u);
  EXPECT_EQ(claimed[0].steps[0].result, "r");
}

TEST_P(EngineSteps, position_is_recorded_once_and_a_repeat_is_told_so) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  EXPECT_FALSE(record(claimed, 1, "first").duplicate);
  EXPECT_TRUE(record(claimed, 1, "second").duplicate);
  EXPECT_EQ(steps(id).front().result, "first");
  EXPECT_EQ(count_of(engine().history(id), EventType::step_recorded), 1);
}

TEST_P(EngineSteps, holder_that_lost_its_lease_records_nothing) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  engine().advance(1500);
  const ClaimedExecution second = engine().take("default", 1000, "w-2");
  EXPECT_EQ(refusal(engine().call(StepCommand{engine().fence(first), {.position = 1, .name = "a"}})),
            Errc::lease_expired);
  EXPECT_EQ(refusal(engine().call(CheckpointCommand{engine().fence(first), "c", {}})), Errc::lease_expired);
  EXPECT_TRUE(steps(id).empty());
  value_of(engine().complete(second));
}

TEST_P(EngineSteps, failed_step_is_forgotten_by_a_retry_unless_later_steps_rest_on_it) {
  CreateRequest request = job();
  request.policy.retry = RetryPolicy{};
  request.policy.retry->max_retries = 5;
  request.policy.retry->initial_delay_ms = 0;
  const ExecutionId id = value_of(engine().create(request)).execution_id;
  const ClaimedExecution first = engine().take();
  const auto failing = [](std::uint32_t position) {
    StepRequest step;
    step.position = position;
    step.name = "step-" + std::to_string(position);
    step.failure = Failure{"error", "it broke", {}};
    return step;
  };
  record(first, failing(1));
  record(first, 2);
  record(first, failing(3));
  EXPECT_EQ(positions(steps(id)), (std::vector<std::uint32_t>{1, 2, 3}));
  value_of(engine().fail(first));
  EXPECT_EQ(positions(steps(id)), (std::vector<std::uint32_t>{1, 2}));
  const ClaimedExecution second = engine().take("default", 1000, "w-2");
  EXPECT_EQ(positions(second.steps), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FALSE(record(second, 3, "good").duplicate);
  EXPECT_EQ(steps(id)[2].state, StepState::succeeded);
}

TEST_P(EngineSteps, sleep_tells_by_the_clock_of_the_store_when_it_ends) {
  engine().make();
  const ClaimedExecution claimed = engine().take();
  StepRequest request{.position = 1, .name = "nap"};
  request.sleep_ms = 5000;
  EXPECT_EQ(record(claimed, request).wake_at, now() + 5000);
}

TEST_P(EngineSteps, checkpoint_is_replaced_and_comes_with_the_next_claim) {
  engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  EXPECT_FALSE(first.checkpoint);
  for (const char* bytes : {"one", "two"}) {
    value_of(engine().call(CheckpointCommand{engine().fence(first), bytes, "text"}));
  }
  engine().advance(1500);
  const ClaimedExecution second = engine().take("default", 1000, "w-2");
  ASSERT_TRUE(second.checkpoint);
  EXPECT_EQ(second.checkpoint->bytes, "two");
  EXPECT_EQ(second.checkpoint->encoding, "text");
}

TEST_P(EngineSteps, claim_brings_no_more_than_its_limit_and_says_where_the_rest_begins) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  const std::string quarter(limits::max_claimed_step_bytes / 4, 'q');
  for (std::uint32_t position = 1; position <= 6; ++position) record(first, position, quarter);
  engine().advance(1500);
  const ClaimedExecution second = engine().take("default", 1000, "w-2");
  EXPECT_EQ(positions(second.steps), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(second.next_step_position, 4u);
  const auto rest = value_of(reads::steps(engine().store(), id, second.next_step_position, 2));
  EXPECT_EQ(positions(rest.steps), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(rest.next_position, 6u);
  EXPECT_EQ(value_of(reads::steps(engine().store(), id, 6, 2)).next_position, 0u);
}

TEST_P(EngineSteps, replay_keeps_what_was_recorded_before_the_position) {
  CreateRequest request = job();
  request.policy.max_replays = 3;
  const ExecutionId id = value_of(engine().create(request)).execution_id;
  const ClaimedExecution first = engine().take();
  for (std::uint32_t position = 1; position <= 3; ++position) record(first, position, "old");
  value_of(engine().complete(first));
  const auto place = value_of(reads::find_step(engine().store(), id, "step-2"));
  EXPECT_EQ(place.position, 2u);
  value_of(engine().call(ReplayCommand{id, {}, place.position, place.replay_count}));
  EXPECT_EQ(refusal(engine().call(ReplayCommand{id, {}, 1, 0})), Errc::not_terminal);
  const ClaimedExecution second = engine().take();
  EXPECT_EQ(positions(second.steps), std::vector<std::uint32_t>{1});
  record(second, 2, "new");
  value_of(engine().complete(second));
  ASSERT_EQ(positions(steps(id)), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(steps(id)[1].result, "new");
  EXPECT_EQ(steps(id)[1].replay_count, 1u);
  EXPECT_EQ(refusal(engine().call(ReplayCommand{id, {}, 2, 0})), Errc::contended) << "looked at in another life";
}

TEST_P(EngineSteps, steps_go_with_their_execution) {
  CreateRequest request = job();
  request.policy.retention.completed_ms = 1000;
  const ExecutionId id = value_of(engine().create(request)).execution_id;
  const ClaimedExecution claimed = engine().take();
  record(claimed, 1, "r");
  value_of(engine().complete(claimed));
  engine().advance(2000);
  EXPECT_EQ(refusal(reads::steps(engine().store(), id, 0, 10)), Errc::not_found);
  EXPECT_TRUE(value_of(engine().store().check_integrity()).empty());
}

}  // namespace
}  // namespace flowfabric::test
