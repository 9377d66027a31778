// A record that cannot be decoded fails those who need it, and nobody else.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineDamage : public EngineSuite {
 protected:
  ListReply list(std::uint32_t limit, const std::string& cursor = {}) {
    ListRequest request;
    request.limit = limit;
    request.cursor = cursor;
    return value_of(reads::list(engine().store(), request));
  }
};

TEST_P(EngineDamage, a_damaged_record_fails_alone_in_its_batch) {
  const ExecutionId damaged = make(job());
  const ExecutionId healthy = make(job());
  damage(execution_key(damaged));
  const auto replies =
      call_together(engine(), {CancelCommand{damaged, {"operator", "why"}}, CancelCommand{healthy, {"operator", "why"}},
                               PriorityCommand{damaged, 5, {}}});
  ASSERT_FALSE(replies[0]);
  EXPECT_EQ(replies[0].error().code, Errc::corruption);
  EXPECT_TRUE(replies[0].error().message.starts_with("execution " + to_string(damaged) + " is damaged: "))
      << replies[0].error().message;
  EXPECT_TRUE(replies[1]) << replies[1].error().message;
  EXPECT_EQ(refusal(replies[2]), Errc::corruption);
  EXPECT_EQ(state(healthy), PublicState::cancelled);
}

TEST_P(EngineDamage, a_claim_passes_over_it) {
  const ExecutionId damaged = make(job());
  const ExecutionId healthy = make(job());
  damage(execution_key(damaged));
  EXPECT_EQ(ids_of(claim(ask())), std::vector<ExecutionId>{healthy});
}

TEST_P(EngineDamage, a_listing_shows_it_and_goes_on) {
  std::vector<ExecutionId> made;
  for (int i = 0; i < 5; ++i) {
    made.push_back(make(job("mail")));
    engine().advance(10);
  }
  damage(execution_key(made[2]));
  std::vector<ExecutionSummary> all;
  std::string cursor;
  do {
    const ListReply page = list(2, cursor);
    all.insert(all.end(), page.executions.begin(), page.executions.end());
    cursor = page.next_cursor;
  } while (!cursor.empty());
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].execution_id, made[4 - i]);
    EXPECT_EQ(all[i].damage.has_value(), i == 2) << i;
    EXPECT_EQ(all[i].lane, "mail");
    EXPECT_EQ(all[i].public_state, PublicState::waiting);
    EXPECT_NE(all[i].created_at, 0);
  }
  EXPECT_EQ(refusal(reads::describe(engine().store(), made[2])), Errc::corruption);
}

TEST_P(EngineDamage, a_damaged_lane_takes_and_gives_nothing) {
  const ExecutionId waiting = make(job("mail"));
  call<LaneInfo>(LaneCommand{"mail", LaneState::paused, {}});
  damage(lane_key("mail"));
  EXPECT_EQ(refusal(engine().create(job("mail"))), Errc::corruption);
  EXPECT_TRUE(claim(ask(1, {"mail"})).empty()) << "nobody knows whether it is paused";
  make(job("other"));
  EXPECT_EQ(claim(ask(2, {"mail", "other"})).size(), 1u);
  EXPECT_EQ(public_state(facts(waiting)), PublicState::waiting);
}

// The default of the namespace decides how long an execution is kept.
TEST_P(EngineDamage, nothing_is_removed_while_its_namespace_is_damaged) {
  NamespaceInfo info;
  info.name_space = "default";
  info.retention.completed_ms = 1000;
  call<NamespaceInfo>(NamespaceCommand{info, {}});
  const ExecutionId id = make(job());
  value_of(engine().complete(engine().take()));
  damage(namespace_key("default"));
  engine().jump(5000);
  for (int i = 0; i < 5; ++i) {
    engine().runtime().tick();
    while (engine().runtime().pump(0)) {
    }
  }
  EXPECT_EQ(state(id), PublicState::completed);
}

