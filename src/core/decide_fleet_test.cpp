// The worker registry, and the release of the leases of a dead worker.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

using Registered = RegisterWorkerReply::Outcome;
using Beat = HeartbeatReply::Outcome;

constexpr std::uint32_t ttl = 1000;

CreateRequest job() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

Key key_of(const std::string& instance) { return worker_key("default", instance); }

RegisterWorkerReply register_worker(Rehearsal& stage, const std::string& instance = "w-1") {
  return stage.expect<RegisterWorkerReply>(RegisterCommand{Rehearsal::registration(instance, ttl)});
}

HeartbeatReply heartbeat(Rehearsal& stage, const std::string& instance = "w-1") {
  return stage.expect<HeartbeatReply>(HeartbeatCommand{"default", instance});
}

MarkWorkerDeadOutcome mark_dead(Rehearsal& stage, const std::string& instance = "w-1") {
  return stage.expect<MarkWorkerDeadOutcome>(MarkDeadCommand{"default", instance, {"ops", "broken"}});
}

// Runs the clock until nothing is due.
void sweep_all(Rehearsal& stage, std::size_t most_leases = 500) {
  int rounds = 0;
  while (stage.sweep(most_leases) > 0) {
    ASSERT_LT(++rounds, 100) << "the clock is kept busy for ever";
  }
}

// ---- Registering ---------------------------------------------------------------------------------------------------

TEST(Registering, ANewWorkerIsRegisteredAndSeen) {
  Rehearsal stage;
  WorkerRegistration registration = Rehearsal::registration("w-1", ttl);
  registration.lanes = {"fast", "slow"};
  registration.capabilities = {"gpu"};
  const auto reply = stage.expect<RegisterWorkerReply>(RegisterCommand{registration});
  EXPECT_EQ(reply, (RegisterWorkerReply{Registered::registered, stage.now, stage.now + ttl}));
  const WorkerInfo info = stage.worker("w-1").info;
  EXPECT_EQ(info.worker_id, "w");
  EXPECT_EQ(info.lanes, registration.lanes);
  EXPECT_EQ(info.capabilities, registration.capabilities);
  EXPECT_EQ(info.last_heartbeat_at, stage.now);
  EXPECT_EQ(info.partition, worker_partition("w-1"));
  EXPECT_EQ(info.state, WorkerState::live);
  EXPECT_EQ(stage.due(key_of("w-1")), stage.now + ttl);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::worker_registered);
  EXPECT_EQ(stage.last_events[0].name_space, "default");
  EXPECT_EQ(stage.last_events[0].worker_instance_id, "w-1");
  EXPECT_EQ(stage.last_events[0].actor, "w");
  EXPECT_FALSE(stage.last_events[0].execution_id);
}

TEST(Registering, AgainRefreshesAndOverwritesAllButTheFirstTime) {
  Rehearsal stage;
  const TimestampMs first = stage.now;
  register_worker(stage);
  stage.now += 300;
  WorkerRegistration again = Rehearsal::registration("w-1", 5000);
  again.lanes = {"other"};
  again.capabilities = {"gpu"};
  const auto reply = stage.expect<RegisterWorkerReply>(RegisterCommand{again});
  EXPECT_EQ(reply, (RegisterWorkerReply{Registered::refreshed, first, stage.now + 5000}));
  const WorkerInfo info = stage.worker("w-1").info;
  EXPECT_EQ(info.registered_at, first);
  EXPECT_EQ(info.lanes, again.lanes);
  EXPECT_EQ(info.capabilities, again.capabilities);
  EXPECT_EQ(info.liveness_ttl_ms, 5000u);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::worker_refreshed);
  EXPECT_EQ(stage.last_events[0].reason, "lanes, capabilities, liveness_ttl_ms");
}

TEST(Registering, AgainWithNothingNewIsNoEvent) {
  Rehearsal stage;
  register_worker(stage);
  stage.now += 300;
  EXPECT_EQ(register_worker(stage).outcome, Registered::refreshed);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.worker("w-1").info.expires_at, stage.now + ttl);
}

TEST(Registering, WithAShorterTtlMovesTheEntryForward) {
  Rehearsal stage;
  stage.expect<RegisterWorkerReply>(RegisterCommand{Rehearsal::registration("w-1", 60000)});
  stage.now += 10;
  register_worker(stage);
  EXPECT_EQ(stage.due(key_of("w-1")), stage.now + ttl) << "the clock must not come too late";
}

