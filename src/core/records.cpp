#include "core/records.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/record_codec.hpp"
#include "core/route.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_lease(Encoder& out, const Lease& lease) {
  out.uuid(lease.lease_id);
  out.unsigned_number(lease.lease_epoch);
  out.text(lease.worker_id);
  out.text(lease.worker_instance_id);
  out.unsigned_number(lease.lease_ttl_ms);
  out.number(lease.acquired_at);
  out.number(lease.renewed_at);
  out.number(lease.expires_at);
}

Lease get_lease(Decoder& in) {
  Lease lease;
  lease.lease_id = in.uuid();
  lease.lease_epoch = in.unsigned_number();
  lease.worker_id = in.text();
  lease.worker_instance_id = in.text();
  lease.lease_ttl_ms = in.u32();
  lease.acquired_at = in.number();
  lease.renewed_at = in.number();
  lease.expires_at = in.number();
  return lease;
}

void put_failure(Encoder& out, const Failure& failure) {
  out.text(failure.category);
  out.text(failure.message);
  out.text(failure.detail);
}

Failure get_failure(Decoder& in) {
  Failure failure;
  failure.category = in.text();
  failure.message = in.text();
  failure.detail = in.text();
  return failure;
}

void put_attempt(Encoder& out, const Attempt& attempt) {
  out.unsigned_number(attempt.attempt_index);
  out.uuid(attempt.attempt_id);
  out.enumerator(attempt.attempt_type);
  out.enumerator(attempt.attempt_state);
  out.unsigned_number(attempt.lease_epoch);
  out.text(attempt.worker_id);
  out.text(attempt.worker_instance_id);
  out.number(attempt.started_at);
  out.number(attempt.suspended_at);
  out.number(attempt.resumed_at);
  out.number(attempt.ended_at);
  out.number(attempt.timeout_at);
  out.number(attempt.timeout_left_ms);
  put_optional(out, attempt.previous_attempt_index, put_u32);
  out.text(attempt.reason);
  out.text(attempt.requested_by);
  put_optional(out, attempt.failure, put_failure);
  out.boolean(attempt.has_result);
  out.text(attempt.result_encoding);
}

Attempt get_attempt(Decoder& in) {
  Attempt attempt;
  attempt.attempt_index = in.u32();
  attempt.attempt_id = in.uuid();
  attempt.attempt_type = in.enumerator(AttemptType::replay);
  attempt.attempt_state = in.enumerator(AttemptState::interrupted_reclaimed);
  attempt.lease_epoch = in.unsigned_number();
  attempt.worker_id = in.text();
  attempt.worker_instance_id = in.text();
  attempt.started_at = in.number();
  attempt.suspended_at = in.number();
  attempt.resumed_at = in.number();
  attempt.ended_at = in.number();
  attempt.timeout_at = in.number();
  attempt.timeout_left_ms = in.number();
  attempt.previous_attempt_index = get_optional(in, get_u32);
  attempt.reason = in.text();
  attempt.requested_by = in.text();
  attempt.failure = get_optional(in, get_failure);
  attempt.has_result = in.boolean();
  attempt.result_encoding = in.text();
  return attempt;
}

void put_pending(Encoder& out, const PendingAttempt& pending) {
  out.enumerator(pending.type);
  put_optional(out, pending.previous_attempt_index, put_u32);
  out.text(pending.reason);
  out.text(pending.requested_by);
}

PendingAttempt get_pending(Decoder& in) {
  PendingAttempt pending;
  pending.type = in.enumerator(AttemptType::replay);
  pending.previous_attempt_index = get_optional(in, get_u32);
  pending.reason = in.text();
  pending.requested_by = in.text();
  return pending;
}

void put_progress(Encoder& out, const Progress& progress) {
  put_optional(out, progress.percent, [](Encoder& o, std::uint8_t percent) { o.u8(percent); });
  out.text(progress.message);
  out.number(progress.updated_at);
}

Progress get_progress(Decoder& in) {
  Progress progress;
  progress.percent = get_optional(in, [](Decoder& i) { return i.u8(); });
  progress.message = in.text();
  progress.updated_at = in.number();
  return progress;
}

