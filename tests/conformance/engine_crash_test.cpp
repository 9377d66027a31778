// The store calls of the engine: none while idle, none for refused input, and none after which a crash could leave
// something half done.
#include <flowfabric/engine.hpp>

#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric::test {
namespace {

class EngineCrashes : public EngineSuite {
 protected:
  std::unique_ptr<Store> watched(std::shared_ptr<Watch> watch) {
    return std::make_unique<WatchedStore>(open_store(), std::move(watch));
  }

  // What a client remembers of one run: the replies that it got.
  struct Acknowledged {
    std::map<std::string, ExecutionId> created;
    std::map<ExecutionId, std::string> completed;
    std::set<ExecutionId> cancelled;
  };

  static CreateRequest numbered_job(const std::string& lane, int number) {
    CreateRequest request = job(lane, number % 3);
    request.idempotency_key = lane + "/" + std::to_string(number);
    request.payload = std::string(number % 2 == 0 ? 10 : limits::max_inline_bytes + 10, 'p');
    request.policy.retry = RetryPolicy{};
    request.policy.retry->max_retries = 100;
    request.policy.retry->initial_delay_ms = 100;
    if (number == 3) request.delay_until = limits::min_timestamp_ms;  // long over
    return request;
  }
  static constexpr int jobs = 4;

  // A client that creates, uses every operation of a worker, and lets time pass; it continues after every reply.
  void live(Driver& driver, const std::string& lane, Acknowledged& acknowledged) {
    for (int i = 0; i < jobs; ++i) {
      if (const auto made = driver.create(numbered_job(lane, i))) {
        acknowledged.created[numbered_job(lane, i).idempotency_key] = made->execution_id;
      }
    }
    for (int round = 0; round < 3; ++round) {
      ClaimRequest request = ask(2, {lane});
      request.lease_ttl_ms = 1000;
      const auto claims = driver.claim(request);
      for (std::size_t i = 0; claims && i < claims->size(); ++i) work_on(driver, (*claims)[i], round, i, acknowledged);
      driver.advance(150);
    }
    driver.advance(1000);
  }

  void work_on(Driver& driver, const ClaimedExecution& claimed, int round, std::size_t i, Acknowledged& acknowledged) {
    const ExecutionId& id = claimed.execution_id;
    const Fence fence = driver.fence(claimed);
    // The store may crash inside any of these calls. Only what was acknowledged counts, so other replies are dropped.
    if (round == 0) {
      static_cast<void>(driver.call(ProgressCommand{fence, {50, "half"}}));
      static_cast<void>(driver.renew(claimed));
    }
    switch ((static_cast<std::size_t>(round) * 2 + i) % 6) {
      case 0: static_cast<void>(driver.fail(claimed)); return;
      case 1: static_cast<void>(driver.delay(claimed, now() + 50)); return;
      case 2: return;  // it dies while it holds the lease
      case 3:
        if (driver.call(CancelCommand{id, {"ops", "stop"}})) acknowledged.cancelled.insert(id);
        return;
      default:
        if (driver.complete(claimed, to_string(id))) acknowledged.completed[id] = to_string(id);
        return;
    }
  }

  // Another client continues: repeats every create (as after a missing reply) and works until everything is done.
  std::set<ExecutionId> recover(Driver& driver, const std::string& lane, const Acknowledged& acknowledged) {
    std::set<ExecutionId> ids;
    for (int i = 0; i < jobs; ++i) {
      const Created made = value_of(driver.create(numbered_job(lane, i)));
      const auto known = acknowledged.created.find(numbered_job(lane, i).idempotency_key);
      if (known != acknowledged.created.end()) {
        EXPECT_EQ(made.execution_id, known->second);
        EXPECT_TRUE(made.duplicate) << "an acknowledged create was lost";
      }
      ids.insert(made.execution_id);
    }
    // Work that the dead engine could not announce is found within a keep-alive.
    driver.advance(61000);
    for (const auto& claimed : value_of(driver.claim(ask(100, {lane})))) {
      EXPECT_FALSE(acknowledged.completed.contains(claimed.execution_id)) << "completed work runs again";
      EXPECT_FALSE(acknowledged.cancelled.contains(claimed.execution_id)) << "cancelled work runs again";
      value_of(driver.complete(claimed, to_string(claimed.execution_id)));
    }
    return ids;
  }

