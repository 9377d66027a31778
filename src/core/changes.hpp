// The types shared by the state machine and the stores: records, index entries, log entries, and the change sets that
// alter them. A store knows these types and nothing else; no type here names an operation.
//
// All types are plain values without invariants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/ids.hpp>

namespace flowfabric {

// First byte of every key. Values are stored; never reuse one.
enum class RecordKind : std::uint8_t {
  api_keys = 'a',
  dead_letter = 'd',
  execution = 'e',
  flow = 'f',
  hooks = 'h',
  idempotency = 'i',
  keyring = 'k',
  lane = 'l',
  flow_name = 'm',
  name_space = 'n',
  schedule_flow = 'o',
  limit_pool = 'p',
  limits = 'q',
  redrive = 'r',
  schedule = 's',
  submit_key = 'u',
  worker = 'w',
};

// The key of a root record: one kind byte, the id bytes, two bytes of partition (big endian). Keys are ordered
// bytewise, so all records of a kind are adjacent. At most `limits::max_key_bytes` long.
struct Key {
  std::string bytes;

  friend auto operator<=>(const Key&, const Key&) = default;

  RecordKind kind() const { return static_cast<RecordKind>(bytes.front()); }
  std::string_view id() const { return std::string_view(bytes).substr(1, bytes.size() - 3); }
  std::uint16_t partition() const {
    const auto high = static_cast<std::uint8_t>(bytes[bytes.size() - 2]);
    const auto low = static_cast<std::uint8_t>(bytes[bytes.size() - 1]);
    return static_cast<std::uint16_t>((high << 8) | low);
  }
};

Key make_key(RecordKind kind, std::string_view id, std::uint16_t partition);

// A root record as loaded. `version` increases by one with every commit that puts it, starting with
// `RootChange::first_version`.
struct Record {
  Key key;
  std::uint64_t version = 0;
  std::string fixed;  // written once, when the record is created
  std::string body;   // rewritten by every put
  // The position of the newest log entry of this record, in a form private to the store; empty: none. Each entry
  // contains the position of the previous one, so a history is read from here.
  std::string last_entry{};
  // The physical position of the record, in a form private to the store; 0: unknown.
  std::uint64_t place = 0;
};

// The columns by which a record can be listed. `created_at`, `flow` and the three names never change; the others change
// with the body. `state` is a small number that the store compares only for equality. `tags` is
// `\x1fkey=value\x1f...\x1f` (each tag between two unit separators; empty if there are none) so that a substring search
// finds an exact tag.
struct Listing {
  std::string name_space;
  std::string lane;
  std::string kind;
  std::string flow;  // raw id bytes, empty if the record belongs to no flow
  std::uint8_t state = 0;
  TimestampMs created_at = 0;
  TimestampMs finished_at = 0;  // 0 while not finished
  std::string tags;

  friend bool operator==(const Listing&, const Listing&) = default;
};

// A route is a lane with a set of required capabilities. Its number is computed from these two (core/route.hpp), so it
// means the same on every server and after any loss of data. 1 to 2^63 - 1.
using RouteNo = std::uint64_t;

struct Route {
  RouteNo number = 0;
  std::string lane;
  std::vector<std::string> capabilities;  // sorted, unique
  std::string name_space{};               // the first to use it; the number of routes is limited by namespace

  friend bool operator==(const Route&, const Route&) = default;
};

// The default namespace. Most executions are in it, so it is not indexed.
inline constexpr std::string_view default_namespace = "default";

// One claimable record. Order of service within a route: priority descending, then sequence ascending, then key. These
// four identify it; it can also be searched by namespace.
struct ReadyEntry {
  RouteNo route = 0;
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;  // below 2^63
  Key key;
  std::string name_space{};

  friend bool operator==(const ReadyEntry&, const ReadyEntry&) = default;
};

// The claimable records of one namespace on one route.
struct ReadyLine {
  RouteNo route = 0;
  std::string name_space;

  friend auto operator<=>(const ReadyLine&, const ReadyLine&) = default;
};

// The due time of an entry that exists only for its group. The clock never processes it.
inline constexpr TimestampMs never_due = INT64_MAX;

// One record that the clock must process at `due_at`, or that belongs to a group, or both. A record has at most one
// entry; (due_at, key) identifies it. Groups are used to find records by something other than their key or their time:
// the leases of one worker, the executions whose lease is lost. Within a group entries are ordered by (rank, key).
struct DueEntry {
  TimestampMs due_at = 0;
  Key key;
  std::uint64_t group = 0;  // below 2^63; 0: none
  std::int64_t rank = 0;

