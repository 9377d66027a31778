// Our figures next to the raw limit of the same database in the same run: bench [PART...] [--option VALUE...]
//
// The engine and the raw loop alternate, round by round, because other programs may use the machine; the table shows
// the median of the rounds and the ratio of the medians.
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "churn.hpp"
#include "figures.hpp"
#include "fleet.hpp"
#include "flows.hpp"
#include "http.hpp"
#include "limits.hpp"
#include "load.hpp"
#include "processes.hpp"
#include "raw_postgres.hpp"
#include "raw_sqlite.hpp"
#include "signals.hpp"
#include "steps.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::bench {
namespace {

struct Settings {
  LoadOptions load{};
  HttpOptions http{};
  int rounds = 3;
  int waiting = 1000000;
  int suspended = 100000;
  int idle_seconds = 60;
  int churn_seconds = 120;
  int writers = 0;
};

std::unique_ptr<Engine> open_engine(const std::string& url, int writers = 0) {
  EngineOptions options;
  options.migrate = true;
  options.writers = static_cast<std::uint32_t>(writers);
  auto engine = Engine::open(url, options);
  if (engine) return std::move(*engine);
  give_up(engine.error().message);
}

void print_load(const char* name, const std::vector<LoadFigures>& figures, const std::string& target) {
  std::vector<double> cycles;
  for (const LoadFigures& figure : figures) cycles.push_back(figure.cycles_per_second);
  print_line(name, median(cycles), "cycles/s", fmt::format("{} [{}]", target, listed(cycles)));
  const LoadFigures& last = figures.back();
  fmt::print(
      "    last round: create {:.2f}/{:.2f} claim {:.2f}/{:.2f} complete {:.2f}/{:.2f} ms (p50/p99), {:.0f} commands "
      "per batch, {:.0f} us of our CPU per cycle{}, {} stale\n",
      last.create_p50_ms, last.create_p99_ms, last.claim_p50_ms, last.claim_p99_ms, last.complete_p50_ms,
      last.complete_p99_ms, last.commands_per_batch, last.cpu_us_per_cycle,
      last.server_cpu_us_per_cycle == 0 ? "" : fmt::format(", {:.0f} of the server's", last.server_cpu_us_per_cycle),
      last.stale);
}

test::PostgresServer start_server(std::vector<std::string> more = {}) {
  test::PostgresServer::Options options;
  options.settings = {"shared_buffers=1GB",       "min_wal_size=2GB",     "max_wal_size=4GB",      "wal_buffers=64MB",
                      "checkpoint_timeout=15min", "random_page_cost=1.1", "synchronous_commit=on", "jit=off"};
  options.settings.insert(options.settings.end(), more.begin(), more.end());
  return test::PostgresServer::start(options);
}

void run_sql(const std::string& url, const std::vector<const char*>& statements) {
  PGconn* connection = PQconnectdb(url.c_str());
  for (const char* statement : statements) {
    PGresult* result = PQexec(connection, statement);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) give_up(PQerrorMessage(connection));
    PQclear(result);
  }
  PQfinish(connection);
}

// A server that has run for a while. A new one pays for the first touch of its memory, and fills each segment of its
// write-ahead log with zeros before using it; an old one reuses both. A gigabyte is written and discarded.
test::PostgresServer start_warm_server() {
  auto server = start_server();
  run_sql(server.url(), {"CREATE TABLE warm_up (filler text)", "ALTER TABLE warm_up ALTER filler SET STORAGE PLAIN",
                         "INSERT INTO warm_up SELECT repeat('x', 8000) FROM generate_series(1, 125000)",
                         "DROP TABLE warm_up", "CHECKPOINT"});
  return server;
}

// One database: the raw loop and the two kinds of callers alternate.
struct Contest {
  std::vector<double> raw;
  std::vector<LoadFigures> async_callers, threads;
};

