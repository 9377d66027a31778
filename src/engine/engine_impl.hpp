// Engine = Runtime + threads. Separate from the public header so that internal types are not visible there.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <flowfabric/engine.hpp>

#include "engine/api_keys.hpp"
#include "engine/runtime.hpp"

namespace flowfabric {

struct Engine::Impl {
  ~Impl();

  Result<void> start(std::unique_ptr<Store> store, RuntimeOptions options);
  void stop();

  OperationTimer timer(std::string_view operation) { return {runtime->metrics(), operation}; }
  // Runs a blocking operation and counts it.
  template <class Call>
  auto counted(std::string_view operation, const Call& call) {
    const OperationTimer timed = timer(operation);
    auto reply = call();
    timed.ended(reply);
    return reply;
  }

  std::unique_ptr<Runtime> runtime;
  ApiKeyCache api_keys;

 private:
  void write(std::size_t i);
  void keep_time();
  void read();
  void settle();

  std::mutex clock_mutex_;
  std::condition_variable clock_wake_;
  bool alarm_ = false;
  bool stopping_ = false;
  std::mutex stop_mutex_;
  bool stopped_ = false;
  std::vector<std::thread> writers_;
  std::thread clock_;
  std::thread reader_;
  std::thread settler_;
};

// Opens an engine on a store and starts its threads.
Result<std::unique_ptr<Engine>> start_engine(std::unique_ptr<Store> store, const EngineOptions& options,
                                             std::shared_ptr<observe::Tracer> tracer = nullptr);

}  // namespace flowfabric
