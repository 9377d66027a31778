// The assignment of work: order, capabilities, lanes, parked claims, two engines.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineClaims : public EngineSuite {
 protected:
  LaneInfo set_lane(Driver& driver, const std::string& lane, LaneState state) {
    return std::get<LaneInfo>(value_of(driver.call(LaneCommand{lane, state, {"ops", "maintenance"}})));
  }
  ExecutionId make_needing(std::vector<std::string> capabilities) {
    CreateRequest request = job();
    request.required_capabilities = std::move(capabilities);
    return make(request);
  }
};
ON_EVERY_STORE(EngineClaims);

// ---- Races and order -----------------------------------------------------------------------------------------------

TEST_P(EngineClaims, C2_two_workers_one_execution_one_lease) {
  const ExecutionId first = engine().make();
  const ExecutionId next = engine().make();
  EXPECT_EQ(ids_of(value_of(second().claim(ask()))), std::vector{first});
  EXPECT_EQ(ids_of(claim(ask())), std::vector{next}) << "the loser gets the next one";
  EXPECT_TRUE(claim(ask()).empty());
  EXPECT_TRUE(value_of(second().claim(ask())).empty());
}

TEST_P(EngineClaims, C2_engines_that_race_never_lease_an_execution_twice) {
  constexpr int executions = 120;
  make_many(std::vector<CreateRequest>(executions, job()));
  second();
  const auto take_everything = [&](Driver& driver, std::vector<ExecutionId>& taken, std::string& trouble) {
    for (int idle = 0; idle < 3;) {
      const auto claims = driver.claim(ask(3));
      if (!claims) trouble = claims.error().message;
      if (!claims) return;
      idle = claims->empty() ? idle + 1 : 0;
      for (const auto& claimed : *claims) {
        taken.push_back(claimed.execution_id);
        if (const auto done = driver.complete(claimed); !done) trouble = done.error().message;
      }
    }
  };
  std::vector<ExecutionId> here, there;
  std::string trouble_here, trouble_there;
  std::thread other([&] { take_everything(second(), there, trouble_there); });
  take_everything(engine(), here, trouble_here);
  other.join();
  EXPECT_EQ(trouble_here, "");
  EXPECT_EQ(trouble_there, "");
  std::set<ExecutionId> all(here.begin(), here.end());
  all.insert(there.begin(), there.end());
  EXPECT_EQ(all.size(), here.size() + there.size()) << "one was handed out twice";
  EXPECT_EQ(all.size(), static_cast<std::size_t>(executions)) << "one was not handed out";
}

// The lane is opened in the same breath as the claim comes, but somebody else changes the lane in between.
TEST_P(EngineClaims, nothing_is_handed_out_because_of_a_lane_change_that_is_not_committed) {
  engine().make();
  set_lane(engine(), "default", LaneState::paused);
  second();
  const auto watch = std::make_shared<Watch>();
  Driver hasty(std::make_unique<WatchedStore>(open_store(), watch), clock_, 3);
  bool came_between = GetParam().takes_turns;  // there nobody can
  watch->after_read = [&](const ReadRequest&) {
    if (!std::exchange(came_between, true)) set_lane(second(), "default", LaneState::disabled);
  };
  std::optional<Result<Reply>> opened;
  Claims claims;
  hasty.runtime().submit(LaneCommand{"default", LaneState::active, {"ops", "go on"}},
                         [&](Result<Reply> reply) { opened = std::move(reply); });
  hasty.runtime().submit_claim(ask(), [&](Result<Claims> reply) { claims = value_of(std::move(reply)); });
  hasty.settle();
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(*opened);
  EXPECT_EQ(claims.size(), 1u);
  Events last_two;
  for (const Event& event : events_from(start_cursor("earliest"))) last_two.push_back(event.type);
  last_two.erase(last_two.begin(), last_two.end() - 2);
  EXPECT_EQ(last_two, (Events{EventType::lane_changed, EventType::claimed}));
}

