// No wake-up is lost: what happens between a search and its commit, between a search and parking, when a batch fails, and
// when the engine that made the work has stopped. Time stands still or moves by seconds, so the look at everything once in
// a keep-alive period (a minute) does not hide a lost wake-up.
#include <fmt/format.h>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

constexpr std::uint32_t an_hour_ms = 3600 * 1000;

class EngineWakeups : public EngineSuite {
 protected:
  void SetUp() override {
    database_ = make_database(GetParam().id);
    watch_->after_read = [this](const ReadRequest& request) {
      if (!request.ready.empty()) run(after_search_);
      if (request.due_limit > 0) run(after_sweep_read_);
    };
    watch_->before_settling = [this]() -> Result<void> {
      run(after_commit_);
      return {};
    };
    RuntimeOptions options;
    options.writers = 2;
    engine_ = std::make_unique<Driver>(std::make_unique<WatchedStore>(open_store(), watch_), clock_, 1, options);
    engine_->settle();
    second().settle();
  }

  // A claim that waits, submitted without running anything.
  Pending<Claims> submit_waiting(const std::string& lane) {
    Pending<Claims> pending;
    engine().runtime().submit_claim(ask_and_wait(an_hour_ms, {lane}),
                                    [answer = pending.answer](auto reply) { *answer = std::move(reply); });
    return pending;
  }
  // Returns when the second engine has heard of everything that the first has done so far: later news are about later
  // work.
  void let_news_arrive() {
    const auto signal = second().claim_later(ask_and_wait(an_hour_ms, {"signal"}));
    make(job("signal"));
    ASSERT_TRUE(comes_true(second(), [&] { return signal.done(); }));
  }
  void tag(const ExecutionId& id) {
    TagChanges changes;
    changes.set["app.colour"] = "red";
    value_of(second().call(TagsCommand{id, changes, {"ops", ""}}));
  }

  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  // Each runs once: in the first engine between its next search for work and the commit, between its next commit and the
  // replies, and between its next search for due records and the commit.
  std::function<void()> after_search_, after_commit_, after_sweep_read_;

 private:
  static void run(std::function<void()>& action) {
    if (const auto once = std::exchange(action, nullptr)) once();
  }
};

ON_EVERY_STORE(EngineWakeups);

#define SKIP_WHERE_BATCHES_TAKE_TURNS() \
  if (GetParam().takes_turns) GTEST_SKIP() << "nothing comes between a search and its commit"

TEST_P(EngineWakeups, a_claim_whose_candidate_has_changed_searches_again) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  const ExecutionId id = make(job());
  after_search_ = [&] { tag(id); };
  // It asks for more than there is: so it does not search again merely because there may be more.
  EXPECT_EQ(ids_of(claim(ask(2))), std::vector{id});
}

TEST_P(EngineWakeups, candidates_that_a_claim_leaves_are_announced_to_other_engines) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  make(job("left", 1));
  const ExecutionId left_over = make(job("right"));
  let_news_arrive();
  Pending<Claims> parked;
  after_search_ = [&] {
    parked = second().claim_later(ask_and_wait(an_hour_ms, {"right"}));
    EXPECT_FALSE(parked.done()) << "the candidate is reserved";
  };
  EXPECT_EQ(claim(ask(1, {"left", "right"})).size(), 1u);
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{left_over});
}

TEST_P(EngineWakeups, candidates_that_a_claim_leaves_wake_claims_that_parked_meanwhile) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  make(job("left", 1));
  const ExecutionId left_over = make(job("right"));
  Pending<Claims> parked;
  after_search_ = [&] {
    parked = submit_waiting("right");
    EXPECT_TRUE(engine().runtime().pump(1));
    EXPECT_FALSE(parked.done()) << "the candidate is reserved";
  };
  EXPECT_EQ(claim(ask(1, {"left", "right"})).size(), 1u);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(*parked.get()), std::vector{left_over});
}

