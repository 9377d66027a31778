#include "engine/api_keys.hpp"

#include <chrono>

#include "base/check.hpp"
#include "core/api_keys.hpp"
#include "engine/reads.hpp"

namespace flowfabric {
namespace {

constexpr std::int64_t max_age_ms = 1000;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// The lock is held while reading: callers that arrive meanwhile need the same record.
Result<TimestampMs> ApiKeyCache::refresh(Store& store) {
  const std::int64_t now = steady_ms();
  if (!known_ || now - known_->read_at_ms >= max_age_ms) {
    FF_TRY(record, reads::api_keys_record(store));
    FF_TRY(store_now_us, store.now_us());
    known_ = Known{std::move(record), now, store_now_us / 1000};
  }
  return known_->store_ms + (now - known_->read_at_ms);
}

Result<ApiKeyInfo> ApiKeyCache::whose(Store& store, const std::string& secret) {
  const std::lock_guard lock(mutex_);
  FF_TRY(now, refresh(store));
  return whose_secret(known_->record, secret, now);
}

Result<ApiKeyInfo> ApiKeyCache::with_id(Store& store, const std::string& key_id) {
  const std::lock_guard lock(mutex_);
  FF_TRY(now, refresh(store));
  return whose_key_id(known_->record, key_id, now);
}

void ApiKeyCache::forget() {
  const std::lock_guard lock(mutex_);
  known_.reset();
}

}  // namespace flowfabric
