// The signing keys that this engine verifies with. Whoever calls with a handle never waits for the store: the clock reads
// keys again, and calls that need that are answered when it has.
#include <utility>

#include "base/log.hpp"
#include "engine/runtime.hpp"

namespace flowfabric {
namespace {

constexpr std::size_t max_awaiting_keys = 10000;

Result<Fence> fence_in(const Result<HandleClaims>& claims) {
  if (!claims) return Unexpected(claims.error());
  return claims->fence;
}

}  // namespace

// The fence of a handle, given to `then`: at once, or from tick when the keys were read long ago (the news of a rotation may
// get lost) or when the handle names one that only another engine may know of.
void Runtime::with_fence(const Handle& handle, FenceDone then) {
  const auto ours = signer();
  const bool old = steady_ms() - keyring_read_ms_ >= options_.keep_alive_ms;
  const bool known = ours->knows_key_of(handle);
  if ((old || !known) && !refusing_ && await_keys(*ours, handle, old, then)) return ring();
  then(fence_in(ours->verify_handle(handle, store_now())));
}

// Whether the caller is to wait. Those that come while keys are being read, or about to be, join in.
bool Runtime::await_keys(const TokenSigner& signer, const Handle& handle, bool old, const FenceDone& then) {
  const std::lock_guard lock(awaiting_keys_mutex_);
  if (awaiting_keys_.size() >= max_awaiting_keys) return false;
  if (!old && awaiting_keys_.empty() && !may_reload_for(signer, handle)) return false;
  awaiting_keys_.emplace_back(handle, then);
  return true;
}

// If the store does not answer, keys that are old are still good; a handle with an unknown key gets the error.
void Runtime::read_keys_again() {
  std::vector<std::pair<Handle, FenceDone>> awaiting;
  {
    const std::lock_guard lock(awaiting_keys_mutex_);
    awaiting.swap(awaiting_keys_);
  }
  if (awaiting.empty()) return;
  const auto reloaded = reload_keyring();
  if (!reloaded) {
    keyring_read_ms_ = steady_ms();  // not again at once
    log(LogLevel::warn, "the signing keys cannot be reloaded", {{"error", reloaded.error().message}});
  }
  for (auto& [handle, then] : awaiting) {
    const bool known = signer()->knows_key_of(handle);
    if (!reloaded && !known) {
      then(Unexpected(reloaded.error()));
    } else {
      then(fence_in(signer()->verify_handle(handle, store_now())));
    }
  }
}

void Runtime::refuse_awaiting_keys() {
  std::vector<std::pair<Handle, FenceDone>> awaiting;
  {
    const std::lock_guard lock(awaiting_keys_mutex_);
    awaiting.swap(awaiting_keys_);
  }
  for (auto& [handle, then] : awaiting) then(fail(Errc::shutting_down, "the engine is stopping"));
}

}  // namespace flowfabric
