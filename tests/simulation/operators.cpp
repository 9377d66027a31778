// Operators: they cancel, revoke, replay, change priorities and tags, end waits, close lanes and change the retention.
#include "simulation/world.hpp"

namespace flowfabric::simulation {

void World::operate_somehow() {
  const auto dice = random_.below(100);
  if (dice < 14) {
    operate_on_flow();
  } else if (dice < 26) {
    operate_on_wait();
  } else if (dice < 58) {
    operate_on_execution();
  } else if (dice < 62) {
    rotate_keys();
  } else if (dice < 67) {
    remove_something();
  } else if (dice < 80) {
    operate_on_lane();
  } else if (dice < 90) {
    wait_for_some_end();
  } else {
    set_retention();
  }
}

std::optional<ExecutionId> World::any_execution() {
  auto& shadows = watcher_->shadows();
  if (shadows.empty()) return std::nullopt;
  auto chosen = shadows.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(shadows.size())));
  return chosen->second.execution.id;
}

void World::operate_on_execution() {
  const auto id = any_execution();
  if (!id) return;
  const std::string name = to_string(*id);
  const Operator by{"operator", "because"};
  // The answer may come after the id was used again; then nothing is known about the execution that it was about.
  const auto must = [this, id = *id, incarnation = watcher_->find(*id)->incarnation](bool holds, const char* what) {
    if (watcher_->find(id)->incarnation != incarnation) return;
    if (!holds) violated("an operator's success is true", "{} of {}", what, to_string(id));
  };
  switch (random_.below(6)) {
    case 0:
      return send(live_process(), CancelCommand{*id, by}, "cancel " + name,
                  [this, must, id](Process&, const auto& reply) {
                    if (reply) must(watcher_->find(*id)->life.cancellations() > 0, "cancel");
                  });
    case 1:
      return send(live_process(), RevokeCommand{*id, {}, by}, "revoke " + name,
                  [this, must, id](Process&, const auto& reply) {
                    if (!reply) return;
                    auto& leases = watcher_->find(*id)->life.leases();
                    const auto span = leases.find(std::get<RevokeReply>(*reply).lease_epoch - 1);
                    must(span != leases.end() && span->second.ended_by == EventType::lease_revoked, "revoke");
                  });
    case 2:
      return send(live_process(), ReplayCommand{*id, by}, "replay " + name,
                  [this, must, id](Process&, const auto& reply) {
                    if (reply)
                      must(watcher_->find(*id)->life.replays() >= std::get<ReplayReply>(*reply).replay_count, "replay");
                  });
    case 3: {
      const auto priority = static_cast<std::int32_t>(random_.between(-3, 3));
      return send(live_process(), PriorityCommand{*id, priority, by}, "priority " + name, [](Process&, const auto&) {});
    }
    default: {
      TagChanges changes;
      if (random_.chance(500)) changes.set["app.colour"] = random_.chance(500) ? "red" : "blue";
      if (random_.chance(500)) changes.remove.emplace_back("app.tag");
      return send(live_process(), TagsCommand{*id, changes, by}, "tags " + name, [](Process&, const auto&) {});
    }
  }
}

void World::operate_on_lane() {
  const bool open = random_.chance(500);
  set_lane(random_.pick(lane_names), open ? LaneState::active : static_cast<LaneState>(random_.below(4)));
}

void World::set_lane(const std::string& lane, LaneState state) {
  Process& process = live_process();
  if (process.state->dead) return;
  LaneBook& book = lanes_[lane];
  book.overlapping = book.in_flight > 0;
  ++book.in_flight;
  ++book.changes_sent;
  const std::string what = fmt::format("lane {} {}", lane, to_string(state));
  send(process, LaneCommand{lane, state, {"operator", ""}}, what, [this, lane, state](Process&, const auto& reply) {
    LaneBook& after = lanes_[lane];
    --after.in_flight;
    // With overlapping changes, or one without a reply, the last one is unknown.
    after.certain = reply.has_value() && !after.overlapping;
    if (reply) after.acknowledged = state;
  });
}

void World::set_retention() {
  NamespaceInfo info{random_.chance(500) ? "default" : "tenant", {}};
  if (random_.chance(600)) info.retention.completed_ms = random_.between(0, 3600 * 1000);
  if (random_.chance(300)) info.retention.failed_ms = random_.between(0, 3600 * 1000);
  send(live_process(), NamespaceCommand{info, {"operator", ""}}, "retention " + info.name_space,
       [](Process&, const auto&) {});
}

void World::wait_for_some_end() {
  const auto id = any_execution();
  Process& process = live_process();
  if (!id || process.state->dead) return;
  const auto wait_ms = static_cast<std::uint32_t>(random_.between(1, 20000));
  Call call;
  call.what = fmt::format("wait {} ms for {}", wait_ms, to_string(*id));
  call.parks = true;
  call.awaited = id;
  call.until = now_ms() + wait_ms;
  call.crashed = [](const Error&) {};
  const std::uint64_t number = open_call(process, std::move(call));
  run_in(process, [&] {
    process.runtime->wait_for_end(*id, wait_ms, [this, state = process.state, number, id](const auto& reply) {
      if (state->dead) return;
      close_call(number);
      trace_.line("call {}: {}", number, reply ? "ended" : to_string(reply.error().code));
      // It may have been replayed since; there must at least have been an ended lease or a terminal event.
      const Shadow* shadow = watcher_->find(*id);
      const bool was_ended = shadow->removed || shadow->life.ended() || shadow->life.replays() > 0;
      if (reply && !was_ended) violated("a waiter hears of an end only when there is one", "{}", to_string(*id));
    });
  });
}

}  // namespace flowfabric::simulation