TEST(Registering, ALivingInstanceIsNotReassigned) {
  Rehearsal stage;
  register_worker(stage);
  WorkerRegistration other = Rehearsal::registration("w-1", ttl);
  other.worker_id = "another";
  const std::uint64_t version = stage.version(key_of("w-1"));
  const auto reply = stage.run(RegisterCommand{other});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::conflict);
  EXPECT_EQ(reply.error().field, "worker_instance_id");
  EXPECT_NE(reply.error().message.find("instance_id reassigned"), std::string::npos);
  EXPECT_EQ(stage.version(key_of("w-1")), version);
  stage.now += ttl;
  EXPECT_EQ(stage.expect<RegisterWorkerReply>(RegisterCommand{other}).outcome, Registered::registered)
      << "the dead do not hold on to their name";
  EXPECT_EQ(stage.worker("w-1").info.worker_id, "another");
}

TEST(Registering, NamespacesDoNotShareInstances) {
  Rehearsal stage;
  register_worker(stage);
  WorkerRegistration other = Rehearsal::registration("w-1", ttl);
  other.name_space = "elsewhere";
  other.worker_id = "another";
  EXPECT_EQ(stage.expect<RegisterWorkerReply>(RegisterCommand{other}).outcome, Registered::registered);
  EXPECT_EQ(stage.expect<MarkWorkerDeadOutcome>(MarkDeadCommand{"elsewhere", "w-1", {}}),
            MarkWorkerDeadOutcome::marked);
  EXPECT_EQ(heartbeat(stage).outcome, Beat::refreshed);
}

TEST(Registering, AfterTheTtlIsANewRegistrationSweptOrNot) {
  for (const bool swept : {false, true}) {
    Rehearsal stage;
    register_worker(stage);
    stage.now += ttl;
    if (swept) sweep_all(stage);
    const auto reply = register_worker(stage);
    EXPECT_EQ(reply, (RegisterWorkerReply{Registered::registered, stage.now, stage.now + ttl})) << swept;
    EXPECT_EQ(stage.history(key_of("w-1")),
              (std::vector{EventType::worker_registered, EventType::worker_ttl_swept, EventType::worker_registered}));
    sweep_all(stage);
    EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::live);
    EXPECT_EQ(stage.worker("w-1").info.ended_at, 0);
  }
}

// ---- Heartbeats ----------------------------------------------------------------------------------------------------

TEST(Heartbeats, ExtendByTheStoredTtl) {
  Rehearsal stage;
  register_worker(stage);
  stage.now += 600;
  const HeartbeatReply reply = heartbeat(stage);
  EXPECT_EQ(reply.outcome, Beat::refreshed);
  EXPECT_EQ(reply.next_expiry_at, stage.now + ttl);
  EXPECT_FALSE(reply.drain);
  EXPECT_TRUE(stage.last_events.empty()) << "heartbeats are state, not events";
  EXPECT_EQ(stage.worker("w-1").info.last_heartbeat_at, stage.now);
}

TEST(Heartbeats, CountWhileTheTtlLastsAndNotAtItsEnd) {
  for (const std::int64_t off : {-1, 0, 1}) {
    Rehearsal stage;
    register_worker(stage);
    stage.now += ttl + off;
    EXPECT_EQ(heartbeat(stage).outcome, off < 0 ? Beat::refreshed : Beat::not_registered) << off;
    EXPECT_EQ(heartbeat(stage).outcome, off < 0 ? Beat::refreshed : Beat::not_registered) << "and it stays so";
  }
}

TEST(Heartbeats, OfAStrangerChangeNothing) {
  Rehearsal stage;
  EXPECT_EQ(heartbeat(stage).outcome, Beat::not_registered);
  EXPECT_FALSE(stage.has_record(key_of("w-1")));
}

TEST(Heartbeats, AreTheSameWhetherTheClockCameFirst) {
  for (const bool swept : {false, true}) {
    Rehearsal stage;
    register_worker(stage);
    stage.now += ttl;
    if (swept) stage.sweep();
    EXPECT_EQ(heartbeat(stage).outcome, Beat::not_registered);
    EXPECT_EQ(stage.history(key_of("w-1")), (std::vector{EventType::worker_registered, EventType::worker_ttl_swept}));
    EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::ttl_swept);
  }
}

