// The log and notifications between handles, for every store.

#include "conformance/store_contract.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace flowfabric::test {
namespace {

using namespace std::chrono_literals;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[static_cast<std::uint8_t>(byte) >> 4];
    text += digits[static_cast<std::uint8_t>(byte) & 15];
  }
  return text;
}

std::vector<std::string> positions(const std::vector<LoggedEntry>& entries) {
  return each(entries, [](const LoggedEntry& entry) { return entry.position; });
}

// A put with log entries of the given bodies.
ChangeSet logged(const Key& key, std::uint64_t expected, const std::vector<std::string>& entries) {
  ChangeSet set = set_of({put(key, expected)});
  for (const auto& body : entries) set.log.push_back(event(key, body));
  return set;
}

// ---------------------------------------------------------------- order and pages

TEST_P(StoreContract, TheLogKeepsTheOrderOfCommitsAndOfSets) {
  const Key a = execution("a"), b = execution("b");
  write(logged(a, 0, {"1", "2", "3"}));
  write(logged(b, 0, {"4"}));
  write(logged(a, 1, {"5", "6"}));
  EXPECT_EQ(bodies(whole_log()), (Ids{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(bodies(must(store_->history(a, "", 10))), (Ids{"1", "2", "3", "5", "6"}));
}

TEST_P(StoreContract, AnEntryComesBackWhole) {
  const Key key = execution("a", 255);
  LogEntry entry;
  entry.root = key;
  entry.type = 200;
  entry.at = 253402300799999;
  entry.name_space = "n\xc3\xa4me";
  entry.lane = "l'a\"n\\e";
  entry.body = "body";
  ChangeSet set = set_of({put(key, 0)});
  set.log = {entry};
  write(set);
  for (const auto& found : {whole_log().at(0), must(store_->history(key, "", 1)).at(0)}) {
    EXPECT_FALSE(found.position.empty());
    EXPECT_EQ(found.entry.root, key);
    EXPECT_EQ(found.entry.type, entry.type);
    EXPECT_EQ(found.entry.at, entry.at);
    EXPECT_EQ(found.entry.name_space, entry.name_space);
    EXPECT_EQ(found.entry.lane, entry.lane);
    EXPECT_EQ(found.entry.body, entry.body);
  }
}

TEST_P(StoreContract, ALogIsReadInPages) {
  const Key key = execution("a");
  Ids expected;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Ids entries = {std::to_string(i) + "a", std::to_string(i) + "b"};
    write(logged(key, i, entries));
    expected.insert(expected.end(), entries.begin(), entries.end());
  }
  LogQuery query;
  query.limit = 3;
  const LogPage first = must(store_->read_log(query));
  EXPECT_EQ(bodies(first.entries), (Ids{"0a", "0b", "1a"}));
  EXPECT_TRUE(first.behind);
  const auto all = whole_log(query);
  EXPECT_EQ(bodies(all), expected);
  const auto all_positions = positions(all);
  EXPECT_EQ(std::set<std::string>(all_positions.begin(), all_positions.end()).size(), all.size());
}

TEST_P(StoreContract, EveryPositionIsACursor) {
  const Key key = execution("a");
  write(logged(key, 0, {"0", "1", "2"}));
  write(logged(key, 1, {"3", "4"}));
  const auto all = whole_log();
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string cursor = all[i].position;
    const auto rest = bodies(drain_log({}, cursor));
    EXPECT_EQ(rest.size(), all.size() - 1 - i);
    if (!rest.empty()) {
      EXPECT_EQ(rest[0], std::to_string(i + 1));
    }
    EXPECT_EQ(must(store_->history(key, all[i].position, 10)).size(), all.size() - 1 - i);
  }
}

TEST_P(StoreContract, ReadingOnFromTheEndShowsOnlyWhatIsNew) {
  const Key key = execution("a");
  std::string cursor;
  EXPECT_TRUE(drain_log({}, cursor).empty());
  write(logged(key, 0, {"1"}));
  EXPECT_EQ(bodies(drain_log({}, cursor)), Ids{"1"});
  EXPECT_TRUE(drain_log({}, cursor).empty());
  std::string end = must(store_->log_end());
  EXPECT_TRUE(drain_log({}, end).empty());
  write(logged(key, 1, {"2"}));
  EXPECT_EQ(bodies(drain_log({}, cursor)), Ids{"2"});
  EXPECT_EQ(bodies(drain_log({}, end)), Ids{"2"});
}

TEST_P(StoreContract, TheLogStartsAtLogStart) {
  write(logged(execution("a"), 0, {"1", "2"}));
  std::string start = must(store_->log_start());
  EXPECT_EQ(bodies(drain_log({}, start)), (Ids{"1", "2"}));
}

// ---------------------------------------------------------------- histories

// Each commit is larger than a page of any database.
TEST_P(StoreContract, AHistoryOfAnyLengthIsReadFromAnywhere) {
  const Key key = execution("a"), other = execution("b");
  Ids expected;
  for (std::uint64_t i = 0; i < 4; ++i) {
    ChangeSet set = set_of({put(key, i), put(other, i)});
    for (int j = 0; j < 40; ++j) {
      expected.push_back(std::to_string(i) + "." + std::to_string(j) + std::string(400, ' '));
      set.log.push_back(event(key, expected.back()));
      if (j % 3 == 0) set.log.push_back(event(other, "other"));
    }
    write(set);
  }
  const auto all = must(store_->history(key, "", 1000));
  ASSERT_EQ(bodies(all), expected);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto one = must(store_->history(key, i == 0 ? "" : all[i - 1].position, 1));
    ASSERT_EQ(bodies(one), Ids{expected[i]});
    EXPECT_EQ(one[0].position, all[i].position);
  }
  EXPECT_TRUE(must(store_->history(key, all.back().position, 1)).empty());
  EXPECT_TRUE(must(store_->history(key, "", 0)).empty());
  LogQuery query;
  query.root = key;
  query.limit = 7;
  EXPECT_EQ(positions(whole_log(query)), positions(all));
  query.types = {9};
  EXPECT_TRUE(whole_log(query).empty());
}

