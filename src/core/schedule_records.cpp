#include "core/schedule_records.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/record_codec.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_template(Encoder& out, const CreateRequest& request) {
  out.text(request.lane);
  out.text(request.kind);
  out.text(request.payload);
  out.text(request.payload_encoding);
  out.number(request.priority);
  put_tags(out, request.tags);
  put_strings(out, request.required_capabilities);
  put_policy(out, request.policy);
  put_optional(out, request.delay_ms, put_number);
  put_optional(out, request.deadline_ms, put_number);
  out.text(request.creator);
  out.text(request.traceparent);
}

CreateRequest get_template(Decoder& in) {
  CreateRequest request;
  request.lane = in.text();
  request.kind = in.text();
  request.payload = in.text();
  request.payload_encoding = in.text();
  request.priority = in.i32();
  request.tags = get_tags(in);
  request.required_capabilities = get_strings(in);
  request.policy = get_policy(in);
  request.delay_ms = get_optional(in, get_number);
  request.deadline_ms = get_optional(in, get_number);
  request.creator = in.text();
  request.traceparent = in.text();
  return request;
}

void put_spec(Encoder& out, const ScheduleSpec& spec) {
  out.text(spec.cron);
  out.number(spec.every_ms);
  out.number(spec.anchor_at);
  out.text(spec.time_zone);
  put_strings(out, spec.exceptions);
  out.number(spec.start_at);
  out.number(spec.end_at);
  out.number(spec.jitter_ms);
  out.enumerator(spec.overlap);
  out.enumerator(spec.catch_up);
  out.unsigned_number(spec.catch_up_limit);
  out.number(spec.start_window_ms);
  put_template(out, spec.execution);
}

ScheduleSpec get_spec(Decoder& in) {
  ScheduleSpec spec;
  spec.cron = in.text();
  spec.every_ms = in.number();
  spec.anchor_at = in.number();
  spec.time_zone = in.text();
  spec.exceptions = get_strings(in);
  spec.start_at = in.number();
  spec.end_at = in.number();
  spec.jitter_ms = in.number();
  spec.overlap = in.enumerator(OverlapPolicy::cancel_running);
  spec.catch_up = in.enumerator(CatchUpPolicy::all);
  spec.catch_up_limit = in.u32();
  spec.start_window_ms = in.number();
  spec.execution = get_template(in);
  return spec;
}

void put_counts(Encoder& out, const ScheduleCounts& counts) {
  out.unsigned_number(counts.fired);
  out.unsigned_number(counts.skipped);
  out.unsigned_number(counts.missed);
  out.unsigned_number(counts.refused);
  out.unsigned_number(counts.succeeded);
  out.unsigned_number(counts.unsuccessful);
}

ScheduleCounts get_counts(Decoder& in) {
  ScheduleCounts counts;
  counts.fired = in.unsigned_number();
  counts.skipped = in.unsigned_number();
  counts.missed = in.unsigned_number();
  counts.refused = in.unsigned_number();
  counts.succeeded = in.unsigned_number();
  counts.unsuccessful = in.unsigned_number();
  return counts;
}

void put_firing(Encoder& out, const ScheduleFiring& firing) {
  out.number(firing.scheduled_at);
  out.number(firing.at);
  out.enumerator(firing.cause);
  out.enumerator(firing.outcome);
  put_optional(out, firing.execution_id, put_id);
  out.enumerator(firing.ended);
  out.unsigned_number(firing.count);
  out.text(firing.detail);
}

ScheduleFiring get_firing(Decoder& in) {
  ScheduleFiring firing;
  firing.scheduled_at = in.number();
  firing.at = in.number();
  firing.cause = in.enumerator(FiringCause::backfill);
  firing.outcome = in.enumerator(FiringOutcome::refused);
  firing.execution_id = get_optional(in, get_id);
  firing.ended = in.enumerator(Outcome::skipped);
  firing.count = in.u32();
  firing.detail = in.text();
  return firing;
}

void put_buffered(Encoder& out, const BufferedFiring& firing) {
  put_id(out, firing.execution_id);
  out.number(firing.scheduled_at);
  out.enumerator(firing.cause);
}