// A heartbeat in each half of the TTL: only the second kind moves the entry.
TEST(Heartbeats, LeaveTheEntryWhileItLiesFarEnoughAhead) {
  Rehearsal stage;
  register_worker(stage);
  const TimestampMs first = stage.due(key_of("w-1"));
  stage.now += ttl / 2;
  heartbeat(stage);
  EXPECT_EQ(stage.due(key_of("w-1")), first) << "half a TTL is left";
  stage.now += 1;
  heartbeat(stage);
  EXPECT_EQ(stage.due(key_of("w-1")), stage.now + ttl) << "the next one could come too late to spare the clock";
}

TEST(Heartbeats, AnEarlyEntryIsPutRightByTheClock) {
  Rehearsal stage;
  register_worker(stage);
  stage.now += 400;
  heartbeat(stage);
  const TimestampMs expiry = stage.now + ttl;
  stage.now = stage.due(key_of("w-1"));
  ASSERT_LT(stage.now, expiry);
  EXPECT_EQ(stage.sweep(), 1u);
  EXPECT_EQ(stage.due(key_of("w-1")), expiry);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::live);
}

// In every case the clock finds a worker when it dies, and it never processes one with steady heartbeats.
TEST(Heartbeats, TheEntryIsNeverLaterThanTheExpiry) {
  for (const std::int64_t period : {1, 100, 333, 499, 500, 501, 999}) {
    Rehearsal stage;
    register_worker(stage);
    for (int i = 0; i < 50; ++i) {
      stage.now += period;
      const bool met = stage.due(key_of("w-1")) <= stage.now;
      EXPECT_FALSE(met && period < 500) << "a heartbeat every " << period << " ms spares the clock its visit";
      if (met) stage.sweep();
      ASSERT_EQ(heartbeat(stage).outcome, Beat::refreshed);
      EXPECT_LE(stage.due(key_of("w-1")), stage.worker("w-1").info.expires_at);
      EXPECT_GT(stage.due(key_of("w-1")), stage.now);
    }
  }
}

// ---- Draining ------------------------------------------------------------------------------------------------------

TEST(Draining, IsToldWithTheNextHeartbeatUntilTheWorkerRegistersAgain) {
  Rehearsal stage;
  const DrainWorkerCommand drain{"default", "w-1", {"ops", "upgrade"}};
  EXPECT_EQ(stage.expect<DrainWorkerOutcome>(drain), DrainWorkerOutcome::not_registered);
  EXPECT_FALSE(stage.has_record(key_of("w-1")));
  register_worker(stage);
  EXPECT_EQ(stage.expect<DrainWorkerOutcome>(drain), DrainWorkerOutcome::draining);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::worker_draining);
  EXPECT_EQ(stage.last_events[0].actor, "ops");
  EXPECT_EQ(stage.last_events[0].reason, "upgrade");
  EXPECT_EQ(stage.expect<DrainWorkerOutcome>(drain), DrainWorkerOutcome::draining);
  EXPECT_TRUE(stage.last_events.empty()) << "no change, no event";
  EXPECT_TRUE(heartbeat(stage).drain);
  EXPECT_EQ(register_worker(stage).outcome, Registered::refreshed);
  EXPECT_EQ(stage.last_events.back().reason, "draining");
  EXPECT_FALSE(heartbeat(stage).drain);
  stage.now += ttl;
  EXPECT_EQ(stage.expect<DrainWorkerOutcome>(drain), DrainWorkerOutcome::not_registered);
}

// ---- Ending --------------------------------------------------------------------------------------------------------

