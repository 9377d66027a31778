#include "core/workspace.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

namespace flowfabric {
namespace {

Key lane_number(std::size_t i) { return make_key(RecordKind::lane, "lane" + std::to_string(i), 7); }

// Lanes that do not exist and are created. They need no more than their key.
Slot& create_lane(Workspace& workspace, std::size_t i) {
  const Key key = lane_number(i);
  workspace.note_looked_up(key);
  Slot& slot = workspace.at(key);
  slot.record = LaneRecord{};
  slot.changed = true;
  return slot;
}

std::vector<std::vector<std::string>> planned_sets(Workspace& workspace) {
  std::vector<std::vector<std::string>> sets;
  for (const ChangeSet& set : workspace.plan().sets) {
    auto& names = sets.emplace_back();
    for (const RootChange& change : set.roots) names.emplace_back(change.key.id());
  }
  return sets;
}

TEST(Workspace, RecordsThatAreNotTiedCommitApart) {
  Workspace workspace;
  for (std::size_t i = 0; i < 3; ++i) create_lane(workspace, i);
  EXPECT_EQ(planned_sets(workspace), (std::vector<std::vector<std::string>>{{"lane0"}, {"lane1"}, {"lane2"}}));
}

TEST(Workspace, TiesJoinWholeSetsInAnyOrder) {
  Workspace workspace;
  std::vector<Slot*> slots;
  for (std::size_t i = 0; i < 7; ++i) slots.push_back(&create_lane(workspace, i));
  workspace.tie(*slots[5], *slots[6]);
  workspace.tie(*slots[0], *slots[3]);
  workspace.tie(*slots[6], *slots[3]);  // joins {5, 6} and {0, 3}
  workspace.tie(*slots[3], *slots[0]);  // they are tied already
  workspace.tie(*slots[4], *slots[1]);
  workspace.tie(*slots[2], *slots[2]);
  EXPECT_EQ(planned_sets(workspace), (std::vector<std::vector<std::string>>{
                                         {"lane0", "lane3", "lane5", "lane6"}, {"lane1", "lane4"}, {"lane2"}}));
}

TEST(Workspace, ARecordThatDidNotChangeStillJoinsTheOthers) {
  Workspace workspace;
  Slot& first = create_lane(workspace, 0);
  Slot& middle = create_lane(workspace, 1);
  Slot& last = create_lane(workspace, 2);
  middle.changed = false;
  workspace.tie(last, middle);
  workspace.tie(middle, first);
  EXPECT_EQ(planned_sets(workspace), (std::vector<std::vector<std::string>>{{"lane0", "lane2"}}));
}

// The keys with their actions: + put, ? check.
std::vector<std::vector<std::string>> planned_guards(Workspace& workspace) {
  std::vector<std::vector<std::string>> sets;
  for (const ChangeSet& set : workspace.plan().sets) {
    auto& guards = sets.emplace_back();
    for (const RootChange& change : set.roots) {
      guards.push_back((change.action == RootChange::Action::check ? "?" : "+") + std::string(change.key.id()) +
                       " at " + std::to_string(change.expected_version));
    }
  }
  return sets;
}

Slot& read_lane(Workspace& workspace, std::size_t i, std::uint64_t version) {
  Slot& slot = create_lane(workspace, i);
  slot.changed = false;
  slot.version = version;
  return slot;
}

TEST(Workspace, WhatADecisionRestsOnIsCheckedOnceInEachSet) {
  Workspace workspace;
  const Slot& first = create_lane(workspace, 0);
  const Slot& second = create_lane(workspace, 1);
  const Slot& other = create_lane(workspace, 2);
  const Slot& read = read_lane(workspace, 3, 7);
  workspace.tie(first, second);
  workspace.rest_on(first, read);
  workspace.rest_on(first, read);
  workspace.rest_on(second, read);
  workspace.rest_on(other, read);
  workspace.rest_on(other, read_lane(workspace, 4, 0));
  EXPECT_EQ(planned_guards(workspace),
            (std::vector<std::vector<std::string>>{{"+lane0 at 0", "+lane1 at 0", "?lane3 at 7"},
                                                   {"+lane2 at 0", "?lane3 at 7", "?lane4 at 0"}}));
}

TEST(Workspace, WhatADecisionRestsOnCommitsWithItIfItChangesInTheSameBatch) {
  Workspace workspace;
  const Slot& decided = create_lane(workspace, 0);
  create_lane(workspace, 1);
  Slot& read = read_lane(workspace, 2, 7);
  workspace.rest_on(decided, read);
  workspace.rest_on(read, decided);
  workspace.rest_on(decided, decided);
  read.changed = true;  // later than it was read
  EXPECT_EQ(planned_guards(workspace),
            (std::vector<std::vector<std::string>>{{"+lane0 at 0", "+lane2 at 7"}, {"+lane1 at 0"}}));
}

TEST(Workspace, WhatWasNotDecidedRestsOnNothing) {
  Workspace workspace;
  const Slot& unchanged = read_lane(workspace, 0, 3);
  workspace.rest_on(unchanged, read_lane(workspace, 1, 7));
  EXPECT_TRUE(workspace.plan().sets.empty());
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Whatever records they belong to: a slot that comes back is logged before it is taken again.
TEST(Workspace, EventsOfOneSetAreStoredInTheOrderInWhichTheyHappened) {
  Workspace workspace;
  Slot& first = create_lane(workspace, 1);
  Slot& second = create_lane(workspace, 2);
  workspace.tie(first, second);
  const auto log = [](Slot& slot, TimestampMs at) {
    Event event;
    event.at = at;
    slot.log(std::move(event));
  };
  log(second, 1);
  log(first, 2);
  log(second, 3);
  const PlannedCommit plan = workspace.plan();
  ASSERT_EQ(plan.sets.size(), 1u);
  std::vector<std::pair<Key, TimestampMs>> logged;
  for (const LogEntry& entry : plan.sets[0].log) logged.emplace_back(entry.root, entry.at);
  EXPECT_EQ(logged, (std::vector<std::pair<Key, TimestampMs>>{{second.key, 1}, {first.key, 2}, {second.key, 3}}));
}

// Compares the processor time of tying and planning with that of adding the records, which is linear: a factor of a
// hundred is far from both what is linear and what is quadratic in a hundred thousand records.
TEST(Workspace, OneSetOfManyRecordsCostsLinearTime) {
  constexpr std::size_t count = 100'000;
  Workspace workspace;
  std::vector<Slot*> slots;
  const double start = thread_seconds();
  for (std::size_t i = 0; i < count; ++i) slots.push_back(&create_lane(workspace, i));
  for (Slot* slot : slots) slot->log({});
  const double added = thread_seconds();
  for (std::size_t i = 1; i < count; ++i) workspace.tie(*slots[i], *slots[i - 1]);
  for (std::size_t i = 1; i < count; ++i) workspace.tie(*slots[0], *slots[count - i]);
  const PlannedCommit plan = workspace.plan();
  const double planned = thread_seconds();
  ASSERT_EQ(plan.sets.size(), 1u);
  EXPECT_EQ(plan.sets[0].roots.size(), count);
  EXPECT_EQ(plan.sets[0].log.size(), count);
  EXPECT_LT(planned - added, 100 * (added - start));
}

}  // namespace
}  // namespace flowfabric
