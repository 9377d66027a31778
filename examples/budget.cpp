// An agent that spends tokens, and is stopped when its budget is used up.
//
//   budget [STORE]      the store defaults to sqlite:budget.db
#include <chrono>
#include <cstdio>
#include <string>

#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

// [budget]
flowfabric::LimitRequest tokens_of_each_agent() {
  flowfabric::LimitRequest request;
  request.name = "agent-tokens";
  request.kind = "agent";
  request.per = {"execution"};
  request.budget = flowfabric::BudgetSpec{};
  request.budget->dimensions = {{.name = "tokens", .hard = 1000, .soft = 800, .reserve = 200}};
  return request;
}

std::string run_agent(flowfabric::Task& task) {
  int answers = 0;
  try {
    for (;; ++answers) {
      const std::int64_t tokens = 300;  // what a call of a model has cost
      const flowfabric::SpendReply reply = task.spend("tokens", tokens);
      if (const auto* warning = reply.warning()) {
        std::printf("%d of %d tokens are spent\n", static_cast<int>(warning->spent), static_cast<int>(*warning->hard));
      }
    }
  } catch (const flowfabric::BudgetExceeded& over) {
    std::printf("stopped: %s\n", over.what());
  }
  return std::to_string(answers) + " answers";
}
// [budget]

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return complain(client.error());
  if (auto saved = client->set_limit(tokens_of_each_agent()); !saved) return complain(saved.error());
  flowfabric::Worker worker(*client, {.worker_id = "agents"});
  worker.on("agent", run_agent);
  if (auto started = worker.start(); !started) return complain(started.error());

  auto submitted = client->submit("agent", flowfabric::Json());
  if (!submitted) return complain(submitted.error());
  auto result = client->result<std::string>(submitted->execution_id, 60s);
  if (!result) return complain(result.error());
  std::printf("%s\n", result->c_str());
  return *result == "3 answers" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:budget.db"); }
