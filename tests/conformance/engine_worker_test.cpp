// The worker registry.
#include <limits>

#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

using Registered = RegisterWorkerReply::Outcome;
using Beaten = HeartbeatReply::Outcome;

class EngineWorkers : public FleetSuite {
 protected:
  std::string explained(const ExecutionId& id) {
    std::string all;
    for (const Reason& reason : engine().describe(id).explain) all += reason.sentence + "\n";
    return all;
  }
  bool says_nobody_offers_it(const ExecutionId& id) {
    return explained(id).find("no live worker offers gpu") != std::string::npos;
  }
  // Every page of a listing.
  std::vector<std::string> paged(ListWorkersRequest request) {
    std::vector<std::string> all;
    do {
      const auto page = value_of(engine().list_workers(request));
      EXPECT_LE(page.workers.size(), request.limit);
      for (const std::string& name : names(page.workers)) all.push_back(name);
      request.cursor = page.next_cursor;
    } while (!request.cursor.empty());
    return all;
  }
};
ON_EVERY_STORE(EngineWorkers);

// ---- Registering ---------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, C16_registering_again_overwrites_all_but_the_beginning) {
  const TimestampMs began = now();
  EXPECT_EQ(enlist(worker("w-1", 5000, {"cpu"})), (RegisterWorkerReply{Registered::registered, began, began + 5000}));
  engine().advance(1000);
  WorkerRegistration changed = worker("w-1", 8000, {"gpu", "cpu", "gpu"});
  changed.lanes = {"z", "a"};
  EXPECT_EQ(enlist(changed), (RegisterWorkerReply{Registered::refreshed, began, now() + 8000}));
  WorkerInfo expected;
  expected.name_space = "default";
  expected.worker_id = "worker";
  expected.worker_instance_id = "w-1";
  expected.lanes = {"a", "z"};
  expected.capabilities = {"cpu", "gpu"};
  expected.liveness_ttl_ms = 8000;
  expected.registered_at = began;
  expected.last_heartbeat_at = now();
  expected.expires_at = now() + 8000;
  expected.partition = info("w-1").partition;
  EXPECT_EQ(workers(), std::vector<WorkerInfo>{expected});
  engine().advance(7999);
  EXPECT_EQ(workers().size(), 1u);
  engine().advance(1);
  EXPECT_EQ(workers().size(), 0u);
  EXPECT_EQ(enlist(worker("w-1")).outcome, Registered::registered);
  EXPECT_EQ(info("w-1").registered_at, now()) << "a new life";
  EXPECT_EQ(info("w-1").ended_at, 0);
}

TEST_P(EngineWorkers, C16_a_ttl_made_shorter_counts_at_once) {
  enlist(worker("w-1", 3600000));
  enlist(worker("w-1", 1000));
  engine().advance(999);
  EXPECT_EQ(workers().size(), 1u);
  engine().advance(1);
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
}

TEST_P(EngineWorkers, C16_an_instance_of_another_worker_is_refused) {
  enlist(worker("w-1", 5000));
  WorkerRegistration other = worker("w-1", 9000, {"gpu"});
  other.worker_id = "other";
  const auto before = workers();
  for (Driver* driver : {&engine(), &second()}) {
    const Error error = error_of(driver->register_worker(other));
    EXPECT_EQ(error.code, Errc::conflict);
    EXPECT_EQ(error.field, "worker_instance_id");
    EXPECT_EQ(error.message.rfind("instance_id reassigned", 0), 0u) << error.message;
  }
  EXPECT_EQ(workers(), before);
  EXPECT_EQ(worker_history("w-1"), Events{EventType::worker_registered});
  other.name_space = "elsewhere";
  EXPECT_EQ(enlist(other).outcome, Registered::registered) << "another namespace is another instance";
  other.name_space = "default";
  clock_.advance_ms(5000);
  EXPECT_EQ(enlist(other).outcome, Registered::registered) << "who has lapsed owns nothing, swept or not";
  value_of(engine().mark_dead("w-1"));
  EXPECT_EQ(enlist(worker("w-1")).outcome, Registered::registered);
}

