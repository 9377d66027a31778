// Random creates under keys at submission, and whatever else happens to their executions, beside an evaluator that knows
// nothing but the meaning of the keys: it predicts each answer.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "engine/reads.hpp"
#include "support/driver.hpp"
#include "support/manual_clock.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {
namespace {

// Keys as somebody would keep them with pencil and paper.
class KeyEvaluator {
 public:
  struct Answer {
    std::optional<Errc> refused{};
    CreateOutcome outcome = CreateOutcome::created;
    std::optional<ExecutionId> names{};  // of an execution that was there
  };

  Answer predict(const CreateRequest& request, TimestampMs now) const {
    if (request.unique) return predict_unique(*request.unique, now);
    if (request.debounce) {
      const auto found = waiting_.find(request.debounce->key);
      if (found == waiting_.end() || ended_.contains(found->second.id) || found->second.start_at <= now) return {};
      return {{}, CreateOutcome::debounced, found->second.id};
    }
    return predict_throttle(*request.throttle, now);
  }

  void note(const CreateRequest& request, const Created& created, TimestampMs now) {
    const ExecutionId& id = created.execution_id;
    if (created.replaced) ended_.insert(*created.replaced);
    if (request.debounce) {
      Waiting& waiting = waiting_[request.debounce->key];
      if (created.outcome == CreateOutcome::created) waiting = {id, now, 0};
      waiting.start_at = now + request.debounce->delay_ms;
      if (request.debounce->max_wait_ms) {
        waiting.start_at = std::min(waiting.start_at, waiting.first_at + *request.debounce->max_wait_ms);
      }
      payloads_[id] = request.payload;
    }
    if (created.duplicate) return;
    if (request.deadline_ms) deadlines_[id] = now + *request.deadline_ms;
    if (request.unique) holders_[request.unique->key] = id;
    if (request.unique) unique_of_[id] = request.unique->key;
    if (!request.throttle) return;
    let_in_[request.throttle->key].push_back(now);
    last_[request.throttle->key] = id;
  }

  void end(const ExecutionId& id) {
    ended_.insert(id);
    std::erase_if(waiting_, [&](const auto& one) { return one.second.id == id; });
  }
  bool is_live(const ExecutionId& id, TimestampMs now) const {
    const auto deadline = deadlines_.find(id);
    return !ended_.contains(id) && (deadline == deadlines_.end() || deadline->second > now);
  }
  // The execution in whose way a replay would be.
  std::optional<ExecutionId> in_the_way(const ExecutionId& id, TimestampMs now) const {
    const auto key = unique_of_.find(id);
    if (key == unique_of_.end()) return {};
    const ExecutionId& holder = holders_.at(key->second);
    if (holder == id || !is_live(holder, now)) return {};
    return holder;
  }
  void replay(const ExecutionId& id) {
    ended_.erase(id);
    deadlines_.erase(id);
    const auto key = unique_of_.find(id);
    if (key != unique_of_.end()) holders_[key->second] = id;
  }
  const std::string* payload(const ExecutionId& id) const {
    const auto found = payloads_.find(id);
    return found == payloads_.end() ? nullptr : &found->second;
  }

 private:
  struct Waiting {
    ExecutionId id;
    TimestampMs first_at = 0;
    TimestampMs start_at = 0;
  };

  Answer predict_unique(const UniqueKey& unique, TimestampMs now) const {
    const auto found = holders_.find(unique.key);
    if (found == holders_.end() || !is_live(found->second, now)) return {};
    if (unique.on_conflict == OnConflict::reject) return {Errc::conflict};
    if (unique.on_conflict == OnConflict::replace) return {{}, CreateOutcome::replaced, found->second};
    return {{}, CreateOutcome::returned, found->second};
  }
  Answer predict_throttle(const Throttle& throttle, TimestampMs now) const {
    const auto found = let_in_.find(throttle.key);
    if (found == let_in_.end()) return {};
    const auto in_period = std::count_if(found->second.begin(), found->second.end(),
                                         [&](TimestampMs at) { return at + throttle.period_ms > now; });
    if (in_period < throttle.count) return {};
    if (throttle.on_limit == OnThrottle::reject) return {Errc::throttled};
    return {{}, CreateOutcome::throttled, last_.at(throttle.key)};
  }

