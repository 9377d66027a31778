// Groups, and reading the due index outside a batch, for every store.

#include "conformance/store_contract.hpp"

#include <limits>

namespace flowfabric::test {
namespace {

constexpr std::uint64_t group = 5, other_group = 6;
constexpr std::uint64_t last_group = (std::uint64_t{1} << 63) - 1;
constexpr std::int64_t lowest_rank = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest_rank = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t many = 1000;

DueEntry grouped(std::string_view id, std::uint64_t in_group, std::int64_t rank = 0, TimestampMs due_at = never_due) {
  return {due_at, execution(id), in_group, rank};
}

std::vector<DueEntry> entries_of(const std::vector<DueCandidate>& candidates) {
  return each(candidates, [](const DueCandidate& candidate) { return candidate.entry; });
}

std::vector<DueCandidate> read_groups(Session& session, const std::vector<std::uint64_t>& groups,
                                      std::uint32_t limit = many) {
  ReadRequest request;
  for (const std::uint64_t one : groups) request.groups.push_back({one, limit});
  request.group_limit = limit;
  return must(session.read(request)).grouped;
}

// Changes an entry of an existing record, at its version.
ChangeSet moving(const DueEntry& from, const DueEntry& to, std::uint64_t version) {
  ChangeSet set = set_of({put(from.key, version)});
  set.due_drop = {from};
  set.due_put = {to};
  return set;
}

// Page after page until one is not full.
std::vector<DueEntry> all_due(Store& store, TimestampMs until, std::uint32_t page_size) {
  std::vector<DueEntry> all;
  for (std::optional<DuePosition> after;;) {
    const auto page = must(store.due_entries(after, until, page_size));
    EXPECT_LE(page.size(), page_size);
    all.insert(all.end(), page.begin(), page.end());
    if (page.size() < page_size) return all;
    after = DuePosition{page.back().due_at, page.back().key};
  }
}

std::vector<DueEntry> all_of_group(Store& store, std::uint64_t number, std::uint32_t page_size) {
  std::vector<DueEntry> all;
  for (std::optional<Store::GroupPosition> after;;) {
    const auto page = must(store.group_entries(number, after, page_size));
    EXPECT_LE(page.size(), page_size);
    all.insert(all.end(), page.begin(), page.end());
    if (page.size() < page_size) return all;
    after = Store::GroupPosition{page.back().rank, page.back().key};
  }
}

// ---------------------------------------------------------------- groups in a session

TEST_P(StoreContract, GroupsAreReadInOrder) {
  const std::vector<DueEntry> in_order = {
      grouped("z", 1, 9),
      grouped("h", group, lowest_rank),
      grouped("g", group, -7, 12),
      grouped("\x7f", group, 3, 900),
      grouped("\x80", group, 3, 1),
      grouped(std::string("\xff\0", 2), group, 3, 400),
      grouped("a", group, highest_rank, 2),
      grouped("b", last_group, 0),
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) write(due_set(in_order[i * 3 % in_order.size()]));
  write(due_set({5, execution("in none")}));
  write(due_set(grouped("in another", other_group)));

  const auto found = read_groups(*session_, {last_group, group, 77, 1});
  EXPECT_EQ(entries_of(found), in_order);
  for (const DueCandidate& candidate : found) {
    EXPECT_EQ(candidate.record.key, candidate.entry.key);
    EXPECT_EQ(candidate.record.version, 1u);
    EXPECT_EQ(candidate.record.fixed, "fixed");
    EXPECT_EQ(candidate.record.body, "body");
  }
}

TEST_P(StoreContract, TheLimitIsForAllGroupsTogether) {
  for (const char* id : {"a", "b", "c"}) write(due_set(grouped(id, group)));
  for (const char* id : {"d", "e"}) write(due_set(grouped(id, other_group)));
  EXPECT_EQ(ids(read_groups(*session_, {other_group, group}, 4)), (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(ids(read_groups(*session_, {other_group, group}, 3)), (Ids{"a", "b", "c"}));
  EXPECT_EQ(ids(read_groups(*session_, {other_group}, 1)), Ids{"d"});
  EXPECT_EQ(ids(read_groups(*session_, {other_group}, 2)), (Ids{"d", "e"}));
  EXPECT_TRUE(read_groups(*session_, {group}, 0).empty());
}

TEST_P(StoreContract, NoGroupNothingFound) {
  write(due_set(grouped("a", group)));
  write(due_set({1, execution("b")}));
  EXPECT_TRUE(read_groups(*session_, {}).empty());
  EXPECT_TRUE(read_groups(*session_, {other_group, last_group}).empty());
  EXPECT_TRUE(must(session_->read({})).grouped.empty());
}

TEST_P(StoreContract, GroupsTogetherWithEverythingElse) {
  const RouteNo route = intern("lane", {});
  ChangeSet set = ready_set({route, 0, 1, execution("ready")});
  set.due_put = {grouped("ready", group)};
  write(set);
  write(due_set(grouped("due", group, 1, 1)));

  ReadRequest request;
  request.keys = {execution("due"), execution("missing")};
  request.groups = {{group, many}};
  request.group_limit = many;
  request.want_routes = true;
  request.ready = {{route, 10}};
  ReadReply reply = must(session_->read(request));
  EXPECT_EQ(ids(reply.records), Ids{"due"});
  EXPECT_EQ(ids(reply.ready), Ids{"ready"});
  EXPECT_EQ(ids(reply.grouped), (Ids{"ready", "due"}));
  EXPECT_EQ(reply.routes.size(), 1u);
  EXPECT_EQ(reply.now_us, clock_.now_us());
  session_->release();

  request.ready.clear();
  request.due_limit = 10;
  reply = must(session_->read(request));
  EXPECT_EQ(ids(reply.records), Ids{"due"});
  EXPECT_EQ(ids(reply.due), Ids{"due"});
  EXPECT_EQ(ids(reply.grouped), (Ids{"ready", "due"}));
  EXPECT_EQ(reply.due.at(0).entry, grouped("due", group, 1, 1)) << "the clock's search knows the group too";
  EXPECT_EQ(commit_one(set_of({put(execution("due"), reply.grouped.at(1).record.version)})), Verdict::committed);
}

// If sessions take turns, each must end its batch before the other can read.
TEST_P(StoreContract, GroupsAreNotKeptFromOtherSessions) {
  const auto end_turn = [&](Session& session) {
    if (GetParam().takes_turns) session.release();
  };
  write(due_set(grouped("a", group, 0, 1)));
  const auto other = must(store_->open_session());
  EXPECT_EQ(ids(due(*session_)), Ids{"a"});
  end_turn(*session_);
  EXPECT_EQ(ids(read_groups(*other, {group})), Ids{"a"}) << "held by the search of another";
  other->release();
  session_->release();
  EXPECT_EQ(ids(read_groups(*session_, {group})), Ids{"a"});
  end_turn(*session_);
  EXPECT_EQ(ids(due(*other)), Ids{"a"}) << "a look at the group holds nothing";
  other->release();
}

TEST_P(StoreContract, AGroupReadSeesWhatAnotherHandleCommitted) {
  const auto other = open_store();
  const auto theirs = must(other->open_session());
  write(due_set(grouped("a", group)));
  EXPECT_EQ(ids(read_groups(*theirs, {group})), Ids{"a"});
  theirs->release();
}

// Erasing a record drops its entries; an entry that was forgotten finds nothing and takes the place of no other.
TEST_P(StoreContract, ErasedRecordsAreNotFoundInGroups) {
  write(due_set(grouped("a", group, 1)));
  write(due_set(grouped("b", group, 2)));
  write(set_of({erase(execution("a"), 1)}));
  EXPECT_EQ(ids(read_groups(*session_, {group}, 1)), Ids{"b"});
  session_->release();
  ChangeSet sweep;
  sweep.due_drop = {grouped("a", group, 1)};
  write(sweep);
  ChangeSet whole = set_of({erase(execution("b"), 1)});
  whole.due_drop = {grouped("b", group, 2)};
  write(whole);
  EXPECT_TRUE(read_groups(*session_, {group}).empty());
  EXPECT_TRUE(must(store_->group_entries(group, {}, many)).empty());
}

TEST_P(StoreContract, ADroppedEntryLeavesItsGroup) {
  write(due_set(grouped("a", group, 4, 50)));
  write(due_set(grouped("b", group, 3)));
  ChangeSet drop = set_of({put(execution("a"), 1)});
  drop.due_drop = {grouped("a", group, 4, 50)};
  write(drop);
  EXPECT_EQ(ids(read_groups(*session_, {group})), Ids{"b"});
  session_->release();
  ChangeSet by_name = set_of({put(execution("b"), 1)});
  by_name.due_drop = {{never_due, execution("b")}};
  write(by_name);
  EXPECT_TRUE(read_groups(*session_, {group}).empty()) << "(due_at, key) names an entry, whatever its group";
  session_->release();
  EXPECT_EQ(must(store_->next_due()), std::nullopt);
}

TEST_P(StoreContract, AnEntryMovesToAnotherGroupUnderItsName) {
  const DueEntry first = grouped("a", group, 1, 50), second = grouped("a", other_group, 2, 50);
  const DueEntry third = grouped("a", other_group, 3, 50), alone = grouped("a", 0, 0, 50);
  write(due_set(first));
  write(moving(first, second, 1));
  EXPECT_TRUE(read_groups(*session_, {group}).empty());
  EXPECT_EQ(entries_of(read_groups(*session_, {other_group})), std::vector{second});
  session_->release();
  write(moving(second, third, 2));
  EXPECT_EQ(entries_of(read_groups(*session_, {group, other_group})), std::vector{third}) << "only the rank";
  session_->release();
  write(moving(third, alone, 3));
  EXPECT_TRUE(read_groups(*session_, {group, other_group}).empty());
  EXPECT_EQ(entries_of(due(*session_)), std::vector{alone});
  session_->release();
  write(moving(alone, first, 4));
  EXPECT_EQ(entries_of(read_groups(*session_, {group})), std::vector{first});
  EXPECT_EQ(entries_of(due(*session_)), std::vector{first});
}

TEST_P(StoreContract, ManyEntriesMoveInOneCommit) {
  constexpr int number = 60;
  std::vector<ChangeSet> puts, moves;
  for (int i = 0; i < number; ++i) {
    const DueEntry from = grouped("e" + std::to_string(i), group, i, 50 + i % 3);
    DueEntry to = from;
    to.group = i % 2 == 0 ? other_group : 0;
    puts.push_back(due_set(from));
    moves.push_back(moving(from, to, 1));
  }
  commit(puts);
  EXPECT_EQ(read_groups(*session_, {group}).size(), std::size_t{number});
  session_->release();
  EXPECT_EQ(commit(moves), Verdicts(number, Verdict::committed));
  EXPECT_TRUE(read_groups(*session_, {group}).empty());
  EXPECT_EQ(read_groups(*session_, {other_group}).size(), std::size_t{number / 2});
}

TEST_P(StoreContract, AStaleSetMovesNoEntry) {
  const DueEntry first = grouped("a", group, 1, 50), second = grouped("a", other_group, 1, 50);
  write(due_set(first));
  EXPECT_EQ(commit_one(moving(first, second, 9)), Verdict::stale);
  EXPECT_EQ(entries_of(read_groups(*session_, {group, other_group})), std::vector{first});
}

TEST_P(StoreContract, WhatIsNeverDueIsFoundByItsGroupOnly) {
  const DueEntry timed = grouped("a", group, 1, 50), never = grouped("a", group, 1);
  write(due_set(timed));
  EXPECT_EQ(ids(due(*session_)), Ids{"a"});
  session_->release();
  write(moving(timed, never, 1));
  clock_.advance_ms(1'000'000'000);
  EXPECT_TRUE(due(*session_).empty());
  session_->release();
  EXPECT_EQ(entries_of(read_groups(*session_, {group})), std::vector{never});
}

TEST_P(StoreContract, NextDueOfWhatIsNeverDue) {
  write(due_set(grouped("a", group)));
  write(due_set(grouped("b", other_group)));
  EXPECT_EQ(must(store_->next_due()), never_due);
  write(due_set({clock_.now_ms() + 5, execution("c")}));
  EXPECT_EQ(must(store_->next_due()), clock_.now_ms() + 5);
}

TEST_P(StoreContract, GroupsSurviveARestart) {
  const DueEntry entry = grouped("a", group, -3, 70);
  write(due_set(entry));
  reopen();
  EXPECT_EQ(entries_of(read_groups(*session_, {group})), std::vector{entry});
  session_->release();
  EXPECT_EQ(must(store_->group_entries(group, {}, many)), std::vector{entry});
  EXPECT_EQ(must(store_->due_entries({}, 70, many)), std::vector{entry});
}

// ---------------------------------------------------------------- reading outside a batch

TEST_P(StoreContract, DueEntriesArePagedInOrder) {
  const std::vector<DueEntry> in_order = {
      {-40, execution("z")},  {7, execution("\x7f")},        {7, execution("\x80")},
      {7, execution("\xff")}, grouped("y", group, -1, 7000), grouped("x", other_group, 4),
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) write(due_set(in_order[i * 5 % in_order.size()]));
  for (const std::uint32_t page_size : {1u, 2u, 3u, 6u, 100u}) {
    EXPECT_EQ(all_due(*store_, never_due, page_size), in_order) << page_size << " a page";
  }
}

TEST_P(StoreContract, DueEntriesUpToATimeAndAfterAPlace) {
  const std::vector<DueEntry> in_order = {
      {10, execution("a")}, {10, execution("b")}, {20, execution("c")}, {30, execution("d")}, grouped("e", group)};
  for (const DueEntry& entry : in_order) write(due_set(entry));
  const auto due_ids = [&](std::optional<DuePosition> after, TimestampMs until, std::uint32_t limit = many) {
    const auto found = must(store_->due_entries(after, until, limit));
    return each(found, [](const DueEntry& entry) { return std::string(entry.key.id()); });
  };
  EXPECT_EQ(due_ids({}, 9), Ids{});
  EXPECT_EQ(due_ids({}, 10), (Ids{"a", "b"})) << "until is inclusive";
  EXPECT_EQ(due_ids({}, 29), (Ids{"a", "b", "c"}));
  EXPECT_EQ(due_ids({}, never_due - 1), (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(due_ids({}, never_due), (Ids{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(due_ids(DuePosition{10, execution("a")}, 20), (Ids{"b", "c"})) << "after is exclusive";
  EXPECT_EQ(due_ids(DuePosition{10, execution("aa")}, 20), (Ids{"b", "c"})) << "the place need not exist";
  EXPECT_EQ(due_ids(DuePosition{15, Key{}}, 30), (Ids{"c", "d"}));
  EXPECT_EQ(due_ids(DuePosition{30, execution("d")}, 30), Ids{});
  EXPECT_EQ(due_ids(DuePosition{never_due, execution("e")}, never_due), Ids{});
  EXPECT_EQ(due_ids({}, 30, 3), (Ids{"a", "b", "c"}));
  EXPECT_EQ(due_ids({}, 30, 0), Ids{});
}

TEST_P(StoreContract, AnEmptyDueIndexHasNoEntries) {
  EXPECT_TRUE(must(store_->due_entries({}, never_due, many)).empty());
  EXPECT_TRUE(must(store_->due_entries(DuePosition{5, execution("a")}, never_due, many)).empty());
  EXPECT_TRUE(must(store_->group_entries(group, {}, many)).empty());
  EXPECT_TRUE(must(store_->group_entries(group, Store::GroupPosition{5, execution("a")}, many)).empty());
}

TEST_P(StoreContract, GroupEntriesArePagedInOrder) {
  const std::vector<DueEntry> in_order = {
      grouped("z", group, lowest_rank, 9), grouped("x", group, -2),           grouped("y", group, -2, 3),
      grouped("\x7f", group, 0, 8),        grouped("\x80", group, 0, 7),      grouped("\xff", group, 0, 6),
      grouped("b", group, 1, 5),           grouped("a", group, highest_rank),
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) write(due_set(in_order[i * 5 % in_order.size()]));
  write(due_set(grouped("less", group - 1, highest_rank)));
  write(due_set(grouped("more", other_group, lowest_rank)));
  write(due_set({4, execution("in none")}));
  for (const std::uint32_t page_size : {1u, 2u, 3u, 8u, 100u}) {
    EXPECT_EQ(all_of_group(*store_, group, page_size), in_order) << page_size << " a page";
  }
  EXPECT_EQ(must(store_->group_entries(group, Store::GroupPosition{-2, execution("xx")}, 1)), std::vector{in_order[2]})
      << "the place need not exist";
  EXPECT_TRUE(must(store_->group_entries(group, {}, 0)).empty());
  EXPECT_TRUE(must(store_->group_entries(0, {}, many)).empty()) << "0 is no group";
}

}  // namespace
}  // namespace flowfabric::test
