// What a store that does not answer holds up, and what it does not: tables are locked from outside, and the server goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <boost/json.hpp>

#include "base/entropy.hpp"
#include "core/tokens.hpp"
#include "e2e/support/test_client.hpp"
#include "store/postgres/connection.hpp"
#include "support/http_server.hpp"
#include "support/stores.hpp"

namespace flowfabric::e2e {
namespace {

class LockedStore : public testing::Test {
 protected:
  LockedStore() {
    EngineOptions options;
    options.migrate = true;
    server_ = std::make_unique<TestServer>(must(Engine::open(database_->url(), options)));
    outside_ = connect();
  }

  std::unique_ptr<postgres::Connection> connect() {
    return must(postgres::Connection::open(must(postgres::parse_address(database_->url())), ""));
  }
  void lock(const std::string& table, const std::string& mode) {
    ASSERT_TRUE(outside_->exec("BEGIN; LOCK TABLE " + table + " IN " + mode + " MODE"));
  }
  void unlock() { ASSERT_TRUE(outside_->exec("COMMIT")); }
  // Somebody waits for a lock on the table.
  bool is_waited_for(const std::string& table) {
    const auto waiting =
        outside_->exec("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + table + "'::regclass");
    return waiting && waiting->string(0, 0) != "0";
  }
  ExecutionId make(const std::string& lane) {
    CreateRequest request;
    request.kind = "job";
    request.lane = lane;
    return must(server_->engine().create(request)).execution_id;
  }
  static std::string claim_of(const std::string& lane, int lease_ttl_ms = 30000) {
    return R"({"worker_id":"w","worker_instance_id":"w","lanes":[")" + lane + R"("],"lease_ttl_ms":)" +
           std::to_string(lease_ttl_ms) + "}";
  }

  std::unique_ptr<test::TestDatabase> database_ = test::make_database(test::StoreKindId::postgres);
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<postgres::Connection> outside_;
};

TEST_F(LockedStore, ACreateThatWaitsForItsRouteHoldsUpNobodyElse) {
  const ExecutionId expiring = make("known");
  TestClient client(server_->url());
  ASSERT_EQ(client.post("/v1/claims", claim_of("known", 1000)).json.at("executions").as_array().size(), 1u);
  make("known");
  lock("route", "EXCLUSIVE");
  std::atomic<int> created = 0;
  std::thread creator([&] {
    TestClient other(server_->url());
    created = other.post("/v1/executions", R"({"kind":"job","lane":"new"})").status;
  });
  EXPECT_TRUE(test::eventually([&] { return is_waited_for("route"); }));
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(client.post("/v1/claims", claim_of("known")).json.at("executions").as_array().size(), 1u);
  EXPECT_TRUE(test::eventually([&] {
    return must(server_->engine().describe_execution(expiring)).summary.public_state == PublicState::waiting;
  })) << "leases run out as ever";
  EXPECT_EQ(created, 0);
  unlock();
  creator.join();
  EXPECT_EQ(created, 201);
}

TEST_F(LockedStore, AHandleWithAKeyThatMustBeLookedForHoldsUpNobodyElse) {
  KeyringRecord foreign;
  foreign.keys.push_back(make_signing_key(99, 1, system_entropy()));
  const std::string handle =
      TokenSigner(foreign).sign_handle(Fence{make("known"), 0, 1, Uuid{{1}}}, HandleKind::fresh, "default");
  TestClient client(server_->url());
  lock("root", "ACCESS EXCLUSIVE");
  std::atomic<int> completed = 0;
  std::thread worker([&] {
    TestClient other(server_->url());
    completed = other.post("/v1/leases/complete", R"({"handle":")" + handle + R"("})").status;
  });
  EXPECT_TRUE(test::eventually([&] { return is_waited_for("root"); }));
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(completed, 0);
  unlock();
  worker.join();
  EXPECT_EQ(completed, 400);
}

}  // namespace
}  // namespace flowfabric::e2e
