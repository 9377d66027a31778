// An order over a limit waits for a manager. Against a server the program prints the link to a page where the manager decides;
// inside this process, where no page is served, it approves by itself so that it ends.
//
// usage: order_approval [STORE]     sqlite:FILE, memory:, or the URL of a server
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <flowfabric/worker.hpp>

namespace shop {

struct Order {
  std::string id{};
  int cents = 0;
};
FLOWFABRIC_JSON(Order, id, cents);

}  // namespace shop

namespace {

using namespace std::chrono_literals;
using shop::Order;

constexpr int limit_cents = 100'000;

std::string server;  // the URL of the server; empty: there is none

bool is_server(const std::string& store) { return store.starts_with("http://") || store.starts_with("https://"); }

// The mail to the manager.
void send_link(const Order& order, const flowfabric::WaitpointToken& token) {
  if (server.empty()) return;
  std::printf("order %s waits for an approval: %s/approve/%s\n", order.id.c_str(), server.c_str(), token.token.c_str());
  std::fflush(stdout);
}

// [approval]
std::string handle_order(flowfabric::Task& task, Order order) {
  if (order.cents > limit_cents) {
    const flowfabric::ApprovalOptions question{.title = "Order " + order.id + " is over the limit",
                                               .context = flowfabric::encode_value(order),
                                               .timeout = 72h};
    task.step("mail link", [&] { send_link(order, task.open_waitpoint(question)); });
    const auto answer = task.approval(question);  // no thread, no lease and no memory meanwhile
    if (answer.rejected()) {
      const flowfabric::Decision& last = answer.decisions.back();
      return order.id + " rejected by " + last.actor + ": " + last.comment;
    }
    if (!answer.approved()) return order.id + ": nobody has decided";
  }
  task.step("ship", [&] { std::printf("ship %s\n", order.id.c_str()); });
  return order.id + " shipped";
}
// [approval]

bool report(const flowfabric::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return false;
}

// What the page does, once the handler has asked.
bool decide(flowfabric::Client& client, const flowfabric::ExecutionId& id, flowfabric::ApprovalDecision decision) {
  for (;;) {
    const auto waits = client.describe_waits(id);
    if (!waits) return report(waits.error());
    if (waits->wait) break;
    std::this_thread::sleep_for(10ms);
  }
  const auto decided = client.decide_approval(id, {"approval", decision, "too dear", "ada"});
  return decided ? true : report(decided.error());
}

bool ends_as(flowfabric::Client& client, const flowfabric::ExecutionId& id, const std::string& expected) {
  const auto result = client.result<std::string>(id, 73h);
  if (!result) return report(result.error());
  std::printf("%s\n", result->c_str());
  return expected.empty() || *result == expected;
}

int run(const std::string& store) {
  if (is_server(store)) server = store;
  auto client = flowfabric::Client::open(store);
  if (!client) return report(client.error()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "shop", .lanes = {"orders"}});
  worker.on("order", handle_order);
  if (auto started = worker.start(); !started) return report(started.error()), 1;

  std::vector<flowfabric::ExecutionId> ids;
  for (const Order& order : {Order{"o-1", 4'200}, Order{"o-2", 420'000}, Order{"o-3", 990'000}}) {
    auto created = client->submit("order", order, {.lane = "orders"});
    if (!created) return report(created.error()), 1;
    ids.push_back(created->execution_id);
  }
  using flowfabric::ApprovalDecision;
  const bool by_page = !server.empty();
  if (!by_page && !decide(*client, ids[1], ApprovalDecision::approve)) return 1;
  if (!by_page && !decide(*client, ids[2], ApprovalDecision::reject)) return 1;
  const bool first = ends_as(*client, ids[0], "o-1 shipped");
  const bool second = ends_as(*client, ids[1], by_page ? "" : "o-2 shipped");
  const bool third = ends_as(*client, ids[2], by_page ? "" : "o-3 rejected by ada: too dear");
  return first && second && third ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:order_approval.db"); }
