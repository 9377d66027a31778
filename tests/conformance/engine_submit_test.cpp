// Keys at submission on every store: one live execution per unique key, one start for creates that come shortly after each
// other, so many creates a period; whatever ends an execution, and whoever asks at the same time.
#include <algorithm>

#include "base/hashing.hpp"
#include "conformance/engine_suite.hpp"
#include "core/submitting.hpp"

namespace flowfabric::test {
namespace {

CreateRequest unique_job(const std::string& key, OnConflict on_conflict = OnConflict::reject) {
  CreateRequest request = job();
  request.unique = UniqueKey{key, on_conflict};
  return request;
}

CreateRequest debounced_job(const std::string& payload, std::int64_t delay_ms = 1000,
                            std::optional<std::int64_t> max_wait_ms = {}) {
  CreateRequest request = job();
  request.payload = payload;
  request.payload_encoding = "text";
  request.debounce = Debounce{"d", delay_ms, max_wait_ms};
  return request;
}

CreateRequest throttled_job(std::uint32_t count, std::int64_t period_ms, OnThrottle on_limit = OnThrottle::reject) {
  CreateRequest request = job();
  request.throttle = Throttle{"t", count, period_ms, on_limit};
  return request;
}

std::string detail_of(const Error& error, const std::string& name) {
  for (const auto& [key, value] : error.details) {
    if (key == name) return value;
  }
  return {};
}

class EngineSubmit : public EngineSuite {
 protected:
  // At the end of every case each key that is held belongs to an execution that holds it, and no other key has a record.
  void TearDown() override {
    if (engine_ && !leaves_damage_) {
      engine().settle();
      expect_keys_agree();
    }
    EngineSuite::TearDown();
  }

  void expect_keys_agree() {
    std::map<Key, ExecutionId> held;
    for (const Record& record : value_of(engine().store().scan(RecordKind::execution, "", 10000))) {
      const Execution execution = value_of(decode_execution(record));
      EXPECT_FALSE(owes_key(execution.facts)) << to_string(execution.id);
      if (execution.facts.submit.holds == SubmitKeyKind::none) continue;
      EXPECT_TRUE(held.emplace(submit_key_of(execution), execution.id).second) << "two live executions have one key";
    }
    for (const Record& record : value_of(engine().store().scan(RecordKind::submit_key, "", 10000))) {
      const SubmitKeyRecord key = value_of(decode_submit_key(record));
      if (key.kind == SubmitKeyKind::throttle) continue;
      EXPECT_EQ(held[record.key], key.execution_id);
      held.erase(record.key);
    }
    EXPECT_TRUE(held.empty());
  }

  Created create(CreateRequest request) { return value_of(engine().create(std::move(request))); }
  Error error_of(CreateRequest request) {
    const auto reply = engine().create(std::move(request));
    if (reply) throw std::runtime_error("this was to be refused, but it was not");
    return reply.error();
  }
  std::size_t key_records() { return value_of(engine().store().scan(RecordKind::submit_key, "", 1000)).size(); }
  Fence fence_of(const ClaimedExecution& claim) { return engine().fence(claim); }
  std::string payload_of(const ExecutionId& id) { return value_of(reads::context(engine().store(), id)).payload; }

