// The record of a key at submission: which execution has it, and what was used of a throttle.
#pragma once

#include <string>
#include <string_view>

#include <flowfabric/ids.hpp>
#include <flowfabric/submit_keys.hpp>

#include "base/codec.hpp"
#include "core/changes.hpp"
#include "core/rate.hpp"

namespace flowfabric {

struct SubmitKeyRecord {
  // Written once.
  std::string name_space;
  SubmitKeyKind kind = SubmitKeyKind::none;
  std::string key;
  // unique: the execution that has the key. debounce: the one that creates still change. throttle: the one created last.
  ExecutionId execution_id;
  RateState starts;            // throttle: the creations
  TimestampMs expires_at = 0;  // throttle: then it is of no use any more. The others go with what their execution does
  TimestampMs armed_due = 0;

  friend bool operator==(const SubmitKeyRecord&, const SubmitKeyRecord&) = default;
};

// What the last create under a debounce key has changed of its execution. The payload is a satellite.
struct NewestInput {
  std::uint64_t payload_bytes = 0;
  std::string payload_encoding;
  std::int64_t deadline_span_ms = 0;

  friend bool operator==(const NewestInput&, const NewestInput&) = default;
};

// The part of the facts of an execution that keys at submission need.
struct SubmitFacts {
  SubmitKeyKind holds = SubmitKeyKind::none;  // the record of its key names it; never throttle
  std::uint32_t merged = 0;                   // later creates whose input it took
  std::optional<NewestInput> newest;          // of the last of them

  bool empty() const { return holds == SubmitKeyKind::none && merged == 0 && !newest; }
  friend bool operator==(const SubmitFacts&, const SubmitFacts&) = default;
};

// A hash of all three. An execution that was created with the key is in the partition of this record.
Key submit_key(SubmitKeyKind kind, std::string_view name_space, std::string_view key);

std::string encode_fixed(const SubmitKeyRecord& record);
std::string encode(const SubmitKeyRecord& record);
Result<SubmitKeyRecord> decode_submit_key(const Record& record);

void encode_into(Encoder& out, const SubmitFacts& facts);
SubmitFacts decode_submit_facts(Decoder& in);

}  // namespace flowfabric
