// Random flows while workers, servers and the database are killed at random: every flow ends as the rules of docs/flows.md say.
//
// How a node ends depends only on its payload. Which nodes have started when one fails depends on the machine; then only what holds in any
// order is verified. A third of the flows end alike in every order: they are compared with the evaluator node by node.
//
// FF_CHAOS_FLOWS says how many flows on each store (24); the full form is 2000. FF_CHAOS_SEED repeats the choices.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <flowfabric/client.hpp>

#include "e2e/chaos/caller.hpp"
#include "e2e/chaos/cast.hpp"
#include "e2e/chaos/flow_worker.hpp"
#include "model/flow_evaluator.hpp"
#include "model/flow_graph.hpp"
#include "support/free_port.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"
#include "wire/flow_bodies.hpp"

namespace flowfabric::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::FlowEvaluator;

constexpr int flow_workers = 3;
constexpr auto flows_standstill = 3min;
constexpr std::size_t flows_at_once = 40;  // submitted and not ended

std::uint64_t flows_number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

template <class T>
T must_reply(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

struct RandomFlow {
  FlowRequest request{};
  bool is_same_in_any_order = false;
  std::optional<FlowCancelRequest> cancel{};
  FlowId id{};
};

RandomFlow make_flow(std::uint64_t number, std::uint64_t seed) {
  std::mt19937_64 random(seed * 1000003 + number);
  const auto chosen = [&] { return static_cast<std::uint32_t>(random() >> 32); };
  test::FlowNumbers numbers;
  numbers.nodes.resize(10 + random() % 51);
  for (std::uint32_t& node : numbers.nodes) node = chosen();
  numbers.edges.resize(numbers.nodes.size() * 3 / 2);
  for (std::uint32_t& edge : numbers.edges) edge = chosen();
  numbers.rules = chosen();
  RandomFlow flow;
  flow.request = test::flow_of(numbers);
  flow.request.idempotency_key = "flow-" + std::to_string(number);
  for (FlowNode& node : flow.request.nodes) {
    const std::uint64_t plan = random() % 12;
    node.request.payload = plan == 0 ? plan_failure : plan == 1 ? plan_retries : plan_success;
    node.request.payload_encoding = "json";
    node.request.policy.retry = RetryPolicy{};
    node.request.policy.retry->max_retries = 1000;
  }
  flow.is_same_in_any_order = number % 3 == 0;
  if (flow.is_same_in_any_order) {
    flow.request.failure_policy = FailurePolicy::continue_others;
    for (FlowGroup& group : flow.request.groups) group.rest = GroupRest::let_run;
  } else if (random() % 5 == 0) {
    flow.cancel = FlowCancelRequest{static_cast<FlowCancelPolicy>(1 + random() % 2), random() % 2 == 0};
  }
  return flow;
}

Outcome planned_outcome(const FlowNode& node) {
  return node.request.payload == plan_failure ? Outcome::failed : Outcome::success;
}

Outcome outcome_shown(PublicState state) {
  switch (state) {
    case PublicState::completed: return Outcome::success;
    case PublicState::failed: return Outcome::failed;
    case PublicState::cancelled: return Outcome::cancelled;
    case PublicState::expired: return Outcome::expired;
    case PublicState::skipped: return Outcome::skipped;
    default: return Outcome::none;
  }
}

// How the flow ends; in whichever order, if it is one of those that end alike in every order.
FlowEvaluator evaluated(const FlowRequest& request) {
  FlowEvaluator evaluator(request);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
      if (evaluator.nodes()[i].life != FlowEvaluator::Life::ready) continue;
      evaluator.claim(i);
      evaluator.end(i, planned_outcome(request.nodes[i]));
      changed = true;
    }
  }
  return evaluator;
}