TEST_P(EngineClaims, C3_priority_is_global_per_lane_and_equal_priorities_are_served_in_order_of_arrival) {
  std::map<std::int32_t, std::vector<ExecutionId>> by_priority;
  const std::vector<std::int32_t> priorities = {0, 5, -3, 5, 32767, 0, -32768, 5, 0, -3};
  for (int round = 0; round < 4; ++round) {
    for (const std::int32_t priority : priorities) {
      by_priority[-priority].push_back(make(job("default", priority)));
      if (round % 2 == 0) clock_.advance_us(3);
    }
  }
  std::vector<ExecutionId> expected;
  for (const auto& [priority, ids] : by_priority) expected.insert(expected.end(), ids.begin(), ids.end());
  std::vector<ExecutionId> served;
  while (served.size() < expected.size()) {
    const Claims claims = claim(ask(7));
    ASSERT_FALSE(claims.empty());
    for (const auto& claimed : claims) served.push_back(claimed.execution_id);
  }
  EXPECT_EQ(served, expected);
}

TEST_P(EngineClaims, C3_order_holds_across_two_engines) {
  std::vector<ExecutionId> expected;
  for (int i = 0; i < 20; ++i) {
    Driver& driver = i % 2 == 0 ? engine() : second();
    expected.push_back(value_of(driver.create(job())).execution_id);
    clock_.advance_ms(1);
  }
  const ExecutionId urgent = value_of(second().create(job("default", 1))).execution_id;
  expected.insert(expected.begin(), urgent);
  std::vector<ExecutionId> served;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Driver& driver = i % 3 == 0 ? second() : engine();
    served.push_back(value_of(driver.claim(ask())).at(0).execution_id);
  }
  EXPECT_EQ(served, expected);
}

TEST_P(EngineClaims, C3_priorities_out_of_range_are_refused) {
  for (const std::int32_t priority : {32768, -32769, 1000000}) {
    const auto reply = engine().create(job("default", priority));
    EXPECT_EQ(refusal(reply), Errc::invalid_argument);
    EXPECT_EQ(reply.error().field, "priority");
  }
}

TEST_P(EngineClaims, a_claim_over_several_lanes_takes_the_best_of_all) {
  const ExecutionId low_a = make(job("a", 1));
  const ExecutionId high_b = make(job("b", 9));
  const ExecutionId mid_a = make(job("a", 5));
  const ExecutionId mid_b = make(job("b", 5));
  const ExecutionId elsewhere = make(job("c", 99));
  EXPECT_EQ(ids_of(claim(ask(10, {"b", "a", "b"}))), (std::vector{high_b, mid_a, mid_b, low_a}));
  EXPECT_EQ(ids_of(claim(ask(10, {"c"}))), std::vector{elsewhere});
}

TEST_P(EngineClaims, a_claim_never_takes_more_than_it_asks_for) {
  make_many(std::vector<CreateRequest>(10, job()));
  EXPECT_EQ(claim(ask(3)).size(), 3u);
  EXPECT_EQ(claim(ask(100)).size(), 7u);
  EXPECT_TRUE(claim(ask(100)).empty());
}

TEST_P(EngineClaims, a_big_claim_over_a_long_queue_gets_all_of_it) {
  make_many(std::vector<CreateRequest>(1100, job()));
  std::size_t taken = 0;
  for (int i = 0; i < 3; ++i) taken += claim(ask(limits::max_claim)).size();
  EXPECT_EQ(taken, 1100u);
}

TEST_P(EngineClaims, claims_of_one_batch_do_not_starve_while_there_is_work) {
  make_many(std::vector<CreateRequest>(1200, job()));
  std::vector<Pending<Claims>> pending(4);
  for (auto& claim : pending) {
    ClaimRequest request = ask(300);
    request.wait_ms = 5000;
    engine().runtime().submit_claim(request, [answer = claim.answer](auto reply) { *answer = std::move(reply); });
  }
  engine().settle();
  std::set<ExecutionId> taken;
  for (const auto& claim : pending) {
    ASSERT_TRUE(claim.done()) << "it waits although there is work";
    for (const auto& claimed : *claim.get()) taken.insert(claimed.execution_id);
  }
  EXPECT_GT(taken.size(), 900u);
}

