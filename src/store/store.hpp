// The interface between the engine and a database.
//
// A store keeps records, five indexes over them (ready, due, listing, satellites, log), and their sequences. It does not
// know why they change: rules are in core/, batching in engine/. To write a new store, implement the two classes below and add it to
// the conformance suite; all guarantees of a store are described here.
//
// 1. Guards. A change set commits only if every `RootChange::expected_version` equals the stored version at the moment
//    of the commit (0: the record is absent). A put stores `RootChange::next_version`. A stale set changes nothing and never
//    harms the other sets of the same commit.
// 2. Durability. When `commit` returns, the sets reported as committed are visible to all sessions and survive a crash
//    of the process; when `settle` returns after it, also a crash of the machine, for stores on disk. A caller is told
//    of a commit, or of what a batch has read, only after `settle`; the reads of Store settle by themselves. An error
//    from `commit` means that nothing of the batch was written; the only exception is Errc::outcome_unknown, returned
//    only if the connection was lost during a commit and the store could not be reached again in time. `settle` fails
//    only with that code: the disk did not store what was written.
// 3. Freshness. `Session::read` sees everything that any session of any process committed before `read` was called.
// 4. Log order. Log entries get positions such that (a) a reader who has seen position p never later finds a new entry
//    before p (no gaps that fill up), (b) entries of one record are in commit order, whatever was locked or read before,
//    (c) entries of one change set keep their order. Positions are opaque bytes that only the store understands. They stay
//    good across restarts, crashes, failovers and restores, or are refused: a position that the log as it is now has
//    never reached, or that is of another log, is never taken for a place in this one.
// 5. Routes. A ready entry commits together with its route, and a route is not removed while it has ready entries. So a
//    session that has read all routes knows where all claimable work is.
// 6. Sequences. A reader who has seen entry n of a sequence never later finds a new entry before n.
// 7. Time. `ReadReply::now_us` is the store's one clock: the database server's, or the system's for embedded stores,
//    without its steps back (base/wall_clock.hpp), or `StoreOptions::now_us` when tests supply one.
//
// Threads: Store is thread-safe. A Session belongs to one thread at a time, except for `settle`.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

#include "core/changes.hpp"
#include "store/inspection.hpp"

namespace flowfabric {

// Asks for the first `limit` ready entries of one route, or of one namespace on it. The cost is the same in both cases,
// regardless of the entries of other namespaces; but a store may find entries of default_namespace by skipping those of
// others.
struct RouteDemand {
  RouteNo route = 0;
  std::uint32_t limit = 0;
  std::optional<std::string> name_space{};
};

// Asks for the first `limit` entries of one group.
struct GroupDemand {
  std::uint64_t group = 0;
  std::uint32_t limit = 0;
};

// A position in the due index.
struct DuePosition {
  TimestampMs due_at = 0;
  Key key;
};

struct ReadRequest {
  std::vector<Key> keys;  // records to load; missing ones are not in the reply. No duplicates
  // One of `keys` that others keep changing. It is read as the last, and from then on until the batch ends nobody else
  // changes it: whoever tries waits, or is stale. Those who want to hold it are served in the order in which they came.
  // Never together with a search. A store may give up waiting; then the guard decides, as always.
  std::optional<Key> hold;
  std::vector<RouteDemand> ready;        // searches for claimable work; at most one demand per route and namespace
  std::uint32_t due_limit = 0;           // searches for due records. Never together with `ready`
  std::optional<DuePosition> due_after;  // only those after this position
  std::vector<GroupDemand> groups;       // searches for records in these groups. No zeros, no duplicates
  std::uint32_t group_limit = 0;         // at most this many in total
  bool want_routes = false;              // the reply brings the routes that were stored...
  std::string routes_seen;               // ...since that reply of this session; empty: all of them
};

struct Candidate {
  ReadyEntry entry;
  Record record;
  std::size_t demand = 0;  // which of `ReadRequest::ready` found it
};

struct DueCandidate {
  DueEntry entry;
  Record record;
};

struct ReadReply {
  std::int64_t now_us = 0;  // microseconds since the epoch; read once, when the call began or later
  std::vector<Record> records;
  std::vector<Candidate> ready;       // by demand, in order of service within each; two demands may find the same
  std::vector<DueCandidate> due;      // earliest first
  std::vector<DueCandidate> grouped;  // by group, then rank, then key; not reserved
  std::vector<Route> routes;          // if asked for, in the order in which they were stored
  // For ReadRequest::routes_seen, in the store's own words. Where a connection can be lost, it is good for one connection
  // only: the server behind the next one may have lost routes, and stored others in their place.
  std::string routes_seen;