TEST_P(EngineWorkers, C16_bad_registrations_are_refused_by_name) {
  const auto spoiled = [](auto spoil) {
    WorkerRegistration registration = worker("w-1");
    spoil(registration);
    return registration;
  };
  using R = WorkerRegistration;
  std::vector<std::string> many_tokens;
  for (int i = 0; i < 257; ++i) many_tokens.push_back("c" + std::to_string(i));
  const std::string long_id(257, 'x');
  const std::vector<std::pair<std::string, WorkerRegistration>> bad = {
      {"liveness_ttl_ms", spoiled([](R& r) { r.liveness_ttl_ms = 999; })},
      {"liveness_ttl_ms", spoiled([](R& r) { r.liveness_ttl_ms = 0; })},
      {"liveness_ttl_ms", spoiled([](R& r) { r.liveness_ttl_ms = 3600001; })},
      {"worker_id", spoiled([](R& r) { r.worker_id = ""; })},
      {"worker_id", spoiled([&](R& r) { r.worker_id = long_id; })},
      {"worker_id", spoiled([](R& r) { r.worker_id = "a b"; })},
      {"worker_id", spoiled([](R& r) { r.worker_id = "a\nb"; })},
      {"worker_instance_id", spoiled([](R& r) { r.worker_instance_id = ""; })},
      {"worker_instance_id", spoiled([&](R& r) { r.worker_instance_id = long_id; })},
      {"worker_instance_id", spoiled([](R& r) { r.worker_instance_id = "a\tb"; })},
      {"worker_instance_id", spoiled([](R& r) { r.worker_instance_id = std::string("a\0b", 3); })},
      {"worker_instance_id", spoiled([](R& r) { r.worker_instance_id = "a\x7f"; })},
      {"worker_instance_id", spoiled([](R& r) { r.worker_instance_id = "\xff"; })},
      {"lanes", spoiled([](R& r) { r.lanes = {}; })},
      {"lanes[1]", spoiled([](R& r) { r.lanes = {"ok", ""}; })},
      {"lanes[0]", spoiled([](R& r) { r.lanes = {std::string(65, 'l')}; })},
      {"capabilities", spoiled([&](R& r) { r.capabilities = many_tokens; })},
      {"capabilities", spoiled([](R& r) { r.capabilities = {std::string(4097, 'c')}; })},
      {"capabilities", spoiled([](R& r) { r.capabilities = {"a,b"}; })},
      {"capabilities", spoiled([](R& r) { r.capabilities = {"a b"}; })},
      {"capabilities", spoiled([](R& r) { r.capabilities = {""}; })},
      {"namespace", spoiled([](R& r) { r.name_space = ""; })},
      {"namespace", spoiled([](R& r) { r.name_space = std::string(129, 'n'); })},
  };
  for (const auto& [field, registration] : bad) {
    const Error error = error_of(engine().register_worker(registration));
    EXPECT_EQ(error.code, Errc::invalid_argument) << error.message;
    EXPECT_EQ(error.field, field) << error.message;
  }
  EXPECT_TRUE(workers_of_any_state().empty());
}

TEST_P(EngineWorkers, C16_limits_themselves_are_accepted) {
  WorkerRegistration longest = worker(std::string(256, 'i'), 3600000);
  longest.name_space = std::string(128, 'n');
  longest.worker_id = std::string(256, 'w');
  for (int i = 0; i < 256; ++i) longest.capabilities.push_back(std::to_string(100000000000000 + i));
  longest.capabilities.back() += 'x';  // 4,096 bytes with the commas
  longest.lanes = {std::string(64, 'l')};
  EXPECT_EQ(enlist(longest).next_expiry_at, now() + 3600000);
  EXPECT_EQ(enlist(worker("x", 1000)).next_expiry_at, now() + 1000);
  HeartbeatRequest request = beat(longest.worker_instance_id);
  request.name_space = longest.name_space;
  EXPECT_EQ(heartbeat(request).outcome, Beaten::refreshed);
  ListWorkersRequest listed;
  listed.limit = 1;
  EXPECT_EQ(paged(listed).size(), 2u) << "the longest names fit a cursor";
  EXPECT_EQ(
      value_of(engine().mark_dead(longest.worker_instance_id, {"ops", std::string(256, 'r')}, std::string(128, 'n'))),
      MarkWorkerDeadOutcome::marked);
}

TEST_P(EngineWorkers, the_key_is_the_namespace_and_the_instance) {
  WorkerRegistration there = worker("w-1", 9000);
  there.name_space = "there";
  there.worker_id = "another";
  enlist(worker("w-1", 5000));
  EXPECT_EQ(enlist(there).outcome, Registered::registered);
  value_of(engine().mark_dead("w-1", {}, "there"));
  EXPECT_EQ(names(workers()), std::vector<std::string>{"default/w-1"});
  HeartbeatRequest request = beat("w-1");
  request.name_space = "there";
  EXPECT_EQ(heartbeat(request).outcome, Beaten::not_registered);
  EXPECT_EQ(heartbeat(beat("w-1")).outcome, Beaten::refreshed);
}

TEST_P(EngineWorkers, the_partition_is_fnv1a64_of_the_instance_modulo_256) {
  const auto fnv1a64 = [](const std::string& text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return hash;
  };
  for (const std::string instance : {"w-1", "w-2", "a", "host.example/17", "\xc3\xbc"}) {
    enlist(worker(instance));
    EXPECT_EQ(info(instance).partition, fnv1a64(instance) % 256) << instance;
  }
}

// ---- Heartbeats ----------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, C16_a_heartbeat_counts_by_the_stored_ttl) {
  enlist(worker("w-1", 5000));
  for (int i = 0; i < 5; ++i) {
    engine().advance(4000);
    const HeartbeatReply reply = heartbeat(beat("w-1"));
    EXPECT_EQ(reply.outcome, Beaten::refreshed);
    EXPECT_EQ(reply.next_expiry_at, now() + 5000);
    EXPECT_FALSE(reply.drain);
    EXPECT_TRUE(reply.leases.empty() && reply.revoked_leases.empty());
  }
  enlist(worker("w-1", 60000));
  // First the heartbeat, because it lets time pass.
  const TimestampMs expiry = heartbeat(beat("w-1")).next_expiry_at;
  EXPECT_EQ(expiry, now() + 60000);
  EXPECT_EQ(info("w-1").last_heartbeat_at, now());
}