TEST_P(EngineClaims, an_execution_that_has_just_expired_does_not_hide_the_next) {
  CreateRequest request = job("default", 5);
  request.deadline_at = now() + 100;
  const ExecutionId expiring = make(request);
  const ExecutionId next = engine().make();
  clock_.advance_ms(100);
  EXPECT_EQ(ids_of(claim(ask())), std::vector{next});
  EXPECT_EQ(state(expiring), PublicState::expired);
}

TEST_P(EngineClaims, a_batch_sees_what_its_earlier_commands_did) {
  const ExecutionId id = make(retried_job());
  const ClaimedExecution held = engine().take();
  Pending<Claims> pending;
  engine().runtime().submit(RevokeCommand{id, {}, {}}, [](const Result<Reply>&) {});
  engine().runtime().submit_claim(ask(), [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  engine().settle();
  ASSERT_TRUE(pending.done());
  ASSERT_EQ(ids_of(*pending.get()), std::vector{id});
  EXPECT_EQ(refusal(engine().complete(held)), Errc::lease_revoked);
}

// ---- Replies of many bytes -----------------------------------------------------------------------------------------

TEST_P(EngineClaims, a_reply_has_a_limit_in_bytes_and_at_least_one_execution) {
  CreateRequest request = job();
  request.payload = std::string(limits::default_max_payload_bytes, 'x');
  make_many(std::vector<CreateRequest>(10, request));
  static_assert(limits::max_claim_bytes == 4 * limits::default_max_payload_bytes);
  EXPECT_EQ(claim(ask(1000)).size(), 4u);
  for (const auto& claimed : claim(ask(1000))) EXPECT_EQ(claimed.payload.size(), request.payload.size());
  EXPECT_EQ(claim(ask(1000)).size(), 2u) << "what a reply leaves the next one brings";
}

TEST_P(EngineClaims, one_execution_is_handed_out_however_large_it_is) {
  RuntimeOptions options;
  options.ingress.max_payload_bytes = limits::max_claim_bytes + 1;
  const auto large = open_engine(3, std::move(options));
  CreateRequest request = job();
  request.payload = std::string(limits::max_claim_bytes + 1, 'x');
  for (int i = 0; i < 2; ++i) value_of(large->create(request));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(value_of(large->claim(ask(10))).size(), 1u);
}

TEST_P(EngineClaims, claims_of_one_batch_share_a_limit_in_bytes_and_all_get_their_turn) {
  CreateRequest request = job();
  request.payload = std::string(limits::default_max_payload_bytes, 'x');
  make_many(std::vector<CreateRequest>(10, request));
  std::vector<Pending<Claims>> pending(3);
  for (auto& claim : pending) {
    engine().runtime().submit_claim(ask(1000), [answer = claim.answer](auto reply) { *answer = std::move(reply); });
  }
  engine().settle();
  std::vector<std::size_t> taken;
  for (const auto& claim : pending) {
    ASSERT_TRUE(claim.done());
    taken.push_back(value_of(claim.get()).size());
  }
  EXPECT_EQ(taken, (std::vector<std::size_t>{4, 4, 2}));
}

// ---- Claims whose caller has gone ----------------------------------------------------------------------------------

TEST_P(EngineClaims, a_withdrawn_claim_takes_nothing) {
  Pending<Claims> gone;
  const auto parked = engine().runtime().submit_claim(
      ask_and_wait(60000), [answer = gone.answer](auto reply) { *answer = std::move(reply); });
  engine().settle();
  ASSERT_FALSE(gone.done());
  engine().runtime().withdraw(parked);
  ASSERT_TRUE(gone.done());
  EXPECT_TRUE(value_of(gone.get()).empty());
  engine().runtime().withdraw(parked);  // once more does nothing
  const ExecutionId id = engine().make();
  EXPECT_EQ(state(id), PublicState::waiting);
  EXPECT_EQ(ids_of(claim(ask())), std::vector{id});
}

TEST_P(EngineClaims, a_claim_that_is_withdrawn_on_its_way_takes_nothing) {
  const ExecutionId id = engine().make();
  Pending<Claims> gone;
  const auto queued = engine().runtime().submit_claim(
      ask_and_wait(60000), [answer = gone.answer](auto reply) { *answer = std::move(reply); });
  engine().runtime().withdraw(queued);
  engine().settle();
  ASSERT_TRUE(gone.done()) << "nor does it wait";
  EXPECT_TRUE(value_of(gone.get()).empty());
  EXPECT_EQ(ids_of(claim(ask())), std::vector{id});
}

TEST_P(EngineClaims, what_a_withdrawn_claim_was_woken_for_goes_to_the_next) {
  Pending<Claims> gone;
  const auto first = engine().runtime().submit_claim(
      ask_and_wait(60000), [answer = gone.answer](auto reply) { *answer = std::move(reply); });
  engine().settle();
  const auto next = engine().claim_later(ask_and_wait(60000));
  // Queued with the claim that it wakes; before they are decided the caller goes.
  CreateRequest request = job();
  engine().runtime().submit_create(request, [](const Result<Reply>&) {});
  engine().runtime().withdraw(first);
  engine().settle();
  ASSERT_TRUE(next.done());
  EXPECT_EQ(value_of(next.get()).size(), 1u);
  EXPECT_TRUE(value_of(gone.get()).empty());
}

// ---- Capabilities --------------------------------------------------------------------------------------------------

TEST_P(EngineClaims, C4_required_must_be_a_subset_of_offered) {
  const ExecutionId none = make_needing({});
  const ExecutionId gpu = make_needing({"gpu"});
  const ExecutionId both = make_needing({"linux", "gpu"});
  const ExecutionId cased = make_needing({"GPU"});
  EXPECT_EQ(ids_of(claim(ask(10))), std::vector{none});
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {"linux"}))), std::vector<ExecutionId>{});
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {"gpu", "arm"}))), std::vector{gpu}) << "letters have a case";
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {"arm", "linux", "gpu"}))), std::vector{both});
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {"GPU"}))), std::vector{cased});
}

