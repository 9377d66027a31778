// The environment of a sequence: one engine on one store, and the memory of its clients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/play.hpp"
#include "model/show.hpp"

namespace flowfabric::test {

inline const std::vector<std::string> lanes = {"default", "mail", "video"};
inline const std::vector<std::string> capabilities = {"cpu", "gpu"};
inline constexpr std::uint32_t page = 1000;

// The target of the steps. Nothing here depends on the kind of store.
class Stage {
 public:
  Stage(TestDatabase& database, std::uint64_t seed)
      : driver_(database.open({clock_.source(), true}), clock_, seed, options()) {}

  std::vector<std::string> run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      perform(step);
      collect_pending();
    }
    driver_.advance(1000);
    collect_pending();
    tell_all();
    return std::move(lines_);
  }

 private:
  // Stores prefer different numbers of writers; the result must not depend on it.
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.writers = 2;
    options.default_retention_ms = 3600 * 1000;
    return options;
  }

  template <class T>
  void say(const char* what, const T& answer) {
    lines_.push_back(fmt::format("{}: {}", what, show(answer)));
  }

  void perform(const Step& step);
  void operate(const Step& step);
  void read(const Step& step);
  void create(const Step& step);
  void claim(const Step& step, bool waits);
  void use(const Step& step, const ClaimedExecution& held);
  void fail(std::uint32_t n, const Fence& fence);
  void record_step(std::uint32_t n, const Fence& fence);
  void list(const Step& step);
  // stage_waits.cpp
  void suspend(std::uint32_t n, const Fence& fence);
  void keep_token(const Result<Reply>& reply);
  void signal(const Step& step);
  void operate_on_wait(const Step& step);
  void list_waits(const Step& step);
  void describe_waits(const ExecutionId& chosen);
  // stage_fleet.cpp
  void manage(const Step& step);
  void register_worker(const Step& step);
  void heartbeat(const Step& step);
  void grant(const Step& step);
  void keep_grant(const Grant& grant);
  void redeem(const Step& step);
  void reclaim(const Step& step);
  void rotate_or_remove(const Step& step);
  void list_fleet(const Step& step);
  void tell_ready_entries();
  void tell_due_entries();
  void describe(const ExecutionId& id);
  void collect_pending();
  void keep(const std::optional<std::string>& kept_to, const Result<std::vector<ClaimedExecution>>& claims);
  void tell_all();
  void tell_events(const Key& key);
  ExecutionId id(std::uint32_t n) const { return ids_.empty() ? ExecutionId{} : ids_[n % ids_.size()]; }

  ManualClock clock_;
  Driver driver_;
  std::vector<std::string> lines_;
  std::vector<ExecutionId> ids_;
  std::vector<ClaimedExecution> held_;
  std::vector<Grant> grants_;
  std::vector<std::string> tokens_;
  struct PendingClaim {
    std::optional<std::string> kept_to;  // the namespace, if it was restricted to one
    Pending<std::vector<ClaimedExecution>> claims;
  };
  std::vector<PendingClaim> claims_;
  std::vector<Pending<ExecutionResult>> waits_;
  std::vector<Pending<HeartbeatReply>> heartbeats_;
};

}  // namespace flowfabric::test
