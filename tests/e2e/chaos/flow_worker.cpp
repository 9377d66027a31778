#include "e2e/chaos/flow_worker.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include <flowfabric/worker.hpp>

namespace flowfabric::chaos {
namespace {

using namespace std::chrono_literals;

const std::string flow_marker = "--chaos-flow-worker";

class FlowWorker {
 public:
  explicit FlowWorker(const FlowWorkerOptions& options) : options_(options), random_(options.seed) {}

  int run() {
    Worker worker(open_client(),
                  {.worker_id = "flows", .worker_instance_id = options_.name, .concurrency = 8, .lease_ttl = 1s});
    worker.on(flow_node, [this](Task& task) { return work(task); });
    for (auto started = worker.start(); !started; started = worker.start()) wait_after(started.error());
    const auto ended = worker.join();
    std::fprintf(stderr, "the worker ended: %s\n", ended ? "without an error" : ended.error().message.c_str());
    return 1;  // it is killed, it does not end
  }

 private:
  // The store or the server may be down at this moment.
  static void wait_after(const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    std::this_thread::sleep_for(20ms);
  }
  Client open_client() {
    for (;;) {
      auto client = Client::open(options_.url);
      if (client) return std::move(*client);
      wait_after(client.error());
    }
  }

  std::uint64_t chance() {
    const std::lock_guard lock(mutex_);
    return random_();
  }
  void maybe_die() {
    if (chance() % 300 == 0) std::raise(SIGKILL);
  }

  std::string work(Task& task) {
    maybe_die();
    for (const FlowInput& input : task.inputs()) verify(task, input);
    std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 15));
    maybe_die();
    if (task.payload() == plan_failure) throw PermanentFailure("as planned");
    if (task.payload() == plan_retries && task.attempt_index() < 2) throw RetryAfter(10ms, "as planned");
    return "result of " + task.execution().node;
  }

  // A wrong input is a failure of the test: a worker may only end by SIGKILL.
  static void verify(const Task& task, const FlowInput& input) {
    const bool has_result = input.outcome == Outcome::success;
    const std::string expected = has_result ? encode_value("result of " + input.name).bytes : std::string();
    if (input.result == expected) return;
    std::fprintf(stderr, "%s: the input of %s is '%s'\n", task.execution().node.c_str(), input.name.c_str(),
                 input.result.c_str());
    std::_Exit(1);
  }

  const FlowWorkerOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<std::string> flow_worker_words(const FlowWorkerOptions& options) {
  return {"/proc/self/exe", flow_marker, options.name, options.url, std::to_string(options.seed)};
}

bool is_flow_worker(int argc, char** argv) { return argc == 5 && argv[1] == flow_marker; }

int run_flow_worker(int, char** argv) {
  return FlowWorker({argv[2], argv[3], std::strtoull(argv[4], nullptr, 10)}).run();
}

}  // namespace flowfabric::chaos
