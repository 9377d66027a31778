// Searches, for every store: ready and due candidates, routes, listings, scans.

#include "conformance/store_contract.hpp"

#include <chrono>
#include <future>
#include <map>
#include <set>

namespace flowfabric::test {
namespace {

// ---------------------------------------------------------------- ready

TEST_P(StoreContract, ReadyCandidatesComeInTheOrderOfService) {
  const RouteNo route = intern("lane", {});
  constexpr std::uint64_t last = (std::uint64_t{1} << 63) - 1;
  const std::vector<ReadyEntry> in_order = {
      {route, 32767, last, execution("a")},
      {route, 5, 0, execution("b")},
      {route, 5, 1, execution("\x7f")},
      {route, 5, 1, execution("\x80")},
      {route, 5, 1, execution(std::string("\xff\0", 2))},
      {route, 5, std::uint64_t{1} << 40, execution("f")},
      {route, 0, 3, execution("g")},
      {route, -1, 2, execution("h")},
      {route, -2, 1, execution("i")},
      {route, -32768, 0, execution("j")},
  };
  // Written in another order, so that the order of insertion proves nothing.
  for (std::size_t i = 0; i < in_order.size(); ++i) write(ready_set(in_order[i * 3 % in_order.size()]));
  const auto found = ready(*session_, route);
  EXPECT_EQ(each(found, [](const Candidate& candidate) { return candidate.entry; }), in_order);
  for (const Candidate& candidate : found) {
    EXPECT_EQ(candidate.record.key, candidate.entry.key);
    EXPECT_EQ(candidate.record.version, 1u);
    EXPECT_EQ(candidate.record.fixed, "fixed");
    EXPECT_EQ(candidate.record.body, "body");
  }
}

TEST_P(StoreContract, DemandsAreLimitedEachByItself) {
  const RouteNo a = intern("a", {}), b = intern("b", {});
  const RouteNo empty = intern("empty", {});
  for (std::uint64_t i = 0; i < 5; ++i) {
    write(ready_set({a, 0, i, execution("a" + std::to_string(i))}));
    write(ready_set({b, 9, i, execution("b" + std::to_string(i))}));
  }
  ReadRequest request;
  request.ready = {{b, 2}, {empty, 4}, {a, 3}};
  const auto found = must(session_->read(request)).ready;
  std::map<RouteNo, Ids> by_route;
  std::vector<RouteNo> groups;
  for (const Candidate& candidate : found) {
    if (groups.empty() || groups.back() != candidate.entry.route) groups.push_back(candidate.entry.route);
    by_route[candidate.entry.route].emplace_back(candidate.entry.key.id());
  }
  EXPECT_EQ(groups.size(), 2u) << "candidates are grouped by route";
  EXPECT_EQ(by_route[a], (Ids{"a0", "a1", "a2"}));
  EXPECT_EQ(by_route[b], (Ids{"b0", "b1"}));
}

ReadyEntry of(std::string name_space, ReadyEntry entry) {
  entry.name_space = std::move(name_space);
  return entry;
}

TEST_P(StoreContract, ADemandCanKeepToANamespace) {
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  constexpr std::uint64_t crowd = 600;  // before all entries of the others
  std::vector<ChangeSet> sets;
  for (std::uint64_t i = 0; i < crowd; ++i) {
    sets.push_back(ready_set(of("crowd", {route, 9, i, execution("crowd" + std::to_string(i))})));
  }
  commit(sets);
  write(ready_set(of("a", {route, 0, 7, execution("third")})));
  write(ready_set(of("a", {route, 5, 9, execution("first")})));
  write(ready_set(of("a", {route, 0, 6, execution("second")})));
  write(ready_set(of("a", {route, -4, 1, execution("fourth")})));
  write(ready_set(of("a", {other, 9, 1, execution("elsewhere")})));
  write(ready_set(of("aa", {route, 9, 0, execution("aa")})));
  write(ready_set(of("A", {route, 9, 0, execution("A")})));

  ReadRequest request;
  request.ready = {{route, 3, "a"}, {route, 10, "b"}, {other, 10, "a"}, {route, 10, "aa"}};
  const auto found = must(session_->read(request)).ready;
  EXPECT_EQ(ids(found), (Ids{"first", "second", "third", "elsewhere", "aa"}));
  EXPECT_EQ(each(found, [](const Candidate& candidate) { return candidate.demand; }),
            (std::vector<std::size_t>{0, 0, 0, 2, 3}));
  EXPECT_EQ(found[0].entry, of("a", {route, 5, 9, execution("first")}));
  EXPECT_EQ(found[0].record.body, "body");
}

// Stores may treat the default namespace differently.
TEST_P(StoreContract, ADemandCanKeepToTheDefaultNamespace) {
  const std::string common(default_namespace);
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  std::vector<ChangeSet> sets;
  for (std::uint64_t i = 0; i < 600; ++i) {
    sets.push_back(ready_set(of("crowd", {route, 9, i, execution("crowd" + std::to_string(i))})));
  }
  commit(sets);
  write(ready_set(of(common, {route, 0, 7, execution("third")})));
  write(ready_set(of(common, {route, 5, 9, execution("first")})));
  write(ready_set(of(common, {route, 0, 6, execution("second")})));
  write(ready_set(of(common, {other, 9, 1, execution("elsewhere")})));
  write(ready_set(of("a", {route, 9, 0, execution("a")})));
  ReadRequest request;
  request.ready = {{route, 10, common}, {route, 10, "a"}, {other, 10, common}};
  EXPECT_EQ(ids(must(session_->read(request)).ready), (Ids{"first", "second", "third", "a", "elsewhere"}));
  request.ready = {{route, 2, common}};
  EXPECT_EQ(ids(must(session_->read(request)).ready), (Ids{"first", "second"}));
  session_->release();
}

TEST_P(StoreContract, TwoDemandsMayFindTheSame) {
  const RouteNo route = intern("lane", {});
  for (const std::string a : {"a", "default"}) {
    const std::string b = a + "b";
    write(ready_set(of(a, {route, 0, 1, execution(a + "1")})));
    write(ready_set(of(b, {route, 0, 2, execution(a + "2")})));
    write(ready_set(of(a, {route, 0, 3, execution(a + "3")})));
    ReadRequest request;
    request.ready = {{route, 2, a}, {route, 6}, {route, 2, b}};
    const auto found = must(session_->read(request)).ready;
    std::vector<std::size_t> in_demand(3);
    for (const Candidate& candidate : found) ++in_demand[candidate.demand];
    EXPECT_EQ(in_demand, (std::vector<std::size_t>{2, a == "a" ? 3U : 6U, 1}));
    EXPECT_EQ(found[0].entry.key, execution(a + "1"));
    EXPECT_EQ(found[1].entry.key, execution(a + "3"));
    EXPECT_EQ(found.back().entry.key, execution(a + "2"));
    for (const Candidate& candidate : found) EXPECT_EQ(candidate.record.key, candidate.entry.key);
    session_->release();
  }
}

TEST_P(StoreContract, CandidatesOfANamespaceAreKeptFromOtherSessions) {
  const RouteNo route = intern("lane", {});
  for (std::uint64_t i = 0; i < 4; ++i) write(ready_set(of("a", {route, 0, i, execution(std::to_string(i))})));
  const auto search = [&](Session& session, std::uint32_t limit, std::optional<std::string> name_space) {
    ReadRequest request;
    request.ready = {{route, limit, std::move(name_space)}};
    return must(session.read(request)).ready;
  };
  const auto other = must(store_->open_session());
  EXPECT_EQ(ids(search(*session_, 2, "a")), (Ids{"0", "1"}));
  if (GetParam().takes_turns) session_->release();
  const Ids rest = GetParam().takes_turns ? Ids{"0", "1", "2", "3"} : Ids{"2", "3"};
  EXPECT_EQ(ids(search(*other, 10, std::nullopt)), rest);
  EXPECT_EQ(ids(search(*other, 10, "a")), rest);
  session_->release();
  other->release();
}

TEST_P(StoreContract, RecordsAndCandidatesInOneRead) {
  const RouteNo route = intern("lane", {});
  write(ready_set({route, 0, 1, execution("a")}));
  ReadRequest request;
  request.keys = {execution("a"), execution("b")};
  request.ready = {{route, 10}};
  request.want_routes = true;
  const ReadReply reply = must(session_->read(request));
  EXPECT_EQ(ids(reply.records), Ids{"a"});
  EXPECT_EQ(ids(reply.ready), Ids{"a"});
  EXPECT_EQ(reply.routes.size(), 1u);
  EXPECT_TRUE(reply.due.empty());
}

TEST_P(StoreContract, ReadyEntriesAreDroppedExactly) {
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  const Key key = execution("a");
  write(ready_set({route, 3, 4, key}));
  ChangeSet misses = set_of({put(key, 1)});
  misses.ready_drop = {
      {other, 3, 4, key}, {route, 2, 4, key}, {route, 3, 5, key}, {route, 3, 4, execution("never put")}};
  write(misses);
  EXPECT_EQ(ids(ready(*session_, route)), Ids{"a"});
  ChangeSet hits = set_of({put(key, 2)});
  hits.ready_drop = {{route, 3, 4, key}};
  write(hits);
  EXPECT_TRUE(ready(*session_, route).empty());
}

TEST_P(StoreContract, ADropFindsAReadyEntryWhateverItsNamespace) {
  const RouteNo route = intern("lane", {});
  const Key key = execution("a");
  const ReadyEntry entry = of("ns", {route, 3, 4, key});
  write(ready_set(entry));
  ChangeSet again = set_of({put(key, 1)});
  again.ready_put = {entry};
  write(again);  // an existing entry is kept
  EXPECT_EQ(ready(*session_, route).size(), 1u);
  ChangeSet drop = set_of({put(key, 2)});
  drop.ready_drop = {{route, 3, 4, key}};
  write(drop);
  ReadRequest request;
  request.ready = {{route, 10}, {route, 10, "ns"}};
  EXPECT_TRUE(must(session_->read(request)).ready.empty());
}

TEST_P(StoreContract, AReadyEntryCanMove) {
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  const Key key = execution("a");
  write(ready_set({route, 3, 4, key}));
  ChangeSet move = set_of({put(key, 1)});
  move.ready_drop = {{route, 3, 4, key}};
  move.ready_put = {{other, -3, 5, key}};
  write(move);
  EXPECT_TRUE(ready(*session_, route).empty());
  const auto found = ready(*session_, other);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].entry, (ReadyEntry{other, -3, 5, key}));
  EXPECT_EQ(found[0].record.version, 2u);
}

