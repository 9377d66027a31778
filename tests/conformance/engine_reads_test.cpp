// Reads of executions: describe and explain, lists, counts, history, subscriptions.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineReads : public EngineSuite {
 protected:
  std::vector<std::string> codes(const ExecutionId& id) {
    std::vector<std::string> codes;
    for (const Reason& reason : engine().describe(id).explain) {
      EXPECT_FALSE(reason.sentence.empty());
      codes.push_back(reason.code);
    }
    return codes;
  }
  std::vector<ExecutionId> list(const ListRequest& request) {
    std::vector<ExecutionId> ids;
    for (const auto& found : value_of(reads::list(engine().store(), request)).executions) {
      ids.push_back(found.execution_id);
    }
    return ids;
  }
};
ON_EVERY_STORE(EngineReads);

using Codes = std::vector<std::string>;

TEST_P(EngineReads, describe_and_explain_what_waits) {
  CreateRequest request = job();
  request.delay_until = now() + 1000;
  request.required_capabilities = {"gpu"};
  const ExecutionId id = make(request);
  call<LaneInfo>(LaneCommand{"default", LaneState::paused, {"ops", "upgrade"}});
  EXPECT_EQ(codes(id), (Codes{"waiting_for_delay", "paused_by_lane", "waiting_for_capable_worker"}))
      << "all reasons, not only the first";
  EXPECT_EQ(engine().describe(id).explain[0].until, request.delay_until);
  engine().advance(1000);
  EXPECT_EQ(codes(id), (Codes{"paused_by_lane", "waiting_for_capable_worker", "waiting_for_worker"}));
  EXPECT_EQ(engine().describe(id).state.blocking_reason, BlockingReason::paused_by_lane);
  call<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
  EXPECT_EQ(codes(id), (Codes{"waiting_for_capable_worker", "waiting_for_worker"}));
  const ExecutionId first = engine().make();
  const ExecutionId behind = engine().make();
  EXPECT_NE(engine().describe(first).explain.back().sentence.find("next in its queue"), std::string::npos);
  EXPECT_NE(engine().describe(behind).explain.back().sentence.find("ahead of it"), std::string::npos);
}

TEST_P(EngineReads, describe_and_explain_what_runs_and_what_was_lost) {
  CreateRequest request = retried_job();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  const ExecutionId id = make(request);
  const ClaimedExecution claimed = engine().take("default", 1000);
  auto description = engine().describe(id);
  EXPECT_TRUE(description.explain.empty()) << "it runs";
  EXPECT_EQ(description.lease, claimed.lease);
  EXPECT_EQ(description.state.ownership_state, Ownership::leased);
  EXPECT_EQ(description.state.attempt_state, AttemptPhase::running_attempt);
  clock_.advance_ms(1000);
  EXPECT_EQ(codes(id), Codes{"lease_expired"}) << "the clock has not come by yet";
  engine().settle();
  EXPECT_EQ(codes(id), Codes{"waiting_for_reclaim"});
  EXPECT_EQ(engine().describe(id).lease, std::nullopt);
}

TEST_P(EngineReads, describe_and_explain_backoff_grace_and_worker_delay) {
  CreateRequest request = retried_job();
  request.policy.reclaim_grace_ms = 500;
  const ExecutionId id = make(request);
  value_of(engine().fail(engine().take(), "net"));
  EXPECT_EQ(codes(id), Codes{"waiting_for_retry_backoff"});
  EXPECT_EQ(engine().describe(id).state.attempt_state, AttemptPhase::pending_retry_attempt);
  engine().advance(1000);
  engine().take("default", 1000);
  engine().advance(1000);
  EXPECT_EQ(codes(id), Codes{"waiting_for_reclaim_grace"});
  EXPECT_EQ(engine().describe(id).state.attempt_state, AttemptPhase::pending_reclaim_attempt);
  engine().advance(500);
  value_of(engine().delay(engine().take(), now() + 700));
  EXPECT_EQ(codes(id), Codes{"waiting_for_delay"});
  EXPECT_EQ(engine().describe(id).delay_until, now() + 700);
}