TEST(Dying, MarkedOnceAndSaidWhyAndByWhom) {
  Rehearsal stage;
  EXPECT_EQ(mark_dead(stage), MarkWorkerDeadOutcome::not_registered);
  EXPECT_FALSE(stage.has_record(key_of("w-1")));
  register_worker(stage);
  stage.now += 10;
  EXPECT_EQ(mark_dead(stage), MarkWorkerDeadOutcome::marked);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::worker_marked_dead);
  EXPECT_EQ(stage.last_events[0].actor, "ops");
  EXPECT_EQ(stage.last_events[0].reason, "broken");
  const WorkerInfo info = stage.worker("w-1").info;
  EXPECT_EQ(info.state, WorkerState::marked_dead);
  EXPECT_EQ(info.ended_at, stage.now);
  EXPECT_EQ(info.ended_by, "ops");
  EXPECT_EQ(info.reason, "broken");
  EXPECT_EQ(mark_dead(stage), MarkWorkerDeadOutcome::not_registered);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(heartbeat(stage).outcome, Beat::not_registered);
}

TEST(Dying, ALapsedWorkerIsSweptNotMarked) {
  Rehearsal stage;
  register_worker(stage);
  stage.now += ttl;
  EXPECT_EQ(mark_dead(stage), MarkWorkerDeadOutcome::not_registered);
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::ttl_swept);
  EXPECT_EQ(stage.worker("w-1").info.ended_by, "clock");
}

TEST(Dying, TheRecordIsKeptADayWithItsEventsAndThenGoes) {
  for (const bool marked : {false, true}) {
    Rehearsal stage;
    register_worker(stage);
    if (marked) {
      mark_dead(stage);
    } else {
      stage.now += ttl;
    }
    const TimestampMs end = stage.now;
    sweep_all(stage);
    EXPECT_EQ(stage.due(key_of("w-1")), end + limits::dead_worker_retention_ms);
    stage.now = end + limits::dead_worker_retention_ms - 1;
    EXPECT_EQ(stage.sweep(), 0u);
    EXPECT_EQ(stage.history(key_of("w-1")).size(), 2u);
    stage.now += 1;
    EXPECT_EQ(stage.sweep(), 1u);
    EXPECT_FALSE(stage.has_record(key_of("w-1")));
    EXPECT_TRUE(stage.history(key_of("w-1")).empty());
    EXPECT_EQ(register_worker(stage).outcome, Registered::registered) << "the name is free";
  }
}

TEST(Dying, AClockThatComesDaysLateStillLogsTheEnd) {
  Rehearsal stage;
  register_worker(stage);
  stage.now += 10 * limits::dead_worker_retention_ms;
  stage.sweep();
  ASSERT_TRUE(stage.has_record(key_of("w-1")));
  EXPECT_EQ(stage.history(key_of("w-1")).back(), EventType::worker_ttl_swept);
}

// A heartbeat may be committed before the sweep that finds the lapse. Leases are separate records: if the sweep
// released them in the same step, a live worker would lose its leases.
TEST(Dying, IsOnRecordBeforeALeaseIsTaken) {
  Rehearsal stage;
  const ExecutionId id = stage.create(job());
  register_worker(stage);
  const ClaimedExecution held = stage.lease(id, 10 * ttl);
  ASSERT_EQ(held.lease.worker_instance_id, "w-1");
  stage.now += ttl;
  stage.sweep();
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::ttl_swept);
  EXPECT_TRUE(stage.facts(id).lease.has_value());
  EXPECT_EQ(stage.due(key_of("w-1")), stage.worker("w-1").release_until) << "and the clock comes again at once";
  stage.sweep();
  EXPECT_FALSE(stage.facts(id).lease.has_value());
}

TEST(Dying, IsSeenAsLapsedBeforeTheClockCame) {
  Rehearsal stage;
  register_worker(stage);
  const WorkerRecord record = stage.worker("w-1");
  EXPECT_EQ(worker_info(record, stage.now + ttl - 1).state, WorkerState::live);
  EXPECT_EQ(worker_info(record, stage.now + ttl).state, WorkerState::lapsed);
  mark_dead(stage);
  EXPECT_EQ(worker_info(stage.worker("w-1"), stage.now + 10 * ttl).state, WorkerState::marked_dead);
}

// ---- The leases of the dead ----------------------------------------------------------------------------------------

ExecutionId leased(Rehearsal& stage, const std::string& instance = "w-1") {
  const ExecutionId id = stage.create(job());
  stage.lease(id, 60000, instance);
  return id;
}