// What a second session gets while the first one's batch lasts. A store whose sessions take turns returns nothing until
// the first ends, so the search has its own thread.
template <class Search>
Ids offered_meanwhile(const StoreKind& kind, Session& first, Search search) {
  auto offered = std::async(std::launch::async, [&] { return ids(search()); });
  if (kind.takes_turns) {
    EXPECT_EQ(offered.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    first.release();
  }
  return offered.get();
}

TEST_P(StoreContract, CandidatesAreKeptFromOtherSessionsUntilTheBatchEnds) {
  const RouteNo route = intern("lane", {});
  for (std::uint64_t i = 0; i < 4; ++i) write(ready_set({route, 0, i, execution(std::to_string(i))}));
  const auto other = must(store_->open_session());

  EXPECT_EQ(ids(ready(*session_, route, 2)), (Ids{"0", "1"}));
  const Ids rest = offered_meanwhile(GetParam(), *session_, [&] { return ready(*other, route, 10); });
  EXPECT_EQ(rest, GetParam().takes_turns ? (Ids{"0", "1", "2", "3"}) : (Ids{"2", "3"}));
  session_->release();
  other->release();
  EXPECT_EQ(ids(ready(*other, route, 3)), (Ids{"0", "1", "2"})) << "after release";

  ChangeSet claim = set_of({put(execution("0"), 1)});
  claim.ready_drop = {{route, 0, 0, execution("0")}};
  EXPECT_EQ(must(other->commit({claim})), Verdicts{Verdict::committed});
  EXPECT_EQ(ids(ready(*session_, route, 10)), (Ids{"1", "2", "3"})) << "after commit";
}

TEST_P(StoreContract, DueCandidatesAreKeptFromOtherSessionsUntilTheBatchEnds) {
  for (const TimestampMs at : {1, 2, 3}) write(due_set({at, execution(std::to_string(at))}));
  const auto other = must(store_->open_session());
  EXPECT_EQ(ids(due(*session_, 2)), (Ids{"1", "2"}));
  const Ids rest = offered_meanwhile(GetParam(), *session_, [&] { return due(*other, 10); });
  EXPECT_EQ(rest, GetParam().takes_turns ? (Ids{"1", "2", "3"}) : Ids{"3"});
  session_->release();
  other->release();
  EXPECT_EQ(ids(due(*other, 10)), (Ids{"1", "2", "3"}));
  other->release();
}

TEST_P(StoreContract, ACandidateClaimedMeanwhileIsStale) {
  const RouteNo route = intern("lane", {});
  const Key key = execution("a");
  write(ready_set({route, 0, 1, key}));
  const auto other = must(store_->open_session());
  ChangeSet claim = set_of({put(key, 1)});
  claim.ready_drop = {{route, 0, 1, key}};

  EXPECT_EQ(ready(*session_, route).at(0).record.version, 1u);
  session_->release();
  EXPECT_EQ(ready(*other, route).at(0).record.version, 1u);
  EXPECT_EQ(must(other->commit({claim})), Verdicts{Verdict::committed});
  EXPECT_EQ(commit_one(claim), Verdict::stale);
  EXPECT_EQ(version_of(key), 2u);
}

// A store may make the second writer wait for the first one's batch, so each has a thread; one of them must win.
TEST_P(StoreContract, AReservationIsNoLicence) {
  const RouteNo route = intern("lane", {});
  const Key key = execution("a");
  write(ready_set({route, 0, 1, key}));
  ChangeSet change = set_of({put(key, 1)});
  change.ready_drop = {{route, 0, 1, key}};

  EXPECT_EQ(ready(*session_, route).size(), 1u);
  const auto other = must(store_->open_session());
  auto outsider = std::async(std::launch::async, [&] {
    read(*other, {key});
    return must(other->commit({change})).at(0);
  });
  outsider.wait_for(std::chrono::milliseconds(200));
  const Verdict mine = commit_one(change);
  const Verdict theirs = outsider.get();
  EXPECT_NE(mine, theirs);
  EXPECT_TRUE(mine == Verdict::committed || theirs == Verdict::committed);
  EXPECT_EQ(version_of(key), 2u);
  EXPECT_TRUE(ready(*session_, route).empty());
}

TEST_P(StoreContract, RacingClaimersTakeEveryCandidateOnce) {
  constexpr int threads = 4, number = 120;
  const RouteNo route = intern("lane", {});
  std::vector<ChangeSet> sets;
  for (std::uint64_t i = 0; i < number; ++i) sets.push_back(ready_set({route, 0, i, execution(std::to_string(i))}));
  commit(sets);
  std::vector<std::future<Ids>> workers;
  for (int t = 0; t < threads; ++t) {
    workers.push_back(std::async(std::launch::async, [&] {
      const auto session = must(store_->open_session());
      Ids claimed;
      // Everything may be reserved by others for a moment, so an empty reply counts only if it is repeated.
      for (int empty = 0; empty < 50;) {
        const auto found = ready(*session, route, 5);
        std::vector<ChangeSet> claims;
        for (const Candidate& candidate : found) {
          claims.push_back(set_of({put(candidate.entry.key, candidate.record.version)}));
          claims.back().ready_drop = {candidate.entry};
        }
        const auto verdicts = must(session->commit(claims));
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
          if (verdicts[i] == Verdict::committed) claimed.emplace_back(found[i].entry.key.id());
        }
        empty = found.empty() ? empty + 1 : 0;
      }
      return claimed;
    }));
  }
  std::multiset<std::string> claimed;
  for (auto& worker : workers) {
    for (const auto& id : worker.get()) claimed.insert(id);
  }
  EXPECT_EQ(claimed.size(), static_cast<std::size_t>(number));
  EXPECT_EQ(std::set<std::string>(claimed.begin(), claimed.end()).size(), static_cast<std::size_t>(number));
}