TEST_P(EngineReads, describe_and_explain_every_end) {
  const ExecutionId completed = engine().make();
  value_of(engine().complete(engine().take()));
  const ExecutionId failed = engine().make();
  value_of(engine().fail(engine().take(), "x"));
  const ExecutionId cancelled = engine().make();
  call<CancelReply>(CancelCommand{cancelled, {}});
  CreateRequest request = job();
  request.deadline_at = now() + 5;
  const ExecutionId expired = make(request);
  engine().advance(5);
  const std::map<ExecutionId, std::pair<PublicState, Outcome>> ends = {
      {completed, {PublicState::completed, Outcome::success}},
      {failed, {PublicState::failed, Outcome::failed}},
      {cancelled, {PublicState::cancelled, Outcome::cancelled}},
      {expired, {PublicState::expired, Outcome::expired}}};
  for (const auto& [id, end] : ends) {
    const auto description = engine().describe(id);
    EXPECT_EQ(description.state.public_state, end.first);
    EXPECT_EQ(description.state.terminal_outcome, end.second);
    EXPECT_EQ(description.state.lifecycle_phase, Phase::terminal);
    EXPECT_EQ(codes(id), Codes{"terminal"});
    EXPECT_NE(description.summary.finished_at, 0);
    EXPECT_EQ(value_of(reads::result(engine().store(), id)).outcome, end.second);
  }
}

TEST_P(EngineReads, list_filters) {
  CreateRequest request = job("a");
  request.name_space = "n1";
  request.kind = "k1";
  request.tags = {{"app.t", "1"}};
  const ExecutionId one = make(request);
  clock_.advance_ms(10);
  request.kind = "k2";
  request.lane = "b";
  const ExecutionId two = make(request);
  clock_.advance_ms(10);
  request.name_space = "n2";
  request.tags = {{"app.t", "11"}};
  const ExecutionId three = make(request);
  const TimestampMs created = now();
  engine().take("a");
  engine().advance(100);
  call<CancelReply>(CancelCommand{three, {}});

  const auto with = [&](auto narrow) {
    ListRequest asked;
    narrow(asked);
    return list(asked);
  };
  using Ids = std::vector<ExecutionId>;
  EXPECT_EQ(with([](ListRequest&) {}), (Ids{three, two, one})) << "newest first";
  EXPECT_EQ(with([](ListRequest& q) { q.name_space = "n1"; }), (Ids{two, one}));
  EXPECT_EQ(with([](ListRequest& q) { q.lane = "b"; }), (Ids{three, two}));
  EXPECT_EQ(with([](ListRequest& q) { q.kind = "k1"; }), Ids{one});
  EXPECT_EQ(with([](ListRequest& q) { q.states = {PublicState::active}; }), Ids{one});
  EXPECT_EQ(with([](ListRequest& q) { q.states = {PublicState::active, PublicState::cancelled}; }), (Ids{three, one}));
  EXPECT_EQ(with([](ListRequest& q) { q.tag = {"app.t", "1"}; }), (Ids{two, one}));
  EXPECT_EQ(with([&](ListRequest& q) { q.created_from = created; }), Ids{three});
  EXPECT_EQ(with([&](ListRequest& q) { q.created_before = created; }), (Ids{two, one}));
  EXPECT_EQ(with([&](ListRequest& q) { q.finished_from = now(); }), Ids{three});
  EXPECT_EQ(with([&](ListRequest& q) { q.finished_before = now(); }), Ids{});
  EXPECT_EQ(with([](ListRequest& q) { q.flow = Uuid{{1}}; }), Ids{});
  EXPECT_EQ(with([](ListRequest& q) {
              q.name_space = "n1";
              q.lane = "b";
              q.states = {PublicState::waiting};
            }),
            Ids{two});
}

