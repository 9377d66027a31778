#include "core/submitting.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

const SubmitKeyRecord* known_key(const Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  return slot == nullptr || slot->erased || slot->damage ? nullptr : slot->submit_key();
}

void add_holder(Workspace& workspace, const Key& key, std::vector<Key>& keys) {
  keys.push_back(key);
  if (const SubmitKeyRecord* record = known_key(workspace, key)) keys.push_back(execution_key(record->execution_id));
}

// The execution that the record names, with due transitions applied; null if it is gone.
Slot* named_by(Workspace& workspace, const SubmitKeyRecord& record, const Context& context) {
  Slot* slot = workspace.find(execution_key(record.execution_id));
  if (slot == nullptr || slot->erased || slot->execution() == nullptr) return nullptr;
  settle(*slot, context);
  return slot;
}

// The execution that has the key now; null if it is free.
Slot* holder_of(Workspace& workspace, const Key& key, const Context& context) {
  const SubmitKeyRecord* record = known_key(workspace, key);
  if (record == nullptr) return nullptr;
  Slot* slot = named_by(workspace, *record, context);
  if (slot == nullptr) return nullptr;
  const Facts& facts = slot->execution()->facts;
  return facts.submit.holds == SubmitKeyKind::none || owes_key(facts) ? nullptr : slot;
}

std::string quoted(const std::string& key) { return "\"" + key + "\""; }

Error held_by_another(const std::string& key, const Execution& holder) {
  return Error{Errc::conflict,
               "unique key " + quoted(key) + " belongs to execution " + to_string(holder.id) + ", which is " +
                   std::string(to_string(public_state(holder.facts))),
               "unique.key",
               {{"execution_id", to_string(holder.id)}}};
}

Created answer_with(const Slot& slot, CreateOutcome outcome) {
  return {slot.execution()->id, public_state(slot.execution()->facts), true, outcome, std::nullopt};
}

Result<KeyVerdict> judge_unique(Workspace& workspace, const UniqueKey& unique, const Key& key, const Context& context) {
  Slot* holder = holder_of(workspace, key, context);
  if (holder == nullptr) return KeyVerdict{};
  switch (unique.on_conflict) {
    case OnConflict::reject: return Unexpected(held_by_another(unique.key, *holder->execution()));
    case OnConflict::reuse: return KeyVerdict{answer_with(*holder, CreateOutcome::returned)};
    case OnConflict::replace: break;
  }
  return KeyVerdict{std::nullopt, nullptr, holder};
}

// What cannot change any more must be the same.
Result<void> check_same_job(const Execution& waiting, const CreateRequest& request) {
  const Spec& spec = waiting.spec;
  const char* differs = spec.lane != request.lane                                     ? "lane"
                        : spec.kind != request.kind                                   ? "kind"
                        : spec.required_capabilities != request.required_capabilities ? "required_capabilities"
                        : spec.policy != request.policy                               ? "policy"
                                                                                      : nullptr;
  if (differs == nullptr) return {};
  return Unexpected(Error{Errc::conflict,
                          std::string(differs) + ": is not that of execution " + to_string(waiting.id) +
                              ", which waits under debounce key " + quoted(request.debounce->key),
                          differs,
                          {{"execution_id", to_string(waiting.id)}}});
}

void put_payload(Slot& slot, const std::string& payload) {
  const SatelliteName name{slot.key, static_cast<std::uint8_t>(SatelliteKind::payload), 0};
  std::erase_if(slot.satellites, [&](const Satellite& satellite) { return satellite.name == name; });
  slot.satellites.push_back({name, payload});
}

void merge(Slot& slot, const CreateRequest& request, const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  const Debounce& debounce = *request.debounce;
  NewestInput newest{request.payload.size(), request.payload_encoding, 0};
  facts.deadline_at = request.deadline_ms ? context.now + *request.deadline_ms : request.deadline_at;
  if (facts.deadline_at != 0) newest.deadline_span_ms = std::max<std::int64_t>(facts.deadline_at - context.now, 1);
  facts.submit.newest = std::move(newest);
  if (facts.submit.merged < UINT32_MAX) ++facts.submit.merged;
  facts.priority = request.priority;
  facts.tags = request.tags;
  put_payload(slot, request.payload);
  TimestampMs start_at = context.now + debounce.delay_ms;
  if (debounce.max_wait_ms) start_at = std::min(start_at, transition.spec().created_at + *debounce.max_wait_ms);
  make_runnable(transition, start_at, DelayCause::submitted);
  transition.record(EventType::debounced, request.creator, debounce.key, facts.delay_until);
}

