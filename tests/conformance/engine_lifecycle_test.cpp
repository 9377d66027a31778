// One execution from its creation to its end.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineLifecycle : public EngineSuite {
 protected:
  static std::string all_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 % 257);
    return bytes;
  }
};
ON_EVERY_STORE(EngineLifecycle);

TEST_P(EngineLifecycle, C1_without_delay_it_is_claimable_at_once) {
  const ExecutionId id = engine().make();
  const Claims claims = claim(ask());
  ASSERT_EQ(ids_of(claims), std::vector{id});
  EXPECT_EQ(claims[0].attempt.attempt_type, AttemptType::initial);
  EXPECT_EQ(claims[0].handle_kind, HandleKind::fresh);
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed}));
}

TEST_P(EngineLifecycle, C1_with_delay_not_before_due_and_within_one_tick_after) {
  CreateRequest request = job();
  request.delay_until = now() + 5000;
  const auto created = value_of(engine().create(request));
  EXPECT_EQ(created.public_state, PublicState::delayed);
  engine().advance(4999);
  EXPECT_TRUE(claim(ask()).empty());
  engine().advance(1);
  EXPECT_EQ(state(created.execution_id), PublicState::waiting) << "by the clock, before anybody asks";
  EXPECT_EQ(ids_of(claim(ask())), std::vector{created.execution_id});
  EXPECT_EQ(engine().history(created.execution_id), (Events{EventType::created, EventType::ready, EventType::claimed}));
}

TEST_P(EngineLifecycle, create_relative_times_count_from_the_creation_by_the_clock_of_the_store) {
  CreateRequest request = job();
  request.delay_ms = 5000;
  request.deadline_ms = 9000;
  const auto created = value_of(engine().create(request));
  EXPECT_EQ(created.public_state, PublicState::delayed);
  const auto description = engine().describe(created.execution_id);
  EXPECT_EQ(description.delay_until, description.summary.created_at + 5000);
  EXPECT_EQ(description.deadline_at, description.summary.created_at + 9000);
  engine().advance(5000);
  EXPECT_EQ(state(created.execution_id), PublicState::waiting);
  engine().advance(4000);
  EXPECT_EQ(state(created.execution_id), PublicState::expired);
}

TEST_P(EngineLifecycle, create_with_a_relative_delay_is_not_handed_to_a_parked_claim) {
  const auto waiting = engine().claim_later(ask_and_wait(60000));
  CreateRequest request = job();
  request.delay_ms = 1000;
  make(request);
  EXPECT_FALSE(waiting.done());
  engine().advance(1000);
  EXPECT_TRUE(waiting.done());
}

TEST_P(EngineLifecycle, claimed_events_name_the_worker) {
  const ExecutionId id = engine().make();
  claim(ask());
  const auto page = value_of(reads::history(engine().store(), id, {}, 10));
  ASSERT_EQ(page.events.size(), 2u);
  EXPECT_EQ(page.events[0].worker_instance_id, "");
  EXPECT_EQ(page.events[1].worker_instance_id, page.events[1].actor);
  EXPECT_NE(page.events[1].worker_instance_id, "");
}

TEST_P(EngineLifecycle, create_past_delay_runs) {
  CreateRequest request = job();
  request.delay_until = now() - 1;
  const auto created = value_of(engine().create(request));
  EXPECT_EQ(created.public_state, PublicState::waiting);
  request.delay_until = now();
  make(request);
  EXPECT_EQ(claim(ask(2)).size(), 2u);
}

TEST_P(EngineLifecycle, create_made_and_leased_in_one_batch_carries_its_payload) {
  const auto waiting = engine().claim_later(ask_and_wait(1000));
  EXPECT_FALSE(waiting.done());
  CreateRequest request = job();
  request.payload = all_bytes(limits::max_inline_bytes + 1);
  make(request);
  ASSERT_TRUE(waiting.done());
  ASSERT_EQ(waiting.get()->size(), 1u);
  EXPECT_EQ(waiting.get()->front().payload, request.payload);
}

