#include "model/play.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "core/state.hpp"
#include "engine/integrity.hpp"
#include "model/stage.hpp"

namespace flowfabric::test {
namespace {

constexpr std::size_t large = 3000;  // more than fits inside a record

}  // namespace

void Stage::perform(const Step& step) {
  switch (step.verb) {
    case 0:
    case 1:
    case 2:
    case 3: return create(step);
    case 4:
    case 5:
    case 6: return claim(step, false);
    case 7: return claim(step, true);
    case 8: return driver_.advance(step.a % 5000);
    case 9: return driver_.jump(step.a % 20000 + (step.b % 16 == 0 ? 4000 * 1000 : 0));
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      if (!held_.empty()) use(step, held_[step.a % held_.size()]);
      return;
    case 15:
    case 16:
    case 17:
    case 18: return operate(step);
    case 19:
    case 20:
    case 21: return read(step);
    case 30:
    case 31: {
      const auto fence = held_.empty() ? Result<Fence>(Fence{}) : driver_.runtime().fence_of(held_.back().handle);
      if (!fence) return say("handle", fence.error());
      return suspend(step.b, *fence);
    }
    case 32:
    case 33:
    case 34: return signal(step);
    case 35: return operate_on_wait(step);
    default: return manage(step);
  }
}

void Stage::create(const Step& step) {
  const std::uint32_t a = step.a;
  const std::uint32_t b = step.b;
  CreateRequest request;
  request.lane = lanes[a % 3];
  request.name_space = a % 5 == 0 ? "tenant" : "default";
  request.kind = a % 2 == 0 ? "job" : "task";
  request.payload = std::string(a % 11 == 0 ? large : a % 17, static_cast<char>(a));
  request.priority = static_cast<std::int32_t>(b % 5) - 2;
  if (a % 7 == 0) request.required_capabilities = {capabilities[b % 2]};
  if (a % 4 == 0) request.tags = {{"app.name", std::to_string(b % 3)}};
  if (b % 6 == 0) request.delay_until = clock_.now_ms() + a % 4000;
  if (b % 7 == 0) request.deadline_at = clock_.now_ms() + a % 20000;
  if (b % 3 == 0) request.idempotency_key = "key-" + std::to_string(a % 6);
  if (b % 4 == 0) {
    request.policy.retry = RetryPolicy{};
    request.policy.retry->initial_delay_ms = a % 2000;
    request.policy.retry->jitter = a % 3 == 0 ? RetryPolicy::Jitter::full : RetryPolicy::Jitter::none;
  }
  if (b % 9 == 0) request.policy.attempt_timeout_ms = 100 + a % 3000;
  if (b % 10 == 0) request.policy.on_lease_lost = OnLeaseLost::manual;
  if (b % 8 == 0) request.policy.reclaim_grace_ms = a % 1500;
  if (a % 9 == 0) request.policy.max_reclaims = b % 2;
  if (a % 8 == 0) request.policy.dedup_window_ms = 1 + b % 3000;
  if (b % 5 == 0) request.policy.retention.completed_ms = a % 5000;
  const auto created = driver_.create(request);
  say("create", created);
  const bool is_new = created && std::find(ids_.begin(), ids_.end(), created->execution_id) == ids_.end();
  if (is_new) ids_.push_back(created->execution_id);
}

void Stage::claim(const Step& step, bool waits) {
  ClaimRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = "w-" + std::to_string(step.a % 3);
  request.lanes = step.a % 2 == 0 ? lanes : std::vector<std::string>{lanes[step.b % 3]};
  if (step.b % 2 == 0) request.capabilities = capabilities;
  if (step.a % 3 == 0) request.name_space = step.a % 2 == 0 ? "tenant" : "default";
  request.max_executions = 1 + step.b % 4;
  request.lease_ttl_ms = 100 + step.a % 8000;
  if (waits) request.wait_ms = 1 + step.b % 6000;
  if (waits) {
    claims_.push_back({request.name_space, driver_.claim_later(request)});
  } else {
    keep(request.name_space, driver_.claim(request));
  }
}

void Stage::keep(const std::optional<std::string>& kept_to, const Result<std::vector<ClaimedExecution>>& claims) {
  say("claim", claims);
  if (!claims) return;
  for (const ClaimedExecution& claimed : *claims) FF_CHECK(!kept_to || claimed.name_space == *kept_to);
  held_.insert(held_.end(), claims->begin(), claims->end());
}

void Stage::collect_pending() {
  std::erase_if(claims_, [&](const auto& pending) {
    if (pending.claims.done()) keep(pending.kept_to, pending.claims.get());
    return pending.claims.done();
  });
  std::erase_if(waits_, [&](const auto& pending) {
    if (pending.done()) lines_.push_back(pending.get() ? "wait: ended" : "wait: " + show(pending.get().error()));
    return pending.done();
  });
  std::erase_if(heartbeats_, [&](const auto& pending) {
    if (pending.done()) say("heartbeat", pending.get());
    return pending.done();
  });
}

void Stage::use(const Step& step, const ClaimedExecution& held) {
  // Its key may have expired.
  const auto checked = driver_.runtime().fence_of(held.handle);
  if (!checked) return say("handle", checked.error());
  const Fence fence = *checked;
  const std::uint32_t n = step.b / 8;
  switch (step.b % 8) {
    case 0: return fail(n, fence);
    case 1: return say("renew", driver_.call(RenewCommand{fence, n % 2 == 0 ? 0 : 100 + n % 5000}));
    case 2: {
      ProgressReport report;
      report.percent = static_cast<std::uint8_t>(n % 101);
      if (n % 4 == 0) report.message = "halfway";
      if (n % 3 == 1) return record_step(n, fence);
      if (n % 6 == 2) return say("checkpoint", driver_.call(CheckpointCommand{fence, std::string(n % 7, 'c'), "text"}));
      if (n % 6 == 5) {
        const TagChanges changes{{{"app.worker", std::to_string(n % 4)}}, {}};
        return say("tags held", driver_.call(TagsCommand{fence.execution_id, changes, {}, fence}));
      }
      return say("progress", driver_.call(ProgressCommand{fence, report}));
    }
    case 3:
      if (n % 5 == 0) return say("release", driver_.call(ReleaseHeldCommand{fence}));
      return say("delay", driver_.call(DelayCommand{fence, clock_.now_ms() + n * 7}));
    case 4: return say("cancel_held", driver_.call(CancelHeldCommand{fence, "enough"}));
    default: {
      const std::string result(n % 13 == 0 ? large : n % 3, 'r');
      return say("complete", driver_.call(CompleteCommand{fence, {result, "text"}}));
    }
  }
}

void Stage::record_step(std::uint32_t n, const Fence& fence) {
  StepRequest request;
  request.position = 1 + n / 3 % 6;
  request.name = "step-" + std::to_string(request.position);
  request.result = std::string(n % 11 == 0 ? large : n % 3, 's');
  if (n % 7 == 0) request.failure = Failure{"error", "it broke", {}};
  if (n % 7 == 3) request.sleep_ms = n;
  say("step", driver_.call(StepCommand{fence, request}));
}

void Stage::fail(std::uint32_t n, const Fence& fence) {
  FailRequest request;
  request.category = n % 2 == 0 ? "error" : "other";
  request.message = "it broke";
  request.detail = std::string(n % 5, '\0');
  request.retryable = static_cast<FailRequest::Retryable>(n % 3);
  say("fail", driver_.call(FailCommand{fence, request}));
}

void Stage::operate(const Step& step) {
  const Operator by{"operator", step.b % 2 == 0 ? "" : "a reason"};
  const ExecutionId chosen = id(step.a);
  switch (step.verb * 2 + step.b % 2) {
    case 30: return say("cancel", driver_.call(CancelCommand{chosen, by}));
    case 31: return say("revoke", driver_.call(RevokeCommand{chosen, {}, by}));
    case 32: return say("replay", driver_.call(ReplayCommand{chosen, by}));
    case 33:
      return say("priority", driver_.call(PriorityCommand{chosen, static_cast<std::int32_t>(step.b % 9) - 4, by}));
    case 34: {
      TagChanges changes;
      changes.set["app.colour"] = step.b % 3 == 0 ? "red" : "blue";
      if (step.b % 5 == 0) changes.remove = {"app.name"};
      return say("tags", driver_.call(TagsCommand{chosen, changes, by}));
    }
    case 35:
    case 36: {
      const auto state = step.b % 3 == 0 ? static_cast<LaneState>(step.a % 4) : LaneState::active;
      return say("lane", driver_.call(LaneCommand{lanes[step.a % 3], state, by}));
    }
    default: {
      NamespaceInfo info{step.a % 2 == 0 ? "default" : "tenant", {}};
      if (step.b % 3 != 0) info.retention.completed_ms = step.b % 100000;
      if (step.b % 4 == 0) info.retention.cancelled_ms = step.b % 10000;
      return say("namespace", driver_.call(NamespaceCommand{info, by}));
    }
  }
}

void Stage::read(const Step& step) {
  switch (step.verb) {
    case 19: return list(step);
    case 20: return describe(id(step.a));
    default: waits_.push_back(driver_.wait_later(id(step.a), 1 + step.b % 9000));
  }
}

void Stage::list(const Step& step) {
  ListRequest request;
  request.limit = 1 + step.a % 5;
  if (step.b % 2 == 0) request.lane = lanes[step.a % 3];
  if (step.b % 3 == 0) request.states = {PublicState::waiting, PublicState::completed};
  if (step.b % 5 == 0) request.tag = {"app.name", std::to_string(step.a % 3)};
  if (step.b % 7 == 0) request.finished_from = clock_.now_ms() - 5000;
  if (step.b % 11 == 0) request.created_before = clock_.now_ms() - 1000;
  do {
    const auto found = reads::list(driver_.store(), request);
    FF_CHECK(found.has_value());
    lines_.push_back(fmt::format("list: {} {}", found->executions.size(), found->next_cursor));
    for (const auto& summary : found->executions) lines_.push_back(show(summary));
    request.cursor = found->next_cursor;
  } while (!request.cursor.empty());
}

void Stage::describe(const ExecutionId& chosen) {
  const auto found = reads::describe(driver_.store(), chosen);
  if (!found) return lines_.push_back("describe: " + show(found.error()));
  lines_.push_back("describe:" + show(found->summary));
  for (const Reason& reason : found->explain) lines_.push_back("  " + reason.sentence);
  for (const Attempt& attempt : found->attempts) {
    lines_.push_back(fmt::format("  attempt {} {} {} {} - {}", attempt.attempt_index, to_string(attempt.attempt_type),
                                 to_string(attempt.attempt_state), attempt.started_at, attempt.ended_at));
  }
  describe_waits(chosen);
  const auto result = reads::result(driver_.store(), chosen);
  FF_CHECK(result.has_value());
  lines_.push_back(
      fmt::format("  result {} of {} in {}", digest64(result->result), result->result.size(), result->result_encoding));
}

// Everything that is stored: facts, specs and versions of every record, events of every execution, counts, and the
// entries of the ready, due and group indexes.
void Stage::tell_all() {
  for (const RecordKind kind : {RecordKind::execution, RecordKind::idempotency, RecordKind::keyring, RecordKind::lane,
                                RecordKind::name_space, RecordKind::worker, RecordKind::submit_key}) {
    const auto records = driver_.store().scan(kind, {}, page);
    FF_CHECK(records.has_value());
    for (const Record& record : *records) {
      lines_.push_back(fmt::format("record {} version {} fixed {} body {}", to_hex(record.key.bytes), record.version,
                                   to_hex(record.fixed), to_hex(record.body)));
      if (kind == RecordKind::execution) describe(execution_id_of(record.key));
      tell_events(record.key);
    }
  }
  const auto counts = reads::counts(driver_.store(), std::nullopt);
  for (const auto& lane : counts.value()) {
    for (const auto& [state, count] : lane.counts) {
      lines_.push_back(fmt::format("count {} {} {}", lane.lane, to_string(state), count));
    }
  }
  const auto due = driver_.store().next_due();
  lines_.push_back(fmt::format("next due {}", due.value().value_or(0)));
  tell_ready_entries();
  tell_due_entries();
  const auto findings = integrity_findings(driver_.store());
  for (const auto& finding : findings.value()) lines_.push_back("integrity: " + finding);
}

void Stage::tell_events(const Key& key) {
  const auto entries = driver_.store().history(key, {}, page);
  for (const auto& logged : entries.value()) {
    lines_.push_back(show(decode_event(logged.entry.body).value()));
  }
}

std::vector<std::string> play(StoreKindId kind, const std::vector<Step>& steps, std::uint64_t seed) {
  const auto database = make_database(kind);
  return Stage(*database, seed).run(steps);
}

}  // namespace flowfabric::test