Result<KeyVerdict> judge_debounce(Workspace& workspace, const CreateRequest& request, const Key& key,
                                  const Context& context) {
  Slot* waiting = holder_of(workspace, key, context);
  if (waiting == nullptr) return KeyVerdict{};
  FF_TRY_VOID(check_same_job(*waiting->execution(), request));
  merge(*waiting, request, context);
  // It may have waited for as long as it may.
  release_key(workspace, *waiting, context);
  return KeyVerdict{answer_with(*waiting, CreateOutcome::debounced), waiting};
}

RateLimit rate_of(const Throttle& throttle) { return {throttle.count, throttle.period_ms, std::nullopt}; }

Result<KeyVerdict> judge_throttle(Workspace& workspace, const Throttle& throttle, const Key& key,
                                  const Context& context) {
  const SubmitKeyRecord* record = known_key(workspace, key);
  const RateLimit rate = rate_of(throttle);
  if (record == nullptr || may_start(rate, record->starts, context.now) > 0) return KeyVerdict{};
  if (throttle.on_limit == OnThrottle::reuse) {
    const Slot* last = named_by(workspace, *record, context);
    if (last != nullptr) return KeyVerdict{answer_with(*last, CreateOutcome::throttled)};
    return KeyVerdict{Created{record->execution_id, std::nullopt, true, CreateOutcome::throttled, std::nullopt}};
  }
  const TimestampMs next = may_start_at(rate, record->starts, 1, context.now);
  return Unexpected(Error{Errc::throttled,
                          "throttle key " + quoted(throttle.key) + " lets " + std::to_string(throttle.count) +
                              " executions be created in " + std::to_string(throttle.period_ms) +
                              " ms; the next one at " + format_utc(next),
                          "throttle.key",
                          {{"retry_after_ms", std::to_string(next - context.now)},
                           {"last_execution_id", to_string(record->execution_id)}}});
}

void cancel_for(Slot& old, const Execution& made, const CreateRequest& request, const Context& context) {
  Transition transition(old, context);
  Facts& facts = transition.facts();
  const std::string reason = "replaced by execution " + to_string(made.id);
  facts.cancellation_reason = reason;
  facts.cancelled_by = request.creator.empty() ? "unique key " + request.unique->key : request.creator;
  facts.submit.holds = SubmitKeyKind::none;
  finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, facts.cancelled_by,
         reason);
}

// The record of the key, for a change. A new one if there is none.
SubmitKeyRecord& make_key_record(Slot& slot, const std::string& name_space, SubmitKeyKind kind,
                                 const std::string& key) {
  if (slot.submit_key() == nullptr || slot.erased) {
    auto record = std::make_unique<SubmitKeyRecord>();
    record->name_space = name_space;
    record->kind = kind;
    record->key = key;
    slot.record = std::move(record);
  }
  slot.changed = true;
  slot.erased = false;
  return *slot.submit_key();
}

}  // namespace

RequestedKey requested_key(const CreateRequest& request) {
  if (request.unique) return {SubmitKeyKind::unique, request.unique->key};
  if (request.debounce) return {SubmitKeyKind::debounce, request.debounce->key};
  if (request.throttle) return {SubmitKeyKind::throttle, request.throttle->key};
  return {};
}

std::optional<Key> submit_key_of(const CreateRequest& request) {
  const RequestedKey wanted = requested_key(request);
  if (wanted.kind == SubmitKeyKind::none) return std::nullopt;
  return submit_key(wanted.kind, request.name_space, wanted.key);
}

Key submit_key_of(const Execution& execution) {
  const Spec& spec = execution.spec;
  FF_CHECK(spec.submit_key_kind != SubmitKeyKind::none);
  return submit_key(spec.submit_key_kind, spec.name_space, spec.submit_key);
}

Key idempotency_key_of(const CreateRequest& request) {
  const std::optional<Key> beside = submit_key_of(request);
  if (!beside) return idempotency_key(request.name_space, request.idempotency_key);
  const Sha256 digest = sha256(beside->bytes + request.idempotency_key);
  const std::string_view id(reinterpret_cast<const char*>(digest.data()), digest.size());
  return make_key(RecordKind::idempotency, id, beside->partition());
}

std::uint16_t placement(const CreateRequest& request, const Uuid& uuid) {
  if (const auto key = submit_key_of(request)) return key->partition();
  return request.idempotency_key.empty() ? partition_of(uuid) : idempotency_key_of(request).partition();
}

void add_submit_keys(Workspace& workspace, const CreateRequest& request, std::vector<Key>& keys) {
  if (const auto key = submit_key_of(request)) add_holder(workspace, *key, keys);
}

