#include "http.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "figures.hpp"
#include "http_callers.hpp"
#include "net/target.hpp"
#include "processes.hpp"
#include "served_store.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::bench {
namespace {

constexpr int executions_a_call = 100;  // executions created in one request
constexpr int samples_a_round = 500;    // of submit to start
constexpr int spare_connections = 100;
constexpr int spare_files = 300;

// ---- What is sent

std::string post(const std::string& target, const std::string& body) {
  return test::post(target, body, "Content-Type: application/json\r\n");
}

std::string execution(const std::string& lane) {
  static const std::string payload(128, 'p');
  return fmt::format(R"({{"kind":"bench","lane":"{}","payload":"{}"}})", lane, payload);
}

std::string create(const std::string& lane) { return post("/v1/executions", execution(lane)); }

std::string create_many(const std::string& lane, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + execution(lane);
  return post("/v1/executions/batch", R"({"executions":[)" + all + "]}");
}

// The lease is longer than the run, also on a slow machine.
std::string claim(const std::string& lane, int worker, int wait_ms) {
  return post("/v1/claims", fmt::format(R"({{"worker_id":"bench","worker_instance_id":"bench-{}","lanes":["{}"],)"
                                        R"("max_executions":1,"lease_ttl_ms":600000,"wait_ms":{}}})",
                                        worker, lane, wait_ms));
}

std::string complete(const std::string& handle) {
  static const std::string result(32, 'r');
  return post("/v1/leases/complete", fmt::format(R"({{"handle":"{}","result":"{}"}})", handle, result));
}

std::string get_execution(const std::string& id) { return test::get("/v1/executions/" + net::percent_encode(id)); }

// ---- What is answered

// Ids and handles contain no escapes.
std::string text_of(std::string_view body, const std::string& name) {
  const std::string mark = "\"" + name + "\":\"";
  const std::size_t at = body.find(mark);
  if (at == std::string_view::npos) give_up(fmt::format("an answer has no {}: {}", name, body));
  const std::string_view rest = body.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find('"')));
}

std::string ask(test::RawSocket& socket, const std::string& request) {
  socket.send(request);
  std::string answer = socket.read_response();
  if (!answer.starts_with("HTTP/1.1 20")) give_up("an answer is no success: " + answer);
  return answer;
}

// ---- Requests

struct Cost {
  double per_second = 0;
  double server_us = 0;  // CPU per request
  double database_us = 0;
  double client_us = 0;
  double p50_ms = 0, p99_ms = 0;
};

class RequestBench {
 public:
  RequestBench(const ServedStore& server, const std::string& postgres, const HttpOptions& options)
      : server_(server),
        postmaster_(postgres.empty() ? 0 : postmaster_of(postgres)),
        options_(options),
        callers_(server.port(), options.callers) {}

  // A round runs everything once; each kind uses the results of the previous one.
  void round() {
    std::vector<std::string> ids, handles;
    measure("GET /healthz", options_.requests, [](int, int) { return test::get("/healthz"); }, {});
    measure(
        "POST /v1/executions", options_.requests, [](int, int) { return create("bench"); },
        [&](std::string_view body) { ids.push_back(text_of(body, "execution_id")); });
    measure(
        "POST /v1/claims", options_.requests, [](int, int caller) { return claim("bench", caller, 0); },
        [&](std::string_view body) { handles.push_back(text_of(body, "handle")); });
    measure("POST /v1/leases/complete", options_.requests,
            [&](int i, int) { return complete(handles[static_cast<std::size_t>(i)]); }, {});
    measure("GET /v1/executions/{id}", options_.requests,
            [&](int i, int) { return get_execution(ids[static_cast<std::size_t>(i)]); }, {});
    static const std::string many = create_many("others", executions_a_call);
    measure(fmt::format("POST /v1/executions/batch of {}", executions_a_call),
            std::max(options_.requests / executions_a_call, 1), [](int, int) { return many; }, {});
  }

