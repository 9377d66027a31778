// Calls over HTTP against a server that says what the test wants.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "sdk/gateway.hpp"
#include "support/http_server.hpp"
#include "wire/bodies.hpp"
#include "wire/wait_shapes.hpp"

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

TEST(HttpGateway, debounced_submit_that_is_sent_again_carries_the_same_key) {
  std::mutex mutex;
  std::vector<std::string> bodies;
  const auto server = test::serve([&](const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex);
    bodies.push_back(exchange->request().body);
    Created created;
    created.duplicate = true;
    created.outcome = CreateOutcome::debounced;
    exchange->respond(bodies.size() == 1
                          ? net::Response{.status = 503, .body = "no reply", .content_type = "text/plain"}
                          : with_json(created));
  });
  CreateRequest request{.kind = "index"};
  request.debounce = Debounce{"letter", 10, {}};
  const auto created = gateway_to(*server)->create(request);
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(created->duplicate);
  EXPECT_EQ(created->outcome, CreateOutcome::debounced);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_EQ(bodies[0], bodies[1]);
  EXPECT_NE(bodies[0].find("\"idempotency_key\":"), std::string::npos) << bodies[0];
  EXPECT_EQ(bodies[0].find("\"id\":"), std::string::npos) << "its id would not tell it from others";
}

TEST(HttpGateway, signal_that_is_sent_again_carries_the_same_key) {
  std::mutex mutex;
  std::vector<std::string> bodies;
  const auto server = test::serve([&](const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex);
    bodies.push_back(exchange->request().body);
    SignalReply reply;
    reply.duplicate = true;
    exchange->respond(bodies.size() % 2 == 1
                          ? net::Response{.status = 503, .body = "no reply", .content_type = "text/plain"}
                          : with_json(reply));
  });
  const auto gateway = gateway_to(*server);
  const auto own = gateway->send_signal({}, {.waitpoint = "paid", .payload = "7"});
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_FALSE(own->duplicate) << "the caller sent it once";
  const auto named = gateway->send_signal_by_token("token", {.idempotency_key = "webhook-1"});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_TRUE(named->duplicate);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 4u);
  EXPECT_EQ(bodies[0], bodies[1]);
  EXPECT_NE(bodies[0].find("\"idempotency_key\":"), std::string::npos) << bodies[0];
  EXPECT_NE(bodies[2].find("\"webhook-1\""), std::string::npos) << bodies[2];
}

TEST(HttpGateway, decision_that_nobody_answers_is_not_sent_again) {
  std::atomic<int> calls{0};
  const auto server = test::serve([&](const ExchangePtr& exchange) {
    ++calls;
    exchange->respond({.status = 503, .body = "no reply", .content_type = "text/plain"});
  });
  const auto gateway = gateway_to(*server);
  EXPECT_FALSE(gateway->decide_approval({}, {.waitpoint = "approval", .actor = "ada"}));
  EXPECT_FALSE(gateway->resume({}, ""));
  EXPECT_EQ(calls, 2) << "a repeat would be told that the person has decided already, or would end the next wait";
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
