// Writing, for every store: guards, verdicts, records, satellites, counters, restart.

#include "conformance/store_contract.hpp"

#include <chrono>
#include <future>
#include <map>
#include <thread>

namespace flowfabric::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(store_kinds()),
                         [](const auto& test) { return test.param.name; });

constexpr std::uint8_t payload = 1;
constexpr std::uint8_t result = 2;

Satellite satellite(const Key& root, std::uint8_t kind, std::uint32_t n, std::string body) {
  return {{root, kind, n}, std::move(body)};
}

std::vector<std::uint32_t> numbers(const std::vector<Satellite>& satellites) {
  return each(satellites, [](const Satellite& item) { return item.name.n; });
}

using Counters = std::vector<Counter>;

std::string all_bytes() {
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  return bytes;
}

// ---------------------------------------------------------------- guards and versions

TEST_P(StoreContract, AFreshDatabaseIsEmpty) {
  const Key key = execution("a");
  EXPECT_FALSE(load(key));
  EXPECT_TRUE(read(*session_, {key}).empty());
  EXPECT_EQ(must(store_->next_due()), std::nullopt);
  EXPECT_TRUE(must(store_->scan(RecordKind::execution, "", 10)).empty());
  EXPECT_EQ(must(store_->counters("")), Counters{});
  EXPECT_TRUE(whole_log().empty());
  EXPECT_TRUE(must(store_->history(key, "", 10)).empty());
  EXPECT_GE(store_->preferred_sessions(), 1u);
}

TEST_P(StoreContract, APutCreatesVersionOne) {
  const Key key = execution("a");
  EXPECT_EQ(commit_one(set_of({put(key, 0, "first")})), Verdict::committed);
  const auto record = load(key);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->key, key);
  EXPECT_EQ(record->version, 1u);
  EXPECT_EQ(record->fixed, "fixed");
  EXPECT_EQ(record->body, "first");
}

// A guard taken from a record must not match its successor under the same key.
TEST_P(StoreContract, AGuardDoesNotOutliveItsRecord) {
  const Key key = execution("a");
  ASSERT_EQ(commit_one(set_of({put(key, 0, "old")})), Verdict::committed);
  RootChange erase;
  erase.key = key;
  erase.expected_version = 1;
  erase.action = RootChange::Action::erase;
  ASSERT_EQ(commit_one(set_of({erase})), Verdict::committed);
  RootChange again = put(key, 0, "new");
  again.first_version = std::uint64_t{1} << 62;
  ASSERT_EQ(commit_one(set_of({again})), Verdict::committed);
  EXPECT_EQ(version_of(key), std::uint64_t{1} << 62);
  EXPECT_EQ(commit_one(set_of({put(key, 1, "by the old guard")})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({put(key, std::uint64_t{1} << 62, "newer")})), Verdict::committed);
  EXPECT_EQ(version_of(key), (std::uint64_t{1} << 62) + 1);
}

TEST_P(StoreContract, EveryPutRaisesTheVersionByOne) {
  const Key key = execution("a");
  for (std::uint64_t version = 0; version < 10; ++version) {
    EXPECT_EQ(commit_one(set_of({put(key, version, std::to_string(version))})), Verdict::committed);
    EXPECT_EQ(version_of(key), version + 1);
  }
  EXPECT_EQ(load(key)->body, "9");
}

TEST_P(StoreContract, CreatingWhatExistsIsStale) {
  const Key key = execution("a");
  write(set_of({put(key, 0, "first")}));
  EXPECT_EQ(commit_one(set_of({put(key, 0, "second")})), Verdict::stale);
  EXPECT_EQ(load(key)->body, "first");
  EXPECT_EQ(version_of(key), 1u);
}

TEST_P(StoreContract, OldFutureAndAbsentVersionsAreStale) {
  const Key key = execution("a");
  write(set_of({put(key, 0)}));
  write(set_of({put(key, 1, "second")}));
  EXPECT_EQ(commit_one(set_of({put(key, 1, "old")})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({put(key, 3, "future")})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({put(execution("absent"), 1)})), Verdict::stale);
  EXPECT_EQ(load(key)->body, "second");
  EXPECT_FALSE(load(execution("absent")));
}

TEST_P(StoreContract, FixedIsWrittenOnceAndBodyRewritten) {
  const Key key = execution("a");
  write(set_of({put(key, 0, "one")}));
  RootChange second = put(key, 1, "two");
  second.fixed = "something else";
  write(set_of({second}));
  EXPECT_EQ(load(key)->fixed, "fixed");
  EXPECT_EQ(load(key)->body, "two");
  RootChange third = put(key, 2, "three");
  third.fixed = "";
  write(set_of({third}));
  EXPECT_EQ(load(key)->fixed, "fixed");
}

