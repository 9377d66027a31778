// What can go wrong, as values.
//
// Every operation returns Result<T>. An Error carries one code of a closed set; the table behind `describe(Errc)` is
// the single place that says how a code is spelled, which HTTP status and exit code it maps to, and whether the same
// call may succeed when it is repeated. Errors are values: safe to copy and to pass between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace flowfabric {

enum class Errc : std::uint8_t {
  invalid_argument,        // a field is malformed or out of range; `field` names it
  payload_too_large,       // payload, result or detail bytes over the configured limit
  invalid_handle,          // not a handle of this store, or its signature is wrong
  not_found,               // no such execution, lane or namespace
  conflict,                // an idempotency key or id is taken by a different request
  lane_closed,             // the lane is draining or disabled and takes no new work
  not_active,              // the operation needs an execution that runs under a lease
  lease_expired,           // the holder let the lease lapse
  lease_revoked,           // an operator withdrew the lease
  stale_lease,             // the fence belongs to an earlier lease or attempt
  no_active_lease,         // nothing to revoke
  already_terminal,        // the execution has ended; details name the outcome
  not_terminal,            // replay needs an ended execution
  max_replays_exhausted,   // the policy's replay limit is reached
  not_eligible,            // the execution cannot be claimed now, so it cannot be granted either
  capability_mismatch,     // the worker lacks what the execution requires; details name what
  grant_already_exists,    // another worker has a live grant for the execution
  invalid_claim_grant,     // not a grant of this store, for another execution or worker, or used already
  claim_grant_expired,     // the grant was not redeemed in time
  cursor_expired,          // this cursor is of another log, or ahead of this one after a restore
  contended,               // lost the race for the record too often; repeat
  overloaded,              // a bounded queue is full; back off and repeat
  shutting_down,           // the engine is stopping
  timed_out,               // the caller's wait ended first; nothing was changed by waiting
  unavailable,             // the store cannot be reached; nothing was written
  outcome_unknown,         // the connection was lost in mid-commit and the store did not come back in time to ask
  schema_mismatch,         // the store's schema is older or newer than this program
  corruption,              // stored bytes cannot be decoded
  unauthenticated,         // the API: nobody knows the caller
  permission_denied,       // the API: the caller may not do this
  method_not_allowed,      // the route exists, but not for this HTTP method
  unsupported_media_type,  // the body's content type is not one that the route takes
  unsupported,             // this store or build cannot do it
  internal,                // a bug here
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
  std::string field{};  // which input was wrong, when one was
  std::vector<std::pair<std::string, std::string>> details{};

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, std::string message, std::string field = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(field), {}});
}

}  // namespace flowfabric
