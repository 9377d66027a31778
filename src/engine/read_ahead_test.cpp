#include "engine/read_ahead.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "store/memory/memory_store.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs start = 1'000'000;
constexpr TimestampMs never = std::numeric_limits<TimestampMs>::max();

// Workers with entries in the due index, and a stopped clock.
class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    options_.lead_ms = 300;
    options_.stride_ms = 200;
    options_.dense_ms = 50;
    options_.page = 10;
    options_.most = 100;
    options_.distrust_ms = 5000;
  }

  ReadAhead& ahead() {
    if (!ahead_) ahead_.emplace(*store_, options_, [this] { return turn_; });
    return *ahead_;
  }

  // `count` workers that lapse at that time.
  void lapse_at(TimestampMs due, int count) {
    std::vector<ChangeSet> sets;
    for (int i = 0; i < count; ++i) {
      WorkerRecord worker;
      worker.info.name_space = "default";
      worker.info.worker_instance_id = "w-" + std::to_string(made_++);
      worker.info.expires_at = worker.armed_due = due;
      put(worker, due, sets.emplace_back());
    }
    commit(sets);
    ahead().note_entries(count);
  }
  void put(const WorkerRecord& worker, TimestampMs due, ChangeSet& set) {
    RootChange change;
    change.key = worker_key(worker.info.name_space, worker.info.worker_instance_id);
    change.body = encode(worker);
    set.due_put.push_back({due, change.key});
    set.roots.push_back(std::move(change));
  }
  void commit(const std::vector<ChangeSet>& sets) {
    const auto session = std::move(*store_->open_session());
    const auto verdicts = session->commit(sets);
    ASSERT_TRUE(verdicts);
    EXPECT_EQ(*verdicts, std::vector<Verdict>(sets.size(), Verdict::committed));
  }

  // Looks as often as it asks for; returns the number of looks.
  int look(TimestampMs next_due, TimestampMs now) {
    int looks = 1;
    while (ahead().look(next_due, now)) ++looks;
    return looks;
  }

  std::unique_ptr<Store> store_ = open_memory_store(make_memory_database(), {[] { return start * 1000; }, false});
  ReadAheadOptions options_;
  std::optional<ReadAhead> ahead_;
  std::uint64_t turn_ = 0;
  int made_ = 0;
};

TEST_F(ReadAheadTest, does_not_look_while_there_is_less_than_a_page_of_entries) {
  lapse_at(start + 1000, 9);
  EXPECT_EQ(ahead().next_look(start + 1000), never);
  EXPECT_TRUE(ahead().note_entries(1));
  EXPECT_EQ(ahead().next_look(start + 1000), start + 700);
  EXPECT_FALSE(ahead().note_entries(5));
  EXPECT_FALSE(ahead().note_entries(-6));
  EXPECT_EQ(ahead().next_look(start + 1000), never);
}

TEST_F(ReadAheadTest, knows_of_entries_that_were_there_before) {
  lapse_at(start + 1000, 10);
  ReadAhead next(*store_, options_, [] { return 0; });
  EXPECT_EQ(next.next_look(start + 1000), never);
  ASSERT_TRUE(next.start());
  EXPECT_EQ(next.next_look(start + 1000), start + 700);
}

TEST_F(ReadAheadTest, looks_when_the_next_that_is_due_is_near_and_not_when_there_is_none) {
  ahead().note_entries(10);
  EXPECT_EQ(ahead().next_look(never), never);
  EXPECT_EQ(ahead().next_look(start + 1000), start + 700);
  look(start + 1000, start + 700);
  // It has read until start + 1200.
  EXPECT_EQ(ahead().next_look(start + 1000), start + 900);
  EXPECT_EQ(ahead().next_look(start + 5000), start + 4700);
}

TEST_F(ReadAheadTest, takes_what_is_dense_when_it_is_due) {
  lapse_at(start + 1000, 25);
  EXPECT_EQ(look(start + 1000, start + 600), 1) << "it is too early";
  EXPECT_EQ(look(start + 1000, start + 700), 3) << "one page at a time";
  EXPECT_FALSE(ahead().has_due(start + 999));
  EXPECT_TRUE(ahead().take(start + 999, 100).empty());
  EXPECT_TRUE(ahead().has_due(start + 1000));
  std::set<Key> keys;
  for (const std::size_t expected : {10u, 10u, 5u, 0u}) {
    const auto taken = ahead().take(start + 1000, 100);
    EXPECT_EQ(taken.size(), expected);
    for (const auto& slot : taken) {
      EXPECT_EQ(slot->indexed_due->due_at, start + 1000);
      EXPECT_EQ(slot->version, 1u);
      keys.insert(slot->key);
    }
  }
  EXPECT_EQ(keys.size(), 25u);
  EXPECT_FALSE(ahead().has_due(start + 1000));
}

TEST_F(ReadAheadTest, gives_as_many_as_are_asked_for_earliest_first) {
  lapse_at(start + 1020, 5);
  lapse_at(start + 1000, 5);
  look(start + 1000, start + 700);
  EXPECT_EQ(ahead().take(start + 1000, 3).size(), 3u);
  EXPECT_EQ(ahead().take(start + 1000, 3).size(), 2u) << "the others are not due yet";
  EXPECT_EQ(ahead().take(start + 1020, 10).size(), 5u);
}