TEST_P(EngineWorkers, C16_a_heartbeat_after_the_ttl_is_not_registered_swept_or_not) {
  constexpr auto patience = limits::heartbeat_patience_ms;
  enlist(worker("w-1", 5000));
  clock_.advance_ms(4999 - patience);
  EXPECT_EQ(heartbeat(beat("w-1")).outcome, Beaten::refreshed) << "in its last millisecond";
  clock_.advance_ms(5000);
  EXPECT_EQ(heartbeat(beat("w-1")).outcome, Beaten::not_registered) << "nobody has swept";
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
  EXPECT_EQ(heartbeat(beat("w-1")).outcome, Beaten::not_registered);
  enlist(worker("w-2", 5000));
  engine().advance(5000);
  EXPECT_EQ(heartbeat(beat("w-2")).outcome, Beaten::not_registered) << "the clock has swept";
  EXPECT_EQ(heartbeat(beat("nobody")).outcome, Beaten::not_registered);
  EXPECT_EQ(worker_history("w-1"), (Events{EventType::worker_registered, EventType::worker_ttl_swept}));
}

TEST_P(EngineWorkers, a_heartbeat_that_cannot_be_is_refused_by_name) {
  HeartbeatRequest request = beat("a b");
  EXPECT_EQ(error_of(engine().heartbeat(request)).field, "worker_instance_id");
  request = beat("w-1");
  request.name_space = "";
  EXPECT_EQ(error_of(engine().heartbeat(request)).field, "namespace");
  request = beat("w-1", std::vector<Handle>(limits::max_bulk_items + 1, "h"));
  EXPECT_EQ(error_of(engine().heartbeat(request)).field, "leases");
}

TEST_P(EngineWorkers, heartbeats_wait_for_each_other_and_share_a_commit) {
  constexpr int fleet = 300;
  for (int i = 0; i < fleet; ++i) enlist(worker("w-" + std::to_string(i), 10000));
  const auto& statistics = engine().runtime().statistics();
  const std::uint64_t batches = statistics.batches;
  std::vector<Pending<HeartbeatReply>> pending;
  for (int i = 0; i < fleet; ++i) pending.push_back(engine().heartbeat_later(beat("w-" + std::to_string(i))));
  engine().advance(limits::heartbeat_patience_ms - 1);
  EXPECT_FALSE(pending.front().done() || pending.back().done());
  engine().advance(1);
  for (const auto& each : pending) EXPECT_EQ(value_of(each.get()).next_expiry_at, now() + 10000);
  EXPECT_EQ(statistics.batches - batches, 1u);

  const auto along = engine().heartbeat_later(beat("w-0"));
  EXPECT_FALSE(along.done());
  engine().make();
  EXPECT_TRUE(along.done()) << "it goes with the next batch";
}

TEST_P(EngineWorkers, the_clock_writes_nothing_about_a_worker_that_lives) {
  enlist(worker("w-1", 10000));
  engine().settle();
  const auto& statistics = engine().runtime().statistics();
  const std::uint64_t batches = statistics.batches;
  constexpr int beats = 60;
  for (int i = 0; i < beats; ++i) {
    engine().advance(3000);
    EXPECT_EQ(heartbeat(beat("w-1")).outcome, Beaten::refreshed);
  }
  EXPECT_EQ(statistics.batches - batches, static_cast<std::uint64_t>(beats)) << "only the heartbeats themselves";
  EXPECT_LE(statistics.sweeps, static_cast<std::uint64_t>(beats / 2)) << "and it looks less than once in two of them";
}

TEST_P(EngineWorkers, a_heartbeat_gives_each_lease_its_verdict) {
  make_jobs(6);
  enlist(worker("w-1"));
  const Claims claims = claim_as(engine(), "w-1", 5, 5000);
  const Claims short_lived = claim_as(engine(), "w-1", 1, 1000);
  engine().advance(1000);
  call<RevokeReply>(RevokeCommand{claims[1].execution_id, {}, {"ops", "stuck"}});
  value_of(engine().complete(claims[2]));
  call<CancelReply>(CancelCommand{claims[3].execution_id, {"ops", "stop"}});
  const HeartbeatReply reply =
      heartbeat(beat("w-1", {claims[0].handle, claims[1].handle, claims[2].handle, claims[3].handle, "forged",
                             short_lived[0].handle, claims[4].handle, claims[4].handle}));
  EXPECT_EQ(reply.outcome, Beaten::refreshed);
  ASSERT_EQ(reply.leases.size(), 8u);
  EXPECT_EQ(value_of(reply.leases[0]), (RenewVerdict{now() + 5000, claims[0].lease.lease_epoch, claims[0].handle}));
  EXPECT_EQ(refusal(reply.leases[1]), Errc::lease_revoked);
  EXPECT_EQ(refusal(reply.leases[2]), Errc::already_terminal);
  EXPECT_EQ(refusal(reply.leases[3]), Errc::already_terminal);
  EXPECT_EQ(refusal(reply.leases[4]), Errc::invalid_handle);
  EXPECT_EQ(refusal(reply.leases[5]), Errc::lease_expired);
  EXPECT_EQ(value_of(reply.leases[6]).expires_at, now() + 5000);
  EXPECT_EQ(value_of(reply.leases[7]).expires_at, now() + 5000) << "twice in one call";
  EXPECT_EQ(reply.revoked_leases, (std::vector<ExecutionId>{claims[1].execution_id, claims[2].execution_id,
                                                            claims[3].execution_id, short_lived[0].execution_id}));
}