  void print() const {
    for (const Kind& kind : kinds_) {
      std::vector<double> rates;
      for (const Cost& cost : kind.rounds) rates.push_back(cost.per_second);
      const auto middle = [&](double Cost::* figure) {
        std::vector<double> values;
        for (const Cost& cost : kind.rounds) values.push_back(cost.*figure);
        return median(values);
      };
      print_line("  " + kind.name, median(rates), "requests/s",
                 fmt::format("CPU us: server {:.1f}, database {:.1f}, client {:.1f}; {:.2f}/{:.2f} ms (p50/p99) [{}]",
                             middle(&Cost::server_us), middle(&Cost::database_us), middle(&Cost::client_us),
                             middle(&Cost::p50_ms), middle(&Cost::p99_ms), listed(rates)));
    }
  }

 private:
  struct Kind {
    std::string name;
    std::vector<Cost> rounds{};
  };

  double database_cpu_seconds() const { return postmaster_ == 0 ? 0 : postgres_cpu_seconds(postmaster_); }

  std::vector<Cost>& rounds_of(const std::string& name) {
    for (Kind& kind : kinds_) {
      if (kind.name == name) return kind.rounds;
    }
    return kinds_.emplace_back(Kind{name}).rounds;
  }

  // Sends this many requests, each made by request(i, caller), and checks each response.
  void measure(const std::string& name, int count, const std::function<std::string(int, int)>& request,
               const std::function<void(std::string_view)>& look) {
    std::vector<float> latencies;
    int sent = 0;
    const auto next = [&](int caller) { return sent < count ? request(sent++, caller) : std::string(); };
    const auto answered = [&](int, int status, std::string_view body, double ms) {
      if (status / 100 != 2) give_up(fmt::format("{} was answered {}: {}", name, status, body));
      if (look) look(body);
      latencies.push_back(static_cast<float>(ms));
    };
    const double server = cpu_seconds(server_.pid());
    const double database = database_cpu_seconds();
    const double client = own_cpu_seconds();
    const auto start = Clock::now();
    callers_.begin(next);
    callers_.finish(next, answered);
    const double elapsed = seconds_since(start);
    const auto us = [&](double seconds) { return seconds * 1e6 / count; };
    rounds_of(name).push_back({count / elapsed, us(cpu_seconds(server_.pid()) - server),
                               us(database_cpu_seconds() - database), us(own_cpu_seconds() - client),
                               quantile(latencies, 0.5), quantile(latencies, 0.99)});
  }

  const ServedStore& server_;
  const pid_t postmaster_;
  const HttpOptions& options_;
  HttpCallers callers_;
  std::vector<Kind> kinds_;
};

// ---- From submit to start

// A worker waits in a claim; the time from sending the create until the worker has the execution.
std::vector<float> submit_to_start(std::uint16_t port) {
  test::RawSocket worker(port);
  test::RawSocket submitter(port);
  std::vector<float> samples;
  for (int i = 0; i < samples_a_round; ++i) {
    worker.send(claim("idle", 0, 60000));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // until it is parked and the server is idle
    const auto start = Clock::now();
    submitter.send(create("idle"));
    const std::string claimed = worker.read_response();
    samples.push_back(static_cast<float>(seconds_since(start) * 1000));
    const std::string created = submitter.read_response();
    if (text_of(created, "execution_id") != text_of(claimed, "execution_id")) give_up("the worker got something else");
    ask(submitter, complete(text_of(claimed, "handle")));
  }
  return samples;
}

