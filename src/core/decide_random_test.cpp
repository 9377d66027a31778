// Random commands on a few executions, run in two ways that must give the same result: with a clock that is always on
// time and with one that never runs, or one command at a time and many in a batch.
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

constexpr int executions = 3;
constexpr int steps = 60;
constexpr std::uint64_t seeds = 300;

std::string in_words(const Result<Reply>& reply) {
  if (!reply) return std::string(to_string(reply.error().code));
  if (const auto* issued = std::get_if<IssueReclaimGrantOutcome>(&*reply)) {
    const char* names[] = {"reclaim granted", "grant not reclaimable", "grant capped"};
    return names[issued->index()];
  }
  if (const auto* claim = std::get_if<ReclaimExecutionOutcome>(&*reply)) {
    const char* names[] = {"reclaimed", "no grant", "not reclaimable", "capped"};
    return names[claim->index()];
  }
  if (std::holds_alternative<Grant>(*reply)) return "granted";
  std::string text = "reply " + std::to_string(reply->index());
  if (const auto* failed = std::get_if<FailReply>(&*reply)) text += " retry at " + std::to_string(failed->retry_at);
  if (const auto* revoked = std::get_if<RevokeReply>(&*reply)) text += " epoch " + std::to_string(revoked->lease_epoch);
  return text;
}

// The facts that must not depend on the way of running. Queue positions and detection times do.
auto essence(const Facts& facts) {
  return std::tuple(facts.phase, facts.outcome, facts.priority, facts.delay_until, facts.delay_cause, facts.deadline_at,
                    facts.lease_epoch, facts.lease, facts.lost, facts.grant, facts.pending, facts.attempt_count,
                    facts.retry_count, facts.reclaim_count, facts.replay_count, facts.ready_sequence != 0,
                    facts.failure, facts.attempt ? facts.attempt->attempt_state : AttemptState::started);
}

CreateRequest random_request(const Entropy& dice, TimestampMs now) {
  CreateRequest request;
  request.kind = "job";
  request.policy.on_lease_lost = dice() % 2 == 0 ? OnLeaseLost::requeue : OnLeaseLost::manual;
  request.policy.reclaim_grace_ms = dice() % 2 == 0 ? 0 : 40;
  request.policy.max_reclaims = dice() % 2 == 0 ? 1000 : static_cast<std::uint32_t>(dice() % 3);
  request.policy.max_replays = 1000;
  if (dice() % 2 == 0) {
    request.policy.retry = RetryPolicy{};
    request.policy.retry->initial_delay_ms = 30;
  }
  if (dice() % 3 == 0) request.policy.attempt_timeout_ms = 70;
  if (dice() % 4 == 0) request.deadline_at = now + 400;
  if (dice() % 3 == 0) request.delay_until = now + 20;
  return request;
}

// Executes one operation after another, with the results of earlier ones.
class Player {
 public:
  explicit Player(std::uint64_t seed) : dice_(seeded_entropy(seed)) {
    stage.default_retention_ms = 1000000000;
    for (int i = 0; i < executions; ++i) ids_.push_back(stage.create(random_request(dice_, stage.now)));
    fences_.resize(executions);
    grants_.resize(executions);
    for (int i = 0; i < executions; ++i) fences_[i].execution_id = grants_[i].execution_id = ids_[i];
  }

  std::int64_t pause() { return static_cast<std::int64_t>(dice_() % 5 == 0 ? dice_() % 90 : dice_() % 6); }