TEST_P(StoreContract, ALargeEntryStandsBetweenSmallOnes) {
  const Key key = execution("a");
  const Ids expected = {"1", std::string(200'000, 'x'), "3", "", std::string(5'000, 'y'), "6"};
  write(logged(key, 0, expected));
  EXPECT_EQ(bodies(must(store_->history(key, "", 10))), expected);
  EXPECT_EQ(bodies(whole_log()), expected);
  write(set_of({erase(key, 1)}));
  EXPECT_TRUE(whole_log().empty());
}

TEST_P(StoreContract, APutWithoutEntriesKeepsTheHistory) {
  const Key listed = execution("a"), plain = make_key(RecordKind::lane, "b", 7);
  for (const Key& key : {listed, plain}) {
    write(logged(key, 0, {"1"}));
    write(set_of({put(key, 1)}));
    write(logged(key, 2, {"2"}));
    write(set_of({put(key, 3)}));
    EXPECT_EQ(bodies(must(store_->history(key, "", 10))), (Ids{"1", "2"}));
  }
}

TEST_P(StoreContract, ANewRecordDoesNotInheritAHistory) {
  const Key key = execution("a");
  write(logged(key, 0, {"old 1", "old 2"}));
  write(set_of({erase(key, 1)}));
  EXPECT_TRUE(must(store_->history(key, "", 10)).empty());
  write(set_of({put(key, 0)}));
  EXPECT_TRUE(must(store_->history(key, "", 10)).empty());
  write(logged(key, 1, {"new"}));
  EXPECT_EQ(bodies(must(store_->history(key, "", 10))), Ids{"new"});
  LogQuery query;
  query.root = key;
  EXPECT_EQ(bodies(whole_log(query)), Ids{"new"});
}

