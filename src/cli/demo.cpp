// Runs an engine, its workers and ten thousand executions in one process and checks that none is lost. Uses only the
// public interface, as a user's program would.
#include "cli/demo.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fmt/core.h>

#include "api/api.hpp"
#include "base/check.hpp"
#include "cli/demo_report.hpp"
#include "cli/demo_traffic.hpp"
#include "cli/progress.hpp"
#include "cli/secrets.hpp"
#include "cli/signals.hpp"

namespace flowfabric::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int exit_wrong = 1;
constexpr std::uint64_t default_executions = 10000;
constexpr std::uint64_t max_executions = 1000000;
constexpr std::uint64_t usual_workers = 16;
constexpr std::uint64_t max_workers = 256;
constexpr std::size_t submitters = 2;
constexpr milliseconds refresh{100};
constexpr milliseconds drain_patience{5000};
constexpr milliseconds patience{60000};  // without any event; far longer than every delay of the plan
constexpr std::size_t max_offenders_shown = 20;

struct DemoOptions {
  std::string store;
  std::uint32_t executions = 0;
  std::uint32_t workers = 0;
  std::uint64_t seed = 0;
  bool keep = false;
  bool serve = false;  // over HTTP too
  bool stay = false;   // keep running until a signal
};

Result<DemoOptions> read_options(const Arguments& arguments) {
  DemoOptions options;
  FF_TRY(executions, arguments.number("--executions", default_executions, 1, max_executions));
  FF_TRY(workers, arguments.number("--workers", usual_workers, 1, max_workers));
  FF_TRY(seed, arguments.number("--seed", 1, 0, UINT64_MAX));
  options.store = arguments.text("--store", "");
  options.executions = static_cast<std::uint32_t>(executions);
  options.workers = static_cast<std::uint32_t>(workers);
  options.seed = seed;
  options.keep = arguments.has("--keep");
  options.serve = arguments.has("--serve");
  options.stay = options.serve && !arguments.has("--exit");
  return options;
}

// A directory for the store when none is given. The destructor removes it, unless keep() was called.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code problem;
    std::string name = (std::filesystem::temp_directory_path(problem) / "flowfabric-demo.XXXXXX").string();
    if (problem || mkdtemp(name.data()) == nullptr)
      return fail(Errc::unavailable, "cannot create the directory " + name);
    return TemporaryFolder(name);
  }
  TemporaryFolder() = default;
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string store_url() const { return "sqlite:" + path_ + "/demo.db"; }
  void keep() { path_.clear(); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string run_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("demo-{:x}-{:x}", std::chrono::duration_cast<milliseconds>(now).count(), getpid());
}

class Demo {
 public:
  Demo(Engine& engine, const DemoOptions& options)
      : options_(options),
        plan_(run_name(), options.executions, options.seed),
        stage_{engine, plan_, complaints_, stop_, std::vector<ExecutionId>(options.executions)} {}

  // False if it was interrupted.
  Result<bool> run() {
    EventFilter filter;
    filter.name_space = plan_.run();
    FF_TRY(subscription, stage_.engine.subscribe(filter));
    threads_.emplace_back([this, &subscription] { follow(subscription, tally_, complaints_, stop_); });
    begin_ = Clock::now();
    start();
    const bool through = wait_for_the_end();
    elapsed_ = elapsed();
    stop_ = true;
    if (!through) stage_.engine.stop();  // ends all waiting calls
    for (std::thread& thread : threads_) thread.join();
    return through;
  }

  Result<int> conclude() {
    FF_TRY(offenders, report(stage_, tally_));
    for (const auto& [sentence, count] : complaints_.all()) {
      offenders.push_back(count == 1 ? sentence : fmt::format("{} ({} times)", sentence, count));
    }
    FF_TRY(findings, stage_.engine.check_integrity());
    for (const std::string& finding : findings) offenders.push_back("integrity: " + finding);
    print_statistics();
    if (offenders.empty()) {
      fmt::print("all executions have the expected result\n");
      return 0;
    }
    std::fflush(stdout);  // Keeps the order of stdout and stderr when both go into one pipe.
    for (std::size_t i = 0; i < offenders.size() && i < max_offenders_shown; ++i) {
      fmt::print(stderr, "{}\n", offenders[i]);
    }
    if (offenders.size() > max_offenders_shown) {
      fmt::print(stderr, "... and {} more\n", offenders.size() - max_offenders_shown);
    }
    fmt::print(stderr, "flowfabric demo: {} errors\n", offenders.size());
    return exit_wrong;
  }

 private:
  // First the worker that will die claims its share alone; then the other workers and jobs start.
  void start() {
    std::vector<Job> orphaned;
    std::array<std::vector<Job>, submitters> shares;
    for (const Job& job : plan_.jobs()) {
      (job.kind == JobKind::orphaned ? orphaned : shares[job.number % submitters]).push_back(job);
    }
    submit(stage_, orphaned);
    claim_and_die(stage_, static_cast<std::uint32_t>(orphaned.size()));
    for (std::uint32_t i = 0; i < options_.workers; ++i) {
      // One in four has a GPU; the first one always.
      threads_.emplace_back([this, i] { work(stage_, i, i % 4 == 0); });
    }
    for (auto& share : shares) {
      threads_.emplace_back([this, jobs = std::move(share)] { submit(stage_, jobs); });
    }
  }

  milliseconds elapsed() const { return std::chrono::duration_cast<milliseconds>(Clock::now() - begin_); }