TEST_P(EngineLifecycle, binary_payloads_and_results_round_trip) {
  const std::size_t edge = limits::max_inline_bytes;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, edge - 1, edge, edge + 1, std::size_t{70000},
                                 limits::default_max_payload_bytes}) {
    CreateRequest request = job();
    request.payload = all_bytes(size);
    request.payload_encoding = "raw";
    const ExecutionId id = make(request);
    const ClaimedExecution claimed = engine().take();
    EXPECT_TRUE(claimed.payload == request.payload) << size;
    EXPECT_EQ(claimed.payload_encoding, "raw");
    const std::string result(request.payload.rbegin(), request.payload.rend());
    value_of(engine().call(CompleteCommand{engine().fence(claimed), {result, "reversed"}}));
    const auto context = value_of(reads::context(engine().store(), id));
    EXPECT_TRUE(context.payload == request.payload) << size;
    const auto read = value_of(reads::result(engine().store(), id));
    EXPECT_TRUE(read.result == result) << size;
    EXPECT_EQ(read.result_encoding, "reversed");
    EXPECT_EQ(read.outcome, Outcome::success);
  }
}

TEST_P(EngineLifecycle, nul_bytes_survive_everywhere_that_takes_bytes) {
  const std::string nul("\0a\0", 3);
  CreateRequest request = job();
  request.payload = nul;
  const ExecutionId id = make(request);
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(claimed.payload, nul);
  call<FailReply>(FailCommand{engine().fence(claimed), {"error", "m", nul, {}}});
  EXPECT_EQ(engine().describe(id).failure->detail, nul);
}

TEST_P(EngineLifecycle, a_claim_tells_the_worker_everything) {
  CreateRequest request = job("lane-a", 7);
  request.name_space = "tenant";
  request.kind = "mail";
  request.tags = {{"app.shard", "9"}, {"app.text", "gr\xc3\xbc\xc3\x9f"}};
  request.creator = "me";
  request.deadline_at = now() + 60000;
  const ExecutionId id = make(request);
  const TimestampMs created_at = now();
  engine().advance(5);
  ClaimRequest asked = ask(1, {"lane-a"});
  asked.lease_ttl_ms = 4321;
  const ClaimedExecution claimed = claim(asked).at(0);
  EXPECT_EQ(claimed.execution_id, id);
  EXPECT_EQ(claimed.name_space, "tenant");
  EXPECT_EQ(claimed.lane, "lane-a");
  EXPECT_EQ(claimed.kind, "mail");
  EXPECT_EQ(claimed.priority, 7);
  EXPECT_EQ(claimed.tags, request.tags);
  EXPECT_EQ(claimed.created_at, created_at);
  EXPECT_EQ(claimed.deadline_at, request.deadline_at);
  EXPECT_EQ(claimed.lease.expires_at, now() + 4321);
  EXPECT_EQ(claimed.lease.worker_id, "worker");
  EXPECT_EQ(claimed.lease.worker_instance_id, "w-1");
  EXPECT_EQ(claimed.attempt.attempt_index, 0u);
  EXPECT_EQ(claimed.attempt.started_at, now());
  EXPECT_EQ(engine().fence(claimed).lease_epoch, claimed.lease.lease_epoch);
}

TEST_P(EngineLifecycle, create_many_in_one_call) {
  const std::vector<ExecutionId> made = make_many(std::vector<CreateRequest>(1500, job()));
  EXPECT_EQ(std::set<ExecutionId>(made.begin(), made.end()).size(), made.size());
  std::set<std::uint16_t> partitions;
  for (const auto& id : made) partitions.insert(id.partition);
  EXPECT_GT(partitions.size(), 100u) << "executions are spread over the partitions";
  const std::vector<ExecutionId> claimed = ids_of(claim_all());
  EXPECT_EQ(std::set<ExecutionId>(claimed.begin(), claimed.end()), std::set<ExecutionId>(made.begin(), made.end()));
  EXPECT_EQ(claimed.size(), made.size());
}

