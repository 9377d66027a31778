// What docs/limits.md says, without a line of the engine: who may start, given who has started and who runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/limits.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric::test {

// What of an execution matters to limits.
struct LimitedWork {
  std::string lane{};
  std::string kind{};
  std::string customer{};  // the tag `app.customer`; empty: it has none
};

class LimitEvaluator {
 public:
  void set(const LimitRequest& request);
  void remove(const std::string& name) { limits_.erase(name); }

  // Why it may not start now: the name of a limit; empty: it may.
  std::string obstacle(const LimitedWork& work, TimestampMs now) const;
  void start(const ExecutionId& id, const LimitedWork& work, TimestampMs now);
  void end(const ExecutionId& id);

 private:
  struct Key {
    std::vector<ExecutionId> running{};
    std::vector<TimestampMs> starts{};  // in order
  };
  struct Limit {
    LimitRequest request{};
    std::map<std::string, Key> keys{};
  };

  static std::optional<std::string> key_of(const LimitRequest& request, const LimitedWork& work);
  static bool rate_allows(const RateLimit& rate, const std::vector<TimestampMs>& starts, TimestampMs now);

  std::map<std::string, Limit> limits_;
};

}  // namespace flowfabric::test