  ProgressView view() const { return {tally_.ended(), options_.executions, tally_.counts(), elapsed()}; }

  bool wait_for_the_end() {
    ProgressDisplay display;
    std::uint64_t events = 0;
    auto last_event = Clock::now();
    while (!StopSignal::came()) {
      if (tally_.ended() >= options_.executions) {
        display.finish(view());
        return true;
      }
      if (tally_.events() != events) last_event = Clock::now();
      events = tally_.events();
      if (Clock::now() - last_event > patience) {
        complaints_.add("no event for a minute, but not all executions have ended");
        display.finish(view());
        return true;
      }
      display.show(view());
      std::this_thread::sleep_for(refresh);
    }
    display.finish(view());
    return false;
  }

  void print_statistics() const {
    const Engine::Statistics counted = stage_.engine.statistics();
    const double seconds = std::max(static_cast<double>(elapsed_.count()) / 1000, 0.001);
    fmt::print(
        "{:.0f} executions/s: {:.2f} s, {} commits of {:.1f} commands each, {} sweeps of the clock, {} stale\n",
        options_.executions / seconds, seconds, counted.batches,
        counted.batches == 0 ? 0.0 : static_cast<double>(counted.commands) / static_cast<double>(counted.batches),
        counted.sweeps, counted.stale);
  }

  const DemoOptions options_;
  const Plan plan_;
  Complaints complaints_;
  Tally tally_;
  std::atomic<bool> stop_{false};
  Stage stage_;
  std::vector<std::thread> threads_;
  Clock::time_point begin_;
  milliseconds elapsed_{0};
};

// The default port, so that the URL is the one in the documents; a free port if it is in use.
Result<std::unique_ptr<api::ApiServer>> start_server(Engine& engine, const std::string& store) {
  api::ApiOptions options;
  options.dashboard.store_kind = store.substr(0, store.find(':'));
  auto server = api::ApiServer::start(engine, options);
  if (server) return server;
  options.port = 0;
  return api::ApiServer::start(engine, options);
}

// A worker for users who try the server: claims from the lane "demo" and returns the payload as the result.
void echo(Engine& engine) {
  ClaimRequest request;
  request.worker_id = "demo";
  request.worker_instance_id = run_name();
  request.lanes = {"demo"};
  request.wait_ms = 60000;
  for (;;) {
    auto claimed = engine.claim(request);
    if (!claimed) return;  // the engine has stopped
    for (ClaimedExecution& one : *claimed) {
      (void)engine.complete(one.handle, {std::move(one.payload), std::move(one.payload_encoding)});
    }
  }
}

// Keeps serving, with workers in this process, until a signal.
void stay(Engine& engine, api::ApiServer& server) {
  std::thread worker([&] { echo(engine); });
  auto traffic = DemoTraffic::start(server.url());
  if (!traffic) fmt::print(stderr, "flowfabric demo: the shop does not open: {}\n", traffic.error().message);
  const auto page = server.dashboard_url();
  fmt::print(
      "\nThe server keeps running at {}: a small shop keeps the lane \"shop\" busy, and a worker waits for the lane\n"
      "\"demo\". Ctrl-C stops it.\n"
      "{}Try:\n"
      "  curl -d '{{\"lane\":\"demo\",\"kind\":\"hello\",\"payload\":{{\"name\":\"you\"}}}}' \\\n"
      "    -H 'content-type: application/json' {}/v1/executions\n"
      "  curl '{}/v1/executions?lane=demo'\n"
      "  curl -N -H 'accept: text/event-stream' {}/v1/events\n",
      server.url(), page ? "Open " + *page + " in a browser to see the dashboard.\n" : "", server.url(), server.url(),
      server.url());
  std::fflush(stdout);
  while (!StopSignal::came()) std::this_thread::sleep_for(refresh);
  if (traffic) traffic->reset();
  server.begin_drain();
  engine.stop();
  worker.join();
  server.drain(drain_patience);
}

}  // namespace

Result<int> run_demo(const Arguments& arguments) {
  FF_TRY(options, read_options(arguments));
  const StopSignal stop_signal;
  TemporaryFolder folder;
  std::string url = options.store;
  if (url.empty()) {
    FF_TRY(made, TemporaryFolder::make());
    folder = std::move(made);
    url = folder.store_url();
    if (options.keep) folder.keep();
  }
  FF_TRY(engine, Engine::open(url));
  std::unique_ptr<api::ApiServer> server;
  if (options.serve) {
    FF_TRY(started, start_server(*engine, url));
    server = std::move(started);
    fmt::print("FlowFabric serves at {}\n", server->url());
    if (const auto page = server->dashboard_url()) fmt::print("The dashboard is at {}\n", *page);
  }
  fmt::print("{} executions, {} workers and one that dies\n{}\n", options.executions, options.workers,
             without_secrets(url));
  Demo demo(*engine, options);
  FF_TRY(through, demo.run());
  if (!through) {
    fmt::print(stderr, "flowfabric demo: interrupted; the engine has stopped cleanly\n");
    return exit_interrupted;
  }
  FF_TRY(code, demo.conclude());
  if (options.stay) stay(*engine, *server);
  if (code == exit_wrong && options.store.empty()) folder.keep();
  if (options.store.empty() && (code == exit_wrong || options.keep)) fmt::print("the store is kept at {}\n", url);
  return code;
}

}  // namespace flowfabric::cli
