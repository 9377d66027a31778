// Work and clients that go: nothing is held for somebody who is not there.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "api/bulk.hpp"
#include "e2e/support/test_client.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"

namespace flowfabric::e2e {
namespace {

using test::eventually;
using test::RawSocket;

class LeavingClients : public testing::Test {
 protected:
  std::uint16_t port() const {
    const std::string url = server.url();
    return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
  }
  static std::string claim(const std::string& more) {
    const std::string body = R"({"worker_id":"w","worker_instance_id":"w-1","lease_ttl_ms":600000,)" + more + "}";
    return "POST /v1/claims HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  bool parked(int count) {
    return eventually([&] {
      return server.engine().metrics().find("\nflowfabric_parked_claims " + std::to_string(count) + "\n") !=
             std::string::npos;
    });
  }
  ExecutionId create(std::size_t payload_bytes = 0) {
    CreateRequest request;
    request.kind = "k";
    request.payload = std::string(payload_bytes, 'x');
    request.policy.max_reclaims = 0;
    return server.engine().create(request).value().execution_id;
  }
  std::vector<ClaimedExecution> take(std::uint32_t count) {
    ClaimRequest request;
    request.worker_id = "w";
    request.worker_instance_id = "w-2";
    request.max_executions = count;
    return server.engine().claim(request).value();
  }
  std::vector<EventType> history(const ExecutionId& id) {
    std::vector<EventType> types;
    const EventPage page = server.engine().execution_history(id).value();
    for (const Event& event : page.events) types.push_back(event.type);
    return types;
  }

  TestServer server;
};

TEST_F(LeavingClients, AParkedClaimEndsWithItsConnection) {
  RawSocket closed(port()), reset(port());
  closed.send(claim(R"("wait_ms":60000)"));
  ASSERT_TRUE(parked(1));
  reset.send(claim(R"("wait_ms":60000)"));
  ASSERT_TRUE(parked(2));
  closed.close();
  reset.reset();
  ASSERT_TRUE(parked(0));
  const ExecutionId id = create();
  EXPECT_EQ(history(id), std::vector{EventType::created}) << "nobody has it";
  EXPECT_EQ(take(1).size(), 1u);
}

TEST_F(LeavingClients, WhoSendsNoMoreIsToldThatThereIsNothing) {
  RawSocket socket(port());
  socket.send(claim(R"("wait_ms":60000)"));
  ASSERT_TRUE(parked(1));
  socket.finish_sending();
  EXPECT_NE(socket.read_response().find(R"({"executions":[]})"), std::string::npos);
}

TEST_F(LeavingClients, WhatCouldNotBeDeliveredGoesBackAtOnce) {
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(create(std::size_t{1024} * 1024));
  {
    RawSocket socket(port(), 4096);
    socket.send(claim(R"("max_executions":10)"));
    socket.read_until("HTTP/1.1 200");
    for (const ExecutionId& id : ids) {
      EXPECT_EQ(server.engine().read_execution_state(id).value(), PublicState::active);
    }
    socket.reset();
  }
  std::vector<ClaimedExecution> again;
  EXPECT_TRUE(eventually([&] {
    for (ClaimedExecution& claimed : take(10)) again.push_back(std::move(claimed));
    return again.size() == ids.size();
  }));
  for (const ExecutionId& id : ids) {
    EXPECT_EQ(history(id),
              (std::vector{EventType::created, EventType::claimed, EventType::released, EventType::resumed}));
    EXPECT_EQ(server.engine().describe_execution(id).value().reclaim_count, 0u);
  }
}

TEST_F(LeavingClients, AClientThatComesAndGoesLeavesNothingBehind) {
  for (int i = 0; i < 200; ++i) {
    RawSocket socket(port());
    socket.send(claim(R"("wait_ms":60000)"));
    ASSERT_TRUE(parked(1));
    socket.close();
    ASSERT_TRUE(parked(0));
  }
}

// ---- Bulk

TEST_F(LeavingClients, BulkNeedsNoThreads) {
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(create());
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::atomic<bool> over{false};
  std::atomic<long> most{0};
  std::atomic<bool> began{false};
  std::thread watcher([&] {
    while (!over) {
      most = std::max<long>(most, threads());
      began = true;
    }
  });
  while (!began) std::this_thread::yield();
  const long before = threads();
  const auto tally = api::act_on(server.engine(), {api::BulkVerb::cancel, 0, {"test", "enough"}}, ids);
  over = true;
  watcher.join();
  EXPECT_EQ(tally.changed, ids.size());
  EXPECT_TRUE(tally.failures.empty());
  EXPECT_LE(most, before);
}

}  // namespace
}  // namespace flowfabric::e2e
