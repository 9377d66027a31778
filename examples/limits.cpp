// Limits: three calls at a time for each customer, and five mails in any second; and customers who take turns.
//
//   limits [STORE]      the store defaults to sqlite:limits.db
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

// [limits]
flowfabric::LimitRequest three_for_each_customer() {
  flowfabric::LimitRequest limit;
  limit.name = "customers";
  limit.kind = "call";
  limit.per = {"tags.app.customer"};
  limit.concurrency = 3;
  return limit;
}

flowfabric::LimitRequest five_mails_a_second() {
  flowfabric::LimitRequest limit;
  limit.name = "mails";
  limit.kind = "mail";
  limit.rate = flowfabric::RateLimit{.count = 5, .period_ms = 1000};
  return limit;
}
// [limits]

// [share]
flowfabric::LimitRequest turns_of_customers() {
  flowfabric::LimitRequest limit;
  limit.name = "turns";
  limit.lane = "default";
  limit.per = {"tags.app.customer"};
  limit.share = flowfabric::ShareSpec{.weights = {{"tiny", 2}}};  // two turns where others have one
  return limit;
}
// [share]

// What runs at the same time, as the handlers see it.
class Gauge {
 public:
  void enter(const std::string& customer) {
    const std::lock_guard lock(mutex_);
    most_[customer] = std::max(most_[customer], ++now_[customer]);
  }
  void leave(const std::string& customer) {
    const std::lock_guard lock(mutex_);
    --now_[customer];
  }
  int most(const std::string& customer) {
    const std::lock_guard lock(mutex_);
    return most_[customer];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> now_;
  std::map<std::string, int> most_;
};

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

std::vector<flowfabric::CreateRequest> work() {
  std::vector<flowfabric::CreateRequest> all;
  for (int i = 0; i < 24; ++i) {
    flowfabric::CreateRequest call;
    call.kind = "call";
    call.tags["app.customer"] = i % 4 == 0 ? "tiny" : "greedy";
    all.push_back(call);
    flowfabric::CreateRequest mail;
    mail.kind = "mail";
    if (i < 12) all.push_back(mail);
  }
  return all;
}

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return complain(client.error());
  for (const auto& limit : {three_for_each_customer(), five_mails_a_second(), turns_of_customers()}) {
    if (auto saved = client->set_limit(limit); !saved) return complain(saved.error());
  }

  Gauge gauge;
  std::atomic<int> calls = 0;
  std::atomic<int> mails = 0;
  flowfabric::Worker worker(*client, {.worker_id = "limited", .concurrency = 16});
  worker.on("call", [&](flowfabric::Task& task) {
    const std::string customer = task.tags().at("app.customer");
    gauge.enter(customer);
    std::this_thread::sleep_for(50ms);
    gauge.leave(customer);
    ++calls;
  });
  worker.on("mail", [&](flowfabric::Task&) { ++mails; });
  if (auto started = worker.start(); !started) return complain(started.error());

  const auto began = std::chrono::steady_clock::now();
  for (const flowfabric::CreateRequest& request : work()) {
    if (auto created = client->submit(request); !created) return complain(created.error());
  }
  for (int i = 0; i < 600 && (calls < 24 || mails < 12); ++i) std::this_thread::sleep_for(100ms);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%d calls, at most %d of greedy and %d of tiny at the same time\n", calls.load(), gauge.most("greedy"),
              gauge.most("tiny"));
  std::printf("%d mails in %.1f seconds\n", mails.load(), seconds);

  for (const char* name : {"customers", "mails", "turns"}) {
    if (auto removed = client->remove_limit({{}, name}); !removed) return complain(removed.error());
  }
  const bool kept = gauge.most("greedy") <= 3 && gauge.most("tiny") <= 3 && seconds >= 2;  // 12 mails: 5, 5 and 2
  return calls == 24 && mails == 12 && kept ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:limits.db"); }
