#include "flows.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <flowfabric/engine.hpp>
#include <flowfabric/worker.hpp>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t handlers = 64;
constexpr std::size_t siblings = 100;
constexpr std::size_t create_page = 1000;
constexpr auto patience = 300s;

CreateRequest empty_request() {
  CreateRequest request;
  request.kind = "empty";
  request.payload = std::string(128, 'p');
  return request;
}

FlowRequest nodes(std::size_t count) {
  FlowRequest flow;
  flow.kind = "bench";
  for (std::size_t i = 0; i < count; ++i) flow.nodes.push_back({"n" + std::to_string(i), empty_request()});
  return flow;
}

FlowRequest chain(std::size_t length) {
  FlowRequest flow = nodes(length);
  for (std::size_t i = 1; i < length; ++i) flow.edges.push_back({flow.nodes[i - 1].name, flow.nodes[i].name});
  return flow;
}

// One node, then `width` side by side, then one.
FlowRequest diamond(std::size_t width) {
  FlowRequest flow = nodes(width + 2);
  for (std::size_t i = 1; i <= width; ++i) {
    flow.edges.push_back({flow.nodes.front().name, flow.nodes[i].name});
    flow.edges.push_back({flow.nodes[i].name, flow.nodes.back().name});
  }
  return flow;
}

// An engine with a worker that does nothing, as often as it can.
class Home {
 public:
  explicit Home(const std::string& url) {
    EngineOptions options;
    options.migrate = true;
    auto opened = Engine::open(url, options);
    if (!opened) give_up(opened.error().message);
    engine_ = std::move(*opened);
  }
  Engine& engine() { return *engine_; }

  // Executions a second from the first submission to the last end.
  double rate(std::size_t executions, const std::function<void(Engine&)>& submit) {
    std::atomic<std::size_t> handled{0};
    Worker worker(Client::over(engine_), {.worker_id = "bench", .concurrency = handlers, .stop_grace = 60s});
    worker.on("empty", [&](Task&) { ++handled; });
    if (const auto started = worker.start(); !started) give_up(started.error().message);
    const auto begin = Clock::now();
    submit(*engine_);
    while (handled < executions) {
      if (Clock::now() - begin > patience) give_up(fmt::format("{} of {} have run", handled.load(), executions));
      std::this_thread::sleep_for(1ms);
    }
    const double seconds = seconds_since(begin);
    worker.stop();
    if (const auto ended = worker.join(); !ended) give_up(ended.error().message);
    return static_cast<double>(executions) / seconds;
  }

 private:
  std::shared_ptr<Engine> engine_;
};

void submit_independent(Engine& engine, std::size_t count) {
  for (std::size_t made = 0; made < count; made += create_page) {
    std::vector<CreateRequest> page(std::min(create_page, count - made), empty_request());
    for (const auto& created : engine.create_many(std::move(page))) {
      if (!created) give_up(created.error().message);
    }
  }
}

void submit_flows(Engine& engine, const FlowRequest& flow, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto created = engine.submit_flow(flow); !created) give_up(created.error().message);
  }
}

ClaimedExecution claim_one(Engine& engine, const std::string& lane) {
  ClaimRequest request;
  request.worker_id = "bench";
  request.worker_instance_id = "bench-1";
  request.lanes = {lane};
  request.lease_ttl_ms = 60'000;
  request.wait_ms = 10'000;
  auto claims = engine.claim(request);
  if (!claims || claims->empty()) give_up("nothing to claim");
  return std::move(claims->front());
}

// From the end of the first of 100 siblings until the last of the others is cancelled.
double any_of_ms(Home& home) {
  FlowRequest flow = nodes(siblings + 1);
  for (FlowNode& node : flow.nodes) node.request.lane = "any";
  for (std::size_t i = 0; i < siblings; ++i) {
    flow.edges.push_back({flow.nodes[i].name, flow.nodes.back().name, EdgeKind::on_success, "first"});
  }
  flow.groups = {{flow.nodes.back().name, "first", GroupPolicy::any, 0, GroupRest::cancel_remaining}};
  const auto created = home.engine().submit_flow(flow);
  if (!created) give_up(created.error().message);
  const ClaimedExecution winner = claim_one(home.engine(), "any");
  const auto begin = Clock::now();
  if (const auto done = home.engine().complete(winner.handle, {}); !done) give_up(done.error().message);
  for (;;) {
    const auto described = home.engine().describe_flow(created->flow_id);
    if (!described) give_up(described.error().message);
    if (described->summary.counts.cancelled == siblings - 1) break;
    std::this_thread::sleep_for(200us);
  }
  return seconds_since(begin) * 1000;
}