TEST_P(EngineWorkers, one_call_keeps_a_thousand_leases_alive) {
  constexpr std::uint32_t held = 1000;
  make_jobs(held);
  enlist(worker("w-1", 10000));
  const Claims claims = claim_all("default", 10000);
  ASSERT_EQ(claims.size(), held);
  std::vector<Handle> handles;
  for (const auto& claimed : claims) handles.push_back(claimed.handle);
  const auto& statistics = engine().runtime().statistics();
  for (int i = 0; i < 3; ++i) {
    engine().advance(9000);
    const std::uint64_t batches = statistics.batches;
    const HeartbeatReply reply = heartbeat(beat("w-1", handles));
    EXPECT_EQ(reply.outcome, Beaten::refreshed);
    EXPECT_TRUE(reply.revoked_leases.empty());
    EXPECT_EQ(reply.leases.size(), held);
    for (const auto& verdict : reply.leases) EXPECT_TRUE(verdict.has_value());
    EXPECT_LE(statistics.batches - batches, 2u) << "two commits, not a thousand";
  }
  EXPECT_EQ(held_of(claims), held);
}

TEST_P(EngineWorkers, verdicts_are_given_even_when_not_registered) {
  engine().make();
  const Claims claims = claim_as(engine(), "w-1", 1, 5000);
  const HeartbeatReply reply = heartbeat(beat("w-1", {claims[0].handle}));
  EXPECT_EQ(reply.outcome, Beaten::not_registered);
  EXPECT_EQ(reply.next_expiry_at, 0);
  EXPECT_EQ(value_of(reply.leases.at(0)).expires_at, now() + 5000);
}

// ---- Draining ------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, a_drained_worker_is_told_until_it_registers_again) {
  EXPECT_EQ(value_of(engine().drain("w-1")), DrainWorkerOutcome::not_registered);
  enlist(worker("w-1", 5000));
  EXPECT_EQ(value_of(second().drain("w-1", {"ops", "upgrade"})), DrainWorkerOutcome::draining);
  EXPECT_EQ(value_of(engine().drain("w-1")), DrainWorkerOutcome::draining) << "and again";
  for (int i = 0; i < 2; ++i) {
    const HeartbeatReply reply = heartbeat(beat("w-1"));
    EXPECT_TRUE(reply.drain);
    EXPECT_EQ(reply.outcome, Beaten::refreshed);
  }
  EXPECT_TRUE(info("w-1").draining);
  const auto events = worker_events("w-1");
  ASSERT_EQ(events.size(), 2u) << "one event, however often it is asked";
  EXPECT_EQ(events[1].type, EventType::worker_draining);
  EXPECT_EQ(events[1].actor, "ops");
  EXPECT_EQ(events[1].reason, "upgrade");
  EXPECT_EQ(enlist(worker("w-1", 5000)).outcome, Registered::refreshed);
  EXPECT_FALSE(heartbeat(beat("w-1")).drain);
  engine().advance(5000);
  EXPECT_EQ(value_of(engine().drain("w-1")), DrainWorkerOutcome::not_registered);
}

// ---- Marking dead --------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, C16_marking_dead_works_once) {
  EXPECT_EQ(value_of(engine().mark_dead("w-1")), MarkWorkerDeadOutcome::not_registered);
  enlist(worker("w-1"));
  EXPECT_EQ(value_of(engine().mark_dead("w-1", {"ops", "the host burns"})), MarkWorkerDeadOutcome::marked);
  EXPECT_EQ(value_of(engine().mark_dead("w-1", {"ops", "again"})), MarkWorkerDeadOutcome::not_registered);
  EXPECT_EQ(value_of(second().mark_dead("w-1")), MarkWorkerDeadOutcome::not_registered);
  EXPECT_TRUE(workers().empty());
  const WorkerInfo dead = info("w-1");
  EXPECT_EQ(dead.state, WorkerState::marked_dead);
  EXPECT_EQ(dead.ended_at, now());
  EXPECT_EQ(dead.ended_by, "ops");
  EXPECT_EQ(dead.reason, "the host burns");
  enlist(worker("w-2", 1000));
  clock_.advance_ms(1000);
  EXPECT_EQ(value_of(engine().mark_dead("w-2")), MarkWorkerDeadOutcome::not_registered) << "its TTL was over";
  EXPECT_EQ(info("w-2").state, WorkerState::ttl_swept);
}

TEST_P(EngineWorkers, C16_a_reason_for_death_is_short_and_printable) {
  enlist(worker("w-1"));
  for (const std::string& reason : {std::string(257, 'r'), std::string("a\nb"), std::string("a\0b", 3),
                                    std::string("\x1b[31m"), std::string("\xff")}) {
    const Error error = error_of(engine().mark_dead("w-1", {"ops", reason}));
    EXPECT_EQ(error.code, Errc::invalid_argument);
    EXPECT_EQ(error.field, "reason");
  }
  EXPECT_EQ(error_of(engine().mark_dead("", {})).field, "worker_instance_id");
  EXPECT_EQ(error_of(engine().mark_dead("w-1", {}, "")).field, "namespace");
  EXPECT_EQ(workers().size(), 1u);
  EXPECT_EQ(value_of(engine().mark_dead("w-1", {"ops", std::string(256, 'r')})), MarkWorkerDeadOutcome::marked);
  EXPECT_EQ(info("w-1").reason.size(), 256u);
}

// ---- Time ----------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, C16_a_worker_has_lapsed_at_the_moment_its_ttl_is_over) {
  const TimestampMs began = now();
  enlist(worker("w-1", 5000));
  clock_.advance_ms(4999);
  EXPECT_EQ(info("w-1").state, WorkerState::live);
  clock_.advance_ms(1);
  EXPECT_TRUE(workers().empty()) << "the clock loop has not run";
  EXPECT_EQ(info("w-1").state, WorkerState::lapsed);
  engine().settle();
  const WorkerInfo swept = info("w-1");
  EXPECT_EQ(swept.state, WorkerState::ttl_swept);
  EXPECT_EQ(swept.ended_at, began + 5000);
  EXPECT_EQ(swept.ended_by, "clock");
  EXPECT_EQ(swept.expires_at, began + 5000);
}