TEST_P(EngineLifecycle, one_bad_request_does_not_harm_its_neighbours) {
  std::vector<Result<Reply>> replies(3, flowfabric::fail(Errc::internal, ""));
  std::vector<CreateRequest> requests = {job(), job(), job()};
  requests[1].kind = "";
  for (std::size_t i = 0; i < 3; ++i) {
    engine().runtime().submit_create(requests[i], [&replies, i](Result<Reply> reply) { replies[i] = reply; });
  }
  engine().settle();
  EXPECT_TRUE(replies[0]);
  EXPECT_EQ(refusal(replies[1]), Errc::invalid_argument);
  EXPECT_EQ(replies[1].error().field, "kind");
  EXPECT_TRUE(replies[2]);
  EXPECT_EQ(claim(ask(5)).size(), 2u);
}

TEST_P(EngineLifecycle, a_supplied_id_is_used_and_makes_a_repeat_a_duplicate) {
  CreateRequest request = job();
  request.id = Uuid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  const auto first = value_of(engine().create(request));
  EXPECT_EQ(first.execution_id.uuid, *request.id);
  EXPECT_FALSE(first.duplicate);
  const auto again = value_of(second().create(request));
  EXPECT_EQ(again.execution_id, first.execution_id);
  EXPECT_TRUE(again.duplicate);
  request.payload = "other";
  EXPECT_EQ(refusal(engine().create(request)), Errc::conflict);
  EXPECT_EQ(claim(ask(5)).size(), 1u);
}

TEST_P(EngineLifecycle, repeat_complete_is_a_no_op_with_one_event) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  EXPECT_TRUE(engine().complete(claimed, "42"));
  const Facts before = facts(id);
  engine().advance(10);
  EXPECT_TRUE(engine().complete(claimed, "42"));
  EXPECT_TRUE(second().complete(claimed, "42")) << "also through another engine";
  EXPECT_EQ(facts(id), before);
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::completed}));
  const auto other = engine().complete(claimed, "43");
  EXPECT_EQ(refusal(other), Errc::already_terminal);
  EXPECT_EQ(value_of(reads::result(engine().store(), id)).result, "42");
}

TEST_P(EngineLifecycle, repeats_in_one_batch_count_once) {
  const ExecutionId id = make(retried_job());
  const Fence fence = engine().fence(engine().take());
  const auto replies = call_together(engine(), {FailCommand{fence, {}}, FailCommand{fence, {}}});
  ASSERT_TRUE(replies[0] && replies[1]);
  EXPECT_EQ(std::get<FailReply>(*replies[0]), std::get<FailReply>(*replies[1]));
  EXPECT_EQ(facts(id).retry_count, 1u);
  EXPECT_EQ(count_of(engine().history(id), EventType::retry_scheduled), 1);
}

TEST_P(EngineLifecycle, complete_after_cancel_is_refused) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  call<CancelReply>(CancelCommand{id, {"ops", "stop"}});
  const auto reply = engine().complete(claimed);
  EXPECT_EQ(refusal(reply), Errc::already_terminal);
  const std::vector<std::pair<std::string, std::string>> details = {{"outcome", "cancelled"}};
  EXPECT_EQ(reply.error().details, details);
  EXPECT_EQ(state(id), PublicState::cancelled);
  EXPECT_EQ(ends_in(engine().history(id)), 1);
}

TEST_P(EngineLifecycle, renew_after_terminal_is_refused) {
  engine().make();
  const ClaimedExecution claimed = engine().take();
  value_of(engine().complete(claimed));
  EXPECT_EQ(refusal(engine().renew(claimed)), Errc::already_terminal);
}