Contest run_contest(
    const Settings& settings, const std::function<double()>& raw, const std::string& url, pid_t postmaster = 0,
    const std::function<void()>& tidy_up = [] {}) {
  Contest contest;
  for (int round = 0; round < settings.rounds; ++round) {
    tidy_up();
    contest.raw.push_back(raw());
    for (const bool threads : {false, true}) {
      tidy_up();
      const auto engine = open_engine(url, settings.writers);
      LoadOptions load = settings.load;
      load.threads = threads;
      load.postmaster = postmaster;
      (threads ? contest.threads : contest.async_callers).push_back(run_load(*engine, load));
    }
  }
  return contest;
}

void print_contest(const char* raw_name, const Contest& contest, const std::string& target) {
  print_line(raw_name, median(contest.raw), "cycles/s", "[" + listed(contest.raw) + "]");
  for (const bool threads : {false, true}) {
    const auto& figures = threads ? contest.threads : contest.async_callers;
    std::vector<double> cycles;
    for (const LoadFigures& figure : figures) cycles.push_back(figure.cycles_per_second);
    print_load(threads ? "  FlowFabric, a blocked thread per caller" : "  FlowFabric, async callers", figures, target);
    fmt::print("    ratio to the raw limit {:.2f}\n", median(cycles) / median(contest.raw));
  }
  fmt::print("\n");
}

void bench_postgres(const Settings& settings) {
  const auto server = start_warm_server();
  const std::string& url = server.url();
  fmt::print("PostgreSQL, synchronous_commit=on, {} callers, one create / claim / complete per call\n",
             settings.load.callers);
  open_engine(url + "?schema=raw_limit");
  const auto raw = [&] {
    double best = 0;
    for (const int connections : {2, 4}) {
      best = std::max(best, raw_postgres_cycles(url, "raw_limit", connections, 100, settings.load.seconds / 2));
    }
    return best;
  };
  // Frees the segments of the log that the previous measurement has filled.
  const auto tidy_up = [&] { run_sql(url, {"CHECKPOINT"}); };
  print_contest("  raw limit (plain libpq, batch 100)",
                run_contest(settings, raw, url + "?schema=ours", postmaster_of(url), tidy_up),
                "target 8000, ratio 0.25");
}

void bench_sqlite(const Settings& settings) {
  fmt::print("SQLite, synchronous=FULL, {} callers, one create / claim / complete per call\n", settings.load.callers);
  const test::TempDir folder;
  const std::string raw_path = folder.path().string() + "/raw.db";
  open_engine("sqlite:" + raw_path);
  const auto raw = [&] { return raw_sqlite_cycles(raw_path, 100, settings.load.seconds / 2); };
  print_contest("  raw limit (prepared statements, batch 100)",
                run_contest(settings, raw, "sqlite:" + folder.path().string() + "/ours.db"), "target 12000");
}