  void expect_all_accounted_for(const std::set<ExecutionId>& ids, const std::string& lane,
                                const Acknowledged& acknowledged) {
    ListRequest request;
    request.lane = lane;
    const auto listed = value_of(reads::list(engine().store(), request)).executions;
    EXPECT_EQ(listed.size(), static_cast<std::size_t>(jobs)) << "one was lost, or made twice";
    for (const auto& summary : listed) {
      const ExecutionId& id = summary.execution_id;
      EXPECT_TRUE(ids.contains(id));
      const Events history = engine().history(id);
      EXPECT_EQ(ends_in(history), 1) << "each ends once";
      EXPECT_EQ(count_of(history, EventType::created), 1);
      EXPECT_EQ(history.front(), EventType::created);
      if (acknowledged.cancelled.contains(id)) {
        EXPECT_EQ(summary.public_state, PublicState::cancelled);
      }
      if (summary.public_state == PublicState::completed) {
        EXPECT_EQ(value_of(reads::result(engine().store(), id)).result, to_string(id));
      } else {
        EXPECT_EQ(summary.public_state, PublicState::cancelled);
      }
    }
    for (const auto& [id, result] : acknowledged.completed) EXPECT_EQ(state(id), PublicState::completed);
  }

  // Kills an engine at its k-th call, for every k of the scenario.
  void crash_at_every_call(Watch::Death death) {
    bool survived = false;
    int call = 0;
    while (!survived) {
      ++call;
      SCOPED_TRACE("call " + std::to_string(call));
      const std::string lane = "run" + std::to_string(call);
      Acknowledged acknowledged;
      {
        const auto watch = std::make_shared<Watch>();
        RuntimeOptions options;
        options.writers = 1;
        Driver doomed(watched(watch), clock_, static_cast<std::uint64_t>(call) + 100, options);
        watch->calls = 0;
        watch->fatal_call = call;
        watch->death = death;
        live(doomed, lane, acknowledged);
        survived = !watch->dead;
      }
      const std::set<ExecutionId> ids = recover(engine(), lane, acknowledged);
      expect_all_accounted_for(ids, lane, acknowledged);
      if (HasFailure()) return;
    }
    EXPECT_GT(call, 30) << "the scenario talks to the store often enough to prove something";
  }
};
ON_EVERY_STORE(EngineCrashes);

TEST_P(EngineCrashes, C9_a_crash_before_any_storage_call_loses_and_doubles_nothing) {
  crash_at_every_call(Watch::Death::before);
}

TEST_P(EngineCrashes, C9_a_crash_after_any_storage_call_loses_and_doubles_nothing) {
  crash_at_every_call(Watch::Death::after);
}

TEST_P(EngineCrashes, C9_an_engine_whose_store_was_away_goes_on_by_itself) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(watched(watch), clock_, 5);
  const ExecutionId id = value_of(driver.create(retried_job())).execution_id;
  value_of(driver.fail(driver.take()));
  watch->dead = true;
  EXPECT_EQ(refusal(driver.create(job())), Errc::unavailable);
  driver.advance(5000);
  EXPECT_EQ(facts(id).phase, Phase::runnable);
  EXPECT_EQ(state(id), PublicState::delayed) << "nobody could carry out what was due";
  watch->dead = false;
  driver.advance(2000);
  EXPECT_EQ(state(id), PublicState::waiting) << "the clock found the store again without being asked";
}

