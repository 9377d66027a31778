// Whether the server can do its work, for anybody who asks: an answer of one bit, found out at most once a second.
//
// Anybody may ask without a key. So the answer says nothing about the store, and however many ask, one probe at a time
// looks; those who come meanwhile wait for its outcome. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <flowfabric/result.hpp>

#include "api/pool.hpp"

namespace flowfabric::api {

class Readiness {
 public:
  using Probe = std::function<Result<void>()>;
  using Done = std::function<void(bool ready)>;

  // `probe` may block; it runs in the pool.
  Readiness(std::shared_ptr<Pool> pool, Probe probe, std::function<std::int64_t()> steady_ms);

  // `done` is called once: at once, or by a thread of the pool.
  void ask(Done done);

 private:
  void look();
  void conclude(bool ready);

  const std::shared_ptr<Pool> pool_;
  const Probe probe_;
  const std::function<std::int64_t()> steady_ms_;
  std::mutex mutex_;
  bool ready_ = true;
  std::int64_t believed_until_ms_ = 0;
  bool looking_ = false;
  std::vector<Done> waiting_;
};

}  // namespace flowfabric::api
