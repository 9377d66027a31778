// The stored records of dead letters and of redrives.
//
// An execution that ends as failed gets a small record beside it, its *letter*: it is listed and counted under the
// fingerprint of the failure, and found in a group of the due index, which executions themselves are in under their state. A
// letter is written and erased in the change sets of its execution and follows from its facts alone (`letter_of`), so it
// cannot be forgotten. docs/decisions/0113-dead-letters.md has the reasons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <flowfabric/dead_letters.hpp>

#include "core/changes.hpp"
#include "core/rate.hpp"

namespace flowfabric {

struct Execution;

// Of an execution that has failed, or was replayed by a redrive.
struct LetterFacts {
  std::uint64_t fingerprint = 0;    // of its failure, while it is failed. 0: it failed under an earlier version
  std::uint64_t version = 0;        // of the record of its letter, which is never rewritten
  std::optional<Uuid> redriven_by;  // the last redrive that replayed it

  bool empty() const { return fingerprint == 0 && version == 0 && !redriven_by; }
  friend bool operator==(const LetterFacts&, const LetterFacts&) = default;
};

// All of it is written once.
struct LetterRecord {
  std::string name_space;
  std::string lane;
  std::string kind;
  std::uint64_t fingerprint = 0;
  TimestampMs failed_at = 0;

  friend bool operator==(const LetterRecord&, const LetterRecord&) = default;
};

struct Letter {
  Key key;
  LetterRecord record;
  std::uint64_t version = 0;
};

// That the execution should have; nothing unless it is failed and its fingerprint is known.
std::optional<Letter> letter_of(const Execution& execution);
// Each life of an execution has another letter.
Key letter_key(const ExecutionId& id, std::uint32_t replay_count);
ExecutionId execution_of_letter(const Key& key);
// The letters of a fingerprint are a group of the due index, ranked by the time of the failure.
std::uint64_t group_of_letters(std::string_view name_space, std::uint64_t fingerprint);
DueEntry due_entry_of(const Key& key, const LetterRecord& letter);
// Letters are counted by what stands in the place of the lane: the fingerprint, the lane and the kind.
Listing listing_of(const LetterRecord& letter);
struct LetterLine {
  std::uint64_t fingerprint = 0;
  std::string lane;
  std::string kind;

  friend auto operator<=>(const LetterLine&, const LetterLine&) = default;
};
std::string text_of(const LetterLine& line);
std::optional<LetterLine> decode_letter_line(std::string_view text);

// Adds the change of the letter, with its due entry and its counter.
void put_letter(const Letter& letter, ChangeSet& set);
void erase_letter(const Letter& letter, ChangeSet& set);

std::string encode(const LetterRecord& letter);
Result<LetterRecord> decode_letter(const Record& record);

// The counter of those that a redrive has replayed and that are failed now.
std::string failed_again_counter(const Uuid& redrive);
// That the execution is counted in; empty: none.
std::string failed_again_counter_of(const Execution& execution);

// ---- Redrives

// How far a redrive has come in a group of the due index.
struct LetterPosition {
  std::int64_t rank = 0;
  Key key;

  friend bool operator==(const LetterPosition&, const LetterPosition&) = default;
};

struct RedriveRecord {
  // Written once.
  Uuid id;
  std::string name_space;
  TimestampMs created_at = 0;  // what fails later is not meant
  RedriveSelection selection;
  std::string rate_text;
  std::optional<RateLimit> rate;
  std::vector<std::uint64_t> fingerprints;  // the groups to go through; 0: older failures
  std::uint64_t found = 0;
  std::string created_by;
  std::string reason;

  RedriveState state = RedriveState::running;
  std::uint64_t replayed = 0;
  std::uint64_t refused = 0;
  std::uint64_t passed = 0;  // looked at: replayed, refused, or not meant
  std::vector<RefusedRedrive> refusals;
  std::uint32_t next = 0;  // of `fingerprints`, or of the selected executions
  std::optional<LetterPosition> after;
  RateState rate_state;
  TimestampMs changed_at = 0;
  std::string changed_by;
  TimestampMs finished_at = 0;
  TimestampMs next_at = 0;  // when the clock goes on, while it is running
  TimestampMs armed_due = 0;

  bool has_ended() const { return state == RedriveState::completed || state == RedriveState::cancelled; }
};

// The reason of the event that a redrive leaves with each execution begins with this.
inline constexpr std::string_view redrive_reason = "redrive ";
Key redrive_key(const Uuid& id);
// "" if the key is none of a redrive.
std::string redrive_id_of(const Key& key);
// The same for every call with this key.
Uuid redrive_id_for(std::string_view name_space, std::string_view idempotency_key);
// "100/1m"; s, m, h and d are the units of a period.
Result<RateLimit> parse_redrive_rate(std::string_view text);
// When the clock has to look at it; 0: never.
TimestampMs next_due(const RedriveRecord& redrive);
Listing listing_of(const RedriveRecord& redrive);
// Without the count of those that failed again.
RedriveInfo info_of(const RedriveRecord& redrive);

std::string encode_fixed(const RedriveRecord& redrive);
std::string encode(const RedriveRecord& redrive);
Result<RedriveRecord> decode_redrive(const Record& record);

class Encoder;
class Decoder;
void encode_into(Encoder& out, const LetterFacts& facts);
LetterFacts decode_letter_facts(Decoder& in);

}  // namespace flowfabric