TEST_P(StoreContract, ReadyEntriesBeforeOneAreCounted) {
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  const std::vector<ReadyEntry> in_order = {
      {route, 7, 9, execution("a")}, {route, 0, 1, execution("b")},  {route, 0, 1, execution("c")},
      {route, 0, 2, execution("d")}, {route, -7, 0, execution("e")},
  };
  for (const ReadyEntry& entry : in_order) write(ready_set(entry));
  write(ready_set({other, 9, 0, execution("x")}));
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    EXPECT_EQ(must(store_->count_ready_before(in_order[i], 100)), i);
  }
  EXPECT_EQ(must(store_->count_ready_before(in_order[4], 3)), 3u);
  EXPECT_EQ(must(store_->count_ready_before(in_order[4], 4)), 4u);
  EXPECT_EQ(must(store_->count_ready_before({route, 0, 1, execution("bb")}, 100)), 2u) << "the entry need not exist";
  EXPECT_EQ(must(store_->count_ready_before({other, -9, 0, execution("y")}, 100)), 1u);
}

TEST_P(StoreContract, TheFirstReadyEntryOfAPriorityIsFound) {
  const RouteNo route = intern("lane", {}), other = intern("other", {});
  EXPECT_EQ(must(store_->first_ready(route, 0)), std::nullopt);
  write(ready_set({route, 0, 70, execution("a")}));
  write(ready_set({route, 0, 50, execution("b")}));
  write(ready_set({route, 3, 90, execution("c")}));
  write(ready_set({other, 0, 10, execution("d"), "shop"}));
  EXPECT_EQ(must(store_->first_ready(route, 0)), 50U);
  EXPECT_EQ(must(store_->first_ready(route, 3)), 90U);
  EXPECT_EQ(must(store_->first_ready(route, 1)), std::nullopt);
  EXPECT_EQ(must(store_->first_ready(route, -1)), std::nullopt);
  EXPECT_EQ(must(store_->first_ready(other, 0)), 10U) << "of any namespace";
}