// The time of the disk alone: as many pages as SQLite writes for one execution, and a flush.
std::vector<float> raw_flushes() {
  const test::TempDir folder;
  const std::string pages(std::size_t{10} * 4096, 'p');
  const int file = open(folder.file("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::vector<float> samples;
  for (int i = 0; i < samples_a_round; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const auto start = Clock::now();
    const bool written = write(file, pages.data(), pages.size()) == static_cast<ssize_t>(pages.size());
    if (!written || fdatasync(file) != 0) give_up("a file in the temporary folder cannot be written");
    samples.push_back(static_cast<float>(seconds_since(start) * 1000));
  }
  close(file);
  return samples;
}

void print_quantile(const std::string& name, const std::vector<std::vector<float>>& rounds, double fraction,
                    const std::string& target) {
  std::vector<double> figures;
  for (std::vector<float> round : rounds) figures.push_back(quantile(round, fraction) * 1000);
  print_line("  " + name, median(figures), "us", fmt::format("{}[{}]", target, listed(figures)));
}

// ---- Parked claims

int parked_claims(test::RawSocket& control) {
  const std::string text = ask(control, test::get("/metrics"));
  const std::string mark = "\nflowfabric_parked_claims ";
  return std::atoi(text.c_str() + text.find(mark) + mark.size());
}

void bench_parked(const std::string& store, int count) {
  const ServedStore server(store, {"--max-connections", std::to_string(count + spare_connections)});
  test::RawSocket control(server.port());
  parked_claims(control);
  const double before = resident_megabytes(server.pid());
  HttpCallers workers(server.port(), count);
  std::vector<bool> asked(static_cast<std::size_t>(count));
  const auto once = [&](int worker) {
    const auto at = static_cast<std::size_t>(worker);
    if (asked[at]) return std::string();
    asked[at] = true;
    return claim("parked", worker, 60000);
  };
  const auto start = Clock::now();
  workers.begin(once);
  while (parked_claims(control) < count) {
    if (seconds_since(start) > 50) give_up("the machine is too busy to park so many claims before they return");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double more = resident_megabytes(server.pid()) - before;
  print_line(fmt::format("  {} parked claims", count), more, "MB",
             fmt::format("target below 100 for 10000; {:.1f} kB each, {:.0f} MB before", more * 1000 / count, before));

  const auto work_comes = Clock::now();
  for (int made = 0; made < count; made += executions_a_call)
    ask(control, create_many("parked", std::min(executions_a_call, count - made)));
  int woken = 0;
  workers.finish(once, [&](int, int status, std::string_view body, double) {
    if (status == 200 && !text_of(body, "handle").empty()) ++woken;
  });
  if (woken != count) give_up(fmt::format("only {} of {} parked claims got work", woken, count));
  print_line("    all got work, created by 100 a call, after", seconds_since(work_comes) * 1000, "ms", "");
}

void allow_open_files(int count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = static_cast<rlim_t>(count);
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = needed;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) give_up(fmt::format("needs {} open files; raise ulimit -Hn", count));
}

}  // namespace

void bench_http(const std::string& name, const std::string& store, const std::string& postgres,
                const HttpOptions& options) {
  fmt::print("HTTP on {}: flowfabric serve, {} connections, {} requests of each kind, all answers checked\n", name,
             options.callers, options.requests);
  std::fflush(stdout);
  allow_open_files(options.parked + spare_files);  // the server inherits it
  {
    const ServedStore server(store);
    RequestBench requests(server, postgres, options);
    std::vector<std::vector<float>> starts, flushes;
    for (int round = 0; round < options.rounds; ++round) {
      requests.round();
      starts.push_back(submit_to_start(server.port()));
      flushes.push_back(raw_flushes());
    }
    requests.print();
    print_quantile("submit to start on an idle server, p50", starts, 0.5, "target 1500 ");
    print_quantile("submit to start on an idle server, p99", starts, 0.99, "target 8000 ");
    print_quantile("  a write and flush of a file, p50", flushes, 0.5, "");
    print_quantile("  a write and flush of a file, p99", flushes, 0.99, "");
  }
  bench_parked(store, options.parked);
  fmt::print("\n");
}

}  // namespace flowfabric::bench
