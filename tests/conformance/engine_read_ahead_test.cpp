// Entries that become due together are read in advance. This must not be visible except in the delay, regardless of
// changes between the reading and the due time and of other engines that have read the same.
#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

constexpr std::size_t fleet_size = 25;
constexpr std::uint32_t ttl_ms = 5000;
constexpr std::int64_t after_the_look_ms = ttl_ms - 200;  // 300 ms before the due time

class EngineReadAhead : public FleetSuite {
 protected:
  void SetUp() override {
    FleetSuite::SetUp();
    engine_ = open_engine(1, with_short_pages());
  }
  static RuntimeOptions with_short_pages() {
    RuntimeOptions options;
    options.read_ahead.page = 10;
    return options;
  }
  Driver& other() {
    if (!second_) second_ = open_engine(2, with_short_pages());
    return *second_;
  }

  static std::string instance(std::size_t i) { return "w-" + std::to_string(i); }
  void enlist_fleet() {
    std::vector<Command> commands;
    for (std::size_t i = 0; i < fleet_size; ++i) commands.emplace_back(RegisterCommand{worker(instance(i), ttl_ms)});
    for (const auto& reply : call_together(engine(), std::move(commands))) value_of(reply);
  }
  std::vector<ExecutionId> delay_jobs(std::size_t count) {
    CreateRequest request = job();
    request.delay_until = now() + ttl_ms;
    return make_many(std::vector<CreateRequest>(count, request));
  }
  std::vector<Event> deaths() {
    EventFilter filter;
    filter.types = {EventType::worker_ttl_swept};
    return events_from(start_cursor("earliest"), filter);
  }
  static std::uint64_t swept_ahead(Driver& driver) { return driver.runtime().statistics().swept_ahead; }
};
ON_EVERY_STORE(EngineReadAhead);

TEST_P(EngineReadAhead, a_fleet_that_lapses_at_once_is_written_off_at_that_moment_and_loses_its_leases) {
  enlist_fleet();
  make_jobs(2);
  const Claims claims = claim_as(engine(), instance(3), 2);
  const TimestampMs due = now() + ttl_ms;
  engine().advance(ttl_ms - 1);
  EXPECT_EQ(deaths().size(), 0u);
  EXPECT_EQ(workers().size(), fleet_size);
  engine().advance(1);
  EXPECT_EQ(swept_ahead(engine()), fleet_size);
  const auto written = deaths();
  ASSERT_EQ(written.size(), fleet_size);
  for (const Event& event : written) EXPECT_EQ(event.at, due);
  EXPECT_EQ(held_of(claims), 0u);
  EXPECT_EQ(engine().runtime().statistics().stale, 0u);
}

TEST_P(EngineReadAhead, work_that_was_delayed_is_claimable_at_its_time_in_its_order) {
  const auto ids = delay_jobs(fleet_size);
  engine().advance(ttl_ms - 1);
  EXPECT_TRUE(claim(ask(100)).empty());
  engine().advance(1);
  EXPECT_EQ(swept_ahead(engine()), fleet_size);
  auto claimed = ids_of(claim(ask(100)));
  std::sort(claimed.begin(), claimed.end());
  auto expected = ids;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(claimed, expected);
}

TEST_P(EngineReadAhead, whoever_gives_a_sign_of_life_after_the_reading_lives) {
  enlist_fleet();
  engine().advance(after_the_look_ms);
  heartbeat(beat(instance(7)));
  engine().advance(300);
  EXPECT_EQ(deaths().size(), fleet_size - 1);
  EXPECT_EQ(names(workers()), std::vector<std::string>{"default/" + instance(7)});
  engine().advance(ttl_ms);
  EXPECT_EQ(deaths().size(), fleet_size);
}

TEST_P(EngineReadAhead, what_was_ended_after_the_reading_stays_ended) {
  const auto ids = delay_jobs(fleet_size);
  engine().advance(after_the_look_ms);
  value_of(engine().call(CancelCommand{ids[11], {"ops", "enough"}}));
  engine().advance(200);
  EXPECT_EQ(state(ids[11]), PublicState::cancelled);
  EXPECT_EQ(claim(ask(100)).size(), fleet_size - 1);
}

TEST_P(EngineReadAhead, what_was_changed_after_the_reading_is_done_at_its_time_all_the_same) {
  const auto ids = delay_jobs(fleet_size);
  engine().advance(after_the_look_ms);
  std::vector<Command> changes;
  for (const ExecutionId& id : ids) changes.emplace_back(TagsCommand{id, {{{"app.changed", "yes"}}, {}}, {}});
  for (const auto& reply : call_together(engine(), std::move(changes))) value_of(reply);
  engine().advance(200);
  EXPECT_EQ(swept_ahead(engine()), 0u);
  EXPECT_EQ(claim(ask(100)).size(), fleet_size);
}

TEST_P(EngineReadAhead, two_engines_that_have_read_the_same_write_everybody_off_once) {
  enlist_fleet();
  other().advance(after_the_look_ms);
  engine().settle();  // both have read ahead now
  clock_.advance_ms(200);
  // One batch each, alternating.
  const auto step = [](Driver& driver) {
    driver.runtime().tick();
    for (std::size_t i = 0; i < driver.runtime().writers(); ++i) driver.runtime().pump(i);
  };
  for (int i = 0; i < 20; ++i) {
    step(engine());
    step(other());
  }
  engine().advance(1000);
  other().advance(1000);
  EXPECT_GT(swept_ahead(engine()) + swept_ahead(other()), 0u);
  EXPECT_EQ(deaths().size(), fleet_size);
  for (std::size_t i = 0; i < fleet_size; ++i) {
    EXPECT_EQ(worker_history(instance(i)), (Events{EventType::worker_registered, EventType::worker_ttl_swept}));
  }
}

TEST_P(EngineReadAhead, what_becomes_due_beside_it_is_found_too) {
  enlist_fleet();
  engine().advance(after_the_look_ms);
  CreateRequest late = job();
  late.delay_until = now() + 200;
  const ExecutionId id = make(late);
  engine().advance(200);
  EXPECT_EQ(deaths().size(), fleet_size);
  EXPECT_EQ(ids_of(claim(ask(10))), std::vector<ExecutionId>{id});
}

TEST_P(EngineReadAhead, few_are_not_read_ahead) {
  for (std::size_t i = 0; i < 9; ++i) enlist(worker(instance(i), ttl_ms));
  engine().advance(ttl_ms);
  EXPECT_EQ(deaths().size(), 9u);
  EXPECT_EQ(swept_ahead(engine()), 0u);
}

TEST_P(EngineReadAhead, a_long_pause_between_reading_and_time_loses_nothing) {
  enlist_fleet();
  engine().advance(after_the_look_ms);
  engine().jump(3'600'000);
  EXPECT_EQ(deaths().size(), fleet_size);
  enlist(worker(instance(0), ttl_ms));
  EXPECT_EQ(workers().size(), 1u);
}

}  // namespace
}  // namespace flowfabric::test
