// The legal sequence of events of one execution.
//
// A small automaton, written from the description of the transitions and not from their code: it takes the events in
// log order and computes the expected facts after each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/records.hpp"

namespace flowfabric::simulation {

// One lease, from the event that granted it to the event that ended it.
struct LeaseSpan {
  std::uint32_t attempt_index = 0;
  std::string instance;
  std::string grant_id;    // of the grant that it was given for, in hex
  std::string granted_to;  // the worker id of that grant
  std::uint64_t began_commit = 0;
  std::optional<Uuid> lease_id;    // unknown if it was granted and ended in one commit
  bool acknowledged = false;       // a worker was told about it
  std::uint64_t ended_commit = 0;  // 0: it is held
  EventType ended_by = EventType::created;
  std::string ended_actor;
};

// A current grant.
struct Reservation {
  GrantKind kind = GrantKind::claim;
  std::string grant_id;  // in hex
  std::string worker_id;
  TimestampMs expires_at = 0;
};

class Life {
 public:
  // Throws Violation if the event may not follow. `commit` is the number of its commit.
  void take(const Event& event, const Policy& policy, std::uint64_t commit);
  // Throws Violation if the facts do not match the events.
  void compare(const Facts& facts) const;

  bool ended() const { return stage_ == Stage::ended; }
  bool held() const { return stage_ == Stage::held; }
  bool suspended() const { return stage_ == Stage::suspended; }
  // The last lease whose holder waited without giving it back: the signals were there.
  std::uint64_t waited_under() const { return waited_under_; }
  // Every worker may claim it.
  bool claimable() const { return stage_ == Stage::queued && !delayed_ && !gated_ && !limited_ && !reservation_; }
  // It waits for other nodes of its flow.
  bool gated() const { return stage_ == Stage::queued && gated_; }
  std::uint32_t attempts() const { return attempts_; }
  bool reclaimable() const;
  // Its lease is lost, and neither a worker nor the queue has it.
  bool lost() const { return stage_ == Stage::lost || (reclaimable() && delayed_); }
  const std::optional<Reservation>& reservation() const { return reservation_; }
  // Whether a grant with this id was ever issued.
  bool was_granted(const std::string& grant_id) const { return granted_.contains(grant_id); }
  std::uint64_t epoch() const { return epoch_; }
  std::uint32_t replays() const { return replays_; }
  // The epoch at its last replay: leases with higher ones came after it.
  std::uint64_t replayed_epoch() const { return replayed_epoch_; }
  int cancellations() const { return cancellations_; }
  std::map<std::uint64_t, LeaseSpan>& leases() { return leases_; }
  const std::map<std::uint64_t, LeaseSpan>& leases() const { return leases_; }

 private:
  enum class Stage { unborn, queued, held, suspended, lost, ended };

  void take_queue_event(const Event& event);
  void take_wait_event(const Event& event);
  void open_gate(const Event& event);
  void lease(const Event& event, std::uint64_t commit);
  void reserve(const Event& event);
  void unreserve(const Event& event);
  void release(const Event& event, const Policy& policy, std::uint64_t commit);
  void lose(const Event& event, const Policy& policy);
  void end(const Event& event, std::uint64_t commit);
  void end_span(const Event& event, std::uint64_t commit);
  void queue(const Event& event, std::optional<AttemptType> starts);
  void start_attempt();
  void expect_epoch(const Event& event, std::uint64_t epoch);
  PublicState state() const;

  Stage stage_ = Stage::unborn;
  bool delayed_ = false;
  bool limited_ = false;                        // a limit holds it back
  bool gated_ = false;                          // whether it also waits for a time is not known then
  std::optional<AttemptType> starts_;           // what the next claim starts; nothing: it continues the last attempt
  AttemptType running_ = AttemptType::initial;  // of the last attempt
  bool capped_ = false;                         // the last lease loss exceeded the cap: the end must follow
  Outcome outcome_ = Outcome::none;
  std::uint64_t epoch_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint32_t retries_ = 0;
  std::uint32_t reclaims_ = 0;
  std::uint32_t replays_ = 0;
  std::uint64_t replayed_epoch_ = 0;
  std::uint64_t waited_under_ = 0;
  bool started_ = false;  // it was claimed since its creation or its last replay
  int cancellations_ = 0;
  TimestampMs last_at_ = 0;
  std::optional<Reservation> reservation_;
  std::set<std::string> granted_;
  std::map<std::uint64_t, LeaseSpan> leases_;  // by epoch
};

}  // namespace flowfabric::simulation
