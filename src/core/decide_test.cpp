// The table: every state that an execution can be told apart in, against every command. A cell says what the caller
// gets, what the execution is afterwards, and what has moved. A combination without a cell fails the test.
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "core/decide.hpp"
#include "core/state.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

// ---- The states ----------------------------------------------------------------------------------------------------

constexpr std::int64_t backoff = 100;
constexpr std::int64_t grace = 200;
constexpr std::int64_t delay = 300;
constexpr std::uint32_t ttl = 500;

struct Stage {
  Rehearsal rehearsal;
  ExecutionId id;
  Fence holder;  // of the present lease, or of the last one; made up where there never was one
  CreateRequest request;

  Fence stale() const {
    Fence fence = holder;
    fence.lease_id.bytes[0] ^= 1;
    return fence;
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
  stage.holder = fence_of(stage.rehearsal.lease(stage.id, ttl));
  stage.rehearsal.now += 10;
  return stage;
}

// The lease has run out and nobody has looked yet.
Stage overdue(const CreateRequest& request = ordinary_request()) {
  Stage stage = active(request);
  stage.rehearsal.now += ttl;
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
      {"lease", [](Stage& s) { return Command{LeaseCommand{s.id, "w", "w-2", ttl}}; }},
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
  };
  return all;
}

// ---- What is seen of a cell ----------------------------------------------------------------------------------------

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::string after(TimestampMs at, TimestampMs now) { return "+" + std::to_string(at - now); }

std::string describe_reply(const Result<Reply>& reply, TimestampMs now) {
  if (!reply) return "!" + std::string(to_string(reply.error().code));
  const auto name = [](auto value) { return std::string(to_string(value)); };
  return std::visit(
      Overloaded{
          [](const Done&) { return std::string("done"); },
          [&](const Created& r) { return (r.duplicate ? "duplicate " : "created ") + name(r.public_state); },
          [&](const ClaimedExecution& r) {
            return name(r.handle_kind) + " " + name(r.attempt.attempt_type) + " #" +
                   std::to_string(r.attempt.attempt_index);
          },
          [&](const RenewVerdict& r) { return "until" + after(r.expires_at, now); },
          [&](const FailReply& r) {
            if (r.decision == FailReply::Decision::failed) return "failed: " + r.reason;
            return "retry #" + std::to_string(r.next_attempt_index) + after(r.retry_at, now) + ": " + r.reason;
          },
          [&](const DelayReply& r) { return "until" + after(r.delay_until, now); },
          [](const CancelReply& r) { return std::string(r.already_cancelled ? "already cancelled" : "cancelled"); },
          [&](const RevokeReply& r) { return "revoked, " + name(r.public_state); },
          [&](const ReplayReply& r) {
            return "replay " + std::to_string(r.replay_count) + ", " + name(r.public_state);
          },
          [](const Tags& r) { return std::to_string(r.size()) + " tag"; },
          [&](const LaneInfo& r) { return "lane " + name(r.state); },
          [](const NamespaceInfo& r) { return "namespace " + r.name_space; },
      },
      *reply);
}