// ---------------------------------------------------------------- due

TEST_P(StoreContract, DueCandidatesComeEarliestFirstUpToNow) {
  const TimestampMs now = clock_.now_ms();
  const std::vector<DueEntry> entries = {{now + 1, execution("future")}, {now, execution("now")},
                                         {now - 1, execution("b")},      {now - 1, execution("a")},
                                         {1, execution("old")},          {now + 100000, execution("far")}};
  for (const DueEntry& entry : entries) write(due_set(entry));
  const auto found = due(*session_);
  ASSERT_EQ(found.size(), 4u);
  const auto times = each(found, [](const DueCandidate& candidate) { return candidate.entry.due_at; });
  EXPECT_EQ(times, (std::vector<TimestampMs>{1, now - 1, now - 1, now}));
  EXPECT_EQ(found[0].record.key, execution("old"));
  EXPECT_EQ(found[0].record.body, "body");
  EXPECT_EQ(found[3].entry, entries[1]);
  session_->release();

  EXPECT_EQ(due(*session_, 2).size(), 2u);
  EXPECT_EQ(ids(due(*session_, 1)), Ids{"old"});
  session_->release();
  clock_.advance_us(999);
  EXPECT_EQ(due(*session_).size(), 4u) << "a millisecond is due when it is complete";
  session_->release();
  clock_.advance_us(1);
  EXPECT_EQ(due(*session_).size(), 5u);
}

