// The runtime of a worker against a gateway that says what the test wants: outages, lost replies, hanging calls, refusals.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "sdk/lease_keeper.hpp"
#include "sdk/settler.hpp"
#include "sdk/steps.hpp"

namespace flowfabric::sdk {
namespace {

using namespace std::chrono_literals;

bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Every call of a client fails. Calls of workers succeed until a test says otherwise.
class FakeGateway final : public Gateway {
 public:
  std::function<Result<HeartbeatReply>(const HeartbeatRequest&)> on_heartbeat;
  std::function<Result<StepReply>(const StepRequest&)> on_step;
  std::function<Result<void>(const Settlement&)> on_settle;
  std::function<Result<SuspendReply>(const SuspendRequest&)> on_suspend;
  std::vector<Event> news;      // given to the first who asks for events
  std::vector<Step> on_record;  // what list_steps finds
  std::atomic<int> registrations{0};
  std::atomic<int> pauses{0};

  std::vector<HeartbeatRequest> heartbeats() const { return copy(heartbeats_); }
  std::vector<StepRequest> steps() const { return copy(steps_); }
  std::vector<Settlement> settlements() const { return copy(settlements_); }
  std::vector<SuspendRequest> suspensions() const { return copy(suspensions_); }

  Result<RegisterWorkerReply> register_worker(const WorkerRegistration&) override {
    ++registrations;
    return RegisterWorkerReply{};
  }
  Result<HeartbeatReply> heartbeat(const HeartbeatRequest& request) override {
    note(heartbeats_, request);
    if (on_heartbeat) return on_heartbeat(request);
    HeartbeatReply reply;
    for (const Handle& handle : request.leases) reply.leases.emplace_back(RenewVerdict{.handle = handle});
    return reply;
  }
  Result<StepReply> record_step(const Handle&, const StepRequest& request) override {
    note(steps_, request);
    return on_step ? on_step(request) : StepReply{1, 0, false};
  }
  Result<ListStepsReply> list_steps(const ExecutionId&, std::uint32_t from, std::uint32_t) override {
    ListStepsReply reply;
    for (const Step& step : on_record) {
      if (step.position >= from) reply.steps.push_back(step);
    }
    return reply;
  }
  void settle(const Handle&, Settlement settlement, std::function<void(Result<void>)> done) override {
    note(settlements_, settlement);
    done(on_settle ? on_settle(settlement) : Result<void>());
  }
  Result<EventPage> events(const EventFilter&, const std::string&, std::uint32_t, milliseconds,
                           std::stop_token stop) override {
    EventPage page;
    {
      const std::lock_guard lock(mutex_);
      page.events = std::exchange(news, {});
    }
    if (page.events.empty()) Gateway::pause(60s, stop);
    return page;
  }
  void pause(milliseconds, const std::stop_token&) override { ++pauses; }