class FlowsChaos : public ::testing::TestWithParam<StoreChoice> {
 protected:
  FlowsChaos() {
    if (GetParam() == StoreChoice::postgres) {
      postgres_.emplace(test::PostgresServer::start({true, {"recovery_init_sync_method=syncfs"}}));
      store_url_ = postgres_->url();
    } else {
      store_url_ = "sqlite:" + (folder_.path() / "store.db").string();
    }
    for (int i = 0; i < (postgres_ ? 2 : 1); ++i) {
      const std::string address = "127.0.0.1:" + std::to_string(test::free_port());
      servers_.push_back(make_server(folder_.path(), i, store_url_, address));
      urls_.push_back("http://" + address);
    }
    look_after_servers();
    for (int i = 0; i < flow_workers; ++i) workers_.push_back(worker(i));
  }

  void TearDown() override {
    if (!HasFailure()) return;
    std::printf("FF_CHAOS_SEED=%lu, logs are in %s\n", seed_, folder_.path().c_str());
    folder_.keep();
  }

  Role worker(int number) {
    const std::string url = urls_[static_cast<std::size_t>(number) % urls_.size()];
    const auto words_of = [this, url](const std::string& life) { return flow_worker_words({life, url, random_()}); };
    return {folder_.path(), "worker" + std::to_string(number), words_of, worker_may_end};
  }
  void look_after_servers() {
    for (Role& server : servers_) server.look_after();
  }
  std::chrono::milliseconds between(int from_ms, int to_ms) {
    return std::chrono::milliseconds(std::uniform_int_distribution(from_ms, to_ms)(random_));
  }

  void run_flows(std::uint64_t count);
  static void cancel(Caller& caller, RandomFlow& flow);
  static bool has_ended_now(Caller& caller, const RandomFlow& flow);
  void kill_at_random(const std::atomic<bool>& ended);
  bool kill_a_server();
  void start_over();
  void verify(const RandomFlow& flow, Caller& caller);
  void verify_nodes(const RandomFlow& flow, const std::vector<FlowNodeInfo>& nodes, const FlowDescription& found);
  void verify_summary(const RandomFlow& flow, const std::vector<FlowNodeInfo>& nodes, const FlowDescription& found);