TEST_P(EngineReads, list_cursors_neither_skip_nor_repeat_under_writes) {
  std::vector<ExecutionId> before;
  for (int i = 0; i < 60; ++i) {
    before.push_back(engine().make());
    if (i % 3 == 0) clock_.advance_ms(1);
  }
  std::vector<ExecutionId> seen;
  ListRequest request;
  request.limit = 7;
  do {
    const ListReply page = value_of(reads::list(engine().store(), request));
    for (const auto& found : page.executions) seen.push_back(found.execution_id);
    request.cursor = page.next_cursor;
    second().make();
    value_of(second().complete(second().take()));
    call<Tags>(TagsCommand{before[seen.size() % before.size()], {{{"app.at", std::to_string(seen.size())}}, {}}, {}});
    clock_.advance_ms(1);
  } while (!request.cursor.empty());
  EXPECT_EQ(std::set<ExecutionId>(seen.begin(), seen.end()).size(), seen.size()) << "one came twice";
  EXPECT_EQ(std::set<ExecutionId>(seen.begin(), seen.end()), std::set<ExecutionId>(before.begin(), before.end()));
  request.cursor = "nonsense";
  EXPECT_EQ(refusal(reads::list(engine().store(), request)), Errc::invalid_argument);
}

// Such states are found by groups, one for each, which are put together; page by page that is the order of all listings.
TEST_P(EngineReads, states_that_people_look_for_are_listed_in_order) {
  std::vector<ExecutionId> expected;
  for (int i = 0; i < 12; ++i) {
    const ExecutionId id = engine().make();
    if (i % 4 == 0) value_of(engine().complete(engine().take()));
    if (i % 4 == 1) {
      const ClaimedExecution oldest = engine().take();
      expected.push_back(oldest.execution_id);
      value_of(engine().fail(oldest, "x"));
    }
    if (i % 4 == 2) {
      expected.push_back(id);
      call<CancelReply>(CancelCommand{id, {}});
    }
    if (i % 2 == 1) clock_.advance_ms(1);  // two at a time are created in the same millisecond
  }
  ListRequest everything;
  everything.limit = 100;
  std::vector<ExecutionId> in_order;
  for (const auto& execution : value_of(reads::list(engine().store(), everything)).executions) {
    const auto found = std::find(expected.begin(), expected.end(), execution.execution_id);
    if (found != expected.end()) in_order.push_back(execution.execution_id);
  }
  ASSERT_EQ(in_order.size(), expected.size());
  ListRequest request;
  request.states = {PublicState::cancelled, PublicState::failed, PublicState::skipped};
  request.limit = 2;
  std::vector<ExecutionId> listed;
  do {
    const ListReply page = value_of(reads::list(engine().store(), request));
    for (const auto& execution : page.executions) listed.push_back(execution.execution_id);
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  EXPECT_EQ(listed, in_order);
  // A replayed execution leaves its group.
  call<ReplayReply>(ReplayCommand{in_order.front(), {}});
  request.limit = 100;
  EXPECT_EQ(value_of(reads::list(engine().store(), request)).executions.size(), expected.size() - 1);
}

TEST_P(EngineReads, what_nothing_is_counted_under_is_not_searched_for) {
  make(job("a"));
  ListRequest request;
  request.limit = 10;
  request.lane = "b";
  EXPECT_TRUE(value_of(reads::list(engine().store(), request)).executions.empty());
  request.lane = "a";
  EXPECT_EQ(value_of(reads::list(engine().store(), request)).executions.size(), 1u);
  request.states = {PublicState::active};
  EXPECT_TRUE(value_of(reads::list(engine().store(), request)).executions.empty());
  engine().take("a");
  EXPECT_EQ(value_of(reads::list(engine().store(), request)).executions.size(), 1u);
  request.name_space = "elsewhere";
  EXPECT_TRUE(value_of(reads::list(engine().store(), request)).executions.empty());
}

TEST_P(EngineReads, counts_by_lane_and_state) {
  make_many(std::vector<CreateRequest>(5, job("a")));
  make_many(std::vector<CreateRequest>(3, job("b")));
  engine().take("a");
  value_of(engine().complete(engine().take("a")));
  CreateRequest request = job("b");
  request.name_space = "other";
  request.delay_until = now() + 1000;
  make(request);
  using Counts = std::map<PublicState, std::uint64_t>;
  const Counts a = {{PublicState::waiting, 3}, {PublicState::active, 1}, {PublicState::completed, 1}};
  const Counts b = {{PublicState::waiting, 3}, {PublicState::delayed, 1}};
  EXPECT_EQ(value_of(reads::counts(engine().store(), {})), (std::vector<LaneCounts>{{"a", a}, {"b", b}}));
  EXPECT_EQ(value_of(reads::counts(engine().store(), "other")),
            (std::vector<LaneCounts>{{"b", {{PublicState::delayed, 1}}}}));
}

TEST_P(EngineReads, history_is_complete_and_pages) {
  const ExecutionId id = make(retried_job(5));
  for (int i = 0; i < 5; ++i) {
    value_of(engine().fail(engine().take(), "c" + std::to_string(i)));
    engine().advance(1000);
  }
  std::vector<Event> all;
  std::string cursor;
  do {
    const EventPage page = value_of(reads::history(engine().store(), id, cursor, 4));
    all.insert(all.end(), page.events.begin(), page.events.end());
    cursor = page.next_cursor;
  } while (!cursor.empty());
  ASSERT_EQ(all.size(), 16u);
  PublicState last = all[0].state_after;
  for (const Event& event : all) {
    EXPECT_EQ(event.execution_id, id);
    EXPECT_EQ(event.state_before, last) << "each event takes up where the one before ended";
    last = event.state_after;
  }
  EXPECT_EQ(all[2].reason, "c0");
  EXPECT_EQ(all[2].next_at, all[2].at + 1000);
}

TEST_P(EngineReads, attempts_page) {
  const ExecutionId id = make(retried_job(9));
  for (int i = 0; i < 5; ++i) {
    value_of(engine().fail(engine().take()));
    engine().advance(1000);
  }
  const auto page = value_of(reads::attempts(engine().store(), id, 2, 2));
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].attempt_index, 2u);
  EXPECT_EQ(page[1].attempt_index, 3u);
  EXPECT_EQ(value_of(reads::attempts(engine().store(), id, 0, 100)).size(), 5u);
  EXPECT_EQ(value_of(reads::attempts(engine().store(), id, 4, 100)).size(), 1u);
}