// Records whose entries were written together, and then some of them are erased.
TEST_P(StoreContract, ErasureLeavesTheHistoriesOfTheNeighbours) {
  constexpr int records = 24;
  const auto name_of = [](int i) { return std::string(i < 10 ? "0" : "") + std::to_string(i); };
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::vector<ChangeSet> sets;
    for (int i = 0; i < records; ++i) {
      const std::string body = name_of(i) + ":" + std::to_string(round);
      sets.push_back(logged(execution(name_of(i)), round, {body + "a", body + "b"}));
    }
    ASSERT_EQ(commit(sets), Verdicts(records, Verdict::committed));
  }
  const auto history_of = [&](int i) { return bodies(must(store_->history(execution(name_of(i)), "", 100))); };
  std::vector<ChangeSet> erasures;
  for (int i = 0; i < records; i += 2) erasures.push_back(set_of({erase(execution(name_of(i)), 3)}));
  ASSERT_EQ(commit(erasures), Verdicts(records / 2, Verdict::committed));
  EXPECT_EQ(must(store_->check_integrity()), std::vector<std::string>{});
  Ids stored;
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < records; i += 2) {
      for (const char* turn : {"a", "b"}) stored.push_back(name_of(i) + ":" + std::to_string(round) + turn);
    }
  }
  EXPECT_EQ(bodies(whole_log()), stored) << "the log shows everything that is stored";
  for (int i = 0; i < records; ++i) {
    const std::string name = name_of(i);
    const Ids whole = {name + ":0a", name + ":0b", name + ":1a", name + ":1b", name + ":2a", name + ":2b"};
    EXPECT_EQ(history_of(i), i % 2 == 0 ? Ids{} : whole);
  }
  write(logged(execution("01"), 3, {"more"}));
  EXPECT_EQ(history_of(1).back(), "more");
  stored.push_back("more");
  EXPECT_EQ(bodies(whole_log()), stored);
  for (int i = 1; i < records; i += 2) write(set_of({erase(execution(name_of(i)), i == 1 ? 4u : 3u)}));
  EXPECT_TRUE(whole_log().empty());
}

TEST_P(StoreContract, EveryReadOfARecordSaysWhereItsHistoryStands) {
  const Key key = execution("a");
  const RouteNo route = intern("lane", {});
  ChangeSet set = logged(key, 0, {"1", "2"});
  set.ready_put = {ReadyEntry{route, 0, 1, key, "ns"}};
  set.due_put = {DueEntry{0, key, 5, 0}};
  write(set);
  const std::string expected = load(key)->last_entry;
  EXPECT_EQ(must(store_->scan(RecordKind::execution, "", 10)).at(0).last_entry, expected);
  EXPECT_EQ(list().at(0).record.last_entry, expected);
  EXPECT_EQ(read(*session_, {key}).at(0).last_entry, expected);
  EXPECT_EQ(ready(*session_, route).at(0).record.last_entry, expected);
  session_->release();
  EXPECT_EQ(due(*session_).at(0).record.last_entry, expected);
  ReadRequest request;
  request.groups = {{5, 1}};
  request.group_limit = 1;
  EXPECT_EQ(must(session_->read(request)).grouped.at(0).record.last_entry, expected);
  session_->release();
}

// ---------------------------------------------------------------- filters

TEST_P(StoreContract, LogFilters) {
  const Key a = execution("a"), b = execution("b");
  const auto entry = [](const Key& key, const char* body, std::uint8_t type, const char* name_space, const char* lane) {
    LogEntry result = event(key, body, type);
    result.name_space = name_space;
    result.lane = lane;
    return result;
  };
  ChangeSet set = set_of({put(a, 0), put(b, 0)});
  set.log = {entry(a, "1", 1, "n1", "l1"), entry(b, "2", 2, "n1", "l2"), entry(a, "3", 3, "n2", "l1"),
             entry(b, "4", 1, "n2", "l2"), entry(a, "5", 200, "n1", "l1")};
  write(set);
  const auto filtered = [&](auto narrow) {
    LogQuery query;
    narrow(query);
    return bodies(whole_log(query));
  };
  EXPECT_EQ(filtered([](LogQuery& query) { query.name_space = "n1"; }), (Ids{"1", "2", "5"}));
  EXPECT_EQ(filtered([](LogQuery& query) { query.lane = "l2"; }), (Ids{"2", "4"}));
  EXPECT_EQ(filtered([&](LogQuery& query) { query.root = a; }), (Ids{"1", "3", "5"}));
  EXPECT_EQ(filtered([](LogQuery& query) { query.types = {1}; }), (Ids{"1", "4"}));
  EXPECT_EQ(filtered([](LogQuery& query) { query.types = {2, 200}; }), (Ids{"2", "5"}));
  EXPECT_EQ(filtered([](LogQuery& query) { query.name_space = "nowhere"; }), Ids{});
  EXPECT_EQ(filtered([&](LogQuery& query) {
              query.name_space = "n1";
              query.lane = "l1";
              query.root = a;
              query.types = {1, 3};
            }),
            Ids{"1"});
}

