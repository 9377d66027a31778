// Two servers on one PostgreSQL, and eight workers that claim from both: a limit holds over all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "e2e/support/test_client.hpp"
#include "support/stores.hpp"

namespace flowfabric::e2e {
namespace {

constexpr int allowed = 3;
constexpr int of_each_customer = 24;
constexpr int workers = 8;
const std::array<std::string, 4> customers = {"a", "b", "c", "d"};

// A worker counts after it has its lease and before it gives it back, so what is counted did run at the same time.
class Running {
 public:
  void begin(const std::string& customer) {
    const std::lock_guard lock(mutex_);
    most_[customer] = std::max(most_[customer], ++now_[customer]);
  }
  void end(const std::string& customer) {
    const std::lock_guard lock(mutex_);
    --now_[customer];
  }
  const std::map<std::string, int>& most() const { return most_; }

 private:
  std::mutex mutex_;
  std::map<std::string, int> now_;
  std::map<std::string, int> most_;
};

void work_until_done(const std::string& url, int number, Running& running, std::atomic<int>& done) {
  TestClient client(url);
  const std::string name = R"("worker_id":"w","worker_instance_id":"w-)" + std::to_string(number) + "\"";
  while (done < of_each_customer * static_cast<int>(customers.size())) {
    const Reply claimed =
        client.post("/v1/claims", "{" + name + R"(,"max_executions":6,"wait_ms":50,"lease_ttl_ms":600000})");
    ASSERT_EQ(claimed.status, 200) << claimed.body;
    const auto& executions = claimed.json.at("executions").as_array();
    for (const auto& one : executions) running.begin(text(one.at("tags").at("app.customer")));
    for (const auto& one : executions) {
      running.end(text(one.at("tags").at("app.customer")));
      const Reply completed = client.post("/v1/leases/complete", R"({"handle":")" + text(one.at("handle")) + "\"}");
      ASSERT_EQ(completed.status, 200) << completed.body;
      ++done;
    }
  }
}

std::map<std::string, int> events_by_type(TestClient& client) {
  std::map<std::string, int> counted;
  for (std::string cursor = "earliest";;) {
    const Reply page = client.get("/v1/events?limit=1000&cursor=" + cursor);
    const auto& events = page.json.at("events").as_array();
    if (events.empty()) return counted;
    for (const auto& event : events) ++counted[text(event.at("type"))];
    cursor = text(page.json.at("next_cursor"));
  }
}

TEST(LimitsOfTwoServers, AreNeverExceeded) {
  const auto database = test::make_database(test::StoreKindId::postgres);
  database->open();  // makes the tables
  TestServer first(must(Engine::open(database->url())));
  TestServer second(must(Engine::open(database->url())));
  TestClient client(first.url());
  ASSERT_EQ(client.put("/v1/limits/customers", R"({"per":["tags.app.customer"],"concurrency":3})").status, 201);
  for (const std::string& customer : customers) {
    std::string body;
    for (int i = 0; i < of_each_customer; ++i) {
      body += (body.empty() ? "" : ",") + (R"({"kind":"k","tags":{"app.customer":")" + customer + "\"}}");
    }
    ASSERT_EQ(client.post("/v1/executions/batch", R"({"executions":[)" + body + "]}").status, 200);
  }
  Running running;
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] { work_until_done(i % 2 == 0 ? first.url() : second.url(), i, running, done); });
  }
  for (std::thread& thread : threads) thread.join();

  for (const auto& [customer, most] : running.most()) EXPECT_LE(most, allowed) << customer;
  EXPECT_EQ(running.most().at("a"), allowed) << "the first claim took as many as it could get";
  const auto events = events_by_type(client);
  const int all = of_each_customer * static_cast<int>(customers.size());
  EXPECT_EQ(events.at("claimed"), all) << "each execution ran once";
  EXPECT_EQ(events.at("completed"), all);
  EXPECT_GT(events.at("limited"), 0);
  const Reply left = client.get("/v1/limits/customers");
  for (const auto& use : left.json.at("keys").as_array()) {
    EXPECT_EQ(use.at("held_back"), 0);
  }
}

}  // namespace
}  // namespace flowfabric::e2e
