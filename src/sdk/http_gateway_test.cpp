// Calls over HTTP against a server that says what the test wants.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "sdk/gateway.hpp"
#include "support/http_server.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::sdk {
namespace {

using namespace std::chrono_literals;
using ExchangePtr = std::shared_ptr<net::Exchange>;

std::shared_ptr<Gateway> gateway_to(const net::HttpServer& server) {
  auto gateway = make_http_gateway("http://127.0.0.1:" + std::to_string(server.port()), {});
  EXPECT_TRUE(gateway);
  return *gateway;
}

net::Response with_json(const auto& body, int status = 200) {
  return {.status = status, .body = wire::to_json(body), .content_type = "application/json"};
}

TEST(HttpGateway, submit_that_is_sent_again_names_the_same_execution) {
  std::mutex mutex;
  std::vector<std::string> bodies;
  const auto server = test::serve([&](const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex);
    bodies.push_back(exchange->request().body);
    // A proxy that lost the reply; then a server that knows the execution from the first time.
    Created created;
    created.duplicate = true;
    exchange->respond(bodies.size() == 1
                          ? net::Response{.status = 503, .body = "no reply", .content_type = "text/plain"}
                          : with_json(created));
  });
  const auto created = gateway_to(*server)->create({.kind = "mail"});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE(created->duplicate) << "the caller submitted once";
  const std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_EQ(bodies[0], bodies[1]);
  EXPECT_NE(bodies[0].find("\"id\":"), std::string::npos) << bodies[0];
}

TEST(HttpGateway, settlements_made_while_a_request_is_under_way_share_the_next_one) {
  constexpr std::size_t later = 50;
  std::mutex mutex;
  std::condition_variable changed;
  bool all_queued = false;
  std::vector<std::size_t> sizes;
  const auto server = test::serve([&](const ExchangePtr& exchange) {
    const auto body = wire::from_json<bodies::CompletionsBody>(exchange->request().body);
    ASSERT_TRUE(body) << body.error().message;
    {
      const std::lock_guard lock(mutex);
      sizes.push_back(body->completions.size());
    }
    changed.notify_all();
    std::thread([&, exchange, count = body->completions.size()] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return all_queued; });
      bodies::CompletionsReply reply;
      reply.results.resize(count);
      for (auto& item : reply.results) item.value.emplace();
      exchange->respond(with_json(reply));
    }).detach();
  });
  const auto gateway = gateway_to(*server);
  std::size_t done = 0;
  const auto settle = [&] {
    gateway->settle("handle", CompleteRequest{}, [&](const Result<void>& answer) {
      EXPECT_TRUE(answer) << answer.error().message;
      const std::lock_guard lock(mutex);
      ++done;
      changed.notify_all();
    });
  };
  settle();
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 60s, [&] { return sizes.size() == 1; }));
  }
  for (std::size_t i = 0; i < later; ++i) settle();
  std::unique_lock lock(mutex);
  all_queued = true;
  changed.notify_all();
  ASSERT_TRUE(changed.wait_for(lock, 60s, [&] { return done == later + 1; }));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, later}));
}

}  // namespace
}  // namespace flowfabric::sdk