TEST_P(EngineReads, a_subscription_from_now_sees_only_what_follows) {
  engine().make();
  const std::string cursor = start_cursor("");
  EXPECT_TRUE(events_from(cursor).empty());
  const ExecutionId id = second().make();
  const auto events = events_from(cursor);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::created);
  EXPECT_EQ(events[0].execution_id, id);
}

TEST_P(EngineReads, a_cursor_of_another_call_is_refused_by_the_name_that_callers_know) {
  const ExecutionId id = make(job());
  const std::string other = to_base64url("\x01no position");
  for (const Error& error : {reads::events(engine().store(), {}, other, 10).error(),
                             reads::history(engine().store(), id, other, 10).error()}) {
    EXPECT_EQ(error.code, Errc::invalid_argument);
    EXPECT_EQ(error.field, "cursor") << error.message;
  }
}

TEST_P(EngineReads, a_subscription_from_the_earliest_sees_everything_once_and_every_event_is_a_cursor) {
  for (int i = 0; i < 10; ++i) {
    engine().make();
    value_of(engine().complete(engine().take()));
  }
  const auto all = events_from(start_cursor("earliest"));
  ASSERT_EQ(all.size(), 30u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto rest = events_from(all[i].cursor);
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    if (!rest.empty()) {
      EXPECT_EQ(rest[0], all[i + 1]);
    }
  }
  EXPECT_EQ(refusal(reads::events(engine().store(), {}, "nonsense!", 10)), Errc::invalid_argument);
}

