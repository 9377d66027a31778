// Limits through the client, in every home.
#include <algorithm>
#include <mutex>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

class LimitsTest : public SdkTest {
 protected:
  static LimitRequest limit_of(std::uint32_t concurrency) {
    LimitRequest request;
    request.name = "customers";
    request.per = {"tags.app.customer"};
    request.concurrency = concurrency;
    return request;
  }
};

INSTANTIATE_TEST_SUITE_P(, LimitsTest, ::testing::Values("memory", "sqlite", "postgres", "http"),
                         [](const auto& home) { return home.param; });

TEST_P(LimitsTest, limit_is_made_changed_listed_and_removed) {
  EXPECT_EQ(must(client_.set_limit(limit_of(2))).outcome, LimitChange::created);
  EXPECT_EQ(must(client_.set_limit(limit_of(2))).outcome, LimitChange::unchanged);
  LimitRequest changed = limit_of(3);
  changed.rate = RateLimit{100, 1000, 20};
  changed.expected_revision = 1;
  EXPECT_EQ(must(client_.set_limit(changed, "a larger contract")).outcome, LimitChange::changed);
  EXPECT_EQ(client_.set_limit(changed).error().code, Errc::conflict);
  LimitRequest own = limit_of(1);
  own.name_space = "shop";
  must(client_.set_limit(own));
  EXPECT_EQ(must(client_.list_limits()).size(), 2U);
  EXPECT_EQ(must(client_.list_limits({.name_space = "other"})).size(), 1U);
  const auto use = must(client_.list_limit_use({.limit = {{}, "customers"}}));
  EXPECT_EQ(use.info.rate, changed.rate);
  EXPECT_EQ(use.info.revision, 2U);
  EXPECT_FALSE(use.info.name_space);
  EXPECT_EQ(must(client_.remove_limit({"shop", "customers"})).info.name_space, "shop");
  EXPECT_EQ(must(client_.remove_limit({{}, "customers"})).outcome, LimitChange::removed);
  EXPECT_EQ(client_.remove_limit({{}, "customers"}).error().code, Errc::not_found);
  EXPECT_EQ(client_.set_limit(limit_of(0)).error().field, "concurrency");
}

TEST_P(LimitsTest, workers_keep_to_the_limit) {
  must(client_.set_limit(limit_of(2)));
  std::mutex mutex;
  int now = 0;
  int most = 0;
  std::atomic<bool> go_on{false};
  std::atomic<int> done{0};
  WorkerOptions options = quick();
  options.lease_ttl = 10min;  // a lease that is lost would run beside its successor
  Worker worker(client_, options);
  worker.on("call", [&](Task&) {
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++now);
    }
    while (!go_on) std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex);
    --now;
    ++done;
  });
  must(worker.start());
  for (int i = 0; i < 6; ++i) {
    CreateRequest request{.kind = "call"};
    request.tags["app.customer"] = "acme";
    must(client_.submit(std::move(request)));
  }
  const ListLimitUseRequest shown{.limit = {{}, "customers"}};
  ASSERT_TRUE(eventually([&] {
    const auto keys = must(client_.list_limit_use(shown)).keys;
    return keys.size() == 1 && keys[0].in_use == 2 && keys[0].held_back > 0;
  }));
  const auto use = must(client_.list_limit_use(shown)).keys.at(0);
  EXPECT_EQ(use.key, std::vector<std::string>{"acme"});
  EXPECT_EQ(use.holders.size(), 2U);
  EXPECT_EQ(use.free, 0U);
  LimitCheckRequest another;
  another.kind = "call";
  another.tags["app.customer"] = "acme";
  EXPECT_FALSE(must(client_.check_limits(another)).could_start);
  another.tags["app.customer"] = "other";
  EXPECT_TRUE(must(client_.check_limits(another)).could_start);
  go_on = true;
  ASSERT_TRUE(eventually([&] { return done == 6; }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(most, 2);
}

}  // namespace
}  // namespace flowfabric::sdk_test