// Another engine makes the record claimable while the sweep holds it, so the sweep comes too late and changes nothing.
TEST_P(EngineWakeups, a_record_that_a_sweep_held_in_vain_is_announced) {
  if (GetParam().id != StoreKindId::memory) GTEST_SKIP() << "the other engine waits for the sweep";
  CreateRequest delayed = job();
  delayed.delay_ms = 1000;
  const ExecutionId id = make(delayed);
  let_news_arrive();
  Pending<Claims> parked;
  after_sweep_read_ = [&] {
    tag(id);
    parked = second().claim_later(ask_and_wait(an_hour_ms));
    EXPECT_FALSE(parked.done()) << "the sweep holds it";
  };
  engine().advance(1001);
  ASSERT_FALSE(after_sweep_read_) << "there was no sweep";
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

// The claim gets something and does not come again; what it lost may still be claimable.
TEST_P(EngineWakeups, candidates_whose_guard_failed_go_to_claims_that_parked_meanwhile) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  const ExecutionId changed = make(job());
  const ExecutionId unchanged = make(job());
  let_news_arrive();
  Pending<Claims> parked;
  after_search_ = [&] {
    tag(changed);
    parked = second().claim_later(ask_and_wait(an_hour_ms));
    EXPECT_FALSE(parked.done()) << "both candidates are reserved";
  };
  EXPECT_EQ(ids_of(claim(ask(2))), std::vector{unchanged});
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{changed});
}

TEST_P(EngineWakeups, work_that_comes_between_a_search_and_parking_is_found) {
  make(job());
  value_of(engine().complete(engine().take()));  // the route is known: only the work itself is new
  ExecutionId id;
  after_commit_ = [&] {
    engine().runtime().submit_create(
        job(), [&](Result<Reply> reply) { id = std::get<Created>(value_of(std::move(reply))).execution_id; });
    EXPECT_TRUE(engine().runtime().pump(1));
  };
  const auto claims = engine().claim_later(ask_and_wait(an_hour_ms));
  ASSERT_TRUE(claims.done());
  EXPECT_EQ(ids_of(*claims.get()), std::vector{id});
}