TEST_P(EngineReads, a_subscription_filters) {
  CreateRequest request = job("a");
  request.name_space = "n1";
  const ExecutionId one = make(request);
  request.lane = "b";
  make(request);
  request.name_space = "n2";
  make(request);
  value_of(engine().complete(engine().take("a")));
  const std::string start = start_cursor("earliest");
  const auto with = [&](auto narrow) {
    EventFilter filter;
    narrow(filter);
    return events_from(start, filter).size();
  };
  EXPECT_EQ(with([](EventFilter& f) { f.name_space = "n1"; }), 4u);
  EXPECT_EQ(with([](EventFilter& f) { f.lane = "b"; }), 2u);
  EXPECT_EQ(with([&](EventFilter& f) { f.execution_id = one; }), 3u);
  EXPECT_EQ(with([](EventFilter& f) { f.types = {EventType::completed, EventType::claimed}; }), 2u);
  EXPECT_EQ(with([](EventFilter& f) {
              f.lane = "b";
              f.types = {EventType::completed};
            }),
            0u);
}

TEST_P(EngineReads, a_tailing_subscription_loses_nothing_while_two_engines_write) {
  second();
  constexpr int rounds = 40;
  const auto work = [&](Driver& driver, const std::string& lane) {
    for (int i = 0; i < rounds; ++i) {
      driver.make("job", lane);
      value_of(driver.complete(driver.take(lane)));
    }
  };
  const auto reader = open_store();
  std::string cursor = start_cursor("earliest");
  std::thread here([&] { work(engine(), "a"); });
  std::thread there([&] { work(second(), "b"); });
  std::map<ExecutionId, Events> seen;
  std::size_t count = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count < 6 * rounds && std::chrono::steady_clock::now() < deadline) {
    const auto read = value_of(reads::events(*reader, {}, cursor, 13));
    for (const Event& event : read.page.events) seen[*event.execution_id].push_back(event.type);
    count += read.page.events.size();
    cursor = read.page.next_cursor;
  }
  here.join();
  there.join();
  EXPECT_EQ(seen.size(), 2u * rounds);
  for (const auto& [id, events] : seen) {
    EXPECT_EQ(events, (Events{EventType::created, EventType::claimed, EventType::completed}));
  }
}

TEST_P(EngineReads, an_exactly_full_last_page_has_no_cursor) {
  for (int i = 0; i < 4; ++i) engine().make();
  ListRequest request;
  request.limit = 2;
  const ListReply first = value_of(reads::list(engine().store(), request));
  EXPECT_EQ(first.executions.size(), 2u);
  ASSERT_FALSE(first.next_cursor.empty());
  request.cursor = first.next_cursor;
  const ListReply last = value_of(reads::list(engine().store(), request));
  EXPECT_EQ(last.executions.size(), 2u);
  EXPECT_EQ(last.next_cursor, "");

  const ExecutionId id = last.executions.back().execution_id;
  value_of(engine().complete(engine().take()));
  const auto pages = [&](std::uint32_t limit, const std::string& cursor = {}) {
    return value_of(reads::history(engine().store(), id, cursor, limit));
  };
  EXPECT_EQ(pages(3).events.size(), 3u);
  EXPECT_EQ(pages(3).next_cursor, "");
  const EventPage begin = pages(2);
  ASSERT_FALSE(begin.next_cursor.empty());
  EXPECT_EQ(pages(1, begin.next_cursor).next_cursor, "");
}

TEST_P(EngineReads, the_result_shows_a_failure_only_of_what_failed) {
  const auto cancelled = make(retried_job());
  value_of(engine().fail(engine().take(), "smtp"));
  call<CancelReply>(CancelCommand{cancelled, {}});
  const auto result = value_of(reads::result(engine().store(), cancelled));
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_FALSE(result.failure) << "it is that of an attempt";
  EXPECT_EQ(engine().describe(cancelled).failure->category, "smtp");
  EXPECT_EQ(value_of(reads::attempt_result(engine().store(), cancelled, 0)).failure->category, "smtp");
  const auto failed = make(job());
  value_of(engine().fail(engine().take(), "smtp"));
  EXPECT_EQ(value_of(reads::result(engine().store(), failed)).failure->category, "smtp");
}

}  // namespace
}  // namespace flowfabric::test