TEST_P(EngineLifecycle, a_permanent_failure_is_not_retried) {
  const ExecutionId id = make(retried_job());
  FailRequest request;
  request.retryable = FailRequest::Retryable::never;
  const auto reply = call<FailReply>(FailCommand{engine().fence(engine().take()), request});
  EXPECT_EQ(reply, (FailReply{FailReply::Decision::failed, 0, 0, "never"}));
  engine().advance(100000);
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_TRUE(claim(ask()).empty());
}

TEST_P(EngineLifecycle, a_custom_category_obeys_the_policy) {
  CreateRequest request = retried_job(1);
  request.policy.retry->retryable_categories = {"network", "quota exceeded"};
  for (const auto& [category, reason] : std::map<std::string, std::string>{
           {"network", "retries_left"}, {"quota exceeded", "retries_left"}, {"error", "category_not_retryable"}}) {
    make(request);
    const FailReply reply = value_of(engine().fail(engine().take(), category));
    EXPECT_EQ(reply.reason, reason) << category;
  }
  const ExecutionId forced = make(request);
  FailRequest fail;
  fail.category = "error";
  fail.retryable = FailRequest::Retryable::force;
  EXPECT_EQ(call<FailReply>(FailCommand{engine().fence(engine().take()), fail}).reason, "forced");
  engine().advance(1000);
  for (int i = 0; i < 3; ++i) {
    const ClaimedExecution claimed = engine().take();
    if (claimed.execution_id != forced) continue;
    const auto reply = call<FailReply>(FailCommand{engine().fence(claimed), fail});
    EXPECT_EQ(reply.reason, "retries_exhausted") << "force overrules the category, not the number of retries";
  }
}

TEST_P(EngineLifecycle, fail_without_a_policy_ends_it) {
  const ExecutionId id = engine().make();
  FailRequest request{"disk", "no space", "bytes", {}};
  const auto reply = call<FailReply>(FailCommand{engine().fence(engine().take()), request});
  EXPECT_EQ(reply, (FailReply{FailReply::Decision::failed, 0, 0, "no_retry_policy"}));
  const auto result = value_of(reads::result(engine().store(), id));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure, (Failure{"disk", "no space", "bytes"}));
}

TEST_P(EngineLifecycle, retries_come_back_at_the_times_that_the_reply_names) {
  CreateRequest request = retried_job(4);
  request.policy.retry->backoff = RetryPolicy::Backoff::exponential;
  request.policy.retry->initial_delay_ms = 100;
  request.policy.retry->max_delay_ms = 500;
  const ExecutionId id = make(request);
  std::uint32_t index = 0;
  for (const std::int64_t delay : {100, 200, 400, 500}) {
    const FailReply reply = value_of(engine().fail(engine().take(), "error"));
    EXPECT_EQ(reply, (FailReply{FailReply::Decision::retry_scheduled, now() + delay, ++index, "retries_left"}));
    EXPECT_EQ(state(id), PublicState::delayed);
    engine().advance(delay - 1);
    EXPECT_TRUE(claim(ask()).empty());
    engine().advance(1);
    EXPECT_EQ(state(id), PublicState::waiting);
  }
  const ClaimedExecution last = engine().take();
  EXPECT_EQ(last.attempt.attempt_type, AttemptType::retry);
  EXPECT_EQ(last.attempt.attempt_index, 4u);
  EXPECT_EQ(last.attempt.previous_attempt_index, 3u);
  EXPECT_EQ(value_of(engine().fail(last)).reason, "retries_exhausted");
  const auto attempts = value_of(reads::attempts(engine().store(), id, 0, 100));
  ASSERT_EQ(attempts.size(), 5u);
  for (const Attempt& attempt : attempts) EXPECT_EQ(attempt.attempt_state, AttemptState::ended_failure);
}

TEST_P(EngineLifecycle, jitter_stays_within_the_delay) {
  CreateRequest request = retried_job();
  request.policy.retry->jitter = RetryPolicy::Jitter::full;
  make_many(std::vector<CreateRequest>(100, request));
  std::set<TimestampMs> times;
  for (const ClaimedExecution& claimed : claim_all()) {
    const FailReply reply = value_of(engine().fail(claimed));
    EXPECT_GE(reply.retry_at, now());
    EXPECT_LE(reply.retry_at, now() + 1000);
    times.insert(reply.retry_at);
  }
  EXPECT_GT(times.size(), 50u);
}