TEST_P(StoreContract, NextGoesPastEntriesThatDoNotMatch) {
  const Key key = execution("a");
  for (std::uint64_t i = 0; i < 20; ++i) write(logged(key, i, {std::to_string(i)}));
  LogQuery query;
  query.types = {9};
  query.limit = 5;
  std::string cursor;
  EXPECT_TRUE(drain_log(query, cursor).empty());
  EXPECT_TRUE(drain_log({}, cursor).empty()) << "everything had been examined";
  ChangeSet set = set_of({put(key, 20)});
  set.log = {event(key, "other"), event(key, "wanted", 9), event(key, "another")};
  write(set);
  EXPECT_EQ(bodies(drain_log(query, cursor)), Ids{"wanted"});
}

// ---------------------------------------------------------------- retention

TEST_P(StoreContract, ErasingARecordTakesItsOwnEntriesAndExpiresNoCursor) {
  const Key gone = execution("gone"), kept = execution("kept");
  std::string beginning = must(store_->log_start());
  write(logged(gone, 0, {"g1"}));
  write(logged(kept, 0, {"k1"}));
  write(logged(gone, 1, {"g2"}));
  ChangeSet together = set_of({put(kept, 1), put(gone, 2)});
  together.log = {event(gone, "g3"), event(kept, "k2"), event(gone, "g4")};
  write(together);
  const auto before = whole_log();
  ASSERT_EQ(bodies(before), (Ids{"g1", "k1", "g2", "g3", "k2", "g4"}));
  write(set_of({erase(gone, 3)}));

  EXPECT_EQ(must(store_->log_start()), beginning);
  EXPECT_EQ(bodies(whole_log()), (Ids{"k1", "k2"})) << "an empty position means the start";
  EXPECT_EQ(bodies(drain_log({}, beginning)), (Ids{"k1", "k2"}));
  const std::vector<Ids> expected = {{"k1", "k2"}, {"k2"}, {"k2"}, {"k2"}, {}, {}};
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::string cursor = before[i].position;
    EXPECT_EQ(bodies(drain_log({}, cursor)), expected[i]) << "after " << before[i].entry.body;
    EXPECT_EQ(cursor, must(store_->log_end()));
  }
  LogQuery one;
  one.limit = 1;
  EXPECT_EQ(bodies(whole_log(one)), (Ids{"k1", "k2"})) << "in pages of one";
}

TEST_P(StoreContract, HistoryIsCompleteWhereverTheLogStarts) {
  const Key gone = execution("gone"), kept = execution("kept");
  write(logged(kept, 0, {"k1", "k2"}));
  write(logged(gone, 0, {"g1"}));
  write(logged(kept, 1, {"k3"}));
  write(set_of({erase(gone, 1)}));
  const auto entries = must(store_->history(kept, "", 10));
  EXPECT_EQ(bodies(entries), (Ids{"k1", "k2", "k3"}));
  EXPECT_EQ(bodies(must(store_->history(kept, "", 2))), (Ids{"k1", "k2"}));
  EXPECT_EQ(bodies(must(store_->history(kept, entries[0].position, 10))), (Ids{"k2", "k3"}));
  EXPECT_TRUE(must(store_->history(kept, entries[2].position, 10)).empty());
}

TEST_P(StoreContract, CursorsFromTheEndOutliveTheErasureOfEverything) {
  const Key key = execution("a");
  write(logged(key, 0, {"1", "2"}));
  std::string end;
  drain_log({}, end);
  write(set_of({erase(key, 1)}));
  EXPECT_TRUE(drain_log({}, end).empty());
  write(logged(execution("b"), 0, {"3"}));
  EXPECT_EQ(bodies(drain_log({}, end)), Ids{"3"});
  EXPECT_EQ(bodies(whole_log()), Ids{"3"});
}