  TimestampMs now_ms() const { return now_us / 1000; }
};

enum class Verdict : std::uint8_t {
  committed,
  stale,  // a guard failed
};

// One writer's session with the database: `read` (repeatedly), then `commit` or `release`.
//
// Between a `read` that returns ready or due candidates and the end of the batch, a store with several sessions does
// not return those candidates to another session if it can do so without waiting (skip, never block). This only saves
// work: correctness depends on the guards. `read` takes no lock on the records in `keys`. A store with one writer at a
// time (SQLite) may instead let the sessions take turns: the second `read` waits for the first batch to end. Therefore
// a thread never has two batches open, and a batch is short.
class Session {
 public:
  virtual ~Session() = default;

  // Loads records, searches, and reads the clock: one round trip.
  virtual Result<ReadReply> read(const ReadRequest& request) = 0;

  // Loads satellites by name (missing ones are left out).
  virtual Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) = 0;

  // Entries of a sequence with from <= n, ascending, at most `limit`.
  virtual Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                           std::uint32_t limit) = 0;

  // Commits all sets in one transaction; one verdict per set, in order. Two sets of one commit never share a root, unless
  // both only check it.
  virtual Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) = 0;

  // The numbers that the last commit gave to its appends, in the order of sets and of appends in each; 0 for those of sets
  // that did not commit, and where the reply to a commit was lost that did happen.
  virtual const std::vector<std::uint64_t>& appended() const = 0;

  // Ends the batch without writing. Harmless if there is none.
  virtual void release() = 0;

  // After the end of a batch: waits until what it has seen and committed is durable. Any thread may call it, also while
  // the next batch of this session runs. Does nothing in stores whose commits are durable when they return.
  virtual Result<void> settle() { return {}; }
};

// Selects listed records, newest first: descending by (created_at, key). The cost is that of the records between the
// first and the last of the page, of the group or the flow if one is given.
struct ListQuery {
  RecordKind record_kind = RecordKind::execution;
  std::optional<std::uint64_t> group;  // only records in this group, in which the rank of each is its created_at
  std::optional<std::string> name_space;
  std::optional<std::string> lane;
  std::optional<std::string> kind;
  std::optional<std::string> flow;
  std::vector<std::uint8_t> states;                           // any of these; empty: all
  std::optional<std::string> tag;                             // "key=value"
  std::optional<TimestampMs> created_from, created_before;    // from <= created_at < before
  std::optional<TimestampMs> finished_from, finished_before;  // the same; unfinished records never match
  struct Position {
    TimestampMs created_at = 0;
    Key key;
  };
  std::optional<Position> after;  // exclusive
  std::uint32_t limit = 0;
};

struct ListedRecord {
  Record record;
  TimestampMs created_at = 0;
  std::uint8_t state = 0;
};

// Why a position in the log is refused.
inline constexpr const char* cursor_of_another_log =
    "this cursor is of another log, or of a state of this log that was lost when it was restored";
inline constexpr const char* cursor_ahead_of_log =
    "this cursor is ahead of the log, which was set back to an earlier state by a restore or a failover";

struct LogQuery {
  std::string after;  // a position; exclusive
  std::optional<std::string> name_space;
  std::optional<std::string> lane;
  std::optional<Key> root;
  std::vector<std::uint8_t> types;  // any of these; empty: all
  std::uint32_t limit = 0;
};

struct LoggedEntry {
  std::string position;
  LogEntry entry;
};

struct LogPage {
  std::vector<LoggedEntry> entries;
  std::string next;     // the position to continue from: after everything examined, matching or not
  bool behind = false;  // there are committed entries that may not be shown yet, or the page is full: read again soon
};

// What keeps the log from being shown, and what was removed from being cleared away. Stores on which nothing can do that
// leave it as it is.
struct LogHealth {
  std::int64_t held_back_ms = 0;  // how long events have been committed that may not be shown yet
  std::int64_t uncleared_ms = 0;  // how long removed rows have been kept because somebody might still look at them
  std::string holder;             // who does it, for people
};

// A number that a store wants to be watched by.
struct StoreFigure {
  const char* name;
  const char* help;
  bool counts = false;  // it only grows
  double value = 0;
};

// Notifications for the engines of other processes on the same database. They may be merged; a lost one only costs
// latency.
struct Wakeup {
  std::map<ReadyLine, std::uint32_t> ready;  // these gained claimable work, so many entries of it; 0: nobody knows
  TimestampMs earliest_due = std::numeric_limits<TimestampMs>::max();
  bool log_advanced = false;
  bool everything = false;  // notifications may have been lost: check everything again
  std::vector<std::string> lanes_changed;
  std::set<Key> appended;  // the sequences of these records have grown; at most limits::max_announced_roots
};

