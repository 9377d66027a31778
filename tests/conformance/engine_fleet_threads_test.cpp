// The fleet on an engine with its threads and the real clock: many concurrent callers, with key rotations.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <flowfabric/engine.hpp>

#include "conformance/engine_suite.hpp"
#include "engine/engine_impl.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {
namespace {

class FleetThreads : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr int workers = 4;
  static constexpr int jobs = 12;  // of each worker

  std::unique_ptr<Engine> open_engine() {
    auto engine = start_engine(database_->open(), {});
    if (!engine) throw std::runtime_error(engine.error().message);
    return std::move(*engine);
  }

  static WorkerRegistration registration(const std::string& name) {
    WorkerRegistration worker;
    worker.worker_id = "pool";
    worker.worker_instance_id = name;
    worker.lanes = {name};
    worker.liveness_ttl_ms = 60000;
    return worker;
  }

  // By a claim, or by a grant that is redeemed.
  static ClaimedExecution take(Engine& engine, const std::string& name, bool by_grant) {
    if (!by_grant) {
      ClaimRequest request;
      request.worker_id = "pool";
      request.worker_instance_id = name;
      request.lanes = {name};
      return engine.claim(request).value().at(0);
    }
    ClaimForWorkerRequest wish;
    wish.lane = name;
    wish.worker_id = "pool";
    wish.worker_instance_id = name;
    wish.grant_ttl_ms = 60000;
    const Grant grant = engine.claim_for_worker(wish).value().value();
    RedeemRequest redeem;
    redeem.execution_id = grant.execution_id;
    redeem.grant_key = grant.grant_key;
    redeem.worker_id = "pool";
    redeem.worker_instance_id = name;
    return engine.claim_from_grant(redeem).value();
  }

  // A worker with its own lane, so that all its work is available.
  static void work(Engine& engine, const std::string& name) {
    ASSERT_TRUE(engine.register_worker(registration(name)));
    for (int i = 0; i < jobs; ++i) {
      CreateRequest request;
      request.kind = "job";
      request.lane = name;
      ASSERT_TRUE(engine.create(request));
      const ClaimedExecution claimed = take(engine, name, i % 3 == 0);
      const auto beat = engine.heartbeat_worker({"default", name, {claimed.handle}});
      ASSERT_TRUE(beat) << beat.error().message;
      EXPECT_EQ(beat->outcome, HeartbeatReply::Outcome::refreshed);
      EXPECT_TRUE(beat->leases.at(0)) << beat->leases.at(0).error().message;
      EXPECT_TRUE(beat->revoked_leases.empty());
      const auto completed = engine.complete(claimed.handle);
      EXPECT_TRUE(completed) << completed.error().message;
    }
  }

  static void rotate_until(Engine& engine, const std::atomic<bool>& stop) {
    for (int i = 0; i < 10 && !stop; ++i) {
      EXPECT_TRUE(engine.rotate_keys(3600000));
      EXPECT_TRUE(engine.list_keys());
      EXPECT_TRUE(engine.list_expired_leases());
      EXPECT_TRUE(engine.list_workers());
    }
  }

  std::unique_ptr<TestDatabase> database_ = make_database(GetParam().id);
};
ON_EVERY_STORE(FleetThreads);

TEST_P(FleetThreads, many_workers_and_rotating_keys_lose_nothing) {
  const auto engine = open_engine();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) threads.emplace_back([&, i] { work(*engine, "w-" + std::to_string(i)); });
  std::thread rotating([&] { rotate_until(*engine, stop); });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  rotating.join();
  EXPECT_EQ(engine->list_workers().value().workers.size(), static_cast<std::size_t>(workers));
  ListRequest completed;
  completed.states = {PublicState::completed};
  EXPECT_EQ(engine->list_executions(completed).value().executions.size(), static_cast<std::size_t>(workers * jobs));

  // An execution that ended within this millisecond is left to the next run.
  std::uint64_t removed = 0;
  while (removed < workers * jobs) removed += engine->run_retention({0, {}, {}}).value();
  EXPECT_TRUE(engine->list_executions({}).value().executions.empty());
}

TEST_P(FleetThreads, a_heartbeat_is_answered_when_the_engine_stops) {
  auto engine = open_engine();
  ASSERT_TRUE(engine->register_worker(registration("w-1")));
  std::atomic<int> answers{0};
  for (int i = 0; i < 20; ++i) {
    engine->heartbeat_async({"default", "w-1", {}}, [&](const Result<HeartbeatReply>&) { ++answers; });
  }
  engine->stop();
  EXPECT_EQ(answers, 20);
}

TEST_P(FleetThreads, the_leases_of_a_worker_that_is_marked_dead_go_to_another) {
  const auto engine = open_engine();
  ASSERT_TRUE(engine->register_worker(registration("w-1")));
  CreateRequest request;
  request.kind = "job";
  request.lane = "w-1";
  ASSERT_TRUE(engine->create(request));
  const ClaimedExecution lost = take(*engine, "w-1", false);
  ASSERT_EQ(engine->mark_worker_dead("default", "w-1", {"ops", "gone"}), MarkWorkerDeadOutcome::marked);
  ClaimRequest other;
  other.worker_id = "pool";
  other.worker_instance_id = "w-2";
  other.lanes = {"w-1"};
  other.wait_ms = 60000;
  const auto claimed = engine->claim(other).value();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].execution_id, lost.execution_id);
  EXPECT_EQ(engine->complete(lost.handle).error().code, Errc::lease_revoked);
  EXPECT_TRUE(engine->complete(claimed[0].handle));
}

}  // namespace
}  // namespace flowfabric::test