TEST(LeasesOfTheDead, AreFoundByTheirHolder) {
  Rehearsal stage;
  const ExecutionId first = leased(stage);
  stage.now += 1;
  const ExecutionId second = leased(stage);
  leased(stage, "w-2");
  EXPECT_EQ(stage.members(holder_group("default", "w-1")), (std::vector{execution_key(first), execution_key(second)}))
      << "the oldest first";
  stage.expect<RevokeReply>(RevokeCommand{first, {}, {}});
  EXPECT_EQ(stage.members(holder_group("default", "w-1")), std::vector{execution_key(second)});
}

TEST(LeasesOfTheDead, AreTakenAndTheWorkIsHandedOutAgain) {
  for (const bool marked : {false, true}) {
    SCOPED_TRACE(marked);
    Rehearsal stage;
    register_worker(stage);
    const ExecutionId id = leased(stage);
    const ExecutionId other = leased(stage, "w-2");
    const Fence fence{id, 0, stage.facts(id).lease_epoch, stage.facts(id).lease->lease_id};
    stage.now += marked ? 10 : ttl;
    if (marked) mark_dead(stage);
    sweep_all(stage);
    EXPECT_EQ(stage.state(id), PublicState::waiting);
    EXPECT_EQ(stage.facts(id).lost.cause, LeaseLoss::revoked);
    EXPECT_EQ(stage.history(id).back(), EventType::lease_revoked);
    EXPECT_EQ(stage.facts(id).pending->reason, "worker_dead");
    EXPECT_EQ(stage.facts(id).pending->requested_by, "clock");
    EXPECT_EQ(stage.refusal(CompleteCommand{fence, {}}), Errc::lease_revoked);
    EXPECT_EQ(stage.state(other), PublicState::active) << "others keep theirs";
    EXPECT_EQ(stage.worker("w-1").release_until, 0);
    ASSERT_EQ(stage.history(key_of("w-1")).size(), 2u) << "its end is on record";
  }
}

TEST(LeasesOfTheDead, TheRecordStaysWhileTheyAreTaken) {
  for (const bool marked : {false, true}) {
    SCOPED_TRACE(marked);
    Rehearsal stage;
    register_worker(stage);
    leased(stage);
    stage.now += marked ? 10 : ttl;
    if (marked) mark_dead(stage);
    stage.sweep();
    ASSERT_TRUE(stage.has_record(key_of("w-1")));
    EXPECT_NE(stage.worker("w-1").release_until, 0) << "the clock comes once more to see that none is left";
    EXPECT_LE(stage.due(key_of("w-1")), stage.now);
  }
}

TEST(LeasesOfTheDead, AreTakenHoweverManyThereAre) {
  Rehearsal stage;
  register_worker(stage);
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 25; ++i) ids.push_back(leased(stage));
  mark_dead(stage);
  sweep_all(stage, 10);
  for (const ExecutionId& id : ids) EXPECT_EQ(stage.state(id), PublicState::waiting);
  EXPECT_TRUE(stage.has_record(key_of("w-1")));
}

TEST(LeasesOfTheDead, StayWhenTheyAreToWaitForTheirOwnEnd) {
  Rehearsal stage;
  stage.release_on_worker_death = false;
  register_worker(stage);
  const ExecutionId id = leased(stage);
  mark_dead(stage);
  sweep_all(stage);
  EXPECT_EQ(stage.state(id), PublicState::active);
  EXPECT_EQ(stage.worker("w-1").release_until, 0);
  EXPECT_EQ(stage.due(key_of("w-1")), stage.now + limits::dead_worker_retention_ms);
}

TEST(LeasesOfTheDead, AreNotThoseOfTheNextLife) {
  Rehearsal stage;
  register_worker(stage);
  const ExecutionId before = leased(stage);
  stage.now += 10;
  mark_dead(stage);
  stage.now += 1;
  register_worker(stage);
  const ExecutionId after = leased(stage);
  sweep_all(stage);
  EXPECT_EQ(stage.state(before), PublicState::waiting);
  EXPECT_EQ(stage.state(after), PublicState::active);
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::live);
  EXPECT_EQ(stage.worker("w-1").release_until, 0);
  EXPECT_EQ(stage.due(key_of("w-1")), stage.worker("w-1").info.expires_at);
}