TEST_P(StoreContract, AnEmptiedLogDoesNotHandOutOldPositionsAgain) {
  const Key key = execution("a");
  std::string beginning = must(store_->log_start());
  write(logged(key, 0, {"1", "2"}));
  const auto all = whole_log();
  write(set_of({erase(key, 1)}));
  reopen();
  EXPECT_EQ(must(store_->log_start()), beginning);
  std::string end = must(store_->log_end());
  EXPECT_EQ(end, all.back().position) << "the end does not go back";
  write(logged(execution("b"), 0, {"3"}));
  for (std::string cursor : {beginning, all[0].position, end}) EXPECT_EQ(bodies(drain_log({}, cursor)), Ids{"3"});
}

// ---------------------------------------------------------------- positions that do not belong here

// As after a restore from a backup: the reader has seen more than there is now.
TEST_P(StoreContract, APositionAheadOfTheLogIsRefused) {
  write(logged(execution("a"), 0, {"1", "2"}));
  const auto all = whole_log();
  std::string ahead = all.back().position;
  ++ahead.back();
  LogQuery query;
  query.after = ahead;
  query.limit = 10;
  for (const auto& error : {store_->read_log(query).error(), store_->history(execution("a"), ahead, 10).error()}) {
    EXPECT_EQ(error.code, Errc::cursor_expired);
    EXPECT_EQ(error.message, cursor_ahead_of_log);
    const std::vector<std::pair<std::string, std::string>> details = {{"earliest", hex(must(store_->log_start()))}};
    EXPECT_EQ(error.details, details);
  }
}

TEST_P(StoreContract, APositionOfAnotherLogIsRefused) {
  const auto other_database = make_database(GetParam().id);
  const auto other = other_database->open();
  const std::string foreign = must(other->log_end());
  for (int i = 0; i < 3; ++i) write(logged(execution(std::to_string(i)), 0, {"1"}));
  LogQuery query;
  query.after = foreign;
  query.limit = 10;
  const auto page = store_->read_log(query);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Errc::cursor_expired);
  EXPECT_EQ(page.error().message, cursor_of_another_log);
  EXPECT_EQ(page.error().details.at(0).second, hex(must(store_->log_start())));
}

// A batch that has locked something and then reads a record which has changed since. Where a lock gives a place in the
// log, its entry must not stand before the one that was there when it read.
TEST_P(StoreContract, EntriesOfARecordKeepTheOrderOfTheirCommits) {
  if (GetParam().takes_turns) GTEST_SKIP() << "nobody commits while a batch is open";
  const Key record = execution("a"), locked = execution("locked"), fresh = execution("fresh");
  write(logged(record, 0, {"1"}));
  write(due_set({0, locked}));
  ASSERT_EQ(due(*session_).size(), 1u);

  const auto other = must(store_->open_session());
  EXPECT_EQ(must(other->commit(with_last_entries(*store_, {logged(record, 1, {"2"})}))), Verdicts{Verdict::committed});
  ASSERT_EQ(read(*session_, {record}).at(0).version, 2u);
  ChangeSet of_locked = logged(locked, 1, {"locked"});
  of_locked.due_drop = {{0, locked}};
  EXPECT_EQ(commit({logged(record, 2, {"3"}), of_locked, logged(fresh, 0, {"fresh"})}),
            Verdicts(3, Verdict::committed));

  EXPECT_EQ(bodies(must(store_->history(record, "", 10))), (Ids{"1", "2", "3"}));
  LogQuery query;
  query.root = record;
  EXPECT_EQ(bodies(whole_log(query)), (Ids{"1", "2", "3"}));
  EXPECT_EQ(bodies(whole_log()), (Ids{"1", "2", "3", "locked", "fresh"}));
}

// ---------------------------------------------------------------- erasure by many

