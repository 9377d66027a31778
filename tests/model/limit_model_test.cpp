// Random work under random limits, on every store: whoever starts may start by docs/limits.md, and when no claim finds anything
// any more, everybody who waits has a limit in the way.
//
// A limit keeps its lane, kind, keys and sort of numbers, because a change of these is refused, and because a limit that gets a
// concurrency later counts only from then on. FF_MODEL_SEED and FF_MODEL_LIMITS choose other runs, and how many on memory.
#include <cstdlib>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/integrity.hpp"
#include "model/limit_evaluator.hpp"
#include "support/driver.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {
namespace {

constexpr int steps_of_a_run = 120;
constexpr std::uint32_t most_claimed = 50;
constexpr std::uint32_t run_lease_ttl_ms = 30000;

std::uint64_t limit_number(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

LimitRequest limit_of(int which) {
  LimitRequest request;
  request.name = "limit-" + std::to_string(which);
  switch (which) {
    case 0: break;
    case 1: request.per = {"tags.app.customer"}; break;
    case 2: request.lane = "x"; break;
    case 3: request.kind = "a"; break;
    default: request.per = {"lane", "kind"}; break;
  }
  return request;
}

class LimitRun {
 public:
  LimitRun(StoreKindId kind, std::uint64_t seed) : random_(seed), database_(make_database(kind)) {
    StoreOptions options;
    options.now_us = clock_.source();
    driver_.emplace(database_->open(std::move(options)), clock_, seed);
  }

  void run() {
    for (int step = 0; step < steps_of_a_run && !testing::Test::HasFailure(); ++step) {
      take_a_step();
      forget_lapsed();
    }
    if (testing::Test::HasFailure()) return;
    everything_ends();
    const auto findings = integrity_findings(driver_->store());
    ASSERT_TRUE(findings);
    EXPECT_EQ(*findings, std::vector<std::string>{});
  }

 private:
  struct Work {
    LimitedWork limited{};
    std::optional<ClaimedExecution> held{};
    TimestampMs lapses_at = 0;
    bool delayed = false;
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  TimestampMs now() const { return clock_.now_ms(); }

  void take_a_step() {
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
      case 3: return create();
      case 4:
      case 5: return claim_until_nothing_is_found();
      case 6: return claim_some();
      case 7:
      case 8: return end_one();
      case 9: return cancel_one();
      case 10: return set_limit();
      case 11: return remove_limit();
      default: return driver_->advance(static_cast<std::int64_t>(below(3) == 0 ? below(40'000) : below(900)));
    }
  }

  void create() {
    CreateRequest request;
    Work work;
    work.limited.lane = request.lane = below(2) == 0 ? "x" : "y";
    work.limited.kind = request.kind = below(2) == 0 ? "a" : "b";
    if (below(3) != 0) {
      work.limited.customer = std::string(1, static_cast<char>('p' + below(3)));
      request.tags["app.customer"] = work.limited.customer;
    }
    request.priority = static_cast<std::int32_t>(below(3));
    const auto created = driver_->create(std::move(request));
    ASSERT_TRUE(created) << created.error().message;
    work_.emplace(created->execution_id, std::move(work));
  }

  std::size_t claim(std::uint32_t count, std::vector<std::string> lanes) {
    ClaimRequest request;
    request.worker_id = "worker";
    request.worker_instance_id = "w-1";
    request.lanes = std::move(lanes);
    request.max_executions = count;
    request.lease_ttl_ms = run_lease_ttl_ms;
    auto claimed = driver_->claim(std::move(request));
    EXPECT_TRUE(claimed);
    if (!claimed) return 0;
    for (ClaimedExecution& one : *claimed) {
      Work& work = work_.at(one.execution_id);
      EXPECT_EQ(evaluator_.obstacle(work.limited, now()), "") << to_string(one.execution_id);
      EXPECT_FALSE(work.held);
      evaluator_.start(one.execution_id, work.limited, now());
      work.lapses_at = now() + run_lease_ttl_ms;
      work.held = std::move(one);
    }
    return claimed->size();
  }
  void claim_some() {
    std::vector<std::string> lanes;
    lanes.emplace_back(below(2) == 0 ? "x" : "y");
    claim(1 + static_cast<std::uint32_t>(below(3)), std::move(lanes));
  }
  // A claim that finds nothing may have met an execution that one limit has called and another holds back: then the next one is
  // called. So each of them may take a claim.
  void claim_until_nothing_is_found() {
    for (std::size_t in_vain = 0; in_vain <= work_.size();) {
      driver_->settle();
      in_vain = claim(most_claimed, {"x", "y"}) == 0 ? in_vain + 1 : 0;
    }
    driver_->settle();
    for (const auto& [id, work] : work_) {
      if (work.held || work.delayed) continue;
      EXPECT_NE(evaluator_.obstacle(work.limited, now()), "") << to_string(id) << " waits for nothing: " << told(id);
    }
  }

  std::string told(const ExecutionId& id) {
    const ExecutionDescription found = driver_->describe(id);
    std::string text(to_string(found.summary.public_state));
    for (const Reason& reason : found.explain) text += "; " + reason.sentence;
    return text;
  }

  void forget_lapsed() {
    for (auto& [id, work] : work_) {
      if (!work.held || work.lapses_at > now()) continue;
      evaluator_.end(id);
      work.held.reset();
    }
    // A lease that has lapsed is the clock's, and so is a delay that is over.
    driver_->settle();
    for (auto& [id, work] : work_) {
      if (work.delayed && driver_->execution(id).facts.delay_until == 0) work.delayed = false;
    }
  }

  std::map<ExecutionId, Work>::iterator one_of(bool held) {
    std::vector<std::map<ExecutionId, Work>::iterator> all;
    for (auto one = work_.begin(); one != work_.end(); ++one) {
      if (one->second.held.has_value() == held) all.push_back(one);
    }
    return all.empty() ? work_.end() : all[below(all.size())];
  }

  void end_one() {
    const auto one = one_of(true);
    if (one == work_.end()) return;
    const ClaimedExecution held = *one->second.held;
    evaluator_.end(one->first);
    one->second.held.reset();
    const auto how = below(4);
    if (how == 0) {
      one->second.delayed = true;
      EXPECT_TRUE(driver_->delay(held, now() + 1 + static_cast<std::int64_t>(below(5000))));
      return;
    }
    if (how == 1) {
      EXPECT_TRUE(driver_->release(held));
      return;
    }
    if (how == 2) {
      EXPECT_TRUE(driver_->fail(held));
    } else {
      EXPECT_TRUE(driver_->complete(held));
    }
    work_.erase(one);
  }
  void cancel_one() {
    const auto one = one_of(below(2) == 0);
    if (one == work_.end()) return;
    EXPECT_TRUE(driver_->call(CancelCommand{one->first, {"ops", {}}}));
    evaluator_.end(one->first);
    work_.erase(one);
  }

  void set_limit() {
    const int which = static_cast<int>(below(5));
    LimitRequest request = limit_of(which);
    if (which != 4) request.concurrency = 1 + static_cast<std::uint32_t>(below(4));
    if (which == 0 || which == 4) {
      request.rate = RateLimit{1 + static_cast<std::uint32_t>(below(4)), 1000, {}};
      if (which == 4) request.rate->burst = 3;
      if (which == 4) request.rate->count = 2;
    }
    const auto reply = driver_->call(SetLimitCommand{request, {"ops", {}}});
    ASSERT_TRUE(reply) << reply.error().message;
    evaluator_.set(request);
  }
  void remove_limit() {
    const std::string name = limit_of(static_cast<int>(below(5))).name;
    if (driver_->call(RemoveLimitCommand{{std::nullopt, name}, {"ops", {}}})) evaluator_.remove(name);
  }

  void everything_ends() {
    for (int round = 0; round < 2000 && !work_.empty() && !testing::Test::HasFailure(); ++round) {
      claim_until_nothing_is_found();
      for (auto one = one_of(true); one != work_.end(); one = one_of(true)) {
        EXPECT_TRUE(driver_->complete(*one->second.held));
        evaluator_.end(one->first);
        work_.erase(one);
      }
      driver_->advance(500);
      forget_lapsed();
    }
    EXPECT_TRUE(work_.empty());
  }

  std::mt19937_64 random_;
  ManualClock clock_;
  std::unique_ptr<TestDatabase> database_;
  std::optional<Driver> driver_;
  LimitEvaluator evaluator_;
  std::map<ExecutionId, Work> work_;  // that has not ended
};

void run_limits(StoreKindId kind, std::uint64_t runs) {
  const std::uint64_t first = limit_number("FF_MODEL_SEED", 1);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("FF_MODEL_SEED=" + std::to_string(seed));
    LimitRun(kind, seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LimitModel, WhoStartsMayStartOnMemory) { run_limits(StoreKindId::memory, limit_number("FF_MODEL_LIMITS", 150)); }
TEST(LimitModel, WhoStartsMayStartOnSqlite) { run_limits(StoreKindId::sqlite, 12); }
TEST(LimitModel, WhoStartsMayStartOnPostgres) { run_limits(StoreKindId::postgres, 6); }

}  // namespace
}  // namespace flowfabric::test