void put_release(Encoder& out, const Release& release) {
  out.enumerator(release.operation);
  if (release.operation == Release::Operation::none) return;
  out.uuid(release.lease_id);
  out.unsigned_number(release.lease_epoch);
  out.unsigned_number(release.attempt_index);
  out.unsigned_number(release.request_digest);
  out.enumerator(release.fail.decision);
  out.number(release.fail.retry_at);
  out.unsigned_number(release.fail.next_attempt_index);
  out.text(release.fail.reason);
  out.number(release.delay_until);
  if (release.operation != Release::Operation::suspend) return;
  out.unsigned_number(release.wait);
  out.boolean(release.suspended);
}

Release get_release(Decoder& in) {
  Release release;
  release.operation = in.enumerator(Release::Operation::suspend);
  if (release.operation == Release::Operation::none) return release;
  release.lease_id = in.uuid();
  release.lease_epoch = in.unsigned_number();
  release.attempt_index = in.u32();
  release.request_digest = in.unsigned_number();
  release.fail.decision = in.enumerator(FailReply::Decision::failed);
  release.fail.retry_at = in.number();
  release.fail.next_attempt_index = in.u32();
  release.fail.reason = in.text();
  release.delay_until = in.number();
  if (release.operation != Release::Operation::suspend) return release;
  release.wait = in.u32();
  release.suspended = in.boolean();
  return release;
}

void put_lost(Encoder& out, const LostLease& lost) {
  out.uuid(lost.lease_id);
  out.text(lost.worker_id);
  out.text(lost.worker_instance_id);
  out.unsigned_number(lost.attempt_index);
  out.number(lost.lost_at);
}

void get_lost(Decoder& in, LostLease& lost) {
  lost.lease_id = in.uuid();
  lost.worker_id = in.text();
  lost.worker_instance_id = in.text();
  lost.attempt_index = in.u32();
  lost.lost_at = in.number();
}

void put_grant(Encoder& out, const HeldGrant& grant) {
  out.enumerator(grant.kind);
  out.text(grant.grant_id);
  out.text(grant.worker_id);
  out.number(grant.expires_at);
}

HeldGrant get_grant(Decoder& in) {
  HeldGrant grant;
  grant.kind = in.enumerator(GrantKind::reclaim);
  grant.grant_id = in.text();
  grant.worker_id = in.text();
  grant.expires_at = in.number();
  return grant;
}

// What layout 3 adds to a grant.
void put_grant_notes(Encoder& out, const HeldGrant& grant) {
  out.text(grant.worker_instance_id);
  out.text(grant.capability_hash);
  out.text(grant.route_snapshot);
  out.text(grant.admission_summary);
}

void get_grant_notes(Decoder& in, HeldGrant& grant) {
  grant.worker_instance_id = in.text();
  grant.capability_hash = in.text();
  grant.route_snapshot = in.text();
  grant.admission_summary = in.text();
}

// What layout 4 adds.
void put_steps(Encoder& out, const Facts& facts) {
  out.unsigned_number(facts.steps.good.size());
  for (const auto& [from, to] : facts.steps.good) {
    out.unsigned_number(from);
    out.unsigned_number(to);
  }
  out.unsigned_number(facts.steps.failed.size());
  for (const auto& step : facts.steps.failed) {
    out.unsigned_number(step.position);
    out.unsigned_number(step.group_end);
  }
  out.boolean(facts.has_checkpoint);
}

void get_steps(Decoder& in, Facts& facts) {
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    const std::uint32_t from = in.u32();
    facts.steps.good.emplace_back(from, in.u32());
  }
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    const std::uint32_t position = in.u32();
    facts.steps.failed.push_back({position, in.u32()});
  }
  facts.has_checkpoint = in.boolean();
}

// From layout 5 of a spec and layout 8 of facts on, a number says which of the parts follow that most records do not have.
// They follow in this order. Values are stored; append only.
enum SpecPart : std::uint32_t {
  spec_member = 1,
  spec_schedule = 2,
  spec_submit_keys = 4,
  spec_reserve = 8,
  all_spec_parts = 15
};
enum FactsPart : std::uint32_t {
  facts_steps = 1,
  facts_member = 2,
  facts_growth = 4,
  facts_waits = 8,
  facts_limits = 16,
  facts_submit_keys = 32,
  facts_letter = 64,
  all_facts_parts = 127
};

