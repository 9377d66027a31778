#include "api/readiness.hpp"

#include "base/log.hpp"

namespace flowfabric::api {
namespace {

constexpr std::int64_t answer_holds_ms = 1000;

}  // namespace

Readiness::Readiness(std::shared_ptr<Pool> pool, Probe probe, std::function<std::int64_t()> steady_ms)
    : pool_(std::move(pool)), probe_(std::move(probe)), steady_ms_(std::move(steady_ms)) {
  believed_until_ms_ = steady_ms_();  // nothing is known yet
}

void Readiness::ask(Done done) {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    if (steady_ms_() >= believed_until_ms_) {
      waiting_.push_back(std::move(done));
      done = nullptr;
      if (std::exchange(looking_, true)) return;
    }
    ready = ready_;
  }
  if (done) return done(ready);
  if (!pool_->submit([this] { look(); })) conclude(false);
}

void Readiness::look() {
  const auto outcome = probe_();
  bool was_ready = false;
  {
    const std::lock_guard lock(mutex_);
    was_ready = ready_;
  }
  if (!outcome && was_ready) log(LogLevel::error, "not ready", {{"error", outcome.error().message}});
  if (outcome && !was_ready) log(LogLevel::info, "ready again");
  conclude(outcome.has_value());
}

void Readiness::conclude(bool ready) {
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    ready_ = ready;
    believed_until_ms_ = steady_ms_() + answer_holds_ms;
    looking_ = false;
    waiting.swap(waiting_);
  }
  for (const Done& done : waiting) done(ready);
}

}  // namespace flowfabric::api
