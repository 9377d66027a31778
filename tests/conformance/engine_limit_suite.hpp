// What the suites about limits have in common.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/engine_suite.hpp"
#include "core/limiting.hpp"
#include "core/records.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::test {

inline LimitRequest at_most(std::uint32_t concurrency, std::vector<std::string> per = {},
                            const std::string& name = "l") {
  LimitRequest request;
  request.name = name;
  request.concurrency = concurrency;
  request.per = std::move(per);
  return request;
}

inline LimitRequest rate_of(std::uint32_t count, std::int64_t period_ms, std::optional<std::uint32_t> burst = {}) {
  LimitRequest request;
  request.name = "r";
  request.rate = RateLimit{count, period_ms, burst};
  return request;
}

inline CreateRequest job_of(const std::string& customer, const std::string& lane = "default") {
  CreateRequest request = job(lane);
  request.tags["app.customer"] = customer;
  return request;
}

class LimitSuite : public EngineSuite {
 protected:
  // At the end of every case slots and leases agree, and nobody is forgotten.
  void TearDown() override {
    if (engine_ && !leaves_damage_) {
      engine().settle();
      expect_slots_agree();
    }
    EngineSuite::TearDown();
  }

  LimitSaved set(LimitRequest request) { return call<LimitSaved>(SetLimitCommand{std::move(request), {"ops", {}}}); }
  LimitSaved remove(const std::string& name) {
    return call<LimitSaved>(RemoveLimitCommand{{std::nullopt, name}, {"ops", {}}});
  }
  std::vector<LimitUse> uses(const std::string& name = "l") {
    ListLimitUseRequest request;
    request.limit.name = name;
    return value_of(reads::limit_use(engine().store(), request)).keys;
  }
  LimitUse use(const std::string& name = "l") {
    const auto all = uses(name);
    return all.empty() ? LimitUse{} : all.front();
  }
  std::vector<ExecutionId> make_n(int count, const CreateRequest& request = job()) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(make(request));
    return ids;
  }
  static Fence fence_of(const ClaimedExecution& claim) {
    return {claim.execution_id, claim.attempt.attempt_index, claim.lease.lease_epoch, claim.lease.lease_id};
  }
  void complete(const ClaimedExecution& claim) { call<Done>(CompleteCommand{fence_of(claim), {"", ""}}); }
  bool is_held(const ExecutionId& id) { return facts(id).limits.held.has_value(); }
  std::vector<ExecutionId> claimed(std::uint32_t count, std::vector<std::string> lanes = {"default"}) {
    return ids_of(claim(ask(count, std::move(lanes))));
  }

  // Counts the live leases of each pool, and compares.
  void expect_slots_agree() {
    constexpr std::uint32_t all_records = 100'000;
    std::map<Key, std::set<std::pair<ExecutionId, std::uint64_t>>> held;
    for (const Record& record : value_of(engine().store().scan(RecordKind::execution, "", all_records))) {
      const Execution execution = value_of(decode_execution(record));
      EXPECT_FALSE(owes_slots(execution.facts)) << to_string(execution.id);
      for (const Key& pool : execution.facts.limits.slots) {
        held[pool].emplace(execution.id, execution.facts.lease->lease_epoch);
      }
    }
    std::size_t met = 0;
    for (const Record& record : value_of(engine().store().scan(RecordKind::limit_pool, "", all_records))) {
      std::set<std::pair<ExecutionId, std::uint64_t>> holders;
      for (const SlotHolder& holder : value_of(decode_pool(record)).holders) {
        EXPECT_TRUE(holders.emplace(holder.execution_id, holder.lease_epoch).second);
      }
      const auto found = held.find(record.key);
      if (found != held.end()) ++met;
      EXPECT_EQ(holders, found == held.end() ? decltype(holders){} : found->second);
    }
    EXPECT_EQ(met, held.size()) << "somebody has a slot in a pool that does not exist";
  }
};

}  // namespace flowfabric::test
