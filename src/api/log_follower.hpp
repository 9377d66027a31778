// Reads the event log of the store, all of it, and counts it.
//
// A thread of its own that mostly waits: while nothing happens on the store it asks for nothing, and while much happens it
// reads once a second, in large pages. A log that grows faster than it may read is skipped, and the figures say so.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <flowfabric/engine.hpp>

#include "api/activity.hpp"

namespace flowfabric::api {

class LogFollower {
 public:
  // Both must live longer. Counts what is committed from now on. Blocks while it asks the store where that begins; if the
  // store does not answer, the figures begin when it does.
  LogFollower(Engine& engine, Activity& activity);
  ~LogFollower();
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

 private:
  // What the engine answers, and when it does that may be after our end.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<EventPage>> page;
    bool stopping = false;
  };

  void run(bool begun);
  // Nothing when it is to stop.
  std::optional<Result<EventPage>> read(const std::string& cursor, std::uint32_t wait_ms);
  // False when it is to stop.
  bool pause();
  bool begin();
  bool catch_up();
  void skip();

  Engine& engine_;
  Activity& activity_;
  std::string cursor_;  // empty: the end of the log
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::thread thread_;
};

}  // namespace flowfabric::api