TEST_P(EngineCrashes, C25_an_idle_engine_asks_the_store_once_a_minute) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(watched(watch), clock_, 5);
  CreateRequest request = job();
  request.delay_until = now() + 30LL * 24 * 3600 * 1000;
  value_of(driver.create(request));
  value_of(driver.create(job("nobody-claims")));
  driver.advance(60000);
  watch->calls = 0;
  watch->commits = 0;
  driver.advance(3 * 3600 * 1000);
  EXPECT_LE(watch->calls, 180) << "one keep-alive a minute";
  EXPECT_GE(watch->calls, 170);
  EXPECT_EQ(watch->commits, 0);
}

TEST_P(EngineCrashes, C25_parked_claims_and_waiters_cost_little_while_they_wait) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(watched(watch), clock_, 5);
  const ExecutionId id = value_of(driver.create(job("elsewhere"))).execution_id;
  std::vector<Pending<Claims>> parked;
  for (int i = 0; i < 20; ++i) parked.push_back(driver.claim_later(ask_and_wait(3600000)));
  const auto waiting = driver.wait_later(id, 3600000);
  watch->calls = 0;
  driver.advance(59000);
  EXPECT_LE(watch->calls, 1) << "parked callers do not poll";
  driver.advance(540000);
  EXPECT_LE(watch->calls, 45) << "a keep-alive makes them look once, together";
  EXPECT_FALSE(parked.front().done() || waiting.done());
}

// ---- Ingress -------------------------------------------------------------------------------------------------------

using Refusals = std::vector<std::pair<std::string, std::function<Error()>>>;

template <class T>
Error error_of(const Result<T>& result) {
  return result ? Error{Errc::internal, "not refused", {}, {}} : result.error();
}

Refusals bad_creates(Engine& engine) {
  const auto create = [&](auto spoil) {
    CreateRequest request = job();
    spoil(request);
    return [&engine, request] { return error_of(engine.create(request)); };
  };
  const auto text = [](std::size_t size) { return std::string(size, 'x'); };
  Tags many_tags;
  for (int i = 0; i < 65; ++i) many_tags["app.k" + std::to_string(i)] = "v";
  return {
      {"namespace", create([&](CreateRequest& r) { r.name_space = text(limits::max_namespace_bytes + 1); })},
      {"namespace", create([](CreateRequest& r) { r.name_space = ""; })},
      {"lane", create([&](CreateRequest& r) { r.lane = text(limits::max_lane_bytes + 1); })},
      {"lane", create([](CreateRequest& r) { r.lane = "tab\t"; })},
      {"kind", create([&](CreateRequest& r) { r.kind = text(limits::max_kind_bytes + 1); })},
      {"kind", create([](CreateRequest& r) { r.kind = "\xff"; })},
      {"payload", create([&](CreateRequest& r) { r.payload = text(limits::default_max_payload_bytes + 1); })},
      {"payload_encoding", create([&](CreateRequest& r) { r.payload_encoding = text(129); })},
      {"priority", create([](CreateRequest& r) { r.priority = 32768; })},
      {"tags", create([&](CreateRequest& r) { r.tags = many_tags; })},
      {"tags.app.k", create([&](CreateRequest& r) { r.tags = {{"app.k", text(limits::max_tag_value_bytes + 1)}}; })},
      {"required_capabilities", create([](CreateRequest& r) { r.required_capabilities = {"a b"}; })},
      {"policy.attempt_timeout_ms", create([](CreateRequest& r) { r.policy.attempt_timeout_ms = 0; })},
      {"policy.reclaim_grace_ms", create([](CreateRequest& r) { r.policy.reclaim_grace_ms = -1; })},
      {"policy.dedup_window_ms", create([](CreateRequest& r) { r.policy.dedup_window_ms = 0; })},
      {"policy.retention.failed_ms", create([](CreateRequest& r) { r.policy.retention.failed_ms = -5; })},
      {"delay_until", create([](CreateRequest& r) { r.delay_until = -1; })},
      {"deadline_at", create([](CreateRequest& r) { r.deadline_at = limits::max_timestamp_ms + 1; })},
      {"creator", create([&](CreateRequest& r) { r.creator = text(limits::max_creator_bytes + 1); })},
      {"idempotency_key", create([&](CreateRequest& r) { r.idempotency_key = text(257); })},
  };
}