// Statements are counted by the server's own counter of transactions in the engine's database; there is no other
// client.
std::int64_t transactions(PGconn* watcher) {
  PGresult* result = PQexec(watcher,
                            "SELECT pg_stat_clear_snapshot(); "
                            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'idle'");
  const std::int64_t count = std::atoll(PQgetvalue(result, 0, 0));
  PQclear(result);
  return count;
}

// Of an engine with nothing to do, after `prepare` has made what waits in it.
double idle_transactions(int seconds, const std::function<void(Engine&)>& prepare) {
  // Autovacuum would run in the database meanwhile, and its transactions would be counted.
  const auto server = start_server({"autovacuum=off"});
  const std::string url = server.url();
  PGconn* watcher = PQconnectdb(url.c_str());
  PQclear(PQexec(watcher, "CREATE DATABASE idle"));
  const std::string idle_url = url.substr(0, url.rfind('/')) + "/idle";
  const auto engine = open_engine(idle_url);
  prepare(*engine);
  // An idle backend reports its statistics up to ten seconds late; wait until the numbers of the opening do not change
  // for longer.
  std::int64_t before = -1;
  for (std::int64_t now = transactions(watcher); now != before; now = transactions(watcher)) {
    before = now;
    std::this_thread::sleep_for(std::chrono::seconds(15));
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const auto counted = static_cast<double>(transactions(watcher) - before);
  PQfinish(watcher);
  return counted;
}

void bench_idle(const Settings& settings) {
  fmt::print("Idle engine on PostgreSQL, nothing due, {} s\n", settings.idle_seconds);
  print_line("  transactions", idle_transactions(settings.idle_seconds, [](Engine&) {}), "",
             "target 0, and one keep-alive per minute");
  fmt::print("\n");
}

// In a separate process, so that other measurements do not affect it.
double in_child(const std::function<double()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const double value = measure();
    const bool written = write(ends[1], &value, sizeof value) == sizeof value;
    _exit(written ? 0 : 1);
  }
  double value = -1;
  if (read(ends[0], &value, sizeof value) != sizeof value) std::exit(1);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return value;
}

double waiting_megabytes(const std::string& path, int waiting) {
  const auto engine = open_engine("sqlite:" + path + "?synchronous=normal");
  for (int made = 0; made < waiting;) {
    std::vector<CreateRequest> requests(static_cast<std::size_t>(std::min(waiting - made, 2000)));
    for (CreateRequest& request : requests) {
      request.kind = "bench";
      request.payload = std::string(128, 'p');
    }
    made += static_cast<int>(requests.size());
    for (const auto& created : engine->create_many(std::move(requests))) {
      if (!created) std::exit(1);
    }
  }
  return own_resident_megabytes();
}

void bench_memory(const Settings& settings) {
  fmt::print("Resident memory of an embedded engine (SQLite)\n");
  const test::TempDir folder;
  print_line("  idle", in_child([&] {
               const auto engine = open_engine("sqlite:" + folder.path().string() + "/idle.db");
               std::this_thread::sleep_for(std::chrono::milliseconds(500));
               return own_resident_megabytes();
             }),
             "MB", "target below 20");
  print_line(fmt::format("  {} executions waiting", settings.waiting),
             in_child([&] { return waiting_megabytes(folder.path().string() + "/waiting.db", settings.waiting); }),
             "MB", "bounded: does not grow with the number");
  print_line(fmt::format("  {} executions waiting", settings.waiting / 10),
             in_child([&] { return waiting_megabytes(folder.path().string() + "/fewer.db", settings.waiting / 10); }),
             "MB", "");
  fmt::print("\n");
}

constexpr int fleet_workers = 10000;
constexpr int fleet_leases = 100000;

void run_heartbeats(const Settings&) {
  const auto server = start_warm_server();
  bench_heartbeats(server.url() + "?schema=heartbeats", server.url(), fleet_workers, 30);
}

void run_lapse(const Settings& settings) {
  const auto server = start_warm_server();
  const test::TempDir folder;
  std::vector<Lapse> sqlite, postgres;
  for (int round = 0; round < settings.rounds; ++round) {
    const std::string name = fmt::format("lapse_{}", round);
    sqlite.push_back(bench_lapse("sqlite:" + folder.file(name + ".db"), 0, fleet_workers));
    postgres.push_back(bench_lapse(server.url() + "?schema=" + name, postmaster_of(server.url()), fleet_workers));
  }
  print_lapses("SQLite", fleet_workers, sqlite);
  print_lapses("PostgreSQL", fleet_workers, postgres);
}

void run_expiry(const Settings&) {
  const auto server = start_warm_server();
  const test::TempDir folder;
  bench_expiry("SQLite", "sqlite:" + folder.file("expiry.db"), fleet_leases);
  bench_expiry("PostgreSQL", server.url() + "?schema=expiry", fleet_leases);
}

void run_http(const Settings& settings) {
  HttpOptions options = settings.http;
  options.callers = settings.load.callers;
  options.rounds = settings.rounds;
  const test::TempDir folder;
  bench_http("SQLite, synchronous=FULL", "sqlite:" + folder.file("http.db"), "", options);
  const auto server = start_warm_server();
  bench_http("PostgreSQL, synchronous_commit=on", server.url() + "?schema=http", server.url(), options);
}

void run_churn(const Settings& settings) {
  const auto server = start_server();
  LoadOptions load = settings.load;
  load.seconds = settings.churn_seconds;
  fmt::print("Churn on PostgreSQL for {} s, autovacuum as it comes: executions are removed 5 s after their end\n",
             settings.churn_seconds);
  const auto engine = open_engine(server.url() + "?schema=churn", settings.writers);
  bench_churn(*engine, server.url(), "churn", load);
}

void run_steps(const Settings& settings) {
  const StepsOptions options{settings.load.seconds, settings.rounds};
  const test::TempDir folder;
  bench_steps(
      "SQLite, synchronous=FULL", [&](const std::string& name) { return "sqlite:" + folder.file(name + ".db"); },
      raw_sqlite_inserts(folder.file("raw.db")), options);
  const auto server = start_warm_server();
  bench_steps(
      "PostgreSQL, synchronous_commit=on", [&](const std::string& name) { return server.url() + "?schema=" + name; },
      raw_postgres_inserts(server.url()), options);
}

void run_flows(const Settings& settings) {
  const test::TempDir folder;
  bench_flows(
      "SQLite, synchronous=FULL", [&](const std::string& name) { return "sqlite:" + folder.file(name + ".db"); },
      settings.rounds);
  const auto server = start_warm_server();
  bench_flows(
      "PostgreSQL, synchronous_commit=on", [&](const std::string& name) { return server.url() + "?schema=" + name; },
      settings.rounds);
}

// Of an embedded engine that has suspended so many executions, and of one that opens on them.
void print_suspended_memory(int executions) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.path().string() + "/suspended.db?synchronous=normal";
  const auto measured = [&](int count) {
    return in_child([&] {
      const auto engine = open_engine(url);
      suspend_many(*engine, count);
      std::this_thread::sleep_for(std::chrono::seconds(2));
      return own_resident_megabytes();
    });
  };
  print_line("  memory with none suspended", measured(0), "MB", "");
  print_line(fmt::format("  memory after {} were suspended", executions), measured(executions), "MB", "");
  print_line("  memory when the engine is opened again", measured(0), "MB", "target: as with none");
}