TEST_P(StoreContract, AStaleSetChangesNothingAtAll) {
  const Key key = execution("a");
  const RouteNo route = intern("lane", {});
  write(set_of({put(key, 0, "kept")}));

  ChangeSet set = set_of({put(key, 5, "lost")});
  set.ready_put = {{route, 0, 1, key}};
  set.due_put = {{clock_.now_ms(), key}};
  set.satellites = {satellite(key, payload, 0, "lost")};
  set.log = {event(key, "lost")};
  set.counters = {{"counter", 1}};
  EXPECT_EQ(commit_one(set), Verdict::stale);

  EXPECT_EQ(load(key)->body, "kept");
  EXPECT_TRUE(ready(*session_, route).empty());
  EXPECT_TRUE(due(*session_).empty());
  EXPECT_EQ(must(store_->next_due()), std::nullopt);
  EXPECT_TRUE(must(store_->load_satellites(key, payload, 0, 10)).empty());
  EXPECT_TRUE(whole_log().empty());
  EXPECT_EQ(must(store_->counters("")), Counters{});
}

TEST_P(StoreContract, WhoeverHoldsARecordIsNeverStaleAndTheNextHolderSeesWhatItWrote) {
  const Key key = execution("a");
  write(set_of({put(key, 0, "first")}));
  ReadRequest request;
  request.keys = {key};
  request.hold = key;
  ASSERT_EQ(must(session_->read(request)).records.at(0).version, 1u);
  auto hasty_store = open_store(), patient_store = open_store();
  auto hasty = must(hasty_store->open_session()), patient = must(patient_store->open_session());
  std::thread without(
      [&] { EXPECT_EQ(must(hasty->commit({set_of({put(key, 1, "hasty")})})), Verdicts{Verdict::stale}); });
  std::thread with([&] {
    const auto records = must(patient->read(request)).records;
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].version, 2u);
    EXPECT_EQ(records[0].body, "held");
    EXPECT_EQ(must(patient->commit({set_of({put(key, 2, "patient")})})), Verdicts{Verdict::committed});
  });
  EXPECT_EQ(must(session_->commit({set_of({put(key, 1, "held")})})), Verdicts{Verdict::committed});
  without.join();
  with.join();
  EXPECT_EQ(load(key)->body, "patient");
}

TEST_P(StoreContract, AHeldRecordThatIsNotThereHoldsNobodyUp) {
  const Key key = execution("a");
  ReadRequest request;
  request.keys = {key};
  request.hold = key;
  EXPECT_TRUE(must(session_->read(request)).records.empty());
  EXPECT_EQ(must(session_->commit({set_of({put(key, 0, "first")})})), Verdicts{Verdict::committed});
  ASSERT_EQ(must(session_->read(request)).records.size(), 1u);
  session_->release();
  EXPECT_EQ(commit_one(set_of({put(key, 1, "second")})), Verdict::committed) << "letting go is enough";
}

TEST_P(StoreContract, OneStaleSetAmongManyNeighbours) {
  constexpr int number = 300;
  write(set_of({put(execution("150"), 0, "taken")}));
  std::vector<ChangeSet> sets;
  for (int i = 0; i < number; ++i) {
    const Key key = execution(std::to_string(i));
    sets.push_back(set_of({put(key, 0, "new")}));
    sets.back().log = {event(key, std::to_string(i))};
  }
  Verdicts expected(number, Verdict::committed);
  expected[150] = Verdict::stale;
  EXPECT_EQ(commit(sets), expected);
  for (const int i : {0, 149, 151, 299}) EXPECT_EQ(load(execution(std::to_string(i)))->body, "new");
  EXPECT_EQ(load(execution("150"))->body, "taken");
  EXPECT_EQ(whole_log().size(), static_cast<std::size_t>(number - 1));
}

TEST_P(StoreContract, VerdictsComeInTheOrderOfTheSets) {
  const Verdicts expected = {Verdict::stale, Verdict::committed, Verdict::committed, Verdict::stale};
  EXPECT_EQ(commit({set_of({put(execution("a"), 1)}), set_of({put(execution("b"), 0)}),
                    set_of({put(execution("c"), 0)}), set_of({check(execution("e"), 1)})}),
            expected);
}