TEST_P(StoreContract, NextDueIsTheEarliestEntryWheneverItIs) {
  write(due_set({clock_.now_ms() + 5000, execution("later")}));
  EXPECT_EQ(must(store_->next_due()), clock_.now_ms() + 5000);
  write(due_set({17, execution("past")}));
  EXPECT_EQ(must(store_->next_due()), 17);
  ChangeSet drop = set_of({put(execution("past"), 1)});
  drop.due_drop = {{17, execution("past")}};
  write(drop);
  EXPECT_EQ(must(store_->next_due()), clock_.now_ms() + 5000);
}

TEST_P(StoreContract, ADueEntryCanMove) {
  const Key key = execution("a");
  write(due_set({50, key}));
  ChangeSet move = set_of({put(key, 1)});
  move.due_drop = {{50, key}};
  move.due_put = {{70, key}};
  write(move);
  const auto found = due(*session_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].entry, (DueEntry{70, key}));
  EXPECT_EQ(found[0].record.version, 2u);
  session_->release();
  EXPECT_EQ(must(store_->next_due()), 70);
}

TEST_P(StoreContract, DueEntriesAreDroppedExactly) {
  const Key key = execution("a");
  write(due_set({50, key}));
  ChangeSet misses = set_of({put(key, 1)});
  misses.due_drop = {{51, key}, {50, execution("never put")}};
  write(misses);
  EXPECT_EQ(must(store_->next_due()), 50);
}

TEST_P(StoreContract, NothingIsDueUnlessAskedFor) {
  write(due_set({1, execution("a")}));
  EXPECT_TRUE(must(session_->read({})).due.empty());
  EXPECT_EQ(due(*session_).size(), 1u);
}

// ---------------------------------------------------------------- routes

// tests/conformance/store_route_test.cpp

// ---------------------------------------------------------------- listing

class ListedRecords {
 public:
  static std::vector<ChangeSet> sets() {
    return {
        record("a", "n1", "l1", "k1", "f1", 0, 100, 0, {"a.b=1"}),
        record("b", "n1", "l1", "k2", "f1", 1, 200, 0, {"a.b=11", "x=y"}),
        record("c", "n1", "l2", "k1", "", 2, 300, 350, {"x=y"}),
        record("d", "n2", "l1", "k1", "f2", 1, 400, 450, {}),
        record("e", "n2", "l2", "k2", "f2", 200, 500, 550, {"A.b=1", "100%=_"}),
        record("f", "n1", "l1", "k1", "f1", 1, 600, 650, {"a.b=1", "x=y", "q='\\"}),
    };
  }

 private:
  static ChangeSet record(std::string_view id, const char* name_space, const char* lane, const char* kind,
                          const char* flow, std::uint8_t state, TimestampMs created_at, TimestampMs finished_at,
                          const std::vector<std::string>& tag_list) {
    Listing listed;
    listed.name_space = name_space;
    listed.lane = lane;
    listed.kind = kind;
    listed.flow = flow;
    listed.state = state;
    listed.created_at = created_at;
    listed.finished_at = finished_at;
    listed.tags = tags(tag_list);
    return set_of({put(execution(id), 0, std::string("body of ") + std::string(id), listed)});
  }
};

TEST_P(StoreContract, AListingIsNewestFirst) {
  commit(ListedRecords::sets());
  const auto all = list();
  EXPECT_EQ(ids(all), (Ids{"f", "e", "d", "c", "b", "a"}));
  EXPECT_EQ(all[0].created_at, 600);
  EXPECT_EQ(all[0].record.body, "body of f");
  EXPECT_EQ(all[0].record.fixed, "fixed");
  EXPECT_EQ(all[0].record.version, 1u);
  EXPECT_EQ(ids(list([](auto& query) { query.limit = 2; })), (Ids{"f", "e"}));
}

