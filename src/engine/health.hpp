// Whether this engine's writes succeed, as far as it has seen.
//
// A failure is remembered until a write succeeds, which may be a harmless one that is tried for this purpose: a probe.
// The cause is logged once; repetitions are counted, and the count is logged from time to time and at the end. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include <flowfabric/result.hpp>

namespace flowfabric {

class Health {
 public:
  // `lasting`: nothing will succeed until the store is opened again.
  void note_failure(const Error& error, bool lasting, std::int64_t now_ms);
  void note_success();

  // The failure that the last write met; none when it succeeded.
  std::optional<Error> failure() const;
  // The same, if it lasts.
  std::optional<Error> lasting_failure() const;
  std::uint64_t failures() const;

  // Whether a probe should be started now. Says yes once in a second, however the probe goes.
  bool probe_is_due(std::int64_t now_ms);
  // Whether one was started that nobody has written yet.
  bool take_probe();
  // When to ask again, by the same clock; none when writes succeed or never will.
  std::optional<std::int64_t> next_probe_ms() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  bool lasting_ = false;
  std::uint64_t failures_ = 0;     // in all
  std::uint64_t repetitions_ = 0;  // since the cause was logged
  std::int64_t told_ms_ = 0;
  std::int64_t next_probe_ms_ = 0;
  bool probing_ = false;
};

}  // namespace flowfabric