TEST_P(StoreContract, SeveralRootsCommitWholeOrNotAtAll) {
  const Key a = execution("a"), b = execution("b"), c = execution("c");
  EXPECT_EQ(commit_one(set_of({put(a, 0), put(b, 0), put(c, 0)})), Verdict::committed);
  EXPECT_EQ(commit_one(set_of({put(a, 1, "x"), put(b, 9, "x"), put(c, 1, "x")})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({put(a, 1, "x"), put(b, 1, "x"), erase(c, 2)})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({put(a, 1, "x"), check(execution("d"), 1)})), Verdict::stale);
  for (const Key& key : {a, b, c}) {
    EXPECT_EQ(version_of(key), 1u);
    EXPECT_EQ(load(key)->body, "body");
  }
  EXPECT_EQ(commit_one(set_of({put(a, 1, "x"), erase(b, 1), check(c, 1), put(execution("d"), 0)})), Verdict::committed);
  EXPECT_EQ(load(a)->body, "x");
  EXPECT_FALSE(load(b));
  EXPECT_EQ(version_of(c), 1u);
  EXPECT_EQ(version_of(execution("d")), 1u);
}

TEST_P(StoreContract, SeveralSetsOfACommitCanCheckTheSame) {
  const Key there = execution("there"), absent = execution("absent");
  write(set_of({put(there, 0)}));
  const Verdicts expected = {Verdict::committed, Verdict::stale, Verdict::committed, Verdict::stale};
  EXPECT_EQ(commit({set_of({put(execution("a"), 0), check(there, 1), check(absent, 0)}),
                    set_of({put(execution("b"), 0), check(there, 2)}),
                    set_of({put(execution("c"), 0), check(there, 1), check(absent, 0)}),
                    set_of({put(execution("d"), 0), check(absent, 1)})}),
            expected);
  EXPECT_EQ(version_of(there), 1u);
  EXPECT_FALSE(load(absent));
  EXPECT_TRUE(load(execution("c")));
  EXPECT_EQ(commit({set_of({put(execution("e"), 0), check(there, 1), check(absent, 0)}),
                    set_of({put(execution("f"), 0), check(there, 1), check(absent, 0)})}),
            (Verdicts{Verdict::committed, Verdict::committed}));
}

TEST_P(StoreContract, CheckIsOnlyTheGuard) {
  const Key key = execution("a");
  EXPECT_EQ(commit_one(set_of({check(key, 0)})), Verdict::committed);
  EXPECT_EQ(commit_one(set_of({check(key, 1)})), Verdict::stale);
  write(set_of({put(key, 0)}));
  EXPECT_EQ(commit_one(set_of({check(key, 1)})), Verdict::committed);
  EXPECT_EQ(commit_one(set_of({check(key, 0)})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({check(key, 2)})), Verdict::stale);
  EXPECT_EQ(version_of(key), 1u);
  EXPECT_EQ(load(key)->body, "body");
}

TEST_P(StoreContract, NothingToCommitIsFine) {
  EXPECT_EQ(commit({}), Verdicts{});
  EXPECT_EQ(commit_one(ChangeSet{}), Verdict::committed);
  session_->release();
  session_->release();
}

TEST_P(StoreContract, RecordsOfDifferentKindsAndPartitionsAreDifferent) {
  const std::vector<Key> keys = {make_key(RecordKind::execution, "x", 1),   make_key(RecordKind::execution, "x", 2),
                                 make_key(RecordKind::idempotency, "x", 1), make_key(RecordKind::keyring, "x", 1),
                                 make_key(RecordKind::lane, "x", 1),        make_key(RecordKind::name_space, "x", 1)};
  for (const Key& key : keys) write(set_of({put(key, 0, "of " + key.bytes)}));
  const auto records = must(store_->load(keys));
  EXPECT_EQ(records.size(), keys.size());
  for (const Record& record : records) EXPECT_EQ(record.body, "of " + record.key.bytes);
}

TEST_P(StoreContract, ReadLeavesMissingRecordsOut) {
  write(set_of({put(execution("a"), 0), put(execution("c"), 0)}));
  ReadRequest request;
  request.keys = {execution("a"), execution("b"), execution("c"), execution("")};
  auto found = ids(must(session_->read(request)).records);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (Ids{"a", "c"}));
  session_->release();
  EXPECT_TRUE(must(store_->load({})).empty());
}

TEST_P(StoreContract, ManyKeysInOneRead) {
  std::vector<ChangeSet> sets;
  ReadRequest request;
  for (int i = 0; i < 2000; ++i) {
    request.keys.push_back(execution("key" + std::to_string(i)));
    if (i % 2 == 0) sets.push_back(set_of({put(request.keys.back(), 0, std::to_string(i))}));
  }
  commit(sets);
  const auto records = must(session_->read(request)).records;
  EXPECT_EQ(records.size(), sets.size());
  EXPECT_EQ(must(store_->load(request.keys)).size(), sets.size());
}

