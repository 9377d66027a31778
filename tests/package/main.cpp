// Proves that an installed FlowFabric can be found, compiled against, linked and run: a worker does a piece of work.
#include <cstdio>
#include <string>

#include <flowfabric/engine.hpp>
#include <flowfabric/testing.hpp>
#include <flowfabric/worker.hpp>

namespace {

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return complain(client.error());
  flowfabric::Worker worker(*client);
  worker.on("double", [](flowfabric::Task& task, int n) { return task.step("double", [&] { return 2 * n; }); });
  if (auto started = worker.start(); !started) return complain(started.error());
  auto job = client->submit("double", 21);
  if (!job) return complain(job.error());
  auto result = client->result<int>(job->execution_id, std::chrono::seconds(30));
  if (!result) return complain(result.error());
  return *result == 42 ? 0 : 1;
}

// What a build does not have is refused in words.
int expect_refusal(const std::string& store, const std::string& word) {
  const auto client = flowfabric::Client::open(store);
  if (client) return 1;
  return client.error().message.find(word) == std::string::npos ? complain(client.error()) : 0;
}

}  // namespace

// usage: package_test [STORE [WORD]]; with a word, the store must be refused by a message that has it.
int main(int argc, char** argv) {
  if (argc > 2) return expect_refusal(argv[1], argv[2]);
  flowfabric::testing::Engine engine;
  return run(argc > 1 ? argv[1] : "memory:");
}