TEST_P(EngineWorkers, a_skewed_clock_of_an_engine_changes_no_liveness) {
  for (const std::int64_t skew_ms : {3600000LL, -3600000LL}) {
    RuntimeOptions options;
    options.steady_ms = [clock = clock_.source(), skew_ms] { return clock() / 1000 + skew_ms; };
    const auto skewed = open_engine(9, options);
    EXPECT_EQ(value_of(skewed->register_worker(worker("w-1", 5000))).next_expiry_at, now() + 5000);
    skewed->advance(4999);
    EXPECT_EQ(workers().size(), 1u);
    skewed->advance(1);
    EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
  }
}

TEST_P(EngineWorkers, a_registration_outlives_the_engine_and_lapses_under_the_next) {
  enlist(worker("w-1", 5000));
  enlist(worker("w-2", 60000));
  engine_.reset();
  clock_.advance_ms(20000);
  engine_ = open_engine(3);
  engine().settle();
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
  EXPECT_EQ(names(workers()), std::vector<std::string>{"default/w-2"});
  // First the heartbeat, because it lets time pass.
  const TimestampMs expiry = heartbeat(beat("w-2")).next_expiry_at;
  EXPECT_EQ(expiry, now() + 60000);
}

TEST_P(EngineWorkers, C22_ten_thousand_workers_lapse_at_once) {
  constexpr std::size_t fleet = 10000;
  std::vector<Command> registrations;
  for (std::size_t i = 0; i < fleet; ++i) {
    registrations.emplace_back(RegisterCommand{worker("w-" + std::to_string(i), 30000)});
  }
  for (const auto& reply : call_together(engine(), std::move(registrations))) ASSERT_TRUE(reply.has_value());
  enlist(worker("survivor", 60000));
  engine().jump(30000);
  EXPECT_EQ(names(workers()), std::vector<std::string>{"default/survivor"});
  EventFilter filter;
  filter.types = {EventType::worker_ttl_swept};
  std::set<std::string> swept;
  const auto events = events_from(start_cursor("earliest"), filter);
  for (const Event& event : events) swept.insert(event.worker_instance_id);
  EXPECT_EQ(events.size(), fleet) << "each once";
  EXPECT_EQ(swept.size(), fleet);
}

TEST_P(EngineWorkers, two_engines_sweep_each_worker_once) {
  constexpr std::size_t fleet = 1500;
  std::vector<Command> registrations;
  for (std::size_t i = 0; i < fleet; ++i) {
    registrations.emplace_back(RegisterCommand{worker("w-" + std::to_string(i), 5000)});
  }
  call_together(engine(), std::move(registrations));
  second();
  clock_.advance_ms(5000);
  std::thread other([&] { second().settle(); });
  engine().settle();
  other.join();
  engine().advance(1000);
  EXPECT_TRUE(workers().empty());
  EXPECT_EQ(events_of(EventType::worker_ttl_swept), fleet);
}

TEST_P(EngineWorkers, the_dead_are_kept_for_a_day_with_their_events) {
  enlist(worker("marked"));
  enlist(worker("swept", 1000));
  value_of(engine().mark_dead("marked"));
  engine().advance(24LL * 3600 * 1000 - 1);
  EXPECT_EQ(names(workers_of_any_state()), (std::vector<std::string>{"default/marked", "default/swept"}));
  EXPECT_EQ(worker_events("marked").size(), 2u);
  engine().advance(1);
  EXPECT_EQ(names(workers_of_any_state()), std::vector<std::string>{"default/swept"});
  EXPECT_TRUE(worker_events("marked").empty());
  engine().advance(1000);
  EXPECT_TRUE(workers_of_any_state().empty());
  EXPECT_TRUE(worker_events("swept").empty());
  EXPECT_EQ(enlist(worker("marked")).outcome, Registered::registered);
}

// ---- Events --------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, events_tell_what_changed_and_heartbeats_leave_none) {
  enlist(worker("w-1", 5000));
  enlist(worker("w-1", 5000));
  WorkerRegistration other = worker("w-1", 6000, {"gpu"});
  other.name_space = "default";
  enlist(other);
  heartbeat(beat("w-1"));
  heartbeat(beat("w-1"));
  enlist(other);
  value_of(engine().mark_dead("w-1", {"ops", "gone"}));
  enlist(other);
  engine().advance(6000);
  const auto events = worker_events("w-1");
  Events types;
  for (const Event& event : events) {
    types.push_back(event.type);
    EXPECT_EQ(event.name_space, "default");
    EXPECT_FALSE(event.execution_id.has_value());
  }
  ASSERT_EQ(types, (Events{EventType::worker_registered, EventType::worker_refreshed, EventType::worker_marked_dead,
                           EventType::worker_registered, EventType::worker_ttl_swept}));
  EXPECT_EQ(events[0].actor, "worker");
  EXPECT_EQ(events[1].reason, "capabilities, liveness_ttl_ms");
  EXPECT_EQ(events[2].actor, "ops");
  EXPECT_EQ(events[2].reason, "gone");
  EXPECT_EQ(events[4].actor, "clock");
  EXPECT_EQ(events[4].at, now());
}