TEST_P(StoreContract, EachListingFilter) {
  commit(ListedRecords::sets());
  EXPECT_EQ(ids(list([](auto& query) { query.name_space = "n2"; })), (Ids{"e", "d"}));
  EXPECT_EQ(ids(list([](auto& query) { query.name_space = "N2"; })), Ids{});
  EXPECT_EQ(ids(list([](auto& query) { query.lane = "l2"; })), (Ids{"e", "c"}));
  EXPECT_EQ(ids(list([](auto& query) { query.kind = "k2"; })), (Ids{"e", "b"}));
  EXPECT_EQ(ids(list([](auto& query) { query.flow = "f1"; })), (Ids{"f", "b", "a"}));
  EXPECT_EQ(ids(list([](auto& query) { query.flow = ""; })), Ids{"c"});
  EXPECT_EQ(ids(list([](auto& query) { query.states = {0}; })), Ids{"a"});
  EXPECT_EQ(ids(list([](auto& query) { query.states = {0, 2, 200, 7}; })), (Ids{"e", "c", "a"}));
  EXPECT_EQ(ids(list([](auto& query) { query.record_kind = RecordKind::lane; })), Ids{});
}

TEST_P(StoreContract, TimesFilterFromInclusiveToExclusive) {
  commit(ListedRecords::sets());
  EXPECT_EQ(ids(list([](auto& query) { query.created_from = 500; })), (Ids{"f", "e"}));
  EXPECT_EQ(ids(list([](auto& query) { query.created_before = 200; })), Ids{"a"});
  EXPECT_EQ(ids(list([](auto& query) {
              query.created_from = 200;
              query.created_before = 400;
            })),
            (Ids{"c", "b"}));
  EXPECT_EQ(ids(list([](auto& query) { query.finished_from = 550; })), (Ids{"f", "e"}));
  EXPECT_EQ(ids(list([](auto& query) { query.finished_before = 450; })), Ids{"c"}) << "unfinished ones never match";
  EXPECT_EQ(ids(list([](auto& query) {
              query.finished_from = 0;
              query.finished_before = 551;
            })),
            (Ids{"e", "d", "c"}));
}

TEST_P(StoreContract, TagsMatchExactly) {
  commit(ListedRecords::sets());
  const auto tagged = [&](const std::string& tag) { return ids(list([&](auto& query) { query.tag = tag; })); };
  EXPECT_EQ(tagged("a.b=1"), (Ids{"f", "a"}));
  EXPECT_EQ(tagged("a.b=11"), Ids{"b"});
  EXPECT_EQ(tagged("A.b=1"), Ids{"e"});
  EXPECT_EQ(tagged("b=1"), Ids{});
  EXPECT_EQ(tagged("a.b="), Ids{});
  EXPECT_EQ(tagged("a_b=1"), Ids{});
  EXPECT_EQ(tagged("%=1"), Ids{});
  EXPECT_EQ(tagged("100%=_"), Ids{"e"});
  EXPECT_EQ(tagged("q='\\"), Ids{"f"});
  EXPECT_EQ(tagged("x=y"), (Ids{"f", "c", "b"}));
}

TEST_P(StoreContract, ListingFiltersCombine) {
  commit(ListedRecords::sets());
  EXPECT_EQ(ids(list([](auto& query) {
              query.name_space = "n1";
              query.lane = "l1";
              query.kind = "k1";
              query.flow = "f1";
              query.states = {0, 1};
              query.tag = "a.b=1";
              query.created_from = 100;
              query.created_before = 601;
            })),
            (Ids{"f", "a"}));
  EXPECT_EQ(ids(list([](auto& query) {
              query.name_space = "n1";
              query.states = {1};
              query.tag = "x=y";
              query.finished_from = 1;
            })),
            Ids{"f"});
  EXPECT_EQ(ids(list([](auto& query) {
              query.name_space = "n1";
              query.after = ListQuery::Position{600, execution("f")};
              query.limit = 2;
            })),
            (Ids{"c", "b"}));
}