// A worker whose TTL passed died then, not when that was noticed: leases that it got since are kept.
TEST(LeasesOfTheDead, AreTheSameWhenTheClockComesLate) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late);
    Rehearsal stage;
    register_worker(stage);
    const ExecutionId before = leased(stage);
    stage.now += ttl;
    if (!late) sweep_all(stage);
    stage.now += 50;
    const ExecutionId after = leased(stage);
    stage.now += 50;
    sweep_all(stage);
    EXPECT_EQ(stage.state(before), PublicState::waiting);
    EXPECT_EQ(stage.state(after), PublicState::active);
  }
}

TEST(LeasesOfTheDead, AreTheSameWhenAHeartbeatNoticesFirst) {
  Rehearsal stage;
  register_worker(stage);
  const ExecutionId before = leased(stage);
  stage.now += ttl + 50;
  const ExecutionId after = leased(stage);
  stage.now += 50;
  EXPECT_EQ(heartbeat(stage).outcome, Beat::not_registered);
  sweep_all(stage);
  EXPECT_EQ(stage.state(before), PublicState::waiting);
  EXPECT_EQ(stage.state(after), PublicState::active);
}

// Both registrations end before the clock runs: the leases of both are released.
TEST(LeasesOfTheDead, OfTwoLivesAreAllTaken) {
  Rehearsal stage;
  register_worker(stage);
  const ExecutionId first = leased(stage);
  mark_dead(stage);
  stage.now += 1;
  register_worker(stage);
  stage.now += 1;
  const ExecutionId second = leased(stage);
  stage.expect<RevokeReply>(RevokeCommand{first, {}, {}});
  stage.now += ttl;
  sweep_all(stage);
  EXPECT_EQ(stage.state(second), PublicState::waiting);
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::ttl_swept);
  EXPECT_TRUE(stage.has_record(key_of("w-1")));
}

TEST(LeasesOfTheDead, OfANamesakeElsewhereStay) {
  Rehearsal stage;
  register_worker(stage);
  const ExecutionId id = stage.create(job());
  stage.expect<ClaimedExecution>(LeaseCommand{id, "elsewhere", "w", "w-1", 60000});
  mark_dead(stage);
  sweep_all(stage);
  EXPECT_EQ(stage.state(id), PublicState::active);
  stage.expect<Done>(ReleaseCommand{id, "default", "w-1", stage.now});
  EXPECT_EQ(stage.state(id), PublicState::active);
  stage.expect<Done>(ReleaseCommand{id, "elsewhere", "w-1", stage.now - 1});
  EXPECT_EQ(stage.state(id), PublicState::active) << "it was got later";
  stage.expect<Done>(ReleaseCommand{id, "elsewhere", "w-1", stage.now});
  EXPECT_EQ(stage.state(id), PublicState::waiting);
}

TEST(LeasesOfTheDead, ObeyThePolicyAndTheCap) {
  Rehearsal stage;
  register_worker(stage);
  CreateRequest manual = job();
  manual.policy.on_lease_lost = OnLeaseLost::manual;
  const ExecutionId waits = stage.create(manual);
  stage.lease(waits, 60000);
  CreateRequest once = job();
  once.policy.max_reclaims = 0;
  const ExecutionId ends = stage.create(once);
  stage.lease(ends, 60000);
  mark_dead(stage);
  sweep_all(stage);
  EXPECT_EQ(stage.state(waits), PublicState::waiting);
  EXPECT_EQ(stage.members(lost_leases_group), std::vector{execution_key(waits)});
  EXPECT_EQ(stage.state(ends), PublicState::failed);
}

// ---- One batch -----------------------------------------------------------------------------------------------------

TEST(FleetBatches, ALifeInOneBatch) {
  Rehearsal stage;
  Workspace batch;
  const RegisterCommand add{Rehearsal::registration("w-1", ttl)};
  ASSERT_TRUE(stage.decide_in(batch, add));
  ASSERT_TRUE(stage.decide_in(batch, HeartbeatCommand{"default", "w-1"}));
  const auto dead = stage.decide_in(batch, MarkDeadCommand{"default", "w-1", {}});
  EXPECT_EQ(std::get<MarkWorkerDeadOutcome>(*dead), MarkWorkerDeadOutcome::marked);
  const auto beat = stage.decide_in(batch, HeartbeatCommand{"default", "w-1"});
  EXPECT_EQ(std::get<HeartbeatReply>(*beat).outcome, Beat::not_registered);
  const auto again = stage.decide_in(batch, add);
  EXPECT_EQ(std::get<RegisterWorkerReply>(*again).outcome, Registered::registered);
  const auto more = stage.decide_in(batch, add);
  EXPECT_EQ(std::get<RegisterWorkerReply>(*more).outcome, Registered::refreshed);
  stage.commit(batch);
  EXPECT_EQ(stage.version(key_of("w-1")), 1u);
  EXPECT_EQ(stage.history(key_of("w-1")),
            (std::vector{EventType::worker_registered, EventType::worker_marked_dead, EventType::worker_registered}));
  sweep_all(stage);
  EXPECT_EQ(stage.worker("w-1").info.state, WorkerState::live);
}

