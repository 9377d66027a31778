// A saga: a trip is booked step by step, and what has been booked is undone when a later booking fails. The nodes that undo
// are behind on_failure edges, so a failure that they handle does not fail the flow.
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

// [saga]
flowfabric::FlowRequest trip(bool hotel_is_full) {
  flowfabric::FlowBuilder flow("trip");
  flow.node("flight", "book", std::string("flight"));
  flow.node("hotel", "book", std::string(hotel_is_full ? "full hotel" : "hotel")).after("flight");
  flow.node("confirm", "confirm").after("hotel");
  // Runs only if the hotel cannot be booked. What is to be undone comes as an input from the flight.
  flow.node("cancel-flight", "undo").after("flight").after_failure_of("hotel");
  // Runs in any case, whatever became of the trip.
  flow.node("tell", "tell").after_end_of("confirm", "cancel-flight");
  return flow.build();
}
// [saga]

class Agency {
 public:
  std::string book(const std::string& what) {
    if (what == "full hotel") throw flowfabric::PermanentFailure("no room is free", "full");
    note("booked " + what);
    return what + " 42";
  }
  void note(const std::string& line) {
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

bool travels(flowfabric::Client& client, Agency& agency, bool hotel_is_full, const std::vector<std::string>& expected) {
  auto flow = client.submit_flow(trip(hotel_is_full));
  if (!flow) return std::fprintf(stderr, "%s\n", flow.error().message.c_str()), false;
  auto ended = client.wait_flow(flow->flow_id, 60s);
  if (!ended) return std::fprintf(stderr, "%s\n", ended.error().message.c_str()), false;
  const std::vector<std::string> lines = agency.take_lines();
  std::printf("the flow %s\n", std::string(to_string(ended->state)).c_str());
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
  return ended->state == flowfabric::FlowState::completed && lines == expected;
}

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  Agency agency;
  flowfabric::Worker worker(*client, {.worker_id = "agency"});
  worker.on("book", [&](std::string what) { return agency.book(what); });
  worker.on("confirm", [&](flowfabric::Task&) { agency.note("confirmed"); });
  worker.on("undo",
            [&](flowfabric::Task& task) { agency.note("cancelled " + task.input_from<std::string>("flight")); });
  worker.on("tell", [&](flowfabric::Task&) { agency.note("told the traveller"); });
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  const bool well =
      travels(*client, agency, false, {"booked flight", "booked hotel", "confirmed", "told the traveller"});
  const bool undone = travels(*client, agency, true, {"booked flight", "cancelled flight 42", "told the traveller"});
  return well && undone ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:saga.db"); }