void run_signals(const Settings& settings) {
  {
    const test::TempDir folder;
    bench_signals(
        "SQLite, synchronous=FULL", [&](const std::string& name) { return "sqlite:" + folder.file(name + ".db"); },
        settings.rounds);
    const auto server = start_warm_server();
    bench_signals(
        "PostgreSQL, synchronous_commit=on", [&](const std::string& name) { return server.url() + "?schema=" + name; },
        settings.rounds);
  }
  fmt::print("{} suspended executions beside none\n", settings.suspended);
  print_suspended_memory(settings.suspended);
  const auto idle = [&](int executions) {
    return idle_transactions(settings.idle_seconds, [&](Engine& engine) { suspend_many(engine, executions); });
  };
  print_line("  transactions on PostgreSQL with none suspended", idle(0), "", "");
  print_line(fmt::format("  transactions with {} suspended", settings.suspended), idle(settings.suspended), "",
             fmt::format("in {} s; target: as with none", settings.idle_seconds));
  fmt::print("\n");
}

void run_limits(const Settings& settings) {
  const LimitsOptions options{settings.load, settings.rounds};
  const test::TempDir folder;
  bench_limits(
      "SQLite, synchronous=FULL", [&](const std::string& name) { return "sqlite:" + folder.file(name + ".db"); },
      options);
  const auto server = start_warm_server();
  bench_limits(
      "PostgreSQL, synchronous_commit=on", [&](const std::string& name) { return server.url() + "?schema=" + name; },
      options);
}

// ---- The command line

struct Part {
  std::string_view name;
  std::string_view about;
  void (*run)(const Settings&);
};

constexpr Part all_parts[] = {
    {"memory", "resident memory of an embedded engine", bench_memory},
    {"sqlite", "cycles on SQLite compared with the raw limit", bench_sqlite},
    {"postgres", "cycles on PostgreSQL compared with the raw limit", bench_postgres},
    {"http", "the server: requests, parked claims, submit to start", run_http},
    {"steps", "durable steps and the worker of the SDK", run_steps},
    {"flows", "flows beside the same number of independent executions", run_flows},
    {"limits", "cycles under limits that hold nothing back, beside none; a small tenant beside a large one",
     run_limits},
    {"signals", "a whole wait beside submit to start, and many that wait beside none", run_signals},
    {"heartbeats", "the cost of the heartbeats of 10,000 workers", run_heartbeats},
    {"lapse", "10,000 workers whose TTL ends at once", run_lapse},
    {"expiry", "100,000 leases that end at once", run_expiry},
    {"churn", "how large the tables become when executions come and go", run_churn},
    {"idle", "the statements of an idle engine on PostgreSQL", bench_idle},
};

