// simulate --seeds N [--from S|today] [--store memory|sqlite|postgres] [--verbose]
//
// Runs the engine on virtual time through N seeds. A failing seed prints the violated rule and the command that repeats
// it; the same seed always gives the same run.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <unistd.h>

#include "simulation/lock_breaker.hpp"
#include "simulation/world.hpp"
#include "support/postgres_server.hpp"

namespace {

using flowfabric::simulation::LockBreaker;
using flowfabric::simulation::run_seed;
using flowfabric::simulation::RunResult;
namespace test = flowfabric::test;

constexpr std::uint64_t repeat_every = 97;  // seeds that are run twice, to check that they repeat exactly
constexpr std::uint64_t report_every = 1000;
constexpr int most_failures = 10;

// Seeds that once found a defect. They are run whenever no range is chosen.
constexpr std::uint64_t kept_seeds[] = {
    5012322,     5047891,  // retention by a change to the namespace that was not committed
    5020858,     5033481,     5052468,
    678840833,                          // a pause because what was read ahead was stale; the visit came a day later
    5034103,     5053963,     5007884,  // the same pause, seen at once
    91006530,                           // the watcher took answers of one commit for those of another
    920003051,   410039395,  // a batch failed and nobody told other engines that the work it had reserved was free again
    920042532,   920059414,    // the watcher took the answer to a repeated step for a write
    410052749,                 // the watcher let a key come back when the clock went back
    61000002624, 83000004088,  // a node that ended while the replay of its flow was being prepared ran again
    61000014342, 83000000506,  // the watcher did not know that a replayed node has not started, and may lose its steps
    61000055828,               // a cancellation spared a node by a record from before the replay of its flow
    880000802,   881000271,    // a pool let go of an execution that it held back, by a record from before that
    31416003301,               // an addition read its flow before, and its nodes after, an addition of another engine
    900027,                    // an addition closed a cycle through a node whose reservation had lapsed unnoticed
};

// Printed by the signal handler when a run ends the process.
char current_seed_text[256];

void on_fatal_signal(int signal_number) {
  const auto length = std::strlen(current_seed_text);
  if (write(STDOUT_FILENO, current_seed_text, length) < 0) std::_Exit(2);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

struct Arguments {
  std::uint64_t seeds = 100;
  std::uint64_t from = 1;
  bool chosen = false;  // by --from
  bool verbose = false;
  test::StoreKind store = test::store_kinds().front();
};

[[noreturn]] void usage(int status) {
  std::printf("usage: simulate [--seeds N] [--from S|today] [--store memory|sqlite|postgres] [--verbose]\n");
  std::exit(status);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (text[0] == '\0' || *end != '\0') usage(2);
  return value;
}

// A range of a million seeds for each day, so that every day tries seeds that no other day has tried.
std::uint64_t seed_of_today() {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count();
  return static_cast<std::uint64_t>(days) * 1'000'000;
}

const test::StoreKind& store_of(const std::string& name) {
  for (const test::StoreKind& kind : test::store_kinds()) {
    if (kind.name == name) return kind;
  }
  usage(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") usage(0);
    if (argument == "--verbose") {
      arguments.verbose = true;
    } else if (argument == "--seeds" && i + 1 < argc) {
      arguments.seeds = number(argv[++i]);
    } else if (argument == "--from" && i + 1 < argc) {
      const std::string from = argv[++i];
      arguments.from = from == "today" ? seed_of_today() : number(from.c_str());
      arguments.chosen = true;
    } else if (argument == "--store" && i + 1 < argc) {
      arguments.store = store_of(argv[++i]);
    } else {
      usage(2);
    }
  }
  return arguments;
}

std::string replay_of(std::uint64_t seed, const Arguments& arguments) {
  return "./dev simulate --seeds 1 --from " + std::to_string(seed) + " --store " + arguments.store.name + " --verbose";
}

void report(std::uint64_t seed, const Arguments& arguments, const RunResult& result) {
  std::printf("seed %llu failed at step %d: %s: %s\n  replay: %s\n", static_cast<unsigned long long>(seed), result.step,
              result.violation.rule.c_str(), result.violation.detail.c_str(), replay_of(seed, arguments).c_str());
}

bool run_one(std::uint64_t seed, const Arguments& arguments) {
  std::snprintf(current_seed_text, sizeof current_seed_text, "seed %llu ended the process\n  replay: %s\n",
                static_cast<unsigned long long>(seed), replay_of(seed, arguments).c_str());
  RunResult result = run_seed(seed, arguments.verbose, arguments.store);
  // PostgreSQL has threads of its own.
  const bool repeats = arguments.store.id != test::StoreKindId::postgres;
  if (result.passed && !arguments.verbose && repeats && seed % repeat_every == 0) {
    if (run_seed(seed, false, arguments.store).trace_hash != result.trace_hash) {
      result.passed = false;
      result.violation = {"a seed replays exactly", "the second run went another way"};
    }
  }
  if (!result.passed) report(seed, arguments, result);
  return result.passed;
}

// A server for this run, unless $FF_TEST_POSTGRES names one. It is not killed, so it need not flush.
class Postgres {
 public:
  Postgres() {
    const std::string application = "simulate " + std::to_string(getpid());
    if (std::getenv("FF_TEST_POSTGRES") == nullptr) {
      server_ = std::make_unique<test::PostgresServer>(test::PostgresServer::start({.fsync = false, .settings = {}}));
      setenv("FF_TEST_POSTGRES", server_->url().c_str(), 1);
    }
    breaker_ = std::make_unique<LockBreaker>(test::postgres_test_url(), application);
    setenv("PGAPPNAME", application.c_str(), 1);
  }

 private:
  std::unique_ptr<test::PostgresServer> server_;
  std::unique_ptr<LockBreaker> breaker_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  // Simulated failures need no log messages; the caller can still choose the log level.
  setenv("FLOWFABRIC_LOG", "off", 0);
  std::signal(SIGABRT, on_fatal_signal);
  std::signal(SIGSEGV, on_fatal_signal);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  const auto postgres = arguments.store.id == test::StoreKindId::postgres ? std::make_unique<Postgres>() : nullptr;
  const auto run = [&](std::uint64_t seed) { ++(run_one(seed, arguments) ? passed : failed); };
  if (!arguments.chosen) {
    for (const std::uint64_t seed : kept_seeds) run(seed);
  }
  for (std::uint64_t i = 0; i < arguments.seeds && failed < most_failures; ++i) {
    run(arguments.from + i);
    if ((i + 1) % report_every == 0) std::printf("%llu seeds\n", static_cast<unsigned long long>(i + 1));
  }
  std::printf("simulate: %llu seeds passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