TEST_P(EngineClaims, C4_capability_limits) {
  std::vector<std::string> many;
  for (int i = 0; i < 256; ++i) many.push_back("c" + std::to_string(i));
  const ExecutionId id = make_needing(many);
  EXPECT_EQ(ids_of(claim(ask(1, {"default"}, many))), std::vector{id});
  many.push_back("one-more");
  CreateRequest request = job();
  request.required_capabilities = many;
  EXPECT_EQ(refusal(engine().create(request)), Errc::invalid_argument);
  EXPECT_EQ(refusal(engine().claim(ask(1, {"default"}, many))), Errc::invalid_argument);

  const std::string longest(limits::max_capabilities_bytes, 'x');
  make_needing({longest});
  EXPECT_EQ(claim(ask(1, {"default"}, {longest})).size(), 1u);
  for (const std::string& bad : {longest + "x", std::string("a,b"), std::string("a b"), std::string("a\x01"),
                                 std::string("a\0b", 3), std::string("\x7f"), std::string(), std::string("\xff")}) {
    request.required_capabilities = {bad};
    const auto reply = engine().create(request);
    EXPECT_EQ(refusal(reply), Errc::invalid_argument) << bad;
    EXPECT_EQ(reply.error().field, "required_capabilities");
    EXPECT_EQ(refusal(engine().claim(ask(1, {"default"}, {bad}))), Errc::invalid_argument) << bad;
  }
}

TEST_P(EngineClaims, C5_an_incapable_worker_never_delays_a_capable_one) {
  std::vector<CreateRequest> requests(600, job("default", 10));
  for (auto& request : requests) request.required_capabilities = {"gpu"};
  make_many(requests);
  const ExecutionId plain = make(job("default", -5));
  EXPECT_EQ(ids_of(claim(ask(2))), std::vector{plain}) << "what it cannot do does not stand in its way";
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(claim(ask(5)).empty());
  EXPECT_EQ(claim(ask(5, {"default"}, {"gpu"})).size(), 5u);
  ClaimRequest incapable = ask_and_wait(100000);
  const auto parked = engine().claim_later(incapable);
  ClaimRequest capable = ask(600, {"default"}, {"gpu"});
  while (!claim(capable).empty()) {
  }
  capable.wait_ms = 100000;
  capable.max_executions = 1;
  const auto parked_behind = engine().claim_later(capable);
  make_needing({"gpu"});
  EXPECT_TRUE(parked_behind.done()) << "the one in front of it in the lane cannot take this work";
  EXPECT_FALSE(parked.done());
}