// ---- Explain -------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, explain_knows_who_could_claim_it) {
  CreateRequest request = job("train");
  request.required_capabilities = {"gpu"};
  const ExecutionId id = make(request);
  EXPECT_TRUE(says_nobody_offers_it(id)) << explained(id);
  enlist(worker("other-lane", 5000, {"gpu"}));
  WorkerRegistration incapable = worker("incapable", 5000, {"cpu"});
  incapable.lanes = {"train"};
  enlist(incapable);
  EXPECT_TRUE(says_nobody_offers_it(id)) << explained(id);
  WorkerRegistration capable = worker("capable", 5000, {"cpu", "gpu"});
  capable.lanes = {"default", "train"};
  capable.name_space = "anywhere";
  value_of(second().register_worker(capable));
  EXPECT_FALSE(says_nobody_offers_it(id)) << "at once, whichever engine it registered with: " << explained(id);
  value_of(engine().mark_dead("capable", {}, "anywhere"));
  EXPECT_TRUE(says_nobody_offers_it(id)) << explained(id);
  enlist(capable);
  EXPECT_FALSE(says_nobody_offers_it(id)) << explained(id);
  clock_.advance_ms(5000);
  EXPECT_TRUE(says_nobody_offers_it(id)) << "lapsed, swept or not: " << explained(id);
}

TEST_P(EngineWorkers, explain_looks_at_whole_workers_not_at_their_union) {
  CreateRequest request = job();
  request.required_capabilities = {"gpu", "fast"};
  const ExecutionId id = make(request);
  enlist(worker("a", 5000, {"gpu"}));
  enlist(worker("b", 5000, {"fast"}));
  EXPECT_NE(explained(id).find("no live worker offers fast, gpu"), std::string::npos) << explained(id);
  enlist(worker("c", 5000, {"gpu", "fast", "more"}));
  EXPECT_EQ(explained(id).find("no live worker"), std::string::npos) << explained(id);
}

// ---- Listing -------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, C16_listing_orders_by_namespace_and_instance_and_pages_over_both) {
  const std::vector<std::string> instances = {"a", "a!", "a-b", "ab", "b", "z", "\xc3\xa4"};
  std::vector<std::string> expected;
  for (const std::string name_space : {"n", "n 1", "n-1", "nn", "\xc3\xa4"}) {
    for (const std::string& instance : instances) {
      WorkerRegistration registration = worker(instance);
      registration.name_space = name_space;
      enlist(registration);
      expected.push_back(name_space + "/" + instance);
    }
  }
  for (const std::uint32_t limit : {1u, 2u, 3u, 7u, 34u, 35u, 36u, 1000u}) {
    ListWorkersRequest request;
    request.limit = limit;
    EXPECT_EQ(paged(request), expected) << "limit " << limit;
    request.name_space = "n";
    EXPECT_EQ(paged(request), std::vector<std::string>(expected.begin(), expected.begin() + 7)) << "limit " << limit;
  }
  ListWorkersRequest nobody;
  nobody.name_space = "m";
  EXPECT_TRUE(paged(nobody).empty());
}

TEST_P(EngineWorkers, C16_listing_filters) {
  WorkerRegistration both = worker("both", 5000, {"cpu", "gpu"});
  both.lanes = {"x", "y"};
  enlist(both);
  WorkerRegistration only = worker("only", 5000, {"cpu"});
  only.lanes = {"y"};
  enlist(only);
  enlist(worker("short", 1000, {"gpu"}));
  clock_.advance_ms(1000);
  const auto found = [&](auto set) {
    ListWorkersRequest request;
    set(request);
    std::vector<std::string> instances;
    for (const WorkerInfo& each : workers(request)) instances.push_back(each.worker_instance_id);
    return instances;
  };
  using R = ListWorkersRequest;
  using Names = std::vector<std::string>;
  EXPECT_EQ(found([](R&) {}), (Names{"both", "only"}));
  EXPECT_EQ(found([](R& r) { r.lane = "x"; }), Names{"both"});
  EXPECT_EQ(found([](R& r) { r.lane = "y"; }), (Names{"both", "only"}));
  EXPECT_EQ(found([](R& r) { r.lane = "default"; }), Names{});
  EXPECT_EQ(found([](R& r) { r.capability = "gpu"; }), Names{"both"});
  EXPECT_EQ(found([](R& r) { r.capability = "g"; }), Names{}) << "whole tokens only";
  EXPECT_EQ(found([](R& r) { r.include_expired = true; }), (Names{"both", "only", "short"}));
  const auto dead_gpu = [](R& r) {
    r.include_expired = true;
    r.capability = "gpu";
    r.lane = "default";
  };
  EXPECT_EQ(found(dead_gpu), Names{"short"});
}

