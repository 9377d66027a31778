// Keys at submission: what happens to creates that belong together (docs/submitting.md). A create has at most one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <flowfabric/result.hpp>

namespace flowfabric {

// What a create does if another execution has its unique key.
enum class OnConflict : std::uint8_t {
  reject,  // it is refused with `conflict`; details name the execution
  reuse,   // "return": it is answered with that execution
  replace  // that execution is cancelled, also if it is running, and a new one is created in the same commit
};

// At most one execution of the namespace that has not ended has this key.
struct UniqueKey {
  std::string key{};
  OnConflict on_conflict = OnConflict::reject;

  friend bool operator==(const UniqueKey&, const UniqueKey&) = default;
};

// The execution starts when no create with this key has come for `delay_ms`. It has the input of the newest of them.
struct Debounce {
  std::string key{};
  std::int64_t delay_ms = 0;
  std::optional<std::int64_t>
      max_wait_ms{};  // it starts so long after the first create at the latest; absent: no bound

  friend bool operator==(const Debounce&, const Debounce&) = default;
};

// What a create does if the throttle lets no more in.
enum class OnThrottle : std::uint8_t {
  reject,  // it is refused with `throttled`; details say when the next one is let in
  reuse    // "return": it is answered with the execution that was created last
};

// At most `count` executions with this key are created in any `period_ms`.
struct Throttle {
  std::string key{};
  std::uint32_t count = 1;
  std::int64_t period_ms = 0;
  OnThrottle on_limit = OnThrottle::reject;

  friend bool operator==(const Throttle&, const Throttle&) = default;
};

// Values are stored; append only.
enum class SubmitKeyKind : std::uint8_t { none, unique, debounce, throttle };

// The key under which an execution was created.
struct SubmitKey {
  SubmitKeyKind kind = SubmitKeyKind::none;
  std::string key{};
  // unique: no other execution can have the key now. debounce: creates with the key still change this execution.
  bool held = false;

  friend bool operator==(const SubmitKey&, const SubmitKey&) = default;
};

// What a create has led to.
enum class CreateOutcome : std::uint8_t {
  created,
  duplicate,  // an earlier request with this idempotency key or id has created it
  returned,   // the execution has the unique key already
  replaced,   // created, and the execution that had the unique key was cancelled
  debounced,  // the execution waits, and has the input of this create now
  throttled   // the execution that was created last under the key of the throttle
};

std::string_view to_string(OnConflict value);
std::string_view to_string(OnThrottle value);
std::string_view to_string(SubmitKeyKind value);
std::string_view to_string(CreateOutcome value);
Result<OnConflict> parse_on_conflict(std::string_view text);
Result<OnThrottle> parse_on_throttle(std::string_view text);

}  // namespace flowfabric