TEST_P(EngineDamage, subscribers_go_on_behind_an_event_that_cannot_be_decoded) {
  const ExecutionId first = make(job("mail"));
  const Record record = value_of(engine().store().load({execution_key(first)})).at(0);
  ChangeSet set;
  RootChange& change = set.roots.emplace_back();
  change.key = record.key;
  change.expected_version = record.version;
  change.last_entry = record.last_entry;
  change.body = record.body;
  change.listing = listing_of(value_of(decode_execution(record)));
  set.log = {{record.key, static_cast<std::uint8_t>(EventType::tags_changed), 77, "default", "mail", "nonsense"},
             {record.key, 250, 78, "default", "mail", "nonsense"}};
  ASSERT_EQ(value_of(value_of(engine().store().open_session())->commit({set})), std::vector{Verdict::committed});
  const ExecutionId last = make(job("mail"));
  const auto events =
      value_of(reads::events(engine().store(), {}, value_of(reads::start_cursor(engine().store(), "earliest")), 10))
          .page.events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].execution_id, first);
  EXPECT_EQ(events[0].damage, "");
  EXPECT_EQ(events[1].type, EventType::tags_changed);
  EXPECT_EQ(events[1].execution_id, first);
  EXPECT_EQ(events[1].at, 77);
  EXPECT_EQ(events[1].lane, "mail");
  EXPECT_EQ(events[1].damage, "stored bytes of an event have an unknown layout");
  EXPECT_EQ(events[2].type, EventType::unknown);
  EXPECT_EQ(events[3].execution_id, last);
}

// A record that stays due must not keep the store busy.
TEST_P(EngineDamage, the_clock_looks_at_it_ever_more_seldom) {
  CreateRequest request = job();
  request.delay_until = now() + 1000;
  const ExecutionId id = make(std::move(request));
  damage(execution_key(id));
  const auto sweeps_in = [&](int ms) {
    const std::uint64_t before = engine().runtime().statistics().sweeps;
    for (int i = 0; i < ms; i += 10) engine().advance(10);
    return engine().runtime().statistics().sweeps - before;
  };
  EXPECT_EQ(sweeps_in(990), 0u);
  EXPECT_GE(sweeps_in(1000), 3u);
  EXPECT_LE(sweeps_in(10000), 10u);
}

ON_EVERY_STORE(EngineDamage);

// ---- Whether writes succeed, and what the engine knows of it.

class EngineHealth : public EngineSuite {
 protected:
  void SetUp() override {
    database_ = make_database(GetParam().id);
    RuntimeOptions options;
    options.on_failure = [this](const Error& error) { failures_.push_back(error); };
    engine_ = std::make_unique<Driver>(std::make_unique<WatchedStore>(open_store(), watch_), clock_, 1, options);
  }
  const Health& health() { return engine().runtime().health(); }
  // Not `settle`: what fails is tried again and again.
  void step() {
    engine().runtime().tick();
    engine().runtime().pump(0);
  }

  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  std::vector<Error> failures_;
};

TEST_P(EngineHealth, a_failed_write_is_remembered_until_a_probe_succeeds) {
  make(job());
  EXPECT_FALSE(health().failure());
  watch_->refuse_commits = Error{Errc::unavailable, "the disk is full", {}, {}};
  const auto refused = engine().create(job());
  ASSERT_FALSE(refused);
  ASSERT_TRUE(health().failure());
  EXPECT_EQ(health().failure()->message, "the disk is full");
  EXPECT_FALSE(health().lasting_failure());
  for (int i = 0; i < 5; ++i) {
    clock_.advance_ms(1000);
    step();
  }
  EXPECT_TRUE(health().failure()) << "probes fail too";
  EXPECT_GT(health().failures(), 3u);
  watch_->refuse_commits.reset();
  for (int i = 0; i < 3 && health().failure(); ++i) {
    clock_.advance_ms(1000);
    step();
  }
  EXPECT_FALSE(health().failure()) << "nobody but the engine itself has written";
  EXPECT_TRUE(failures_.empty());
  engine().settle();
}

TEST_P(EngineHealth, after_corruption_nothing_is_written) {
  make(job());
  watch_->refuse_commits = Error{Errc::corruption, "a page is damaged", {}, {}};
  EXPECT_EQ(refusal(engine().create(job())), Errc::corruption);
  watch_->refuse_commits.reset();
  const int commits = watch_->commits;
  EXPECT_EQ(refusal(engine().create(job())), Errc::corruption);
  for (int i = 0; i < 3; ++i) {
    clock_.advance_ms(2000);
    step();
  }
  EXPECT_EQ(watch_->commits, commits) << "nothing was tried any more";
  ASSERT_EQ(failures_.size(), 1u) << "the program is told once";
  EXPECT_EQ(failures_[0].code, Errc::corruption);
  EXPECT_EQ(value_of(reads::list(engine().store(), {})).executions.size(), 1u) << "reading goes on";
}

ON_EVERY_STORE(EngineHealth);

}  // namespace
}  // namespace flowfabric::test
