// Waiting for the end of an execution or for events, without a thread: woken by relevant changes only.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric::test {
namespace {

class EngineWaiting : public EngineSuite {
 protected:
  std::unique_ptr<Driver> watched_engine(const std::shared_ptr<Watch>& watch, std::uint64_t seed = 7) {
    return std::make_unique<Driver>(std::make_unique<WatchedStore>(open_store(), watch), clock_, seed);
  }
  // As comes_true, but time passes: committed events may become visible only after a pause of virtual time.
  template <class Condition>
  bool comes_true_in_time(Condition condition) {
    return comes_true(engine(), [&] {
      if (condition()) return true;
      engine().advance(1);
      return condition();
    });
  }
  static int gauge(Driver& driver, const std::string& name) {
    const std::string text = driver.runtime().metrics().registry.text();
    const auto at = text.find("\n" + name + " ");
    if (at == std::string::npos) throw std::runtime_error("there is no " + name);
    return std::stoi(text.substr(at + name.size() + 2));
  }
  static EventFilter only(const ExecutionId& id) {
    EventFilter filter;
    filter.execution_id = id;
    return filter;
  }
};
ON_EVERY_STORE(EngineWaiting);

TEST_P(EngineWaiting, for_an_end_brings_the_result) {
  const ExecutionId small = make(job("small"));
  const ExecutionId large = make(job("large"));
  const auto one = engine().wait_later(small, 60000);
  const std::vector<Pending<ExecutionResult>> many = {engine().wait_later(large, 60000),
                                                      engine().wait_later(large, 50000)};
  const std::string bytes(limits::max_inline_bytes + 1, 'r');
  value_of(engine().complete(engine().take("small"), "done"));
  EXPECT_FALSE(many.front().done()) << "that was another execution";
  value_of(engine().complete(engine().take("large"), bytes));
  ASSERT_TRUE(one.done());
  EXPECT_EQ(value_of(one.get()).result, "done");
  EXPECT_EQ(value_of(one.get()).outcome, Outcome::success);
  for (const auto& each : many) {
    ASSERT_TRUE(each.done());
    EXPECT_EQ(value_of(each.get()).result, bytes);
  }
}

TEST_P(EngineWaiting, for_the_ends_of_very_many_reads_them_together) {
  constexpr int count = 1000;
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  std::vector<Pending<ExecutionResult>> waits;
  const std::vector<ExecutionId> ids = make_many(std::vector<CreateRequest>(count, job()));
  watch->calls = 0;
  for (const ExecutionId& id : ids) {
    Pending<ExecutionResult> pending;
    driver->runtime().wait_for_end(id, 60000, [answer = pending.answer](auto reply) { *answer = std::move(reply); });
    waits.push_back(pending);
  }
  driver->settle();
  EXPECT_LE(watch->calls, 20) << "a look reads many records";
  for (const ExecutionId& id : ids) {
    driver->runtime().submit(CancelCommand{id, {}}, [](const auto& reply) { EXPECT_TRUE(reply); });
  }
  driver->settle();
  for (const auto& each : waits) {
    ASSERT_TRUE(each.done());
    EXPECT_EQ(value_of(each.get()).outcome, Outcome::cancelled);
  }
  EXPECT_GT(driver->runtime().tick(), 50000) << "nobody is left";
}

TEST_P(EngineWaiting, costs_no_read_for_what_concerns_others) {
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  driver->make("job", "busy");
  const ExecutionId quiet = driver->make("job", "quiet");
  const auto end = driver->wait_later(quiet, 3600000);
  const auto events = driver->events_later("", 3600000, only(quiet));
  const int before = watch->calls;
  driver->make("job", "busy");
  const int price = watch->calls - before;
  // Without waiters: the cost of the same create.
  const auto alone = std::make_shared<Watch>();
  const auto other = watched_engine(alone, 8);
  other->make("job", "busy");
  const int calls = alone->calls;
  other->make("job", "busy");
  EXPECT_EQ(price, alone->calls - calls);
  EXPECT_FALSE(end.done() || events.done());
}

TEST_P(EngineWaiting, for_an_end_outlasts_a_replay) {
  CreateRequest request = job();
  request.policy.max_replays = 2;
  const ExecutionId id = make(request);
  Pending<ExecutionResult> pending;
  value_of(engine().fail(engine().take()));
  call<ReplayReply>(ReplayCommand{id, {}});
  pending = engine().wait_later(id, 60000);
  EXPECT_FALSE(pending.done()) << "this life has not ended";
  value_of(engine().complete(engine().take(), "second life"));
  EXPECT_EQ(value_of(pending.get()).result, "second life");
}

TEST_P(EngineWaiting, for_events_is_told_of_commits_here_and_elsewhere) {
  auto waiting = engine().events_later("", 3600000);
  EXPECT_FALSE(waiting.done());
  const ExecutionId here = engine().make();
  ASSERT_TRUE(comes_true_in_time([&] { return waiting.done(); }));
  ASSERT_EQ(value_of(waiting.get()).events.size(), 1u);
  EXPECT_EQ(value_of(waiting.get()).events[0].execution_id, here);
  waiting = engine().events_later(value_of(waiting.get()).next_cursor, 3600000);
  EXPECT_FALSE(waiting.done());
  const ExecutionId there = second().make();
  ASSERT_TRUE(comes_true_in_time([&] { return waiting.done(); }));
  ASSERT_EQ(value_of(waiting.get()).events.size(), 1u);
  EXPECT_EQ(value_of(waiting.get()).events[0].execution_id, there);
}

TEST_P(EngineWaiting, for_events_hears_only_what_it_asked_for) {
  const ExecutionId one = make(job("a"));
  EventFilter ends;
  ends.types = {EventType::completed, EventType::failed};
  EventFilter of_lane;
  of_lane.lane = "b";
  const auto of_one = engine().events_later("", 60000, only(one));
  const auto of_ends = engine().events_later("", 60000, ends);
  const auto of_b = engine().events_later("", 60000, of_lane);
  make(job("c"));
  engine().take("c");
  engine().settle();
  EXPECT_FALSE(of_one.done() || of_ends.done() || of_b.done());
  make(job("b"));
  ASSERT_TRUE(comes_true_in_time([&] { return of_b.done(); }));
  EXPECT_FALSE(of_one.done() || of_ends.done());
  const ClaimedExecution held = engine().take("a");
  ASSERT_TRUE(comes_true_in_time([&] { return of_one.done(); }));
  EXPECT_EQ(value_of(of_one.get()).events[0].type, EventType::claimed);
  EXPECT_FALSE(of_ends.done());
  value_of(engine().complete(held));
  ASSERT_TRUE(comes_true_in_time([&] { return of_ends.done(); }));
  EXPECT_EQ(value_of(of_ends.get()).events[0].type, EventType::completed);
}

TEST_P(EngineWaiting, for_events_ends_in_time_with_a_cursor_that_goes_on) {
  const auto at_once = engine().events_later("", 0);
  ASSERT_TRUE(at_once.done()) << "who does not wait is answered by the first look";
  EXPECT_TRUE(value_of(at_once.get()).events.empty());
  EventFilter nothing;
  nothing.lane = "nobody";
  const auto waiting = engine().events_later(value_of(at_once.get()).next_cursor, 500, nothing);
  const ExecutionId id = engine().make();
  engine().advance(499);
  EXPECT_FALSE(waiting.done());
  engine().advance(1);
  ASSERT_TRUE(waiting.done());
  EXPECT_TRUE(value_of(waiting.get()).events.empty());
  const std::string first = value_of(at_once.get()).next_cursor;
  auto again = engine().events_later(first, 60000);
  ASSERT_TRUE(comes_true_in_time([&] { return again.done(); }));
  EXPECT_EQ(value_of(again.get()).events.at(0).execution_id, id);
  again = engine().events_later("earliest", 0);
  EXPECT_EQ(value_of(again.get()).events.size(), 1u);
}

TEST_P(EngineWaiting, follows_the_log_without_gap_or_repetition) {
  std::vector<std::string> cursors = {start_cursor("")};
  std::vector<Event> seen;
  auto waiting = engine().events_later(cursors.back(), 3600000);
  const auto collect = [&] {
    if (!waiting.done()) return;
    const EventPage page = value_of(waiting.get());
    seen.insert(seen.end(), page.events.begin(), page.events.end());
    waiting = engine().events_later(page.next_cursor, 3600000);
  };
  std::size_t expected = 0;
  for (int i = 0; i < 30; ++i) {
    Driver& where = i % 3 == 0 ? second() : engine();
    where.make();
    value_of(where.complete(where.take()));
    expected += 3;
    collect();
  }
  EXPECT_TRUE(comes_true_in_time([&] {
    collect();
    return seen.size() >= expected;
  }));
  EXPECT_EQ(seen, events_from(cursors.front()));
}

TEST_P(EngineWaiting, idle_waiters_do_not_poll) {
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  const ExecutionId id = driver->make();
  const auto end = driver->wait_later(id, 3600000);
  std::vector<Pending<EventPage>> events;
  events.push_back(driver->events_later("", 3600000));
  events.push_back(driver->events_later("", 3600000, only(id)));
  watch->calls = 0;
  driver->advance(59000);
  EXPECT_LE(watch->calls, 1);
  driver->advance(540000);
  EXPECT_LE(watch->calls, 60) << "a keep-alive makes each look once";
  EXPECT_FALSE(end.done() || events[0].done() || events[1].done());
}

TEST_P(EngineWaiting, a_store_that_is_away_for_a_while_does_not_end_a_wait_for_an_end) {
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  const ExecutionId id = driver->make();
  const auto waiting = driver->wait_later(id, 600000);
  watch->dead = true;
  EXPECT_EQ(refusal(driver->wait_later(id, 1000).get()), Errc::unavailable) << "the first look tells the truth";
  driver->advance(120000);
  EXPECT_FALSE(waiting.done());
  watch->dead = false;
  value_of(engine().complete(engine().take(), "meanwhile"));
  driver->advance(130000);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(value_of(waiting.get()).result, "meanwhile");
}

TEST_P(EngineWaiting, a_cursor_of_another_log_is_answered_with_one_that_works) {
  const auto other = make_database(GetParam().id);
  const std::string foreign = value_of(reads::start_cursor(*other->open(), ""));
  const ExecutionId id = engine().make();
  const auto waiting = engine().events_later(foreign, 1000);
  ASSERT_TRUE(waiting.done());
  ASSERT_EQ(refusal(waiting.get()), Errc::cursor_expired);
  const Error& error = waiting.get().error();
  EXPECT_EQ(error.message, "cursor: " + std::string(cursor_of_another_log) + "; go on from details.earliest");
  ASSERT_EQ(error.details.at(0).first, "earliest");
  const auto again = engine().events_later(error.details[0].second, 0);
  ASSERT_TRUE(again.done());
  EXPECT_EQ(value_of(again.get()).events.back().execution_id, id);
}

// As while somebody has a transaction open somewhere in the database cluster.
TEST_P(EngineWaiting, events_that_are_held_back_are_asked_for_once_for_all) {
  constexpr int subscribers = 50;
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  watch->events_held_at = value_of(driver->store().log_end());
  std::vector<Pending<EventPage>> waits;
  for (int i = 0; i < subscribers; ++i) waits.push_back(driver->events_later("", 60000));
  const ExecutionId first = driver->make();
  driver->advance(1000);
  watch->log_reads = watch->log_ends = 0;
  const ExecutionId second = driver->make();
  driver->advance(10000);
  EXPECT_EQ(watch->log_reads, 0) << "there is nothing new to read";
  EXPECT_GT(watch->log_ends, 10);
  EXPECT_LT(watch->log_ends, 100) << "less and less often";
  for (const auto& wait : waits) EXPECT_FALSE(wait.done());

  watch->events_held_at.clear();
  driver->advance(500);
  for (const auto& wait : waits) {
    ASSERT_TRUE(wait.done());
    const auto page = value_of(wait.get());
    ASSERT_EQ(page.events.size(), 2u);
    EXPECT_EQ(page.events[0].execution_id, first);
    EXPECT_EQ(page.events[1].execution_id, second);
  }
}

TEST_P(EngineWaiting, who_is_held_back_leaves_when_its_time_is_up) {
  const auto watch = std::make_shared<Watch>();
  const auto driver = watched_engine(watch);
  watch->events_held_at = value_of(driver->store().log_end());
  const auto brief = driver->events_later("", 1000), patient = driver->events_later("", 60000);
  driver->make();
  driver->advance(1000);
  ASSERT_TRUE(brief.done());
  EXPECT_TRUE(value_of(brief.get()).events.empty());
  EXPECT_FALSE(patient.done());
  watch->events_held_at.clear();
  driver->advance(300);
  ASSERT_TRUE(patient.done());
  const auto late = driver->events_later(value_of(brief.get()).next_cursor, 0);
  ASSERT_TRUE(late.done());
  EXPECT_EQ(value_of(late.get()).events.size(), 1u);
}

// The rest would search for nothing.
TEST_P(EngineWaiting, news_of_another_engine_wakes_as_many_claims_as_there_is_work) {
  if (!GetParam().announces) GTEST_SKIP() << "it hears only that something has happened";
  std::vector<Pending<Claims>> claims;
  for (int i = 0; i < 10; ++i) {
    ClaimRequest request = ask(1, {"default"});
    request.wait_ms = 60000;
    claims.push_back(second().claim_later(request));
  }
  const auto parked = [&] { return gauge(second(), "flowfabric_parked_claims"); };
  ASSERT_EQ(parked(), 10);
  engine().make();  // a new route: everybody looks
  ASSERT_TRUE(comes_true(second(), [&] { return parked() == 9; }));
  make_many({job(), job(), job()});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (parked() == 9 && std::chrono::steady_clock::now() < deadline) {
    second().runtime().tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(parked(), 6);
  EXPECT_EQ(gauge(second(), "flowfabric_queue_commands"), 3);
  second().settle();
  EXPECT_EQ(std::count_if(claims.begin(), claims.end(), [](const auto& claim) { return claim.done(); }), 4);
}

TEST_P(EngineWaiting, refuses_what_makes_no_sense) {
  EXPECT_EQ(refusal(engine().events_later("nonsense!", 1000).get()), Errc::invalid_argument);
  EventFilter filter;
  filter.lane = "";
  EXPECT_EQ(engine().events_later("", 1000, filter).get().error().field, "lane");
  EXPECT_EQ(engine().events_later("", limits::max_wait_ms + 1).get().error().field, "wait_ms");
  EXPECT_EQ(engine().wait_later(engine().make(), limits::max_wait_ms + 1).get().error().field, "wait_ms");
}

TEST_P(EngineWaiting, a_stopping_engine_answers_everybody) {
  const auto end = engine().wait_later(engine().make(), 60000);
  const std::string cursor = start_cursor("");
  const auto events = engine().events_later(cursor, 60000);
  engine().runtime().refuse_new_work();
  ASSERT_TRUE(end.done() && events.done());
  EXPECT_EQ(refusal(end.get()), Errc::shutting_down);
  EXPECT_EQ(value_of(events.get()).next_cursor, cursor) << "it tells where to go on";
  EXPECT_EQ(refusal(engine().events_later(cursor, 0).get()), Errc::shutting_down);
}

// ---- With threads and the real clock -------------------------------------------------------------------------------

class WaitingThreads : public testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<Engine> open_engine() { return value_of(start_engine(database_->open(), {})); }
  static ExecutionId make(Engine& engine) { return value_of(engine.create(job())).execution_id; }
  // Works until all are completed, by any client.
  void work(Engine& engine) {
    while (completed_ < count) {
      ClaimRequest request = ask(20);
      request.wait_ms = 200;
      for (const ClaimedExecution& claimed : value_of(engine.claim(request))) {
        EXPECT_TRUE(engine.complete(claimed.handle, {to_string(claimed.execution_id), {}}));
        ++completed_;
      }
    }
  }
  static constexpr std::size_t count = 300;
  std::atomic<std::size_t> completed_{0};
  std::unique_ptr<TestDatabase> database_ = make_database(GetParam().id);
};
ON_EVERY_STORE(WaitingThreads);

TEST_P(WaitingThreads, every_wait_is_answered_once_with_its_own_result) {
  const auto engine = open_engine();
  const auto other = open_engine();
  std::vector<std::atomic<int>> answers(count);
  std::atomic<std::size_t> right{0};
  std::vector<std::thread> threads;
  for (Engine* worker : {engine.get(), other.get()}) {
    threads.emplace_back([this, worker] { work(*worker); });
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ExecutionId id = make(*engine);
    engine->wait_async(id, 60000, [&, i, id](const Result<ExecutionResult>& result) {
      if (result && result->result == to_string(id)) ++right;
      ++answers[i];
    });
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (right < count && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(right, count);
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : answers) EXPECT_EQ(each, 1);
}

TEST_P(WaitingThreads, a_blocking_subscription_and_an_asynchronous_one_see_the_same) {
  const auto engine = open_engine();
  Subscription subscription = value_of(engine->subscribe());
  struct Follower {
    std::mutex mutex;
    std::vector<Event> seen;
    std::function<void(const std::string&)> read;
  } follower;
  follower.read = [&](const std::string& cursor) {
    engine->read_events_async({}, cursor, 7, 1000, [&](Result<EventPage> page) {
      if (!page) return;
      {
        const std::lock_guard lock(follower.mutex);
        follower.seen.insert(follower.seen.end(), page->events.begin(), page->events.end());
      }
      follower.read(page->next_cursor);
    });
  };
  follower.read(subscription.cursor());
  std::thread worker([&] { work(*engine); });
  for (std::size_t i = 0; i < count; ++i) make(*engine);
  std::vector<Event> seen;
  while (seen.size() < 3 * count) {
    const auto events = value_of(subscription.next(60000));
    ASSERT_FALSE(events.empty()) << "after " << seen.size();
    seen.insert(seen.end(), events.begin(), events.end());
  }
  worker.join();
  const auto all_there = [&] {
    const std::lock_guard lock(follower.mutex);
    return follower.seen.size() >= seen.size();
  };
  while (!all_there()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  engine->stop();
  EXPECT_EQ(follower.seen, seen);
}

TEST_P(WaitingThreads, stop_answers_all_who_wait_and_all_who_come) {
  const auto engine = open_engine();
  const ExecutionId id = make(*engine);
  std::atomic<int> asked{0}, answered{0};
  std::atomic<bool> go_on{true};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (go_on && asked < 3000) {
        asked += 2;
        engine->wait_async(id, 60000, [&](const auto&) { ++answered; });
        engine->read_events_async({}, {}, 1, 60000, [&](const auto&) { ++answered; });
      }
    });
  }
  while (asked < 300) std::this_thread::yield();
  engine->stop();
  go_on = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(asked, answered);
  EXPECT_EQ(refusal(engine->wait(id, 1000)), Errc::shutting_down);
}

}  // namespace
}  // namespace flowfabric::test