  const std::uint64_t seed_ = flows_number("FF_CHAOS_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
  test::TempDir folder_{"flowfabric-flows-chaos"};
  std::optional<test::PostgresServer> postgres_;
  std::string store_url_;
  std::vector<std::string> urls_;
  std::vector<Role> servers_;
  std::vector<Role> workers_;
  std::vector<RandomFlow> flows_;
  Kills kills_;
  std::uint64_t nodes_ = 0, again_ = 0, cancelled_ = 0, skipped_ = 0;
};

// Repeats unanswered requests unchanged; the key makes that one flow.
void FlowsChaos::run_flows(std::uint64_t count) {
  Caller caller(urls_, seed_);
  std::mt19937_64 random(seed_ + 1);
  std::deque<std::size_t> open;
  auto limit = steady_clock::now() + flows_standstill;
  while (flows_.size() < count || !open.empty()) {
    if (flows_.size() < count && open.size() < flows_at_once) {
      RandomFlow flow = make_flow(flows_.size(), seed_);
      flow.id = must_reply(persist([&] { return caller.post<FlowCreated>("/v1/flows", flow.request); })).flow_id;
      open.push_back(flows_.size());
      flows_.push_back(std::move(flow));
      continue;
    }
    const std::size_t i = open.front();
    open.pop_front();
    if (flows_[i].cancel && random() % 8 == 0) cancel(caller, flows_[i]);
    if (has_ended_now(caller, flows_[i])) {
      limit = steady_clock::now() + flows_standstill;
      continue;
    }
    open.push_back(i);
    if (steady_clock::now() > limit) {
      throw std::runtime_error("no flow ends any more; left are " + std::to_string(open.size()) + ", the first is " +
                               to_string(flows_[open.front()].id));
    }
    std::this_thread::sleep_for(5ms);
  }
}

// Perhaps again, if there was no answer: that changes nothing.
void FlowsChaos::cancel(Caller& caller, RandomFlow& flow) {
  bodies::FlowCancelBody body;
  body.policy = flow.cancel->policy;
  body.run_cleanup = flow.cancel->run_cleanup;
  const auto reply = caller.post<FlowCancelReply>("/v1/flows/" + to_string(flow.id) + "/cancel", body);
  if (reply || !is_worth_repeating(reply.error())) flow.cancel.reset();
}

bool FlowsChaos::has_ended_now(Caller& caller, const RandomFlow& flow) {
  const auto found = caller.get<FlowDescription>("/v1/flows/" + to_string(flow.id));
  return found && has_ended(found->summary.state);
}

bool FlowsChaos::kill_a_server() {
  Role& server = servers_[random_() % servers_.size()];
  if (!server.is_alive() || !is_serving(server.log())) return false;
  server.kill_now();
  server.start_at(steady_clock::now() + between(0, 300));
  return true;
}

// On the thread that started the processes: they die with it.
void FlowsChaos::kill_at_random(const std::atomic<bool>& ended) {
  auto next_worker = steady_clock::now() + between(200, 500);
  auto next_server = steady_clock::now() + between(400, 900);
  auto next_database = steady_clock::now() + between(800, 2000);
  while (!ended) {
    std::this_thread::sleep_for(10ms);
    look_after_servers();
    for (Role& one : workers_) one.look_after();
    if (steady_clock::now() >= next_worker) {
      workers_[random_() % workers_.size()].kill_now();
      ++kills_.workers;
      next_worker = steady_clock::now() + between(100, 900);
    }
    if (steady_clock::now() >= next_server && kill_a_server()) {
      ++kills_.servers;
      next_server = steady_clock::now() + between(500, 2500);
    }
    if (postgres_ && steady_clock::now() >= next_database) {
      postgres_->kill();
      std::this_thread::sleep_for(between(0, 300));
      postgres_->start_again();
      ++kills_.databases;
      next_database = steady_clock::now() + between(3000, 8000);
    }
  }
}

// What is read afterwards was stored.
void FlowsChaos::start_over() {
  for (Role& one : workers_) one.kill_now();
  for (Role& server : servers_) server.kill_now();
  if (postgres_) {
    postgres_->kill();
    postgres_->start_again();
  }
  for (Role& server : servers_) server.start_at(steady_clock::now());
  const auto limit = steady_clock::now() + flows_standstill;
  for (Role& server : servers_) {
    while (!is_serving(server.log()) || !server.is_alive()) {
      server.look_after();
      std::this_thread::sleep_for(10ms);
      ASSERT_LT(steady_clock::now(), limit) << "a server does not come back";
    }
  }
}

void FlowsChaos::verify(const RandomFlow& flow, Caller& caller) {
  const std::string path = "/v1/flows/" + to_string(flow.id);
  const auto found = must_reply(persist([&] { return caller.get<FlowDescription>(path); }));
  const auto nodes = must_reply(persist([&] { return caller.get<FlowNodesReply>(path + "/nodes?limit=1000"); })).nodes;
  const auto history = must_reply(persist([&] { return caller.get<EventPage>(path + "/history?limit=1000"); })).events;
  ASSERT_EQ(nodes.size(), flow.request.nodes.size());
  verify_nodes(flow, nodes, found);
  verify_summary(flow, nodes, found);
  const auto ends =
      std::count_if(history.begin(), history.end(), [](const Event& event) { return ends_flow(event.type); });
  EXPECT_EQ(ends, 1) << to_string(flow.id);
}

void FlowsChaos::verify_nodes(const RandomFlow& flow, const std::vector<FlowNodeInfo>& nodes,
                              const FlowDescription& found) {
  std::vector<test::EndedNode> ended;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Outcome planned = planned_outcome(flow.request.nodes[i]);
    ended.push_back({nodes[i].name, outcome_shown(nodes[i].public_state), nodes[i].attempt_count, planned});
    again_ += nodes[i].attempt_count > 1;
    cancelled_ += nodes[i].public_state == PublicState::cancelled;
    skipped_ += nodes[i].public_state == PublicState::skipped;
  }
  nodes_ += nodes.size();
  std::optional<FlowCancelRequest> cancelled;
  if (found.cancellation && found.cancellation->cause == "operator") {
    cancelled = FlowCancelRequest{found.cancellation->policy, found.cancellation->run_cleanup};
  }
  EXPECT_EQ(test::contradiction_of(flow.request, ended, cancelled), "") << to_string(flow.id) << "\n"
                                                                        << test::show_graph(flow.request);
  if (!flow.is_same_in_any_order) return;
  const FlowEvaluator evaluator = evaluated(flow.request);
  EXPECT_EQ(evaluator.states(), std::set<FlowState>{found.summary.state}) << to_string(flow.id);
  EXPECT_EQ(evaluator.unhandled_failures(), found.unhandled_failures) << to_string(flow.id);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(evaluator.nodes()[i].outcome, ended[i].outcome) << to_string(flow.id) << " " << nodes[i].name << "\n"
                                                              << test::show_graph(flow.request);
  }
}

