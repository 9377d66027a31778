// Data from the event log about a run of the demo, during it and afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <flowfabric/engine.hpp>

namespace flowfabric::cli {

// The data of one execution in the log.
struct Story {
  std::uint32_t claims = 0;
  std::uint32_t pauses = 0;
  std::uint32_t retries = 0;
  std::uint32_t lease_losses = 0;
  std::uint32_t ends = 0;
  PublicState state = PublicState::waiting;  // after the last event
  TimestampMs not_before = 0;                // when it may run next
  bool started_early = false;
};

// Thread-safe.
class Tally {
 public:
  void note(const Event& event);

  std::uint64_t ended() const;
  std::uint64_t events() const;
  Story story(const ExecutionId& id) const;
  // Two lines, the open ones and the ended ones: "waiting 120  active 64" and "completed 812".
  std::vector<std::string> counts() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<ExecutionId, Story> stories_;
  std::map<PublicState, std::uint64_t> by_state_;
  std::uint64_t ended_ = 0;
  std::uint64_t events_ = 0;
};

// Errors of the run. Thread-safe.
class Complaints {
 public:
  void add(const std::string& sentence);
  // All of them, sorted, without duplicates.
  std::map<std::string, std::uint64_t> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counted_;
};

// Reads events of a subscription into a tally until `stop`, then the remaining ones.
void follow(Subscription& subscription, Tally& tally, Complaints& complaints, const std::atomic<bool>& stop);

}  // namespace flowfabric::cli
