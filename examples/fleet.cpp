// Two kinds of workers on one lane: only those with a GPU get what needs one.
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

// [fleet]
flowfabric::WorkerOptions machine(const std::string& id, std::vector<std::string> capabilities) {
  flowfabric::WorkerOptions options;
  options.worker_id = id;
  options.lanes = {"render"};
  options.capabilities = std::move(capabilities);
  options.concurrency = 2;
  return options;
}

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;

  std::atomic<int> on_gpu{0}, on_cpu{0};
  flowfabric::Worker gpu(*client, machine("gpu", {"gpu", "avx"}));
  gpu.on("frame", [&](flowfabric::Task&) { ++on_gpu; });
  flowfabric::Worker cpu(*client, machine("cpu", {"avx"}));
  cpu.on("frame", [&](flowfabric::Task&) { ++on_cpu; });
  for (auto* worker : {&gpu, &cpu}) {
    if (auto started = worker->start(); !started) {
      return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;
    }
  }

  std::vector<flowfabric::ExecutionId> frames;
  for (int i = 0; i < 40; ++i) {
    flowfabric::SubmitOptions options{.lane = "render"};
    options.required_capabilities = i % 4 == 0 ? std::vector<std::string>{"gpu"} : std::vector<std::string>{"avx"};
    auto frame = client->submit("frame", i, options);
    if (!frame) return std::fprintf(stderr, "%s\n", frame.error().message.c_str()), 1;
    frames.push_back(frame->execution_id);
  }
  for (const auto& id : frames) {
    if (auto ended = client->wait(id, 60s); !ended) {
      return std::fprintf(stderr, "%s\n", ended.error().message.c_str()), 1;
    }
  }
  std::printf("%d frames with a GPU at hand, %d without\n", on_gpu.load(), on_cpu.load());
  return on_gpu >= 10 && on_gpu + on_cpu == 40 ? 0 : 1;
}
// [fleet]

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "memory:"); }
