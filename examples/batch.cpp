// A handler that takes several executions in one call: 50 readings of sensors are stored with a few inserts.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <flowfabric/client.hpp>
#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

// Stands for a database in which one insert of many rows is much faster than many inserts of one row.
class Table {
 public:
  void insert(const std::vector<int>& rows) {
    const std::lock_guard lock(mutex_);
    ++inserts_;
    for (const int row : rows) rows_[row] = true;
  }
  std::size_t rows() const { return rows_.size(); }
  int inserts() const { return inserts_; }

 private:
  std::mutex mutex_;
  std::map<int, bool> rows_;
  int inserts_ = 0;
};

int fail_with(const flowfabric::Error& error) {
  std::printf("%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  auto client = flowfabric::Client::open("memory:");
  if (!client) return fail_with(client.error());
  constexpr int readings = 50;
  std::vector<flowfabric::ExecutionId> ids;
  for (int i = 0; i < readings; ++i) {
    auto made = client->submit("reading", i);
    if (!made) return fail_with(made.error());
    ids.push_back(made->execution_id);
  }
  Table table;
  flowfabric::Worker worker(*client, {.worker_id = "sensors", .concurrency = 20});
  // Up to 20 at a time; a batch that is not full waits 50 ms for more.
  worker.on_batch("reading", {.max_size = 20, .max_wait = 50ms},
                  [&](const std::vector<int>& values) { table.insert(values); });
  if (const auto started = worker.start(); !started) return fail_with(started.error());
  for (const auto& id : ids) {
    const auto ended = client->wait(id, 30s);
    if (!ended) return fail_with(ended.error());
  }
  worker.stop();
  if (const auto ended = worker.join(); !ended) return fail_with(ended.error());
  std::printf("%zu rows with %d inserts\n", table.rows(), table.inserts());
  return table.rows() == readings && table.inserts() < readings ? 0 : 1;
}