TEST_P(EngineClaims, C6_work_that_no_single_worker_covers_waits_and_says_why) {
  const ExecutionId id = make_needing({"a", "b"});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(claim(ask(1, {"default"}, {"a"})).empty());
    EXPECT_TRUE(claim(ask(1, {"default"}, {"b"})).empty());
    engine().advance(1000);
  }
  const auto description = engine().describe(id);
  EXPECT_EQ(description.state.blocking_reason, BlockingReason::waiting_for_capable_worker);
  ASSERT_FALSE(description.explain.empty());
  EXPECT_EQ(description.explain[0].code, "waiting_for_capable_worker");
  EXPECT_NE(description.explain[0].sentence.find("a, b"), std::string::npos);
  EXPECT_EQ(engine().history(id), Events{EventType::created}) << "asking changes nothing";
  EXPECT_EQ(ids_of(claim(ask(1, {"default"}, {"a", "b"}))), std::vector{id});
}

// ---- Lanes ---------------------------------------------------------------------------------------------------------

TEST_P(EngineClaims, C7_a_paused_lane_takes_in_and_hands_nothing_out) {
  engine().make();
  const LaneInfo info = set_lane(engine(), "default", LaneState::paused);
  EXPECT_EQ(info, (LaneInfo{"default", LaneState::paused, now(), "ops", "maintenance", now(), ""}));
  const ExecutionId id = engine().make();
  EXPECT_TRUE(claim(ask(5)).empty());
  EXPECT_TRUE(value_of(second().claim(ask(5))).empty()) << "in every engine";
  EXPECT_EQ(engine().describe(id).state.eligibility_state, Eligibility::blocked_by_lane_state);
  set_lane(second(), "default", LaneState::active);
  EXPECT_EQ(claim(ask(5)).size(), 2u);
}

TEST_P(EngineClaims, C7_a_paused_lane_does_not_stop_its_neighbours) {
  make(job("a", 9));
  const ExecutionId b = make(job("b"));
  set_lane(engine(), "a", LaneState::paused);
  EXPECT_EQ(ids_of(claim(ask(5, {"a", "b"}))), std::vector{b});
}

TEST_P(EngineClaims, C7_a_draining_lane_refuses_new_work_and_hands_out_the_rest) {
  const ExecutionId id = engine().make();
  set_lane(engine(), "default", LaneState::draining);
  for (Driver* driver : {&engine(), &second()}) EXPECT_EQ(refusal(driver->create(job())), Errc::lane_closed);
  EXPECT_EQ(ids_of(claim(ask(5))), std::vector{id});
}

TEST_P(EngineClaims, C7_a_disabled_lane_does_neither) {
  engine().make();
  const ClaimedExecution held = [&] {
    engine().make();
    return engine().take();
  }();
  set_lane(engine(), "default", LaneState::disabled);
  EXPECT_EQ(refusal(engine().create(job())), Errc::lane_closed);
  EXPECT_TRUE(claim(ask(5)).empty());
  EXPECT_TRUE(engine().complete(held)) << "who holds a lease may finish";
  set_lane(engine(), "default", LaneState::active);
  EXPECT_EQ(claim(ask(5)).size(), 1u);
}