TEST_P(EngineLifecycle, a_deadline_fires_in_every_phase) {
  const TimestampMs deadline = now() + 10000;
  const auto with_deadline = [&](CreateRequest request, const std::string& lane) {
    request.lane = lane;
    request.deadline_at = deadline;
    return make(request);
  };
  std::map<std::string, ExecutionId> ids;
  CreateRequest delayed = job();
  delayed.delay_until = deadline + 1;
  ids["delayed"] = with_deadline(delayed, "a");
  ids["ready"] = with_deadline(job(), "b");
  ids["active"] = with_deadline(job(), "c");
  engine().take("c", 60000);
  CreateRequest backing_off = retried_job();
  backing_off.policy.retry->initial_delay_ms = 60000;
  ids["in backoff"] = with_deadline(backing_off, "d");
  value_of(engine().fail(engine().take("d")));
  ids["put off by its worker"] = with_deadline(job(), "e");
  value_of(engine().delay(engine().take("e"), deadline + 5));
  CreateRequest manual = job();
  manual.policy.on_lease_lost = OnLeaseLost::manual;
  ids["waiting for reclaim"] = with_deadline(manual, "f");
  engine().take("f", 1000);
  CreateRequest grace = job();
  grace.policy.reclaim_grace_ms = 60000;
  ids["in grace"] = with_deadline(grace, "g");
  engine().take("g", 1000);

  engine().advance(9999);
  for (const auto& [phase, id] : ids) EXPECT_NE(state(id), PublicState::expired) << phase;
  engine().advance(1);
  for (const auto& [phase, id] : ids) {
    EXPECT_EQ(state(id), PublicState::expired) << phase;
    EXPECT_EQ(ends_in(engine().history(id)), 1) << phase;
    EXPECT_EQ(facts(id).finished_at, deadline) << phase;
  }
  for (const std::string lane : {"a", "b", "c", "d", "e", "f", "g"}) EXPECT_TRUE(claim(ask(1, {lane})).empty()) << lane;
}

TEST_P(EngineLifecycle, a_deadline_in_the_past_ends_it_without_running) {
  CreateRequest request = job();
  request.deadline_at = now() - 1;
  const ExecutionId id = make(request);
  EXPECT_TRUE(claim(ask()).empty());
  engine().advance(1);
  EXPECT_EQ(state(id), PublicState::expired);
}

TEST_P(EngineLifecycle, an_attempt_timeout_retries) {
  CreateRequest request = retried_job(1);
  request.policy.attempt_timeout_ms = 5000;
  const ExecutionId id = make(request);
  const ClaimedExecution first = engine().take("default", 60000);
  EXPECT_EQ(first.attempt.timeout_at, now() + 5000);
  engine().advance(5000);
  EXPECT_EQ(state(id), PublicState::delayed);
  EXPECT_EQ(refusal(engine().complete(first)), Errc::stale_lease);
  engine().advance(1000);
  const ClaimedExecution second_attempt = engine().take("default", 60000);
  EXPECT_EQ(second_attempt.attempt.attempt_type, AttemptType::retry);
  engine().advance(5000);
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(facts(id).failure->category, "timeout");
  EXPECT_EQ(count_of(engine().history(id), EventType::failed), 1);
}

TEST_P(EngineLifecycle, an_attempt_timeout_counts_only_the_time_that_it_runs) {
  CreateRequest request = job();
  request.policy.attempt_timeout_ms = 5000;
  const ExecutionId id = make(request);
  const ClaimedExecution first = engine().take("default", 60000);
  engine().advance(3000);
  value_of(engine().delay(first, now() + 100000));
  engine().advance(100000);
  const ClaimedExecution again = engine().take("default", 60000);
  EXPECT_EQ(again.attempt.timeout_at, now() + 2000);
  engine().advance(1999);
  EXPECT_EQ(state(id), PublicState::active);
  engine().advance(1);
  EXPECT_EQ(state(id), PublicState::failed);
}