std::uint32_t parts_of(const Spec& spec) {
  return (spec.member ? spec_member : 0U) | (spec.schedule ? spec_schedule : 0U) |
         (spec.submit_key_kind != SubmitKeyKind::none ? spec_submit_keys : 0U) |
         (spec.reserve.empty() ? 0U : spec_reserve);
}

bool has_steps(const Facts& facts) { return !facts.steps.empty() || facts.has_checkpoint; }
bool has_grown(const Facts& facts) { return facts.member && facts.member->growth; }

std::uint32_t parts_of(const Facts& facts) {
  return (has_steps(facts) ? facts_steps : 0U) | (facts.member ? facts_member : 0U) |
         (has_grown(facts) ? facts_growth : 0U) | (facts.waits ? facts_waits : 0U) |
         (facts.limits.empty() ? 0U : facts_limits) | (facts.submit.empty() ? 0U : facts_submit_keys) |
         (facts.letter.empty() ? 0U : facts_letter);
}

// Of earlier versions, which are still written where they suffice.
std::uint8_t layout_for(const Spec& spec) {
  if (parts_of(spec) > spec_member) return layout_5;
  return spec.member ? layout_3 : spec.traceparent.empty() ? layout_1 : layout_2;
}

std::uint8_t layout_for(const Facts& facts) {
  if (parts_of(facts) >= facts_limits) return layout_8;
  if (facts.waits) return layout_7;
  if (has_grown(facts)) return layout_6;
  if (facts.member) return layout_5;
  return has_steps(facts) ? layout_4 : facts.grant ? layout_3 : layout_2;
}

std::uint32_t get_parts(Decoder& in, std::uint32_t all) {
  const std::uint32_t parts = in.u32();
  if ((parts & ~all) != 0) in.refuse();
  return parts;
}

// What follows in a spec of an earlier layout.
std::uint32_t parts_of_spec(Decoder& in, std::uint8_t layout) {
  if (layout >= layout_5) return get_parts(in, all_spec_parts);
  if (layout == layout_4) return in.boolean() ? spec_member | spec_schedule : spec_schedule;
  return layout == layout_3 ? static_cast<std::uint32_t>(spec_member) : 0;
}

std::uint32_t parts_of_facts(std::uint8_t layout) {
  if (layout < layout_4) return 0;
  return facts_steps | (layout >= layout_5 ? facts_member : 0U) | (layout >= layout_6 ? facts_growth : 0U);
}

}  // namespace

KeyringRecord::SigningKey make_signing_key(std::uint32_t key_id, TimestampMs created_at, const Entropy& entropy) {
  KeyringRecord::SigningKey key{key_id, {}, created_at, 0};
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t bits = entropy();
    key.secret.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return key;
}

std::string encode(const Spec& spec) {
  Encoder out;
  out.reserve(160 + spec.payload.size());
  const std::uint8_t layout = layout_for(spec);
  out.u8(layout);
  out.text(spec.name_space);
  out.text(spec.lane);
  out.text(spec.kind);
  out.text(spec.creator);
  out.text(spec.payload_encoding);
  out.text(spec.payload);
  out.unsigned_number(spec.payload_bytes);
  put_strings(out, spec.required_capabilities);
  out.unsigned_number(0);  // earlier versions stored the number of the route
  put_policy(out, spec.policy);
  put_retention(out, spec.namespace_retention);
  out.number(spec.deadline_span_ms);
  put_optional(out, spec.flow, [](Encoder& o, const Uuid& flow) { o.uuid(flow); });
  out.number(spec.created_at);
  out.unsigned_number(spec.request_digest);
  if (layout >= layout_2) out.text(spec.traceparent);
  if (layout >= layout_5) out.unsigned_number(parts_of(spec));
  if (spec.member) encode_into(out, *spec.member);
  if (spec.schedule) put_origin(out, *spec.schedule);
  if (spec.submit_key_kind != SubmitKeyKind::none) {
    out.enumerator(spec.submit_key_kind);
    out.text(spec.submit_key);
  }
  if (!spec.reserve.empty()) put_amounts(out, spec.reserve);
  return out.take();
}