TEST(FleetBatches, RegisteringWhatTheBatchRemovesIsToldToComeAgain) {
  Rehearsal stage;
  register_worker(stage);
  mark_dead(stage);
  sweep_all(stage);
  stage.now += limits::dead_worker_retention_ms;
  Workspace batch;
  ASSERT_TRUE(stage.decide_in(batch, DueCommand{key_of("w-1")}));
  const auto beat = stage.decide_in(batch, HeartbeatCommand{"default", "w-1"});
  EXPECT_EQ(std::get<HeartbeatReply>(*beat).outcome, Beat::not_registered);
  const auto reply = stage.decide_in(batch, RegisterCommand{Rehearsal::registration("w-1", ttl)});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::contended);
  ASSERT_TRUE(stage.decide_in(batch, DueCommand{key_of("w-1")})) << "nor does the clock mind";
  stage.commit(batch);
  EXPECT_FALSE(stage.has_record(key_of("w-1")));
  EXPECT_EQ(register_worker(stage).outcome, Registered::registered);
}

TEST(FleetBatches, ReleaseAndCompleteInEitherOrder) {
  for (const bool release_first : {false, true}) {
    Rehearsal stage;
    const ExecutionId id = stage.create(job());
    const Fence fence = fence_of(stage.lease(id));
    Workspace batch;
    const ReleaseCommand release{id, "default", "w-1", stage.now};
    const CompleteCommand complete{fence, {}};
    EXPECT_TRUE(stage.decide_in(batch, release_first ? Command{release} : Command{complete}));
    const auto second = stage.decide_in(batch, release_first ? Command{complete} : Command{release});
    EXPECT_EQ(second.has_value(), !release_first);
    stage.commit(batch);
    EXPECT_EQ(stage.state(id), release_first ? PublicState::waiting : PublicState::completed);
  }
}

// ---- Who may claim -------------------------------------------------------------------------------------------------

TEST(Fleet, AnInstanceThatDrainsOrWasMarkedDeadClaimsNothingUntilItRegistersAgain) {
  for (const bool dead : {false, true}) {
    SCOPED_TRACE(dead);
    Rehearsal stage;
    CreateRequest request;
    request.kind = "job";
    const ExecutionId id = stage.create(request);
    stage.expect<RegisterWorkerReply>(RegisterCommand{Rehearsal::registration("w-1")});
    const Grant grant = stage.claim_grant(id);
    if (dead) {
      stage.expect<MarkWorkerDeadOutcome>(MarkDeadCommand{"default", "w-1", {}});
    } else {
      stage.expect<DrainWorkerOutcome>(DrainWorkerCommand{"default", "w-1", {}});
    }
    EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(grant)), Errc::not_eligible);
    stage.now = grant.expires_at;
    EXPECT_EQ(stage.refusal(LeaseCommand{id, "default", "w", "w-1", 500}), Errc::not_eligible);
    stage.expect<RegisterWorkerReply>(RegisterCommand{Rehearsal::registration("w-1")});
    stage.lease(id, 500, "w-1");
  }
}

TEST(Fleet, AnInstanceThatLapsedOrIsNotRegisteredMayClaim) {
  Rehearsal stage;
  CreateRequest request;
  request.kind = "job";
  stage.expect<RegisterWorkerReply>(RegisterCommand{Rehearsal::registration("w-1", 1000)});
  stage.now += 1000;
  stage.lease(stage.create(request), 500, "w-1");
  stage.sweep();
  stage.lease(stage.create(request), 500, "w-1");
  stage.lease(stage.create(request), 500, "w-2");
}

}  // namespace
}  // namespace flowfabric
