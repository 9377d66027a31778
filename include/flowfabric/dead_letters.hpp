// Dead letters: executions that ended as failed, in groups of equal failures, and redrives, which replay many of them at a
// rate. docs/dead-letters.md has the rules.
//
// Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/limits.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric {

// What stands in the place of the fingerprint for executions that failed under a version that computed none.
inline constexpr const char* older_failures = "older";

struct DeadLetterLane {
  std::string lane{};
  std::uint64_t count = 0;

  friend bool operator==(const DeadLetterLane&, const DeadLetterLane&) = default;
};

// The failed executions of one namespace whose failures have the same kind of execution, category and message, apart from
// numbers, ids, paths and quoted texts in the message.
struct DeadLetterGroup {
  std::string name_space{};
  std::string fingerprint{};  // 16 hexadecimal digits, or "older"
  std::string kind{};
  std::string category{};
  std::string message{};  // with placeholders
  std::string example{};  // the message of the newest
  std::uint64_t count = 0;
  TimestampMs first_at = 0;  // when the first of them failed; 0: unknown
  TimestampMs last_at = 0;
  std::vector<DeadLetterLane> lanes{};  // most first

  friend bool operator==(const DeadLetterGroup&, const DeadLetterGroup&) = default;
};

struct ListDeadLettersRequest {
  std::optional<std::string> name_space{};  // absent: all namespaces
  std::optional<std::string> lane{};        // groups with failures on this lane; their counts are those of the lane
  std::optional<std::string> kind{};
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListDeadLettersReply {
  std::vector<DeadLetterGroup> groups{};  // the largest first
  std::uint64_t executions = 0;           // in all groups, not only those of this page
  std::uint64_t total_groups = 0;
  std::string next_cursor{};  // empty: this is the last page
};

// One execution of a group.
struct DeadLetter {
  ExecutionSummary summary{};
  Failure failure{};
  TimestampMs failed_at = 0;
  std::uint32_t replay_count = 0;
  std::uint32_t max_replays = 0;
  std::string redrive_id{};  // of the last redrive that replayed it; empty: none

  friend bool operator==(const DeadLetter&, const DeadLetter&) = default;
};

struct GetDeadLettersRequest {
  std::string name_space = "default";
  std::string fingerprint{};
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct DeadLetterDetails {
  DeadLetterGroup group{};
  std::vector<DeadLetter> executions{};  // the last failure first; of older failures the first created one first
  std::string next_cursor{};             // empty: this is the last page. A page with a cursor may be short
};

// ---- Redrives

// Values are stored; append only.
enum class RedriveState : std::uint8_t { running, paused, completed, cancelled };

std::string_view to_string(RedriveState value);
Result<RedriveState> parse_redrive_state(std::string_view text);

// Which dead letters are replayed: all that every given field is true of. At least one field is given, or `all`.
struct RedriveSelection {
  bool all = false;  // every dead letter of the namespace
  std::vector<std::string> fingerprints{};
  std::vector<ExecutionId> execution_ids{};  // these; no other field can be given then
  std::optional<std::string> lane{};
  std::optional<std::string> kind{};
  std::optional<std::string> category{};
  std::optional<std::pair<std::string, std::string>> tag{};
  std::optional<TimestampMs> failed_from{}, failed_before{};  // from <= time of the failure < before

  friend bool operator==(const RedriveSelection&, const RedriveSelection&) = default;
};

struct RedriveRequest : RedriveSelection {
  std::string name_space = "default";
  // "100/1m": so many replays in a period, spread evenly over it. Empty: as fast as they go.
  std::string rate{};
  bool paused = false;  // it does nothing until it is resumed
  // Repeating the call with the same key returns the redrive that the first call made, while that is kept.
  std::string idempotency_key{};
};

// Why dead letters were not replayed. Values are stored; append only.
enum class RedriveRefusal : std::uint8_t {
  max_replays,  // the policy allows no more replays
  flow_node,    // it is a node of a flow, which is replayed instead
  not_failed,   // one of `execution_ids` that is not failed, any more or at all
  not_found,    // one of `execution_ids` that does not exist in the namespace
  damaged,      // its stored record cannot be decoded
  unique_key,   // another execution has its unique key
};

std::string_view to_string(RedriveRefusal value);

struct RefusedRedrive {
  ExecutionId execution_id{};
  RedriveRefusal reason = RedriveRefusal::max_replays;

  friend bool operator==(const RefusedRedrive&, const RefusedRedrive&) = default;
};

struct RedriveInfo {
  std::string redrive_id{};
  std::string name_space{};
  RedriveState state = RedriveState::running;
  RedriveSelection selection{};
  std::string rate{};
  std::uint64_t found = 0;  // dead letters that could be meant when it was made
  std::uint64_t replayed = 0;
  std::uint64_t refused = 0;               // see `refusals`
  std::uint64_t left = 0;                  // that it has still to look at, at most
  std::uint64_t failed_again = 0;          // those that it replayed and that are failed now
  std::vector<RefusedRedrive> refusals{};  // the first hundred
  TimestampMs created_at = 0;
  TimestampMs changed_at = 0;
  TimestampMs finished_at = 0;
  TimestampMs next_at = 0;  // when it goes on, if its rate makes it wait
  std::string created_by{};
  std::string changed_by{};
  std::string reason{};    // of the one who made it
  bool duplicate = false;  // in the reply to a call that was repeated with the same idempotency key
  std::string damage{};    // why the stored record cannot be decoded, in listings

  friend bool operator==(const RedriveInfo&, const RedriveInfo&) = default;
};

struct ListRedrivesRequest {
  std::optional<std::string> name_space{};  // absent: all namespaces
  std::vector<RedriveState> states{};       // any of these; empty: all
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListRedrivesReply {
  std::vector<RedriveInfo> redrives{};  // the newest first
  std::string next_cursor{};
};

enum class RedriveAction : std::uint8_t { pause, resume, cancel };

}  // namespace flowfabric