TEST_P(StoreContract, SeveralReadsBeforeOneCommit) {
  write(set_of({put(execution("a"), 0), put(execution("b"), 0)}));
  EXPECT_EQ(read(*session_, {execution("a")}).size(), 1u);
  EXPECT_EQ(read(*session_, {execution("b")}).size(), 1u);
  EXPECT_EQ(commit_one(set_of({put(execution("a"), 1), put(execution("b"), 1)})), Verdict::committed);
}

TEST_P(StoreContract, ReleaseWritesNothingAndTheSessionGoesOn) {
  const Key key = execution("a");
  EXPECT_TRUE(read(*session_, {key}).empty());
  session_->release();
  EXPECT_FALSE(load(key));
  write(set_of({put(key, 0)}));
  EXPECT_EQ(version_of(key), 1u);
}

// ---------------------------------------------------------------- erase

TEST_P(StoreContract, EraseTakesSatellitesAndLogEntriesAndLeavesOthers) {
  const Key gone = execution("gone"), kept = execution("kept");
  for (const Key& key : {gone, kept}) {
    ChangeSet set = set_of({put(key, 0)});
    set.satellites = {satellite(key, payload, 0, "p"), satellite(key, payload, 1, "p"), satellite(key, result, 0, "r")};
    set.log = {event(key, "one"), event(key, "two")};
    write(set);
  }
  write(set_of({erase(gone, 1)}));

  EXPECT_FALSE(load(gone));
  EXPECT_TRUE(must(store_->load_satellites(gone, payload, 0, 10)).empty());
  EXPECT_TRUE(must(session_->read_satellites({{gone, result, 0}})).empty());
  session_->release();
  EXPECT_TRUE(must(store_->history(gone, "", 10)).empty());

  EXPECT_EQ(version_of(kept), 1u);
  EXPECT_EQ(must(store_->load_satellites(kept, payload, 0, 10)).size(), 2u);
  EXPECT_EQ(must(store_->load_satellites(kept, result, 0, 10)).size(), 1u);
  EXPECT_EQ(bodies(must(store_->history(kept, "", 10))), (Ids{"one", "two"}));
  EXPECT_EQ(bodies(whole_log()), (Ids{"one", "two"}));
}

TEST_P(StoreContract, EraseTakesTheRecordFromTheListing) {
  const Key key = execution("a");
  write(set_of({put(key, 0)}));
  EXPECT_EQ(list().size(), 1u);
  write(set_of({erase(key, 1)}));
  EXPECT_TRUE(list().empty());
  EXPECT_TRUE(must(store_->scan(RecordKind::execution, "", 10)).empty());
}

TEST_P(StoreContract, EraseIsGuarded) {
  const Key key = execution("a");
  write(set_of({put(key, 0)}));
  EXPECT_EQ(commit_one(set_of({erase(key, 2)})), Verdict::stale);
  EXPECT_EQ(commit_one(set_of({erase(execution("b"), 1)})), Verdict::stale);
  EXPECT_TRUE(load(key));
}

TEST_P(StoreContract, AnErasedRecordCanBeCreatedAgain) {
  const Key key = execution("a");
  write(set_of({put(key, 0, "old")}));
  write(set_of({erase(key, 1)}));
  EXPECT_EQ(commit_one(set_of({put(key, 1)})), Verdict::stale);
  RootChange again = put(key, 0, "new", listing(2000));
  again.fixed = "other";
  write(set_of({again}));
  EXPECT_EQ(version_of(key), 1u);
  EXPECT_EQ(load(key)->fixed, "other");
  EXPECT_EQ(list().at(0).created_at, 2000);
}

// ---------------------------------------------------------------- bytes

TEST_P(StoreContract, BytesComeBackAsTheyWere) {
  const std::string bytes = all_bytes();
  const Key key = execution(std::string("\0\xff\x80'\\", 5), 0xff);
  RootChange change = put(key, 0, bytes);
  change.fixed = std::string("\0", 1) + bytes;
  change.listing->flow = bytes.substr(0, 16);
  ChangeSet set = set_of({change});
  set.satellites = {satellite(key, 255, 0, bytes)};
  set.log = {event(key, bytes, 255)};
  write(set);

  ASSERT_TRUE(load(key));
  EXPECT_EQ(load(key)->fixed, change.fixed);
  EXPECT_EQ(load(key)->body, bytes);
  EXPECT_EQ(read(*session_, {key}).at(0).body, bytes);
  session_->release();
  EXPECT_EQ(must(store_->load_satellites(key, 255, 0, 1)).at(0).body, bytes);
  const auto history = must(store_->history(key, "", 1));
  EXPECT_EQ(history.at(0).entry.body, bytes);
  EXPECT_EQ(history.at(0).entry.root, key);
  EXPECT_EQ(history.at(0).entry.type, 255);
  EXPECT_EQ(list([&](auto& query) { query.flow = bytes.substr(0, 16); }).size(), 1u);
  EXPECT_TRUE(list([&](auto& query) { query.flow = bytes.substr(0, 1); }).empty());
}