static Result<void> decode_into(Spec& spec, std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_5);
  if (layout == 0) return Unexpected(unknown_layout("an execution's spec"));
  spec.name_space = in.text();
  spec.lane = in.text();
  spec.kind = in.text();
  spec.creator = in.text();
  spec.payload_encoding = in.text();
  spec.payload = in.text();
  spec.payload_bytes = in.unsigned_number();
  spec.required_capabilities = get_strings(in);
  (void)in.u32();  // see encode
  spec.route = route_of(spec.lane, spec.required_capabilities);
  spec.policy = get_policy(in);
  spec.namespace_retention = get_retention(in);
  spec.deadline_span_ms = in.number();
  spec.flow = get_optional(in, [](Decoder& i) { return i.uuid(); });
  spec.created_at = in.number();
  spec.request_digest = in.unsigned_number();
  if (layout >= layout_2) spec.traceparent = in.text();
  const std::uint32_t parts = parts_of_spec(in, layout);
  if ((parts & spec_member) != 0) spec.member = decode_membership(in);
  if ((parts & spec_schedule) != 0) spec.schedule = get_origin_as<ScheduleOrigin>(in);
  if ((parts & spec_submit_keys) != 0) {
    spec.submit_key_kind = in.enumerator(SubmitKeyKind::throttle);
    spec.submit_key = in.text();
    if (spec.submit_key_kind == SubmitKeyKind::none) in.refuse();
  }
  if ((parts & spec_reserve) != 0) spec.reserve = get_amounts(in);
  return finished(in, "an execution's spec");
}

Result<Spec> decode_spec(std::string_view bytes) {
  Spec spec;
  FF_TRY_VOID(decode_into(spec, bytes));
  return spec;
}

std::string encode(const Facts& facts) {
  Encoder out;
  out.reserve(256 + facts.result.size());
  const std::uint8_t layout = layout_for(facts);
  out.u8(layout);
  out.enumerator(facts.phase);
  out.enumerator(facts.outcome);
  out.number(facts.priority);
  out.unsigned_number(facts.gates);
  out.number(facts.delay_until);
  out.enumerator(facts.delay_cause);
  out.number(facts.deadline_at);
  out.unsigned_number(facts.lease_epoch);
  put_optional(out, facts.lease, put_lease);
  out.enumerator(facts.lost.cause);
  out.unsigned_number(facts.lost.lease_epoch);
  put_optional(out, facts.pending, put_pending);
  put_optional(out, facts.attempt, put_attempt);
  out.unsigned_number(facts.attempt_count);
  out.unsigned_number(facts.retry_count);
  out.unsigned_number(facts.reclaim_count);
  out.unsigned_number(facts.replay_count);
  out.unsigned_number(facts.ready_sequence);
  out.number(facts.armed_due);
  out.number(facts.started_at);
  out.number(facts.finished_at);
  out.number(facts.last_transition_at);
  out.number(facts.last_mutation_at);
  out.number(facts.retain_until);
  put_optional(out, facts.progress, put_progress);
  put_optional(out, facts.failure, put_failure);
  out.text(facts.cancellation_reason);
  out.text(facts.cancelled_by);
  put_tags(out, facts.tags);
  put_release(out, facts.release);
  out.boolean(facts.has_result);
  out.boolean(facts.result_is_inline);
  out.text(facts.result);
  if (facts.lease) out.text(facts.lease->worker_namespace);
  if (facts.lost.cause != LeaseLoss::none) put_lost(out, facts.lost);
  put_optional(out, facts.grant, put_grant);
  if (facts.grant) put_grant_notes(out, *facts.grant);
  if (layout >= layout_8) out.unsigned_number(parts_of(facts));
  const bool steps_anyway = layout >= layout_4 && layout < layout_8;
  if (steps_anyway || has_steps(facts)) put_steps(out, facts);
  if (layout == layout_7) {
    out.boolean(facts.member.has_value());
    out.boolean(has_grown(facts));
  }
  if (facts.member) encode_into(out, *facts.member);
  if (has_grown(facts)) encode_into(out, *facts.member->growth);
  if (facts.waits) encode_into(out, *facts.waits);
  if (!facts.limits.empty()) encode_into(out, facts.limits);
  if (!facts.submit.empty()) encode_into(out, facts.submit);
  if (!facts.letter.empty()) encode_into(out, facts.letter);
  return out.take();
}

