// Events as server-sent events, at the speed of the client.
//
// A stream is a chain of reads of the engine, each started when the client has received the previous page. So a slow
// client costs nothing but its slot, and one that is too slow gets a cursor to continue from and is disconnected. A
// stream needs no thread and no timer: a read that finds nothing within the heartbeat interval is the heartbeat.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "api/call.hpp"

namespace flowfabric::api {

struct StreamSettings {
  std::chrono::milliseconds heartbeat{15'000};  // a comment after this time without events
  std::chrono::milliseconds patience{10'000};   // for a client that does not receive
  std::size_t max_streams = 1000;
};

// The streams of one server: their settings and their number.
class EventStreams {
 public:
  explicit EventStreams(const StreamSettings& settings) : settings_(settings) {}

  const StreamSettings& settings() const { return settings_; }
  // False at the limit.
  bool enter();
  void leave() { --open_; }

 private:
  const StreamSettings settings_;
  std::atomic<std::size_t> open_{0};
};

// Answers the call with a stream, or with an error if it cannot begin.
void stream_events(const std::shared_ptr<EventStreams>& streams, const std::shared_ptr<Call>& call, EventFilter filter,
                   std::string cursor);

}  // namespace flowfabric::api