// Adjacent entries in the log that are erased at the same time, each by its own session. The counts of one must not
// overwrite those of the other; check_integrity would report it.
TEST_P(StoreContract, HistoriesThatLieTogetherAreErasedByManyAtOnce) {
  constexpr int erasers = 4, each_erases = 25;
  const auto name = [](int eraser, int i) { return std::to_string(i) + "-" + std::to_string(eraser); };
  std::vector<ChangeSet> sets;
  for (int i = 0; i < each_erases; ++i) {
    for (int eraser = 0; eraser < erasers; ++eraser) sets.push_back(logged(execution(name(eraser, i)), 0, {"a", "b"}));
  }
  sets.push_back(logged(execution("stays"), 0, {"kept"}));
  commit(sets);
  std::vector<std::future<void>> workers;
  for (int eraser = 0; eraser < erasers; ++eraser) {
    workers.push_back(std::async(std::launch::async, [&, eraser] {
      const auto session = must(store_->open_session());
      for (int i = 0; i < each_erases; ++i) {
        const auto one = with_last_entries(*store_, {set_of({erase(execution(name(eraser, i)), 1)})});
        while (must(session->commit(one)).at(0) != Verdict::committed) {
        }
      }
    }));
  }
  for (auto& worker : workers) worker.get();
  EXPECT_EQ(must(store_->check_integrity()), std::vector<std::string>{});
  EXPECT_EQ(bodies(must(store_->history(execution("stays"), "", 10))), Ids{"kept"});
  write(set_of({erase(execution("stays"), 1)}));
  EXPECT_TRUE(whole_log().empty());
}

// ---------------------------------------------------------------- concurrent appenders

constexpr int appenders = 4;
constexpr int appends = 40;

// Each appender owns two roots and logs to both with every commit: one set each, two entries per set.
void append_many(Store& store, int appender) {
  const auto session = must(store.open_session());
  for (std::uint64_t i = 0; i < appends; ++i) {
    std::vector<ChangeSet> sets;
    for (const char* which : {"x", "y"}) {
      const std::string name = which + std::to_string(appender);
      const std::string number = std::to_string(i);
      sets.push_back(logged(execution(name, static_cast<std::uint16_t>(appender)), i,
                            {name + ":" + number + "a", name + ":" + number + "b"}));
    }
    sets = with_last_entries(store, std::move(sets));
    if (must(session->commit(sets)) != Verdicts(2, Verdict::committed)) throw std::runtime_error("not committed");
  }
}

std::map<std::string, Ids> by_root(const std::vector<LoggedEntry>& entries) {
  std::map<std::string, Ids> result;
  for (const auto& entry : entries) result[std::string(entry.entry.root.id())].push_back(entry.entry.body);
  return result;
}

TEST_P(StoreContract, ATailingReaderSeesEveryEntryOnceAndInOrder) {
  const auto other = open_store();
  std::vector<std::future<void>> workers;
  for (int t = 0; t < appenders; ++t) {
    Store& store = t % 2 == 0 ? *store_ : *other;
    workers.push_back(std::async(std::launch::async, [&store, t] { append_many(store, t); }));
  }
  constexpr std::size_t expected = std::size_t{appenders} * appends * 4;
  std::vector<LoggedEntry> seen;
  LogQuery query;
  query.limit = 7;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (seen.size() < expected && std::chrono::steady_clock::now() < deadline) {
    const LogPage page = must(store_->read_log(query));
    seen.insert(seen.end(), page.entries.begin(), page.entries.end());
    query.after = page.next;
    if (!page.behind) std::this_thread::sleep_for(1ms);
  }
  for (auto& worker : workers) worker.get();

  ASSERT_EQ(seen.size(), expected);
  for (const auto& [root, entries] : by_root(seen)) {
    Ids in_order;
    for (int i = 0; i < appends; ++i) {
      in_order.push_back(root + ":" + std::to_string(i) + "a");
      in_order.push_back(root + ":" + std::to_string(i) + "b");
    }
    EXPECT_EQ(entries, in_order);
  }
  // No entry has appeared before a position that was already read.
  EXPECT_EQ(positions(whole_log()), positions(seen));
  std::string cursor = query.after;
  EXPECT_TRUE(drain_log({}, cursor).empty());
}

TEST_P(StoreContract, AFilteringTailMissesNothingEither) {
  std::vector<std::future<void>> workers;
  for (int t = 0; t < appenders; ++t) {
    workers.push_back(std::async(std::launch::async, [this, t] { append_many(*store_, t); }));
  }
  std::vector<LoggedEntry> seen;
  LogQuery query;
  query.limit = 50;
  query.root = execution("x1", 1);
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (seen.size() < std::size_t{appends} * 2 && std::chrono::steady_clock::now() < deadline) {
    const LogPage page = must(store_->read_log(query));
    seen.insert(seen.end(), page.entries.begin(), page.entries.end());
    query.after = page.next;
    if (!page.behind) std::this_thread::sleep_for(1ms);
  }
  for (auto& worker : workers) worker.get();
  EXPECT_EQ(positions(seen), positions(must(store_->history(*query.root, "", 1000))));
  EXPECT_EQ(seen.size(), std::size_t{appends} * 2);
}