TEST_P(EngineWorkers, C16_listing_has_limits_and_checks_its_cursor) {
  std::vector<Command> registrations;
  for (int i = 0; i < 120; ++i) registrations.emplace_back(RegisterCommand{worker("w-" + std::to_string(i))});
  call_together(engine(), std::move(registrations));
  EXPECT_EQ(workers().size(), 100u) << "the default";
  for (const std::uint32_t limit : {0u, 1001u}) {
    ListWorkersRequest request;
    request.limit = limit;
    EXPECT_EQ(error_of(engine().list_workers(request)).field, "limit");
  }
  ListWorkersRequest request;
  request.name_space = "default";
  request.limit = 5;
  const std::string cursor = value_of(engine().list_workers(request)).next_cursor;
  ASSERT_FALSE(cursor.empty());
  EXPECT_EQ(cursor.find("w-"), std::string::npos) << "opaque";
  request.name_space.reset();
  request.cursor = cursor;
  EXPECT_EQ(value_of(engine().list_workers(request)).workers.size(), 5u) << "the same kind of cursor for all";
  request.name_space = "another";
  EXPECT_EQ(error_of(engine().list_workers(request)).field, "cursor");
  request.name_space.reset();
  make_many({manual_job(), manual_job()});
  claim_all("default", 1000);
  clock_.advance_ms(1000);
  ListExpiredLeasesRequest leases;
  leases.limit = 1;
  const std::string of_another_call = value_of(engine().list_expired_leases(leases)).next_cursor;
  ASSERT_FALSE(of_another_call.empty());
  for (const std::string& bad : {std::string("x"), std::string("w-1"), cursor.substr(0, cursor.size() - 2),
                                 cursor + "AAAA", std::string(2000, 'A'), std::string("!"), of_another_call}) {
    request.cursor = bad;
    EXPECT_EQ(error_of(engine().list_workers(request)).field, "cursor") << bad;
  }
}

TEST_P(EngineWorkers, C16_pages_have_no_gaps_or_repeats_while_workers_come_and_go) {
  const auto name = [](int i) { return "w-" + std::to_string(1000 + i); };
  std::set<std::string> staying;
  for (int i = 0; i < 200; ++i) {
    enlist(worker(name(i), i % 5 == 0 ? 2000 : 600000));
    if (i % 5 != 0 && i % 7 != 0) staying.insert("default/" + name(i));
  }
  std::map<std::string, int> seen;
  ListWorkersRequest request;
  request.limit = 13;
  int page_number = 0;
  do {
    const auto page = value_of(second().list_workers(request));
    for (const std::string& each : names(page.workers)) ++seen[each];
    request.cursor = page.next_cursor;
    // The worker at the cursor dies; others die, lapse and appear before and after it.
    if (!page.workers.empty()) {
      const std::string last = page.workers.back().worker_instance_id;
      if (!staying.contains("default/" + last)) value_of(engine().mark_dead(last));
    }
    for (int i = 7 * page_number; i < 200; i += 35) value_of(engine().mark_dead(name(i / 7 * 7)));
    enlist(worker(name(page_number) + "-new"));
    engine().advance(500);
    ++page_number;
  } while (!request.cursor.empty());
  EXPECT_GT(page_number, 10);
  for (const auto& [each, times] : seen) EXPECT_EQ(times, 1) << each;
  for (const std::string& each : staying) EXPECT_TRUE(seen.contains(each)) << each;
}

// ---- Races ---------------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, registering_and_dying_from_two_engines_stays_in_step) {
  second();
  constexpr int rounds = 60;
  int registered = 0, marked = 0;
  std::vector<std::string> trouble, trouble_there;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      const auto outcome = second().mark_dead("w-1");
      if (!outcome) trouble_there.push_back(outcome.error().message);
      if (outcome && *outcome == MarkWorkerDeadOutcome::marked) ++marked;
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const auto reply = engine().register_worker(worker("w-1"));
    if (!reply) trouble.push_back(reply.error().message);
    if (reply && reply->outcome == Registered::registered) ++registered;
  }
  other.join();
  EXPECT_EQ(trouble, std::vector<std::string>{});
  EXPECT_EQ(trouble_there, std::vector<std::string>{});
  const Events history = worker_history("w-1");
  EXPECT_EQ(count_of(history, EventType::worker_registered), registered);
  EXPECT_EQ(count_of(history, EventType::worker_marked_dead), marked);
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i], i % 2 == 0 ? EventType::worker_registered : EventType::worker_marked_dead) << i;
  }
  const bool lives = registered > marked;
  EXPECT_EQ(info("w-1").state, lives ? WorkerState::live : WorkerState::marked_dead);
}

TEST_P(EngineWorkers, one_batch_takes_a_worker_through_its_life) {
  const auto replies =
      call_together(engine(), {RegisterCommand{worker("w-1")}, HeartbeatCommand{"default", "w-1"},
                               MarkDeadCommand{"default", "w-1", {}}, HeartbeatCommand{"default", "w-1"},
                               RegisterCommand{worker("w-1", 9000)}, DrainWorkerCommand{"default", "w-1", {}},
                               HeartbeatCommand{"default", "w-1"}});
  EXPECT_EQ(std::get<RegisterWorkerReply>(value_of(replies[0])).outcome, Registered::registered);
  EXPECT_EQ(std::get<HeartbeatReply>(value_of(replies[1])).outcome, Beaten::refreshed);
  EXPECT_EQ(std::get<MarkWorkerDeadOutcome>(value_of(replies[2])), MarkWorkerDeadOutcome::marked);
  EXPECT_EQ(std::get<HeartbeatReply>(value_of(replies[3])).outcome, Beaten::not_registered);
  EXPECT_EQ(std::get<RegisterWorkerReply>(value_of(replies[4])).outcome, Registered::registered);
  EXPECT_TRUE(std::get<HeartbeatReply>(value_of(replies[6])).drain);
  EXPECT_EQ(worker_history("w-1"), (Events{EventType::worker_registered, EventType::worker_marked_dead,
                                           EventType::worker_registered, EventType::worker_draining}));
  engine().advance(8999);
  EXPECT_EQ(workers().size(), 1u);
  engine().advance(1);
  EXPECT_TRUE(workers().empty());
}