TEST_P(StoreContract, EmptyStringsAreValues) {
  const Key key = execution("");
  RootChange change = put(key, 0, "", Listing{});
  change.fixed = "";
  ChangeSet set = set_of({change});
  set.satellites = {satellite(key, 0, 0, "")};
  LogEntry entry;
  entry.root = key;
  set.log = {entry};
  write(set);
  ASSERT_TRUE(load(key));
  EXPECT_EQ(load(key)->fixed, "");
  EXPECT_EQ(load(key)->body, "");
  const auto satellites = must(store_->load_satellites(key, 0, 0, 1));
  ASSERT_EQ(satellites.size(), 1u);
  EXPECT_EQ(satellites[0].body, "");
  EXPECT_EQ(must(store_->history(key, "", 1)).at(0).entry.body, "");
  EXPECT_EQ(list([](auto& query) { query.name_space = query.lane = query.kind = query.flow = ""; }).size(), 1u);
}

TEST_P(StoreContract, LargeBodies) {
  const std::string large = std::string(1024 * 1024, '\xfe') + std::string(1, '\0');
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 6; ++i) {
    const Key key = execution(std::to_string(i));
    ChangeSet set = set_of({put(key, 0, large)});
    set.satellites = {satellite(key, payload, 0, large + std::to_string(i))};
    sets.push_back(set);
  }
  EXPECT_EQ(commit(sets), Verdicts(6, Verdict::committed));
  for (int i = 0; i < 6; ++i) {
    const Key key = execution(std::to_string(i));
    EXPECT_TRUE(load(key)->body == large);
    EXPECT_TRUE(must(store_->load_satellites(key, payload, 0, 1)).at(0).body == large + std::to_string(i));
  }
}

TEST_P(StoreContract, TheLongestKey) {
  const Key key = execution(std::string(157, '\xff'), 255);
  ASSERT_EQ(key.bytes.size(), 160u);
  const RouteNo route = intern("lane", {});
  ChangeSet set = ready_set({route, 0, 1, key});
  set.due_put = {{1, key}};
  write(set);
  EXPECT_EQ(ready(*session_, route).at(0).entry.key, key);
  EXPECT_EQ(due(*session_).at(0).entry.key, key);
}

// ---------------------------------------------------------------- satellites

TEST_P(StoreContract, SatellitesAreInsertedAndReplaced) {
  const Key key = execution("a");
  ChangeSet first = set_of({put(key, 0)});
  first.satellites = {satellite(key, payload, 0, "old"), satellite(key, payload, 1, "same")};
  write(first);
  ChangeSet second = set_of({put(key, 1)});
  second.satellites = {satellite(key, payload, 0, "new"), satellite(key, result, 0, "result")};
  write(second);
  const auto payloads = must(store_->load_satellites(key, payload, 0, 10));
  ASSERT_EQ(payloads.size(), 2u);
  EXPECT_EQ(payloads[0].body, "new");
  EXPECT_EQ(payloads[1].body, "same");
  EXPECT_EQ(must(store_->load_satellites(key, result, 0, 10)).at(0).body, "result");
}