TEST_P(EngineLifecycle, a_delayed_attempt_resumes_as_the_same_attempt_with_a_new_epoch) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take();
  const DelayReply reply = value_of(engine().delay(first, now() + 5000));
  EXPECT_EQ(reply.delay_until, now() + 5000);
  EXPECT_EQ(state(id), PublicState::delayed);
  EXPECT_EQ(refusal(engine().complete(first)), Errc::stale_lease);
  engine().advance(4999);
  EXPECT_TRUE(claim(ask()).empty());
  engine().advance(1);
  EXPECT_EQ(state(id), PublicState::resumable);
  const ClaimedExecution again = value_of(second().claim(ask())).at(0);
  EXPECT_EQ(again.attempt.attempt_id, first.attempt.attempt_id);
  EXPECT_EQ(again.attempt.attempt_index, 0u);
  EXPECT_EQ(again.handle_kind, HandleKind::resumed);
  EXPECT_GT(again.lease.lease_epoch, first.lease.lease_epoch);
  EXPECT_NE(again.lease.lease_id, first.lease.lease_id);
  value_of(second().complete(again));
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::delayed, EventType::ready,
                                          EventType::resumed, EventType::completed}));
  EXPECT_EQ(facts(id).attempt_count, 1u);
}

TEST_P(EngineLifecycle, a_delay_into_the_past_is_claimable_at_once) {
  engine().make();
  const ClaimedExecution first = engine().take();
  value_of(engine().delay(first, 1));
  EXPECT_EQ(engine().take().handle_kind, HandleKind::resumed);
}

TEST_P(EngineLifecycle, progress_keeps_what_a_report_leaves_out_and_starts_anew_with_an_attempt) {
  const ExecutionId id = make(retried_job());
  const Fence fence = engine().fence(engine().take());
  call<Done>(ProgressCommand{fence, {30, "third"}});
  engine().advance(5);
  call<Done>(ProgressCommand{fence, {{}, "still"}});
  EXPECT_EQ(engine().describe(id).progress, (Progress{30, "still", now()}));
  call<Done>(ProgressCommand{fence, {100, {}}});
  EXPECT_EQ(engine().describe(id).progress, (Progress{100, "still", now()}));
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed})) << "progress is not an event";
  call<FailReply>(FailCommand{fence, {}});
  engine().advance(1000);
  engine().take();
  EXPECT_EQ(engine().describe(id).progress, std::nullopt);
}

TEST_P(EngineLifecycle, not_found_on_every_operation) {
  const ExecutionId nobody{7, Uuid{{9}}};
  const Fence fence{nobody, 0, 1, Uuid{{1}}};
  for (const Command& command : everything_fenced(fence)) EXPECT_EQ(refused(command), Errc::not_found);
  const Operator by;
  for (const Command& command :
       std::vector<Command>{CancelCommand{nobody, by}, RevokeCommand{nobody, {}, by}, ReplayCommand{nobody, by},
                            PriorityCommand{nobody, 1, by}, TagsCommand{nobody, {{{"a.b", "c"}}, {}}, by}}) {
    EXPECT_EQ(refused(command), Errc::not_found) << command.index();
  }
  Store& store = engine().store();
  EXPECT_EQ(refusal(reads::describe(store, nobody)), Errc::not_found);
  EXPECT_EQ(refusal(reads::result(store, nobody)), Errc::not_found);
  EXPECT_EQ(refusal(reads::context(store, nobody)), Errc::not_found);
  EXPECT_EQ(refusal(reads::attempts(store, nobody, 0, 10)), Errc::not_found);
  EXPECT_EQ(refusal(reads::history(store, nobody, {}, 10)), Errc::not_found);
  const auto waiting = engine().wait_later(nobody, 1000);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(refusal(waiting.get()), Errc::not_found);
}