  // The next command; `which` tells for which execution.
  Command next(std::size_t& which) {
    which = dice_() % executions;
    const ExecutionId& id = ids_[which];
    const Fence& fence = fences_[which];
    switch (dice_() % 24) {
      case 0: return dice_() % 2 == 0 ? Command{CompleteCommand{fence, {}}} : Command{CancelHeldCommand{fence, ""}};
      case 1: return FailCommand{fence, {}};
      case 2:
        return dice_() % 3 == 0 ? Command{ReleaseHeldCommand{fence}} : Command{DelayCommand{fence, stage.now + 25}};
      case 3: {
        StepRequest step{.position = static_cast<std::uint32_t>(1 + dice_() % 5), .name = "step"};
        if (dice_() % 3 == 0) step.failure = Failure{"error", "", ""};
        return dice_() % 2 == 0 ? Command{StepCommand{fence, step}} : Command{RenewCommand{fence, 0}};
      }
      case 4: return dice_() % 4 == 0 ? Command{CancelCommand{id, {}}} : Command{PriorityCommand{id, 1, {}}};
      case 5:
      case 6: return RevokeCommand{id, {}, {}};
      case 7:
      case 8: return ReplayCommand{id, {}};
      case 9: return ReleaseCommand{id, "default", "w-1", stage.now - static_cast<std::int64_t>(dice_() % 20)};
      case 10:
      case 11: return Rehearsal::grant_command(GrantKind::claim, id, grant_ttl());
      case 12:
      case 13:
      case 14: return Rehearsal::grant_command(GrantKind::reclaim, id, grant_ttl());
      case 15:
      case 16:
      case 17:
      case 18: return redeem(which, grants_[which].kind);
      case 19: return redeem(which, dice_() % 2 == 0 ? GrantKind::claim : GrantKind::reclaim);
      default: return LeaseCommand{id, "default", "w", "w-1", static_cast<std::uint32_t>(50 + dice_() % 100)};
    }
  }

  void learn(std::size_t which, const Result<Reply>& reply) {
    if (!reply) return;
    if (const auto* claim = std::get_if<ClaimedExecution>(&*reply)) fences_[which] = fence_of(*claim);
    if (const auto* grant = std::get_if<Grant>(&*reply)) grants_[which] = *grant;
    if (const auto* issued = std::get_if<IssueReclaimGrantOutcome>(&*reply)) {
      if (const auto* granted = std::get_if<Granted>(issued)) grants_[which] = granted->grant;
    }
    if (const auto* outcome = std::get_if<ReclaimExecutionOutcome>(&*reply)) {
      if (const auto* claimed = std::get_if<Claimed>(outcome)) fences_[which] = fence_of(claimed->execution);
    }
  }

  Facts facts(std::size_t which) const { return stage.facts(ids_[which]); }
  const std::vector<ExecutionId>& ids() const { return ids_; }

  Rehearsal stage;

 private:
  std::uint32_t grant_ttl() { return static_cast<std::uint32_t>(1 + dice_() % 100); }
  RedeemCommand redeem(std::size_t which, GrantKind kind) {
    RedeemCommand command = Rehearsal::redeem_command(grants_[which], 80);
    command.kind = kind;
    return command;
  }

  Entropy dice_;
  std::vector<ExecutionId> ids_;
  std::vector<Fence> fences_;
  std::vector<Grant> grants_;
};

// Advances the time and runs the clock at every due time.
void go_on_with_clock(Rehearsal& stage, const std::vector<ExecutionId>& ids, TimestampMs until) {
  for (;;) {
    TimestampMs next = 0;
    for (const ExecutionId& id : ids) {
      const TimestampMs due = stage.due(id);
      if (due != 0 && (next == 0 || due < next)) next = due;
    }
    if (next == 0 || next > until) break;
    stage.now = std::max(stage.now, next);
    stage.sweep();
  }
  stage.now = until;
}

TEST(RandomCommands, ComeToTheSameWithAndWithoutAClock) {
  std::map<std::string, int> answers;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Player in_time(seed);
    Player alone(seed);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      go_on_with_clock(in_time.stage, in_time.ids(), in_time.stage.now + in_time.pause());
      alone.stage.now += alone.pause();
      ASSERT_EQ(in_time.stage.now, alone.stage.now);
      std::size_t which = 0;
      const Result<Reply> one = in_time.stage.run(in_time.next(which));
      in_time.learn(which, one);
      const Result<Reply> other = alone.stage.run(alone.next(which));
      alone.learn(which, other);
      ++answers[in_words(one)];
      EXPECT_EQ(in_words(one), in_words(other));
      EXPECT_EQ(essence(in_time.facts(which)), essence(alone.facts(which)));
    }
    go_on_with_clock(in_time.stage, in_time.ids(), in_time.stage.now + 1000);
    alone.stage.now += 1000;
    alone.stage.sweep();
    for (std::size_t i = 0; i < executions; ++i) EXPECT_EQ(essence(in_time.facts(i)), essence(alone.facts(i))) << i;
    if (testing::Test::HasFailure()) return;
  }
  for (const char* answer :
       {"granted", "reclaim granted", "grant not reclaimable", "grant capped", "reclaimed", "no grant",
        "not reclaimable", "capped", "invalid_claim_grant", "claim_grant_expired", "grant_already_exists"}) {
    EXPECT_GE(answers[answer], 10) << "hardly ever \"" << answer << "\": the dice do not test much";
  }
}

