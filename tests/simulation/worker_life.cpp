#include "simulation/worker_life.hpp"

#include <algorithm>

#include "simulation/trace.hpp"

namespace flowfabric::simulation {
namespace {

void require_of_worker(bool holds, const Event& event, const char* why) {
  if (!holds) {
    violated("events of workers come in legal order", "{} of {}/{}: {}", to_string(event.type), event.name_space,
             event.worker_instance_id, why);
  }
}

template <class A, class B>
void must_equal(const WorkerInfo& info, const A& stored, const B& told, const char* what) {
  if (stored != told) {
    violated("workers are what their events say", "{} of {}/{} is {}, the events make it {}", what, info.name_space,
             info.worker_instance_id, stored, told);
  }
}

}  // namespace

void WorkerLife::take(const Event& event, std::uint64_t commit, TimestampMs expires_at) {
  if (event.type == EventType::worker_registered) {
    require_of_worker(!live(), event, "it is alive");
    return begin(event);
  }
  require_of_worker(registrations_ > 0, event, "it was never registered");
  require_of_worker(live(), event, "it is dead");
  switch (event.type) {
    case EventType::worker_refreshed:
      require_of_worker(event.actor == worker_id_, event, "another worker took its place");
      if (draining_) ++turns_;
      draining_ = false;
      break;
    case EventType::worker_draining:
      require_of_worker(!draining_, event, "it is draining already");
      draining_ = true;
      ++turns_;
      break;
    case EventType::worker_marked_dead: end(event, WorkerState::marked_dead, {commit, event.at, event.at}); break;
    case EventType::worker_ttl_swept: end(event, WorkerState::ttl_swept, {commit, expires_at, expires_at}); break;
    default: require_of_worker(false, event, "not an event of a worker");
  }
}

void WorkerLife::begin(const Event& event) {
  ++registrations_;
  state_ = WorkerState::live;
  worker_id_ = event.actor;
  if (draining_) ++turns_;
  draining_ = false;
  registered_at_ = event.at;
  ended_at_ = 0;
  ended_by_.clear();
  reason_.clear();
  // Within one millisecond the leases of two registrations cannot be distinguished: those are kept.
  for (Death& death : deaths_) death.until = std::min(death.until, event.at - 1);
}

void WorkerLife::end(const Event& event, WorkerState state, const Death& death) {
  state_ = state;
  ended_at_ = event.at;
  ended_by_ = event.actor;
  reason_ = event.reason;
  deaths_.push_back(death);
}

void WorkerLife::compare(const WorkerInfo& info) const {
  // A live worker whose time is over is shown as lapsed before the clock has recorded its death.
  const WorkerState shown = info.state == WorkerState::lapsed ? WorkerState::live : info.state;
  must_equal(info, to_string(shown), to_string(state_), "the state");
  must_equal(info, info.worker_id, worker_id_, "the worker id");
  must_equal(info, info.draining, draining_, "draining");
  must_equal(info, info.registered_at, registered_at_, "registered_at");
  must_equal(info, info.ended_at, ended_at_, "ended_at");
  must_equal(info, info.ended_by, ended_by_, "ended_by");
  must_equal(info, info.reason, reason_, "the reason");
}

}  // namespace flowfabric::simulation