Refusals bad_claims(Engine& engine) {
  const auto claim = [&](auto spoil) {
    ClaimRequest request = ask();
    spoil(request);
    return [&engine, request] { return error_of(engine.claim(request)); };
  };
  return {
      {"worker_id", claim([](ClaimRequest& r) { r.worker_id = ""; })},
      {"worker_instance_id", claim([](ClaimRequest& r) { r.worker_instance_id = "a b"; })},
      {"lanes", claim([](ClaimRequest& r) { r.lanes = {}; })},
      {"lanes[0]", claim([](ClaimRequest& r) { r.lanes = {""}; })},
      {"capabilities", claim([](ClaimRequest& r) { r.capabilities = {"a,b"}; })},
      {"max_executions", claim([](ClaimRequest& r) { r.max_executions = 0; })},
      {"max_executions", claim([](ClaimRequest& r) { r.max_executions = limits::max_claim + 1; })},
      {"lease_ttl_ms", claim([](ClaimRequest& r) { r.lease_ttl_ms = limits::min_lease_ttl_ms - 1; })},
      {"lease_ttl_ms", claim([](ClaimRequest& r) { r.lease_ttl_ms = limits::max_lease_ttl_ms + 1; })},
      {"wait_ms", claim([](ClaimRequest& r) { r.wait_ms = limits::max_wait_ms + 1; })},
  };
}

Refusals bad_worker_calls(Engine& engine, const Handle& handle) {
  const auto text = [](std::size_t size) { return std::string(size, 'x'); };
  const auto fail = [&](FailRequest request) {
    return [&engine, handle, request] { return error_of(engine.fail(handle, request)); };
  };
  return {
      {"percent", [&engine, handle] { return error_of(engine.report_progress(handle, {101, {}})); }},
      {"message", [&engine, handle] { return error_of(engine.report_progress(handle, {1, std::string(4097, 'x')})); }},
      {"result",
       [&engine, handle] {
         return error_of(engine.complete(handle, {std::string(limits::default_max_payload_bytes + 1, 'x'), {}}));
       }},
      {"category", fail({"", {}, {}, {}})},
      {"message", fail({"error", text(limits::max_message_bytes + 1), {}, {}})},
      {"detail", fail({"error", {}, text(limits::max_failure_detail_bytes + 1), {}})},
      {"delay_until", [&engine, handle] { return error_of(engine.delay(handle, -1)); }},
      {"reason", [&engine, handle] { return error_of(engine.cancel_held(handle, std::string(1025, 'x'))); }},
  };
}

Refusals bad_operator_calls(Engine& engine, const ExecutionId& id) {
  const Operator nobody{"", ""};
  const Operator verbose{"ops", std::string(limits::max_reason_bytes + 1, 'x')};
  return {
      {"operator", [&engine, id, nobody] { return error_of(engine.cancel(id, nobody)); }},
      {"reason", [&engine, id, verbose] { return error_of(engine.revoke_lease(id, verbose)); }},
      {"reason", [&engine, id, verbose] { return error_of(engine.replay_execution(id, verbose)); }},
      {"priority", [&engine, id] { return error_of(engine.change_priority(id, -32769)); }},
      {"set", [&engine, id] { return error_of(engine.change_tags(id, {{{"bad", "v"}}, {}})); }},
      {"remove[0]", [&engine, id] { return error_of(engine.change_tags(id, {{}, {"bad"}})); }},
      {"set", [&engine, id] { return error_of(engine.change_tags(id, {})); }},
      {"lane", [&engine] { return error_of(engine.set_lane_state("", LaneState::paused)); }},
      {"namespace", [&engine] { return error_of(engine.set_namespace({"", {}})); }},
      {"retention.completed_ms", [&engine] { return error_of(engine.set_namespace({"n", {-1, {}, {}, {}, {}}})); }},
      {"execution_id", [&engine, id] { return error_of(engine.cancel({partition_count, id.uuid})); }},
  };
}