static void get_facts_parts(Decoder& in, std::uint8_t layout, Facts& facts) {
  std::uint32_t parts = layout >= layout_8 ? get_parts(in, all_facts_parts) : parts_of_facts(layout);
  if ((parts & facts_steps) != 0) get_steps(in, facts);
  if (layout == layout_7) {
    parts = facts_waits;
    if (in.boolean()) parts |= facts_member;
    if (in.boolean()) parts |= facts_growth;
  }
  if ((parts & facts_growth) != 0 && (parts & facts_member) == 0) in.refuse();
  if ((parts & facts_member) != 0) facts.member = decode_member_facts(in);
  if (facts.member && (parts & facts_growth) != 0) facts.member->growth = decode_member_growth(in);
  if ((parts & facts_waits) != 0) facts.waits = decode_waits(in);
  if ((parts & facts_limits) != 0) facts.limits = decode_limit_facts(in);
  if ((parts & facts_submit_keys) != 0) facts.submit = decode_submit_facts(in);
  if ((parts & facts_letter) != 0) facts.letter = decode_letter_facts(in);
}

static Result<void> decode_into(Facts& facts, std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_8);
  if (layout == 0) return Unexpected(unknown_layout("an execution's facts"));
  facts.phase = in.enumerator(Phase::terminal);
  facts.outcome = in.enumerator(Outcome::skipped);
  facts.priority = in.i32();
  facts.gates = in.u32();
  facts.delay_until = in.number();
  facts.delay_cause = in.enumerator(DelayCause::reclaim_grace);
  facts.deadline_at = in.number();
  facts.lease_epoch = in.unsigned_number();
  facts.lease = get_optional(in, get_lease);
  facts.lost.cause = in.enumerator(LeaseLoss::revoked);
  facts.lost.lease_epoch = in.unsigned_number();
  facts.pending = get_optional(in, get_pending);
  facts.attempt = get_optional(in, get_attempt);
  facts.attempt_count = in.u32();
  facts.retry_count = in.u32();
  facts.reclaim_count = in.u32();
  facts.replay_count = in.u32();
  facts.ready_sequence = in.unsigned_number();
  facts.armed_due = in.number();
  facts.started_at = in.number();
  facts.finished_at = in.number();
  facts.last_transition_at = in.number();
  facts.last_mutation_at = in.number();
  facts.retain_until = in.number();
  facts.progress = get_optional(in, get_progress);
  facts.failure = get_optional(in, get_failure);
  facts.cancellation_reason = in.text();
  facts.cancelled_by = in.text();
  facts.tags = get_tags(in);
  facts.release = get_release(in);
  facts.has_result = in.boolean();
  facts.result_is_inline = in.boolean();
  facts.result = in.text();
  if (layout >= layout_2) {
    if (facts.lease) facts.lease->worker_namespace = in.text();
    if (facts.lost.cause != LeaseLoss::none) get_lost(in, facts.lost);
    facts.grant = get_optional(in, get_grant);
  }
  if (layout >= layout_3 && facts.grant) get_grant_notes(in, *facts.grant);
  get_facts_parts(in, layout, facts);
  if (layout >= layout_8 && ((facts.gates & limit_gate) != 0) != facts.limits.held.has_value()) in.refuse();
  // A failed execution whose fingerprint is known has a letter.
  if ((facts.letter.fingerprint != 0) != (facts.letter.version != 0)) in.refuse();
  // It is suspended if and only if it waits for something.
  if ((facts.phase == Phase::suspended) != (facts.waits && facts.waits->wait)) in.refuse();
  return finished(in, "an execution's facts");
}

Result<Facts> decode_facts(std::string_view bytes) {
  Facts facts;
  FF_TRY_VOID(decode_into(facts, bytes));
  return facts;
}

std::string encode(const Attempt& attempt) {
  Encoder out;
  out.u8(layout_1);
  put_attempt(out, attempt);
  return out.take();
}

Result<Attempt> decode_attempt(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("an attempt"));
  Attempt attempt = get_attempt(in);
  return finished(in, std::move(attempt), "an attempt");
}

std::string encode(const LaneRecord& record) {
  const LaneInfo& info = record.info;
  const bool registered = info.registered_at != 0 || !info.registered_by.empty();
  Encoder out;
  out.u8(registered ? layout_2 : layout_1);
  out.text(record.info.lane);
  out.enumerator(record.info.state);
  out.number(record.info.changed_at);
  out.text(record.info.changed_by);
  out.text(record.info.reason);
  if (registered) {
    out.number(info.registered_at);
    out.text(info.registered_by);
  }
  return out.take();
}