  // Sends all before anything is processed, so that they share batches.
  static std::vector<Result<Created>> create_together(Driver& driver, const std::vector<CreateRequest>& requests) {
    std::vector<Result<Created>> replies(requests.size(), flowfabric::fail(Errc::internal, "no answer"));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      driver.runtime().submit_create(requests[i], [&replies, i](Result<Reply> reply) {
        replies[i] = reply ? Result<Created>(std::get<Created>(*reply)) : Unexpected(reply.error());
      });
    }
    driver.settle();
    return replies;
  }
};
ON_EVERY_STORE(EngineSubmit);

// ---- unique

TEST_P(EngineSubmit, AUniqueKeyIsHeldByOneLiveExecution) {
  const ExecutionId first = make(unique_job("order-7"));
  const Error error = error_of(unique_job("order-7"));
  EXPECT_EQ(error.code, Errc::conflict);
  EXPECT_EQ(error.field, "unique.key");
  EXPECT_EQ(detail_of(error, "execution_id"), to_string(first));
  EXPECT_NE(error.message.find("order-7"), std::string::npos);
  EXPECT_EQ(create(unique_job("order-8")).outcome, CreateOutcome::created);
  CreateRequest elsewhere = unique_job("order-7");
  elsewhere.name_space = "other";
  EXPECT_EQ(create(elsewhere).outcome, CreateOutcome::created);
  EXPECT_EQ(create(job()).outcome, CreateOutcome::created);
}

TEST_P(EngineSubmit, AHolderIsReturnedIfTheCreateAsksForThat) {
  const ExecutionId first = make(unique_job("k", OnConflict::reuse));
  const Created again = create(unique_job("k", OnConflict::reuse));
  EXPECT_EQ(again.execution_id, first);
  EXPECT_EQ(again.outcome, CreateOutcome::returned);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.public_state, PublicState::waiting);
  EXPECT_EQ(engine().take().execution_id, first);
  EXPECT_EQ(create(unique_job("k", OnConflict::reuse)).public_state, PublicState::active);
}

TEST_P(EngineSubmit, AWaitingHolderIsReplaced) {
  const ExecutionId first = make(unique_job("k"));
  CreateRequest request = unique_job("k", OnConflict::replace);
  request.creator = "ada";
  const Created second = create(request);
  EXPECT_NE(second.execution_id, first);
  EXPECT_EQ(second.outcome, CreateOutcome::replaced);
  EXPECT_EQ(second.replaced, first);
  EXPECT_FALSE(second.duplicate);
  EXPECT_EQ(state(first), PublicState::cancelled);
  EXPECT_EQ(engine().describe(first).cancelled_by, "ada");
  EXPECT_EQ(engine().describe(first).cancellation_reason, "replaced by execution " + to_string(second.execution_id));
  EXPECT_EQ(ids_of(claim_all()), std::vector{second.execution_id});
}

TEST_P(EngineSubmit, ARunningHolderIsReplacedAndItsWorkerFenced) {
  make(unique_job("k"));
  const ClaimedExecution claim = engine().take();
  const Created second = create(unique_job("k", OnConflict::replace));
  EXPECT_EQ(second.replaced, claim.execution_id);
  for (const Command& command : everything_fenced(fence_of(claim))) {
    const auto reply = engine().call(command);
    EXPECT_FALSE(reply && !std::holds_alternative<CancelReply>(*reply));
  }
  EXPECT_EQ(ids_of(claim_all()), std::vector{second.execution_id});
}

TEST_P(EngineSubmit, AKeyIsFreeWhateverEndsItsHolder) {
  const std::vector<std::function<void(const ExecutionId&)>> ends = {
      [&](const ExecutionId&) { value_of(engine().complete(engine().take())); },
      [&](const ExecutionId&) { value_of(engine().fail(engine().take())); },
      [&](const ExecutionId& id) { call<CancelReply>(CancelCommand{id, {"ops", {}}}); },
      [&](const ExecutionId&) { call<CancelReply>(CancelHeldCommand{fence_of(engine().take()), "enough"}); }};
  for (const auto& end : ends) {
    const ExecutionId id = make(unique_job("k"));
    EXPECT_EQ(key_records(), 1U);
    end(id);
    // In the same commit, not only by the clock.
    EXPECT_EQ(facts(id).submit.holds, SubmitKeyKind::none);
    EXPECT_EQ(key_records(), 0U);
  }
  EXPECT_EQ(create(unique_job("k")).outcome, CreateOutcome::created);
}