// The same number of executions that 16 callers cancel one by one.
double plain_cancels_ms(Home& home) {
  std::vector<ExecutionId> ids;
  std::vector<CreateRequest> requests(siblings - 1, empty_request());
  for (CreateRequest& request : requests) request.lane = "plain";
  for (const auto& created : home.engine().create_many(std::move(requests))) {
    if (!created) give_up(created.error().message);
    ids.push_back(created->execution_id);
  }
  std::atomic<std::size_t> next{0};
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 16; ++i) {
      callers.emplace_back([&] {
        for (std::size_t mine = next++; mine < ids.size(); mine = next++) {
          if (const auto reply = home.engine().cancel(ids[mine]); !reply) give_up(reply.error().message);
        }
      });
    }
  }
  return seconds_since(begin) * 1000;
}

struct Measured {
  std::vector<double> independent, chains, diamonds, one_large, ten_smaller, any_of, cancels;
};

void print_ratio(const std::string& name, const std::vector<double>& rates, const std::vector<double>& beside,
                 const std::string& rest) {
  print_line(name, median(rates), "nodes/s",
             fmt::format("{:.2f} {} [{}]", median(rates) / median(beside), rest, listed(rates)));
}

void print_all(const std::string& title, const Measured& all) {
  fmt::print("Flows: {}\n", title);
  print_line("  independent executions", median(all.independent), "nodes/s", "[" + listed(all.independent) + "]");
  print_ratio("  chains of 10", all.chains, all.independent, "of the independent ones; target 0.6");
  print_ratio("  1 -> 100 -> 1", all.diamonds, all.independent, "of the independent ones; target 0.6");
  print_line("  ten flows of 1,000 nodes", median(all.ten_smaller), "nodes/s", "[" + listed(all.ten_smaller) + "]");
  print_ratio("  one flow of 10,000 nodes", all.one_large, all.ten_smaller, "of the ten flows; target 0.7");
  print_line("  any of 100: until the last of 99 is cancelled", median(all.any_of), "ms",
             "[" + listed(all.any_of, 1) + "]");
  print_line("  99 plain cancels", median(all.cancels), "ms", "[" + listed(all.cancels, 1) + "]");
  fmt::print("\n");
}

}  // namespace

void bench_flows(const std::string& title, const std::function<std::string(const std::string&)>& store_url,
                 int rounds) {
  constexpr std::size_t executions = 10'000;
  constexpr std::size_t width = 100;
  Measured all;
  for (int round = 0; round < rounds; ++round) {
    const auto home = [&](const std::string& name) { return Home(store_url(name + "_" + std::to_string(round))); };
    all.independent.push_back(
        home("independent").rate(executions, [](Engine& engine) { submit_independent(engine, executions); }));
    all.chains.push_back(
        home("chains").rate(executions, [](Engine& engine) { submit_flows(engine, chain(10), executions / 10); }));
    constexpr std::size_t diamonds = executions / (width + 2);
    all.diamonds.push_back(home("diamonds").rate(diamonds * (width + 2), [](Engine& engine) {
      submit_flows(engine, diamond(width), diamonds);
    }));
    all.ten_smaller.push_back(
        home("ten").rate(executions, [](Engine& engine) { submit_flows(engine, diamond(executions / 10 - 2), 10); }));
    all.one_large.push_back(
        home("one").rate(executions, [](Engine& engine) { submit_flows(engine, diamond(executions - 2), 1); }));
    Home cancelling = home("cancelling");
    all.any_of.push_back(any_of_ms(cancelling));
    all.cancels.push_back(plain_cancels_ms(cancelling));
  }
  print_all(title, all);
}

}  // namespace flowfabric::bench
