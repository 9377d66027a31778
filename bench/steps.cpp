#include "steps.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <flowfabric/worker.hpp>

#include "figures.hpp"
#include "served_store.hpp"

namespace flowfabric::bench {
namespace {

using namespace std::chrono_literals;

constexpr int task_counts[] = {1, 16, 64};
constexpr int most_tasks = 64;
constexpr int steps_of_a_handler = 2000;
constexpr std::size_t open_submissions = 64;  // as many as the bare callers have
constexpr std::uint64_t most_waiting = 2000;  // submitted and not completed
constexpr auto patience = 60s;

std::shared_ptr<Engine> engine_on(const std::string& url) {
  EngineOptions options;
  options.migrate = true;
  auto engine = Engine::open(url, options);
  if (!engine) give_up(engine.error().message);
  return std::move(*engine);
}

Client client_of(std::uint16_t port) {
  auto client = Client::open("http://127.0.0.1:" + std::to_string(port), {.max_connections = 2 * most_tasks});
  if (!client) give_up(client.error().message);
  return std::move(*client);
}

void start(Worker& worker) {
  if (const auto started = worker.start(); !started) give_up(started.error().message);
}

// How often something happens in a second, once it goes.
double rate_of(const std::atomic<std::uint64_t>& count, double seconds) {
  const auto limit = Clock::now() + patience;
  while (count == 0 && Clock::now() < limit) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(300ms);
  const auto begin = Clock::now();
  const std::uint64_t before = count;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return static_cast<double>(count - before) / seconds_since(begin);
}

// Durable steps a second of so many handlers that do nothing else.
double steps_per_second(Client client, int tasks, double seconds) {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> over{false};
  Worker worker(client, {.worker_id = "bench", .concurrency = static_cast<std::uint32_t>(tasks), .stop_grace = 60s});
  worker.on("steps", [&](Task& task) {
    for (int i = 0; i < steps_of_a_handler && !over; ++i) {
      task.step("step", [&] { return i; });
      ++steps;
    }
  });
  // More than there is time for; what is left is cancelled with the store.
  for (int i = 0; i < tasks * 20; ++i) {
    if (const auto created = client.submit("steps", i); !created) give_up(created.error().message);
  }
  start(worker);
  const double rate = rate_of(steps, seconds);
  over = true;
  worker.stop();
  if (const auto ended = worker.join(); !ended) give_up(ended.error().message);
  return rate;
}

// Keeps so many creates under way, unless too many executions wait already.
class Submitter {
 public:
  Submitter(Engine& engine, const std::atomic<std::uint64_t>& completed) : engine_(engine), completed_(completed) {
    for (std::size_t i = 0; i < open_submissions; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (submitted_ > completed_ + most_waiting) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      CreateRequest request;
      request.kind = "empty";
      request.payload = std::string(LoadOptions{}.payload_bytes, 'p');
      if (const auto created = engine_.create(std::move(request)); !created) give_up(created.error().message);
      ++submitted_;
    }
  }

  Engine& engine_;
  const std::atomic<std::uint64_t>& completed_;
  std::atomic<std::uint64_t> submitted_{0};
  std::vector<std::jthread> threads_;
};

// Whole lives of executions whose handler does nothing, in a second.
double empty_cycles(const std::string& url, double seconds) {
  const auto engine = engine_on(url);
  std::atomic<std::uint64_t> handled{0};
  Worker worker(Client::over(engine), {.worker_id = "bench", .concurrency = most_tasks, .stop_grace = 60s});
  worker.on("empty", [&](Task&) {
    ++handled;
    return Bytes{std::string(LoadOptions{}.result_bytes, 'r'), {}};
  });
  start(worker);
  double rate = 0;
  {
    const Submitter submitter(*engine, handled);
    rate = rate_of(handled, seconds);
  }
  worker.stop();
  if (const auto ended = worker.join(); !ended) give_up(ended.error().message);
  return rate;
}

double bare_cycles(const std::string& url, double seconds) {
  const auto engine = engine_on(url);
  LoadOptions load;
  load.callers = most_tasks;
  load.seconds = seconds;
  return run_load(*engine, load).cycles_per_second;
}

struct Measured {
  std::vector<double> one_a_commit, hundred_a_commit, bare, worker;
  std::vector<double> embedded[std::size(task_counts)], served[std::size(task_counts)];
};

void print_steps(const char* home, const std::vector<double> (&rates)[std::size(task_counts)], const Measured& all) {
  for (std::size_t i = 0; i < std::size(task_counts); ++i) {
    const double rate = median(rates[i]);
    print_line(fmt::format("  {}, {} task{}", home, task_counts[i], task_counts[i] == 1 ? "" : "s"), rate, "steps/s",
               fmt::format("{:.2f} of one row a commit, {:.2f} of 100 [{}]", rate / median(all.one_a_commit),
                           rate / median(all.hundred_a_commit), listed(rates[i])));
  }
}

void print_all(const std::string& title, const Measured& all) {
  fmt::print("Durable steps: {}\n", title);
  print_line("  raw loop, one row a commit", median(all.one_a_commit), "rows/s", "[" + listed(all.one_a_commit) + "]");
  print_line("  raw loop, 100 rows a commit", median(all.hundred_a_commit), "rows/s",
             "[" + listed(all.hundred_a_commit) + "]");
  print_steps("embedded", all.embedded, all);
  print_steps("over HTTP", all.served, all);
  // A cycle is three commands: create, claim, complete.
  const double command_us = 1e6 / (3 * median(all.bare));
  const double step_us = 1e6 / median(all.embedded[std::size(task_counts) - 1]);
  print_line("  a command of 64 bare callers", command_us, "us", "");
  print_line("  a step of 64 tasks", step_us, "us",
             fmt::format("{:.2f} of a command; target at most 1.5", step_us / command_us));
  print_line("  64 bare callers", median(all.bare), "cycles/s", "[" + listed(all.bare) + "]");
  print_line("  a worker of empty handlers", median(all.worker), "cycles/s",
             fmt::format("{:.2f} of the bare callers; target 0.7 [{}]", median(all.worker) / median(all.bare),
                         listed(all.worker)));
  fmt::print("\n");
}

}  // namespace

void bench_steps(const std::string& title, const std::function<std::string(const std::string&)>& store_url,
                 const RawInserts& raw, const StepsOptions& options) {
  Measured all;
  for (int round = 0; round < options.rounds; ++round) {
    const auto url = [&](const std::string& name) { return store_url(name + "_" + std::to_string(round)); };
    all.one_a_commit.push_back(raw(1, options.seconds / 2));
    all.hundred_a_commit.push_back(raw(100, options.seconds / 2));
    for (std::size_t i = 0; i < std::size(task_counts); ++i) {
      const std::string name = std::to_string(task_counts[i]);
      all.embedded[i].push_back(
          steps_per_second(Client::over(engine_on(url("embedded" + name))), task_counts[i], options.seconds));
      const ServedStore server(url("served" + name));
      all.served[i].push_back(steps_per_second(client_of(server.port()), task_counts[i], options.seconds));
    }
    all.bare.push_back(bare_cycles(url("bare"), options.seconds));
    all.worker.push_back(empty_cycles(url("worker"), options.seconds));
  }
  print_all(title, all);
}

}  // namespace flowfabric::bench