TEST_P(EngineSubmit, AKeyIsFreeWhenTimeEndsItsHolder) {
  CreateRequest expiring = unique_job("k");
  expiring.deadline_ms = 1000;
  const ExecutionId first = make(expiring);
  engine().advance(1001);
  EXPECT_EQ(state(first), PublicState::expired);
  EXPECT_EQ(key_records(), 0U);
  CreateRequest fragile = unique_job("k");
  fragile.policy.max_reclaims = 0;
  const ExecutionId second = make(fragile);
  engine().take("default", 1000);
  engine().advance(1001);
  EXPECT_EQ(state(second), PublicState::failed);
  EXPECT_EQ(key_records(), 0U);
  EXPECT_EQ(create(unique_job("k")).outcome, CreateOutcome::created);
}

// The create comes before the clock.
TEST_P(EngineSubmit, AnOverdueHolderIsNotInTheWay) {
  CreateRequest expiring = unique_job("k");
  expiring.deadline_ms = 1000;
  const ExecutionId first = make(expiring);
  clock_.advance_ms(1001);
  const auto reply = create_together(engine(), {unique_job("k")});
  EXPECT_EQ(value_of(reply[0]).outcome, CreateOutcome::created);
  EXPECT_EQ(state(first), PublicState::expired);
}

TEST_P(EngineSubmit, ARetriedHolderKeepsItsKey) {
  CreateRequest request = retried_job(1);
  request.unique = UniqueKey{"k"};
  make(request);
  value_of(engine().fail(engine().take()));
  EXPECT_EQ(error_of(unique_job("k")).code, Errc::conflict);
  engine().advance(1000);
  value_of(engine().fail(engine().take()));
  EXPECT_EQ(create(unique_job("k")).outcome, CreateOutcome::created);
}