  Result<SuspendReply> suspend(const Handle&, const SuspendRequest& request) override {
    note(suspensions_, request);
    return on_suspend ? on_suspend(request) : SuspendReply{.suspended = true};
  }
  Result<WaitpointToken> open_waitpoint(const Handle&, const WaitpointRequest&) override { return unused(); }
  Result<SpendReply> spend(const Handle&, const SpendRequest&) override { return SpendReply{}; }
  Result<void> progress(const Handle&, ProgressReport) override { return {}; }
  Result<void> change_tags(const Handle&, TagChanges) override { return {}; }
  Result<void> store_checkpoint(const Handle&, Bytes) override { return {}; }
  Result<std::vector<ClaimedExecution>> claim(const ClaimRequest&, std::stop_token) override { return unused(); }
  Result<SignalReply> send_signal(const ExecutionId&, SignalRequest) override { return unused(); }
  Result<SignalReply> send_signal_by_token(const std::string&, SignalRequest) override { return unused(); }
  Result<SignalReply> decide_approval(const ExecutionId&, DecideRequest) override { return unused(); }
  Result<ExecutionWaits> describe_waits(const ExecutionId&) override { return unused(); }
  Result<ListWaitsReply> list_waits(const ListWaitsRequest&) override { return unused(); }
  Result<void> resume(const ExecutionId&, std::string) override { return unused(); }
  Result<void> close_waitpoint(const ExecutionId&, const std::string&, std::string) override { return unused(); }
  Result<WaitpointToken> reissue_token(const ExecutionId&, ReissueRequest, std::string) override { return unused(); }
  DeadLetterCalls& dead_letters() override { std::abort(); }
  ScheduleCalls& schedules() override { std::abort(); }  // no test of the worker calls it
  LimitCalls& limits() override { std::abort(); }        // nor this
  Result<Created> create(CreateRequest) override { return unused(); }
  std::vector<Result<Created>> create_many(std::vector<CreateRequest>) override { return {}; }
  Result<FlowCreated> submit_flow(FlowRequest) override { return unused(); }
  Result<FlowAdded> add_to_flow(const FlowId&, FlowAddition) override { return unused(); }
  Result<FlowSealed> seal_flow(const FlowId&, std::string) override { return unused(); }
  Result<FlowAdded> extend_flow(const Handle&, const FlowAddition&) override { return unused(); }
  Result<FlowInputsReply> list_flow_inputs(const ExecutionId&, std::uint32_t, std::uint32_t) override {
    return unused();
  }
  Result<FlowResult> wait_flow(const FlowId&, milliseconds) override { return unused(); }
  Result<FlowDescription> describe_flow(const FlowId&) override { return unused(); }
  Result<ListFlowsReply> list_flows(const ListFlowsRequest&) override { return unused(); }
  Result<FlowNodesReply> flow_nodes(const FlowId&, const std::string&, std::uint32_t) override { return unused(); }
  Result<FlowGraph> flow_graph(const FlowId&) override { return unused(); }
  Result<FlowCancelReply> cancel_flow(const FlowId&, FlowCancelRequest, std::string) override { return unused(); }
  Result<FlowReplayReply> replay_flow(const FlowId&, FlowReplayRequest, std::string) override { return unused(); }
  Result<ExecutionDescription> describe(const ExecutionId&) override { return unused(); }
  Result<ListReply> list(const ListRequest&) override { return unused(); }
  Result<EventPage> history(const ExecutionId&, const std::string&, std::uint32_t) override { return unused(); }
  Result<ExecutionResult> wait(const ExecutionId&, milliseconds) override { return unused(); }
  Result<CancelReply> cancel(const ExecutionId&, std::string) override { return unused(); }
  Result<ReplayReply> replay(const ExecutionId&, std::string, const std::optional<std::string>&) override {
    return unused();
  }
  Result<void> change_priority(const ExecutionId&, std::int32_t, std::string) override { return unused(); }

 private:
  static Unexpected<Error> unused() { return fail(Errc::unsupported, "not part of this test"); }
  template <class T>
  void note(std::vector<T>& all, const T& one) {
    const std::lock_guard lock(mutex_);
    all.push_back(one);
  }
  template <class T>
  std::vector<T> copy(const std::vector<T>& all) const {
    const std::lock_guard lock(mutex_);
    return all;
  }

  mutable std::mutex mutex_;
  std::vector<HeartbeatRequest> heartbeats_;
  std::vector<StepRequest> steps_;
  std::vector<Settlement> settlements_;
  std::vector<SuspendRequest> suspensions_;
};

ClaimedExecution claimed(std::uint8_t number, std::uint32_t ttl_ms = 3600'000) {
  ClaimedExecution execution;
  execution.execution_id.uuid.bytes[0] = number;
  execution.handle = "handle-" + std::to_string(number);
  execution.lease.lease_epoch = 2;
  execution.lease.lease_ttl_ms = ttl_ms;
  return execution;
}

class RuntimeTest : public ::testing::Test {
 protected:
  TaskPtr task(std::uint8_t number = 1, std::uint32_t ttl_ms = 3600'000) {
    return std::make_shared<RunningTask>(*gateway_, claimed(number, ttl_ms));
  }
  LeaseKeeper::Options keeping() {
    LeaseKeeper::Options options;
    options.period = 5ms;
    options.on_lost = [this](const TaskPtr&) { ++lost_; };
    return options;
  }