  friend bool operator==(const DueEntry&, const DueEntry&) = default;
};

// Bytes that belong to a root record but are stored separately: large payloads and results, ended attempts, stream
// frames. Identified by (root, kind, n); protected by the root's guard; removed together with the root.
struct SatelliteName {
  Key root;
  std::uint8_t kind = 0;
  std::uint32_t n = 0;

  friend auto operator<=>(const SatelliteName&, const SatelliteName&) = default;
};

struct Satellite {
  SatelliteName name;
  std::string body;
};

// A sequence of a root record only grows: bytes are appended, without rewriting the record or raising its version. The
// store numbers the entries of a sequence from 1 on, in the order of their commits; a number is never used again, also
// not after its entry was dropped. Removed together with the root.
struct SequenceName {
  Key root;
  std::uint8_t kind = 0;

  friend auto operator<=>(const SequenceName&, const SequenceName&) = default;
};

struct SequenceEntry {
  std::uint64_t n = 0;
  std::string body;

  friend bool operator==(const SequenceEntry&, const SequenceEntry&) = default;
};

struct Append {
  SequenceName sequence;
  std::string body;
};

// Removes the entries with numbers below `below`. The entries that are appended next continue the numbers.
struct SequenceDrop {
  SequenceName sequence;
  std::uint64_t below = 0;
};

// As SequenceDrop::below: the sequence goes with its numbers. Only for a record that does not exist.
inline constexpr std::uint64_t whole_sequence = UINT64_MAX;

// One entry of the event log. Subscribers can filter by the columns; `body` is the encoded event.
struct LogEntry {
  Key root;
  std::uint8_t type = 0;
  TimestampMs at = 0;
  std::string name_space;
  std::string lane;
  std::string body;
};

// A number that many add to at the same time without waiting for each other: a store keeps it in parts and adds them up
// when it is read. Not versioned, may be negative; a counter that nobody has added to is 0. The name is UTF-8.
struct Counter {
  std::string name;
  std::int64_t value = 0;

  friend bool operator==(const Counter&, const Counter&) = default;
};

// Several adds to one counter add up, within a set too.
struct CounterAdd {
  std::string counter;
  std::int64_t delta = 0;
};

// The change of one root record. `expected_version` is the guard: the version on which the decision was based, 0 for
// "does not exist".
struct RootChange {
  enum class Action : std::uint8_t {
    put,  // create (expected 0; writes `fixed`, `body`, `listing`) or rewrite `body` and the changing part of `listing`
    erase,  // remove the record with its satellites, its sequences and its log entries; expected is not 0
    check,  // only the guard. It holds until the commit: nobody changes the record meanwhile
  };
  Key key;
  std::uint64_t expected_version = 0;
  Action action = Action::put;
  std::string fixed;
  std::string body;
  std::optional<Listing> listing;  // present in every put of a kind that is listed
  bool relist = false;             // write all of `listing`, also what never changes: a repair
  // The version of a record that this put creates, 1 to 2^62. If a key can be used again after its record was erased,
  // the version must be one that the key never had: otherwise a guard taken from the old record would match the new
  // one.
  std::uint64_t first_version = 1;
  std::string last_entry{};  // of the record as it was loaded
  std::uint64_t place = 0;   // the same. The record may have moved since; then the store must search for it

  std::uint64_t next_version() const { return expected_version == 0 ? first_version : expected_version + 1; }
};

// Commits as a whole or not at all: if every guard holds, everything below is written in one step. Drops name entries as they
// were put; dropping a missing entry is not an error. All keys are in one partition, unless the set changes the pool of a
// limit, or checks the definitions (docs/decisions/0100-slots.md), or changes a redrive (docs/decisions/0114-redrives.md). A set never puts and drops the same entry; drops come first, so a due entry may be
// put again under its name with another group.
//
// An append needs its record: if it neither exists nor is put by the same set, the set is stale. Nothing else guards it,
// unless the set also puts or checks the record. Several sets of one commit may append to one record if none of them has
// it among its roots.
struct ChangeSet {
  std::vector<RootChange> roots;
  std::vector<Route> routes;  // stored unless a route of that number is. Every route of `ready_put` is among them
  std::vector<ReadyEntry> ready_put;
  std::vector<ReadyEntry> ready_drop;
  std::vector<DueEntry> due_put;
  std::vector<DueEntry> due_drop;
  std::vector<Satellite> satellites;  // put: insert or replace
  std::vector<SatelliteName> satellites_drop;
  std::vector<SequenceDrop> sequence_drops;  // at most one for a sequence
  std::vector<Append> appends;               // numbered in this order
  std::vector<LogEntry> log;                 // appended in this order; the record of each is put by the same set
  std::vector<CounterAdd> counters;
};

}  // namespace flowfabric