Result<LaneRecord> decode_lane(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in);
  if (layout == 0) return Unexpected(unknown_layout("a lane"));
  LaneRecord record;
  record.info.lane = in.text();
  record.info.state = in.enumerator(LaneState::disabled);
  record.info.changed_at = in.number();
  record.info.changed_by = in.text();
  record.info.reason = in.text();
  if (layout == layout_2) {
    record.info.registered_at = in.number();
    record.info.registered_by = in.text();
  }
  return finished(in, std::move(record), "a lane");
}

std::string encode(const NamespaceRecord& record) {
  Encoder out;
  out.u8(layout_1);
  out.text(record.info.name_space);
  put_retention(out, record.info.retention);
  return out.take();
}

Result<NamespaceRecord> decode_namespace(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("a namespace"));
  NamespaceRecord record;
  record.info.name_space = in.text();
  record.info.retention = get_retention(in);
  return finished(in, std::move(record), "a namespace");
}

std::string encode(const IdempotencyRecord& record) {
  Encoder out;
  out.u8(layout_1);
  out.unsigned_number(record.execution_id.partition);
  out.uuid(record.execution_id.uuid);
  out.unsigned_number(record.request_digest);
  out.number(record.expires_at);
  out.number(record.armed_due);
  return out.take();
}

Result<IdempotencyRecord> decode_idempotency(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("an idempotency key"));
  IdempotencyRecord record;
  record.execution_id.partition = in.u16();
  record.execution_id.uuid = in.uuid();
  record.request_digest = in.unsigned_number();
  record.expires_at = in.number();
  record.armed_due = in.number();
  return finished(in, record, "an idempotency key");
}

std::string encode(const KeyringRecord& record) {
  Encoder out;
  out.u8(layout_2);
  out.unsigned_number(record.keys.size());
  for (const auto& key : record.keys) {
    out.unsigned_number(key.key_id);
    out.text(key.secret);
    out.number(key.created_at);
    out.number(key.expires_at);
  }
  return out.take();
}

Result<KeyringRecord> decode_keyring(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in);
  if (layout == 0) return Unexpected(unknown_layout("the keyring"));
  KeyringRecord record;
  record.keys.resize(in.count());
  for (auto& key : record.keys) {
    key.key_id = in.u32();
    key.secret = in.text();
    if (layout == layout_1) continue;
    key.created_at = in.number();
    key.expires_at = in.number();
  }
  return finished(in, std::move(record), "the keyring");
}

std::string encode(const ApiKeysRecord& record) {
  Encoder out;
  out.u8(layout_2);
  out.unsigned_number(record.keys.size());
  for (const auto& [info, secret_hash] : record.keys) {
    out.text(info.key_id);
    out.text(info.name);
    out.u8(static_cast<std::uint8_t>(info.role));
    put_optional(out, info.name_space, [](Encoder& o, const std::string& text) { o.text(text); });
    out.number(info.created_at);
    out.text(info.created_by);
    out.number(info.expires_at);
    out.text(secret_hash);
  }
  return out.take();
}

Result<ApiKeysRecord> decode_api_keys(std::string_view bytes) {
  Decoder in(bytes);
  if (layout_of(in) == 0) return Unexpected(unknown_layout("the API keys"));
  ApiKeysRecord record;
  record.keys.resize(in.count());
  for (auto& [info, secret_hash] : record.keys) {
    info.key_id = in.text();
    info.name = in.text();
    info.role = in.enumerator(ApiRole::admin);
    info.name_space = get_optional(in, [](Decoder& i) { return i.text(); });
    info.created_at = in.number();
    info.created_by = in.text();
    info.expires_at = in.number();
    secret_hash = in.text();
  }
  return finished(in, std::move(record), "the API keys");
}