// Public state, then "ready" or the due time when there are entries.
std::string describe_state(const Rehearsal& rehearsal, const ExecutionId& id) {
  if (!rehearsal.exists(id)) return "absent";
  std::string text(to_string(rehearsal.state(id)));
  if (rehearsal.ready(id)) text += " ready";
  if (rehearsal.due(id) != 0) text += " due" + after(rehearsal.due(id), rehearsal.now);
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

void check_facts(const Rehearsal& rehearsal, const ExecutionId& id) {
  const Execution execution = rehearsal.execution(id);
  const Facts& facts = execution.facts;
  const StateVector vector = state_vector(execution, LaneState::active);
  check_vector(vector);
  EXPECT_EQ(rehearsal.ready(id).has_value(), vector.eligibility_state == Eligibility::eligible_now);
  EXPECT_EQ(rehearsal.due(id), facts.armed_due);
  const TimestampMs wanted = next_due(facts);
  EXPECT_EQ(wanted == 0, facts.armed_due == 0);
  EXPECT_LE(facts.armed_due, wanted) << "the clock must not come too late";
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
  EXPECT_EQ(endings, !was_terminal && is_now_terminal ? 1 : 0) << "exactly one terminal event";
}

// A refusal changes nothing but what time has brought about by itself.
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

Seen play(const NamedStage& named, const NamedCommand& command) {
  Stage stage = named.make();
  const Stage before = stage;
  const bool existed = stage.rehearsal.exists(stage.id);
  const Facts facts_before = existed ? stage.rehearsal.facts(stage.id) : Facts{};
  const Command made = command.make(stage);
  const Result<Reply> reply = stage.rehearsal.run(made);
  const Rehearsal& now = stage.rehearsal;
  if (!reply) check_refusal(before, now);
  Facts facts_now;
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
  const char* reply;  // "!code" is a refusal
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
    {"active", "cancel_held", "cancelled", "cancelled due+10000", "epoch+1 [cancelled]"},
    {"active", "cancel_held_stale", "!stale_lease", "active due+490", ""},
    {"active", "cancel", "cancelled", "cancelled due+10000", "epoch+1 [cancelled]"},
    {"active", "revoke", "revoked, waiting", "waiting ready", "epoch+1 reclaim+1 [lease_revoked]"},
    {"active", "revoke_other", "!stale_lease", "active due+490", ""},
    {"active", "replay", "!not_terminal", "active due+490", ""},
    {"active", "priority", "done", "active due+490", "priority [priority_changed]"},
    {"active", "tags", "1 tag", "active due+490", "[tags_changed]"},
    {"active", "lane", "lane paused", "active due+490", "[lane_changed]"},
    {"active", "namespace", "namespace default", "active due+490", "[namespace_changed]"},
    {"active", "due", "done", "active due+490", ""},

    {"overdue", "create_same", "duplicate active", "active due+-10", ""},
    {"overdue", "create_other", "!conflict", "active due+-10", ""},
    {"overdue", "lease", "reclaimed reclaim #1", "active due+-10",
     "epoch+2 attempt+1 reclaim+1 [lease_expired claimed]"},
    {"overdue", "renew", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "renew_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "progress", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "progress_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "complete", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "complete_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "fail", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "fail_final", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "fail_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "delay", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "delay_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "cancel_held", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "cancel_held_stale", "!lease_expired", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "cancel", "cancelled", "cancelled due+10000", "epoch+1 reclaim+1 [lease_expired cancelled]"},
    {"overdue", "revoke", "!no_active_lease", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "revoke_other", "!no_active_lease", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "replay", "!not_terminal", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},
    {"overdue", "priority", "done", "waiting ready", "epoch+1 reclaim+1 priority [lease_expired priority_changed]"},
    {"overdue", "tags", "1 tag", "waiting ready", "epoch+1 reclaim+1 [lease_expired tags_changed]"},
    {"overdue", "lane", "lane paused", "active due+-10", "[lane_changed]"},
    {"overdue", "namespace", "namespace default", "active due+-10", "[namespace_changed]"},
    {"overdue", "due", "done", "waiting ready", "epoch+1 reclaim+1 [lease_expired]"},

    {"lost_expired", "create_same", "duplicate active", "active", ""},
    {"lost_expired", "create_other", "!conflict", "active", ""},
    {"lost_expired", "lease", "!not_active", "active", ""},
    {"lost_expired", "renew", "!lease_expired", "active", ""},
    {"lost_expired", "renew_stale", "!lease_expired", "active", ""},
    {"lost_expired", "progress", "!lease_expired", "active", ""},
    {"lost_expired", "progress_stale", "!lease_expired", "active", ""},
    {"lost_expired", "complete", "!lease_expired", "active", ""},
    {"lost_expired", "complete_stale", "!lease_expired", "active", ""},
    {"lost_expired", "fail", "!lease_expired", "active", ""},
    {"lost_expired", "fail_final", "!lease_expired", "active", ""},
    {"lost_expired", "fail_stale", "!lease_expired", "active", ""},
    {"lost_expired", "delay", "!lease_expired", "active", ""},
    {"lost_expired", "delay_stale", "!lease_expired", "active", ""},
    {"lost_expired", "cancel_held", "!lease_expired", "active", ""},
    {"lost_expired", "cancel_held_stale", "!lease_expired", "active", ""},
    {"lost_expired", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"lost_expired", "revoke", "!no_active_lease", "active", ""},
    {"lost_expired", "revoke_other", "!no_active_lease", "active", ""},
    {"lost_expired", "replay", "!not_terminal", "active", ""},
    {"lost_expired", "priority", "done", "active", "priority [priority_changed]"},
    {"lost_expired", "tags", "1 tag", "active", "[tags_changed]"},
    {"lost_expired", "lane", "lane paused", "active", "[lane_changed]"},
    {"lost_expired", "namespace", "namespace default", "active", "[namespace_changed]"},
    {"lost_expired", "due", "done", "active", ""},

    {"lost_revoked", "create_same", "duplicate active", "active", ""},
    {"lost_revoked", "create_other", "!conflict", "active", ""},
    {"lost_revoked", "lease", "!not_active", "active", ""},
    {"lost_revoked", "renew", "!lease_revoked", "active", ""},
    {"lost_revoked", "renew_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "progress", "!lease_revoked", "active", ""},
    {"lost_revoked", "progress_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "complete", "!lease_revoked", "active", ""},
    {"lost_revoked", "complete_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "fail", "!lease_revoked", "active", ""},
    {"lost_revoked", "fail_final", "!lease_revoked", "active", ""},
    {"lost_revoked", "fail_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "delay", "!lease_revoked", "active", ""},
    {"lost_revoked", "delay_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "cancel_held", "!lease_revoked", "active", ""},
    {"lost_revoked", "cancel_held_stale", "!lease_revoked", "active", ""},
    {"lost_revoked", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"lost_revoked", "revoke", "!no_active_lease", "active", ""},
    {"lost_revoked", "revoke_other", "!no_active_lease", "active", ""},
    {"lost_revoked", "replay", "!not_terminal", "active", ""},
    {"lost_revoked", "priority", "done", "active", "priority [priority_changed]"},
    {"lost_revoked", "tags", "1 tag", "active", "[tags_changed]"},
    {"lost_revoked", "lane", "lane paused", "active", "[lane_changed]"},
    {"lost_revoked", "namespace", "namespace default", "active", "[namespace_changed]"},
    {"lost_revoked", "due", "done", "active", ""},

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

    {"reclaim_ready", "create_same", "duplicate waiting", "waiting ready", ""},
    {"reclaim_ready", "create_other", "!conflict", "waiting ready", ""},
    {"reclaim_ready", "lease", "reclaimed reclaim #1", "active due+500", "epoch+1 attempt+1 [claimed]"},
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

    {"reclaim_grace", "create_same", "duplicate delayed", "delayed due+190", ""},
    {"reclaim_grace", "create_other", "!conflict", "delayed due+190", ""},
    {"reclaim_grace", "lease", "!not_active", "delayed due+190", ""},
    {"reclaim_grace", "renew", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "renew_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "progress", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "progress_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "complete", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "complete_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "fail", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "fail_final", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "fail_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "delay", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "delay_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "cancel_held", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "cancel_held_stale", "!lease_revoked", "delayed due+190", ""},
    {"reclaim_grace", "cancel", "cancelled", "cancelled due+10000", "[cancelled]"},
    {"reclaim_grace", "revoke", "!no_active_lease", "delayed due+190", ""},
    {"reclaim_grace", "revoke_other", "!no_active_lease", "delayed due+190", ""},
    {"reclaim_grace", "replay", "!not_terminal", "delayed due+190", ""},
    {"reclaim_grace", "priority", "done", "delayed due+190", "priority [priority_changed]"},
    {"reclaim_grace", "tags", "1 tag", "delayed due+190", "[tags_changed]"},
    {"reclaim_grace", "lane", "lane paused", "delayed due+190", "[lane_changed]"},
    {"reclaim_grace", "namespace", "namespace default", "delayed due+190", "[namespace_changed]"},
    {"reclaim_grace", "due", "done", "delayed due+190", ""},

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
    {"cancelled", "cancel_held", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "cancel_held_stale", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "cancel", "already cancelled", "cancelled due+9990", ""},
    {"cancelled", "revoke", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "revoke_other", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "replay", "replay 1, waiting", "waiting ready", "replay+1 [replayed]"},
    {"cancelled", "priority", "!already_terminal", "cancelled due+9990", ""},
    {"cancelled", "tags", "1 tag", "cancelled due+9990", "[tags_changed]"},
    {"cancelled", "lane", "lane paused", "cancelled due+9990", "[lane_changed]"},
    {"cancelled", "namespace", "namespace default", "cancelled due+9990", "[namespace_changed]"},
    {"cancelled", "due", "done", "cancelled due+9990", ""},

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