TEST_P(StoreContract, TheListingFollowsTheBodyExceptForNamesAndCreation) {
  const Key key = execution("a");
  write(set_of({put(key, 0, "body", listing(1000, 1))}));
  Listing changed;
  changed.name_space = "other";
  changed.lane = "other";
  changed.kind = "other";
  changed.flow = "other";
  changed.created_at = 2000;
  changed.state = 9;
  changed.finished_at = 3000;
  changed.tags = tags({"new=tag"});
  write(set_of({put(key, 1, "body", changed)}));

  const auto all = list([](auto& query) {
    query.name_space = "ns";
    query.lane = "lane";
    query.kind = "kind";
  });
  ASSERT_EQ(all.size(), 1u) << "the three names never change";
  EXPECT_TRUE(list([](auto& query) { query.flow = "other"; }).empty()) << "nor does the flow";
  EXPECT_EQ(all[0].created_at, 1000);
  EXPECT_EQ(list([](auto& query) { query.states = {9}; }).size(), 1u);
  EXPECT_EQ(list([](auto& query) { query.states = {1}; }).size(), 0u);
  EXPECT_EQ(list([](auto& query) { query.finished_from = 3000; }).size(), 1u);
  EXPECT_EQ(list([](auto& query) { query.tag = "new=tag"; }).size(), 1u);
  EXPECT_EQ(must(store_->inspect()->counts()).listed,
            (std::vector<ListedCount>{{RecordKind::execution, "ns", "lane", 9, 1}}));
}

