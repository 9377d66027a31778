// A cache of the keys of the HTTP API.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/records.hpp"
#include "store/store.hpp"

namespace flowfabric {

// Safe from any thread. Its data is at most a second old, and it reads once per second for any number of secrets.
class ApiKeyCache {
 public:
  Result<ApiKeyInfo> whose(Store& store, const std::string& secret);
  // The same by the id of the key.
  Result<ApiKeyInfo> with_id(Store& store, const std::string& key_id);
  // After a change by this engine.
  void forget();

 private:
  struct Known {
    ApiKeysRecord record;
    std::int64_t read_at_ms = 0;  // of the monotonic clock
    TimestampMs store_ms = 0;     // the store's clock at that moment
  };

  // With mutex_ held: reads again what is too old. Returns the store's time.
  Result<TimestampMs> refresh(Store& store);

  std::mutex mutex_;
  std::optional<Known> known_;
};

}  // namespace flowfabric
