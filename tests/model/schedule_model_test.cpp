// Random schedules of executions and of flows, on every store: what they start, skip and miss is what an evaluator of
// docs/schedules.md says. FF_MODEL_SEED and FF_MODEL_SCHEDULES choose other runs, and how many on memory.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "core/schedule_ingress.hpp"
#include "core/schedule_records.hpp"
#include "engine/integrity.hpp"
#include "engine/schedule_reads.hpp"
#include "model/schedule_evaluator.hpp"
#include "support/driver.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {
namespace {

constexpr int steps_of_a_schedule = 60;
constexpr std::int64_t a_minute_ms = 60'000;

std::uint64_t schedule_number(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

class ScheduleRun {
 public:
  ScheduleRun(StoreKindId kind, std::uint64_t seed) : random_(seed), database_(make_database(kind)) {
    open_engine(seed);
  }

  void run() {
    create();
    for (int step = 0; step < steps_of_a_schedule && !testing::Test::HasFailure(); ++step) {
      take_a_step();
      compare();
    }
    const auto findings = integrity_findings(driver_->store());
    ASSERT_TRUE(findings);
    EXPECT_EQ(*findings, std::vector<std::string>{});
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  TimestampMs now() const { return clock_.now_ms(); }

  void open_engine(std::uint64_t seed) {
    driver_.reset();
    StoreOptions options;
    options.now_us = clock_.source();
    driver_.emplace(database_->open(std::move(options)), clock_, seed);
  }

  void create() {
    ScheduleRequest request;
    request.name = "s";
    if (below(2) == 0) {
      request.cron = below(2) == 0 ? "* * * * *" : "*/3 * * * *";
    } else {
      request.every_ms = a_minute_ms + static_cast<std::int64_t>(below(100)) * 1000;
    }
    request.overlap = static_cast<OverlapPolicy>(below(4));
    request.catch_up = static_cast<CatchUpPolicy>(below(3));
    request.catch_up_limit = 1 + static_cast<std::uint32_t>(below(4));
    request.start_window_ms = static_cast<std::int64_t>(below(4)) * a_minute_ms;
    of_flows_ = below(2) == 0;
    if (of_flows_) {
      request.flow.emplace();
      request.flow->kind = "flow";
      for (const char* name : {"a", "b"}) {
        FlowNode& node = request.flow->nodes.emplace_back();
        node.name = name;
        node.request.kind = "job";
      }
      request.flow->edges = {{"a", "b"}};
    } else {
      request.execution.kind = "job";
    }
    const auto admitted = admit(request, IngressLimits{}, nullptr);
    ASSERT_TRUE(admitted) << admitted.error().message;
    ASSERT_TRUE(driver_->call(CreateScheduleCommand{request}));
    evaluator_.emplace(request, now());
  }

  void take_a_step() {
    switch (below(10)) {
      case 0: return downtime();
      case 1: return trigger();
      case 2: return pause_or_resume();
      case 3: return backfill();
      case 4:
      case 5:
      case 6: return end_one();
      default: return pass(static_cast<std::int64_t>(1 + below(150)) * 1000);
    }
  }

  // The clock looks at each of the times.
  void pass(std::int64_t ms) {
    for (const TimestampMs end = now() + ms; now() < end;) {
      driver_->advance(1000);
      evaluator_->look(now());
    }
  }
  // Nobody looks for a long time.
  void downtime() {
    driver_.reset();
    clock_.advance_ms(static_cast<std::int64_t>(1 + below(15)) * a_minute_ms);
    open_engine(below(1000));
    driver_->settle();
    evaluator_->look(now());
  }
  void trigger() {
    const bool ignore_overlap = below(3) == 0;
    ASSERT_TRUE(driver_->call(TriggerScheduleCommand{"default", "s", {ignore_overlap, {}}, {"ops", {}}}));
    evaluator_->trigger(now(), ignore_overlap);
    driver_->settle();
    pass(1000);  // two triggers of one moment could not be told apart
  }
  void pause_or_resume() {
    const bool resumes = evaluator_->is_paused();
    const auto wanted = resumes ? ScheduleState::active : ScheduleState::paused;
    ASSERT_TRUE(driver_->call(ScheduleStateCommand{"default", "s", wanted, {"ops", {}}}));
    resumes ? evaluator_->resume(now()) : evaluator_->pause();
    driver_->settle();
  }
  void backfill() {
    const TimestampMs from = now() - static_cast<std::int64_t>(below(6)) * a_minute_ms - 1;
    const auto command = reads::backfill_command(driver_->store(), nullptr, "default", "s", {from, now() + 1}, {});
    ASSERT_TRUE(command);
    const auto reply = driver_->call(*command);
    ASSERT_TRUE(reply) << reply.error().message;
    std::vector<TimestampMs> made;
    for (const RunningFiring& one : std::get<BackfillReply>(*reply).executions) made.push_back(one.scheduled_at);
    EXPECT_EQ(made, evaluator_->backfill(from, now() + 1, now()));
    driver_->settle();
  }

  // One execution, or all nodes of one flow.
  void end_one() {
    ClaimRequest request;
    request.worker_id = "worker";
    request.worker_instance_id = "w-1";
    request.lanes = {"default"};
    request.lease_ttl_ms = 3600 * 1000;
    const auto claimed = driver_->claim(request);
    ASSERT_TRUE(claimed);
    if (claimed->empty()) return;
    const auto at = claimed->front().tags.at("schedule.at");
    ASSERT_TRUE(driver_->complete(claimed->front()));
    driver_->settle();
    if (of_flows_ && claimed->front().node == "a") return;
    for (const TimestampMs running : evaluator_->running()) {
      if (format_utc(running) == at) return evaluator_->end(running);
    }
    ADD_FAILURE() << "what was started for " << at << " should not run";
  }

  // Of what was started and has not ended, the scheduled times.
  std::multiset<std::string> running_now() {
    std::multiset<std::string> times;
    if (of_flows_) {
      ListFlowsRequest request;
      request.limit = 1000;
      const auto flows = reads::flows(driver_->store(), request);
      for (const FlowSummary& one : flows->flows) {
        if (!has_ended(one.state)) times.insert(one.tags.at("schedule.at"));
      }
      return times;
    }
    ListRequest request;
    request.limit = 1000;
    const auto executions = reads::list(driver_->store(), request);
    for (const ExecutionSummary& one : executions->executions) {
      if (one.public_state < PublicState::completed) times.insert(one.tags.at("schedule.at"));
    }
    return times;
  }

  void compare() {
    if (testing::Test::HasFailure()) return;
    const auto shown = reads::describe_schedule(driver_->store(), nullptr, "default", "s");
    ASSERT_TRUE(shown) << shown.error().message;
    const ScheduleEvaluator::Counts counts{shown->counts.fired, shown->counts.skipped, shown->counts.missed};
    EXPECT_EQ(counts.fired, evaluator_->counts().fired);
    EXPECT_EQ(counts.skipped, evaluator_->counts().skipped);
    EXPECT_EQ(counts.missed, evaluator_->counts().missed);
    EXPECT_EQ(shown->buffered_at != 0, evaluator_->is_buffered());
    std::multiset<std::string> expected;
    for (const TimestampMs at : evaluator_->running()) expected.insert(format_utc(at));
    EXPECT_EQ(running_now(), expected);
  }

  std::mt19937_64 random_;
  ManualClock clock_;
  std::unique_ptr<TestDatabase> database_;
  std::optional<Driver> driver_;
  std::optional<ScheduleEvaluator> evaluator_;
  bool of_flows_ = false;
};

void run_schedules(StoreKindId kind, std::uint64_t runs) {
  const std::uint64_t first = schedule_number("FF_MODEL_SEED", 1);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("FF_MODEL_SEED=" + std::to_string(seed));
    ScheduleRun(kind, seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ScheduleModel, FiringsAreAsTheRulesSayOnMemory) {
  run_schedules(StoreKindId::memory, schedule_number("FF_MODEL_SCHEDULES", 150));
}
TEST(ScheduleModel, FiringsAreAsTheRulesSayOnSqlite) { run_schedules(StoreKindId::sqlite, 10); }
TEST(ScheduleModel, FiringsAreAsTheRulesSayOnPostgres) { run_schedules(StoreKindId::postgres, 5); }

}  // namespace
}  // namespace flowfabric::test