TEST_P(StoreContract, SatellitesAreDroppedByNameAndMissingOnesAreNoError) {
  const Key key = execution("a");
  ChangeSet first = set_of({put(key, 0)});
  first.satellites = {satellite(key, payload, 0, "a"), satellite(key, payload, 1, "b"), satellite(key, result, 0, "c")};
  write(first);
  ChangeSet second = set_of({put(key, 1)});
  second.satellites_drop = {{key, payload, 0}, {key, payload, 77}, {key, 99, 0}};
  second.satellites = {satellite(key, payload, 2, "d")};
  write(second);
  EXPECT_EQ(numbers(must(store_->load_satellites(key, payload, 0, 10))), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(must(store_->load_satellites(key, result, 0, 10)).size(), 1u);
}

TEST_P(StoreContract, SatellitesAreReadInRanges) {
  const Key key = execution("a"), other = execution("b");
  ChangeSet set = set_of({put(key, 0), put(other, 0)});
  for (const std::uint32_t n : {300u, 2u, 1u, 4000000000u, 10u}) {
    set.satellites.push_back(satellite(key, payload, n, std::to_string(n)));
    set.satellites.push_back(satellite(other, payload, n + 1, "other"));
    set.satellites.push_back(satellite(key, result, n + 2, "other"));
  }
  write(set);
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(numbers(must(store_->load_satellites(key, payload, 0, 100))), (Numbers{1, 2, 10, 300, 4000000000u}));
  EXPECT_EQ(numbers(must(store_->load_satellites(key, payload, 2, 2))), (Numbers{2, 10}));
  EXPECT_EQ(numbers(must(store_->load_satellites(key, payload, 11, 100))), (Numbers{300, 4000000000u}));
  EXPECT_EQ(numbers(must(store_->load_satellites(key, payload, 4000000001u, 100))), Numbers{});
  EXPECT_EQ(must(store_->load_satellites(key, payload, 10, 1)).at(0).body, "10");
}

TEST_P(StoreContract, SatellitesAreReadByNameInASession) {
  const Key a = execution("a"), b = execution("b");
  ChangeSet set = set_of({put(a, 0), put(b, 0)});
  set.satellites = {satellite(a, payload, 0, "a0"), satellite(a, payload, 1, "a1"), satellite(b, result, 0, "b0")};
  write(set);
  std::map<SatelliteName, std::string> found;
  for (const auto& item : must(session_->read_satellites({{b, result, 0}, {a, payload, 1}, {a, result, 0}}))) {
    found[item.name] = item.body;
  }
  const std::map<SatelliteName, std::string> expected = {{{a, payload, 1}, "a1"}, {{b, result, 0}, "b0"}};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(must(session_->read_satellites({})).empty());
}

// ---------------------------------------------------------------- counters

TEST_P(StoreContract, CountersAddUp) {
  const auto adding = [&](std::vector<CounterAdd> adds) {
    ChangeSet set;
    set.counters = std::move(adds);
    return set;
  };
  write(adding({{"b", 7}, {"a", 1}}));
  write(adding({{"b", 3}, {"b", -1}}));
  EXPECT_EQ(must(store_->counters("")), (Counters{{"a", 1}, {"b", 9}}));
  EXPECT_EQ(commit({adding({{"b", 1}}), adding({{"b", 1}, {"c", 1}})}),
            (Verdicts{Verdict::committed, Verdict::committed}));
  EXPECT_EQ(must(store_->counters("")), (Counters{{"a", 1}, {"b", 11}, {"c", 1}}));
  write(adding({{"b", -30}, {"c", -1}, {"d", 0}, {"e", 5}, {"e", -5}}));
  EXPECT_EQ(must(store_->counters("")), (Counters{{"a", 1}, {"b", -19}})) << "negative; those that are 0 are left out";
  write(adding({{"b", 19}}));
  EXPECT_EQ(must(store_->counters("b")), Counters{});
}

TEST_P(StoreContract, CountersAreFoundByTheBeginningOfTheirNames) {
  ChangeSet set;
  const std::string separator = "\x1f";
  for (const std::string name : {"e", "eshop", "eshop\x1flane", "eshop\x1fl\xc3\xa4ne", "eshops", "f"}) {
    set.counters.push_back({name, 1});
  }
  write(set);
  const auto names = [&](const std::string& prefix) {
    return each(must(store_->counters(prefix)), [](const Counter& counter) { return counter.name; });
  };
  EXPECT_EQ(names(""), (Ids{"e", "eshop", "eshop\x1flane", "eshop\x1fl\xc3\xa4ne", "eshops", "f"}));
  EXPECT_EQ(names("eshop\x1f"), (Ids{"eshop\x1flane", "eshop\x1fl\xc3\xa4ne"}));
  EXPECT_EQ(names("eshop"), (Ids{"eshop", "eshop\x1flane", "eshop\x1fl\xc3\xa4ne", "eshops"}));
  EXPECT_EQ(names("g"), Ids{});
}

TEST_P(StoreContract, AStaleSetDoesNotCountAndItsNeighboursDo) {
  const auto adding = [&](std::string_view id, std::uint64_t expected, std::int64_t delta) {
    ChangeSet set = set_of({put(execution(id), expected)});
    set.counters = {{"counter", delta}};
    return set;
  };
  EXPECT_EQ(commit({adding("a", 0, 3), adding("stale", 9, 100), adding("b", 0, 4)}),
            (Verdicts{Verdict::committed, Verdict::stale, Verdict::committed}));
  EXPECT_EQ(must(store_->counters("")), (Counters{{"counter", 7}}));
}

// ---------------------------------------------------------------- several sessions

TEST_P(StoreContract, WhatOneHandleCommitsAnotherReads) {
  const auto other_store = open_store();
  const auto other = must(other_store->open_session());
  const Key key = execution("a");
  for (std::uint64_t version = 0; version < 20; ++version) {
    Session& writer = version % 2 == 0 ? *session_ : *other;
    Session& reader = version % 2 == 0 ? *other : *session_;
    ASSERT_EQ(must(writer.commit({set_of({put(key, version, std::to_string(version))})})),
              Verdicts{Verdict::committed});
    const auto records = read(reader, {key});
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].version, version + 1);
    EXPECT_EQ(records[0].body, std::to_string(version));
    EXPECT_EQ(must(other_store->load({key})).at(0).version, version + 1);
    EXPECT_EQ(version_of(key), version + 1);
  }
}

