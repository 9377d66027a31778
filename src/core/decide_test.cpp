// The table of every distinguishable state of an execution against every command. A cell has the reply, the state of
// the execution afterwards, and the changes. A combination without a cell fails the test.
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "core/decide.hpp"
#include "core/state.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

// ---- The states ----------------------------------------------------------------------------------------------------

constexpr std::int64_t backoff = 100;
constexpr std::int64_t grace = 200;
constexpr std::int64_t delay = 300;
constexpr std::uint32_t short_ttl = 500;
constexpr std::uint32_t grant_ttl = 50;

struct Stage {
  Rehearsal rehearsal;
  ExecutionId id;
  Fence holder;  // of the current or last lease; invented if there never was one
  Grant grant;   // the current or last grant; invented if there never was one
  CreateRequest request;

  Fence stale() const {
    Fence fence = holder;
    fence.lease_id.bytes[0] ^= 1;
    return fence;
  }
  RedeemCommand redeem(GrantKind kind) const {
    RedeemCommand command = Rehearsal::redeem_command(grant, short_ttl);
    command.kind = kind;
    return command;
  }
  RedeemCommand redeem_other(GrantKind kind) const {
    RedeemCommand command = redeem(kind);
    command.grant_id[0] = static_cast<char>(command.grant_id[0] ^ 1);
    return command;
  }
};

CreateRequest ordinary_request() {
  CreateRequest request;
  request.kind = "job";
  request.id = Uuid{{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15, 16}};
  request.policy.retry = RetryPolicy{};
  request.policy.retry->initial_delay_ms = backoff;
  return request;
}

CompleteRequest ordinary_result() { return {"result", "text/plain"}; }
FailRequest final_failure() { return {"error", "broken", "", FailRequest::Retryable::never}; }

Stage staged(const CreateRequest& request) {
  Stage stage;
  stage.request = request;
  stage.id = {7, *request.id};
  stage.holder = {stage.id, 0, 1, Uuid{{42}}};
  stage.grant.execution_id = stage.id;
  stage.grant.grant_key = "made up";
  stage.grant.expires_at = INT64_MAX;
  return stage;
}

Stage absent() { return staged(ordinary_request()); }

Stage waiting(const CreateRequest& request = ordinary_request()) {
  Stage stage = staged(request);
  stage.rehearsal.create(request);
  stage.rehearsal.now += 10;
  return stage;
}

Stage delayed() {
  CreateRequest request = ordinary_request();
  request.delay_until = Rehearsal{}.now + delay;
  return waiting(request);
}

Stage active(const CreateRequest& request = ordinary_request()) {
  Stage stage = waiting(request);
  stage.holder = fence_of(stage.rehearsal.lease(stage.id, short_ttl));
  stage.rehearsal.now += 10;
  return stage;
}

// The lease has expired and has not been processed yet.
Stage overdue(const CreateRequest& request = ordinary_request()) {
  Stage stage = active(request);
  stage.rehearsal.now += short_ttl;
  return stage;
}

CreateRequest manual_request() {
  CreateRequest request = ordinary_request();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  return request;
}

Stage lost_expired() {
  Stage stage = overdue(manual_request());
  stage.rehearsal.due_now(stage.id);
  stage.rehearsal.now += 10;
  return stage;
}

Stage lost_revoked() {
  Stage stage = active(manual_request());
  stage.rehearsal.expect<RevokeReply>(RevokeCommand{stage.id, {}, {}});
  stage.rehearsal.now += 10;
  return stage;
}

Stage in_backoff() {
  Stage stage = active();
  stage.rehearsal.expect<FailReply>(FailCommand{stage.holder, {}});
  stage.rehearsal.now += 10;
  return stage;
}

Stage waiting_retry() {
  Stage stage = in_backoff();
  stage.rehearsal.now += backoff;
  stage.rehearsal.due_now(stage.id);
  return stage;
}

Stage reclaim_ready() {
  Stage stage = overdue();
  stage.rehearsal.due_now(stage.id);
  stage.rehearsal.now += 10;
  return stage;
}

Stage reclaim_grace() {
  CreateRequest request = ordinary_request();
  request.policy.reclaim_grace_ms = grace;
  Stage stage = active(request);
  stage.rehearsal.expect<RevokeReply>(RevokeCommand{stage.id, {}, {}});
  stage.rehearsal.now += 10;
  return stage;
}

Stage worker_delayed() {
  Stage stage = active();
  stage.rehearsal.expect<DelayReply>(DelayCommand{stage.holder, stage.rehearsal.now + delay});
  stage.rehearsal.now += 10;
  return stage;
}

Stage resumable() {
  Stage stage = worker_delayed();
  stage.rehearsal.now += delay;
  stage.rehearsal.due_now(stage.id);
  return stage;
}

Stage completed() {
  Stage stage = active();
  stage.rehearsal.expect<Done>(CompleteCommand{stage.holder, ordinary_result()});
  stage.rehearsal.now += 10;
  return stage;
}

Stage failed() {
  Stage stage = active();
  stage.rehearsal.expect<FailReply>(FailCommand{stage.holder, final_failure()});
  stage.rehearsal.now += 10;
  return stage;
}

Stage cancelled() {
  Stage stage = active();
  stage.rehearsal.expect<CancelReply>(CancelCommand{stage.id, {}});
  stage.rehearsal.now += 10;
  return stage;
}

Stage expired() {
  CreateRequest request = ordinary_request();
  request.deadline_at = Rehearsal{}.now + 50;
  Stage stage = active(request);
  stage.rehearsal.now += 50;
  stage.rehearsal.due_now(stage.id);
  stage.rehearsal.now += 10;
  return stage;
}

Stage replayed() {
  Stage stage = completed();
  stage.rehearsal.expect<ReplayReply>(ReplayCommand{stage.id, {}});
  stage.rehearsal.now += 10;
  return stage;
}

Stage claim_granted() {
  Stage stage = waiting();
  stage.grant = stage.rehearsal.claim_grant(stage.id, grant_ttl);
  stage.rehearsal.now += 10;
  return stage;
}

// The grant has expired and has not been processed yet.
Stage claim_grant_over() {
  Stage stage = claim_granted();
  stage.rehearsal.now += grant_ttl;
  return stage;
}

Stage reclaim_granted(Stage stage) {
  stage.grant = stage.rehearsal.reclaim_grant(stage.id, grant_ttl);
  stage.rehearsal.now += 10;
  return stage;
}

SuspendRequest ordinary_wait() {
  SuspendRequest request;
  request.waitpoints.push_back({.name = "paid"});
  request.timeout_ms = delay;
  FF_CHECK(admit(request).has_value());
  return request;
}

Stage suspended() {
  Stage stage = active();
  stage.rehearsal.expect<SuspendReply>(SuspendCommand{stage.holder, ordinary_wait()});
  stage.rehearsal.now += 10;
  return stage;
}

// The wait is over and the clock has not noticed yet.
Stage wait_overdue() {
  Stage stage = suspended();
  stage.rehearsal.now += delay;
  return stage;
}

// The signal came; nobody has claimed it since.
Stage wait_ended() {
  Stage stage = suspended();
  stage.rehearsal.expect<SignalReply>(SignalCommand{stage.id, {.waitpoint = "paid"}});
  stage.rehearsal.now += 10;
  return stage;
}

// The lease was lost once more than the policy allows.
Stage capped() {
  CreateRequest request = ordinary_request();
  request.policy.max_reclaims = 0;
  Stage stage = overdue(request);
  stage.rehearsal.due_now(stage.id);
  stage.rehearsal.now += 10;
  return stage;
}

struct NamedStage {
  std::string name;
  Stage (*make)();
};

const std::vector<NamedStage>& stages() {
  static const std::vector<NamedStage> all = {
      {"absent", absent},
      {"waiting", [] { return waiting(); }},
      {"delayed", delayed},
      {"active", [] { return active(); }},
      {"overdue", [] { return overdue(); }},
      {"lost_expired", lost_expired},
      {"lost_revoked", lost_revoked},
      {"backoff", in_backoff},
      {"waiting_retry", waiting_retry},
      {"reclaim_ready", reclaim_ready},
      {"reclaim_grace", reclaim_grace},
      {"worker_delayed", worker_delayed},
      {"resumable", resumable},
      {"completed", completed},
      {"failed", failed},
      {"cancelled", cancelled},
      {"expired", expired},
      {"replayed", replayed},
      {"claim_granted", claim_granted},
      {"claim_grant_over", claim_grant_over},
      {"reclaim_granted_ready", [] { return reclaim_granted(reclaim_ready()); }},
      {"reclaim_granted_grace", [] { return reclaim_granted(reclaim_grace()); }},
      {"reclaim_granted_manual", [] { return reclaim_granted(lost_expired()); }},
      {"capped", capped},
      {"suspended", suspended},
      {"wait_overdue", wait_overdue},
      {"wait_ended", wait_ended},
  };
  return all;
}

// ---- The commands --------------------------------------------------------------------------------------------------

struct NamedCommand {
  std::string name;
  Command (*make)(Stage&);
};

Command create_same(Stage& stage) { return stage.rehearsal.create_command(stage.request); }

Command create_other(Stage& stage) {
  CreateRequest request = stage.request;
  request.payload = "something else";
  return stage.rehearsal.create_command(request);
}

Command delay_by(const Stage& stage, const Fence& fence) { return DelayCommand{fence, stage.rehearsal.now + delay}; }

// Of the lease holder, if there is one.
Command release_of(const Stage& stage, const std::string& instance) {
  return ReleaseCommand{stage.id, "default", instance, stage.rehearsal.now};
}

Command pause_lane(Stage&) { return LaneCommand{"default", LaneState::paused, {}}; }

Command set_namespace(Stage&) {
  NamespaceInfo info{"default", {}};
  info.retention.completed_ms = 1;
  return NamespaceCommand{info, {}};
}

const std::vector<NamedCommand>& commands() {
  static const std::vector<NamedCommand> all = {
      {"create_same", create_same},
      {"create_other", create_other},
      {"lease", [](Stage& s) { return Command{LeaseCommand{s.id, "default", "w", "w-2", short_ttl}}; }},
      {"renew", [](Stage& s) { return Command{RenewCommand{s.holder, 0}}; }},
      {"renew_stale", [](Stage& s) { return Command{RenewCommand{s.stale(), 0}}; }},
      {"progress", [](Stage& s) { return Command{ProgressCommand{s.holder, {50, "half"}}}; }},
      {"progress_stale", [](Stage& s) { return Command{ProgressCommand{s.stale(), {50, "half"}}}; }},
      {"complete", [](Stage& s) { return Command{CompleteCommand{s.holder, ordinary_result()}}; }},
      {"complete_stale", [](Stage& s) { return Command{CompleteCommand{s.stale(), ordinary_result()}}; }},
      {"fail", [](Stage& s) { return Command{FailCommand{s.holder, {}}}; }},
      {"fail_final", [](Stage& s) { return Command{FailCommand{s.holder, final_failure()}}; }},
      {"fail_stale", [](Stage& s) { return Command{FailCommand{s.stale(), {}}}; }},
      {"delay", [](Stage& s) { return delay_by(s, s.holder); }},
      {"delay_stale", [](Stage& s) { return delay_by(s, s.stale()); }},
      {"release_held", [](Stage& s) { return Command{ReleaseHeldCommand{s.holder}}; }},
      {"release_held_stale", [](Stage& s) { return Command{ReleaseHeldCommand{s.stale()}}; }},
      {"record_step", [](Stage& s) { return Command{StepCommand{s.holder, {.position = 1, .name = "charge"}}}; }},
      {"record_step_stale",
       [](Stage& s) { return Command{StepCommand{s.stale(), {.position = 1, .name = "charge"}}}; }},
      {"checkpoint", [](Stage& s) { return Command{CheckpointCommand{s.holder, "here", {}}}; }},
      {"checkpoint_stale", [](Stage& s) { return Command{CheckpointCommand{s.stale(), "here", {}}}; }},
      {"tags_held", [](Stage& s) { return Command{TagsCommand{s.id, {{{"app.a", "1"}}, {}}, {}, s.holder}}; }},
      {"tags_held_stale", [](Stage& s) { return Command{TagsCommand{s.id, {{{"app.a", "1"}}, {}}, {}, s.stale()}}; }},
      {"cancel_held", [](Stage& s) { return Command{CancelHeldCommand{s.holder, "enough"}}; }},
      {"cancel_held_stale", [](Stage& s) { return Command{CancelHeldCommand{s.stale(), "enough"}}; }},
      {"cancel", [](Stage& s) { return Command{CancelCommand{s.id, {"ops", "enough"}}}; }},
      {"revoke", [](Stage& s) { return Command{RevokeCommand{s.id, {}, {"ops", "stuck"}}}; }},
      {"revoke_other", [](Stage& s) { return Command{RevokeCommand{s.id, s.stale().lease_id, {"ops", "stuck"}}}; }},
      {"replay", [](Stage& s) { return Command{ReplayCommand{s.id, {"ops", "again"}}}; }},
      {"priority", [](Stage& s) { return Command{PriorityCommand{s.id, 5, {"ops", ""}}}; }},
      {"tags", [](Stage& s) { return Command{TagsCommand{s.id, {{{"app.a", "1"}}, {}}, {"ops", ""}}}; }},
      {"lane", pause_lane},
      {"namespace", set_namespace},
      {"due", [](Stage& s) { return Command{DueCommand{execution_key(s.id)}}; }},
      {"grant_claim", [](Stage& s) { return Command{Rehearsal::grant_command(GrantKind::claim, s.id, grant_ttl)}; }},
      {"grant_reclaim",
       [](Stage& s) { return Command{Rehearsal::grant_command(GrantKind::reclaim, s.id, grant_ttl)}; }},
      {"redeem_claim", [](Stage& s) { return Command{s.redeem(GrantKind::claim)}; }},
      {"redeem_claim_other", [](Stage& s) { return Command{s.redeem_other(GrantKind::claim)}; }},
      {"redeem_reclaim", [](Stage& s) { return Command{s.redeem(GrantKind::reclaim)}; }},
      {"redeem_reclaim_other", [](Stage& s) { return Command{s.redeem_other(GrantKind::reclaim)}; }},
      {"release", [](Stage& s) { return release_of(s, "w-1"); }},
      {"release_other", [](Stage& s) { return release_of(s, "w-9"); }},
      {"suspend", [](Stage& s) { return Command{SuspendCommand{s.holder, ordinary_wait()}}; }},
      {"suspend_stale", [](Stage& s) { return Command{SuspendCommand{s.stale(), ordinary_wait()}}; }},
      {"open_waitpoint", [](Stage& s) { return Command{OpenWaitpointCommand{s.holder, {.name = "paid"}}}; }},
      {"open_waitpoint_stale", [](Stage& s) { return Command{OpenWaitpointCommand{s.stale(), {.name = "paid"}}}; }},
      {"signal", [](Stage& s) { return Command{SignalCommand{s.id, {.waitpoint = "paid"}}}; }},
      {"signal_elsewhere", [](Stage& s) { return Command{SignalCommand{s.id, {.waitpoint = "other"}}}; }},
      {"signal_by_token",
       [](Stage& s) { return Command{SignalCommand{s.id, {}, WaitpointClaims{s.id, 1, 0, 0, "paid", {}}}}; }},
      {"signal_by_old_token",
       [](Stage& s) {
         return Command{SignalCommand{s.id, {}, WaitpointClaims{s.id, 1, 0, s.rehearsal.now, "paid", {}}}};
       }},
      {"decide", [](Stage& s) { return Command{SignalCommand{s.id, {.waitpoint = "paid"}, {}, true}}; }},
      {"resume", [](Stage& s) { return Command{ResumeCommand{s.id, {"ops", "go on"}}}; }},
      {"close_waitpoint", [](Stage& s) { return Command{CloseWaitpointCommand{s.id, "paid", {"ops", ""}}}; }},
      {"reissue_token",
       [](Stage& s) { return Command{ReissueTokenCommand{s.id, {.waitpoint = "paid"}, {"ops", ""}}}; }},
      {"remove", [](Stage& s) { return Command{RemoveCommand{s.id, {}}}; }},
      {"remove_older", [](Stage& s) { return Command{RemoveCommand{s.id, s.rehearsal.now}}; }},
  };
  return all;
}