  std::shared_ptr<FakeGateway> gateway_ = std::make_shared<FakeGateway>();
  std::atomic<int> lost_{0};
};

// ---------------------------------------------------------------- keeping leases

TEST_F(RuntimeTest, handlers_are_told_that_the_lease_ran_out_although_the_heartbeat_hangs) {
  std::mutex mutex;
  std::condition_variable let_go;
  bool hangs = true;
  gateway_->on_heartbeat = [&](const HeartbeatRequest&) -> Result<HeartbeatReply> {
    std::unique_lock lock(mutex);
    let_go.wait(lock, [&] { return !hangs; });
    return fail(Errc::timed_out, "nobody answers");
  };
  const TaskPtr one = task(1, 50);
  LeaseKeeper keeper(gateway_, keeping());
  ASSERT_TRUE(keeper.start());
  keeper.add(one);
  EXPECT_TRUE(comes_true([&] { return one->stop_token().stop_requested(); }));
  EXPECT_EQ(one->stop_reason(), "the lease ran out: it could not be renewed in time");
  {
    const std::lock_guard lock(mutex);
    hangs = false;
  }
  let_go.notify_all();
  keeper.stop();
  EXPECT_EQ(lost_, 1);
}

TEST_F(RuntimeTest, outage_shorter_than_the_lease_takes_nothing_away) {
  std::atomic<int> failures{3};
  gateway_->on_heartbeat = [&](const HeartbeatRequest& request) -> Result<HeartbeatReply> {
    if (failures-- > 0) return fail(Errc::unavailable, "no connection");
    HeartbeatReply reply;
    for (std::size_t i = 0; i < request.leases.size(); ++i) {
      reply.leases.emplace_back(fail(Errc::unavailable, "this record cannot be read now"));
    }
    return reply;
  };
  const TaskPtr one = task();
  LeaseKeeper keeper(gateway_, keeping());
  ASSERT_TRUE(keeper.start());
  keeper.add(one);
  ASSERT_TRUE(comes_true([&] { return gateway_->heartbeats().size() > 6; }));
  EXPECT_FALSE(one->stop_token().stop_requested());
}

TEST_F(RuntimeTest, worker_that_is_not_known_any_more_registers_again) {
  gateway_->on_heartbeat = [](const HeartbeatRequest&) {
    HeartbeatReply reply;
    reply.outcome = HeartbeatReply::Outcome::not_registered;
    return reply;
  };
  LeaseKeeper keeper(gateway_, keeping());
  ASSERT_TRUE(keeper.start());
  EXPECT_TRUE(comes_true([&] { return gateway_->registrations > 1; }));
}

TEST_F(RuntimeTest, next_call_uses_the_handle_that_the_renewal_returned) {
  gateway_->on_heartbeat = [](const HeartbeatRequest& request) {
    HeartbeatReply reply;
    for (std::size_t i = 0; i < request.leases.size(); ++i) {
      reply.leases.emplace_back(RenewVerdict{.handle = "signed with the new key"});
    }
    return reply;
  };
  const TaskPtr one = task();
  LeaseKeeper keeper(gateway_, keeping());
  ASSERT_TRUE(keeper.start());
  keeper.add(one);
  EXPECT_TRUE(comes_true([&] {
    const auto sent = gateway_->heartbeats();
    return !sent.empty() && sent.back().leases == std::vector<Handle>{"signed with the new key"};
  }));
  EXPECT_EQ(one->handle(), "signed with the new key");
}

TEST_F(RuntimeTest, event_about_an_earlier_lease_does_not_take_the_present_one_away) {
  const TaskPtr kept = task(1);
  const TaskPtr revoked = task(2);
  Event earlier;
  earlier.type = EventType::lease_revoked;
  earlier.execution_id = kept->execution().execution_id;
  earlier.lease_epoch = 1;
  Event present = earlier;
  present.execution_id = revoked->execution().execution_id;
  present.lease_epoch = 2;
  gateway_->news = {earlier, present};
  LeaseKeeper keeper(gateway_, keeping());
  keeper.add(kept);
  keeper.add(revoked);
  ASSERT_TRUE(keeper.start());
  ASSERT_TRUE(comes_true([&] { return revoked->stop_token().stop_requested(); }));
  EXPECT_EQ(revoked->stop_reason(), "the lease was revoked");
  EXPECT_FALSE(kept->stop_token().stop_requested());
}

TEST_F(RuntimeTest, earlier_handler_learns_that_its_worker_got_the_execution_again) {
  const TaskPtr earlier = task(1);
  const TaskPtr later = task(1);
  LeaseKeeper keeper(gateway_, keeping());
  keeper.add(earlier);
  keeper.add(later);
  EXPECT_TRUE(earlier->stop_token().stop_requested());
  EXPECT_EQ(earlier->stop_reason(), "the lease is lost: the execution was claimed again");
  EXPECT_FALSE(later->stop_token().stop_requested());
  EXPECT_EQ(lost_, 1);
  keeper.remove(earlier);  // as its runner does at the end; the later task stays
  keeper.add(later);
  EXPECT_FALSE(later->stop_token().stop_requested());
  EXPECT_EQ(lost_, 1);
}

// ---------------------------------------------------------------- steps

Bytes bytes(std::string text) { return {std::move(text), "text"}; }

TEST_F(RuntimeTest, step_is_recorded_again_until_somebody_answers) {
  std::atomic<int> failures{3};
  gateway_->on_step = [&](const StepRequest&) -> Result<StepReply> {
    if (failures-- > 0) return fail(Errc::unavailable, "no connection");
    return StepReply{1, 0, false};
  };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  int runs = 0;
  const Step step = steps.run(steps.reserve("charge"), {}, [&](std::stop_token) { return ++runs, bytes("ours"); });
  EXPECT_EQ(step.result, "ours");
  EXPECT_EQ(runs, 1) << "the work is not repeated";
  EXPECT_EQ(gateway_->steps().size(), 4u);
  EXPECT_EQ(gateway_->pauses, 3);
}

TEST_F(RuntimeTest, what_was_recorded_counts_when_the_reply_to_the_first_try_was_lost) {
  Step theirs;
  theirs.position = 1;
  theirs.name = "charge";
  theirs.result = "theirs";
  gateway_->on_record = {theirs};
  gateway_->on_step = [](const StepRequest&) { return StepReply{0, 0, true}; };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_EQ(steps.run(steps.reserve("charge"), {}, [](std::stop_token) { return bytes("ours"); }).result, "theirs");
}

TEST_F(RuntimeTest, step_that_the_fence_refuses_ends_the_handler) {
  gateway_->on_step = [](const StepRequest&) -> Result<StepReply> { return fail(Errc::stale_lease, "not yours"); };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_THROW(steps.run(steps.reserve("charge"), {}, [](std::stop_token) { return bytes("ours"); }), TaskStopped);
  EXPECT_EQ(one->state(), RunningTask::State::lost);
  EXPECT_TRUE(one->stop_token().stop_requested());
}

TEST_F(RuntimeTest, nothing_is_sent_for_a_task_that_was_lost_while_its_step_ran) {
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  const auto work = [&](std::stop_token) {
    one->lose("taken away");
    return bytes("ours");
  };
  EXPECT_THROW(steps.run(steps.reserve("charge"), {}, work), TaskStopped);
  EXPECT_TRUE(gateway_->steps().empty());
}

TEST_F(RuntimeTest, step_that_takes_longer_than_its_time_out_fails_although_it_returned) {
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  StepOptions options;
  options.timeout = 1ms;
  const auto work = [](std::stop_token stop) {
    EXPECT_TRUE(comes_true([&] { return stop.stop_requested(); }));
    std::this_thread::sleep_for(2ms);  // the time-out itself, by the same clock
    return bytes("too late");
  };
  EXPECT_THROW(steps.run(steps.reserve("slow"), options, work), StepFailed);
  ASSERT_EQ(gateway_->steps().size(), 1u);
  EXPECT_EQ(gateway_->steps().front().failure->message, "the step took longer than its time-out of 1 ms");
}

TEST_F(RuntimeTest, permanent_failure_of_a_step_is_not_tried_again) {
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  StepOptions options;
  options.max_retries = 5;
  int runs = 0;
  const auto work = [&](std::stop_token) -> Bytes {
    ++runs;
    throw PermanentFailure("the card is blocked");
  };
  EXPECT_THROW(steps.run(steps.reserve("charge"), options, work), StepFailed);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(gateway_->steps().front().permanent);
}

TEST_F(RuntimeTest, sleep_that_is_entered_again_too_early_leaves_again) {
  ClaimedExecution execution = claimed(1);
  execution.lease.acquired_at = 1'000'000;
  Step slept;
  slept.position = 1;
  slept.name = "cool-off";
  slept.state = StepState::sleep;
  slept.wake_at = 1'000'000 + 3600'000;
  execution.steps = {slept};
  RunningTask early(*gateway_, execution);
  Steps steps(early, nullptr);
  try {
    steps.sleep(steps.reserve("cool-off"), 1h);
    FAIL() << "it returned";
  } catch (const LeaveHandler& leave) {
    EXPECT_EQ(std::get<Delay>(leave.settlement).delay_until, slept.wake_at);
  }
  execution.lease.acquired_at = slept.wake_at;
  RunningTask in_time(*gateway_, execution);
  Steps again(in_time, nullptr);
  EXPECT_NO_THROW(again.sleep(again.reserve("cool-off"), 1h));
  EXPECT_TRUE(gateway_->steps().empty());
}

// ---------------------------------------------------------------- waits

SuspendRequest wait_for(const char* name) {
  SuspendRequest request;
  request.waitpoints = {{name, {}, {}}};
  return request;
}

TEST_F(RuntimeTest, wait_is_asked_for_again_until_somebody_answers) {
  std::atomic<int> failures{3};
  gateway_->on_suspend = [&](const SuspendRequest&) -> Result<SuspendReply> {
    if (failures-- > 0) return fail(Errc::outcome_unknown, "no connection");
    return SuspendReply{.suspended = true};
  };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_THROW(steps.wait(steps.reserve("paid"), wait_for("paid")), LeaveHandler);
  const auto sent = gateway_->suspensions();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent.back().position, 1u);
  EXPECT_EQ(sent.back().step_name, "paid");
  EXPECT_EQ(one->state(), RunningTask::State::settling) << "a heartbeat that finds no lease is no loss from here on";
}

TEST_F(RuntimeTest, wait_that_is_over_at_once_leaves_the_task_running) {
  gateway_->on_suspend = [](const SuspendRequest&) {
    SuspendReply reply;
    reply.outcome.emplace().signals.push_back({.payload = "7"});
    return reply;
  };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_EQ(steps.wait(steps.reserve("paid"), wait_for("paid")).signals.at(0).payload, "7");
  EXPECT_EQ(one->state(), RunningTask::State::running);
}

TEST_F(RuntimeTest, wait_that_was_recorded_before_is_read) {
  gateway_->on_suspend = [](const SuspendRequest&) { return SuspendReply{.duplicate = true}; };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  const auto place = steps.reserve("paid");
  EXPECT_THROW(steps.wait(place, wait_for("paid")), std::runtime_error);
  Step theirs;
  theirs.position = 1;
  theirs.name = "paid";
  theirs.wait.emplace().cause = WaitCause::timeout;
  gateway_->on_record = {theirs};
  const TaskPtr other = task();
  Steps again(*other, nullptr);
  EXPECT_EQ(again.wait(again.reserve("paid"), wait_for("paid")).cause, WaitCause::timeout);
}

TEST_F(RuntimeTest, wait_that_the_fence_refuses_ends_the_handler) {
  gateway_->on_suspend = [](const SuspendRequest&) -> Result<SuspendReply> {
    return fail(Errc::stale_lease, "not yours");
  };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_THROW(steps.wait(steps.reserve("paid"), wait_for("paid")), TaskStopped);
  EXPECT_EQ(one->state(), RunningTask::State::lost);
}

TEST_F(RuntimeTest, too_many_waitpoints_are_no_passing_error) {
  gateway_->on_suspend = [](const SuspendRequest&) -> Result<SuspendReply> {
    return fail(Errc::overloaded, "waitpoints: too many", "waitpoints");
  };
  const TaskPtr one = task();
  Steps steps(*one, nullptr);
  EXPECT_THROW(steps.wait(steps.reserve("paid"), wait_for("paid")), PermanentFailure);
  EXPECT_EQ(one->state(), RunningTask::State::running);
  EXPECT_EQ(gateway_->suspensions().size(), 1u);
}

TEST_F(RuntimeTest, worker_that_stops_gives_up_a_wait_that_nobody_answers) {
  const TaskPtr one = task();
  gateway_->on_suspend = [&](const SuspendRequest&) -> Result<SuspendReply> {
    one->request_stop("the worker is stopping");
    return fail(Errc::unavailable, "no connection");
  };
  Steps steps(*one, nullptr);
  EXPECT_THROW(steps.wait(steps.reserve("paid"), wait_for("paid")), TaskStopped);
  EXPECT_EQ(one->state(), RunningTask::State::running) << "so that it can be given back";
}

// ---------------------------------------------------------------- settling

class Settling : public RuntimeTest {
 protected:
  Result<void> settle(const TaskPtr& one, Settlement settlement) {
    std::atomic<bool> is_done{false};
    Result<void> answer;
    Settler settler;
    settler.settle(one, std::move(settlement), [&](const Result<void>& given) {
      answer = given;
      is_done = true;
    });
    EXPECT_TRUE(comes_true([&] { return is_done.load(); }));
    return answer;
  }
};

TEST_F(Settling, is_repeated_while_nobody_answers) {
  std::atomic<int> failures{2};
  gateway_->on_settle = [&](const Settlement&) -> Result<void> {
    if (failures-- > 0) return fail(Errc::unavailable, "no connection");
    return {};
  };
  const TaskPtr one = task();
  ASSERT_TRUE(one->begin_settling());
  EXPECT_TRUE(settle(one, CompleteRequest{"done", "text"}));
  ASSERT_EQ(gateway_->settlements().size(), 3u);
  EXPECT_EQ(std::get<CompleteRequest>(gateway_->settlements().back()).result, "done");
}

TEST_F(Settling, of_a_refused_result_becomes_a_failure_that_says_so) {
  gateway_->on_settle = [](const Settlement& settlement) -> Result<void> {
    if (std::holds_alternative<CompleteRequest>(settlement)) return fail(Errc::payload_too_large, "too large");
    return {};
  };
  const TaskPtr one = task();
  ASSERT_TRUE(one->begin_settling());
  EXPECT_TRUE(settle(one, CompleteRequest{"huge", "text"}));
  const auto sent = gateway_->settlements();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(std::get<FailRequest>(sent.back()).category, "result_refused");
  EXPECT_EQ(std::get<FailRequest>(sent.back()).retryable, FailRequest::Retryable::never);
}

TEST_F(Settling, ends_when_the_lease_is_lost) {
  gateway_->on_settle = [](const Settlement&) -> Result<void> { return fail(Errc::stale_lease, "not yours"); };
  const TaskPtr one = task();
  ASSERT_TRUE(one->begin_settling());
  EXPECT_EQ(settle(one, CompleteRequest{}).error().code, Errc::stale_lease);
  EXPECT_EQ(gateway_->settlements().size(), 1u);
}

TEST_F(Settling, happens_once_and_never_for_a_lost_task) {
  const TaskPtr one = task(1);
  EXPECT_TRUE(one->begin_settling());
  EXPECT_FALSE(one->begin_settling());
  const TaskPtr lost = task(2);
  EXPECT_TRUE(lost->lose("taken away"));
  EXPECT_FALSE(lost->lose("again"));
  EXPECT_FALSE(lost->begin_settling());
  EXPECT_EQ(lost->stop_reason(), "taken away");
}

}  // namespace
}  // namespace flowfabric::sdk