BufferedFiring get_buffered(Decoder& in) {
  BufferedFiring firing;
  firing.execution_id = get_id(in);
  firing.scheduled_at = in.number();
  firing.cause = in.enumerator(FiringCause::backfill);
  return firing;
}

// An id of version 8 that begins with a time, so that the executions of a schedule lie next to each other.
ExecutionId computed_id(const ScheduleRecord& schedule, TimestampMs at, std::string_view what) {
  const Key key = schedule_key(schedule.name_space, schedule.name);
  Encoder seed;
  seed.text(key.bytes);
  seed.unsigned_number(schedule.incarnation);
  seed.number(at);
  seed.text(std::string(what));
  const Sha256 digest = sha256(seed.take());
  ExecutionId id;
  id.partition = key.partition();
  for (std::size_t i = 0; i < 6; ++i) id.uuid.bytes[i] = static_cast<std::uint8_t>(at >> (40 - 8 * i));
  for (std::size_t i = 6; i < 16; ++i) id.uuid.bytes[i] = digest[i];
  id.uuid.bytes[6] = static_cast<std::uint8_t>((id.uuid.bytes[6] & 0x0f) | 0x80);
  id.uuid.bytes[8] = static_cast<std::uint8_t>((id.uuid.bytes[8] & 0x3f) | 0x80);
  return id;
}

// The history and what runs.
void put_firings(Encoder& out, const ScheduleRecord& schedule) {
  out.unsigned_number(schedule.running.size());
  for (const RunningFiring& firing : schedule.running) {
    put_id(out, firing.execution_id);
    out.number(firing.scheduled_at);
  }
  put_optional(out, schedule.buffered, put_buffered);
  out.unsigned_number(schedule.history.size());
  for (const ScheduleFiring& firing : schedule.history) put_firing(out, firing);
}

void get_firings(Decoder& in, ScheduleRecord& schedule) {
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    const ExecutionId id = get_id(in);
    schedule.running.push_back({id, in.number()});
  }
  schedule.buffered = get_optional(in, get_buffered);
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) schedule.history.push_back(get_firing(in));
}

}  // namespace

Key schedule_key(std::string_view name_space, std::string_view name) {
  // As with workers: the zero comes before anything that a name can begin with.
  std::string id(name_space);
  id += '\0';
  id += name;
  return make_key(RecordKind::schedule, id, partition_of(id));
}

std::string schedule_name_of(const Key& key) {
  if (key.bytes.size() < 3 || key.kind() != RecordKind::schedule) return {};
  const std::string_view id = key.id();
  const std::size_t zero = id.find('\0');
  return zero == std::string_view::npos ? std::string() : std::string(id.substr(zero + 1));
}

ExecutionId firing_id(const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  return computed_id(schedule, scheduled_at, "at");
}

ExecutionId trigger_id(const ScheduleRecord& schedule, TimestampMs at, std::string_view idempotency_key) {
  if (!idempotency_key.empty())
    return computed_id(schedule, schedule.created_at, "key " + std::string(idempotency_key));
  return computed_id(schedule, at, "trigger " + std::to_string(schedule.triggers));
}

std::int64_t jitter_of(const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  if (schedule.spec.jitter_ms <= 0) return 0;
  Encoder seed;
  seed.unsigned_number(schedule.incarnation);
  seed.number(scheduled_at);
  const auto span = static_cast<std::uint64_t>(schedule.spec.jitter_ms) + 1;
  return static_cast<std::int64_t>(digest64(seed.take()) % span);
}

TimestampMs next_due(const ScheduleRecord& schedule) {
  if (schedule.state == ScheduleState::deleted) return schedule.changed_at + limits::deleted_schedule_retention_ms;
  if (schedule.state == ScheduleState::paused || schedule.next_at == 0) return 0;
  if (schedule.retry_at != 0) return schedule.retry_at;
  return schedule.next_at + jitter_of(schedule, schedule.next_at);
}

