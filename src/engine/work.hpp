// The entries of a writer's queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/commands.hpp"

namespace flowfabric {

using CommandDone = std::function<void(Result<Reply>)>;
using ClaimDone = std::function<void(Result<std::vector<ClaimedExecution>>)>;
using HeartbeatDone = std::function<void(Result<HeartbeatReply>)>;
using GrantDone = std::function<void(Result<std::optional<Grant>>)>;

struct QueuedCommand {
  Command command;
  CommandDone done;
  int stale = 0;  // how often its guard failed
  // The record that others keep changing. From the next try on it is held while the command is decided.
  std::optional<Key> contended;
};

struct QueuedClaim {
  ClaimRequest request;
  ClaimDone done;
  // Not 0: the first execution is not leased but reserved for this long. `granted` gets the grant, `done` nothing or an
  // error.
  std::uint32_t grant_ttl_ms = 0;
  std::string capability_hash;  // that the reservation carries
  std::string route_snapshot;
  std::string admission_summary;
  GrantDone granted;
  std::int64_t wait_until_ms = 0;  // by the engine's steady clock
  int stale = 0;
  std::uint32_t look_past = 0;  // it searches so much further, past executions that limits hold back
  bool waited_for_clock = false;
  std::uint64_t seen = 0;              // the value of Parking::signature before the search
  std::optional<ReadyLine> woken_for;  // what became claimable and caused the new search
  std::atomic<bool> withdrawn{false};  // the caller has gone: it is given nothing more
  std::weak_ptr<void> parked{};        // its entry in Parking, for Parking alone
};

// A turn of the clock: process what is due.
struct QueuedSweep {};

using Work = std::variant<std::unique_ptr<QueuedCommand>, std::shared_ptr<QueuedClaim>, QueuedSweep>;

// The approximate number of bytes of user data that a piece of work moves.
std::size_t work_bytes(const Work& work);

}  // namespace flowfabric
