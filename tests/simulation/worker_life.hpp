// The legal sequence of events of one worker instance. It may register again after it has died.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/records.hpp"

namespace flowfabric::simulation {

class WorkerLife {
 public:
  struct Death {
    std::uint64_t commit = 0;
    TimestampMs at = 0;     // when it died, which may be before that was noticed
    TimestampMs until = 0;  // leases that it got until then are released
  };

  // Throws Violation if the event may not follow. `commit` is the number of its commit, `expires_at` the previous
  // expiry of the worker.
  void take(const Event& event, std::uint64_t commit, TimestampMs expires_at);
  // Throws Violation if the stored or listed data does not match the events.
  void compare(const WorkerInfo& info) const;

  bool live() const { return state_ == WorkerState::live && registrations_ > 0; }
  const std::string& worker_id() const { return worker_id_; }
  bool draining() const { return draining_; }
  int turns() const { return turns_; }  // how often draining began or ended
  int registrations() const { return registrations_; }
  const std::vector<Death>& deaths() const { return deaths_; }

 private:
  void begin(const Event& event);
  void end(const Event& event, WorkerState state, const Death& death);

  WorkerState state_ = WorkerState::live;
  int registrations_ = 0;
  std::string worker_id_;
  bool draining_ = false;
  int turns_ = 0;
  TimestampMs registered_at_ = 0;
  TimestampMs ended_at_ = 0;
  std::string ended_by_;
  std::string reason_;
  std::vector<Death> deaths_;
};

}  // namespace flowfabric::simulation
