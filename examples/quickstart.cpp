// The smallest useful program: one execution is submitted, claimed by a worker and completed, all in one process.
// The store is the file named by the first argument, or jobs.db.
#include <cstdio>
#include <string>

// [quickstart]
#include <flowfabric/engine.hpp>

int run(const std::string& file) {
  auto engine = flowfabric::Engine::open("sqlite:" + file);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;

  auto created = (*engine)->create({.kind = "greet", .payload = "world"});  // Durable from now on.
  if (!created) return std::fprintf(stderr, "%s\n", created.error().message.c_str()), 1;

  // Claimed under a lease: if this worker dies, another one gets the execution.
  auto claimed = (*engine)->claim({.worker_id = "greeter", .worker_instance_id = "greeter-1"});
  if (!claimed) return std::fprintf(stderr, "%s\n", claimed.error().message.c_str()), 1;
  for (const auto& work : *claimed) {
    auto done = (*engine)->complete(work.handle, {.result = "hello, " + work.payload});
    if (!done) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  }

  auto ended = (*engine)->wait(created->execution_id, 1000);
  if (!ended) return std::fprintf(stderr, "%s\n", ended.error().message.c_str()), 1;
  return std::printf("%s\n", ended->result.c_str()) > 0 ? 0 : 1;
}
// [quickstart]

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "jobs.db"); }
