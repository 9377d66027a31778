// Errors as values.
//
// Every operation returns Result<T>. An Error has one code of a closed set; the table behind `describe(Errc)` is the
// only place that defines the spelling of a code, its HTTP status and exit code, and whether the same call may succeed
// if it is repeated. Errors are values: safe to copy and to pass between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace flowfabric {

enum class Errc : std::uint8_t {
  invalid_argument,       // a field is malformed or out of range; `field` names it
  payload_too_large,      // payload, result or detail bytes over the configured limit
  invalid_handle,         // not a handle of this store, or its signature is wrong
  not_found,              // no such execution, lane or namespace
  conflict,               // an idempotency key or id is used by a different request
  lane_closed,            // the lane is draining or disabled and accepts no new executions
  not_active,             // the operation needs an execution with an active lease
  lease_expired,          // the lease expired before the call
  lease_revoked,          // an operator revoked the lease
  stale_lease,            // the fence belongs to an earlier lease or attempt
  no_active_lease,        // there is no lease to revoke
  already_terminal,       // the execution has ended; details name the outcome
  not_terminal,           // replay needs an ended execution
  max_replays_exhausted,  // the policy's replay limit is reached
  not_eligible,           // the execution cannot be claimed now, so it cannot be granted either
  capability_mismatch,    // the worker lacks a required capability; details name it
  grant_already_exists,   // another worker has a live grant for the execution
  invalid_claim_grant,    // not a grant of this store, for another execution or worker, or already used
  claim_grant_expired,    // the grant was not redeemed in time
  cursor_expired,         // this cursor is of another log, or ahead of this one after a restore
  contended,              // too many conflicts on the record; try again
  overloaded,             // a bounded queue is full; try again later
  shutting_down,          // the engine is stopping
  timed_out,              // the wait of the caller ended first; waiting changed nothing
  unavailable,            // the store cannot be reached; nothing was written
  outcome_unknown,  // the connection was lost during a commit and the store could not be asked for the outcome in time
  schema_mismatch,  // the store's schema is older or newer than this program
  corruption,       // stored bytes cannot be decoded
  unauthenticated,  // the API: unknown API key
  permission_denied,       // the API: the role or namespace of the key does not allow this
  method_not_allowed,      // the route exists, but not for this HTTP method
  unsupported_media_type,  // the route does not accept the content type of the body
  unsupported,             // this store or build does not support it
  internal,                // a bug in FlowFabric
};

struct ErrcInfo {
  Errc code;
  std::string_view text;
  int http_status;
  bool retryable;
  int exit_code;
};

const ErrcInfo& describe(Errc code);
std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::internal;
  std::string message{};
  std::string field{};  // the name of the invalid input, if any
  std::vector<std::pair<std::string, std::string>> details{};

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, std::string message, std::string field = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(field), {}});
}

}  // namespace flowfabric