TEST_P(EngineSubmit, AReplayTakesTheKeyAgainOrIsRefused) {
  const ExecutionId first = make(unique_job("k"));
  value_of(engine().complete(engine().take()));
  call<ReplayReply>(ReplayCommand{first, {"ops", {}}});
  EXPECT_EQ(detail_of(error_of(unique_job("k")), "execution_id"), to_string(first));
  value_of(engine().complete(engine().take()));
  const ExecutionId second = make(unique_job("k"));
  const auto refused = engine().call(ReplayCommand{first, {"ops", {}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_EQ(detail_of(refused.error(), "execution_id"), to_string(second));
  EXPECT_EQ(state(first), PublicState::completed);
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(call<ReplayReply>(ReplayCommand{first, {"ops", {}}}).public_state, PublicState::waiting);
}

TEST_P(EngineSubmit, ARemovedHolderLeavesNothing) {
  CreateRequest request = unique_job("k");
  request.policy.retention.completed_ms = 0;
  const ExecutionId id = make(request);
  value_of(engine().complete(engine().take()));
  engine().advance(1);
  EXPECT_EQ(value_of(engine().store().load({execution_key(id)})).size(), 0U);
  EXPECT_EQ(key_records(), 0U);
  EXPECT_EQ(create(request).outcome, CreateOutcome::created);
}

TEST_P(EngineSubmit, CreatesOfOneBatchShareAKey) {
  const auto replies =
      create_together(engine(), {unique_job("k"), unique_job("k"), unique_job("k", OnConflict::reuse),
                                 unique_job("k", OnConflict::replace), unique_job("k", OnConflict::reuse)});
  const ExecutionId first = value_of(replies[0]).execution_id;
  EXPECT_EQ(replies[1].error().code, Errc::conflict);
  EXPECT_EQ(value_of(replies[2]).execution_id, first);
  EXPECT_EQ(value_of(replies[3]).replaced, first);
  EXPECT_EQ(value_of(replies[4]).execution_id, value_of(replies[3]).execution_id);
}

TEST_P(EngineSubmit, TwoEnginesNeverCreateTwoForOneKey) {
  for (int round = 0; round < 10; ++round) {
    const std::string key = "k" + std::to_string(round);
    std::vector<Result<Created>> replies;
    const auto note = [&](Result<Reply> reply) {
      replies.push_back(reply ? Result<Created>(std::get<Created>(*reply)) : Unexpected(reply.error()));
    };
    engine().runtime().submit_create(unique_job(key), note);
    second().runtime().submit_create(unique_job(key), note);
    second().settle();
    engine().settle();
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_NE(replies[0].has_value(), replies[1].has_value());
  }
}

// Between the read of a create and its commit another engine takes the key.
TEST_P(EngineSubmit, AKeyThatIsTakenAfterTheReadIsNoticed) {
  auto watch = std::make_shared<Watch>();
  Driver late(std::make_unique<WatchedStore>(open_store(), watch), clock_, 3);
  std::optional<ExecutionId> taken;
  watch->after_read = [&](const ReadRequest& request) {
    const Key key = submit_key(SubmitKeyKind::unique, "default", "k");
    const bool reads_key = std::find(request.keys.begin(), request.keys.end(), key) != request.keys.end();
    if (!reads_key || taken || GetParam().takes_turns) return;
    taken = make(unique_job("k"));
  };
  if (GetParam().takes_turns) taken = make(unique_job("k"));  // there nobody can come between
  const auto reply = late.create(unique_job("k"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(detail_of(reply.error(), "execution_id"), to_string(*taken));
}

TEST_P(EngineSubmit, ADeathInACreateLeavesKeyAndExecutionOrNeither) {
  for (int fatal = 1; fatal < 12; ++fatal) {
    for (const auto death : {Watch::Death::before, Watch::Death::after}) {
      const std::string key = "k" + std::to_string(fatal) + (death == Watch::Death::after ? "a" : "b");
      const ExecutionId old = make(unique_job(key));
      auto watch = std::make_shared<Watch>();
      {
        Driver dying(std::make_unique<WatchedStore>(open_store(), watch), clock_,
                     100 + static_cast<std::uint64_t>(fatal));
        watch->calls = 0;
        watch->fatal_call = fatal;
        watch->death = death;
        (void)dying.create(unique_job(key, OnConflict::replace));
        watch->dead = true;
      }
      engine().settle();
      const Created now = create(unique_job(key, OnConflict::reuse));
      EXPECT_EQ(now.outcome, CreateOutcome::returned);
      EXPECT_EQ(now.execution_id == old, state(old) == PublicState::waiting);
      expect_keys_agree();
    }
  }
}

TEST_P(EngineSubmit, AnIdempotencyKeyIsLookedAtFirst) {
  CreateRequest request = unique_job("k");
  request.idempotency_key = "call-1";
  const Created first = create(request);
  const Created again = create(request);
  EXPECT_EQ(again.execution_id, first.execution_id);
  EXPECT_EQ(again.outcome, CreateOutcome::duplicate);
  request.payload = "other";
  EXPECT_EQ(error_of(request).field, "idempotency_key");
  request.idempotency_key = "call-2";
  EXPECT_EQ(error_of(request).field, "unique.key");
  value_of(engine().complete(engine().take()));
  CreateRequest first_request = unique_job("k");
  first_request.idempotency_key = "call-1";
  EXPECT_EQ(create(first_request).execution_id, first.execution_id);
  EXPECT_EQ(create(request).outcome, CreateOutcome::created);
}

// The answer belongs to the call, also when the execution that it named has ended.
TEST_P(EngineSubmit, AnAnswerIsRepeatedUnderItsIdempotencyKey) {
  const ExecutionId first = make(unique_job("k"));
  CreateRequest request = unique_job("k", OnConflict::reuse);
  request.idempotency_key = "call-1";
  EXPECT_EQ(create(request).outcome, CreateOutcome::returned);
  value_of(engine().complete(engine().take()));
  const Created again = create(request);
  EXPECT_EQ(again.execution_id, first);
  EXPECT_EQ(again.outcome, CreateOutcome::duplicate);
}

// ---- debounce

TEST_P(EngineSubmit, CreatesShortlyAfterEachOtherAreOneExecution) {
  const Created first = create(debounced_job("a"));
  EXPECT_EQ(first.outcome, CreateOutcome::created);
  EXPECT_EQ(first.public_state, PublicState::delayed);
  engine().advance(900);
  CreateRequest second = debounced_job("bcd");
  second.priority = 5;
  second.tags["app.n"] = "2";
  const Created merged = create(second);
  EXPECT_EQ(merged.execution_id, first.execution_id);
  EXPECT_EQ(merged.outcome, CreateOutcome::debounced);
  EXPECT_TRUE(merged.duplicate);
  engine().advance(900);
  EXPECT_TRUE(claim(ask()).empty());
  engine().advance(100);
  const Claims claims = claim(ask(10));
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].execution_id, first.execution_id);
  EXPECT_EQ(claims[0].payload, "bcd");
  EXPECT_EQ(claims[0].payload_encoding, "text");
  EXPECT_EQ(claims[0].priority, 5);
  EXPECT_EQ(claims[0].tags.at("app.n"), "2");
  EXPECT_EQ(engine().describe(first.execution_id).payload_bytes, 3U);
  EXPECT_EQ(count_of(engine().history(first.execution_id), EventType::debounced), 1);
}

TEST_P(EngineSubmit, PayloadsOfAnySizeReplaceEachOther) {
  const std::string large(5000, 'x');
  const ExecutionId id = create(debounced_job("small")).execution_id;
  create(debounced_job(large));
  EXPECT_EQ(payload_of(id), large);
  create(debounced_job(""));
  EXPECT_EQ(payload_of(id), "");
  create_together(engine(), {debounced_job("one"), debounced_job(large + "2"), debounced_job("three")});
  EXPECT_EQ(payload_of(id), "three");
  engine().advance(1000);
  EXPECT_EQ(engine().take().payload, "three");
}

TEST_P(EngineSubmit, AnExecutionThatHasStartedIsNotChanged) {
  const ExecutionId first = create(debounced_job("a")).execution_id;
  engine().advance(1000);
  const Created second = create(debounced_job("b"));
  EXPECT_EQ(second.outcome, CreateOutcome::created);
  EXPECT_NE(second.execution_id, first);
  EXPECT_EQ(payload_of(first), "a");
  engine().advance(1000);
  EXPECT_EQ(ids_of(claim_all()), (std::vector{first, second.execution_id}));
}

// The clock is late: the delay is over, though no one has noticed.
TEST_P(EngineSubmit, ADelayThatIsOverIsOver) {
  const ExecutionId first = create(debounced_job("a")).execution_id;
  clock_.advance_ms(1000);
  const auto replies = create_together(engine(), {debounced_job("b")});
  EXPECT_NE(value_of(replies[0]).execution_id, first);
  EXPECT_EQ(payload_of(first), "a");
}

TEST_P(EngineSubmit, ADebounceWaitsNoLongerThanItMay) {
  const ExecutionId first = create(debounced_job("0", 1000, 2500)).execution_id;
  for (int i = 1; i <= 3; ++i) {
    engine().advance(700);
    EXPECT_EQ(create(debounced_job(std::to_string(i), 1000, 2500)).execution_id, first);
  }
  engine().advance(400);
  EXPECT_EQ(engine().take().payload, "3");
  EXPECT_NE(create(debounced_job("4", 1000, 2500)).execution_id, first);
  // A later create with a shorter bound starts it at once.
  engine().advance(900);
  const Created last = create(debounced_job("5", 100, 100));
  EXPECT_EQ(last.outcome, CreateOutcome::debounced);
  EXPECT_EQ(last.public_state, PublicState::waiting);
  EXPECT_EQ(engine().take().payload, "5");
}

TEST_P(EngineSubmit, ACancelledDebounceBeginsAnew) {
  const ExecutionId first = create(debounced_job("a")).execution_id;
  call<CancelReply>(CancelCommand{first, {"ops", {}}});
  EXPECT_EQ(key_records(), 0U);
  EXPECT_NE(create(debounced_job("b")).execution_id, first);
}

TEST_P(EngineSubmit, ADebounceChangesOnlyTheInput) {
  const ExecutionId first = create(debounced_job("a")).execution_id;
  CreateRequest other = debounced_job("b");
  other.kind = "another";
  const Error error = error_of(other);
  EXPECT_EQ(error.code, Errc::conflict);
  EXPECT_EQ(error.field, "kind");
  EXPECT_EQ(payload_of(first), "a");
  other = debounced_job("b");
  other.policy.max_replays = 1;
  EXPECT_EQ(error_of(other).field, "policy");
}

TEST_P(EngineSubmit, ARepeatedDebounceIsNotCountedTwice) {
  create(debounced_job("a"));
  CreateRequest request = debounced_job("b");
  request.idempotency_key = "call-1";
  const ExecutionId id = create(request).execution_id;
  create(debounced_job("c"));
  const Created again = create(request);
  EXPECT_EQ(again.execution_id, id);
  EXPECT_EQ(again.outcome, CreateOutcome::duplicate);
  EXPECT_EQ(payload_of(id), "c");
}

TEST_P(EngineSubmit, AReplayOfADebouncedExecutionHasTheNewestInput) {
  CreateRequest request = debounced_job("a");
  request.deadline_ms = 5000;
  const ExecutionId id = create(request).execution_id;
  request.payload = "b";
  request.deadline_ms = 7000;
  create(request);
  engine().advance(1000);
  value_of(engine().complete(engine().take()));
  call<ReplayReply>(ReplayCommand{id, {"ops", {}}});
  EXPECT_EQ(facts(id).deadline_at, now() + 7000);
  EXPECT_EQ(engine().take().payload, "b");
}

TEST_P(EngineSubmit, TwoEnginesDebounceOneExecution) {
  const ExecutionId first = create(debounced_job("a")).execution_id;
  EXPECT_EQ(value_of(second().create(debounced_job("b"))).execution_id, first);
  std::vector<Result<Reply>> replies;
  const auto note = [&](Result<Reply> reply) { replies.push_back(std::move(reply)); };
  engine().runtime().submit_create(debounced_job("c"), note);
  second().runtime().submit_create(debounced_job("d"), note);
  engine().settle();
  second().settle();
  engine().settle();
  ASSERT_EQ(replies.size(), 2U);
  for (const auto& reply : replies) EXPECT_EQ(std::get<Created>(value_of(reply)).execution_id, first);
  EXPECT_EQ(facts(first).submit.merged, 3U);
}

// ---- throttle

TEST_P(EngineSubmit, AThrottleLetsSoManyIn) {
  make(throttled_job(2, 1000));
  engine().advance(400);
  const ExecutionId last = make(throttled_job(2, 1000));
  const Error error = error_of(throttled_job(2, 1000));
  EXPECT_EQ(error.code, Errc::throttled);
  EXPECT_EQ(error.field, "throttle.key");
  EXPECT_EQ(detail_of(error, "retry_after_ms"), "600");
  EXPECT_EQ(detail_of(error, "last_execution_id"), to_string(last));
  engine().advance(599);
  EXPECT_EQ(error_of(throttled_job(2, 1000)).code, Errc::throttled);
  engine().advance(1);
  EXPECT_EQ(create(throttled_job(2, 1000)).outcome, CreateOutcome::created);
  EXPECT_EQ(error_of(throttled_job(2, 1000)).code, Errc::throttled);
}

TEST_P(EngineSubmit, AThrottleAnswersWithTheLast) {
  CreateRequest request = throttled_job(1, 1000, OnThrottle::reuse);
  request.policy.retention.completed_ms = 0;
  const ExecutionId first = make(request);
  const Created again = create(request);
  EXPECT_EQ(again.execution_id, first);
  EXPECT_EQ(again.outcome, CreateOutcome::throttled);
  EXPECT_TRUE(again.duplicate);
  // Also if it has ended and was removed.
  value_of(engine().complete(engine().take()));
  engine().advance(10);
  const Created gone = create(request);
  EXPECT_EQ(gone.execution_id, first);
  EXPECT_EQ(gone.public_state, std::nullopt);
}

TEST_P(EngineSubmit, AnUnusedThrottleIsRemoved) {
  make(throttled_job(1, 1000));
  EXPECT_EQ(key_records(), 1U);
  engine().advance(1000);
  EXPECT_EQ(key_records(), 0U);
}

TEST_P(EngineSubmit, TwoEnginesThrottleTogether) {
  std::vector<Result<Reply>> replies;
  const auto note = [&](Result<Reply> reply) { replies.push_back(std::move(reply)); };
  for (int i = 0; i < 4; ++i) {
    engine().runtime().submit_create(throttled_job(3, 1000), note);
    second().runtime().submit_create(throttled_job(3, 1000), note);
  }
  second().settle();
  engine().settle();
  second().settle();
  ASSERT_EQ(replies.size(), 8U);
  EXPECT_EQ(std::count_if(replies.begin(), replies.end(), [](const auto& reply) { return reply.has_value(); }), 3);
}

// ---- what has none

TEST_P(EngineSubmit, DescriptionsShowTheKey) {
  const ExecutionId unique = make(unique_job("k"));
  EXPECT_EQ(engine().describe(unique).submit_key, (SubmitKey{SubmitKeyKind::unique, "k", true}));
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(engine().describe(unique).submit_key, (SubmitKey{SubmitKeyKind::unique, "k", false}));
  const ExecutionId waiting = make(debounced_job("a"));
  create(debounced_job("b"));
  const ExecutionDescription description = engine().describe(waiting);
  EXPECT_EQ(description.submit_key, (SubmitKey{SubmitKeyKind::debounce, "d", true}));
  ASSERT_EQ(description.explain.size(), 1U);
  EXPECT_EQ(description.explain[0].code, "waiting_for_delay");
  EXPECT_NE(description.explain[0].sentence.find("debounce key \"d\""), std::string::npos);
  EXPECT_EQ(engine().describe(make(job())).submit_key, std::nullopt);
}

TEST_P(EngineSubmit, BadKeysAreRefusedByName) {
  const auto field_of = [&](auto change) {
    CreateRequest request = job();
    change(request);
    const Error error = error_of(std::move(request));
    EXPECT_EQ(error.code, Errc::invalid_argument) << error.message;
    return error.field;
  };
  EXPECT_EQ(field_of([](CreateRequest& r) { r.unique = UniqueKey{}; }), "unique.key");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.unique = UniqueKey{std::string(257, 'k')}; }), "unique.key");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.debounce = Debounce{"", 1}; }), "debounce.key");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.debounce = Debounce{"k", 0}; }), "debounce.delay_ms");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.debounce = Debounce{"k", 10, 9}; }), "debounce.max_wait_ms");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.throttle = Throttle{"", 1, 1}; }), "throttle.key");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.throttle = Throttle{"k", 0, 1}; }), "throttle.count");
  EXPECT_EQ(field_of([](CreateRequest& r) { r.throttle = Throttle{"k", 1, 0}; }), "throttle.period_ms");
  const auto both = [](CreateRequest& r) {
    r.unique = UniqueKey{"k"};
    r.throttle = Throttle{"k", 1, 1};
  };
  EXPECT_EQ(field_of(both), "throttle");
  const auto delayed = [](CreateRequest& r) {
    r.debounce = Debounce{"k", 1};
    r.delay_ms = 5;
  };
  EXPECT_EQ(field_of(delayed), "delay_ms");
  FlowRequest flow;
  flow.kind = "flow";
  flow.nodes.push_back({.name = "a", .request = unique_job("k")});
  const auto refused = engine().submit_flow(flow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "nodes[0].unique");
  EXPECT_EQ(key_records(), 0U);
}

}  // namespace
}  // namespace flowfabric::test