TEST_P(EngineLifecycle, the_epoch_never_decreases) {
  CreateRequest request = retried_job(5);
  request.policy.max_replays = 3;
  const ExecutionId id = make(request);
  std::uint64_t epoch = 0;
  std::uint64_t last_lease = 0;
  const auto look = [&] {
    const std::uint64_t seen = facts(id).lease_epoch;
    EXPECT_GE(seen, epoch);
    epoch = seen;
  };
  const auto take = [&] {
    const ClaimedExecution claimed = engine().take("default", 1000);
    EXPECT_GT(claimed.lease.lease_epoch, last_lease) << "no two leases share an epoch";
    last_lease = claimed.lease.lease_epoch;
    look();
    return claimed;
  };
  for (int life = 0; life < 3; ++life) {
    value_of(engine().fail(take()));
    look();
    engine().advance(1000);
    take();
    engine().advance(1000);
    look();
    take();
    call<RevokeReply>(RevokeCommand{id, {}, {}});
    look();
    value_of(engine().delay(take(), now() + 10));
    look();
    engine().advance(10);
    if (life == 1) {
      value_of(engine().complete(take()));
    } else {
      call<CancelReply>(CancelCommand{id, {}});
    }
    look();
    call<ReplayReply>(ReplayCommand{id, {}});
    look();
  }
}

TEST_P(EngineLifecycle, wait_is_woken_by_every_kind_of_end) {
  CreateRequest expiring = job("a");
  expiring.deadline_at = now() + 500;
  const ExecutionId expired = make(expiring);
  const ExecutionId completed = make(job("b"));
  const ExecutionId failed = make(job("c"));
  const ExecutionId cancelled = make(job("d"));
  std::map<std::string, Pending<ExecutionResult>> waits;
  waits["expired"] = engine().wait_later(expired, 10000);
  waits["completed"] = engine().wait_later(completed, 10000);
  waits["failed"] = engine().wait_later(failed, 10000);
  waits["cancelled"] = engine().wait_later(cancelled, 10000);
  for (const auto& [name, wait] : waits) EXPECT_FALSE(wait.done()) << name;
  value_of(engine().complete(engine().take("b")));
  value_of(engine().fail(engine().take("c")));
  call<CancelReply>(CancelCommand{cancelled, {}});
  EXPECT_FALSE(waits["expired"].done());
  engine().advance(500);
  for (const auto& [name, wait] : waits) {
    ASSERT_TRUE(wait.done()) << name;
    EXPECT_TRUE(wait.get()) << name;
  }
  const auto late = engine().wait_later(completed, 0);
  EXPECT_TRUE(late.done() && late.get()) << "an end that lies behind is seen at once";
}

TEST_P(EngineLifecycle, wait_times_out) {
  const ExecutionId id = engine().make();
  const auto waiting = engine().wait_later(id, 500);
  engine().advance(499);
  EXPECT_FALSE(waiting.done());
  engine().advance(1);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(refusal(waiting.get()), Errc::timed_out);
}

TEST_P(EngineLifecycle, wait_that_is_answered_at_once_leaves_nobody_waiting) {
  const ExecutionId id = engine().make();
  value_of(engine().complete(engine().take()));
  EXPECT_TRUE(engine().wait_later(id, 5000).get());
  EXPECT_FALSE(engine().wait_later({1, Uuid{{1}}}, 5000).get());
  EXPECT_GT(engine().runtime().tick(), 5000) << "the clock still has somebody to send away";
}

TEST_P(EngineLifecycle, wait_is_woken_by_an_end_in_another_engine) {
  const ExecutionId id = engine().make();
  const auto waiting = engine().wait_later(id, 3600000);
  value_of(second().complete(second().take()));
  EXPECT_TRUE(comes_true(engine(), [&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.get());
}

}  // namespace
}  // namespace flowfabric::test
