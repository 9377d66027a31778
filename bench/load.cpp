#include "load.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/gate.hpp"
#include "figures.hpp"
#include "processes.hpp"

namespace flowfabric::bench {
namespace {

struct Samples {
  std::vector<float> create, claim, complete;
};

template <class T>
T expect(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench: %s failed: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

template <class F>
auto timed(std::vector<float>& samples, F call) {
  const auto start = Clock::now();
  auto value = call();
  samples.push_back(static_cast<float>(seconds_since(start) * 1000));
  return value;
}

// The next value of the tag: the callers go through all of them.
void set_key(CreateRequest& create, const LoadOptions& options, std::uint64_t& turn) {
  if (options.keys == 0) return;
  create.tags["bench.key"] = std::to_string(turn % static_cast<std::uint64_t>(options.keys));
  turn += static_cast<std::uint64_t>(options.callers);
}

// One caller. The lane is shared, so a claim may return the execution of another caller.
std::uint64_t run_caller(Engine& engine, const LoadOptions& options, int number, const std::atomic<bool>& stop,
                         Samples& samples) {
  CreateRequest create;
  create.kind = "bench";
  create.payload = std::string(options.payload_bytes, 'p');
  ClaimRequest claim;
  claim.worker_id = "bench";
  claim.worker_instance_id = "bench-" + std::to_string(number);
  claim.wait_ms = 10000;
  const CompleteRequest complete{std::string(options.result_bytes, 'r'), {}};
  std::uint64_t cycles = 0;
  std::uint64_t turn = static_cast<std::uint64_t>(number);
  while (!stop) {
    set_key(create, options, turn);
    timed(samples.create, [&] { return expect(engine.create(create), "create"); });
    const auto claimed = timed(samples.claim, [&] { return expect(engine.claim(claim), "claim"); });
    if (claimed.empty()) {
      std::fprintf(stderr, "bench: a claim found nothing although every caller had created first\n");
      std::exit(1);
    }
    timed(samples.complete, [&] {
      if (auto done = engine.complete(claimed.front().handle, complete); !done) {
        std::fprintf(stderr, "bench: complete failed: %s\n", done.error().message.c_str());
        std::exit(1);
      }
      return 0;
    });
    ++cycles;
  }
  return cycles;
}

// A caller without a thread: each reply starts its next call.
class AsyncCaller {
 public:
  AsyncCaller(Engine& engine, const LoadOptions& options, int number, const std::atomic<bool>& stop, Samples& samples)
      : engine_(engine), options_(options), stop_(stop), samples_(samples), turn_(static_cast<std::uint64_t>(number)) {
    create_.kind = "bench";
    create_.payload = std::string(options.payload_bytes, 'p');
    claim_.worker_id = "bench";
    claim_.worker_instance_id = "bench-" + std::to_string(number);
    claim_.wait_ms = 10000;
    complete_.result = std::string(options.result_bytes, 'r');
  }
  void create() {
    if (stop_) return stopped_.open();
    set_key(create_, options_, turn_);
    begin();
    engine_.create_async(create_, [this](Result<Created> created) {
      expect(std::move(created), "create");
      end(samples_.create);
      claim();
    });
  }
  std::uint64_t wait() {
    stopped_.wait();
    return cycles_;
  }

 private:
  void claim() {
    begin();
    engine_.claim_async(claim_, [this](Result<std::vector<ClaimedExecution>> claimed) {
      const auto work = expect(std::move(claimed), "claim");
      end(samples_.claim);
      if (work.empty()) {
        std::fprintf(stderr, "bench: a claim found nothing although every caller had created first\n");
        std::exit(1);
      }
      complete(work.front().handle);
    });
  }
  void complete(const Handle& handle) {
    begin();
    engine_.complete_async(handle, complete_, [this](Result<void> done) {
      if (!done) {
        std::fprintf(stderr, "bench: complete failed: %s\n", done.error().message.c_str());
        std::exit(1);
      }
      end(samples_.complete);
      ++cycles_;
      create();
    });
  }
  void begin() { began_ = Clock::now(); }
  void end(std::vector<float>& samples) { samples.push_back(static_cast<float>(seconds_since(began_) * 1000)); }

  Engine& engine_;
  const LoadOptions& options_;
  const std::atomic<bool>& stop_;
  Samples& samples_;
  std::uint64_t turn_;
  CreateRequest create_;
  ClaimRequest claim_;
  CompleteRequest complete_;
  Clock::time_point began_;
  std::uint64_t cycles_ = 0;
  Gate stopped_;
};

}  // namespace

LoadFigures run_load(Engine& engine, const LoadOptions& options) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> cycles{0};
  std::vector<Samples> samples(static_cast<std::size_t>(options.callers));
  const auto before = engine.statistics();
  const auto server_cpu = [&] { return options.postmaster == 0 ? 0 : postgres_cpu_seconds(options.postmaster); };
  const double cpu_before = own_cpu_seconds(), server_cpu_before = server_cpu();
  const auto start = Clock::now();
  std::vector<std::thread> callers;
  std::vector<std::unique_ptr<AsyncCaller>> async_callers;
  for (int i = 0; i < options.callers; ++i) {
    Samples& own = samples[static_cast<std::size_t>(i)];
    if (options.threads) {
      callers.emplace_back([&, i] { cycles += run_caller(engine, options, i, stop, own); });
    } else {
      async_callers.push_back(std::make_unique<AsyncCaller>(engine, options, i, stop, own));
    }
  }
  for (auto& caller : async_callers) caller->create();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  stop = true;
  for (auto& caller : callers) caller.join();
  for (auto& caller : async_callers) cycles += caller->wait();
  const double elapsed = seconds_since(start);
  const auto after = engine.statistics();

  Samples all;
  for (Samples& one : samples) {
    all.create.insert(all.create.end(), one.create.begin(), one.create.end());
    all.claim.insert(all.claim.end(), one.claim.begin(), one.claim.end());
    all.complete.insert(all.complete.end(), one.complete.begin(), one.complete.end());
  }
  LoadFigures figures;
  const auto done = static_cast<double>(cycles.load());
  figures.cycles_per_second = done / elapsed;
  figures.create_p50_ms = quantile(all.create, 0.5);
  figures.create_p99_ms = quantile(all.create, 0.99);
  figures.claim_p50_ms = quantile(all.claim, 0.5);
  figures.claim_p99_ms = quantile(all.claim, 0.99);
  figures.complete_p50_ms = quantile(all.complete, 0.5);
  figures.complete_p99_ms = quantile(all.complete, 0.99);
  figures.commands_per_batch = static_cast<double>(after.commands - before.commands) /
                               std::max(1.0, static_cast<double>(after.batches - before.batches));
  figures.stale = after.stale - before.stale;
  figures.cpu_us_per_cycle = (own_cpu_seconds() - cpu_before) / done * 1e6;
  figures.server_cpu_us_per_cycle = (server_cpu() - server_cpu_before) / done * 1e6;
  return figures;
}

}  // namespace flowfabric::bench