TEST_F(ReadAheadTest, leaves_alone_what_is_sparse) {
  for (int i = 0; i < 30; ++i) lapse_at(start + 1000 + 10 * i, 1);
  look(start + 1000, start + 700);
  EXPECT_FALSE(ahead().has_due(start + 2000));
}

TEST_F(ReadAheadTest, finds_what_is_dense_behind_what_is_sparse) {
  for (int i = 0; i < 10; ++i) lapse_at(start + 1000 + 10 * i, 1);
  lapse_at(start + 1200, 10);
  look(start + 1000, start + 700);
  EXPECT_EQ(ahead().take(start + 1200, 100).size(), 10u);
}

TEST_F(ReadAheadTest, looks_at_everything_once) {
  lapse_at(start + 1000, 10);
  lapse_at(start + 1201, 10);
  look(start + 1000, start + 700);  // until start + 1200
  EXPECT_EQ(look(start + 1000, start + 899), 1);
  EXPECT_EQ(ahead().take(start + 3000, 100).size(), 10u);
  look(start + 1000, start + 900);
  EXPECT_EQ(ahead().take(start + 3000, 100).size(), 10u);
  look(start + 1000, start + 950);
  EXPECT_FALSE(ahead().has_due(start + 3000));
}

TEST_F(ReadAheadTest, leaves_to_the_sweeps_what_is_due_already) {
  lapse_at(start + 700, 10);
  look(start + 700, start + 700);
  EXPECT_FALSE(ahead().has_due(start + 3000));
}

TEST_F(ReadAheadTest, reads_no_further_when_the_time_has_come) {
  lapse_at(start + 1000, 30);
  EXPECT_TRUE(ahead().look(start + 1000, start + 700));
  EXPECT_FALSE(ahead().look(start + 1000, start + 1000));
  EXPECT_EQ(ahead().take(start + 1000, 100).size(), 10u);
  EXPECT_FALSE(ahead().has_due(start + 1000));
}

TEST_F(ReadAheadTest, keeps_no_more_than_it_may) {
  options_.most = 20;
  lapse_at(start + 1000, 100);
  look(start + 1000, start + 700);
  std::size_t taken = 0;
  while (ahead().has_due(start + 1000)) taken += ahead().take(start + 1000, 100).size();
  EXPECT_EQ(taken, 20u);
}

TEST_F(ReadAheadTest, keeps_no_more_bytes_than_it_may) {
  options_.most_bytes = 1;
  lapse_at(start + 1000, 20);
  look(start + 1000, start + 700);
  EXPECT_EQ(ahead().take(start + 1000, 100).size(), 10u) << "one page, whatever its size";
  EXPECT_FALSE(ahead().has_due(start + 1000));
  lapse_at(start + 2000, 20);
  look(start + 2000, start + 1700);
  EXPECT_EQ(ahead().take(start + 2000, 100).size(), 10u) << "what was taken is no longer counted";
}

TEST_F(ReadAheadTest, begins_where_chance_says) {
  lapse_at(start + 1000, 30);
  turn_ = 2;
  look(start + 1000, start + 700);
  const auto entries = *store_->due_entries({}, never - 1, 30);
  EXPECT_EQ(ahead().take(start + 1000, 1).front()->key, entries[20].key);
  EXPECT_EQ(ahead().take(start + 1000, 10).size(), 9u);
  EXPECT_EQ(ahead().take(start + 1000, 10).front()->key, entries[0].key) << "and goes round";
}

TEST_F(ReadAheadTest, forgets_everything_when_it_was_wrong_and_waits_for_a_while) {
  lapse_at(start + 1000, 30);
  look(start + 1000, start + 700);
  ahead().distrust(start + 1000);
  EXPECT_FALSE(ahead().has_due(start + 1000));
  lapse_at(start + 3000, 10);
  EXPECT_EQ(ahead().next_look(start + 3000), start + 6000);
  look(start + 3000, start + 2800);
  EXPECT_FALSE(ahead().has_due(start + 3000));
}

TEST_F(ReadAheadTest, a_clock_that_is_set_back_does_not_blind_it) {
  ahead().note_entries(10);
  look(start + 100'000, start + 99'700);
  ahead().distrust(start + 99'700);
  lapse_at(start + 8000, 10);
  look(start + 8000, start);  // learns the time
  look(start + 8000, start + 7700);
  EXPECT_EQ(ahead().take(start + 8000, 100).size(), 10u);
}

TEST_F(ReadAheadTest, leaves_out_what_cannot_be_decoded_and_what_has_moved) {
  lapse_at(start + 1000, 8);
  ChangeSet broken;
  RootChange change;
  change.key = worker_key("default", "broken");
  change.body = "?";
  broken.due_put.push_back({start + 1000, change.key});
  broken.roots.push_back(std::move(change));
  WorkerRecord moved;
  moved.info.name_space = "default";
  moved.info.worker_instance_id = "moved";
  moved.armed_due = start + 5000;  // but its entry is elsewhere
  ChangeSet odd;
  put(moved, start + 1000, odd);
  commit({broken, odd});
  ahead().note_entries(2);
  look(start + 1000, start + 700);
  EXPECT_EQ(ahead().take(start + 1000, 100).size(), 8u);
}

}  // namespace
}  // namespace flowfabric
