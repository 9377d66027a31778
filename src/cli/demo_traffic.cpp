#include "cli/demo_traffic.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <flowfabric/worker.hpp>

#include "base/check.hpp"

namespace flowfabric::cli {
namespace {

using std::chrono::milliseconds;

constexpr const char* lane = "shop";
constexpr milliseconds between_orders{300};
constexpr std::uint64_t declined_of = 10;  // one order of so many

// Stands for a call of another service.
void work(Task& task, milliseconds duration) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, task.stop_token(), duration, [] { return false; });
  task.check_stopped();
}

std::string handle_order(Task& task, std::string order) {
  const std::uint64_t chance = task.random();
  task.step("reserve", [&] { work(task, milliseconds(20 + chance % 60)); });
  task.progress(33, "reserved");
  task.step("charge", [&] {
    work(task, milliseconds(40 + chance % 120));
    if (chance % declined_of == 0) throw PermanentFailure("the bank declined the card of " + order, "card_declined");
  });
  task.progress(66, "charged");
  task.step("ship", [&] { work(task, milliseconds(30 + chance % 90)); });
  return order + " is on its way";
}

std::string handle_mail(Task& task, std::string address) {
  work(task, milliseconds(30));
  return "sent to " + address;
}

class Traffic : public DemoTraffic {
 public:
  explicit Traffic(Client client)
      : client_(std::move(client)),
        worker_(client_, {.worker_id = "shop", .lanes = {lane}, .concurrency = 4, .stop_grace = milliseconds(1000)}) {
    worker_.on("order", handle_order);
    worker_.on("mail", handle_mail);
  }
  Result<void> begin() {
    FF_TRY_VOID(worker_.start());
    submitter_ = std::jthread([this](const std::stop_token& stop) { submit_until(stop); });
    return {};
  }

 private:
  void submit_until(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    for (int number = 1; !stop.stop_requested(); ++number) {
      const std::string order = "order-" + std::to_string(number);
      // What is not submitted is missing from the curves only.
      (void)client_.submit("order", order, {.lane = lane, .tags = {{"shop.order", order}}});
      if (number % 2 == 0) (void)client_.submit("mail", order + "@example.com", {.lane = lane});
      never.wait_for(lock, stop, between_orders, [] { return false; });
    }
  }

  Client client_;
  Worker worker_;
  std::jthread submitter_;  // ends before the worker does
};

}  // namespace

Result<std::unique_ptr<DemoTraffic>> DemoTraffic::start(const std::string& server_url) {
  FF_TRY(client, Client::open(server_url));
  auto traffic = std::make_unique<Traffic>(std::move(client));
  FF_TRY_VOID(traffic->begin());
  return std::unique_ptr<DemoTraffic>(std::move(traffic));
}

}  // namespace flowfabric::cli