Listing listing_of(const ScheduleRecord& schedule) {
  Listing listing;
  listing.name_space = schedule.name_space;
  listing.state = static_cast<std::uint8_t>(schedule.state);
  listing.created_at = schedule.first_created_at;
  return listing;
}

std::string encode_fixed(const ScheduleRecord& schedule) {
  Encoder out;
  out.u8(layout_1);
  out.text(schedule.name_space);
  out.text(schedule.name);
  out.number(schedule.first_created_at);
  return out.take();
}

std::string encode(const ScheduleRecord& schedule) {
  Encoder out;
  out.reserve(512 + schedule.spec.execution.payload.size() + 48 * schedule.history.size());
  const bool reserves = !schedule.spec.execution.reserve.empty();
  out.u8(reserves ? layout_2 : layout_1);
  out.unsigned_number(schedule.incarnation);
  out.enumerator(schedule.state);
  put_spec(out, schedule.spec);
  out.unsigned_number(schedule.revision);
  out.text(schedule.creator);
  out.number(schedule.created_at);
  out.number(schedule.changed_at);
  out.text(schedule.changed_by);
  out.text(schedule.reason);
  out.number(schedule.next_at);
  out.number(schedule.retry_at);
  out.number(schedule.last_fired_at);
  put_counts(out, schedule.counts);
  out.unsigned_number(schedule.triggers);
  put_firings(out, schedule);
  out.number(schedule.armed_due);
  if (reserves) put_amounts(out, schedule.spec.execution.reserve);
  return out.take();
}

Result<ScheduleRecord> decode_schedule(const Record& record) {
  ScheduleRecord schedule;
  Decoder fixed(record.fixed);
  if (!known_layout(fixed)) return Unexpected(unknown_layout("a schedule's name"));
  schedule.name_space = fixed.text();
  schedule.name = fixed.text();
  schedule.first_created_at = fixed.number();
  FF_TRY_VOID(finished(fixed, "a schedule's name"));
  // What it creates is found by its name: it has to be the one under which it is stored.
  constexpr std::size_t beside_names = 4;  // the kind, the zero and the partition
  const bool fits = schedule.name_space.size() + schedule.name.size() + beside_names == record.key.bytes.size() &&
                    schedule_key(schedule.name_space, schedule.name) == record.key;
  if (!fits) return fail(Errc::corruption, "the name in a stored schedule is not that of its key");
  Decoder in(record.body);
  const std::uint8_t layout = layout_of(in);
  if (layout == 0) return Unexpected(unknown_layout("a schedule"));
  schedule.incarnation = in.unsigned_number();
  schedule.state = in.enumerator(ScheduleState::deleted);
  schedule.spec = get_spec(in);
  schedule.spec.execution.name_space = schedule.name_space;
  schedule.revision = in.unsigned_number();
  schedule.creator = in.text();
  schedule.created_at = in.number();
  schedule.changed_at = in.number();
  schedule.changed_by = in.text();
  schedule.reason = in.text();
  schedule.next_at = in.number();
  schedule.retry_at = in.number();
  schedule.last_fired_at = in.number();
  schedule.counts = get_counts(in);
  schedule.triggers = in.unsigned_number();
  get_firings(in, schedule);
  schedule.armed_due = in.number();
  if (layout >= layout_2) schedule.spec.execution.reserve = get_amounts(in);
  // Times are added up: nothing outside the range of times may come from here.
  const bool sane = schedule.next_at >= 0 && schedule.next_at <= limits::max_timestamp_ms && schedule.changed_at >= 0 &&
                    schedule.changed_at <= limits::max_timestamp_ms && schedule.spec.jitter_ms >= 0 &&
                    schedule.spec.jitter_ms <= limits::max_duration_ms;
  if (in.at_end() && !sane) return fail(Errc::corruption, "a time in a stored schedule is out of range");
  return finished(in, std::move(schedule), "a schedule");
}

std::uint64_t spec_digest(const ScheduleSpec& spec) {
  Encoder out;
  put_spec(out, spec);
  if (!spec.execution.reserve.empty()) put_amounts(out, spec.execution.reserve);
  return digest64(out.take());
}

}  // namespace flowfabric
