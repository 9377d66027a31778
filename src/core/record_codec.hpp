// What the encodings of several kinds of records have in common.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/operations.hpp>

#include "base/check.hpp"
#include "base/codec.hpp"

namespace flowfabric::record_codec {

// Every encoding starts with its layout. Each layout is the one before with more behind it; what older ones wrote is still
// read.
inline constexpr std::uint8_t layout_1 = 1;
inline constexpr std::uint8_t layout_2 = 2;
inline constexpr std::uint8_t layout_3 = 3;
inline constexpr std::uint8_t layout_4 = 4;
inline constexpr std::uint8_t layout_5 = 5;
inline constexpr std::uint8_t layout_6 = 6;
inline constexpr std::uint8_t layout_7 = 7;
inline constexpr std::uint8_t layout_8 = 8;

template <class T, class F>
inline void put_optional(Encoder& out, const std::optional<T>& value, F put) {
  out.boolean(value.has_value());
  if (value) put(out, *value);
}

template <class F>
auto get_optional(Decoder& in, F get) -> std::optional<decltype(get(in))> {
  std::optional<decltype(get(in))> value;
  if (in.boolean()) value.emplace(get(in));
  return value;
}

inline void put_strings(Encoder& out, const std::vector<std::string>& values) {
  out.unsigned_number(values.size());
  for (const auto& value : values) out.text(value);
}

inline std::vector<std::string> get_strings(Decoder& in) {
  std::vector<std::string> values(in.count());
  for (auto& value : values) value = in.text();
  return values;
}

inline void put_number(Encoder& out, std::int64_t value) { out.number(value); }
inline std::int64_t get_number(Decoder& in) { return in.number(); }
inline void put_u32(Encoder& out, std::uint32_t value) { out.unsigned_number(value); }
inline std::uint32_t get_u32(Decoder& in) { return in.u32(); }

inline void put_id(Encoder& out, const ExecutionId& id) {
  out.unsigned_number(id.partition);
  out.uuid(id.uuid);
}
inline ExecutionId get_id(Decoder& in) {
  ExecutionId id;
  id.partition = in.u16();
  id.uuid = in.uuid();
  return id;
}

inline void put_retry(Encoder& out, const RetryPolicy& policy) {
  out.unsigned_number(policy.max_retries);
  out.enumerator(policy.backoff);
  out.number(policy.initial_delay_ms);
  out.number(policy.max_delay_ms);
  out.unsigned_number(policy.multiplier_percent);
  out.enumerator(policy.jitter);
  put_strings(out, policy.retryable_categories);
}

inline RetryPolicy get_retry(Decoder& in) {
  RetryPolicy policy;
  policy.max_retries = in.u32();
  policy.backoff = in.enumerator(RetryPolicy::Backoff::fixed);
  policy.initial_delay_ms = in.number();
  policy.max_delay_ms = in.number();
  policy.multiplier_percent = in.u32();
  policy.jitter = in.enumerator(RetryPolicy::Jitter::full);
  policy.retryable_categories = get_strings(in);
  return policy;
}

inline void put_retention(Encoder& out, const RetentionPolicy& policy) {
  for (const auto& keep :
       {policy.completed_ms, policy.failed_ms, policy.cancelled_ms, policy.expired_ms, policy.skipped_ms}) {
    put_optional(out, keep, put_number);
  }
}

inline RetentionPolicy get_retention(Decoder& in) {
  RetentionPolicy policy;
  for (auto* keep :
       {&policy.completed_ms, &policy.failed_ms, &policy.cancelled_ms, &policy.expired_ms, &policy.skipped_ms}) {
    *keep = get_optional(in, get_number);
  }
  return policy;
}

inline void put_policy(Encoder& out, const Policy& policy) {
  put_optional(out, policy.retry, put_retry);
  put_optional(out, policy.attempt_timeout_ms, put_number);
  out.enumerator(policy.on_lease_lost);
  out.number(policy.reclaim_grace_ms);
  out.unsigned_number(policy.max_reclaims);
  out.unsigned_number(policy.max_replays);
  out.number(policy.dedup_window_ms);
  put_retention(out, policy.retention);
}

inline Policy get_policy(Decoder& in) {
  Policy policy;
  policy.retry = get_optional(in, get_retry);
  policy.attempt_timeout_ms = get_optional(in, get_number);
  policy.on_lease_lost = in.enumerator(OnLeaseLost::manual);
  policy.reclaim_grace_ms = in.number();
  policy.max_reclaims = in.u32();
  policy.max_replays = in.u32();
  policy.dedup_window_ms = in.number();
  policy.retention = get_retention(in);
  return policy;
}

inline void put_tags(Encoder& out, const Tags& tags) {
  out.unsigned_number(tags.size());
  for (const auto& [key, value] : tags) {
    out.text(key);
    out.text(value);
  }
}

inline Tags get_tags(Decoder& in) {
  Tags tags;
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    std::string key = in.text();
    tags[std::move(key)] = in.text();
  }
  return tags;
}

inline void put_amounts(Encoder& out, const Amounts& amounts) {
  out.unsigned_number(amounts.size());
  for (const auto& [name, amount] : amounts) {
    out.text(name);
    out.number(amount);
  }
}

inline Amounts get_amounts(Decoder& in) {
  Amounts amounts;
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    std::string name = in.text();
    amounts[std::move(name)] = in.number();
  }
  return amounts;
}

inline Result<void> finished(const Decoder& in, const char* what) {
  if (!in.at_end()) return fail(Errc::corruption, std::string("stored bytes of ") + what + " cannot be decoded");
  return {};
}

template <class T>
Result<T> finished(const Decoder& in, T value, const char* what) {
  FF_TRY_VOID(finished(in, what));
  return value;
}

inline bool known_layout(Decoder& in) { return in.u8() == layout_1; }

// For kinds that have several layouts; 0 when it is none of them.
inline std::uint8_t layout_of(Decoder& in, std::uint8_t newest = layout_2) {
  const std::uint8_t layout = in.u8();
  return layout >= layout_1 && layout <= newest ? layout : 0;
}

inline Error unknown_layout(const char* what) {
  return Error{Errc::corruption, std::string("stored bytes of ") + what + " have an unknown layout", {}, {}};
}

// What the spec of an execution or a flow of a schedule has more.
template <class Origin>
void put_origin(Encoder& out, const Origin& origin) {
  out.text(origin.name);
  out.unsigned_number(origin.incarnation);
  out.number(origin.scheduled_at);
  out.boolean(origin.tells);
}
template <class Origin>
Origin get_origin_as(Decoder& in) {
  Origin origin;
  origin.name = in.text();
  origin.incarnation = in.unsigned_number();
  origin.scheduled_at = in.number();
  origin.tells = in.boolean();
  return origin;
}

}  // namespace flowfabric::record_codec
