// An order that is charged once, whatever crashes: durable steps. examples/payment_survives.sh kills it with SIGKILL between
// any two of its steps, starts it again each time, and checks the ledger.
//
// usage: payment [STORE [LEDGER]], or payment --steps for what flowfabric check-deploy reads; with PAYMENT_DIE_AT=N it kills itself when the Nth different line has been
// written to the ledger.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <flowfabric/worker.hpp>

namespace shop {

struct Order {
  std::string id{};
  int cents = 0;
};
FLOWFABRIC_JSON(Order, id, cents);

struct Receipt {
  std::string order{};
  std::string charge{};
  std::string parcel{};
};
FLOWFABRIC_JSON(Receipt, order, charge, parcel);

}  // namespace shop

namespace {

using namespace std::chrono_literals;
using shop::Order;
using shop::Receipt;

std::string ledger_file = "ledger.txt";

// What the outside world has seen, line by line.
void write_ledger(const std::string& line) {
  std::set<std::string> before;
  std::ifstream ledger(ledger_file);
  for (std::string text; std::getline(ledger, text);) before.insert(text);
  std::ofstream(ledger_file, std::ios::app) << line << std::endl;
  const char* die_at = std::getenv("PAYMENT_DIE_AT");
  const bool is_new = before.insert(line).second;
  if (die_at != nullptr && is_new && before.size() == std::stoul(die_at)) std::raise(SIGKILL);
}

struct Payments {
  // The key makes a repeated charge harmless: a step may run again if the process died before it was recorded.
  std::string charge(const Order& order, const std::string& key) {
    write_ledger("charge " + order.id + " " + key);
    return "charge-" + key;
  }
};
struct Warehouse {
  std::string ship(const Order& order) {
    write_ledger("ship " + order.id);
    return "parcel-" + order.id;
  }
};

Payments payments;
Warehouse warehouse;

// [payment]
Receipt handle_order(flowfabric::Task& task, Order order) {
  const std::string key = to_string(task.uuid());  // the same in every run of this execution
  const auto charge = task.step("charge", [&] { return payments.charge(order, key); });
  task.sleep("cool-off", 50ms);  // no thread, no lease and no memory meanwhile; days would cost the same
  const auto parcel = task.step("ship", [&] { return warehouse.ship(order); }, {.max_retries = 5});
  task.step("mail", [&] { write_ledger("mail " + order.id); });
  return {order.id, charge, parcel};
}
// [payment]

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store == "--steps" ? "memory:" : store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "shop", .lease_ttl = 500ms});
  // [deploy]
  worker.on("order", handle_order, {.steps = {{"uuid", "charge", "cool-off", "ship", "mail"}}});
  if (store == "--steps") return std::printf("%s\n", worker.declared_steps().c_str()) > 0 ? 0 : 1;
  // [deploy]
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  // The key finds the same execution when the program is started again.
  auto order = client->submit("order", Order{"o-1", 4200}, {.idempotency_key = "o-1"});
  if (!order) return std::fprintf(stderr, "%s\n", order.error().message.c_str()), 1;
  auto receipt = client->result<Receipt>(order->execution_id, 60s);
  if (!receipt) return std::fprintf(stderr, "%s\n", receipt.error().message.c_str()), 1;
  std::printf("%s %s %s\n", receipt->order.c_str(), receipt->charge.c_str(), receipt->parcel.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) ledger_file = argv[2];
  return run(argc > 1 ? argv[1] : "sqlite:payment.db");
}
