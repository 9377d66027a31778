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

TEST_P(LimitsTest, share_gives_turns_to_a_late_customer) {
  LimitRequest turns;
  turns.name = "turns";
  turns.lane = "default";
  turns.per = {"tags.app.customer"};
  turns.share = ShareSpec{{{"late", 2}}};
  EXPECT_EQ(must(client_.set_limit(turns)).info.share, turns.share);
  EXPECT_EQ(must(client_.list_limits()).at(0).share, turns.share);
  const auto submit = [&](const std::string& customer, int count) {
    for (int i = 0; i < count; ++i) {
      CreateRequest request{.kind = "call"};
      request.tags["app.customer"] = customer;
      must(client_.submit(std::move(request)));
    }
  };
  submit("early", 30);
  submit("late", 4);
  std::mutex mutex;
  std::vector<std::string> order;
  WorkerOptions options = quick();
  options.concurrency = 1;
  Worker worker(client_, options);
  worker.on("call", [&](Task& task) {
    const std::lock_guard lock(mutex);
    order.push_back(task.tags().at("app.customer"));
  });
  must(worker.start());
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return order.size() == 34;
  }));
  EXPECT_EQ(std::count(order.begin(), order.begin() + 8, "late"), 4) << "not behind the others";
}

TEST_P(LimitsTest, worker_weighs_its_lanes) {
  for (const char* lane : {"a", "b"}) {
    for (int i = 0; i < 12; ++i) must(client_.submit(CreateRequest{.lane = lane, .kind = "call"}));
  }
  std::mutex mutex;
  std::vector<std::string> order;
  WorkerOptions options = quick();
  options.concurrency = 1;
  options.lanes = {"a", "b"};
  options.lane_weights = {{"b", 3}};
  Worker worker(client_, options);
  worker.on("call", [&](Task& task) {
    const std::lock_guard lock(mutex);
    order.push_back(task.execution().lane);
  });
  must(worker.start());
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return order.size() == 24;
  }));
  EXPECT_EQ(std::count(order.begin(), order.begin() + 8, "b"), 6);
  options.lane_weights = {{"c", 3}};
  Worker wrong(client_, options);
  wrong.on("call", [](Task&) {});
  must(wrong.start());
  const auto ended = wrong.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "lane_weights: has \"c\", which is not one of the lanes");
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
