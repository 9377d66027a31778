// The smallest useful program: one execution is submitted, claimed by a worker and completed, all in one process.
// The store is the file named by the first argument, or jobs.db.
#include <cstdio>
#include <string>

// [quickstart]
#include <flowfabric/engine.hpp>

int run(const std::string& file) {
  auto engine = flowfabric::Engine::open("sqlite:" + file);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;

  flowfabric::CreateRequest request;
  request.kind = "greet";
  request.payload = "world";
  auto created = (*engine)->create(request);  // Durable from here on.
  if (!created) return std::fprintf(stderr, "%s\n", created.error().message.c_str()), 1;

  flowfabric::ClaimRequest claim;  // Under a lease: should this worker die, another one gets the execution.
  claim.worker_id = claim.worker_instance_id = "greeter";
  auto claimed = (*engine)->claim(claim);
  if (!claimed) return std::fprintf(stderr, "%s\n", claimed.error().message.c_str()), 1;
  for (const auto& work : *claimed) (*engine)->complete(work.handle, {"hello, " + work.payload, "text/plain"});

  auto ended = (*engine)->wait(created->execution_id, 1000);
  if (!ended) return std::fprintf(stderr, "%s\n", ended.error().message.c_str()), 1;
  return std::printf("%s\n", ended->result.c_str()) > 0 ? 0 : 1;
}
// [quickstart]

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "jobs.db"); }
