// Errors as values.
//
// Every operation returns Result<T>. An Error has one code of a closed set; the table behind `describe(Errc)` is the
// only place that defines the spelling of a code, its HTTP status and exit code, and whether the same call may succeed
// if it is repeated. Errors are values: safe to copy and to pass between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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
  invalid_token,          // not a token of an open waitpoint of this store, or it has expired
  waitpoint_closed,       // the waitpoint of the token or the approval takes no more signals
  budget_exceeded,        // spending would go over a hard limit; details name budget, dimension, spent and limit
  cursor_expired,         // this cursor is of another log, or ahead of this one after a restore
  contended,              // too many conflicts on the record; try again
  overloaded,             // a bounded queue is full; try again later
  throttled,              // the throttle of a create lets no more in; details say when it does
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

// An error on its way into a Result.
template <class E>
class Unexpected {
 public:
  explicit Unexpected(E error) : error_(std::move(error)) {}
  E& error() & { return error_; }
  const E& error() const& { return error_; }
  E&& error() && { return std::move(error_); }

 private:
  E error_;
};

template <class T, class E = Error>
class Result;

// Thrown by Result::value() when there is none.
class BadResultAccess : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {

template <class E>
std::string error_text(const E& error) {
  if constexpr (requires { std::string(error.message); }) {
    return error.message;
  } else {
    return "the result is an error";
  }
}

template <class T>
inline constexpr bool is_unexpected = false;
template <class E>
inline constexpr bool is_unexpected<Unexpected<E>> = true;
template <class T>
inline constexpr bool is_result = false;
template <class T, class E>
inline constexpr bool is_result<Result<T, E>> = true;

// Whether a Result of T can be made from a value of type U. A Result converts to bool, but that is not the value of a
// Result<bool>.
template <class T, class E, class U, class Plain = std::remove_cvref_t<U>>
concept ValueFor = std::is_constructible_v<T, U&&> && !std::is_same_v<Plain, Result<T, E>> && !is_unexpected<Plain> &&
                   !(std::is_same_v<T, bool> && is_result<Plain>);

template <class T, class E, class U>
concept ConvertsTo = !std::is_same_v<U, T> && std::is_convertible_v<U&&, T> &&
                     (std::is_same_v<T, bool> || !std::is_constructible_v<T, Result<U, E>&&>);

}  // namespace detail

// A value or an error. Using the value of an error through `*` or `->` is undefined, as with a pointer; `value()` throws.
template <class T, class E>
class [[nodiscard]] Result {
  using State = std::variant<T, E>;

 public:
  using value_type = T;
  using error_type = E;

  Result()
    requires std::is_default_constructible_v<T>
      : state_(std::in_place_index<0>) {}
  template <class U = T>
    requires detail::ValueFor<T, E, U>
  explicit(!std::is_convertible_v<U&&, T>) Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <class F>
    requires std::is_constructible_v<E, F&&>
  Result(Unexpected<F> error) : state_(std::in_place_index<1>, std::move(error).error()) {}
  // For values that convert, such as a pointer to a derived class. A Result that is the value itself, inside another one,
  // stays whole.
  template <class U>
    requires detail::ConvertsTo<T, E, U>
  Result(Result<U, E>&& other)
      : state_(other.has_value() ? State(std::in_place_index<0>, *std::move(other))
                                 : State(std::in_place_index<1>, std::move(other).error())) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  T& value() & { return check(), **this; }
  const T& value() const& { return check(), **this; }
  T&& value() && { return check(), std::move(**this); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

  E& error() & { return *std::get_if<1>(&state_); }
  const E& error() const& { return *std::get_if<1>(&state_); }
  E&& error() && { return std::move(*std::get_if<1>(&state_)); }

  friend bool operator==(const Result&, const Result&) = default;

 private:
  void check() const {
    if (!has_value()) throw BadResultAccess(detail::error_text(error()));
  }

  State state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Result() = default;
  template <class F>
    requires std::is_constructible_v<E, F&&>
  Result(Unexpected<F> error) : error_(std::move(error).error()) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  void operator*() const {}
  void value() const {
    if (error_) throw BadResultAccess(detail::error_text(*error_));
  }

  E& error() & { return *error_; }
  const E& error() const& { return *error_; }
  E&& error() && { return std::move(*error_); }

  friend bool operator==(const Result&, const Result&) = default;

 private:
  std::optional<E> error_;
};

inline Unexpected<Error> fail(Errc code, std::string message, std::string field = {}) {
  return Unexpected(Error{code, std::move(message), std::move(field), {}});
}

}  // namespace flowfabric
