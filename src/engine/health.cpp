#include "engine/health.hpp"

#include <utility>

#include "base/log.hpp"

namespace flowfabric {
namespace {

constexpr std::int64_t probe_interval_ms = 1000;
constexpr std::int64_t reminder_interval_ms = 60000;

}  // namespace

void Health::note_failure(const Error& error, bool lasting, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  ++failures_;
  const bool known = failure_ && failure_->code == error.code && failure_->message == error.message;
  if (!failure_) next_probe_ms_ = now_ms + probe_interval_ms;
  failure_ = error;
  if (lasting) lasting_ = true;
  if (known) ++repetitions_;
  if (known && now_ms - told_ms_ < reminder_interval_ms) return;
  told_ms_ = now_ms;
  log(LogLevel::error, lasting ? "the store has failed; nothing more is written" : "the store cannot be written to",
      {{"error", std::string(to_string(error.code))},
       {"cause", error.message},
       {"failed_writes", std::to_string(known ? repetitions_ : 1)}});
  repetitions_ = 0;
}

void Health::note_success() {
  const std::lock_guard lock(mutex_);
  if (!failure_ || lasting_) return;
  failure_.reset();
  log(LogLevel::warn, "the store can be written to again", {{"failed_writes", std::to_string(repetitions_ + 1)}});
  repetitions_ = 0;
}

std::optional<Error> Health::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<Error> Health::lasting_failure() const {
  const std::lock_guard lock(mutex_);
  return lasting_ ? failure_ : std::nullopt;
}

std::uint64_t Health::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

bool Health::probe_is_due(std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  if (!failure_ || lasting_ || now_ms < next_probe_ms_) return false;
  next_probe_ms_ = now_ms + probe_interval_ms;
  probing_ = true;
  return true;
}

bool Health::take_probe() {
  const std::lock_guard lock(mutex_);
  return std::exchange(probing_, false);
}

std::optional<std::int64_t> Health::next_probe_ms() const {
  const std::lock_guard lock(mutex_);
  if (!failure_ || lasting_) return std::nullopt;
  return next_probe_ms_;
}

}  // namespace flowfabric
