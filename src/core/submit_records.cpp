#include "core/submit_records.hpp"

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "core/record_codec.hpp"
#include "core/records.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_newest(Encoder& out, const NewestInput& newest) {
  out.unsigned_number(newest.payload_bytes);
  out.text(newest.payload_encoding);
  out.number(newest.deadline_span_ms);
}

NewestInput get_newest(Decoder& in) {
  NewestInput newest;
  newest.payload_bytes = in.unsigned_number();
  newest.payload_encoding = in.text();
  newest.deadline_span_ms = in.number();
  return newest;
}

Result<void> decode_fixed(SubmitKeyRecord& record, std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("a key at submission"));
  record.name_space = in.text();
  record.kind = in.enumerator(SubmitKeyKind::throttle);
  record.key = in.text();
  return finished(in, "a key at submission");
}

// Without a key nothing is added, so digests that are stored stay right.
void put_submit_keys(Encoder& out, const CreateRequest& request) {
  if (const auto& unique = request.unique) {
    out.text("unique");
    out.text(unique->key);
    out.enumerator(unique->on_conflict);
  }
  if (const auto& debounce = request.debounce) {
    out.text("debounce");
    out.text(debounce->key);
    out.number(debounce->delay_ms);
    put_optional(out, debounce->max_wait_ms, put_number);
  }
  if (const auto& throttle = request.throttle) {
    out.text("throttle");
    out.text(throttle->key);
    out.unsigned_number(throttle->count);
    out.number(throttle->period_ms);
    out.enumerator(throttle->on_limit);
  }
}

}  // namespace

// The kind is not text, and a namespace has no control characters: no two of them read alike.
Key submit_key(SubmitKeyKind kind, std::string_view name_space, std::string_view key) {
  std::string joined(1, static_cast<char>(kind));
  joined += name_space;
  joined += '\0';
  joined += key;
  const Sha256 digest = sha256(joined);
  const std::string_view id(reinterpret_cast<const char*>(digest.data()), digest.size());
  return make_key(RecordKind::submit_key, id, partition_of(id));
}

std::string encode_fixed(const SubmitKeyRecord& record) {
  Encoder out;
  out.u8(layout_1);
  out.text(record.name_space);
  out.enumerator(record.kind);
  out.text(record.key);
  return out.take();
}

std::string encode(const SubmitKeyRecord& record) {
  Encoder out;
  out.u8(layout_1);
  put_id(out, record.execution_id);
  out.unsigned_number(record.starts.starts.size());
  for (const StartsAt& starts : record.starts.starts) {
    out.number(starts.at);
    out.unsigned_number(starts.count);
  }
  out.number(record.expires_at);
  out.number(record.armed_due);
  return out.take();
}

Result<SubmitKeyRecord> decode_submit_key(const Record& stored) {
  SubmitKeyRecord record;
  FF_TRY_VOID(decode_fixed(record, stored.fixed));
  Decoder in(stored.body);
  if (!known_layout(in)) return Unexpected(unknown_layout("a key at submission"));
  record.execution_id = get_id(in);
  record.starts.starts.resize(in.count());
  for (StartsAt& starts : record.starts.starts) {
    starts.at = in.number();
    starts.count = in.u32();
  }
  record.expires_at = in.number();
  record.armed_due = in.number();
  return finished(in, std::move(record), "a key at submission");
}

void encode_into(Encoder& out, const SubmitFacts& facts) {
  out.enumerator(facts.holds);
  out.unsigned_number(facts.merged);
  put_optional(out, facts.newest, put_newest);
}

SubmitFacts decode_submit_facts(Decoder& in) {
  SubmitFacts facts;
  facts.holds = in.enumerator(SubmitKeyKind::debounce);
  facts.merged = in.u32();
  facts.newest = get_optional(in, get_newest);
  return facts;
}

std::uint64_t request_digest(const CreateRequest& request) {
  Encoder out;
  out.text(request.name_space);
  out.text(request.lane);
  out.text(request.kind);
  out.text(request.payload);
  out.text(request.payload_encoding);
  out.number(request.priority);
  put_tags(out, request.tags);
  put_strings(out, request.required_capabilities);
  put_policy(out, request.policy);
  out.text(request.creator);
  put_submit_keys(out, request);
  if (!request.reserve.empty()) put_amounts(out, request.reserve);
  return digest64(out.take());
}

}  // namespace flowfabric