TEST_P(EngineCrashes, limits_are_refused_by_name_before_anything_is_written) {
  const auto watch = std::make_shared<Watch>();
  const auto threaded = value_of(start_engine(watched(watch), {}));
  const ExecutionId id = value_of(threaded->create(job())).execution_id;
  ClaimRequest request = ask();
  request.lease_ttl_ms = 600000;
  const ClaimedExecution claimed = value_of(threaded->claim(request)).at(0);
  const int calls = watch->calls;
  const int commits = watch->commits;
  Refusals all = bad_creates(*threaded);
  for (auto& more :
       {bad_claims(*threaded), bad_worker_calls(*threaded, claimed.handle), bad_operator_calls(*threaded, id)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  for (const auto& [field, call] : all) {
    const Error error = call();
    const bool bytes = field == "payload" || field == "result" || field == "detail";
    EXPECT_EQ(error.code, bytes ? Errc::payload_too_large : Errc::invalid_argument) << field << ": " << error.message;
    EXPECT_EQ(error.field, field) << error.message;
    EXPECT_NE(error.message.find(field), std::string::npos) << error.message;
  }
  EXPECT_EQ(error_of(threaded->complete("forged")).code, Errc::invalid_handle);
  EXPECT_EQ(watch->commits, commits) << "nothing was written";
  EXPECT_LE(watch->calls, calls + 1) << "nothing was read either, apart from what the clock asks";
  ASSERT_TRUE(threaded->complete(claimed.handle, {}));
  threaded->stop();
}

TEST_P(EngineCrashes, limits_themselves_are_accepted) {
  CreateRequest request = job(std::string(limits::max_lane_bytes, 'l'), limits::min_priority);
  request.name_space = std::string(limits::max_namespace_bytes, 'n');
  request.kind = std::string(limits::max_kind_bytes, 'k');
  request.creator = std::string(limits::max_creator_bytes, 'c');
  request.payload_encoding = std::string(limits::max_encoding_bytes, 'e');
  request.idempotency_key = std::string(limits::max_idempotency_key_bytes, 'i');
  for (std::size_t i = 0; i < limits::max_tags; ++i) {
    request.tags["app." + std::string(limits::max_tag_key_bytes - 7, 'k') + std::to_string(100 + i)] =
        std::string(limits::max_tag_value_bytes, 'v');
  }
  const ExecutionId id = make(request);
  ClaimRequest asked = ask(1, {request.lane});
  asked.worker_id = asked.worker_instance_id = std::string(limits::max_worker_id_bytes, 'w');
  const ClaimedExecution claimed = claim(asked).at(0);
  EXPECT_EQ(claimed.tags, request.tags);
  FailRequest fail{std::string(limits::max_category_bytes, 'c'),
                   std::string(limits::max_message_bytes, 'm'),
                   std::string(limits::max_failure_detail_bytes, '\0'),
                   {}};
  call<FailReply>(FailCommand{engine().fence(claimed), fail});
  EXPECT_EQ(facts(id).failure, (Failure{fail.category, fail.message, fail.detail}));
  EXPECT_TRUE(value_of(engine().create(request)).duplicate);
}

TEST_P(EngineCrashes, a_full_queue_is_refused_as_overloaded) {
  RuntimeOptions options;
  options.max_queued_commands = 10;
  options.writers = 1;
  const auto small = open_engine(4, options);
  int made = 0, refusals = 0;
  for (int i = 0; i < 15; ++i) {
    small->runtime().submit_create(job(), [&](const Result<Reply>& reply) {
      made += reply ? 1 : 0;
      refusals += !reply && reply.error().code == Errc::overloaded ? 1 : 0;
    });
  }
  EXPECT_EQ(refusals, 5);
  small->settle();
  EXPECT_EQ(made, 10);
  EXPECT_EQ(claim(ask(100)).size(), 10u);
}

}  // namespace
}  // namespace flowfabric::test
