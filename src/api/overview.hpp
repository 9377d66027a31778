// The first page of the dashboard: what happens on the store, how much waits, and what needs attention.
//
// What happens is counted from the event log (log_follower.hpp). What waits is asked of the store, but for all who look
// together at most once a second, and less often when it takes long. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <flowfabric/engine.hpp>

#include "api/activity.hpp"
#include "api/log_follower.hpp"
#include "api/overview_bodies.hpp"

namespace flowfabric::api {

class Overview {
 public:
  // The engine must live longer. Blocks while it asks the store where its log ends.
  static std::shared_ptr<Overview> start(Engine& engine, std::string store_kind);
  Overview(Engine& engine, std::string store_kind);

  // Blocks. A store that does not answer is part of the reply. Samples from `since` on; 0: all.
  OverviewReply read(const std::optional<std::string>& name_space, TimestampMs since);

 private:
  using Steady = std::chrono::steady_clock;
  // What the store said.
  struct Snapshot {
    bool ready = false;
    std::string message{};
    std::vector<OverviewLane> lanes{};
    std::uint64_t lanes_left_out = 0;
    Engine::Delays delays{};
    TimestampMs now = 0;
    Steady::time_point taken{};
    Steady::time_point good_until{};
  };
  struct Place {
    std::shared_ptr<const Snapshot> snapshot{};
    bool is_asking = false;
  };
  struct Commits {
    Steady::time_point at{};
    Engine::Statistics statistics{};
  };

  std::shared_ptr<const Snapshot> snapshot_of(const std::optional<std::string>& name_space);
  std::shared_ptr<const Snapshot> ask(const std::optional<std::string>& name_space, const Snapshot* before);
  Result<void> ask_store(const std::optional<std::string>& name_space, Snapshot& snapshot);
  Result<std::vector<OverviewLane>> lanes_of(const std::optional<std::string>& name_space);
  Result<void> add_oldest(const std::optional<std::string>& name_space, Snapshot& snapshot);
  OverviewBatches batches();

  Engine& engine_;
  const std::string store_kind_;
  Activity activity_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, Place> places_;  // by namespace; empty: all
  std::deque<Commits> commits_;          // of the last minute, and one before it
  LogFollower follower_;
};

}  // namespace flowfabric::api