// ---- What is seen of a cell ----------------------------------------------------------------------------------------

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::string after(TimestampMs at, TimestampMs now) { return "+" + std::to_string(at - now); }

std::string in_words(const ClaimedExecution& claim) {
  return std::string(to_string(claim.handle_kind)) + " " + std::string(to_string(claim.attempt.attempt_type)) + " #" +
         std::to_string(claim.attempt.attempt_index);
}

std::string in_words(const Grant& grant, TimestampMs now) {
  return std::string(to_string(grant.kind)) + " grant" + after(grant.expires_at, now);
}

template <class Outcome>
std::string outcome_in_words(const Outcome& outcome, TimestampMs now) {
  if (const auto* no = std::get_if<NotReclaimable>(&outcome)) {
    EXPECT_FALSE(no->detail.empty());
    return "not reclaimable";
  }
  if (const auto* cap = std::get_if<ReclaimCapExceeded>(&outcome)) return "cap " + std::to_string(cap->count);
  if constexpr (std::is_same_v<Outcome, IssueReclaimGrantOutcome>) {
    return in_words(std::get<Granted>(outcome).grant, now);
  } else {
    const auto* claimed = std::get_if<Claimed>(&outcome);
    return claimed != nullptr ? in_words(claimed->execution) : "no grant";
  }
}

std::string describe_reply(const Result<Reply>& reply, TimestampMs now) {
  if (!reply) return "!" + std::string(to_string(reply.error().code));
  const auto name = [](auto value) { return std::string(to_string(value)); };
  return std::visit(
      Overloaded{
          [](const Done&) { return std::string("done"); },
          [&](const Created& r) { return (r.duplicate ? "duplicate " : "created ") + name(r.public_state.value()); },
          [](const ClaimedExecution& r) { return in_words(r); },
          [&](const RenewVerdict& r) { return "until" + after(r.expires_at, now); },
          [&](const FailReply& r) {
            if (r.decision == FailReply::Decision::failed) return "failed: " + r.reason;
            return "retry #" + std::to_string(r.next_attempt_index) + after(r.retry_at, now) + ": " + r.reason;
          },
          [&](const DelayReply& r) { return "until" + after(r.delay_until, now); },
          [&](const StepReply& r) { return r.duplicate ? "duplicate" : "recorded" + after(r.recorded_at, now); },
          [](const CancelReply& r) { return std::string(r.already_cancelled ? "already cancelled" : "cancelled"); },
          [&](const RevokeReply& r) { return "revoked, " + name(r.public_state); },
          [&](const ReplayReply& r) {
            return "replay " + std::to_string(r.replay_count) + ", " + name(r.public_state);
          },
          [](const Tags& r) { return std::to_string(r.size()) + " tag"; },
          [&](const LaneInfo& r) { return "lane " + name(r.state); },
          [](const NamespaceInfo& r) { return "namespace " + r.name_space; },
          [&](const Grant& r) { return in_words(r, now); },
          [&](const IssueReclaimGrantOutcome& r) { return outcome_in_words(r, now); },
          [&](const ReclaimExecutionOutcome& r) { return outcome_in_words(r, now); },
          [](const SuspendReply& r) {
            return (r.duplicate   ? "duplicate"
                    : r.suspended ? "suspended"
                                  : "over already") +
                   std::string(" wait ") + std::to_string(r.wait);
          },
          [](const WaitpointToken& r) { return "token of waitpoint " + std::to_string(r.number); },
          [&](const SignalReply& r) { return name(r.effect) + (r.duplicate ? " duplicate" : ""); },
          [](const RemoveReply& r) { return std::string(r.removed ? "removed" : "kept"); },
          [](const auto&) { return std::string("a reply of the fleet"); },
      },
      *reply);
}

// Public state, then "ready" or the due time if there are entries, then "lost" if it can be found as a lost lease.
std::string describe_state(const Rehearsal& rehearsal, const ExecutionId& id) {
  if (!rehearsal.exists(id)) return "absent";
  std::string text(to_string(rehearsal.state(id)));
  if (rehearsal.ready(id)) text += " ready";
  if (rehearsal.due(id) != 0) text += " due" + after(rehearsal.due(id), rehearsal.now);
  if (rehearsal.group_of(id).group == lost_leases_group) text += " lost";
  return text;
}

void note_growth(std::string& text, const char* what, std::uint64_t before, std::uint64_t now) {
  if (before == now) return;
  text += (text.empty() ? "" : " ") + std::string(what);
  if (now > before) text += "+" + std::to_string(now - before);
  if (now < before) text += "=" + std::to_string(now);
}

std::string describe_moves(const Facts& before, const Facts& now, const std::vector<Event>& events) {
  std::string text;
  note_growth(text, "epoch", before.lease_epoch, now.lease_epoch);
  note_growth(text, "attempt", before.attempt_count, now.attempt_count);
  note_growth(text, "retry", before.retry_count, now.retry_count);
  note_growth(text, "reclaim", before.reclaim_count, now.reclaim_count);
  note_growth(text, "replay", before.replay_count, now.replay_count);
  if (before.priority != now.priority) text += text.empty() ? "priority" : " priority";
  note_growth(text, "grant", before.grant ? 1 : 0, now.grant ? 1 : 0);
  if (events.empty()) return text;
  text += text.empty() ? "[" : " [";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : " ") + std::string(to_string(events[i].type));
  return text + "]";
}

struct Seen {
  std::string reply;
  std::string state;
  std::string moves;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << '"' << seen.reply << "\", \"" << seen.state << "\", \"" << seen.moves << '"';
}

// ---- What holds in every cell --------------------------------------------------------------------------------------

void check_vector(const StateVector& v) {
  EXPECT_EQ(v.lifecycle_phase == Phase::terminal, v.terminal_outcome != Outcome::none);
  EXPECT_EQ(v.lifecycle_phase == Phase::runnable, v.eligibility_state != Eligibility::not_applicable);
  if (v.ownership_state != Ownership::unowned) {
    EXPECT_EQ(v.lifecycle_phase, Phase::active);
  }
  EXPECT_EQ(v.ownership_state == Ownership::leased, v.attempt_state == AttemptPhase::running_attempt);
}

void check_due_entry(const Rehearsal& rehearsal, const Execution& execution) {
  const Facts& facts = execution.facts;
  const auto entry = rehearsal.due_entry(execution_key(execution.id));
  EXPECT_EQ(entry ? entry->due_at : 0, facts.armed_due);
  const TimestampMs wanted = next_due(facts);
  EXPECT_EQ(wanted == 0, rehearsal.due(execution.id) == 0);
  EXPECT_LE(rehearsal.due(execution.id), wanted) << "the clock must not come too late";
  const Grouping group = rehearsal.group_of(execution.id);
  if (facts.lease) {
    EXPECT_EQ(group.group, holder_group("default", facts.lease->worker_instance_id));
    EXPECT_EQ(group.rank, facts.lease->acquired_at);
  } else if (const auto of_state = group_of_state(public_state(facts))) {
    EXPECT_EQ(group.group, *of_state);
    EXPECT_EQ(group.rank, execution.spec.created_at);
  } else if (facts.phase == Phase::suspended) {
    EXPECT_EQ(group.group, waits_group);
    EXPECT_EQ(group.rank, facts.waits->wait->since);
  } else if (group.group != 0) {
    EXPECT_EQ(group.group, lost_leases_group);
    EXPECT_EQ(group.rank, facts.lost.lost_at);
    EXPECT_NE(facts.phase, Phase::terminal);
  }
}

void check_grant(const Facts& facts) {
  if (!facts.grant) return;
  EXPECT_FALSE(facts.lease) << "what is held is not reserved";
  EXPECT_NE(facts.phase, Phase::terminal);
  EXPECT_EQ(facts.grant->grant_id.size(), 32u);
  if (facts.grant->kind == GrantKind::claim) {
    EXPECT_NE(facts.ready_sequence, 0u) << "it keeps its place";
  }
}

void check_facts(const Rehearsal& rehearsal, const ExecutionId& id) {
  const Execution execution = rehearsal.execution(id);
  const Facts& facts = execution.facts;
  const StateVector vector = state_vector(execution, LaneState::active);
  check_vector(vector);
  EXPECT_EQ(rehearsal.ready(id).has_value(),
            vector.eligibility_state == Eligibility::eligible_now && !facts.grant.has_value());
  check_due_entry(rehearsal, execution);
  check_grant(facts);
  EXPECT_EQ(facts.phase == Phase::suspended, facts.waits && facts.waits->wait);
  if (facts.phase == Phase::terminal && facts.waits) {
    EXPECT_TRUE(facts.waits->open.empty() && facts.waits->signals.empty()) << "nothing can arrive any more";
  }
  EXPECT_EQ(facts.finished_at != 0, facts.phase == Phase::terminal);
  EXPECT_EQ(facts.started_at != 0, facts.attempt_count > 0);
  if (facts.lease) {
    EXPECT_EQ(facts.lease->lease_epoch, facts.lease_epoch);
  }
  if (facts.attempt) {
    EXPECT_EQ(facts.attempt->attempt_index + 1, facts.attempt_count);
  }
}

void check_events(const Rehearsal& rehearsal, PublicState before, const ExecutionId& id) {
  int endings = 0;
  PublicState state = before;
  for (const Event& event : rehearsal.last_events) {
    if (!event.execution_id) continue;
    EXPECT_EQ(*event.execution_id, id);
    if (event.type != EventType::created) {
      EXPECT_EQ(event.state_before, state) << to_string(event.type);
    }
    state = event.state_after;
    endings += is_terminal(event.type) ? 1 : 0;
    EXPECT_FALSE(event.actor.empty() && event.type != EventType::created) << to_string(event.type);
  }
  if (!rehearsal.exists(id)) return;
  EXPECT_EQ(state, rehearsal.state(id)) << "the events end where the facts are";
  const bool was_terminal = before >= PublicState::completed;
  const bool is_now_terminal = rehearsal.facts(id).phase == Phase::terminal;
  const bool is_replayed = !rehearsal.last_events.empty() && rehearsal.last_events.back().type == EventType::replayed;
  EXPECT_EQ(endings, !was_terminal && (is_now_terminal || is_replayed) ? 1 : 0) << "exactly one terminal event";
}

// A refused command changes nothing except for due transitions.
void check_refusal(const Stage& before, const Rehearsal& now) {
  Rehearsal settled = before.rehearsal;
  if (!settled.exists(before.id)) {
    EXPECT_FALSE(now.exists(before.id));
    return;
  }
  const Key key = execution_key(before.id);
  if (now.version(key) == settled.version(key)) {
    EXPECT_TRUE(now.last_events.empty()) << "what was not written has no events";
    return;
  }
  settled.due_now(before.id);
  EXPECT_EQ(encode(now.facts(before.id)), encode(settled.facts(before.id)));
}

// A reply that is not an error but still a refusal.
bool declines(const Reply& reply) {
  if (const auto* grant = std::get_if<IssueReclaimGrantOutcome>(&reply)) {
    return !std::holds_alternative<Granted>(*grant);
  }
  const auto* claim = std::get_if<ReclaimExecutionOutcome>(&reply);
  return claim != nullptr && !std::holds_alternative<Claimed>(*claim);
}

Seen play(const NamedStage& named, const NamedCommand& command) {
  Stage stage = named.make();
  const Stage before = stage;
  const bool existed = stage.rehearsal.exists(stage.id);
  const Facts facts_before = existed ? stage.rehearsal.facts(stage.id) : Facts{};
  const Command made = command.make(stage);
  const Result<Reply> reply = stage.rehearsal.run(made);
  const Rehearsal& now = stage.rehearsal;
  if (!reply || declines(*reply)) check_refusal(before, now);
  Facts facts_now = facts_before;  // also of a removed execution
  if (now.exists(stage.id)) {
    facts_now = now.facts(stage.id);
    check_facts(now, stage.id);
    check_events(now, public_state(facts_before), stage.id);
  }
  EXPECT_GE(facts_now.lease_epoch, facts_before.lease_epoch) << "epochs only rise";
  return {describe_reply(reply, now.now), describe_state(now, stage.id),
          describe_moves(facts_before, facts_now, now.last_events)};
}

// ---- The table -----------------------------------------------------------------------------------------------------

struct Cell {
  const char* state;
  const char* command;
  const char* reply;  // "!code" is an error
  const char* after;  // public state, ready entry, due entry relative to now
  const char* moves;  // counters and [events]
};