// Adds up what two notices say; not knowing wins.
inline void merge_ready(std::map<ReadyLine, std::uint32_t>& all, const std::map<ReadyLine, std::uint32_t>& more) {
  for (const auto& [line, count] : more) {
    const auto [place, is_new] = all.try_emplace(line, count);
    if (!is_new) place->second = place->second == 0 || count == 0 ? 0 : place->second + count;
  }
}

class Store {
 public:
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<Session>> open_session() = 0;
  // The default number of sessions that the engine should write with.
  virtual std::uint32_t preferred_sessions() const = 0;
  // Whether `Session::settle` waits, so that the engine should write the next batch meanwhile.
  virtual bool settles_later() const { return false; }

  // Removes those of the routes on which nothing is ready. Returns those that are not stored now, removed by this call or
  // before it. Waits for commits only briefly, then gives up with an error. At most limits::max_forgotten_routes.
  virtual Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) = 0;

  // The earliest entry of the due index, if any.
  virtual Result<std::optional<TimestampMs>> next_due() = 0;

  // Entries of the due index with due_at <= until, ascending by (due_at, key), after `after` (exclusive).
  virtual Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                                    std::uint32_t limit) = 0;
  // Entries of one group, ascending by (rank, key), after `after` (exclusive).
  struct GroupPosition {
    std::int64_t rank = 0;
    Key key;
  };
  virtual Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                                      std::uint32_t limit) = 0;

  // Reads outside any batch, on separate connections.
  virtual Result<std::vector<Record>> load(const std::vector<Key>& keys) = 0;
  // Satellites of one root and kind with from <= n, ascending, at most `limit`.
  virtual Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                         std::uint32_t limit) = 0;
  // As Session::read_sequence.
  virtual Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                           std::uint32_t limit) = 0;
  // Records of a kind, ascending by key, after `after` (exclusive, empty: from the start).
  virtual Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) = 0;
  virtual Result<std::vector<ListedRecord>> list(const ListQuery& query) = 0;
  // Counters whose names begin with `prefix`, ascending by name; those that are 0 are left out.
  virtual Result<std::vector<Counter>> counters(const std::string& prefix) = 0;
  virtual Result<std::int64_t> now_us() = 0;
  // Ready entries of a route that would be served before `entry`, counted up to `limit`.
  virtual Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) = 0;
  // The lowest sequence of the ready entries of a route with this priority, if there are any. The cost is that of one entry.
  virtual Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) = 0;

  // The log: the entries of all records that exist, those of erased records are gone with them. `log_start` is before
  // everything, `log_end` behind all that may be shown by now. A position of another log, or one ahead of this one, gives
  // Errc::cursor_expired with one of the sentences above and details {"earliest": <hex of the position from which on
  // nothing is missing>}.
  virtual Result<std::string> log_start() = 0;
  virtual Result<std::string> log_end() = 0;
  virtual Result<LogPage> read_log(const LogQuery& query) = 0;
  // All entries of one record, oldest first, regardless of the start of the log. `after` as in LogQuery, empty for the
  // beginning.
  virtual Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) = 0;

  virtual Result<LogHealth> log_health() { return LogHealth{}; }

  // Notifies the other processes; returns at once. Stores with one process ignore it.
  virtual void announce(const Wakeup& wakeup) = 0;
  // Calls `listener` (from any thread) with the notifications of other processes. Set once, before sessions are opened;
  // an empty function ends it, and no call is running when this returns.
  virtual void listen(std::function<void(const Wakeup&)> listener) = 0;

  // Why nothing can be written until the store is opened again; none as long as trying makes sense.
  virtual std::optional<Error> failure() { return std::nullopt; }
  // Always the same ones in the same order.
  virtual std::vector<StoreFigure> figures() { return {}; }

  // Checks what only the store understands: its log, its routes, its file. One sentence a finding, empty when all is well.
  // Whether the indexes hold what the records ask for is checked by engine/integrity.hpp.
  virtual Result<std::vector<std::string>> check_integrity() = 0;
  // The store must outlive it.
  virtual std::unique_ptr<Inspection> inspect() = 0;
};

enum class StoreAccess : std::uint8_t {
  write,
  read,  // nothing is created, migrated or changed; sessions and new routes are refused as `unsupported`
};

struct StoreOptions {
  // Overrides the store's clock (tests, simulation). Must be thread-safe.
  std::function<std::int64_t()> now_us;
  bool migrate = false;  // apply missing schema migrations; embedded stores that are opened for writing always do
  StoreAccess access = StoreAccess::write;
  // Reads outside batches that take longer are stopped with Errc::timed_out; 0: none is. Checks of integrity have no limit.
  std::uint32_t read_timeout_ms = 0;
};

// What a store answers that was opened for reading.
inline Unexpected<Error> opened_for_reading() { return fail(Errc::unsupported, "this store was opened for reading"); }

}  // namespace flowfabric