TEST_P(StoreContract, PagesHaveNoGapsAndNoRepeatsWhileRecordsChange) {
  constexpr int number = 30;
  Ids expected;
  for (int i = number; i-- > 0;) {
    const std::string id = {static_cast<char>('A' + i / 26), static_cast<char>('a' + i % 26)};
    expected.push_back(id);
    write(set_of({put(execution(id), 0, "body", listing(100 + i / 10))}));
  }
  Ids seen;
  std::optional<ListQuery::Position> after;
  for (int page_no = 0; page_no < 20; ++page_no) {
    const auto page = list([&](auto& query) {
      query.after = after;
      query.limit = 7;
    });
    for (const auto& entry : page) seen.emplace_back(entry.record.key.id());
    if (page.empty()) break;
    after = ListQuery::Position{page.back().created_at, page.back().record.key};
    // New and changed records must not disturb a reader of pages.
    write(set_of({put(execution("new" + std::to_string(page_no)), 0, "body", listing(1000))}));
    const Key last = page.back().record.key;
    write(set_of({put(last, version_of(last), "changed", listing(100, 5))}));
    const Key oldest = execution(expected.back());
    write(set_of({put(oldest, version_of(oldest), "changed", listing(100, 5))}));
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(StoreContract, OnlyListedRecordsAreListed) {
  write(set_of({put(execution("a"), 0), put(make_key(RecordKind::idempotency, "i", 7), 0),
                put(make_key(RecordKind::keyring, "k", 7), 0)}));
  EXPECT_EQ(ids(list()), Ids{"a"});
  EXPECT_EQ(list([](auto& query) { query.record_kind = RecordKind::idempotency; }).size(), 0u);
}

TEST_P(StoreContract, ListedRecordsAreCounted) {
  commit(ListedRecords::sets());
  ChangeSet set = set_of({put(make_key(RecordKind::lane, "not listed", 7), 0)});
  set.counters = {{"counter", 3}};
  write(set);
  const InspectedCounts counts = must(store_->inspect()->counts());
  std::map<std::pair<std::string, std::uint8_t>, std::uint64_t> by_lane;
  for (const ListedCount& one : counts.listed) {
    EXPECT_EQ(one.record_kind, RecordKind::execution);
    by_lane[{one.lane, one.state}] += one.count;
  }
  const decltype(by_lane) expected = {{{"l1", 0}, 1}, {{"l1", 1}, 3}, {{"l2", 2}, 1}, {{"l2", 200}, 1}};
  EXPECT_EQ(by_lane, expected);
  EXPECT_TRUE(std::is_sorted(counts.listed.begin(), counts.listed.end()));
  EXPECT_EQ(counts.counters, (std::vector<Counter>{{"counter", 3}}));
}

TEST_P(StoreContract, RecordsOfAGroupAreListedNewestFirst) {
  static constexpr std::uint64_t failed = 77, other = 78;
  const auto add = [&](std::string_view id, TimestampMs created_at, std::uint64_t group, std::uint8_t state = 8) {
    ChangeSet set = set_of({put(execution(id), 0, "body", listing(created_at, state))});
    set.due_put = {{created_at % 7 + 1, execution(id), group, created_at}};
    write(set);
  };
  add("a", 100, failed);
  add("b", 300, failed);
  add("c", 200, failed);
  add("d", 250, other);
  add("e", 200, failed, 9);
  write(set_of({put(execution("f"), 0, "body", listing(260, 8))}));
  const auto of_group = [&](auto narrow) {
    return ids(list([&](auto& query) {
      query.group = failed;
      narrow(query);
    }));
  };
  EXPECT_EQ(of_group([](auto&) {}), (Ids{"b", "e", "c", "a"}));
  EXPECT_EQ(of_group([](auto& query) { query.limit = 2; }), (Ids{"b", "e"}));
  EXPECT_EQ(of_group([](auto& query) { query.states = {8}; }), (Ids{"b", "c", "a"}));
  EXPECT_EQ(of_group([](auto& query) { query.created_before = 300; }), (Ids{"e", "c", "a"}));
  EXPECT_EQ(of_group([](auto& query) { query.lane = "another"; }), Ids{});
  EXPECT_EQ(of_group([](auto& query) { query.after = ListQuery::Position{200, execution("e")}; }), (Ids{"c", "a"}));
  EXPECT_EQ(of_group([](auto& query) { query.after = ListQuery::Position{100, execution("a")}; }), Ids{});
  EXPECT_EQ(of_group([](auto& query) { query.group = 79; }), Ids{});
  EXPECT_EQ(of_group([](auto& query) { query.record_kind = RecordKind::lane; }), Ids{});
  const auto page = list([](auto& query) { query.group = failed; });
  EXPECT_EQ(page.at(1).created_at, 200);
  EXPECT_EQ(page.at(1).state, 9);
  EXPECT_EQ(page.at(1).record.version, 1u);
}

TEST_P(StoreContract, RecordsOfAFlowAreListedNewestFirst) {
  const auto add = [&](std::string_view id, TimestampMs created_at, std::string flow) {
    Listing listed = listing(created_at);
    listed.flow = std::move(flow);
    write(set_of({put(execution(id), 0, "body", listed)}));
  };
  add("a", 100, "one");
  add("b", 300, "one");
  add("c", 300, "one");
  add("d", 200, "two");
  add("e", 400, "");
  const auto of_flow = [&](const std::string& flow, std::optional<ListQuery::Position> after = {}) {
    return ids(list([&](auto& query) {
      query.flow = flow;
      query.after = after;
    }));
  };
  EXPECT_EQ(of_flow("one"), (Ids{"c", "b", "a"}));
  EXPECT_EQ(of_flow("one", ListQuery::Position{300, execution("c")}), (Ids{"b", "a"}));
  EXPECT_EQ(of_flow("two"), Ids{"d"});
  EXPECT_EQ(of_flow("three"), Ids{});
}

// ---------------------------------------------------------------- scan

TEST_P(StoreContract, AScanWalksOneKindByKey) {
  const std::vector<std::string> in_order = {std::string("\0", 1), "a", "a\x7f", "a\x80", "b", "\xff"};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const std::string& id = in_order[i * 5 % in_order.size()];
    write(set_of({put(make_key(RecordKind::keyring, id, 7), 0, "key " + id)}));
  }
  write(
      set_of({put(make_key(RecordKind::idempotency, "before", 7), 0), put(make_key(RecordKind::lane, "next", 7), 0)}));

  Ids seen;
  std::string after;
  for (;;) {
    const auto page = must(store_->scan(RecordKind::keyring, after, 4));
    for (const Record& record : page) {
      seen.emplace_back(record.key.id());
      EXPECT_EQ(record.body, "key " + seen.back());
      EXPECT_EQ(record.version, 1u);
    }
    if (page.empty()) break;
    after = page.back().key.bytes;
  }
  EXPECT_EQ(seen, in_order);
  EXPECT_EQ(must(store_->scan(RecordKind::keyring, "", 2)).size(), 2u);
  EXPECT_TRUE(must(store_->scan(RecordKind::name_space, "", 10)).empty());
}

// Also if several are due at once.
TEST_P(StoreContract, DueEntriesAreFoundBehindAPlace) {
  const TimestampMs now = clock_.now_ms();
  for (const char* name : {"a", "b", "c"}) write(due_set({now - 1, execution(name)}));
  write(due_set({now, execution("0")}));
  write(due_set({now + 1, execution("later")}));
  ReadRequest request;
  request.due_limit = 2;
  const auto found_after = [&](std::optional<DuePosition> place) {
    request.due_after = std::move(place);
    const Ids found = ids(must(session_->read(request)).due);
    session_->release();
    return found;
  };
  EXPECT_EQ(found_after(std::nullopt), (Ids{"a", "b"}));
  EXPECT_EQ(found_after(DuePosition{now - 1, execution("a")}), (Ids{"b", "c"}));
  EXPECT_EQ(found_after(DuePosition{now - 1, execution("bb")}), (Ids{"c", "0"})) << "nothing need stand at the place";
  EXPECT_EQ(found_after(DuePosition{now - 1, execution("c")}), Ids{"0"});
  EXPECT_EQ(found_after(DuePosition{now, execution("0")}), Ids{});
}

}  // namespace
}  // namespace flowfabric::test