void add_replay_keys(Workspace& workspace, const ExecutionId& id, std::vector<Key>& keys) {
  const Slot* slot = workspace.find(execution_key(id));
  const Execution* execution = slot == nullptr ? nullptr : slot->execution();
  if (execution == nullptr || execution->spec.submit_key_kind != SubmitKeyKind::unique) return;
  add_holder(workspace, submit_key_of(*execution), keys);
}

bool is_collecting(const Facts& facts) {
  return facts.submit.holds == SubmitKeyKind::debounce && facts.phase == Phase::runnable && facts.delay_until != 0 &&
         facts.delay_cause == DelayCause::submitted;
}

bool owes_key(const Facts& facts) {
  if (facts.submit.holds == SubmitKeyKind::none) return false;
  return facts.phase == Phase::terminal || (facts.submit.holds == SubmitKeyKind::debounce && !is_collecting(facts));
}

void release_key(Workspace& workspace, Slot& slot, const Context&) {
  if (slot.erased || slot.execution() == nullptr || !owes_key(slot.execution()->facts)) return;
  Execution& execution = *slot.execution();
  const Key key = submit_key_of(execution);
  if (!workspace.knows(key)) return;
  execution.facts.submit.holds = SubmitKeyKind::none;
  slot.changed = true;
  Slot& held = workspace.at(key);
  // Another execution may have the key by now, or nobody can read the record.
  workspace.rest_on(slot, held);
  const SubmitKeyRecord* record = known_key(workspace, key);
  if (record == nullptr || record->execution_id != execution.id) return;
  held.changed = true;
  held.erased = true;
}

void release_keys(Workspace& workspace, const std::vector<Key>& touched, const Context& context) {
  for (const Key& key : touched) {
    Slot* slot = key.kind() == RecordKind::execution ? workspace.find(key) : nullptr;
    if (slot != nullptr && slot->changed) release_key(workspace, *slot, context);
  }
}

Result<KeyVerdict> judge_key(Workspace& workspace, const CreateCommand& command, const Context& context) {
  const CreateRequest& request = command.request;
  const std::optional<Key> key = submit_key_of(request);
  if (!key) return KeyVerdict{};
  if (request.unique) return judge_unique(workspace, *request.unique, *key, context);
  if (request.debounce) return judge_debounce(workspace, request, *key, context);
  return judge_throttle(workspace, *request.throttle, *key, context);
}

void take_key(Workspace& workspace, const CreateRequest& request, Slot& made, Slot* in_the_way,
              const Context& context) {
  const RequestedKey wanted = requested_key(request);
  if (wanted.kind == SubmitKeyKind::none) return;
  const Key key = submit_key(wanted.kind, request.name_space, wanted.key);
  Slot& slot = workspace.at(key);
  // The key is free, or not, because of what became of the execution that had it.
  if (const SubmitKeyRecord* before = known_key(workspace, key); before != nullptr && !request.throttle) {
    const Slot* named = workspace.find(execution_key(before->execution_id));
    if (named != nullptr && named->changed) workspace.tie(slot, *named);
  }
  Execution& execution = *made.execution();
  SubmitKeyRecord& record = make_key_record(slot, request.name_space, wanted.kind, wanted.key);
  record.execution_id = execution.id;
  workspace.tie(made, slot);
  if (request.throttle) {
    note_start(rate_of(*request.throttle), record.starts, context.now);
    record.expires_at = std::max(record.expires_at, context.now + request.throttle->period_ms);
    return;
  }
  execution.facts.submit.holds = wanted.kind;
  if (in_the_way == nullptr) return;
  workspace.tie(slot, *in_the_way);
  cancel_for(*in_the_way, execution, request, context);
}

Result<void> retake_key(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  if (execution.spec.submit_key_kind != SubmitKeyKind::unique) return {};
  const Key key = submit_key_of(execution);
  const Slot* holder = holder_of(workspace, key, context);
  if (holder != nullptr && holder != &slot) {
    return Unexpected(held_by_another(execution.spec.submit_key, *holder->execution()));
  }
  Slot& held = workspace.at(key);
  if (const SubmitKeyRecord* before = known_key(workspace, key)) {
    const Slot* named = workspace.find(execution_key(before->execution_id));
    if (named != nullptr && named->changed) workspace.tie(held, *named);
  }
  SubmitKeyRecord& record =
      make_key_record(held, execution.spec.name_space, SubmitKeyKind::unique, execution.spec.submit_key);
  record.execution_id = execution.id;
  execution.facts.submit.holds = SubmitKeyKind::unique;
  workspace.tie(slot, held);
  return {};
}

}  // namespace flowfabric
