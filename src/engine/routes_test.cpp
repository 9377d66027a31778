#include "engine/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace flowfabric {
namespace {

Route route_to(const std::string& lane, std::vector<std::string> capabilities, const std::string& name_space = "ns") {
  const RouteNo number = route_of(lane, capabilities);
  return {number, lane, std::move(capabilities), name_space};
}

TEST(RouteNumbers, NeverChange) {
  // Stored: what these are made of must stay as it is.
  EXPECT_EQ(route_of("default", {}), 0x1bd47760e70cb43eu);
  EXPECT_EQ(route_of("default", {"cpu", "gpu"}), 0x5cee36e2dab0086bu);
  EXPECT_NE(route_of("a", {"b", "c"}), route_of("a", {"bc"}));
  EXPECT_LT(route_of("a", {}), RouteNo{1} << 63);
}

// Against the plain definition, with few capabilities so that sets overlap.
TEST(RouteTable, FindsWhatAWorkerCovers) {
  std::mt19937 random(7);
  const auto some = [&](double share) {
    std::vector<std::string> chosen;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      if (std::bernoulli_distribution(share)(random)) chosen.emplace_back(name);
    }
    return chosen;
  };
  RouteTable table;
  std::vector<Route> all;
  for (int i = 0; i < 200; ++i) {
    const Route route = route_to("lane" + std::to_string(i % 3), some(0.4));
    const bool known = table.knows(route.number);
    EXPECT_EQ(table.add({route}), !known);
    if (!known) all.push_back(route);
  }
  EXPECT_EQ(table.size(), all.size());
  EXPECT_EQ(table.generation(), all.size());
  for (int i = 0; i < 200; ++i) {
    const auto offered = some(0.6);
    const std::vector<std::string> lanes = {"lane0", "lane2", "unknown"};
    std::vector<RouteNo> expected;
    for (const Route& route : all) {
      const bool covered = route.lane != "lane1" && covers(offered, route.capabilities);
      if (covered) expected.push_back(route.number);
      EXPECT_EQ(table.is_covered(route.number, lanes, offered), covered);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(table.covered(lanes, offered), expected);
  }
}

TEST(RouteTable, DropsWhatWasNotUsedSince) {
  RouteTable table;
  const Route a = route_to("a", {"x"}), b = route_to("b", {}), other = route_to("c", {}, "other");
  table.add({a, b, other}, 100);
  EXPECT_EQ(table.size_of("ns"), 2u);
  EXPECT_EQ(table.idle_since(100, 0, 10), std::vector<RouteNo>{});
  EXPECT_EQ(table.idle_since(200, 1, 10).size(), 2u) << "the other namespace has one, and may keep it";
  table.add({a}, 200);
  EXPECT_EQ(table.idle_since(200, 1, 10), std::vector<RouteNo>{b.number});
  table.keep({b.number}, 300);
  EXPECT_EQ(table.idle_since(300, 1, 10), std::vector<RouteNo>{a.number});
  table.drop({a.number, b.number}, 300);
  EXPECT_FALSE(table.knows(a.number));
  EXPECT_TRUE(table.knows(b.number)) << "it was used meanwhile";
  EXPECT_EQ(table.lanes(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(table.size_of("ns"), 1u);
  EXPECT_TRUE(table.covered({"a"}, {"x"}).empty());
  EXPECT_TRUE(table.add({a}, 400)) << "and it can come back";
  EXPECT_EQ(table.covered({"a"}, {"x"}), std::vector<RouteNo>{a.number});
}

}  // namespace
}  // namespace flowfabric