TEST_P(EngineWorkers, C25_registered_workers_cost_nothing_while_idle) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(std::make_unique<WatchedStore>(open_store(), watch), clock_, 5);
  for (int i = 0; i < 20; ++i) {
    value_of(driver.register_worker(worker("w-" + std::to_string(i), 3600000)));
  }
  value_of(driver.mark_dead("w-0"));
  driver.settle();
  watch->calls = 0;
  watch->commits = 0;
  driver.advance(1800000);
  EXPECT_LE(watch->calls, 61) << "one or two words a keep-alive";
  EXPECT_EQ(watch->commits, 0);
}

// ---- Who may claim -------------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, a_draining_or_dead_instance_claims_nothing_until_it_registers_again) {
  for (const bool dead : {false, true}) {
    SCOPED_TRACE(dead);
    value_of(engine().register_worker(worker("w-1")));
    if (dead) {
      value_of(second().mark_dead("w-1"));
    } else {
      value_of(second().drain("w-1"));
    }
    const ExecutionId id = engine().make();
    const auto refused = engine().claim(ask_as("w-1"));
    EXPECT_EQ(refusal(refused), Errc::not_eligible);
    EXPECT_EQ(refused.error().field, "worker_instance_id");
    const Grant grant = value_of(engine().issue_claim_grant(grant_for(id)));
    EXPECT_EQ(refusal(engine().claim_from_grant(redeem(grant))), Errc::not_eligible);
    RedeemRequest other = redeem(grant);
    other.worker_instance_id = "w-2";
    value_of(engine().claim_from_grant(other));
    const ExecutionId next = engine().make();
    value_of(engine().register_worker(worker("w-1")));
    const Claims claimed = claim_as(engine(), "w-1");
    ASSERT_EQ(ids_of(claimed), std::vector{next});
    value_of(engine().complete(claimed[0]));
  }
}

TEST_P(EngineWorkers, work_that_a_drained_instance_was_woken_for_goes_to_the_next_one) {
  value_of(engine().register_worker(worker("w-1")));
  ClaimRequest first = ask_as("w-1");
  first.wait_ms = 60000;
  const auto drained = engine().claim_later(first);
  ClaimRequest next = ask_as("w-2");
  next.wait_ms = 60000;
  const auto waiting = engine().claim_later(next);
  value_of(engine().drain("w-1"));
  const ExecutionId id = engine().make();
  ASSERT_TRUE(drained.done());
  EXPECT_EQ(refusal(drained.get()), Errc::not_eligible);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(ids_of(value_of(waiting.get())), std::vector{id});
}

// ---- Leases of one worker ------------------------------------------------------------------------------------------

TEST_P(EngineWorkers, the_leases_of_one_worker_are_listed_without_those_of_others) {
  ListWorkerLeasesRequest request;
  request.worker_instance_id = "w-1";
  EXPECT_TRUE(value_of(engine().list_worker_leases(request)).leases.empty());
  std::vector<ExecutionId> own;
  Claims held;
  for (int i = 0; i < 3; ++i) {
    engine().advance(10);
    engine().make();
    held.push_back(claim_as(engine(), "w-1").at(0));
    own.push_back(held.back().execution_id);
    engine().make();
    claim_as(engine(), "w-2");
  }
  const auto ids = [&] {
    std::vector<ExecutionId> all;
    request.cursor.clear();
    do {
      const auto page = value_of(engine().list_worker_leases(request));
      EXPECT_LE(page.leases.size(), request.limit);
      for (const HeldLease& lease : page.leases) all.push_back(lease.execution_id);
      request.cursor = page.next_cursor;
    } while (!request.cursor.empty());
    return all;
  };
  for (const std::uint32_t limit : {100U, 3U, 2U, 1U}) {
    request.limit = limit;
    EXPECT_EQ(ids(), own) << limit << " a page, in the order in which they were acquired";
  }
  request.limit = 3;
  EXPECT_EQ(value_of(engine().list_worker_leases(request)).next_cursor, "") << "there is no more";

  const HeldLease first = value_of(engine().list_worker_leases(request)).leases.at(0);
  EXPECT_EQ(first.lane, "default");
  EXPECT_EQ(first.name_space, "default");
  EXPECT_EQ(first.acquired_at, held[0].lease.acquired_at);
  EXPECT_EQ(first.expires_at, held[0].lease.expires_at);
  EXPECT_EQ(first.lease_epoch, held[0].lease.lease_epoch);

  value_of(engine().complete(held[1]));
  EXPECT_EQ(ids(), (std::vector{own[0], own[2]}));
  request.execution_namespace = "other";
  EXPECT_TRUE(ids().empty());
  request.execution_namespace.reset();
  request.name_space = "other";
  EXPECT_TRUE(ids().empty()) << "an instance of that name in another namespace";
}

TEST_P(EngineWorkers, a_listing_of_leases_refuses_what_makes_no_sense) {
  ListWorkerLeasesRequest request;
  EXPECT_EQ(error_of(engine().list_worker_leases(request)).field, "worker_instance_id");
  request.worker_instance_id = "w-1";
  request.limit = 0;
  EXPECT_EQ(error_of(engine().list_worker_leases(request)).field, "limit");
  request.limit = 10;
  for (const char* cursor : {"x", "AAAA"}) {
    request.cursor = cursor;
    EXPECT_EQ(error_of(engine().list_worker_leases(request)).field, "cursor") << cursor;
  }
}

}  // namespace
}  // namespace flowfabric::test