TEST_P(StoreContract, ReadingARecordDoesNotLockIt) {
  const auto other = must(store_->open_session());
  const Key key = execution("a");
  EXPECT_TRUE(read(*session_, {key}).empty());
  auto theirs = std::async(std::launch::async, [&] { return must(other->commit({set_of({put(key, 0)})})); });
  if (GetParam().takes_turns) session_->release();
  EXPECT_EQ(theirs.get(), Verdicts{Verdict::committed});
  EXPECT_EQ(read(*session_, {key}).size(), 1u) << "a later read of the same batch is as fresh as any";
  EXPECT_EQ(commit_one(set_of({put(key, 0)})), Verdict::stale);
}

TEST_P(StoreContract, RacingSessionsNeverLoseAnUpdate) {
  constexpr int threads = 4, rounds = 25;
  const Key key = execution("a");
  write(set_of({put(key, 0, "0")}));
  std::vector<std::future<void>> workers;
  for (int t = 0; t < threads; ++t) {
    workers.push_back(std::async(std::launch::async, [&] {
      const auto session = must(store_->open_session());
      for (int done = 0; done < rounds;) {
        const Record record = read(*session, {key}).at(0);
        const std::string body = std::to_string(std::stoi(record.body) + 1);
        const auto verdicts = must(session->commit({set_of({put(key, record.version, body)})}));
        if (verdicts.at(0) == Verdict::committed) ++done;
      }
    }));
  }
  for (auto& worker : workers) worker.get();
  EXPECT_EQ(load(key)->body, std::to_string(threads * rounds));
  EXPECT_EQ(version_of(key), static_cast<std::uint64_t>(threads * rounds) + 1);
}

TEST_P(StoreContract, RacingSetsOverTheSameRootsInAnyOrderAllEnd) {
  constexpr int threads = 4, rounds = 15;
  const std::vector<Key> keys = {execution("a"), execution("b"), execution("c")};
  write(set_of({put(keys[0], 0), put(keys[1], 0), put(keys[2], 0)}));
  std::vector<std::future<void>> workers;
  for (int t = 0; t < threads; ++t) {
    workers.push_back(std::async(std::launch::async, [&, t] {
      const auto session = must(store_->open_session());
      for (int done = 0; done < rounds;) {
        std::vector<RootChange> changes;
        for (const Record& record : read(*session, keys)) {
          changes.push_back(put(record.key, record.version));
        }
        std::rotate(changes.begin(), changes.begin() + t % 3, changes.end());
        if (must(session->commit({set_of(changes)})).at(0) == Verdict::committed) ++done;
      }
    }));
  }
  for (auto& worker : workers) worker.get();
  for (const Key& key : keys) EXPECT_EQ(version_of(key), static_cast<std::uint64_t>(threads * rounds) + 1);
}

TEST_P(StoreContract, RacingCountersLoseNothing) {
  constexpr int threads = 4, rounds = 20;
  std::vector<std::future<void>> workers;
  for (int t = 0; t < threads; ++t) {
    workers.push_back(std::async(std::launch::async, [&] {
      const auto session = must(store_->open_session());
      for (int i = 0; i < rounds; ++i) {
        ChangeSet set;
        set.counters = {{"counter", 3}, {"other", -1}};
        EXPECT_EQ(must(session->commit({set})), Verdicts{Verdict::committed});
      }
    }));
  }
  for (auto& worker : workers) worker.get();
  EXPECT_EQ(must(store_->counters("")), (Counters{{"counter", 3 * threads * rounds}, {"other", -threads * rounds}}));
}

// Whoever checks a record changes something that depends on it. If the record could change before the commit, both would
// be true at once: two sessions that each check the record of the other, and change their own, must not both commit.
TEST_P(StoreContract, ACheckHoldsUntilTheCommit) {
  const Key a = execution("a"), b = execution("b");
  write(set_of({put(a, 0, "on"), put(b, 0, "on")}));
  for (int round = 0; round < 25; ++round) {
    const std::uint64_t version_a = version_of(a), version_b = version_of(b);
    // Each switches itself off, unless the other is off: one must stay on.
    const auto switch_off = [&](const Key& own, std::uint64_t own_version, const Key& other,
                                std::uint64_t other_version) {
      const auto session = must(store_->open_session());
      return must(session->commit({set_of({put(own, own_version, "off"), check(other, other_version)})})).at(0);
    };
    auto other = std::async(std::launch::async, [&] { return switch_off(b, version_b, a, version_a); });
    const Verdict mine = switch_off(a, version_a, b, version_b);
    const Verdict theirs = other.get();
    EXPECT_FALSE(mine == Verdict::committed && theirs == Verdict::committed) << "in round " << round;
    for (const Key& key : {a, b}) write(set_of({put(key, version_of(key), "on")}));
  }
}