  std::map<std::string, ExecutionId> holders_;
  std::map<ExecutionId, std::string> unique_of_;
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, std::deque<TimestampMs>> let_in_;
  std::map<std::string, ExecutionId> last_;
  std::map<ExecutionId, TimestampMs> deadlines_;
  std::map<ExecutionId, std::string> payloads_;
  std::set<ExecutionId> ended_;
};

class KeyPlay {
 public:
  KeyPlay(StoreKindId kind, std::uint64_t seed) : database_(make_database(kind)), random_(seed) {
    StoreOptions options;
    options.now_us = clock_.source();
    driver_ = std::make_unique<Driver>(database_->open(std::move(options)), clock_, seed);
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  TimestampMs now() const { return clock_.now_ms(); }

  void step() {
    switch (below(10)) {
      case 0: return claim();
      case 1: return end_one_that_is_held();
      case 2: return cancel();
      case 3: return replay();
      case 4: return driver_->advance(static_cast<std::int64_t>(below(700)));
      // Nobody notices at once what has become due.
      case 5: return clock_.advance_ms(static_cast<std::int64_t>(below(700)));
      default: return create();
    }
  }

  CreateRequest random_request() {
    CreateRequest request;
    request.kind = "job";
    request.payload = std::string(below(8) == 0 ? 3000 : below(5), static_cast<char>('a' + below(26)));
    const std::string key = "k" + std::to_string(below(2));
    switch (below(3)) {
      case 0:
        request.unique = UniqueKey{key, static_cast<OnConflict>(below(3))};
        if (below(4) == 0) request.deadline_ms = static_cast<std::int64_t>(1 + below(600));
        break;
      case 1:
        request.debounce = Debounce{key, static_cast<std::int64_t>(1 + below(500)), {}};
        if (below(2) == 0)
          request.debounce->max_wait_ms = request.debounce->delay_ms + static_cast<std::int64_t>(below(800));
        break;
      default: request.throttle = Throttle{key, 2, 600, static_cast<OnThrottle>(below(2))};
    }
    return request;
  }

  void create() {
    const CreateRequest request = random_request();
    const TimestampMs at = now();
    const KeyEvaluator::Answer expected = keys_.predict(request, at);
    const auto created = driver_->create(request);
    ASSERT_EQ(created.has_value(), !expected.refused.has_value())
        << (created ? "not refused" : created.error().message);
    if (!created) {
      EXPECT_EQ(created.error().code, *expected.refused);
      return;
    }
    EXPECT_EQ(created->outcome, expected.outcome);
    const bool is_named = expected.outcome != CreateOutcome::created && expected.outcome != CreateOutcome::replaced;
    if (is_named) {
      EXPECT_EQ(created->execution_id, *expected.names);
    }
    if (expected.outcome == CreateOutcome::replaced) {
      EXPECT_EQ(created->replaced, expected.names);
    }
    EXPECT_EQ(created->duplicate, is_named);
    if (!created->duplicate) ids_.push_back(created->execution_id);
    keys_.note(request, *created, at);
  }

  void claim() {
    ClaimRequest request;
    request.worker_id = "w";
    request.worker_instance_id = "w-1";
    request.lease_ttl_ms = 3'600'000;
    const auto claimed = driver_->claim(request);
    ASSERT_TRUE(claimed) << claimed.error().message;
    for (const ClaimedExecution& one : *claimed) {
      EXPECT_TRUE(keys_.is_live(one.execution_id, now()));
      const std::string* payload = keys_.payload(one.execution_id);
      EXPECT_TRUE(payload == nullptr || one.payload == *payload);
      held_.push_back(one);
    }
  }

  void end_one_that_is_held() {
    if (held_.empty()) return;
    const std::size_t which = below(held_.size());
    const ClaimedExecution claimed = held_[which];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool was_live = keys_.is_live(claimed.execution_id, now());
    const bool ended = below(2) == 0 ? driver_->complete(claimed).has_value() : driver_->fail(claimed).has_value();
    if (!ended) return;  // replaced, cancelled or expired meanwhile; or in another life
    EXPECT_TRUE(was_live);
    keys_.end(claimed.execution_id);
  }

  void cancel() {
    if (ids_.empty()) return;
    const ExecutionId id = ids_[below(ids_.size())];
    const bool was_live = keys_.is_live(id, now());
    const auto reply = driver_->call(CancelCommand{id, {"ops", {}}});
    const bool cancelled = reply && !std::get<CancelReply>(*reply).already_cancelled;
    EXPECT_EQ(cancelled, was_live);
    keys_.end(id);
  }

  void replay() {
    if (ids_.empty()) return;
    const ExecutionId id = ids_[below(ids_.size())];
    if (keys_.is_live(id, now())) return;
    const auto in_the_way = keys_.in_the_way(id, now());
    const auto reply = driver_->call(ReplayCommand{id, {"ops", {}}});
    if (!reply && reply.error().code == Errc::max_replays_exhausted) return;
    EXPECT_EQ(reply.has_value(), !in_the_way.has_value()) << (reply ? "" : reply.error().message);
    if (!reply) {
      EXPECT_EQ(reply.error().code, Errc::conflict);
      return;
    }
    keys_.replay(id);
    // Its deadline counts from now on again; without a life of its own in the evaluator it is cancelled in time.
    if (driver_->execution(id).facts.deadline_at != 0) {
      driver_->call(CancelCommand{id, {"ops", {}}}).value();
      keys_.end(id);
    }
  }

  ManualClock clock_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Driver> driver_;
  std::mt19937_64 random_;
  KeyEvaluator keys_;
  std::vector<ExecutionId> ids_;
  std::vector<ClaimedExecution> held_;
};

void play_keys(StoreKindId kind, std::uint64_t plays) {
  for (std::uint64_t seed = 1; seed <= plays && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    KeyPlay(kind, seed).run(80);
  }
}

TEST(KeyModel, AnswersAreThoseOfTheEvaluatorOnMemory) { play_keys(StoreKindId::memory, 400); }
TEST(KeyModel, AnswersAreThoseOfTheEvaluatorOnSqlite) { play_keys(StoreKindId::sqlite, 25); }
TEST(KeyModel, AnswersAreThoseOfTheEvaluatorOnPostgres) { play_keys(StoreKindId::postgres, 12); }

}  // namespace
}  // namespace flowfabric::test