// ---------------------------------------------------------------- news

// Collects the notifications of a listener; they may come in any number of pieces.
class Heard {
 public:
  std::function<void(const Wakeup&)> listener() {
    return [this](const Wakeup& wakeup) {
      const std::lock_guard lock(mutex_);
      ++calls_;
      merge_ready(ready_, wakeup.ready);
      lanes_.insert(wakeup.lanes_changed.begin(), wakeup.lanes_changed.end());
      appended_.insert(wakeup.appended.begin(), wakeup.appended.end());
      earliest_due_ = std::min(earliest_due_, wakeup.earliest_due);
      log_advanced_ = log_advanced_ || wakeup.log_advanced;
      changed_.notify_all();
    };
  }

  bool wait_for_everything_in(const Wakeup& wakeup) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] {
      const auto has_line = [&](const auto& item) {
        const auto found = ready_.find(item.first);
        return found != ready_.end() && found->second >= item.second;
      };
      const auto has_lane = [&](const std::string& lane) { return lanes_.contains(lane); };
      return std::all_of(wakeup.ready.begin(), wakeup.ready.end(), has_line) &&
             std::all_of(wakeup.lanes_changed.begin(), wakeup.lanes_changed.end(), has_lane) &&
             std::includes(appended_.begin(), appended_.end(), wakeup.appended.begin(), wakeup.appended.end()) &&
             earliest_due_ <= wakeup.earliest_due && (log_advanced_ || !wakeup.log_advanced);
    });
  }

  bool heard_of(const ReadyLine& line) {
    const std::lock_guard lock(mutex_);
    return ready_.contains(line);
  }

  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  std::map<ReadyLine, std::uint32_t> ready_;
  std::set<std::string> lanes_;
  std::set<Key> appended_;
  TimestampMs earliest_due_ = std::numeric_limits<TimestampMs>::max();
  bool log_advanced_ = false;
};

Wakeup news() {
  Wakeup wakeup;
  wakeup.ready = {{{3, "ns"}, 2}, {{70000, "n'\xc3\xa4\"s,:*\\"}, 1}};
  wakeup.earliest_due = 123456789;
  wakeup.log_advanced = true;
  wakeup.lanes_changed = {"lane", "l'\xc3\xa4\"n,e\\"};
  wakeup.appended = {execution("a"), execution(std::string("\0,;\xff", 4))};
  return wakeup;
}

TEST_P(StoreContract, AnnouncementsReachTheOtherHandles) {
  const auto speaker = open_store(), hearer = open_store();
  Heard own, other;
  speaker->listen(own.listener());
  hearer->listen(other.listener());
  speaker->announce(news());
  if (GetParam().announces) {
    EXPECT_TRUE(other.wait_for_everything_in(news()));
    EXPECT_FALSE(own.heard_of({3, "ns"})) << "nobody is told his own news";
  }
  speaker->listen({});
  hearer->listen({});
}

TEST_P(StoreContract, NobodyIsCalledAfterListeningEnds) {
  const auto hearer = open_store();
  Heard heard;
  hearer->listen(heard.listener());
  for (int i = 0; i < 20; ++i) store_->announce(news());
  hearer->listen({});
  const int calls = heard.calls();
  store_->announce(news());
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(heard.calls(), calls);
}

TEST_P(StoreContract, NoAnnouncementIsTooLarge) {
  const auto hearer = open_store();
  std::atomic<bool> called{false};
  hearer->listen([&](const Wakeup&) { called = true; });
  Wakeup large;
  for (RouteNo route = 1; route <= 5000; ++route) large.ready[{route * 17, "ns"}] = 1;
  for (int i = 0; i < 500; ++i) large.lanes_changed.push_back("some lane with a long name " + std::to_string(i));
  store_->announce(large);
  if (GetParam().announces) {
    for (int i = 0; !called && i < 2000; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(called);
  }
  hearer->listen({});
}

}  // namespace
}  // namespace flowfabric::test
