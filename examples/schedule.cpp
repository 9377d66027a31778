// Executions and flows at times: a report in the night, a beat every second, an import of two steps every week.
//
//   schedule [STORE]      the store defaults to sqlite:schedule.db
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

// [schedule]
flowfabric::ScheduleRequest nightly() {
  flowfabric::ScheduleRequest request;
  request.name = "nightly-report";
  request.cron = "30 2 * * MON-FRI";
  request.time_zone = "Europe/Berlin";
  request.exceptions = {"12-25", "2027-01-01"};  // no firings on these days
  request.overlap = flowfabric::OverlapPolicy::buffer_one;
  request.execution.kind = "report";
  return request;
}
// [schedule]

// [flow]
flowfabric::ScheduleRequest weekly_import() {
  flowfabric::ScheduleRequest request;
  request.name = "weekly-import";
  request.cron = "0 4 * * SUN";
  flowfabric::FlowBuilder flow("import");
  flow.node("extract", "extract");
  flow.node("load", "load").after("extract");
  request.flow = flow.build();
  return request;
}
// [flow]

flowfabric::ScheduleRequest every_second() {
  flowfabric::ScheduleRequest request;
  request.name = "heartbeat";
  request.every_ms = 1000;
  request.overlap = flowfabric::OverlapPolicy::allow;
  request.execution.kind = "beat";
  return request;
}

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return complain(client.error());
  std::atomic<int> beats = 0;
  std::atomic<int> reports = 0;
  std::atomic<int> imports = 0;
  flowfabric::Worker worker(*client, {.worker_id = "scheduled"});
  worker.on("beat", [&](flowfabric::Task&) { ++beats; });
  worker.on("report", [&](flowfabric::Task&) { ++reports; });
  worker.on("extract", [](flowfabric::Task&) {});
  worker.on("load", [&](flowfabric::Task&) { ++imports; });
  if (auto started = worker.start(); !started) return complain(started.error());

  for (const auto& request : {nightly(), weekly_import(), every_second()}) {
    if (auto saved = client->create_schedule(request); !saved) return complain(saved.error());
  }
  // Not everything can wait for the night or for Sunday.
  for (const char* name : {"nightly-report", "weekly-import"}) {
    if (auto fired = client->trigger_schedule("default", name); !fired) return complain(fired.error());
  }
  for (int i = 0; i < 600 && (beats < 2 || reports < 1 || imports < 1); ++i) std::this_thread::sleep_for(100ms);

  auto described = client->get_schedule("default", "heartbeat");
  if (!described) return complain(described.error());
  std::printf("%d beats, %d report and %d import; the schedule has fired %d times\n", beats.load(), reports.load(),
              imports.load(), static_cast<int>(described->counts.fired));
  if (auto deleted = client->delete_schedule("default", "heartbeat"); !deleted) return complain(deleted.error());
  return beats >= 2 && reports >= 1 && imports >= 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:schedule.db"); }
