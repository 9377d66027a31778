// Redrives: operators make, pause, resume and cancel them while everything else goes on.
#include "engine/dead_letter_reads.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {

void World::operate_on_redrive() {
  const Operator by{"operator", "because"};
  const auto ignore = [](Process&, const auto&) {};
  const auto& known = watcher_->redrives();
  if (!known.empty() && random_.chance(400)) {
    auto chosen = known.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(known.size())));
    const auto action = static_cast<RedriveAction>(random_.below(3));
    return send(live_process(), RedriveActionCommand{chosen->first, action, by}, "change redrive", ignore);
  }
  RedriveRequest request;
  request.all = true;
  if (random_.chance(500)) request.rate = random_.chance(500) ? "1/1s" : "100/1m";
  request.paused = random_.chance(100);
  Uuid id;
  for (auto& byte : id.bytes) byte = static_cast<std::uint8_t>(random_.below(256));
  const auto command = reads::redrive_command(watcher_->store(), request, by, id);
  if (!command) return;
  watcher_->redrive_was_asked_for(id);
  send(live_process(), *command, "redrive", ignore);
}

// Otherwise they would replay what has failed, while everything is to end.
void World::cancel_all_redrives() {
  for (const auto& [id, shadow] : watcher_->redrives()) {
    send(*processes_.front(), RedriveActionCommand{id, RedriveAction::cancel, {"operator", "drain"}}, "cancel redrive",
         [](Process&, const auto&) {});
  }
}

}  // namespace flowfabric::simulation
