// Routes: stored with what is ready on them, read in the order in which they were stored, removed when nothing is.
#include <chrono>
#include <future>
#include <set>

#include "conformance/store_contract.hpp"

namespace flowfabric::test {
namespace {

class StoreRoutes : public StoreContract {
 protected:
  Route route(const std::string& lane, const std::vector<std::string>& capabilities) {
    return routes_.at(intern(lane, capabilities));
  }
  ReadReply read_routes(Session& session, const std::string& seen = {}) {
    ReadRequest request;
    request.want_routes = true;
    request.routes_seen = seen;
    ReadReply reply = must(session.read(request));
    session.release();
    return reply;
  }
  // One more execution on the route.
  ReadyEntry next_entry(RouteNo number) { return {number, 0, ++sequence_, execution("e" + std::to_string(sequence_))}; }
  void put_on(RouteNo number) { write(ready_set(next_entry(number))); }
  void take_off(const ReadyEntry& entry) {
    ChangeSet set = set_of({put(entry.key, 1)});
    set.ready_drop = {entry};
    write(set);
  }

  std::uint64_t sequence_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreRoutes, testing::ValuesIn(store_kinds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(StoreRoutes, ComeWithTheReadThatAsksForThemInTheOrderOfStorage) {
  const Route a = route("a", {}), gpu = route("a", {"cpu", "gpu:a100"}), last = route("l\xc3\xa4ne", {"x=1"});
  put_on(gpu.number);
  put_on(a.number);
  const ReadReply first = read_routes(*session_);
  EXPECT_EQ(first.routes, (std::vector<Route>{gpu, a}));
  put_on(a.number);
  put_on(last.number);
  const ReadReply second = read_routes(*session_, first.routes_seen);
  EXPECT_EQ(second.routes, std::vector<Route>{last}) << "only what was stored since";
  EXPECT_EQ(read_routes(*session_, second.routes_seen).routes, std::vector<Route>{});
  EXPECT_EQ(read_routes(*session_).routes, (std::vector<Route>{gpu, a, last}));
  EXPECT_TRUE(must(session_->read({})).routes.empty()) << "nobody asked";
}

TEST_P(StoreRoutes, AStaleSetStoresNone) {
  const Route a = route("a", {});
  const ReadyEntry entry = next_entry(a.number);
  ChangeSet set = set_of({put(entry.key, 5)});
  set.ready_put = {entry};
  EXPECT_EQ(commit_one(set), Verdict::stale);
  EXPECT_TRUE(read_routes(*session_).routes.empty());
}

TEST_P(StoreRoutes, CapabilitiesMayBeAsLongAsARequestMayMakeThem) {
  std::vector<std::string> capabilities;
  for (int i = 0; i < 256; ++i) capabilities.push_back(std::to_string(1000 + i) + "-capability");
  const Route wide = route("lane", capabilities), longest = route("lane", {std::string(4096, 'x')});
  put_on(wide.number);
  put_on(longest.number);
  EXPECT_EQ(read_routes(*session_).routes, (std::vector<Route>{wide, longest}));
}

TEST_P(StoreRoutes, ThoseThatNothingIsReadyOnCanBeForgotten) {
  const Route used = route("used", {}), idle = route("idle", {}), unknown = route("unknown", {});
  const ReadyEntry entry = next_entry(idle.number);
  write(ready_set(entry));
  put_on(used.number);
  const std::string seen = read_routes(*session_).routes_seen;
  EXPECT_EQ(must(store_->forget_routes({used.number, idle.number})), std::vector<RouteNo>{}) << "both have work";
  take_off(entry);
  EXPECT_EQ(must(store_->forget_routes({used.number, idle.number, unknown.number})),
            (std::vector<RouteNo>{idle.number, unknown.number}));
  EXPECT_EQ(read_routes(*session_).routes, std::vector<Route>{used});
  EXPECT_EQ(must(store_->forget_routes({idle.number})), std::vector<RouteNo>{idle.number}) << "it is still not there";

  // Whoever has seen it before learns that it is there again.
  put_on(idle.number);
  EXPECT_EQ(read_routes(*session_, seen).routes, std::vector<Route>{idle});
}

TEST_P(StoreRoutes, TheLastOneIsForgottenAndComesBackAsANewOne) {
  const Route only = route("only", {});
  const ReadyEntry entry = next_entry(only.number);
  write(ready_set(entry));
  const std::string seen = read_routes(*session_).routes_seen;
  take_off(entry);
  EXPECT_EQ(must(store_->forget_routes({only.number})), std::vector<RouteNo>{only.number});
  put_on(only.number);
  EXPECT_EQ(read_routes(*session_, seen).routes, std::vector<Route>{only});
}

TEST_P(StoreRoutes, SeveralSessionsStoreTheSameOnesAtOnce) {
  constexpr int count = 20;
  for (int i = 0; i < count; ++i) intern("lane" + std::to_string(i), {"c"});
  const auto store_all = [&](int writer) {
    const auto session = must(store_->open_session());
    for (int i = 0; i < count; ++i) {
      const int turn = writer % 2 == 0 ? i : count - 1 - i;
      const RouteNo number = route_of("lane" + std::to_string(turn), {"c"});
      const Key key = execution("w" + std::to_string(writer) + "-" + std::to_string(i));
      ChangeSet set = set_of({put(key, 0)});
      set.ready_put = {{number, 0, 1, key}};
      set.routes = {routes_.at(number)};
      EXPECT_EQ(must(session->commit({set})), Verdicts{Verdict::committed});
    }
  };
  std::vector<std::future<void>> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(std::async(std::launch::async, store_all, i));
  // A reader that goes on from what it has seen misses none, whatever the order of the commits.
  std::set<RouteNo> seen;
  std::string place;
  const auto look = [&] {
    const ReadReply reply = read_routes(*session_, place);
    for (const Route& one : reply.routes) EXPECT_TRUE(seen.insert(one.number).second) << one.lane << " came twice";
    place = reply.routes_seen;
  };
  for (auto& writer : writers) {
    while (writer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) look();
    writer.get();
  }
  look();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace flowfabric::test