// Within one microsecond another engine may give the execution the place in line that it had before. Then the index does
// not change, but there is work.
TEST_P(EngineWakeups, work_that_is_given_out_and_taken_back_in_one_batch_wakes_a_claim_of_it) {
  clock_.advance_ms(1);
  const ExecutionId id = make(job());
  Pending<Claims> first, behind;
  const auto submit = [&](ClaimRequest request, Pending<Claims>& pending) {
    second().runtime().submit_claim(std::move(request),
                                    [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  };
  submit(ask(1), first);
  submit(ask_and_wait(an_hour_ms), behind);
  second().runtime().submit(RevokeCommand{id, std::nullopt, {"ops", ""}},
                            [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
  second().settle();
  ASSERT_TRUE(first.done());
  EXPECT_EQ(ids_of(*first.get()), std::vector{id});
  ASSERT_TRUE(behind.done());
  EXPECT_EQ(ids_of(*behind.get()), std::vector{id});
}

TEST_P(EngineWakeups, a_wake_up_of_a_claim_whose_batch_failed_goes_to_the_next_claim) {
  const ExecutionId id = make(job());
  const ClaimedExecution held = engine().take();
  const auto woken = engine().claim_later(ask_and_wait(an_hour_ms));
  const auto behind = engine().claim_later(ask_and_wait(an_hour_ms));
  value_of(engine().call(DelayCommand{engine().fence(held), 0, 1000}));
  after_commit_ = [&] { watch_->refuse_commits = Error{Errc::unavailable, "the disk is full", {}, {}}; };
  engine().advance(1000);
  ASSERT_TRUE(woken.done());
  EXPECT_EQ(refusal(woken.get()), Errc::unavailable);
  ASSERT_FALSE(behind.done()) << "one execution wakes one claim";
  watch_->refuse_commits.reset();
  engine().advance(2000);
  ASSERT_TRUE(behind.done());
  EXPECT_EQ(ids_of(*behind.get()), std::vector{id});
}

// As those do that wait for a create.
TEST_P(EngineWakeups, a_claim_that_waits_leases_what_was_given_back_in_the_same_commit) {
  const ExecutionId id = make(job());
  const ClaimedExecution held = engine().take();
  const auto claims = engine().claim_later(ask_and_wait(an_hour_ms));
  const auto behind = engine().claim_later(ask_and_wait(an_hour_ms));
  const int before = watch_->commits;
  value_of(engine().call(ReleaseHeldCommand{engine().fence(held)}));
  ASSERT_TRUE(claims.done());
  EXPECT_EQ(ids_of(*claims.get()), std::vector{id});
  EXPECT_EQ(watch_->commits - before, 1);
  EXPECT_FALSE(behind.done());
  EXPECT_EQ(engine().history(id),
            (Events{EventType::created, EventType::claimed, EventType::released, EventType::resumed}));
  make(job());
  EXPECT_TRUE(behind.done()) << "who did not get it is woken by what comes next";
}

TEST_P(EngineWakeups, a_claim_that_joined_a_command_that_turned_out_stale_still_gets_the_work) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  const ExecutionId id = make(job());
  const ClaimedExecution held = engine().take();
  const auto claims = engine().claim_later(ask_and_wait(an_hour_ms));
  after_search_ = [&] { tag(id); };  // between what the joined claim reads and the commit
  const int before = watch_->commits;
  value_of(engine().call(ReleaseHeldCommand{engine().fence(held)}));
  EXPECT_GT(watch_->commits - before, 1);
  ASSERT_TRUE(claims.done());
  EXPECT_EQ(ids_of(*claims.get()), std::vector{id});
}

TEST_P(EngineWakeups, candidates_of_a_failed_batch_are_announced_to_other_engines) {
  SKIP_WHERE_BATCHES_TAKE_TURNS();
  const ExecutionId id = make(job());
  let_news_arrive();
  Pending<Claims> parked;
  after_search_ = [&] {
    parked = second().claim_later(ask_and_wait(an_hour_ms));
    EXPECT_FALSE(parked.done()) << "the candidate is reserved";
    watch_->refuse_commits = Error{Errc::unavailable, "the disk is full", {}, {}};
  };
  const auto failed = engine().claim_later(ask(1));
  ASSERT_TRUE(failed.done());
  EXPECT_EQ(refusal(failed.get()), Errc::unavailable);
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

TEST_P(EngineWakeups, delayed_work_of_an_engine_that_has_stopped_is_handed_out_in_time) {
  const auto parked = engine().claim_later(ask_and_wait(an_hour_ms));
  CreateRequest request = job();
  request.delay_ms = 5000;
  const ExecutionId id = value_of(second().create(request)).execution_id;
  second_.reset();
  clock_.advance_ms(5000);
  ASSERT_TRUE(comes_true(engine(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(*parked.get()), std::vector{id});
}

// Records that cannot be decoded stay due: no visit can do anything for them.
TEST_P(EngineWakeups, records_that_stay_due_do_not_hide_those_behind_them) {
  CreateRequest request = job();
  request.delay_ms = 2000;
  const ExecutionId behind = make(request);
  std::vector<ChangeSet> sets;
  for (std::uint32_t i = 0; i < limits::max_due_batch; ++i) {
    ChangeSet& set = sets.emplace_back();
    RootChange& change = set.roots.emplace_back();
    change.key = make_key(RecordKind::execution, fmt::format("{:016}", i), 7);
    change.body = "nonsense";
    change.listing = Listing{};
    set.due_put = {{now() + 1000, change.key}};
  }
  value_of(value_of(engine().store().open_session())->commit(sets));
  leaves_damage_ = true;
  configure_log(LogLevel::off, LogFormat::text);  // it would name each of them
  // Not `settle`: what stays due is visited again and again.
  for (int i = 0; i < 60 && state(behind) != PublicState::waiting; ++i) {
    clock_.advance_ms(100);
    engine().runtime().tick();
    for (int pumped = 0; pumped < 4; ++pumped) engine().runtime().pump(0);
  }
  configure_log(LogLevel::warn, LogFormat::text);
  EXPECT_EQ(state(behind), PublicState::waiting);
}

}  // namespace
}  // namespace flowfabric::test
