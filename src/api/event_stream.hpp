// Events as server-sent events, at the pace of their reader.
//
// A stream is a chain of reads of the engine, each started when the client has taken what the one before brought. So a
// slow reader costs nothing but its place, and one that stays behind is told where to come back and let go. There is no
// thread and no timer to a stream: the read that brings nothing within the heartbeat is the heartbeat.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "api/call.hpp"

namespace flowfabric::api {

struct StreamSettings {
  std::chrono::milliseconds heartbeat{15'000};  // a comment after so much silence
  std::chrono::milliseconds patience{10'000};   // with a client that does not take what it was sent
  std::size_t max_streams = 1000;
};

// The streams of one server: how they behave and how many there are.
class EventStreams {
 public:
  explicit EventStreams(const StreamSettings& settings) : settings_(settings) {}

  const StreamSettings& settings() const { return settings_; }
  // False when there are enough.
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