const Cell table[] = {
    {"absent", "create_same", "created waiting", "waiting ready", "[created]"},
    {"absent", "create_other", "created waiting", "waiting ready", "[created]"},
    {"absent", "lease", "!not_found", "absent", ""},
    {"absent", "renew", "!not_found", "absent", ""},
    {"absent", "renew_stale", "!not_found", "absent", ""},
    {"absent", "progress", "!not_found", "absent", ""},
    {"absent", "progress_stale", "!not_found", "absent", ""},
    {"absent", "complete", "!not_found", "absent", ""},
    {"absent", "complete_stale", "!not_found", "absent", ""},
    {"absent", "fail", "!not_found", "absent", ""},
    {"absent", "fail_final", "!not_found", "absent", ""},
    {"absent", "fail_stale", "!not_found", "absent", ""},
    {"absent", "delay", "!not_found", "absent", ""},
    {"absent", "delay_stale", "!not_found", "absent", ""},
    {"absent", "release_held", "!not_found", "absent", ""},
    {"absent", "release_held_stale", "!not_found", "absent", ""},
    {"absent", "record_step", "!not_found", "absent", ""},
    {"absent", "record_step_stale", "!not_found", "absent", ""},
    {"absent", "checkpoint", "!not_found", "absent", ""},
    {"absent", "checkpoint_stale", "!not_found", "absent", ""},
    {"absent", "tags_held", "!not_found", "absent", ""},
    {"absent", "tags_held_stale", "!not_found", "absent", ""},
    {"absent", "cancel_held", "!not_found", "absent", ""},
    {"absent", "cancel_held_stale", "!not_found", "absent", ""},
    {"absent", "cancel", "!not_found", "absent", ""},
    {"absent", "revoke", "!not_found", "absent", ""},
    {"absent", "revoke_other", "!not_found", "absent", ""},
    {"absent", "replay", "!not_found", "absent", ""},
    {"absent", "priority", "!not_found", "absent", ""},
    {"absent", "tags", "!not_found", "absent", ""},
    {"absent", "lane", "lane paused", "absent", "[lane_changed]"},
    {"absent", "namespace", "namespace default", "absent", "[namespace_changed]"},
    {"absent", "due", "done", "absent", ""},
    {"absent", "grant_claim", "!not_found", "absent", ""},
    {"absent", "grant_reclaim", "!not_found", "absent", ""},
    {"absent", "redeem_claim", "!not_found", "absent", ""},
    {"absent", "redeem_claim_other", "!not_found", "absent", ""},
    {"absent", "redeem_reclaim", "!not_found", "absent", ""},
    {"absent", "redeem_reclaim_other", "!not_found", "absent", ""},
    {"absent", "release", "!not_found", "absent", ""},
    {"absent", "release_other", "!not_found", "absent", ""},
    {"absent", "remove", "!not_found", "absent", ""},
    {"absent", "remove_older", "!not_found", "absent", ""},

    {"waiting", "create_same", "duplicate waiting", "waiting ready", ""},
    {"waiting", "create_other", "!conflict", "waiting ready", ""},
    {"waiting", "lease", "fresh initial #0", "active due+500", "epoch+1 attempt+1 [claimed]"},
    {"waiting", "renew", "!stale_lease", "waiting ready", ""},
    {"waiting", "renew_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "progress", "!stale_lease", "waiting ready", ""},
    {"waiting", "progress_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "complete", "!stale_lease", "waiting ready", ""},
    {"waiting", "complete_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "fail", "!stale_lease", "waiting ready", ""},
    {"waiting", "fail_final", "!stale_lease", "waiting ready", ""},
    {"waiting", "fail_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "delay", "!stale_lease", "waiting ready", ""},
    {"waiting", "delay_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "release_held", "!stale_lease", "waiting ready", ""},
    {"waiting", "release_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "record_step", "!stale_lease", "waiting ready", ""},
    {"waiting", "record_step_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "checkpoint", "!stale_lease", "waiting ready", ""},
    {"waiting", "checkpoint_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "tags_held", "!stale_lease", "waiting ready", ""},
    {"waiting", "tags_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "cancel_held", "!stale_lease", "waiting ready", ""},
    {"waiting", "cancel_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"waiting", "revoke", "!no_active_lease", "waiting ready", ""},
    {"waiting", "revoke_other", "!no_active_lease", "waiting ready", ""},
    {"waiting", "replay", "!not_terminal", "waiting ready", ""},
    {"waiting", "priority", "done", "waiting ready", "priority [priority_changed]"},
    {"waiting", "tags", "1 tag", "waiting ready", "[tags_changed]"},
    {"waiting", "lane", "lane paused", "waiting ready", "[lane_changed]"},
    {"waiting", "namespace", "namespace default", "waiting ready", "[namespace_changed]"},
    {"waiting", "due", "done", "waiting ready", ""},
    {"waiting", "grant_claim", "claim grant+50", "waiting due+50", "grant+1 [grant_issued]"},
    {"waiting", "grant_reclaim", "not reclaimable", "waiting ready", ""},
    {"waiting", "redeem_claim", "!invalid_claim_grant", "waiting ready", ""},
    {"waiting", "redeem_claim_other", "!invalid_claim_grant", "waiting ready", ""},
    {"waiting", "redeem_reclaim", "no grant", "waiting ready", ""},
    {"waiting", "redeem_reclaim_other", "no grant", "waiting ready", ""},
    {"waiting", "release", "done", "waiting ready", ""},
    {"waiting", "release_other", "done", "waiting ready", ""},
    {"waiting", "remove", "!not_terminal", "waiting ready", ""},
    {"waiting", "remove_older", "!not_terminal", "waiting ready", ""},

    {"delayed", "create_same", "duplicate delayed", "delayed due+290", ""},
    {"delayed", "create_other", "!conflict", "delayed due+290", ""},
    {"delayed", "lease", "!not_active", "delayed due+290", ""},
    {"delayed", "renew", "!stale_lease", "delayed due+290", ""},
    {"delayed", "renew_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "progress", "!stale_lease", "delayed due+290", ""},
    {"delayed", "progress_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "complete", "!stale_lease", "delayed due+290", ""},
    {"delayed", "complete_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "fail", "!stale_lease", "delayed due+290", ""},
    {"delayed", "fail_final", "!stale_lease", "delayed due+290", ""},
    {"delayed", "fail_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "delay", "!stale_lease", "delayed due+290", ""},
    {"delayed", "delay_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "release_held", "!stale_lease", "delayed due+290", ""},
    {"delayed", "release_held_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "record_step", "!stale_lease", "delayed due+290", ""},
    {"delayed", "record_step_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "checkpoint", "!stale_lease", "delayed due+290", ""},
    {"delayed", "checkpoint_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "tags_held", "!stale_lease", "delayed due+290", ""},
    {"delayed", "tags_held_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "cancel_held", "!stale_lease", "delayed due+290", ""},
    {"delayed", "cancel_held_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"delayed", "revoke", "!no_active_lease", "delayed due+290", ""},
    {"delayed", "revoke_other", "!no_active_lease", "delayed due+290", ""},
    {"delayed", "replay", "!not_terminal", "delayed due+290", ""},
    {"delayed", "priority", "done", "delayed due+290", "priority [priority_changed]"},
    {"delayed", "tags", "1 tag", "delayed due+290", "[tags_changed]"},
    {"delayed", "lane", "lane paused", "delayed due+290", "[lane_changed]"},
    {"delayed", "namespace", "namespace default", "delayed due+290", "[namespace_changed]"},
    {"delayed", "due", "done", "delayed due+290", ""},
    {"delayed", "grant_claim", "!not_eligible", "delayed due+290", ""},
    {"delayed", "grant_reclaim", "not reclaimable", "delayed due+290", ""},
    {"delayed", "redeem_claim", "!invalid_claim_grant", "delayed due+290", ""},
    {"delayed", "redeem_claim_other", "!invalid_claim_grant", "delayed due+290", ""},
    {"delayed", "redeem_reclaim", "no grant", "delayed due+290", ""},
    {"delayed", "redeem_reclaim_other", "no grant", "delayed due+290", ""},
    {"delayed", "release", "done", "delayed due+290", ""},
    {"delayed", "release_other", "done", "delayed due+290", ""},
    {"delayed", "remove", "!not_terminal", "delayed due+290", ""},
    {"delayed", "remove_older", "!not_terminal", "delayed due+290", ""},

    {"active", "create_same", "duplicate active", "active due+490", ""},
    {"active", "create_other", "!conflict", "active due+490", ""},
    {"active", "lease", "!not_active", "active due+490", ""},
    {"active", "renew", "until+500", "active due+490", ""},
    {"active", "renew_stale", "!stale_lease", "active due+490", ""},
    {"active", "progress", "done", "active due+490", ""},
    {"active", "progress_stale", "!stale_lease", "active due+490", ""},
    {"active", "complete", "done", "completed due+10000", "[completed]"},
    {"active", "complete_stale", "!stale_lease", "active due+490", ""},
    {"active", "fail", "retry #1+100: retries_left", "delayed due+100", "epoch+1 retry+1 [retry_scheduled]"},
    {"active", "fail_final", "failed: never", "failed due+10000", "epoch+1 [failed]"},
    {"active", "fail_stale", "!stale_lease", "active due+490", ""},
    {"active", "delay", "until+300", "delayed due+300", "epoch+1 [delayed]"},
    {"active", "delay_stale", "!stale_lease", "active due+490", ""},
    {"active", "release_held", "done", "resumable ready", "epoch+1 [released]"},
    {"active", "release_held_stale", "!stale_lease", "active due+490", ""},
    {"active", "record_step", "recorded+0", "active due+490", "[step_recorded]"},
    {"active", "record_step_stale", "!stale_lease", "active due+490", ""},
    {"active", "checkpoint", "done", "active due+490", ""},
    {"active", "checkpoint_stale", "!stale_lease", "active due+490", ""},
    {"active", "tags_held", "1 tag", "active due+490", "[tags_changed]"},
    {"active", "tags_held_stale", "!stale_lease", "active due+490", ""},
    {"active", "cancel_held", "cancelled", "cancelled due+10000", "epoch+1 [cancelled]"},
    {"active", "cancel_held_stale", "!stale_lease", "active due+490", ""},
    {"active", "cancel", "cancelled", "cancelled due+10000", "epoch+1 [cancelled]"},
    {"active", "revoke", "revoked, waiting", "waiting ready", "epoch+1 [lease_revoked]"},
    {"active", "revoke_other", "!stale_lease", "active due+490", ""},
    {"active", "replay", "!not_terminal", "active due+490", ""},
    {"active", "priority", "done", "active due+490", "priority [priority_changed]"},
    {"active", "tags", "1 tag", "active due+490", "[tags_changed]"},
    {"active", "lane", "lane paused", "active due+490", "[lane_changed]"},
    {"active", "namespace", "namespace default", "active due+490", "[namespace_changed]"},
    {"active", "due", "done", "active due+490", ""},
    {"active", "grant_claim", "!not_eligible", "active due+490", ""},
    {"active", "grant_reclaim", "not reclaimable", "active due+490", ""},
    {"active", "redeem_claim", "!invalid_claim_grant", "active due+490", ""},
    {"active", "redeem_claim_other", "!invalid_claim_grant", "active due+490", ""},
    {"active", "redeem_reclaim", "no grant", "active due+490", ""},
    {"active", "redeem_reclaim_other", "no grant", "active due+490", ""},
    {"active", "release", "done", "waiting ready", "epoch+1 [lease_revoked]"},
    {"active", "release_other", "done", "active due+490", ""},
    {"active", "remove", "!not_terminal", "active due+490", ""},
    {"active", "remove_older", "!not_terminal", "active due+490", ""},

    {"overdue", "create_same", "duplicate active", "active due+-10", ""},
    {"overdue", "create_other", "!conflict", "active due+-10", ""},
    {"overdue", "lease", "reclaimed reclaim #1", "active due+500",
     "epoch+2 attempt+1 reclaim+1 [lease_expired claimed]"},
    {"overdue", "renew", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "renew_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "progress", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "progress_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "complete", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "complete_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "fail", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "fail_final", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "fail_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "delay", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "delay_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "release_held", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "release_held_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "record_step", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "record_step_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "checkpoint", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "checkpoint_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "tags_held", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "tags_held_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "cancel_held", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "cancel_held_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "cancel", "cancelled", "cancelled due+10000", "epoch+1 [lease_expired cancelled]"},
    {"overdue", "revoke", "!no_active_lease", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "revoke_other", "!no_active_lease", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "replay", "!not_terminal", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "priority", "done", "waiting ready", "epoch+1 priority [lease_expired priority_changed]"},
    {"overdue", "tags", "1 tag", "waiting ready", "epoch+1 [lease_expired tags_changed]"},
    {"overdue", "lane", "lane paused", "active due+-10", "[lane_changed]"},
    {"overdue", "namespace", "namespace default", "active due+-10", "[namespace_changed]"},
    {"overdue", "due", "done", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "grant_claim", "claim grant+50", "waiting due+50", "epoch+1 grant+1 [lease_expired grant_issued]"},
    {"overdue", "grant_reclaim", "reclaim grant+50", "waiting due+50", "epoch+1 grant+1 [lease_expired grant_issued]"},
    {"overdue", "redeem_claim", "!invalid_claim_grant", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "redeem_claim_other", "!invalid_claim_grant", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "redeem_reclaim", "no grant", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "redeem_reclaim_other", "no grant", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "release", "done", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "release_other", "done", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "remove", "!not_terminal", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "remove_older", "!not_terminal", "waiting ready", "epoch+1 [lease_expired]"},

    {"lost_expired", "create_same", "duplicate waiting", "waiting lost", ""},
    {"lost_expired", "create_other", "!conflict", "waiting lost", ""},
    {"lost_expired", "lease", "!not_active", "waiting lost", ""},
    {"lost_expired", "renew", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "renew_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "progress", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "progress_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "complete", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "complete_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "fail", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "fail_final", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "fail_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "delay", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "delay_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "release_held", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "release_held_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "record_step", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "record_step_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "checkpoint", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "checkpoint_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "tags_held", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "tags_held_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "cancel_held", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "cancel_held_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"lost_expired", "revoke", "!no_active_lease", "waiting lost", ""},
    {"lost_expired", "revoke_other", "!no_active_lease", "waiting lost", ""},
    {"lost_expired", "replay", "!not_terminal", "waiting lost", ""},
    {"lost_expired", "priority", "done", "waiting lost", "priority [priority_changed]"},
    {"lost_expired", "tags", "1 tag", "waiting lost", "[tags_changed]"},
    {"lost_expired", "lane", "lane paused", "waiting lost", "[lane_changed]"},
    {"lost_expired", "namespace", "namespace default", "waiting lost", "[namespace_changed]"},
    {"lost_expired", "due", "done", "waiting lost", ""},
    {"lost_expired", "grant_claim", "!not_eligible", "waiting lost", ""},
    {"lost_expired", "grant_reclaim", "reclaim grant+50", "waiting due+50 lost", "grant+1 [grant_issued]"},
    {"lost_expired", "redeem_claim", "!invalid_claim_grant", "waiting lost", ""},
    {"lost_expired", "redeem_claim_other", "!invalid_claim_grant", "waiting lost", ""},
    {"lost_expired", "redeem_reclaim", "no grant", "waiting lost", ""},
    {"lost_expired", "redeem_reclaim_other", "no grant", "waiting lost", ""},
    {"lost_expired", "release", "done", "waiting lost", ""},
    {"lost_expired", "release_other", "done", "waiting lost", ""},
    {"lost_expired", "remove", "!not_terminal", "waiting lost", ""},
    {"lost_expired", "remove_older", "!not_terminal", "waiting lost", ""},

    {"lost_revoked", "create_same", "duplicate waiting", "waiting lost", ""},
    {"lost_revoked", "create_other", "!conflict", "waiting lost", ""},
    {"lost_revoked", "lease", "!not_active", "waiting lost", ""},
    {"lost_revoked", "renew", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "renew_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "progress", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "progress_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "complete", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "complete_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "fail", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "fail_final", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "fail_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "delay", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "delay_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "release_held", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "release_held_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "record_step", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "record_step_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "checkpoint", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "checkpoint_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "tags_held", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "tags_held_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "cancel_held", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "cancel_held_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"lost_revoked", "revoke", "!no_active_lease", "waiting lost", ""},
    {"lost_revoked", "revoke_other", "!no_active_lease", "waiting lost", ""},
    {"lost_revoked", "replay", "!not_terminal", "waiting lost", ""},
    {"lost_revoked", "priority", "done", "waiting lost", "priority [priority_changed]"},
    {"lost_revoked", "tags", "1 tag", "waiting lost", "[tags_changed]"},
    {"lost_revoked", "lane", "lane paused", "waiting lost", "[lane_changed]"},
    {"lost_revoked", "namespace", "namespace default", "waiting lost", "[namespace_changed]"},
    {"lost_revoked", "due", "done", "waiting lost", ""},
    {"lost_revoked", "grant_claim", "!not_eligible", "waiting lost", ""},
    {"lost_revoked", "grant_reclaim", "reclaim grant+50", "waiting due+50 lost", "grant+1 [grant_issued]"},
    {"lost_revoked", "redeem_claim", "!invalid_claim_grant", "waiting lost", ""},
    {"lost_revoked", "redeem_claim_other", "!invalid_claim_grant", "waiting lost", ""},
    {"lost_revoked", "redeem_reclaim", "no grant", "waiting lost", ""},
    {"lost_revoked", "redeem_reclaim_other", "no grant", "waiting lost", ""},
    {"lost_revoked", "release", "done", "waiting lost", ""},
    {"lost_revoked", "release_other", "done", "waiting lost", ""},
    {"lost_revoked", "remove", "!not_terminal", "waiting lost", ""},
    {"lost_revoked", "remove_older", "!not_terminal", "waiting lost", ""},

    {"backoff", "create_same", "duplicate delayed", "delayed due+90", ""},
    {"backoff", "create_other", "!conflict", "delayed due+90", ""},
    {"backoff", "lease", "!not_active", "delayed due+90", ""},
    {"backoff", "renew", "!stale_lease", "delayed due+90", ""},
    {"backoff", "renew_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "progress", "!stale_lease", "delayed due+90", ""},
    {"backoff", "progress_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "complete", "!stale_lease", "delayed due+90", ""},
    {"backoff", "complete_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "fail", "retry #1+90: retries_left", "delayed due+90", ""},
    {"backoff", "fail_final", "!stale_lease", "delayed due+90", ""},
    {"backoff", "fail_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "delay", "!stale_lease", "delayed due+90", ""},
    {"backoff", "delay_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "release_held", "!stale_lease", "delayed due+90", ""},
    {"backoff", "release_held_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "record_step", "!stale_lease", "delayed due+90", ""},
    {"backoff", "record_step_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "checkpoint", "!stale_lease", "delayed due+90", ""},
    {"backoff", "checkpoint_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "tags_held", "!stale_lease", "delayed due+90", ""},
    {"backoff", "tags_held_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "cancel_held", "!stale_lease", "delayed due+90", ""},
    {"backoff", "cancel_held_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"backoff", "revoke", "!no_active_lease", "delayed due+90", ""},
    {"backoff", "revoke_other", "!no_active_lease", "delayed due+90", ""},
    {"backoff", "replay", "!not_terminal", "delayed due+90", ""},
    {"backoff", "priority", "done", "delayed due+90", "priority [priority_changed]"},
    {"backoff", "tags", "1 tag", "delayed due+90", "[tags_changed]"},
    {"backoff", "lane", "lane paused", "delayed due+90", "[lane_changed]"},
    {"backoff", "namespace", "namespace default", "delayed due+90", "[namespace_changed]"},
    {"backoff", "due", "done", "delayed due+90", ""},
    {"backoff", "grant_claim", "!not_eligible", "delayed due+90", ""},
    {"backoff", "grant_reclaim", "not reclaimable", "delayed due+90", ""},
    {"backoff", "redeem_claim", "!invalid_claim_grant", "delayed due+90", ""},
    {"backoff", "redeem_claim_other", "!invalid_claim_grant", "delayed due+90", ""},
    {"backoff", "redeem_reclaim", "no grant", "delayed due+90", ""},
    {"backoff", "redeem_reclaim_other", "no grant", "delayed due+90", ""},
    {"backoff", "release", "done", "delayed due+90", ""},
    {"backoff", "release_other", "done", "delayed due+90", ""},
    {"backoff", "remove", "!not_terminal", "delayed due+90", ""},
    {"backoff", "remove_older", "!not_terminal", "delayed due+90", ""},

    {"waiting_retry", "create_same", "duplicate waiting", "waiting ready", ""},
    {"waiting_retry", "create_other", "!conflict", "waiting ready", ""},
    {"waiting_retry", "lease", "fresh retry #1", "active due+500", "epoch+1 attempt+1 [claimed]"},
    {"waiting_retry", "renew", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "renew_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "progress", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "progress_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "complete", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "complete_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "fail", "retry #1+-10: retries_left", "waiting ready", ""},
    {"waiting_retry", "fail_final", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "fail_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "delay", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "delay_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "release_held", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "release_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "record_step", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "record_step_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "checkpoint", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "checkpoint_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "tags_held", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "tags_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "cancel_held", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "cancel_held_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"waiting_retry", "revoke", "!no_active_lease", "waiting ready", ""},
    {"waiting_retry", "revoke_other", "!no_active_lease", "waiting ready", ""},
    {"waiting_retry", "replay", "!not_terminal", "waiting ready", ""},
    {"waiting_retry", "priority", "done", "waiting ready", "priority [priority_changed]"},
    {"waiting_retry", "tags", "1 tag", "waiting ready", "[tags_changed]"},
    {"waiting_retry", "lane", "lane paused", "waiting ready", "[lane_changed]"},
    {"waiting_retry", "namespace", "namespace default", "waiting ready", "[namespace_changed]"},
    {"waiting_retry", "due", "done", "waiting ready", ""},
    {"waiting_retry", "grant_claim", "claim grant+50", "waiting due+50", "grant+1 [grant_issued]"},
    {"waiting_retry", "grant_reclaim", "not reclaimable", "waiting ready", ""},
    {"waiting_retry", "redeem_claim", "!invalid_claim_grant", "waiting ready", ""},
    {"waiting_retry", "redeem_claim_other", "!invalid_claim_grant", "waiting ready", ""},
    {"waiting_retry", "redeem_reclaim", "no grant", "waiting ready", ""},
    {"waiting_retry", "redeem_reclaim_other", "no grant", "waiting ready", ""},
    {"waiting_retry", "release", "done", "waiting ready", ""},
    {"waiting_retry", "release_other", "done", "waiting ready", ""},
    {"waiting_retry", "remove", "!not_terminal", "waiting ready", ""},
    {"waiting_retry", "remove_older", "!not_terminal", "waiting ready", ""},

    {"reclaim_ready", "create_same", "duplicate waiting", "waiting ready", ""},
    {"reclaim_ready", "create_other", "!conflict", "waiting ready", ""},
    {"reclaim_ready", "lease", "reclaimed reclaim #1", "active due+500", "epoch+1 attempt+1 reclaim+1 [claimed]"},
    {"reclaim_ready", "renew", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "renew_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "progress", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "progress_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "complete", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "complete_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "fail", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "fail_final", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "fail_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "delay", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "delay_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "release_held", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "release_held_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "record_step", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "record_step_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "checkpoint", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "checkpoint_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "tags_held", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "tags_held_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "cancel_held", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "cancel_held_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"reclaim_ready", "revoke", "!no_active_lease", "waiting ready", ""},
    {"reclaim_ready", "revoke_other", "!no_active_lease", "waiting ready", ""},
    {"reclaim_ready", "replay", "!not_terminal", "waiting ready", ""},
    {"reclaim_ready", "priority", "done", "waiting ready", "priority [priority_changed]"},
    {"reclaim_ready", "tags", "1 tag", "waiting ready", "[tags_changed]"},
    {"reclaim_ready", "lane", "lane paused", "waiting ready", "[lane_changed]"},
    {"reclaim_ready", "namespace", "namespace default", "waiting ready", "[namespace_changed]"},
    {"reclaim_ready", "due", "done", "waiting ready", ""},
    {"reclaim_ready", "grant_claim", "claim grant+50", "waiting due+50", "grant+1 [grant_issued]"},
    {"reclaim_ready", "grant_reclaim", "reclaim grant+50", "waiting due+50", "grant+1 [grant_issued]"},
    {"reclaim_ready", "redeem_claim", "!invalid_claim_grant", "waiting ready", ""},
    {"reclaim_ready", "redeem_claim_other", "!invalid_claim_grant", "waiting ready", ""},
    {"reclaim_ready", "redeem_reclaim", "no grant", "waiting ready", ""},
    {"reclaim_ready", "redeem_reclaim_other", "no grant", "waiting ready", ""},
    {"reclaim_ready", "release", "done", "waiting ready", ""},
    {"reclaim_ready", "release_other", "done", "waiting ready", ""},
    {"reclaim_ready", "remove", "!not_terminal", "waiting ready", ""},
    {"reclaim_ready", "remove_older", "!not_terminal", "waiting ready", ""},

    {"reclaim_grace", "create_same", "duplicate delayed", "delayed due+190 lost", ""},
    {"reclaim_grace", "create_other", "!conflict", "delayed due+190 lost", ""},
    {"reclaim_grace", "lease", "!not_active", "delayed due+190 lost", ""},
    {"reclaim_grace", "renew", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "renew_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "progress", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "progress_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "complete", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "complete_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "fail", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "fail_final", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "fail_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "delay", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "delay_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "release_held", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "release_held_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "record_step", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "record_step_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "checkpoint", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "checkpoint_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "tags_held", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "tags_held_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "cancel_held", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "cancel_held_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"reclaim_grace", "revoke", "!no_active_lease", "delayed due+190 lost", ""},
    {"reclaim_grace", "revoke_other", "!no_active_lease", "delayed due+190 lost", ""},
    {"reclaim_grace", "replay", "!not_terminal", "delayed due+190 lost", ""},
    {"reclaim_grace", "priority", "done", "delayed due+190 lost", "priority [priority_changed]"},
    {"reclaim_grace", "tags", "1 tag", "delayed due+190 lost", "[tags_changed]"},
    {"reclaim_grace", "lane", "lane paused", "delayed due+190 lost", "[lane_changed]"},
    {"reclaim_grace", "namespace", "namespace default", "delayed due+190 lost", "[namespace_changed]"},
    {"reclaim_grace", "due", "done", "delayed due+190 lost", ""},
    {"reclaim_grace", "grant_claim", "!not_eligible", "delayed due+190 lost", ""},
    {"reclaim_grace", "grant_reclaim", "reclaim grant+50", "delayed due+50 lost", "grant+1 [grant_issued]"},
    {"reclaim_grace", "redeem_claim", "!invalid_claim_grant", "delayed due+190 lost", ""},
    {"reclaim_grace", "redeem_claim_other", "!invalid_claim_grant", "delayed due+190 lost", ""},
    {"reclaim_grace", "redeem_reclaim", "no grant", "delayed due+190 lost", ""},
    {"reclaim_grace", "redeem_reclaim_other", "no grant", "delayed due+190 lost", ""},
    {"reclaim_grace", "release", "done", "delayed due+190 lost", ""},
    {"reclaim_grace", "release_other", "done", "delayed due+190 lost", ""},
    {"reclaim_grace", "remove", "!not_terminal", "delayed due+190 lost", ""},
    {"reclaim_grace", "remove_older", "!not_terminal", "delayed due+190 lost", ""},

    {"worker_delayed", "create_same", "duplicate delayed", "delayed due+290", ""},
    {"worker_delayed", "create_other", "!conflict", "delayed due+290", ""},
    {"worker_delayed", "lease", "!not_active", "delayed due+290", ""},
    {"worker_delayed", "renew", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "renew_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "progress", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "progress_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "complete", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "complete_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "fail", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "fail_final", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "fail_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "delay", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "delay_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "release_held", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "release_held_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "record_step", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "record_step_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "checkpoint", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "checkpoint_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "tags_held", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "tags_held_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "cancel_held", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "cancel_held_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"worker_delayed", "revoke", "!no_active_lease", "delayed due+290", ""},
    {"worker_delayed", "revoke_other", "!no_active_lease", "delayed due+290", ""},
    {"worker_delayed", "replay", "!not_terminal", "delayed due+290", ""},
    {"worker_delayed", "priority", "done", "delayed due+290", "priority [priority_changed]"},
    {"worker_delayed", "tags", "1 tag", "delayed due+290", "[tags_changed]"},
    {"worker_delayed", "lane", "lane paused", "delayed due+290", "[lane_changed]"},
    {"worker_delayed", "namespace", "namespace default", "delayed due+290", "[namespace_changed]"},
    {"worker_delayed", "due", "done", "delayed due+290", ""},
    {"worker_delayed", "grant_claim", "!not_eligible", "delayed due+290", ""},
    {"worker_delayed", "grant_reclaim", "not reclaimable", "delayed due+290", ""},
    {"worker_delayed", "redeem_claim", "!invalid_claim_grant", "delayed due+290", ""},
    {"worker_delayed", "redeem_claim_other", "!invalid_claim_grant", "delayed due+290", ""},
    {"worker_delayed", "redeem_reclaim", "no grant", "delayed due+290", ""},
    {"worker_delayed", "redeem_reclaim_other", "no grant", "delayed due+290", ""},
    {"worker_delayed", "release", "done", "delayed due+290", ""},
    {"worker_delayed", "release_other", "done", "delayed due+290", ""},
    {"worker_delayed", "remove", "!not_terminal", "delayed due+290", ""},
    {"worker_delayed", "remove_older", "!not_terminal", "delayed due+290", ""},

    {"resumable", "create_same", "duplicate resumable", "resumable ready", ""},
    {"resumable", "create_other", "!conflict", "resumable ready", ""},
    {"resumable", "lease", "resumed initial #0", "active due+500", "epoch+1 [resumed]"},
    {"resumable", "renew", "!stale_lease", "resumable ready", ""},
    {"resumable", "renew_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "progress", "!stale_lease", "resumable ready", ""},
    {"resumable", "progress_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "complete", "!stale_lease", "resumable ready", ""},
    {"resumable", "complete_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "fail", "!stale_lease", "resumable ready", ""},
    {"resumable", "fail_final", "!stale_lease", "resumable ready", ""},
    {"resumable", "fail_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "delay", "!stale_lease", "resumable ready", ""},
    {"resumable", "delay_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "release_held", "!stale_lease", "resumable ready", ""},
    {"resumable", "release_held_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "record_step", "!stale_lease", "resumable ready", ""},
    {"resumable", "record_step_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "checkpoint", "!stale_lease", "resumable ready", ""},
    {"resumable", "checkpoint_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "tags_held", "!stale_lease", "resumable ready", ""},
    {"resumable", "tags_held_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "cancel_held", "!stale_lease", "resumable ready", ""},
    {"resumable", "cancel_held_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"resumable", "revoke", "!no_active_lease", "resumable ready", ""},
    {"resumable", "revoke_other", "!no_active_lease", "resumable ready", ""},
    {"resumable", "replay", "!not_terminal", "resumable ready", ""},
    {"resumable", "priority", "done", "resumable ready", "priority [priority_changed]"},
    {"resumable", "tags", "1 tag", "resumable ready", "[tags_changed]"},
    {"resumable", "lane", "lane paused", "resumable ready", "[lane_changed]"},
    {"resumable", "namespace", "namespace default", "resumable ready", "[namespace_changed]"},
    {"resumable", "due", "done", "resumable ready", ""},
    {"resumable", "grant_claim", "claim grant+50", "resumable due+50", "grant+1 [grant_issued]"},
    {"resumable", "grant_reclaim", "not reclaimable", "resumable ready", ""},
    {"resumable", "redeem_claim", "!invalid_claim_grant", "resumable ready", ""},
    {"resumable", "redeem_claim_other", "!invalid_claim_grant", "resumable ready", ""},
    {"resumable", "redeem_reclaim", "no grant", "resumable ready", ""},
    {"resumable", "redeem_reclaim_other", "no grant", "resumable ready", ""},
    {"resumable", "release", "done", "resumable ready", ""},
    {"resumable", "release_other", "done", "resumable ready", ""},
    {"resumable", "remove", "!not_terminal", "resumable ready", ""},
    {"resumable", "remove_older", "!not_terminal", "resumable ready", ""},

    {"completed", "create_same", "duplicate completed", "completed due+9990", ""},
    {"completed", "create_other", "!conflict", "completed due+9990", ""},
    {"completed", "lease", "!already_terminal", "completed due+9990", ""},
    {"completed", "renew", "!already_terminal", "completed due+9990", ""},
    {"completed", "renew_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "progress", "!already_terminal", "completed due+9990", ""},
    {"completed", "progress_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "complete", "done", "completed due+9990", ""},
    {"completed", "complete_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "fail", "!already_terminal", "completed due+9990", ""},
    {"completed", "fail_final", "!already_terminal", "completed due+9990", ""},
    {"completed", "fail_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "delay", "!already_terminal", "completed due+9990", ""},
    {"completed", "delay_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "release_held", "!already_terminal", "completed due+9990", ""},
    {"completed", "release_held_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "record_step", "!already_terminal", "completed due+9990", ""},
    {"completed", "record_step_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "checkpoint", "!already_terminal", "completed due+9990", ""},
    {"completed", "checkpoint_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "tags_held", "!already_terminal", "completed due+9990", ""},
    {"completed", "tags_held_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "cancel_held", "!already_terminal", "completed due+9990", ""},
    {"completed", "cancel_held_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "cancel", "!already_terminal", "completed due+9990", ""},
    {"completed", "revoke", "!already_terminal", "completed due+9990", ""},
    {"completed", "revoke_other", "!already_terminal", "completed due+9990", ""},
    {"completed", "replay", "replay 1, waiting", "waiting ready", "replay+1 [replayed]"},
    {"completed", "priority", "!already_terminal", "completed due+9990", ""},
    {"completed", "tags", "1 tag", "completed due+9990", "[tags_changed]"},
    {"completed", "lane", "lane paused", "completed due+9990", "[lane_changed]"},
    {"completed", "namespace", "namespace default", "completed due+9990", "[namespace_changed]"},
    {"completed", "due", "done", "completed due+9990", ""},
    {"completed", "grant_claim", "!already_terminal", "completed due+9990", ""},
    {"completed", "grant_reclaim", "not reclaimable", "completed due+9990", ""},
    {"completed", "redeem_claim", "!already_terminal", "completed due+9990", ""},
    {"completed", "redeem_claim_other", "!already_terminal", "completed due+9990", ""},
    {"completed", "redeem_reclaim", "not reclaimable", "completed due+9990", ""},
    {"completed", "redeem_reclaim_other", "not reclaimable", "completed due+9990", ""},
    {"completed", "release", "done", "completed due+9990", ""},
    {"completed", "release_other", "done", "completed due+9990", ""},
    {"completed", "remove", "kept", "completed due+9990", ""},
    {"completed", "remove_older", "removed", "absent", ""},

    {"failed", "create_same", "duplicate failed", "failed due+9990", ""},
    {"failed", "create_other", "!conflict", "failed due+9990", ""},
    {"failed", "lease", "!already_terminal", "failed due+9990", ""},
    {"failed", "renew", "!already_terminal", "failed due+9990", ""},
    {"failed", "renew_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "progress", "!already_terminal", "failed due+9990", ""},
    {"failed", "progress_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "complete", "!already_terminal", "failed due+9990", ""},
    {"failed", "complete_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "fail", "!already_terminal", "failed due+9990", ""},
    {"failed", "fail_final", "failed: never", "failed due+9990", ""},
    {"failed", "fail_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "delay", "!already_terminal", "failed due+9990", ""},
    {"failed", "delay_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "release_held", "!already_terminal", "failed due+9990", ""},
    {"failed", "release_held_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "record_step", "!already_terminal", "failed due+9990", ""},
    {"failed", "record_step_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "checkpoint", "!already_terminal", "failed due+9990", ""},
    {"failed", "checkpoint_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "tags_held", "!already_terminal", "failed due+9990", ""},
    {"failed", "tags_held_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "cancel_held", "!already_terminal", "failed due+9990", ""},
    {"failed", "cancel_held_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "cancel", "!already_terminal", "failed due+9990", ""},
    {"failed", "revoke", "!already_terminal", "failed due+9990", ""},
    {"failed", "revoke_other", "!already_terminal", "failed due+9990", ""},
    {"failed", "replay", "replay 1, waiting", "waiting ready", "replay+1 [replayed]"},
    {"failed", "priority", "!already_terminal", "failed due+9990", ""},
    {"failed", "tags", "1 tag", "failed due+9990", "[tags_changed]"},
    {"failed", "lane", "lane paused", "failed due+9990", "[lane_changed]"},
    {"failed", "namespace", "namespace default", "failed due+9990", "[namespace_changed]"},
    {"failed", "due", "done", "failed due+9990", ""},
    {"failed", "grant_claim", "!already_terminal", "failed due+9990", ""},
    {"failed", "grant_reclaim", "not reclaimable", "failed due+9990", ""},
    {"failed", "redeem_claim", "!already_terminal", "failed due+9990", ""},
    {"failed", "redeem_claim_other", "!already_terminal", "failed due+9990", ""},
    {"failed", "redeem_reclaim", "not reclaimable", "failed due+9990", ""},
    {"failed", "redeem_reclaim_other", "not reclaimable", "failed due+9990", ""},
    {"failed", "release", "done", "failed due+9990", ""},
    {"failed", "release_other", "done", "failed due+9990", ""},
    {"failed", "remove", "kept", "failed due+9990", ""},
    {"failed", "remove_older", "removed", "absent", ""},

    {"cancelled", "create_same", "duplicate cancelled", "cancelled due+9990", ""},
    {"cancelled", "create_other", "!conflict", "cancelled due+9990", ""},
    {"cancelled", "lease", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "renew", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "renew_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "progress", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "progress_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "complete", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "complete_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "fail", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "fail_final", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "fail_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "delay", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "delay_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "release_held", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "release_held_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "record_step", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "record_step_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "checkpoint", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "checkpoint_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "tags_held", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "tags_held_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "cancel_held", "already cancelled", "cancelled due+9990", ""},
    {"cancelled", "cancel_held_stale", "already cancelled", "cancelled due+9990", ""},
    {"cancelled", "cancel", "already cancelled", "cancelled due+9990", ""},
    {"cancelled", "revoke", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "revoke_other", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "replay", "replay 1, waiting", "waiting ready", "replay+1 [replayed]"},
    {"cancelled", "priority", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "tags", "1 tag", "cancelled due+9990", "[tags_changed]"},
    {"cancelled", "lane", "lane paused", "cancelled due+9990", "[lane_changed]"},
    {"cancelled", "namespace", "namespace default", "cancelled due+9990", "[namespace_changed]"},
    {"cancelled", "due", "done", "cancelled due+9990", ""},
    {"cancelled", "grant_claim", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "grant_reclaim", "not reclaimable", "cancelled due+9990", ""},
    {"cancelled", "redeem_claim", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "redeem_claim_other", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "redeem_reclaim", "not reclaimable", "cancelled due+9990", ""},
    {"cancelled", "redeem_reclaim_other", "not reclaimable", "cancelled due+9990", ""},
    {"cancelled", "release", "done", "cancelled due+9990", ""},
    {"cancelled", "release_other", "done", "cancelled due+9990", ""},
    {"cancelled", "remove", "kept", "cancelled due+9990", ""},
    {"cancelled", "remove_older", "removed", "absent", ""},

    {"expired", "create_same", "duplicate expired", "expired due+9990", ""},
    {"expired", "create_other", "!conflict", "expired due+9990", ""},
    {"expired", "lease", "!already_terminal", "expired due+9990", ""},
    {"expired", "renew", "!already_terminal", "expired due+9990", ""},
    {"expired", "renew_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "progress", "!already_terminal", "expired due+9990", ""},
    {"expired", "progress_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "complete", "!already_terminal", "expired due+9990", ""},
    {"expired", "complete_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "fail", "!already_terminal", "expired due+9990", ""},
    {"expired", "fail_final", "!already_terminal", "expired due+9990", ""},
    {"expired", "fail_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "delay", "!already_terminal", "expired due+9990", ""},
    {"expired", "delay_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "release_held", "!already_terminal", "expired due+9990", ""},
    {"expired", "release_held_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "record_step", "!already_terminal", "expired due+9990", ""},
    {"expired", "record_step_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "checkpoint", "!already_terminal", "expired due+9990", ""},
    {"expired", "checkpoint_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "tags_held", "!already_terminal", "expired due+9990", ""},
    {"expired", "tags_held_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "cancel_held", "!already_terminal", "expired due+9990", ""},
    {"expired", "cancel_held_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "cancel", "!already_terminal", "expired due+9990", ""},
    {"expired", "revoke", "!already_terminal", "expired due+9990", ""},
    {"expired", "revoke_other", "!already_terminal", "expired due+9990", ""},
    {"expired", "replay", "replay 1, waiting", "waiting ready due+50", "replay+1 [replayed]"},
    {"expired", "priority", "!already_terminal", "expired due+9990", ""},
    {"expired", "tags", "1 tag", "expired due+9990", "[tags_changed]"},
    {"expired", "lane", "lane paused", "expired due+9990", "[lane_changed]"},
    {"expired", "namespace", "namespace default", "expired due+9990", "[namespace_changed]"},
    {"expired", "due", "done", "expired due+9990", ""},
    {"expired", "grant_claim", "!already_terminal", "expired due+9990", ""},
    {"expired", "grant_reclaim", "not reclaimable", "expired due+9990", ""},
    {"expired", "redeem_claim", "!already_terminal", "expired due+9990", ""},
    {"expired", "redeem_claim_other", "!already_terminal", "expired due+9990", ""},
    {"expired", "redeem_reclaim", "not reclaimable", "expired due+9990", ""},
    {"expired", "redeem_reclaim_other", "not reclaimable", "expired due+9990", ""},
    {"expired", "release", "done", "expired due+9990", ""},
    {"expired", "release_other", "done", "expired due+9990", ""},
    {"expired", "remove", "kept", "expired due+9990", ""},
    {"expired", "remove_older", "removed", "absent", ""},

    {"replayed", "create_same", "duplicate waiting", "waiting ready", ""},
    {"replayed", "create_other", "!conflict", "waiting ready", ""},
    {"replayed", "lease", "fresh replay #1", "active due+500", "epoch+1 attempt+1 [claimed]"},
    {"replayed", "renew", "!stale_lease", "waiting ready", ""},
    {"replayed", "renew_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "progress", "!stale_lease", "waiting ready", ""},
    {"replayed", "progress_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "complete", "done", "waiting ready", ""},
    {"replayed", "complete_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "fail", "!stale_lease", "waiting ready", ""},
    {"replayed", "fail_final", "!stale_lease", "waiting ready", ""},
    {"replayed", "fail_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "delay", "!stale_lease", "waiting ready", ""},
    {"replayed", "delay_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "release_held", "!stale_lease", "waiting ready", ""},
    {"replayed", "release_held_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "record_step", "!stale_lease", "waiting ready", ""},
    {"replayed", "record_step_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "checkpoint", "!stale_lease", "waiting ready", ""},
    {"replayed", "checkpoint_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "tags_held", "!stale_lease", "waiting ready", ""},
    {"replayed", "tags_held_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "cancel_held", "!stale_lease", "waiting ready", ""},
    {"replayed", "cancel_held_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"replayed", "revoke", "!no_active_lease", "waiting ready", ""},
    {"replayed", "revoke_other", "!no_active_lease", "waiting ready", ""},
    {"replayed", "replay", "!not_terminal", "waiting ready", ""},
    {"replayed", "priority", "done", "waiting ready", "priority [priority_changed]"},
    {"replayed", "tags", "1 tag", "waiting ready", "[tags_changed]"},
    {"replayed", "lane", "lane paused", "waiting ready", "[lane_changed]"},
    {"replayed", "namespace", "namespace default", "waiting ready", "[namespace_changed]"},
    {"replayed", "due", "done", "waiting ready", ""},
    {"replayed", "grant_claim", "claim grant+50", "waiting due+50", "grant+1 [grant_issued]"},
    {"replayed", "grant_reclaim", "not reclaimable", "waiting ready", ""},
    {"replayed", "redeem_claim", "!invalid_claim_grant", "waiting ready", ""},
    {"replayed", "redeem_claim_other", "!invalid_claim_grant", "waiting ready", ""},
    {"replayed", "redeem_reclaim", "no grant", "waiting ready", ""},
    {"replayed", "redeem_reclaim_other", "no grant", "waiting ready", ""},
    {"replayed", "release", "done", "waiting ready", ""},
    {"replayed", "release_other", "done", "waiting ready", ""},
    {"replayed", "remove", "!not_terminal", "waiting ready", ""},
    {"replayed", "remove_older", "!not_terminal", "waiting ready", ""},

    {"claim_granted", "create_same", "duplicate waiting", "waiting due+40", ""},
    {"claim_granted", "create_other", "!conflict", "waiting due+40", ""},
    {"claim_granted", "lease", "!not_active", "waiting due+40", ""},
    {"claim_granted", "renew", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "renew_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "progress", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "progress_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "complete", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "complete_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "fail", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "fail_final", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "fail_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "delay", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "delay_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "release_held", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "release_held_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "record_step", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "record_step_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "checkpoint", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "checkpoint_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "tags_held", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "tags_held_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "cancel_held", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "cancel_held_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "cancel", "cancelled", "cancelled due+10000", "grant=0 [cancelled]"},
    {"claim_granted", "revoke", "!no_active_lease", "waiting due+40", ""},
    {"claim_granted", "revoke_other", "!no_active_lease", "waiting due+40", ""},
    {"claim_granted", "replay", "!not_terminal", "waiting due+40", ""},
    {"claim_granted", "priority", "done", "waiting due+40", "priority [priority_changed]"},
    {"claim_granted", "tags", "1 tag", "waiting due+40", "[tags_changed]"},
    {"claim_granted", "lane", "lane paused", "waiting due+40", "[lane_changed]"},
    {"claim_granted", "namespace", "namespace default", "waiting due+40", "[namespace_changed]"},
    {"claim_granted", "due", "done", "waiting due+40", ""},
    {"claim_granted", "grant_claim", "!grant_already_exists", "waiting due+40", ""},
    {"claim_granted", "grant_reclaim", "not reclaimable", "waiting due+40", ""},
    {"claim_granted", "redeem_claim", "fresh initial #0", "active due+500", "epoch+1 attempt+1 grant=0 [claimed]"},
    {"claim_granted", "redeem_claim_other", "!invalid_claim_grant", "waiting due+40", ""},
    {"claim_granted", "redeem_reclaim", "no grant", "waiting due+40", ""},
    {"claim_granted", "redeem_reclaim_other", "no grant", "waiting due+40", ""},
    {"claim_granted", "release", "done", "waiting due+40", ""},
    {"claim_granted", "release_other", "done", "waiting due+40", ""},
    {"claim_granted", "remove", "!not_terminal", "waiting due+40", ""},
    {"claim_granted", "remove_older", "!not_terminal", "waiting due+40", ""},

    {"claim_grant_over", "create_same", "duplicate waiting", "waiting due+-10", ""},
    {"claim_grant_over", "create_other", "!conflict", "waiting due+-10", ""},
    {"claim_grant_over", "lease", "fresh initial #0", "active due+500",
     "epoch+1 attempt+1 grant=0 [grant_expired claimed]"},
    {"claim_grant_over", "renew", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "renew_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "progress", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "progress_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "complete", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "complete_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "fail", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "fail_final", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "fail_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "delay", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "delay_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "release_held", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "release_held_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "record_step", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "record_step_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "checkpoint", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "checkpoint_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "tags_held", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "tags_held_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "cancel_held", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "cancel_held_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "cancel", "cancelled", "cancelled due+10000", "grant=0 [grant_expired cancelled]"},
    {"claim_grant_over", "revoke", "!no_active_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "revoke_other", "!no_active_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "replay", "!not_terminal", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "priority", "done", "waiting ready", "priority grant=0 [grant_expired priority_changed]"},
    {"claim_grant_over", "tags", "1 tag", "waiting ready", "grant=0 [grant_expired tags_changed]"},
    {"claim_grant_over", "lane", "lane paused", "waiting due+-10", "[lane_changed]"},
    {"claim_grant_over", "namespace", "namespace default", "waiting due+-10", "[namespace_changed]"},
    {"claim_grant_over", "due", "done", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "grant_claim", "claim grant+50", "waiting due+50", "[grant_expired grant_issued]"},
    {"claim_grant_over", "grant_reclaim", "not reclaimable", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "redeem_claim", "!claim_grant_expired", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "redeem_claim_other", "!claim_grant_expired", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "redeem_reclaim", "no grant", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "redeem_reclaim_other", "no grant", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "release", "done", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "release_other", "done", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "remove", "!not_terminal", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "remove_older", "!not_terminal", "waiting ready", "grant=0 [grant_expired]"},

    {"reclaim_granted_ready", "create_same", "duplicate waiting", "waiting due+40", ""},
    {"reclaim_granted_ready", "create_other", "!conflict", "waiting due+40", ""},
    {"reclaim_granted_ready", "lease", "!not_active", "waiting due+40", ""},
    {"reclaim_granted_ready", "renew", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "renew_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "progress", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "progress_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "complete", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "complete_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "fail", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "fail_final", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "fail_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "delay", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "delay_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "release_held", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "release_held_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "record_step", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "record_step_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "checkpoint", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "checkpoint_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "tags_held", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "tags_held_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "cancel_held", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "cancel_held_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "cancel", "cancelled", "cancelled due+10000", "grant=0 [cancelled]"},
    {"reclaim_granted_ready", "revoke", "!no_active_lease", "waiting due+40", ""},
    {"reclaim_granted_ready", "revoke_other", "!no_active_lease", "waiting due+40", ""},
    {"reclaim_granted_ready", "replay", "!not_terminal", "waiting due+40", ""},
    {"reclaim_granted_ready", "priority", "done", "waiting due+40", "priority [priority_changed]"},
    {"reclaim_granted_ready", "tags", "1 tag", "waiting due+40", "[tags_changed]"},
    {"reclaim_granted_ready", "lane", "lane paused", "waiting due+40", "[lane_changed]"},
    {"reclaim_granted_ready", "namespace", "namespace default", "waiting due+40", "[namespace_changed]"},
    {"reclaim_granted_ready", "due", "done", "waiting due+40", ""},
    {"reclaim_granted_ready", "grant_claim", "!grant_already_exists", "waiting due+40", ""},
    {"reclaim_granted_ready", "grant_reclaim", "!grant_already_exists", "waiting due+40", ""},
    {"reclaim_granted_ready", "redeem_claim", "!invalid_claim_grant", "waiting due+40", ""},
    {"reclaim_granted_ready", "redeem_claim_other", "!invalid_claim_grant", "waiting due+40", ""},
    {"reclaim_granted_ready", "redeem_reclaim", "reclaimed reclaim #1", "active due+500",
     "epoch+1 attempt+1 reclaim+1 grant=0 [lease_reclaimed]"},
    {"reclaim_granted_ready", "redeem_reclaim_other", "no grant", "waiting due+40", ""},
    {"reclaim_granted_ready", "release", "done", "waiting due+40", ""},
    {"reclaim_granted_ready", "release_other", "done", "waiting due+40", ""},
    {"reclaim_granted_ready", "remove", "!not_terminal", "waiting due+40", ""},
    {"reclaim_granted_ready", "remove_older", "!not_terminal", "waiting due+40", ""},

    {"reclaim_granted_grace", "create_same", "duplicate delayed", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "create_other", "!conflict", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "lease", "!not_active", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "renew", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "renew_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "progress", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "progress_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "complete", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "complete_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "fail", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "fail_final", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "fail_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "delay", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "delay_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "release_held", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "release_held_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "record_step", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "record_step_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "checkpoint", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "checkpoint_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "tags_held", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "tags_held_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "cancel_held", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "cancel_held_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "cancel", "cancelled", "cancelled due+10000", "grant=0 [cancelled]"},
    {"reclaim_granted_grace", "revoke", "!no_active_lease", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "revoke_other", "!no_active_lease", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "replay", "!not_terminal", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "priority", "done", "delayed due+40 lost", "priority [priority_changed]"},
    {"reclaim_granted_grace", "tags", "1 tag", "delayed due+40 lost", "[tags_changed]"},
    {"reclaim_granted_grace", "lane", "lane paused", "delayed due+40 lost", "[lane_changed]"},
    {"reclaim_granted_grace", "namespace", "namespace default", "delayed due+40 lost", "[namespace_changed]"},
    {"reclaim_granted_grace", "due", "done", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "grant_claim", "!grant_already_exists", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "grant_reclaim", "!grant_already_exists", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "redeem_claim", "!invalid_claim_grant", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "redeem_claim_other", "!invalid_claim_grant", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "redeem_reclaim", "reclaimed reclaim #1", "active due+500",
     "epoch+1 attempt+1 reclaim+1 grant=0 [lease_reclaimed]"},
    {"reclaim_granted_grace", "redeem_reclaim_other", "no grant", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "release", "done", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "release_other", "done", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "remove", "!not_terminal", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "remove_older", "!not_terminal", "delayed due+40 lost", ""},

    {"reclaim_granted_manual", "create_same", "duplicate waiting", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "create_other", "!conflict", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "lease", "!not_active", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "renew", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "renew_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "progress", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "progress_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "complete", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "complete_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "fail", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "fail_final", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "fail_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "delay", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "delay_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "release_held", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "release_held_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "record_step", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "record_step_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "checkpoint", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "checkpoint_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "tags_held", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "tags_held_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "cancel_held", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "cancel_held_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "cancel", "cancelled", "cancelled due+10000", "grant=0 [cancelled]"},
    {"reclaim_granted_manual", "revoke", "!no_active_lease", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "revoke_other", "!no_active_lease", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "replay", "!not_terminal", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "priority", "done", "waiting due+40 lost", "priority [priority_changed]"},
    {"reclaim_granted_manual", "tags", "1 tag", "waiting due+40 lost", "[tags_changed]"},
    {"reclaim_granted_manual", "lane", "lane paused", "waiting due+40 lost", "[lane_changed]"},
    {"reclaim_granted_manual", "namespace", "namespace default", "waiting due+40 lost", "[namespace_changed]"},
    {"reclaim_granted_manual", "due", "done", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "grant_claim", "!grant_already_exists", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "grant_reclaim", "!grant_already_exists", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "redeem_claim", "!invalid_claim_grant", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "redeem_claim_other", "!invalid_claim_grant", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "redeem_reclaim", "reclaimed reclaim #1", "active due+500",
     "epoch+1 attempt+1 reclaim+1 grant=0 [lease_reclaimed]"},
    {"reclaim_granted_manual", "redeem_reclaim_other", "no grant", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "release", "done", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "release_other", "done", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "remove", "!not_terminal", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "remove_older", "!not_terminal", "waiting due+40 lost", ""},

    {"capped", "create_same", "duplicate failed", "failed due+9990", ""},
    {"capped", "create_other", "!conflict", "failed due+9990", ""},
    {"capped", "lease", "!already_terminal", "failed due+9990", ""},
    {"capped", "renew", "!already_terminal", "failed due+9990", ""},
    {"capped", "renew_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "progress", "!already_terminal", "failed due+9990", ""},
    {"capped", "progress_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "complete", "!already_terminal", "failed due+9990", ""},
    {"capped", "complete_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "fail", "!already_terminal", "failed due+9990", ""},
    {"capped", "fail_final", "!already_terminal", "failed due+9990", ""},
    {"capped", "fail_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "delay", "!already_terminal", "failed due+9990", ""},
    {"capped", "delay_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "release_held", "!already_terminal", "failed due+9990", ""},
    {"capped", "release_held_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "record_step", "!already_terminal", "failed due+9990", ""},
    {"capped", "record_step_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "checkpoint", "!already_terminal", "failed due+9990", ""},
    {"capped", "checkpoint_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "tags_held", "!already_terminal", "failed due+9990", ""},
    {"capped", "tags_held_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "cancel_held", "!already_terminal", "failed due+9990", ""},
    {"capped", "cancel_held_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "cancel", "!already_terminal", "failed due+9990", ""},
    {"capped", "revoke", "!already_terminal", "failed due+9990", ""},
    {"capped", "revoke_other", "!already_terminal", "failed due+9990", ""},
    {"capped", "replay", "replay 1, waiting", "waiting ready", "replay+1 [replayed]"},
    {"capped", "priority", "!already_terminal", "failed due+9990", ""},
    {"capped", "tags", "1 tag", "failed due+9990", "[tags_changed]"},
    {"capped", "lane", "lane paused", "failed due+9990", "[lane_changed]"},
    {"capped", "namespace", "namespace default", "failed due+9990", "[namespace_changed]"},
    {"capped", "due", "done", "failed due+9990", ""},
    {"capped", "grant_claim", "!already_terminal", "failed due+9990", ""},
    {"capped", "grant_reclaim", "cap 0", "failed due+9990", ""},
    {"capped", "redeem_claim", "!already_terminal", "failed due+9990", ""},
    {"capped", "redeem_claim_other", "!already_terminal", "failed due+9990", ""},
    {"capped", "redeem_reclaim", "cap 0", "failed due+9990", ""},
    {"capped", "redeem_reclaim_other", "cap 0", "failed due+9990", ""},
    {"capped", "release", "done", "failed due+9990", ""},
    {"capped", "release_other", "done", "failed due+9990", ""},
    {"capped", "remove", "kept", "failed due+9990", ""},
    {"capped", "remove_older", "removed", "absent", ""},

    // ---- Waits and signals.
    {"absent", "suspend", "!not_found", "absent", ""},
    {"absent", "suspend_stale", "!not_found", "absent", ""},
    {"absent", "open_waitpoint", "!not_found", "absent", ""},
    {"absent", "open_waitpoint_stale", "!not_found", "absent", ""},
    {"absent", "signal", "!not_found", "absent", ""},
    {"absent", "signal_elsewhere", "!not_found", "absent", ""},
    {"absent", "signal_by_token", "!invalid_token", "absent", ""},
    {"absent", "signal_by_old_token", "!invalid_token", "absent", ""},
    {"absent", "decide", "!not_found", "absent", ""},
    {"absent", "resume", "!not_found", "absent", ""},
    {"absent", "close_waitpoint", "!not_found", "absent", ""},
    {"absent", "reissue_token", "!not_found", "absent", ""},
    {"waiting", "suspend", "!stale_lease", "waiting ready", ""},
    {"waiting", "suspend_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "open_waitpoint", "!stale_lease", "waiting ready", ""},
    {"waiting", "open_waitpoint_stale", "!stale_lease", "waiting ready", ""},
    {"waiting", "signal", "kept", "waiting ready", "[signal_delivered]"},
    {"waiting", "signal_elsewhere", "kept", "waiting ready", "[signal_delivered]"},
    {"waiting", "signal_by_token", "!waitpoint_closed", "waiting ready", ""},
    {"waiting", "signal_by_old_token", "!invalid_token", "waiting ready", ""},
    {"waiting", "decide", "!waitpoint_closed", "waiting ready", ""},
    {"waiting", "resume", "!conflict", "waiting ready", ""},
    {"waiting", "close_waitpoint", "!not_found", "waiting ready", ""},
    {"waiting", "reissue_token", "!not_found", "waiting ready", ""},
    {"delayed", "suspend", "!stale_lease", "delayed due+290", ""},
    {"delayed", "suspend_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "open_waitpoint", "!stale_lease", "delayed due+290", ""},
    {"delayed", "open_waitpoint_stale", "!stale_lease", "delayed due+290", ""},
    {"delayed", "signal", "kept", "delayed due+290", "[signal_delivered]"},
    {"delayed", "signal_elsewhere", "kept", "delayed due+290", "[signal_delivered]"},
    {"delayed", "signal_by_token", "!waitpoint_closed", "delayed due+290", ""},
    {"delayed", "signal_by_old_token", "!invalid_token", "delayed due+290", ""},
    {"delayed", "decide", "!waitpoint_closed", "delayed due+290", ""},
    {"delayed", "resume", "!conflict", "delayed due+290", ""},
    {"delayed", "close_waitpoint", "!not_found", "delayed due+290", ""},
    {"delayed", "reissue_token", "!not_found", "delayed due+290", ""},
    {"active", "suspend", "suspended wait 1", "suspended due+300", "epoch+1 [suspended]"},
    {"active", "suspend_stale", "!stale_lease", "active due+490", ""},
    {"active", "open_waitpoint", "token of waitpoint 1", "active due+490", "[waitpoint_opened]"},
    {"active", "open_waitpoint_stale", "!stale_lease", "active due+490", ""},
    {"active", "signal", "kept", "active due+490", "[signal_delivered]"},
    {"active", "signal_elsewhere", "kept", "active due+490", "[signal_delivered]"},
    {"active", "signal_by_token", "!waitpoint_closed", "active due+490", ""},
    {"active", "signal_by_old_token", "!invalid_token", "active due+490", ""},
    {"active", "decide", "!waitpoint_closed", "active due+490", ""},
    {"active", "resume", "!conflict", "active due+490", ""},
    {"active", "close_waitpoint", "!not_found", "active due+490", ""},
    {"active", "reissue_token", "!not_found", "active due+490", ""},
    {"overdue", "suspend", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "suspend_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "open_waitpoint", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "open_waitpoint_stale", "!lease_expired", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "signal", "kept", "waiting ready", "epoch+1 [lease_expired signal_delivered]"},
    {"overdue", "signal_elsewhere", "kept", "waiting ready", "epoch+1 [lease_expired signal_delivered]"},
    {"overdue", "signal_by_token", "!waitpoint_closed", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "signal_by_old_token", "!invalid_token", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "decide", "!waitpoint_closed", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "resume", "!conflict", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "close_waitpoint", "!not_found", "waiting ready", "epoch+1 [lease_expired]"},
    {"overdue", "reissue_token", "!not_found", "waiting ready", "epoch+1 [lease_expired]"},
    {"lost_expired", "suspend", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "suspend_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "open_waitpoint", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "open_waitpoint_stale", "!lease_expired", "waiting lost", ""},
    {"lost_expired", "signal", "kept", "waiting lost", "[signal_delivered]"},
    {"lost_expired", "signal_elsewhere", "kept", "waiting lost", "[signal_delivered]"},
    {"lost_expired", "signal_by_token", "!waitpoint_closed", "waiting lost", ""},
    {"lost_expired", "signal_by_old_token", "!invalid_token", "waiting lost", ""},
    {"lost_expired", "decide", "!waitpoint_closed", "waiting lost", ""},
    {"lost_expired", "resume", "!conflict", "waiting lost", ""},
    {"lost_expired", "close_waitpoint", "!not_found", "waiting lost", ""},
    {"lost_expired", "reissue_token", "!not_found", "waiting lost", ""},
    {"lost_revoked", "suspend", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "suspend_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "open_waitpoint", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "open_waitpoint_stale", "!lease_revoked", "waiting lost", ""},
    {"lost_revoked", "signal", "kept", "waiting lost", "[signal_delivered]"},
    {"lost_revoked", "signal_elsewhere", "kept", "waiting lost", "[signal_delivered]"},
    {"lost_revoked", "signal_by_token", "!waitpoint_closed", "waiting lost", ""},
    {"lost_revoked", "signal_by_old_token", "!invalid_token", "waiting lost", ""},
    {"lost_revoked", "decide", "!waitpoint_closed", "waiting lost", ""},
    {"lost_revoked", "resume", "!conflict", "waiting lost", ""},
    {"lost_revoked", "close_waitpoint", "!not_found", "waiting lost", ""},
    {"lost_revoked", "reissue_token", "!not_found", "waiting lost", ""},
    {"backoff", "suspend", "!stale_lease", "delayed due+90", ""},
    {"backoff", "suspend_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "open_waitpoint", "!stale_lease", "delayed due+90", ""},
    {"backoff", "open_waitpoint_stale", "!stale_lease", "delayed due+90", ""},
    {"backoff", "signal", "kept", "delayed due+90", "[signal_delivered]"},
    {"backoff", "signal_elsewhere", "kept", "delayed due+90", "[signal_delivered]"},
    {"backoff", "signal_by_token", "!waitpoint_closed", "delayed due+90", ""},
    {"backoff", "signal_by_old_token", "!invalid_token", "delayed due+90", ""},
    {"backoff", "decide", "!waitpoint_closed", "delayed due+90", ""},
    {"backoff", "resume", "!conflict", "delayed due+90", ""},
    {"backoff", "close_waitpoint", "!not_found", "delayed due+90", ""},
    {"backoff", "reissue_token", "!not_found", "delayed due+90", ""},
    {"waiting_retry", "suspend", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "suspend_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "open_waitpoint", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "open_waitpoint_stale", "!stale_lease", "waiting ready", ""},
    {"waiting_retry", "signal", "kept", "waiting ready", "[signal_delivered]"},
    {"waiting_retry", "signal_elsewhere", "kept", "waiting ready", "[signal_delivered]"},
    {"waiting_retry", "signal_by_token", "!waitpoint_closed", "waiting ready", ""},
    {"waiting_retry", "signal_by_old_token", "!invalid_token", "waiting ready", ""},
    {"waiting_retry", "decide", "!waitpoint_closed", "waiting ready", ""},
    {"waiting_retry", "resume", "!conflict", "waiting ready", ""},
    {"waiting_retry", "close_waitpoint", "!not_found", "waiting ready", ""},
    {"waiting_retry", "reissue_token", "!not_found", "waiting ready", ""},
    {"reclaim_ready", "suspend", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "suspend_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "open_waitpoint", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "open_waitpoint_stale", "!lease_expired", "waiting ready", ""},
    {"reclaim_ready", "signal", "kept", "waiting ready", "[signal_delivered]"},
    {"reclaim_ready", "signal_elsewhere", "kept", "waiting ready", "[signal_delivered]"},
    {"reclaim_ready", "signal_by_token", "!waitpoint_closed", "waiting ready", ""},
    {"reclaim_ready", "signal_by_old_token", "!invalid_token", "waiting ready", ""},
    {"reclaim_ready", "decide", "!waitpoint_closed", "waiting ready", ""},
    {"reclaim_ready", "resume", "!conflict", "waiting ready", ""},
    {"reclaim_ready", "close_waitpoint", "!not_found", "waiting ready", ""},
    {"reclaim_ready", "reissue_token", "!not_found", "waiting ready", ""},
    {"reclaim_grace", "suspend", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "suspend_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "open_waitpoint", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "open_waitpoint_stale", "!lease_revoked", "delayed due+190 lost", ""},
    {"reclaim_grace", "signal", "kept", "delayed due+190 lost", "[signal_delivered]"},
    {"reclaim_grace", "signal_elsewhere", "kept", "delayed due+190 lost", "[signal_delivered]"},
    {"reclaim_grace", "signal_by_token", "!waitpoint_closed", "delayed due+190 lost", ""},
    {"reclaim_grace", "signal_by_old_token", "!invalid_token", "delayed due+190 lost", ""},
    {"reclaim_grace", "decide", "!waitpoint_closed", "delayed due+190 lost", ""},
    {"reclaim_grace", "resume", "!conflict", "delayed due+190 lost", ""},
    {"reclaim_grace", "close_waitpoint", "!not_found", "delayed due+190 lost", ""},
    {"reclaim_grace", "reissue_token", "!not_found", "delayed due+190 lost", ""},
    {"worker_delayed", "suspend", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "suspend_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "open_waitpoint", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "open_waitpoint_stale", "!stale_lease", "delayed due+290", ""},
    {"worker_delayed", "signal", "kept", "delayed due+290", "[signal_delivered]"},
    {"worker_delayed", "signal_elsewhere", "kept", "delayed due+290", "[signal_delivered]"},
    {"worker_delayed", "signal_by_token", "!waitpoint_closed", "delayed due+290", ""},
    {"worker_delayed", "signal_by_old_token", "!invalid_token", "delayed due+290", ""},
    {"worker_delayed", "decide", "!waitpoint_closed", "delayed due+290", ""},
    {"worker_delayed", "resume", "!conflict", "delayed due+290", ""},
    {"worker_delayed", "close_waitpoint", "!not_found", "delayed due+290", ""},
    {"worker_delayed", "reissue_token", "!not_found", "delayed due+290", ""},
    {"resumable", "suspend", "!stale_lease", "resumable ready", ""},
    {"resumable", "suspend_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "open_waitpoint", "!stale_lease", "resumable ready", ""},
    {"resumable", "open_waitpoint_stale", "!stale_lease", "resumable ready", ""},
    {"resumable", "signal", "kept", "resumable ready", "[signal_delivered]"},
    {"resumable", "signal_elsewhere", "kept", "resumable ready", "[signal_delivered]"},
    {"resumable", "signal_by_token", "!waitpoint_closed", "resumable ready", ""},
    {"resumable", "signal_by_old_token", "!invalid_token", "resumable ready", ""},
    {"resumable", "decide", "!waitpoint_closed", "resumable ready", ""},
    {"resumable", "resume", "!conflict", "resumable ready", ""},
    {"resumable", "close_waitpoint", "!not_found", "resumable ready", ""},
    {"resumable", "reissue_token", "!not_found", "resumable ready", ""},
    {"completed", "suspend", "!already_terminal", "completed due+9990", ""},
    {"completed", "suspend_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "open_waitpoint", "!already_terminal", "completed due+9990", ""},
    {"completed", "open_waitpoint_stale", "!already_terminal", "completed due+9990", ""},
    {"completed", "signal", "!already_terminal", "completed due+9990", ""},
    {"completed", "signal_elsewhere", "!already_terminal", "completed due+9990", ""},
    {"completed", "signal_by_token", "!already_terminal", "completed due+9990", ""},
    {"completed", "signal_by_old_token", "!invalid_token", "completed due+9990", ""},
    {"completed", "decide", "!already_terminal", "completed due+9990", ""},
    {"completed", "resume", "!already_terminal", "completed due+9990", ""},
    {"completed", "close_waitpoint", "!already_terminal", "completed due+9990", ""},
    {"completed", "reissue_token", "!already_terminal", "completed due+9990", ""},
    {"failed", "suspend", "!already_terminal", "failed due+9990", ""},
    {"failed", "suspend_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "open_waitpoint", "!already_terminal", "failed due+9990", ""},
    {"failed", "open_waitpoint_stale", "!already_terminal", "failed due+9990", ""},
    {"failed", "signal", "!already_terminal", "failed due+9990", ""},
    {"failed", "signal_elsewhere", "!already_terminal", "failed due+9990", ""},
    {"failed", "signal_by_token", "!already_terminal", "failed due+9990", ""},
    {"failed", "signal_by_old_token", "!invalid_token", "failed due+9990", ""},
    {"failed", "decide", "!already_terminal", "failed due+9990", ""},
    {"failed", "resume", "!already_terminal", "failed due+9990", ""},
    {"failed", "close_waitpoint", "!already_terminal", "failed due+9990", ""},
    {"failed", "reissue_token", "!already_terminal", "failed due+9990", ""},
    {"cancelled", "suspend", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "suspend_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "open_waitpoint", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "open_waitpoint_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "signal", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "signal_elsewhere", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "signal_by_token", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "signal_by_old_token", "!invalid_token", "cancelled due+9990", ""},
    {"cancelled", "decide", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "resume", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "close_waitpoint", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "reissue_token", "!already_terminal", "cancelled due+9990", ""},
    {"expired", "suspend", "!already_terminal", "expired due+9990", ""},
    {"expired", "suspend_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "open_waitpoint", "!already_terminal", "expired due+9990", ""},
    {"expired", "open_waitpoint_stale", "!already_terminal", "expired due+9990", ""},
    {"expired", "signal", "!already_terminal", "expired due+9990", ""},
    {"expired", "signal_elsewhere", "!already_terminal", "expired due+9990", ""},
    {"expired", "signal_by_token", "!already_terminal", "expired due+9990", ""},
    {"expired", "signal_by_old_token", "!invalid_token", "expired due+9990", ""},
    {"expired", "decide", "!already_terminal", "expired due+9990", ""},
    {"expired", "resume", "!already_terminal", "expired due+9990", ""},
    {"expired", "close_waitpoint", "!already_terminal", "expired due+9990", ""},
    {"expired", "reissue_token", "!already_terminal", "expired due+9990", ""},
    {"replayed", "suspend", "!stale_lease", "waiting ready", ""},
    {"replayed", "suspend_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "open_waitpoint", "!stale_lease", "waiting ready", ""},
    {"replayed", "open_waitpoint_stale", "!stale_lease", "waiting ready", ""},
    {"replayed", "signal", "kept", "waiting ready", "[signal_delivered]"},
    {"replayed", "signal_elsewhere", "kept", "waiting ready", "[signal_delivered]"},
    {"replayed", "signal_by_token", "!waitpoint_closed", "waiting ready", ""},
    {"replayed", "signal_by_old_token", "!invalid_token", "waiting ready", ""},
    {"replayed", "decide", "!waitpoint_closed", "waiting ready", ""},
    {"replayed", "resume", "!conflict", "waiting ready", ""},
    {"replayed", "close_waitpoint", "!not_found", "waiting ready", ""},
    {"replayed", "reissue_token", "!not_found", "waiting ready", ""},
    {"claim_granted", "suspend", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "suspend_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "open_waitpoint", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "open_waitpoint_stale", "!stale_lease", "waiting due+40", ""},
    {"claim_granted", "signal", "kept", "waiting due+40", "[signal_delivered]"},
    {"claim_granted", "signal_elsewhere", "kept", "waiting due+40", "[signal_delivered]"},
    {"claim_granted", "signal_by_token", "!waitpoint_closed", "waiting due+40", ""},
    {"claim_granted", "signal_by_old_token", "!invalid_token", "waiting due+40", ""},
    {"claim_granted", "decide", "!waitpoint_closed", "waiting due+40", ""},
    {"claim_granted", "resume", "!conflict", "waiting due+40", ""},
    {"claim_granted", "close_waitpoint", "!not_found", "waiting due+40", ""},
    {"claim_granted", "reissue_token", "!not_found", "waiting due+40", ""},
    {"claim_grant_over", "suspend", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "suspend_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "open_waitpoint", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "open_waitpoint_stale", "!stale_lease", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "signal", "kept", "waiting ready", "grant=0 [grant_expired signal_delivered]"},
    {"claim_grant_over", "signal_elsewhere", "kept", "waiting ready", "grant=0 [grant_expired signal_delivered]"},
    {"claim_grant_over", "signal_by_token", "!waitpoint_closed", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "signal_by_old_token", "!invalid_token", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "decide", "!waitpoint_closed", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "resume", "!conflict", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "close_waitpoint", "!not_found", "waiting ready", "grant=0 [grant_expired]"},
    {"claim_grant_over", "reissue_token", "!not_found", "waiting ready", "grant=0 [grant_expired]"},
    {"reclaim_granted_ready", "suspend", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "suspend_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "open_waitpoint", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "open_waitpoint_stale", "!lease_expired", "waiting due+40", ""},
    {"reclaim_granted_ready", "signal", "kept", "waiting due+40", "[signal_delivered]"},
    {"reclaim_granted_ready", "signal_elsewhere", "kept", "waiting due+40", "[signal_delivered]"},
    {"reclaim_granted_ready", "signal_by_token", "!waitpoint_closed", "waiting due+40", ""},
    {"reclaim_granted_ready", "signal_by_old_token", "!invalid_token", "waiting due+40", ""},
    {"reclaim_granted_ready", "decide", "!waitpoint_closed", "waiting due+40", ""},
    {"reclaim_granted_ready", "resume", "!conflict", "waiting due+40", ""},
    {"reclaim_granted_ready", "close_waitpoint", "!not_found", "waiting due+40", ""},
    {"reclaim_granted_ready", "reissue_token", "!not_found", "waiting due+40", ""},
    {"reclaim_granted_grace", "suspend", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "suspend_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "open_waitpoint", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "open_waitpoint_stale", "!lease_revoked", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "signal", "kept", "delayed due+40 lost", "[signal_delivered]"},
    {"reclaim_granted_grace", "signal_elsewhere", "kept", "delayed due+40 lost", "[signal_delivered]"},
    {"reclaim_granted_grace", "signal_by_token", "!waitpoint_closed", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "signal_by_old_token", "!invalid_token", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "decide", "!waitpoint_closed", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "resume", "!conflict", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "close_waitpoint", "!not_found", "delayed due+40 lost", ""},
    {"reclaim_granted_grace", "reissue_token", "!not_found", "delayed due+40 lost", ""},
    {"reclaim_granted_manual", "suspend", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "suspend_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "open_waitpoint", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "open_waitpoint_stale", "!lease_expired", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "signal", "kept", "waiting due+40 lost", "[signal_delivered]"},
    {"reclaim_granted_manual", "signal_elsewhere", "kept", "waiting due+40 lost", "[signal_delivered]"},
    {"reclaim_granted_manual", "signal_by_token", "!waitpoint_closed", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "signal_by_old_token", "!invalid_token", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "decide", "!waitpoint_closed", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "resume", "!conflict", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "close_waitpoint", "!not_found", "waiting due+40 lost", ""},
    {"reclaim_granted_manual", "reissue_token", "!not_found", "waiting due+40 lost", ""},
    {"capped", "suspend", "!already_terminal", "failed due+9990", ""},
    {"capped", "suspend_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "open_waitpoint", "!already_terminal", "failed due+9990", ""},
    {"capped", "open_waitpoint_stale", "!already_terminal", "failed due+9990", ""},
    {"capped", "signal", "!already_terminal", "failed due+9990", ""},
    {"capped", "signal_elsewhere", "!already_terminal", "failed due+9990", ""},
    {"capped", "signal_by_token", "!already_terminal", "failed due+9990", ""},
    {"capped", "signal_by_old_token", "!invalid_token", "failed due+9990", ""},
    {"capped", "decide", "!already_terminal", "failed due+9990", ""},
    {"capped", "resume", "!already_terminal", "failed due+9990", ""},
    {"capped", "close_waitpoint", "!already_terminal", "failed due+9990", ""},
    {"capped", "reissue_token", "!already_terminal", "failed due+9990", ""},
    {"suspended", "create_same", "duplicate suspended", "suspended due+290", ""},
    {"suspended", "create_other", "!conflict", "suspended due+290", ""},
    {"suspended", "lease", "!not_active", "suspended due+290", ""},
    {"suspended", "renew", "!stale_lease", "suspended due+290", ""},
    {"suspended", "renew_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "progress", "!stale_lease", "suspended due+290", ""},
    {"suspended", "progress_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "complete", "!stale_lease", "suspended due+290", ""},
    {"suspended", "complete_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "fail", "!stale_lease", "suspended due+290", ""},
    {"suspended", "fail_final", "!stale_lease", "suspended due+290", ""},
    {"suspended", "fail_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "delay", "!stale_lease", "suspended due+290", ""},
    {"suspended", "delay_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "release_held", "!stale_lease", "suspended due+290", ""},
    {"suspended", "release_held_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "record_step", "!stale_lease", "suspended due+290", ""},
    {"suspended", "record_step_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "checkpoint", "!stale_lease", "suspended due+290", ""},
    {"suspended", "checkpoint_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "tags_held", "!stale_lease", "suspended due+290", ""},
    {"suspended", "tags_held_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "cancel_held", "!stale_lease", "suspended due+290", ""},
    {"suspended", "cancel_held_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"suspended", "revoke", "!no_active_lease", "suspended due+290", ""},
    {"suspended", "revoke_other", "!no_active_lease", "suspended due+290", ""},
    {"suspended", "replay", "!not_terminal", "suspended due+290", ""},
    {"suspended", "priority", "done", "suspended due+290", "priority [priority_changed]"},
    {"suspended", "tags", "1 tag", "suspended due+290", "[tags_changed]"},
    {"suspended", "lane", "lane paused", "suspended due+290", "[lane_changed]"},
    {"suspended", "namespace", "namespace default", "suspended due+290", "[namespace_changed]"},
    {"suspended", "due", "done", "suspended due+290", ""},
    {"suspended", "grant_claim", "!not_eligible", "suspended due+290", ""},
    {"suspended", "grant_reclaim", "not reclaimable", "suspended due+290", ""},
    {"suspended", "redeem_claim", "!invalid_claim_grant", "suspended due+290", ""},
    {"suspended", "redeem_claim_other", "!invalid_claim_grant", "suspended due+290", ""},
    {"suspended", "redeem_reclaim", "no grant", "suspended due+290", ""},
    {"suspended", "redeem_reclaim_other", "no grant", "suspended due+290", ""},
    {"suspended", "release", "done", "suspended due+290", ""},
    {"suspended", "release_other", "done", "suspended due+290", ""},
    {"suspended", "suspend", "suspended wait 1", "suspended due+290", ""},
    {"suspended", "suspend_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "open_waitpoint", "!stale_lease", "suspended due+290", ""},
    {"suspended", "open_waitpoint_stale", "!stale_lease", "suspended due+290", ""},
    {"suspended", "signal", "resumed", "resumable ready", "[signal_delivered wait_ended]"},
    {"suspended", "signal_elsewhere", "kept", "suspended due+290", "[signal_delivered]"},
    {"suspended", "signal_by_token", "resumed", "resumable ready", "[signal_delivered wait_ended]"},
    {"suspended", "signal_by_old_token", "!invalid_token", "suspended due+290", ""},
    {"suspended", "decide", "!invalid_argument", "suspended due+290", ""},
    {"suspended", "resume", "done", "resumable ready", "[wait_ended]"},
    {"suspended", "close_waitpoint", "done", "suspended due+290", "[waitpoint_closed]"},
    {"suspended", "reissue_token", "token of waitpoint 1", "suspended due+290", "[waitpoint_reissued]"},
    {"suspended", "remove", "!not_terminal", "suspended due+290", ""},
    {"suspended", "remove_older", "!not_terminal", "suspended due+290", ""},
    {"wait_overdue", "create_same", "duplicate suspended", "suspended due+-10", ""},
    {"wait_overdue", "create_other", "!conflict", "suspended due+-10", ""},
    {"wait_overdue", "lease", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "renew", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "renew_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "progress", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "progress_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "complete", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "complete_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "fail", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "fail_final", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "fail_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "delay", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "delay_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "release_held", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "release_held_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "record_step", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "record_step_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "checkpoint", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "checkpoint_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "tags_held", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "tags_held_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "cancel_held", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "cancel_held_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "cancel", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "revoke", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "revoke_other", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "replay", "replay 1, waiting", "waiting ready", "replay+1 [failed replayed]"},
    {"wait_overdue", "priority", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "tags", "1 tag", "failed due+10000", "[failed tags_changed]"},
    {"wait_overdue", "lane", "lane paused", "suspended due+-10", "[lane_changed]"},
    {"wait_overdue", "namespace", "namespace default", "suspended due+-10", "[namespace_changed]"},
    {"wait_overdue", "due", "done", "failed due+10000", "[failed]"},
    {"wait_overdue", "grant_claim", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "grant_reclaim", "not reclaimable", "failed due+10000", "[failed]"},
    {"wait_overdue", "redeem_claim", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "redeem_claim_other", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "redeem_reclaim", "not reclaimable", "failed due+10000", "[failed]"},
    {"wait_overdue", "redeem_reclaim_other", "not reclaimable", "failed due+10000", "[failed]"},
    {"wait_overdue", "release", "done", "failed due+10000", "[failed]"},
    {"wait_overdue", "release_other", "done", "failed due+10000", "[failed]"},
    {"wait_overdue", "suspend", "suspended wait 1", "failed due+10000", "[failed]"},
    {"wait_overdue", "suspend_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "open_waitpoint", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "open_waitpoint_stale", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "signal", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "signal_elsewhere", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "signal_by_token", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "signal_by_old_token", "!invalid_token", "failed due+10000", "[failed]"},
    {"wait_overdue", "decide", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "resume", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "close_waitpoint", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "reissue_token", "!already_terminal", "failed due+10000", "[failed]"},
    {"wait_overdue", "remove", "kept", "failed due+10000", "[failed]"},
    {"wait_overdue", "remove_older", "kept", "failed due+10000", "[failed]"},
    {"wait_ended", "create_same", "duplicate resumable", "resumable ready", ""},
    {"wait_ended", "create_other", "!conflict", "resumable ready", ""},
    {"wait_ended", "lease", "resumed initial #0", "active due+500", "epoch+1 [resumed]"},
    {"wait_ended", "renew", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "renew_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "progress", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "progress_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "complete", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "complete_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "fail", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "fail_final", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "fail_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "delay", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "delay_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "release_held", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "release_held_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "record_step", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "record_step_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "checkpoint", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "checkpoint_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "tags_held", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "tags_held_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "cancel_held", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "cancel_held_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"wait_ended", "revoke", "!no_active_lease", "resumable ready", ""},
    {"wait_ended", "revoke_other", "!no_active_lease", "resumable ready", ""},
    {"wait_ended", "replay", "!not_terminal", "resumable ready", ""},
    {"wait_ended", "priority", "done", "resumable ready", "priority [priority_changed]"},
    {"wait_ended", "tags", "1 tag", "resumable ready", "[tags_changed]"},
    {"wait_ended", "lane", "lane paused", "resumable ready", "[lane_changed]"},
    {"wait_ended", "namespace", "namespace default", "resumable ready", "[namespace_changed]"},
    {"wait_ended", "due", "done", "resumable ready", ""},
    {"wait_ended", "grant_claim", "claim grant+50", "resumable due+50", "grant+1 [grant_issued]"},
    {"wait_ended", "grant_reclaim", "not reclaimable", "resumable ready", ""},
    {"wait_ended", "redeem_claim", "!invalid_claim_grant", "resumable ready", ""},
    {"wait_ended", "redeem_claim_other", "!invalid_claim_grant", "resumable ready", ""},
    {"wait_ended", "redeem_reclaim", "no grant", "resumable ready", ""},
    {"wait_ended", "redeem_reclaim_other", "no grant", "resumable ready", ""},
    {"wait_ended", "release", "done", "resumable ready", ""},
    {"wait_ended", "release_other", "done", "resumable ready", ""},
    {"wait_ended", "suspend", "suspended wait 1", "resumable ready", ""},
    {"wait_ended", "suspend_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "open_waitpoint", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "open_waitpoint_stale", "!stale_lease", "resumable ready", ""},
    {"wait_ended", "signal", "kept", "resumable ready", "[signal_delivered]"},
    {"wait_ended", "signal_elsewhere", "kept", "resumable ready", "[signal_delivered]"},
    {"wait_ended", "signal_by_token", "!waitpoint_closed", "resumable ready", ""},
    {"wait_ended", "signal_by_old_token", "!invalid_token", "resumable ready", ""},
    {"wait_ended", "decide", "!waitpoint_closed", "resumable ready", ""},
    {"wait_ended", "resume", "!conflict", "resumable ready", ""},
    {"wait_ended", "close_waitpoint", "!not_found", "resumable ready", ""},
    {"wait_ended", "reissue_token", "!not_found", "resumable ready", ""},
    {"wait_ended", "remove", "!not_terminal", "resumable ready", ""},
    {"wait_ended", "remove_older", "!not_terminal", "resumable ready", ""},
};

// The whole vector of every state, in words: phase, ownership, eligibility, blocking reason, outcome, attempt.
struct VectorRow {
  const char* state;
  const char* vector;
};

const VectorRow vectors[] = {
    {"waiting", "runnable unowned eligible_now waiting_for_worker none pending_first_attempt"},
    {"delayed", "runnable unowned not_eligible_until_time waiting_for_delay none pending_first_attempt"},
    {"active", "active leased not_applicable none none running_attempt"},
    {"overdue", "active leased not_applicable none none running_attempt"},
    {"lost_expired", "active lease_expired_reclaimable not_applicable waiting_for_reclaim none attempt_interrupted"},
    {"lost_revoked", "active lease_revoked not_applicable waiting_for_reclaim none attempt_interrupted"},
    {"backoff", "runnable unowned not_eligible_until_time waiting_for_retry_backoff none pending_retry_attempt"},
    {"waiting_retry", "runnable unowned eligible_now waiting_for_worker none pending_retry_attempt"},
    {"reclaim_ready", "runnable unowned eligible_now waiting_for_worker none pending_reclaim_attempt"},
    {"reclaim_grace",
     "runnable unowned not_eligible_until_time waiting_for_reclaim_grace none pending_reclaim_attempt"},
    {"worker_delayed", "runnable unowned not_eligible_until_time waiting_for_delay none attempt_interrupted"},
    {"resumable", "runnable unowned eligible_now waiting_for_worker none attempt_interrupted"},
    {"completed", "terminal unowned not_applicable none success attempt_terminal"},
    {"failed", "terminal unowned not_applicable none failed attempt_terminal"},
    {"cancelled", "terminal unowned not_applicable none cancelled attempt_terminal"},
    {"expired", "terminal unowned not_applicable none expired attempt_terminal"},
    {"replayed", "runnable unowned eligible_now waiting_for_worker none pending_replay_attempt"},
    {"claim_granted", "runnable unowned eligible_now reserved_by_grant none pending_first_attempt"},
    {"claim_grant_over", "runnable unowned eligible_now reserved_by_grant none pending_first_attempt"},
    {"reclaim_granted_ready", "runnable unowned eligible_now reserved_by_grant none pending_reclaim_attempt"},
    {"reclaim_granted_grace",
     "runnable unowned not_eligible_until_time waiting_for_reclaim_grace none pending_reclaim_attempt"},
    {"reclaim_granted_manual",
     "active lease_expired_reclaimable not_applicable waiting_for_reclaim none attempt_interrupted"},
    {"capped", "terminal unowned not_applicable none failed attempt_terminal"},
    {"suspended", "suspended unowned not_applicable waiting_for_signal none attempt_interrupted"},
    {"wait_overdue", "suspended unowned not_applicable waiting_for_signal none attempt_interrupted"},
    {"wait_ended", "runnable unowned eligible_now waiting_for_worker none attempt_interrupted"},
};

std::string in_words(const StateVector& v) {
  std::string text(to_string(v.lifecycle_phase));
  for (const std::string_view word :
       {to_string(v.ownership_state), to_string(v.eligibility_state), to_string(v.blocking_reason),
        to_string(v.terminal_outcome), to_string(v.attempt_state)}) {
    text += " " + std::string(word);
  }
  return text;
}

TEST(DecideTable, EveryStateHasItsVector) {
  std::map<std::string, std::string> expected;
  for (const VectorRow& row : vectors) expected[row.state] = row.vector;
  for (const NamedStage& named : stages()) {
    const Stage stage = named.make();
    if (!stage.rehearsal.exists(stage.id)) continue;
    const Execution execution = stage.rehearsal.execution(stage.id);
    EXPECT_EQ(in_words(state_vector(execution, LaneState::active)), expected[named.name]) << named.name;
  }
}

TEST(DecideTable, EveryCellSaysWhatHappens) {
  std::map<std::pair<std::string, std::string>, const Cell*> cells;
  for (const Cell& cell : table) {
    EXPECT_TRUE(cells.emplace(std::pair(cell.state, cell.command), &cell).second)
        << cell.state << " x " << cell.command << " stands there twice";
  }
  for (const NamedStage& stage : stages()) {
    for (const NamedCommand& command : commands()) {
      SCOPED_TRACE(stage.name + " x " + command.name);
      const Seen seen = play(stage, command);
      const auto found = cells.find({stage.name, command.name});
      if (found == cells.end()) {
        ADD_FAILURE() << "no cell for {\"" << stage.name << "\", \"" << command.name << "\", " << seen << "},";
        continue;
      }
      const Cell& cell = *found->second;
      EXPECT_EQ(seen, (Seen{cell.reply, cell.after, cell.moves}));
    }
  }
  EXPECT_EQ(cells.size(), stages().size() * commands().size()) << "a cell names an unknown state or command";
}

}  // namespace
}  // namespace flowfabric