struct Option {
  std::string_view name;
  std::string_view about;
  void (*set)(Settings&, double);
};

constexpr Option all_options[] = {
    {"--callers", "number of concurrent callers or connections (64)",
     [](Settings& to, double value) { to.load.callers = static_cast<int>(value); }},
    {"--seconds", "duration of each measurement (5)", [](Settings& to, double value) { to.load.seconds = value; }},
    {"--rounds", "number of rounds; the median is shown (3)",
     [](Settings& to, double value) { to.rounds = static_cast<int>(value); }},
    {"--writers", "connections that write (the store's default)",
     [](Settings& to, double value) { to.writers = static_cast<int>(value); }},
    {"--waiting", "executions that wait while memory is measured (1000000)",
     [](Settings& to, double value) { to.waiting = static_cast<int>(value); }},
    {"--suspended", "executions that are suspended while the engine is idle (100000)",
     [](Settings& to, double value) { to.suspended = static_cast<int>(value); }},
    {"--idle-seconds", "how long the idle engine is observed (60)",
     [](Settings& to, double value) { to.idle_seconds = static_cast<int>(value); }},
    {"--churn-seconds", "how long executions come and go (120)",
     [](Settings& to, double value) { to.churn_seconds = static_cast<int>(value); }},
    {"--requests", "of each kind over HTTP (10000)",
     [](Settings& to, double value) { to.http.requests = static_cast<int>(value); }},
    {"--parked", "claims that are parked over HTTP (10000)",
     [](Settings& to, double value) { to.http.parked = static_cast<int>(value); }},
};

template <class Table>
auto* find(Table& table, std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](auto& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

template <class Table>
std::string names(const Table& table) {
  std::string all;
  for (const auto& one : table) all += fmt::format(" {}", one.name);
  return all;
}

void print_usage() {
  fmt::print("usage: bench [PART...] [--OPTION VALUE...]\n\nWithout a part, all of them:\n");
  for (const Part& part : all_parts) fmt::print("  {:<15} {}\n", part.name, part.about);
  fmt::print("\noptions:\n");
  for (const Option& option : all_options) fmt::print("  {:<15} {}\n", option.name, option.about);
}

[[noreturn]] void refuse(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(2);
}

double positive_number(std::string_view name, const char* text) {
  char* end = nullptr;
  const double value = text == nullptr ? 0 : std::strtod(text, &end);
  if (value > 0 && *end == '\0') return value;
  refuse(fmt::format("{} needs a number above 0", name));
}

struct Command {
  Settings settings{};
  std::vector<const Part*> chosen{};
};

Command parse(int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      print_usage();
      std::exit(0);
    }
    if (const Part* part = find(all_parts, word)) {
      command.chosen.push_back(part);
    } else if (const Option* option = find(all_options, word)) {
      option->set(command.settings, positive_number(word, i + 1 < argc ? argv[++i] : nullptr));
    } else {
      refuse(fmt::format("unknown argument {}; parts:{}; options:{}", word, names(all_parts), names(all_options)));
    }
  }
  if (command.chosen.empty()) {
    for (const Part& part : all_parts) command.chosen.push_back(&part);
  }
  return command;
}

int run(int argc, char** argv) {
  const Command command = parse(argc, argv);
  double load = 0;
  getloadavg(&load, 1);
  fmt::print("{} cores, load average {:.1f} at the start, allocator: {}\n\n", std::thread::hardware_concurrency(), load,
             FF_ALLOCATOR);
  for (const Part* part : command.chosen) part->run(command.settings);
  return 0;
}

}  // namespace
}  // namespace flowfabric::bench

int main(int argc, char** argv) { return flowfabric::bench::run(argc, argv); }