void FlowsChaos::verify_summary(const RandomFlow& flow, const std::vector<FlowNodeInfo>& nodes,
                                const FlowDescription& found) {
  FlowCounts counts;
  std::set<std::string> unhandled;
  counts.total = static_cast<std::uint32_t>(nodes.size());
  for (const FlowNodeInfo& node : nodes) {
    counts.succeeded += node.public_state == PublicState::completed;
    counts.failed += node.public_state == PublicState::failed;
    counts.cancelled += node.public_state == PublicState::cancelled;
    counts.skipped += node.public_state == PublicState::skipped;
    const auto& edges = flow.request.edges;
    const bool is_handled = std::any_of(edges.begin(), edges.end(), [&](const FlowEdge& edge) {
      return edge.from == node.name && edge.kind == EdgeKind::on_failure;
    });
    if (node.public_state == PublicState::failed && !is_handled) unhandled.insert(node.name);
  }
  EXPECT_EQ(found.summary.counts, counts) << to_string(flow.id);
  EXPECT_EQ(found.unhandled_failures, unhandled.size()) << to_string(flow.id);
  EXPECT_EQ(found.first_failure.has_value(), !unhandled.empty()) << to_string(flow.id);
  if (found.first_failure) {
    EXPECT_TRUE(unhandled.contains(found.first_failure->node)) << to_string(flow.id);
  }
  if (found.cancellation && found.cancellation->cause == "operator") {
    EXPECT_TRUE(found.summary.state == FlowState::cancelled || !unhandled.empty()) << to_string(flow.id);
  } else {
    EXPECT_EQ(found.summary.state, unhandled.empty() ? FlowState::completed : FlowState::failed) << to_string(flow.id);
  }
}

TEST_P(FlowsChaos, EveryFlowEndsAsTheRulesSay) {
  const auto begin = steady_clock::now();
  std::atomic<bool> ended{false};
  std::exception_ptr problem;
  std::jthread waiting([&] {
    try {
      run_flows(flows_number("FF_CHAOS_FLOWS", 24));
    } catch (...) {
      problem = std::current_exception();
    }
    ended = true;
  });
  kill_at_random(ended);
  waiting.join();
  if (problem) std::rethrow_exception(problem);
  ASSERT_NO_FATAL_FAILURE(start_over());
  Caller caller(urls_, seed_);
  for (const RandomFlow& flow : flows_) ASSERT_NO_FATAL_FAILURE(verify(flow, caller));
  int lives = 0;
  for (const Role& one : workers_) lives += one.lives();
  std::printf(
      "%zu flows with %lu nodes, %lu of them claimed more than once, %lu cancelled, %lu skipped; %d worker processes; "
      "killed: %d workers, %d servers, %d databases; %.1f s\n",
      flows_.size(), nodes_, again_, cancelled_, skipped_, lives, kills_.workers, kills_.servers, kills_.databases,
      std::chrono::duration<double>(steady_clock::now() - begin).count());
}

INSTANTIATE_TEST_SUITE_P(Served, FlowsChaos, ::testing::Values(StoreChoice::sqlite, StoreChoice::postgres),
                         [](const auto& chosen) {
                           return chosen.param == StoreChoice::sqlite ? "sqlite" : "postgres";
                         });

}  // namespace
}  // namespace flowfabric::chaos