std::string encode(const WorkerRecord& record) {
  const WorkerInfo& info = record.info;
  Encoder out;
  out.reserve(128);
  out.u8(layout_1);
  out.text(info.name_space);
  out.text(info.worker_id);
  out.text(info.worker_instance_id);
  put_strings(out, info.lanes);
  put_strings(out, info.capabilities);
  out.unsigned_number(info.liveness_ttl_ms);
  out.number(info.registered_at);
  out.number(info.last_heartbeat_at);
  out.number(info.expires_at);
  out.boolean(info.draining);
  out.enumerator(info.state);
  out.number(info.ended_at);
  out.text(info.ended_by);
  out.text(info.reason);
  out.number(record.release_until);
  out.number(record.armed_due);
  return out.take();
}

Result<WorkerRecord> decode_worker(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("a worker"));
  WorkerRecord record;
  WorkerInfo& info = record.info;
  info.name_space = in.text();
  info.worker_id = in.text();
  info.worker_instance_id = in.text();
  info.lanes = get_strings(in);
  info.capabilities = get_strings(in);
  info.liveness_ttl_ms = in.u32();
  info.registered_at = in.number();
  info.last_heartbeat_at = in.number();
  info.expires_at = in.number();
  info.draining = in.boolean();
  info.state = in.enumerator(WorkerState::ttl_swept);
  info.ended_at = in.number();
  info.ended_by = in.text();
  info.reason = in.text();
  info.partition = worker_partition(info.worker_instance_id);
  record.release_until = in.number();
  record.armed_due = in.number();
  return finished(in, std::move(record), "a worker");
}

std::string encode(const Event& event) {
  Encoder out;
  out.reserve(96);
  out.u8(event.flow_id ? layout_3 : event.worker_instance_id.empty() ? layout_1 : layout_2);
  out.enumerator(event.type);
  out.number(event.at);
  put_optional(out, event.execution_id, put_id);
  out.text(event.name_space);
  out.text(event.lane);
  out.text(event.kind);
  put_optional(out, event.attempt_index, put_u32);
  out.unsigned_number(event.lease_epoch);
  out.enumerator(event.state_before);
  out.enumerator(event.state_after);
  out.text(event.actor);
  out.text(event.reason);
  out.number(event.next_at);
  if (event.flow_id || !event.worker_instance_id.empty()) out.text(event.worker_instance_id);
  if (event.flow_id) put_id(out, *event.flow_id);
  return out.take();
}

Result<Event> decode_event(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_3);
  if (layout == 0) return Unexpected(unknown_layout("an event"));
  Event event;
  event.type = in.enumerator(EventType::budget_adjusted);
  if (event.type < EventType::created) return fail(Errc::corruption, "stored bytes of an event have an unknown type");
  event.at = in.number();
  event.execution_id = get_optional(in, get_id);
  event.name_space = in.text();
  event.lane = in.text();
  event.kind = in.text();
  event.attempt_index = get_optional(in, get_u32);
  event.lease_epoch = in.unsigned_number();
  event.state_before = in.enumerator(PublicState::skipped);
  event.state_after = in.enumerator(PublicState::skipped);
  event.actor = in.text();
  event.reason = in.text();
  event.next_at = in.number();
  if (layout >= layout_2) event.worker_instance_id = in.text();
  if (layout >= layout_3) event.flow_id = get_id(in);
  return finished(in, std::move(event), "an event");
}

Result<void> decode_execution_into(Execution& execution, const Record& record) {
  if (record.key.bytes.size() != execution_key_bytes) {
    return fail(Errc::corruption, "the stored key of an execution has a wrong length");
  }
  execution.id = execution_id_of(record.key);
  FF_TRY_VOID(decode_into(execution.spec, record.fixed));
  FF_TRY_VOID(decode_into(execution.facts, record.body));
  const SubmitKeyKind holds = execution.facts.submit.holds;
  if (holds != SubmitKeyKind::none && holds != execution.spec.submit_key_kind) {
    return fail(Errc::corruption, "an execution holds a key under which it was not created");
  }
  const auto& member = execution.facts.member;
  if (!member) return {};
  const bool fits = execution.spec.member && (!member->growth || grow(*execution.spec.member, *member->growth)) &&
                    execution.spec.member->groups.size() == member->groups.size();
  if (!fits) return fail(Errc::corruption, "the edges of a node of a flow do not fit to what is known of them");
  return {};
}

Result<Execution> decode_execution(const Record& record) {
  Execution execution;
  FF_TRY_VOID(decode_execution_into(execution, record));
  return execution;
}

}  // namespace flowfabric
