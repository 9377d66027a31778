// Limits while workers, servers and the database are killed at random: every execution has ended, no slot is left, no period
// had more starts than the rate; and on SQLite no limit was exceeded at any position of the event log.
//
// FF_CHAOS_LIMITS says for how many seconds on each store (8); the full form is 600. FF_CHAOS_SEED repeats the choices.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <flowfabric/engine.hpp>

#include "e2e/chaos/cast.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::chaos {
namespace {

constexpr std::uint64_t limited_per_second =
    40;                                 // executions that are submitted, about as many as the limits let start
constexpr std::uint32_t at_a_time = 6;  // of all
constexpr std::uint32_t of_a_kind = 4;
constexpr std::uint32_t starts = 15;  // of kind `fragile` in a period
constexpr std::int64_t period_ms = 500;
constexpr std::uint32_t log_page = 1000;

std::uint64_t limits_number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

template <class T>
T must_be(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

void set_limits(const std::string& store_url) {
  const auto engine = must_be(Engine::open(store_url, {.migrate = true}));
  LimitRequest all;
  all.name = "all";
  all.concurrency = at_a_time;
  LimitRequest each;
  each.name = "each";
  each.per = {"kind"};
  each.concurrency = of_a_kind;
  LimitRequest rate;
  rate.name = "fragile";
  rate.kind = "fragile";
  rate.rate = RateLimit{starts, period_ms, {}};
  for (const LimitRequest& request : {all, each, rate}) must_be(engine->set_limit(request, {"operator", {}}));
}

bool begins_lease(EventType type) {
  return type == EventType::claimed || type == EventType::resumed || type == EventType::lease_reclaimed;
}

bool ends_lease(EventType type) {
  switch (type) {
    case EventType::delayed:
    case EventType::retry_scheduled:
    case EventType::lease_expired:
    case EventType::lease_revoked:
    case EventType::released:
    case EventType::joining:
    case EventType::suspended: return true;
    default: return is_terminal(type);
  }
}

// Follows the log and counts the leases that live at each of its positions; only where the log is in the order of commits
// (`in_order`). PostgreSQL orders it by the ids of transactions. A server gets the id when it searches, and looks at the slots
// after that, perhaps after waiting for the lock of another server: it may take a slot that was given back in between, and
// the log has the two in the other order. There the order of commits is the affair of the simulator and of the conformance
// cases with two engines; what is verified here is that everything ends, that no slot is left, and the rate.
class LimitAccount {
 public:
  explicit LimitAccount(bool in_order) : in_order_(in_order) {}

  void take(const Event& event) {
    if (!event.execution_id) return;
    if (event.type == EventType::created) ++created_;
    if (event.type == EventType::limited) ++held_back_;
    if (is_terminal(event.type)) ++ended_;
    if (begins_lease(event.type)) {
      EXPECT_TRUE(live_.emplace(*event.execution_id, event.kind).second) << "two leases at once: " << event.cursor;
      ++leases_;
      if (in_order_) verify_now(event);
      if (event.kind == "fragile") fragile_.push_back(event.at);
    } else if (ends_lease(event.type)) {
      live_.erase(*event.execution_id);
    }
  }

  void verify_at_the_end(std::uint64_t executions) {
    EXPECT_TRUE(live_.empty());
    EXPECT_EQ(created_, executions);
    EXPECT_EQ(ended_, executions);
    std::sort(fragile_.begin(), fragile_.end());
    for (std::size_t i = starts; i < fragile_.size(); ++i) {
      ASSERT_GE(fragile_[i] - fragile_[i - starts], period_ms) << "more starts in a period than the rate allows";
    }
    EXPECT_GT(held_back_, 0U) << "the limits were never reached";
  }

  void print() const {
    std::printf("%lu executions, %lu leases, held back %lu times", created_, leases_, held_back_);
    if (in_order_) std::printf(", at most %zu at a time", most_);
    std::printf("\n");
  }

 private:
  void verify_now(const Event& event) {
    most_ = std::max(most_, live_.size());
    ASSERT_LE(live_.size(), at_a_time) << event.cursor;
    const auto of_its_kind =
        std::count_if(live_.begin(), live_.end(), [&](const auto& one) { return one.second == event.kind; });
    ASSERT_LE(of_its_kind, of_a_kind) << event.kind << " " << event.cursor;
  }

  const bool in_order_;
  std::map<ExecutionId, std::string> live_;  // executions that have a lease, with their kind
  std::vector<TimestampMs> fragile_;         // starts of that kind
  std::uint64_t created_ = 0, ended_ = 0, leases_ = 0, held_back_ = 0;
  std::size_t most_ = 0;
};

class LimitsChaos : public ::testing::TestWithParam<StoreChoice> {
 protected:
  void TearDown() override {
    if (!HasFailure()) return;
    std::printf("FF_CHAOS_SEED=%lu, logs and journals are in %s\n", seed_, folder_.path().c_str());
    folder_.keep();
  }

  static void verify_store(const std::string& store_url, std::uint64_t executions) {
    const auto engine = must_be(Engine::open(store_url));
    EXPECT_EQ(must_be(engine->check_integrity()), std::vector<std::string>{});
    for (const char* name : {"all", "each"}) {
      ListLimitUseRequest request;
      request.limit.name = name;
      for (const LimitUse& use : must_be(engine->list_limit_use(request)).keys) {
        EXPECT_EQ(use.in_use, 0U) << name;
        EXPECT_EQ(use.held_back, 0U) << name;
      }
    }
    LimitAccount account(!store_url.starts_with("postgres"));
    std::string cursor = "earliest";
    for (;;) {
      const EventPage page = must_be(engine->read_events({}, cursor, log_page, 0));
      for (const Event& event : page.events) account.take(event);
      if (page.events.empty()) break;
      cursor = page.next_cursor;
    }
    account.verify_at_the_end(executions);
    account.print();
  }

  const std::uint64_t seed_ = limits_number("FF_CHAOS_SEED", std::random_device{}());
  test::TempDir folder_{"flowfabric-limits-chaos"};
};

TEST_P(LimitsChaos, NoLimitIsExceededAndNoSlotIsLost) {
  const std::uint64_t seconds = limits_number("FF_CHAOS_LIMITS", 8);
  const std::uint64_t executions = seconds * limited_per_second;
  Cast cast(folder_.path(), GetParam(), executions, seconds, seed_, set_limits);
  const Kills kills = cast.rage();
  ASSERT_TRUE(cast.settle());
  cast.start_over_for_reading();
  cast.kill_clients_and_servers();
  verify_store(cast.store_url(), executions);
  std::printf("killed: %d workers, %d servers, %d databases\n", kills.workers, kills.servers, kills.databases);
  cast.verify_logs();
  if (HasFailure()) cast.keep_database_log();
}

INSTANTIATE_TEST_SUITE_P(Served, LimitsChaos, ::testing::Values(StoreChoice::sqlite, StoreChoice::postgres),
                         [](const auto& chosen) {
                           return chosen.param == StoreChoice::sqlite ? "sqlite" : "postgres";
                         });

}  // namespace
}  // namespace flowfabric::chaos