// ---------------------------------------------------------------- time and restart

TEST_P(StoreContract, TheGivenClockIsTheStoresClock) {
  EXPECT_EQ(must(store_->now_us()), clock_.now_us());
  clock_.advance_us(1'234'567);
  EXPECT_EQ(must(store_->now_us()), clock_.now_us());
  const ReadReply reply = must(session_->read({}));
  EXPECT_EQ(reply.now_us, clock_.now_us());
  EXPECT_EQ(reply.now_ms(), clock_.now_us() / 1000);
}

TEST_P(StoreContract, WithoutOneTheClockIsReal) {
  const auto store = database_->open();
  const auto session = must(store->open_session());
  const auto real_us = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  };
  constexpr std::int64_t tolerance_us = 60'000'000;
  EXPECT_NEAR(static_cast<double>(must(store->now_us())), static_cast<double>(real_us()), tolerance_us);
  const std::int64_t first = must(session->read({})).now_us;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::int64_t second = must(session->read({})).now_us;
  session->release();
  EXPECT_NEAR(static_cast<double>(first), static_cast<double>(real_us()), tolerance_us);
  EXPECT_GT(second, first);
}

TEST_P(StoreContract, EverythingSurvivesARestart) {
  const Key key = execution("a");
  const RouteNo route = intern("lane", {"gpu"});
  Listing listed = listing(1000, 3);
  listed.tags = tags({"k=v"});
  ChangeSet set = set_of({put(key, 0, "body", listed)});
  set.ready_put = {{route, 5, 6, key}};
  set.due_put = {{clock_.now_ms(), key}};
  set.satellites = {satellite(key, payload, 4, "satellite")};
  set.log = {event(key, "one"), event(key, "two")};
  set.counters = {{"counter", 42}};
  write(set);
  LogQuery one_entry;
  one_entry.limit = 1;
  const std::string first = must(store_->read_log(one_entry)).next;

  reopen();
  EXPECT_EQ(load(key)->body, "body");
  EXPECT_EQ(version_of(key), 1u);
  EXPECT_EQ(ready(*session_, route).at(0).entry, (ReadyEntry{route, 5, 6, key}));
  session_->release();
  EXPECT_EQ(due(*session_).at(0).entry, (DueEntry{clock_.now_ms(), key}));
  session_->release();
  EXPECT_EQ(must(store_->next_due()), clock_.now_ms());
  EXPECT_EQ(must(store_->load_satellites(key, payload, 0, 10)).at(0).body, "satellite");
  EXPECT_EQ(must(store_->counters("")), (Counters{{"counter", 42}}));
  ReadRequest routes;
  routes.want_routes = true;
  EXPECT_EQ(must(session_->read(routes)).routes, (std::vector<Route>{{route, "lane", {"gpu"}, "ns"}}));
  session_->release();
  EXPECT_EQ(list([](auto& query) {
              query.states = {3};
              query.tag = "k=v";
            }).size(),
            1u);
  std::string cursor = first;
  EXPECT_EQ(bodies(drain_log({}, cursor)), Ids{"two"});
  EXPECT_EQ(bodies(must(store_->history(key, "", 10))), (Ids{"one", "two"}));
}

TEST_P(StoreContract, TheLogGoesOnAfterARestart) {
  const Key key = execution("a");
  ChangeSet first = set_of({put(key, 0)});
  first.log = {event(key, "one")};
  write(first);
  std::string cursor;
  drain_log({}, cursor);
  reopen();
  ChangeSet second = set_of({put(key, 1)});
  second.log = {event(key, "two")};
  write(second);
  EXPECT_EQ(bodies(drain_log({}, cursor)), Ids{"two"});
}

TEST_P(StoreContract, ASessionThatIsDroppedLeavesNothingBehind) {
  const RouteNo route = intern("lane", {});
  write(ready_set({route, 0, 1, execution("a")}));
  for (int i = 0; i < 3; ++i) {
    const auto session = must(store_->open_session());
    EXPECT_EQ(ids(ready(*session, route)), Ids{"a"});
  }
  EXPECT_EQ(ids(ready(*session_, route)), Ids{"a"});
}

}  // namespace
}  // namespace flowfabric::test
