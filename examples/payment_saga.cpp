// A saga that waits for a payment provider: the goods are reserved, the provider is asked for the payment and calls back with
// the token that it was given, as a webhook does. What was reserved is released when the payment is refused or does not come.
//
// usage: payment_saga [STORE]     sqlite:FILE, memory:, or the URL of a server
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/worker.hpp>

namespace shop {

struct Order {
  std::string id{};
  std::string card{};
  int patience_ms = 0;
};
FLOWFABRIC_JSON(Order, id, card, patience_ms);

// What the provider calls back with.
struct PaymentState {
  std::string state{};
  std::string receipt{};
};
FLOWFABRIC_JSON(PaymentState, state, receipt);

}  // namespace shop

namespace {

using namespace std::chrono_literals;
using shop::Order;
using shop::PaymentState;

constexpr int a_day_ms = 24 * 3600 * 1000;

// What the outside world has seen. Steps may run again after a crash; only new lines count.
class Ledger {
 public:
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> take_lines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

Ledger ledger;

// The payment provider: remembers where to call back, and does so when it has decided.
class Provider {
 public:
  void charge(const Order& order, const std::string& token) {
    const std::lock_guard lock(mutex_);
    if (order.card != "lost") calls_[token] = {order.card == "good" ? "paid" : "refused", "r-" + order.id};
  }
  // Returns false when FlowFabric has refused a call.
  bool call_back(flowfabric::Client& client) {
    const std::lock_guard lock(mutex_);
    for (const auto& [token, state] : std::exchange(calls_, {})) {
      // Providers repeat their calls; the key makes the repeats harmless.
      const auto payload = flowfabric::encode_value(state);
      for (int repeat = 0; repeat < 2; ++repeat) {
        auto request = flowfabric::Client::make_signal({}, payload, {.idempotency_key = state.receipt});
        auto sent = client.send_signal_by_token(token, std::move(request));
        if (!sent) return std::fprintf(stderr, "%s\n", sent.error().message.c_str()), false;
      }
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, PaymentState> calls_;
};

Provider provider;

// [payment_saga]
std::string handle_order(flowfabric::Task& task, Order order) {
  task.step("reserve", [&] { ledger.write("reserve " + order.id); });
  // The token is the right to answer. If this step runs again, it hands out the same one.
  task.step("charge", [&] { provider.charge(order, task.open_waitpoint("payment").token); });
  const std::chrono::milliseconds patience(order.patience_ms);
  const auto payment = task.wait_for_signal<PaymentState>("payment", patience);
  if (!payment || payment->state != "paid") {
    task.step("release", [&] { ledger.write("release " + order.id); });
    return payment ? "refused" : "no answer";
  }
  task.step("ship", [&] { ledger.write("ship " + order.id); });
  return "shipped, " + payment->receipt;
}
// [payment_saga]

bool check(flowfabric::Client& client, const Order& order, const std::string& expected,
           const std::vector<std::string>& expected_lines) {
  auto created = client.submit("order", order, {.lane = "payments"});
  if (!created) return std::fprintf(stderr, "%s\n", created.error().message.c_str()), false;
  flowfabric::Result<flowfabric::ExecutionResult> ended = flowfabric::ExecutionResult{};
  do {
    if (!provider.call_back(client)) return false;
    ended = client.wait(created->execution_id, 10ms);
  } while (!ended && ended.error().code == flowfabric::Errc::timed_out);
  const auto result = client.result<std::string>(created->execution_id, 0ms);
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message.c_str()), false;
  const auto lines = ledger.take_lines();
  std::printf("%s: %s\n", order.id.c_str(), result->c_str());
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
  return *result == expected && lines == expected_lines;
}

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "shop", .lanes = {"payments"}});
  worker.on("order", handle_order, {.steps = {{"reserve", "charge", "payment", "release?", "ship?"}}});
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  const bool paid = check(*client, {"o-1", "good", a_day_ms}, "shipped, r-o-1", {"reserve o-1", "ship o-1"});
  const bool refused = check(*client, {"o-2", "stolen", a_day_ms}, "refused", {"reserve o-2", "release o-2"});
  const bool silent = check(*client, {"o-3", "lost", 50}, "no answer", {"reserve o-3", "release o-3"});
  return paid && refused && silent ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:payment_saga.db"); }
