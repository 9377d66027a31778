// Schedules: operators make, change, pause, trigger, backfill and delete them.
#include "engine/schedule_reads.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {

ScheduleRequest World::random_schedule() {
  ScheduleRequest request;
  request.name = fmt::format("schedule-{}", random_.below(3));
  if (random_.chance(500)) {
    request.cron = random_.chance(500) ? "* * * * *" : "*/20 * * * * *";
  } else {
    request.every_ms = random_.between(5, 300) * 1000;
  }
  request.jitter_ms = random_.chance(300) ? random_.between(0, 20000) : 0;
  request.overlap = static_cast<OverlapPolicy>(random_.below(4));
  request.catch_up = static_cast<CatchUpPolicy>(random_.below(3));
  request.catch_up_limit = static_cast<std::uint32_t>(random_.between(1, 5));
  request.start_window_ms = random_.between(0, 120) * 1000;
  // It ends by itself: an hour later there would be too much to do.
  request.end_at = now_ms() + random_.between(1, 20) * 60 * 1000;
  if (random_.chance(300)) {
    request.flow = scheduled_flow_request();
    return request;
  }
  request.execution.kind = "scheduled";
  request.execution.lane = random_.pick(lane_names);
  return request;
}

FlowRequest World::scheduled_flow_request() {
  FlowRequest flow;
  flow.kind = "scheduled-flow";
  for (const char* name : {"first", "second"}) {
    FlowNode& node = flow.nodes.emplace_back();
    node.name = name;
    node.request.kind = "scheduled";
    node.request.lane = random_.pick(lane_names);
  }
  flow.edges = {{"first", "second"}};
  return flow;
}

void World::operate_on_schedule() {
  const ScheduleRequest request = random_schedule();
  const Operator by{"operator", "because"};
  const std::string what = "schedule " + request.name;
  const auto ignore = [](Process&, const auto&) {};
  switch (random_.below(8)) {
    case 0:
    case 1:
    case 2: return send(live_process(), CreateScheduleCommand{request}, "create " + what, ignore);
    case 3:
      return send(live_process(), UpdateScheduleCommand{"default", request.name, request, {}, by}, "update " + what,
                  ignore);
    case 4: {
      const auto state = static_cast<ScheduleState>(random_.below(3));
      return send(live_process(), ScheduleStateCommand{"default", request.name, state, by}, "change " + what, ignore);
    }
    case 5: {
      const auto command = reads::backfill_command(watcher_->store(), nullptr, "default", request.name,
                                                   {now_ms() - random_.between(1, 600) * 1000, now_ms()}, by);
      if (command) send(live_process(), *command, "backfill " + what, ignore);
      return;
    }
    default: {
      const TriggerRequest trigger{random_.chance(300), random_.chance(500) ? "key" : ""};
      return send(live_process(), TriggerScheduleCommand{"default", request.name, trigger, by}, "trigger " + what,
                  ignore);
    }
  }
}

// Otherwise they would go on for ever.
void World::delete_all_schedules() {
  for (const auto& [key, shadow] : watcher_->schedules()) {
    if (shadow.removed || shadow.record.state == ScheduleState::deleted) continue;
    send(*processes_.front(),
         ScheduleStateCommand{
             shadow.record.name_space, shadow.record.name, ScheduleState::deleted, {"operator", "drain"}},
         "delete schedule", [](Process&, const auto&) {});
  }
}

}  // namespace flowfabric::simulation
