// The smallest worker: a plain function, run durably. The store is the first argument: sqlite:PATH (the default), memory:,
// postgres://... or http://HOST:PORT of a server.
#include <cstdio>
#include <string>

// [hello]
#include <flowfabric/worker.hpp>

std::string greet(std::string name) { return "hello, " + name; }

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;

  flowfabric::Worker worker(*client);
  worker.on("greet", greet);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  auto job = client->submit("greet", std::string("world"));  // Durable from here on.
  if (!job) return std::fprintf(stderr, "%s\n", job.error().message.c_str()), 1;

  auto greeting = client->result<std::string>(job->execution_id, std::chrono::seconds(30));
  if (!greeting) return std::fprintf(stderr, "%s\n", greeting.error().message.c_str()), 1;
  return std::printf("%s\n", greeting->c_str()) > 0 ? 0 : 1;
}  // The worker stops here: it finishes what it runs and hands back what it cannot finish.
// [hello]

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:hello.db"); }