TEST(RandomCommands, ComeToTheSameOneByOneAndInBatches) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Entropy sizes = seeded_entropy(1000 + seed);
    Player single(seed);
    Player batched(seed);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      single.stage.now += single.pause();
      batched.stage.now += batched.pause();
      Workspace batch;
      for (std::uint64_t n = 1 + sizes() % 6; n > 0; --n) {
        std::size_t which = 0;
        const Result<Reply> one = single.stage.run(single.next(which));
        single.learn(which, one);
        const Result<Reply> other = batched.stage.decide_in(batch, batched.next(which));
        batched.learn(which, other);
        EXPECT_EQ(in_words(one), in_words(other));
      }
      batched.stage.commit(batch);
      for (std::size_t i = 0; i < executions; ++i) {
        EXPECT_EQ(essence(single.facts(i)), essence(batched.facts(i))) << i;
        EXPECT_EQ(single.stage.history(single.ids()[i]), batched.stage.history(batched.ids()[i])) << i;
        EXPECT_EQ(single.stage.ready(single.ids()[i]), batched.stage.ready(batched.ids()[i])) << i;
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

// ---- Workers -------------------------------------------------------------------------------------------------------

Command random_fleet_command(const Entropy& dice) {
  const std::string instance = "w-" + std::to_string(dice() % 2);
  switch (dice() % 8) {
    case 0: return MarkDeadCommand{"default", instance, {}};
    case 1: return DrainWorkerCommand{"default", instance, {}};
    case 2:
    case 3: {
      WorkerRegistration registration = Rehearsal::registration(instance, dice() % 2 == 0 ? 1000 : 1500);
      if (dice() % 4 == 0) registration.worker_id = "another";
      return RegisterCommand{registration};
    }
    default: return HeartbeatCommand{"default", instance};
  }
}

std::string fleet_words(const Result<Reply>& reply) {
  if (!reply) return std::string(to_string(reply.error().code));
  if (const auto* r = std::get_if<RegisterWorkerReply>(&*reply)) {
    return "registered " + std::to_string(static_cast<int>(r->outcome)) + " " + std::to_string(r->registered_at) + " " +
           std::to_string(r->next_expiry_at);
  }
  if (const auto* r = std::get_if<HeartbeatReply>(&*reply)) {
    return "beat " + std::to_string(static_cast<int>(r->outcome)) + " " + std::to_string(r->next_expiry_at) +
           (r->drain ? " drain" : "");
  }
  if (const auto* r = std::get_if<MarkWorkerDeadOutcome>(&*reply))
    return "dead " + std::to_string(static_cast<int>(*r));
  return std::to_string(reply->index());
}

std::vector<EventType> all_history(const Rehearsal& stage, const std::string& instance) {
  return stage.history(worker_key("default", instance));
}

TEST(RandomFleet, ComesToTheSameWithAndWithoutAClock) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Entropy dice = seeded_entropy(seed);
    Rehearsal in_time;
    Rehearsal alone;
    for (int step = 0; step < steps; ++step) {
      const auto pause = static_cast<std::int64_t>(dice() % 4 == 0 ? dice() % 2500 : dice() % 400);
      for (std::int64_t i = 0; i < pause; i += 50) {
        in_time.now = std::min(in_time.now + 50, alone.now + pause);
        in_time.sweep();
      }
      alone.now += pause;
      in_time.now = alone.now;
      in_time.sweep();
      const Command command = random_fleet_command(dice);
      ASSERT_EQ(fleet_words(in_time.run(command)), fleet_words(alone.run(command))) << "step " << step;
    }
    alone.sweep();
    in_time.sweep();
    for (const std::string instance : {"w-0", "w-1"}) {
      ASSERT_EQ(all_history(in_time, instance), all_history(alone, instance));
      if (!in_time.has_record(worker_key("default", instance))) continue;
      EXPECT_EQ(in_time.worker(instance).info.state, alone.worker(instance).info.state);
    }
  }
}

}  // namespace
}  // namespace flowfabric
