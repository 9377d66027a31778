#include "signals.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

using namespace std::chrono_literals;

constexpr int waits_of_a_round = 300;
constexpr int suspending_callers = 64;
constexpr std::size_t signals_page = 1000;
constexpr std::int64_t a_day_ms = 24LL * 3600 * 1000;

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

CreateRequest waiting_request() {
  CreateRequest request;
  request.kind = "bench";
  request.payload = std::string(128, 'p');
  return request;
}

SuspendRequest a_wait() {
  SuspendRequest request;
  request.waitpoints.resize(1);
  request.waitpoints.front().name = "go";
  request.timeout_ms = a_day_ms;
  return request;
}

struct Started {
  ClaimedExecution claimed;
  Clock::time_point at;
};

// A claim that is parked before this returns, nearly always.
std::future<Started> park_claim(Engine& engine) {
  auto started = std::async(std::launch::async, [&engine] {
    ClaimRequest request;
    request.worker_id = "bench";
    request.worker_instance_id = "bench-1";
    request.lease_ttl_ms = 60'000;
    request.wait_ms = 60'000;
    auto claims = must(engine.claim(std::move(request)));
    const auto at = Clock::now();
    if (claims.size() != 1) give_up("nothing to claim");
    return Started{std::move(claims.front()), at};
  });
  std::this_thread::sleep_for(5ms);  // the engine is idle then
  return started;
}

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Latencies {
  std::vector<double> start, wait, resume;
};

// Medians of one round.
void measure_waits(Engine& engine, Latencies& all) {
  Latencies round;
  for (int i = 0; i < waits_of_a_round; ++i) {
    auto first = park_claim(engine);
    const auto submitted = Clock::now();
    const Created created = must(engine.create(waiting_request()));
    const Started started = first.get();
    round.start.push_back(milliseconds(submitted, started.at));

    auto second = park_claim(engine);
    const auto begin = Clock::now();
    if (!must(engine.suspend(started.claimed.handle, a_wait())).suspended) give_up("it was not suspended");
    SignalRequest signal;
    signal.waitpoint = "go";
    const auto sent = Clock::now();
    if (must(engine.send_signal(created.execution_id, signal)).effect != SignalEffect::resumed) {
      give_up("the signal did not resume it");
    }
    const Started resumed = second.get();
    round.wait.push_back(milliseconds(begin, resumed.at));
    round.resume.push_back(milliseconds(sent, resumed.at));
    if (const auto done = engine.complete(resumed.claimed.handle); !done) give_up(done.error().message);
  }
  all.start.push_back(median(round.start));
  all.wait.push_back(median(round.wait));
  all.resume.push_back(median(round.resume));
}

void print_latency(const char* name, const std::vector<double>& values, const std::vector<double>& beside,
                   const char* rest) {
  print_line(
      name, median(values), "ms",
      fmt::format("{:.2f} times submit to start{} [{}]", median(values) / median(beside), rest, listed(values, 2)));
}

void suspend_all(Engine& engine, const std::vector<ClaimedExecution>& claims) {
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < suspending_callers; ++caller) {
    callers.emplace_back([&, caller] {
      for (std::size_t i = static_cast<std::size_t>(caller); i < claims.size(); i += suspending_callers) {
        must(engine.suspend(claims[i].handle, a_wait()));
      }
    });
  }
}

}  // namespace

void suspend_many(Engine& engine, int executions) {
  for (int made = 0; made < executions;) {
    std::vector<CreateRequest> requests(std::min(signals_page, static_cast<std::size_t>(executions - made)),
                                        waiting_request());
    made += static_cast<int>(requests.size());
    std::size_t left = requests.size();
    for (auto& created : engine.create_many(std::move(requests))) must(std::move(created));
    while (left > 0) {
      ClaimRequest request;
      request.worker_id = "bench";
      request.worker_instance_id = "bench-1";
      request.lease_ttl_ms = 60'000;
      request.max_executions = 100;
      const auto claims = must(engine.claim(std::move(request)));
      suspend_all(engine, claims);
      left -= std::min(left, claims.size());
    }
  }
}

void bench_signals(const std::string& title, const std::function<std::string(const std::string&)>& store_url,
                   int rounds) {
  EngineOptions options;
  options.migrate = true;
  auto opened = Engine::open(store_url("signals"), options);
  if (!opened) give_up(opened.error().message);
  Latencies all;
  for (int round = 0; round < rounds; ++round) measure_waits(**opened, all);
  fmt::print("Signals on an idle engine: {}\n", title);
  print_line("  submit -> start", median(all.start), "ms", "[" + listed(all.start, 2) + "]");
  print_latency("  suspend -> signal -> resumed claim", all.wait, all.start, "; target at most 2.5");
  print_latency("  of this: signal -> resumed claim", all.resume, all.start, "");
  fmt::print("\n");
}

}  // namespace flowfabric::bench
