// Every home that clients and workers can have: engines of this process on each store, and a server.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <flowfabric/client.hpp>
#include <flowfabric/engine.hpp>
#include <flowfabric/worker.hpp>

#include "api/api.hpp"
#include "support/stores.hpp"

namespace flowfabric::sdk_test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// Waits until the condition holds. The limit is only there to end a test that would hang.
inline bool eventually(const std::function<bool()>& condition, milliseconds limit = 60s) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

class Home {
 public:
  explicit Home(const std::string& name);
  ~Home();
  Client client() { return *client_; }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<test::TestDatabase> database_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<api::ApiServer> server_;
  std::optional<Client> client_;
};

class SdkTest : public ::testing::TestWithParam<std::string> {
 protected:
  SdkTest() : home_(GetParam()), client_(home_.client()) {}

  // Waits for the end.
  ExecutionResult ended(const ExecutionId& id) { return must(client_.wait(id, 60s)); }
  ExecutionId submit(const std::string& kind, const Json& input = {}, SubmitOptions options = {}) {
    return must(client_.submit(kind, input, std::move(options))).execution_id;
  }

  Home home_;
  Client client_;
};

inline WorkerOptions quick(std::uint32_t concurrency = 4) {
  WorkerOptions options;
  options.concurrency = concurrency;
  options.lease_ttl = 1s;
  return options;
}

inline Policy retries(std::uint32_t count, std::int64_t delay_ms = 0) {
  Policy policy;
  policy.retry = RetryPolicy{};
  policy.retry->max_retries = count;
  policy.retry->initial_delay_ms = delay_ms;
  policy.retry->jitter = RetryPolicy::Jitter::none;
  return policy;
}

#define FF_SDK_SUITE(name)                                                                    \
  class name : public SdkTest {};                                                             \
  INSTANTIATE_TEST_SUITE_P(, name, ::testing::Values("memory", "sqlite", "postgres", "http"), \
                           [](const auto& home) { return home.param; })

}  // namespace flowfabric::sdk_test