TEST_P(EngineClaims, C7_resume_wakes_parked_claims) {
  set_lane(engine(), "default", LaneState::paused);
  const ExecutionId id = engine().make();
  const auto parked = engine().claim_later(ask_and_wait(60000));
  engine().advance(1000);
  EXPECT_FALSE(parked.done());
  set_lane(engine(), "default", LaneState::active);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineClaims, C7_resume_in_another_engine_wakes_parked_claims) {
  set_lane(engine(), "default", LaneState::paused);
  const ExecutionId id = engine().make();
  const auto parked = engine().claim_later(ask_and_wait(3600000));
  EXPECT_FALSE(parked.done());
  set_lane(second(), "default", LaneState::active);
  ASSERT_TRUE(comes_true(engine(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineClaims, lanes_are_listed_with_their_states_and_changes_are_events) {
  make(job("busy"));
  set_lane(engine(), "held", LaneState::paused);
  set_lane(engine(), "held", LaneState::paused);
  claim(ask(1, {"busy"}));
  const auto lanes = value_of(reads::lanes(engine().store(), engine().runtime().routes()));
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].lane, "busy");
  EXPECT_EQ(lanes[0].state, LaneState::active);
  EXPECT_EQ(lanes[1], (LaneInfo{"held", LaneState::paused, now(), "ops", "maintenance"}));
  EventFilter filter;
  filter.types = {EventType::lane_changed};
  const auto events = events_from(start_cursor("earliest"), filter);
  ASSERT_EQ(events.size(), 1u) << "saying the same again is no change";
  EXPECT_EQ(events[0].lane, "held");
  EXPECT_EQ(events[0].reason, "active -> paused");
  EXPECT_EQ(events[0].actor, "ops");
}

// ---- Parked claims -------------------------------------------------------------------------------------------------

TEST_P(EngineClaims, a_parked_claim_is_woken_by_a_create) {
  engine().make();
  engine().take();
  const auto first = engine().claim_later(ask_and_wait(60000));
  const auto behind = engine().claim_later(ask_and_wait(60000));
  const auto elsewhere = engine().claim_later(ask_and_wait(60000, {"other"}));
  engine().advance(10000);
  EXPECT_FALSE(first.done() || behind.done() || elsewhere.done());
  const ExecutionId id = engine().make();
  ASSERT_TRUE(first.done()) << "who came first";
  EXPECT_EQ(ids_of(*first.get()), std::vector{id});
  EXPECT_FALSE(behind.done() || elsewhere.done());
}

TEST_P(EngineClaims, a_parked_claim_is_woken_by_the_first_create_of_a_lane) {
  const auto parked = engine().claim_later(ask_and_wait(30000, {"brand-new"}));
  const ExecutionId id = make(job("brand-new"));
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineClaims, a_parked_claim_is_woken_when_a_retry_falls_due) {
  const ExecutionId id = make(retried_job());
  value_of(engine().fail(engine().take()));
  const auto parked = engine().claim_later(ask_and_wait(30000));
  engine().advance(999);
  EXPECT_FALSE(parked.done());
  engine().advance(1);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineClaims, a_parked_claim_is_woken_when_a_delay_ends_a_lease_is_lost_or_an_execution_is_replayed) {
  CreateRequest request = job();
  request.delay_until = now() + 2000;
  const ExecutionId delayed = make(request);
  const auto first = engine().claim_later(ask_and_wait(30000));
  engine().advance(2000);
  ASSERT_TRUE(first.done());
  EXPECT_EQ(ids_of(*first.get()), std::vector{delayed});
  const auto next = engine().claim_later(ask_and_wait(30000));
  call<RevokeReply>(RevokeCommand{delayed, {}, {}});
  ASSERT_TRUE(next.done());
  ASSERT_EQ(ids_of(*next.get()), std::vector{delayed});
  value_of(engine().complete(next.get()->front()));
  const auto last = engine().claim_later(ask_and_wait(30000));
  call<ReplayReply>(ReplayCommand{delayed, {}});
  ASSERT_TRUE(last.done());
  EXPECT_EQ(ids_of(*last.get()), std::vector{delayed});
}

TEST_P(EngineClaims, a_parked_claim_is_woken_by_another_engines_create) {
  const auto parked = engine().claim_later(ask_and_wait(3600000));
  EXPECT_FALSE(parked.done());
  const ExecutionId id = second().make();
  ASSERT_TRUE(comes_true(engine(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineClaims, a_parked_claim_finds_lost_news_within_a_keep_alive) {
  const auto parked = engine().claim_later(ask_and_wait(3600000));
  const ExecutionId id = second().make();
  engine().advance(60000);
  engine().advance(1);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

// The engine that creates dies before it sends its notification, and the one that should receive it always has
// something due.
TEST_P(EngineClaims, a_parked_claim_finds_lost_news_also_where_the_clock_is_never_idle) {
  engine().make();
  ASSERT_TRUE(engine().complete(engine().take()));  // so that the route is known
  for (int i = 1; i <= 61; ++i) {
    CreateRequest later = job("other");
    later.delay_until = now() + i * 1000;
    make(later);
  }
  const auto parked = engine().claim_later(ask_and_wait(3600000));
  {
    const auto watch = std::make_shared<Watch>();
    RuntimeOptions options;
    options.writers = 1;
    Driver doomed(std::make_unique<WatchedStore>(open_store(), watch), clock_, 77, options);
    doomed.settle();
    watch->calls = 0;
    watch->death = Watch::Death::after;
    watch->fatal_call = 2;  // a read and the commit
    EXPECT_EQ(refusal(doomed.create(job())), Errc::outcome_unknown);
  }
  ASSERT_FALSE(parked.done());
  engine().advance(61000);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(parked.get()->size(), 1u);
}

TEST_P(EngineClaims, a_parked_claim_comes_back_empty_when_its_time_is_up) {
  const auto parked = engine().claim_later(ask_and_wait(1500));
  engine().advance(1499);
  EXPECT_FALSE(parked.done());
  engine().advance(1);
  ASSERT_TRUE(parked.done());
  EXPECT_TRUE(parked.get()->empty());
  engine().make();
  EXPECT_EQ(claim(ask()).size(), 1u) << "and takes nothing with it";
}

TEST_P(EngineClaims, a_stopping_engine_answers_everybody) {
  const auto parked = engine().claim_later(ask_and_wait(60000));
  const auto waiting = engine().wait_later(make(job("other")), 60000);
  engine().runtime().refuse_new_work();
  ASSERT_TRUE(parked.done() && waiting.done());
  EXPECT_TRUE(parked.get()->empty());
  EXPECT_EQ(refusal(waiting.get()), Errc::shutting_down);
  EXPECT_EQ(refusal(engine().create(job())), Errc::shutting_down);
  EXPECT_EQ(refusal(engine().claim(ask())), Errc::shutting_down);
}

TEST_P(EngineClaims, a_lane_that_never_was_is_not_found) {
  const auto set = [&](Driver& driver, const std::string& lane) {
    return driver.call(driver.runtime().lane_command(lane, LaneState::paused, {"ops", ""}));
  };
  second();
  EXPECT_EQ(refusal(set(engine(), "mial")), Errc::not_found);
  EXPECT_TRUE(value_of(reads::lanes(engine().store(), engine().runtime().routes())).empty());
  CreateRequest request = job("mail");
  request.creator = "ada";
  make(request);
  const TimestampMs began = now();
  clock_.advance_ms(5);
  const auto paused = std::get<LaneInfo>(value_of(set(second(), "mail")));
  EXPECT_EQ(paused, (LaneInfo{"mail", LaneState::paused, now(), "ops", "", began, "ada"}))
      << "whether or not the other engine knows the route by now";
  EXPECT_TRUE(claim(ask(1, {"mail"})).empty());
}

TEST_P(EngineClaims, engines_that_make_a_lane_at_once_agree_on_it) {
  second();
  const auto first = [&](Driver& driver) {
    for (int i = 0; i < 20; ++i) value_of(driver.create(job("lane-" + std::to_string(i))));
  };
  std::thread other([&] { first(second()); });
  first(engine());
  other.join();
  const auto lanes = value_of(reads::lanes(engine().store(), engine().runtime().routes()));
  EXPECT_EQ(lanes.size(), 20u);
  for (const LaneInfo& lane : lanes) EXPECT_EQ(lane.registered_at, now());
}

}  // namespace
}  // namespace flowfabric::test
