#include "store/postgres/session.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <thread>
#include <unordered_map>

#include "base/check.hpp"
#include "base/log.hpp"
#include "store/postgres/backoff.hpp"
#include "store/postgres/batch.hpp"
#include "store/postgres/incarnation.hpp"
#include "store/postgres/queries.hpp"
#include "store/postgres/rows.hpp"
#include "store/put_index.hpp"

namespace flowfabric::postgres {
namespace {

using std::chrono::steady_clock;

constexpr auto commit_patience = std::chrono::seconds(30);  // to determine the outcome of a commit, and to repeat it
constexpr auto read_patience = std::chrono::seconds(10);
constexpr int group_rounds = 4;  // then the remaining sets are committed one by one
constexpr int alone_rounds = 4;  // then a set without a detectable conflict counts as stale

// Every statement here finds its rows through an index, and arrays are short: the plan is made once and kept, and sorts
// and full table scans must be avoided (see batch.cpp). A client that stopped in the middle of a batch must not hold
// candidates and the log's horizon indefinitely.
constexpr const char* setup_sql = R"sql(
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_material = off; SET enable_memoize = off;
SET enable_indexscan = on; SET enable_indexonlyscan = on; SET enable_nestloop = on;
SET idle_in_transaction_session_timeout = '60s')sql";

constexpr Statement begin = {"begin", "BEGIN"};
constexpr Statement commit_transaction = {"commit", "COMMIT"};
constexpr Statement rollback = {"rollback", "ROLLBACK"};

// Result: the row's number. Rows of writers that died long ago are deleted here too.
constexpr Statement insert_writer = {"insert_writer", R"sql(
WITH swept AS (DELETE FROM writer WHERE touched_at < now() - interval '30 days')
INSERT INTO writer DEFAULT VALUES RETURNING id, generation)sql"};

// Result: the part of counters that this session adds to. The lock lasts as long as the connection, so no two sessions have
// the same part, as long as there are parts enough; a part of a session that has ended is used again.
constexpr Statement take_part = {"take_part", R"sql(
SELECT coalesce(
  (SELECT n FROM generate_series(0, 63) n
   WHERE pg_try_advisory_lock(hashtext('flowfabric counters ' || current_schema()), n) LIMIT 1),
  pg_backend_pid() % 64))sql"};

constexpr Statement delete_writer = {"delete_writer", "DELETE FROM writer WHERE id = $1::bigint"};

// Guard: this session still owns its writer row. Stores the number of this commit. Index writer_pkey.
constexpr Statement fence_commit = {"fence_commit", R"sql(
MERGE INTO writer w USING (VALUES ($1::bigint, $2::bigint, $3::bigint)) i(id, generation, batch) ON w.id = i.id
WHEN MATCHED AND w.generation = i.generation THEN UPDATE SET batch = i.batch, touched_at = now()
WHEN MATCHED THEN UPDATE SET batch = fenced()
WHEN NOT MATCHED THEN INSERT (batch) VALUES (fenced()))sql"};

// Result: the number of the last commit. Waits for a commit that is still running and makes any later one fail.
constexpr Statement take_over_writer = {"take_over_writer", R"sql(
UPDATE writer SET generation = generation + 1, touched_at = now() WHERE id = $1::bigint
RETURNING batch, generation)sql"};

// Result: the server's clock in microseconds, beside each route behind a turn, in the order of turns, or beside nothing.
// One statement for both, because every batch asks for both. Index route_pkey.
constexpr Statement clock_and_routes = {"clock_and_routes", R"sql(
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, r.turn, r.number, r.name_space, r.lane, r.capabilities
FROM (VALUES (1)) clock
LEFT JOIN LATERAL (
  SELECT turn, number, name_space, lane, capabilities FROM route WHERE turn > $1::bigint
  ORDER BY turn OFFSET 0) r ON true)sql"};

// The columns of a ready entry.
#define FF_READY_COLUMNS "route, priority, sequence, name_space, ctid, key"

// Result: for each route its first entries that no other session has locked, locked, with their records of the same
// snapshot. Index ready_order, in its order; root_pkey.
constexpr Statement search_ready = {"search_ready", R"sql(
SELECT d.n, r.route, r.priority, r.sequence, r.name_space, r.ctid, o.*
FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY d(route, wanted, n)
CROSS JOIN LATERAL (
  SELECT )sql" FF_READY_COLUMNS R"sql( FROM ready WHERE ready.route = d.route
  ORDER BY priority DESC, sequence, key LIMIT d.wanted FOR UPDATE SKIP LOCKED) r
CROSS JOIN LATERAL (SELECT )sql" FF_RECORD_COLUMNS " FROM root WHERE key = r.key LIMIT 1) o"};

// The same if some of the demands have a namespace. One statement for both kinds, because only one may lock: see
// queue_reads. Also uses the partial index ready_namespace: `<> 'default'` allows the planner to use it, and the
// default namespace is found through ready_order. A locking clause is not allowed in a UNION itself, hence the inner
// queries.
constexpr Statement search_namespaces = {"search_namespaces", R"sql(
SELECT d.n, r.route, r.priority, r.sequence, r.name_space, r.ctid, o.*
FROM unnest($1::bigint[], $2::int[], $3::text[]) WITH ORDINALITY d(route, wanted, name_space, n)
CROSS JOIN LATERAL (
  SELECT * FROM (
    SELECT )sql" FF_READY_COLUMNS R"sql( FROM ready WHERE d.name_space IS NULL AND ready.route = d.route
    ORDER BY priority DESC, sequence, key LIMIT d.wanted FOR UPDATE SKIP LOCKED) anybody
  UNION ALL
  SELECT * FROM (
    SELECT )sql" FF_READY_COLUMNS R"sql( FROM ready
    WHERE ready.name_space = d.name_space AND ready.name_space <> 'default' AND ready.route = d.route
    ORDER BY priority DESC, sequence, key LIMIT d.wanted FOR UPDATE SKIP LOCKED) one
  UNION ALL
  SELECT * FROM (
    SELECT )sql" FF_READY_COLUMNS R"sql( FROM ready
    WHERE d.name_space = 'default' AND ready.name_space = 'default' AND ready.route = d.route
    ORDER BY priority DESC, sequence, key LIMIT d.wanted FOR UPDATE SKIP LOCKED) common) r
CROSS JOIN LATERAL (SELECT )sql" FF_RECORD_COLUMNS " FROM root WHERE key = r.key LIMIT 1) o"};

// Result: the earliest entries after a position and due by $2, or by now, that no other session has locked, locked,
// with their records of the same snapshot. Index due_pkey, in its order; root_pkey.
constexpr Statement search_due = {"search_due", R"sql(
SELECT d.due_at, d.group_no, d.rank, o.*
FROM (
  SELECT due_at, key, group_no, rank FROM due
  WHERE (due_at, key) > ($3::bigint, $4::bytea)
    AND due_at <= coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
  ORDER BY due_at, key LIMIT $1::int FOR UPDATE SKIP LOCKED) d
CROSS JOIN LATERAL (SELECT )sql" FF_RECORD_COLUMNS " FROM root WHERE key = d.key LIMIT 1) o"};

// Result: the first entries of each group that have a record, in the order of the interface, with their records of the same
// snapshot; takes no locks. The groups come in ascending order. Index due_group, in its order: it is partial, and `<> 0`
// allows the planner to use it; root_pkey.
constexpr Statement search_groups = {"search_groups", R"sql(
SELECT found.*
FROM unnest($1::bigint[], $2::bigint[]) g(group_no, wanted)
CROSS JOIN LATERAL (
  SELECT d.due_at, d.group_no, d.rank, o.*
  FROM due d CROSS JOIN LATERAL (SELECT )sql" FF_RECORD_COLUMNS R"sql( FROM root WHERE key = d.key LIMIT 1) o
  WHERE d.group_no = g.group_no AND d.group_no <> 0 ORDER BY d.rank, d.key LIMIT g.wanted) found
LIMIT $3::bigint)sql"};

// Result: the record as it is when the lock is there, which lasts until the transaction ends. Index root_pkey.
constexpr Statement hold_record = {"hold_record", R"sql(
SELECT )sql" FF_RECORD_COLUMNS " FROM root WHERE key = $1::bytea FOR NO KEY UPDATE"};

// Result: the satellites that exist. Index satellite_pkey.
constexpr Statement load_satellites = {"load_satellites", R"sql(
SELECT s.root, s.kind, s.n, s.body FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) i(root, kind, n)
CROSS JOIN LATERAL (SELECT * FROM satellite WHERE root = i.root AND kind = i.kind AND n = i.n LIMIT 1) s)sql"};

// Result: the versions of the records that exist. Index root_pkey.
constexpr Statement load_versions = {"load_versions", R"sql(
SELECT key, version FROM root WHERE key = ANY($1::bytea[]))sql"};

// A guard, a serialization failure, a deadlock, a unique key, two records at one position: the sets are valid, but some
// conflict at this moment.
bool is_conflict(const Failure& failure) {
  return failure.sqlstate == "FF001" || failure.sqlstate == "21000" || failure.sqlstate == "40001" ||
         failure.sqlstate == "40P01" || failure.sqlstate == "23505";
}

// The plans return the order already; the guarantee should not depend on a plan.
template <class T, class Before>
void bring_into_order(std::vector<T>& values, Before before) {
  if (!std::is_sorted(values.begin(), values.end(), before)) std::sort(values.begin(), values.end(), before);
}

std::vector<Candidate> candidates_of(const Rows& rows, ReadyPlaces& held) {
  std::vector<Candidate> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    Record record = record_at(rows, row, 6);
    held.emplace(record.key.bytes, rows.place(row, 5));
    ReadyEntry entry{static_cast<RouteNo>(rows.integer(row, 1)), static_cast<std::int32_t>(rows.integer(row, 2)),
                     static_cast<std::uint64_t>(rows.integer(row, 3)), record.key, rows.string(row, 4)};
    out.push_back({std::move(entry), std::move(record), static_cast<std::size_t>(rows.integer(row, 0) - 1)});
  }
  bring_into_order(out, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.demand, b.entry.priority, a.entry.sequence, a.entry.key) <
           std::tie(b.demand, a.entry.priority, b.entry.sequence, b.entry.key);
  });
  return out;
}

std::vector<DueCandidate> due_candidates_of(const Rows& rows) {
  std::vector<DueCandidate> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    Record record = record_at(rows, row, 3);
    DueEntry entry = due_entry_at(rows, row, 0, record.key);
    out.push_back({std::move(entry), std::move(record)});
  }
  return out;
}

std::vector<DueCandidate> due_of(const Rows& rows) {
  auto out = due_candidates_of(rows);
  bring_into_order(out, [](const DueCandidate& a, const DueCandidate& b) {
    return std::tie(a.entry.due_at, a.entry.key) < std::tie(b.entry.due_at, b.entry.key);
  });
  return out;
}

std::vector<DueCandidate> grouped_of(const Rows& rows) {
  auto out = due_candidates_of(rows);
  bring_into_order(out, [](const DueCandidate& a, const DueCandidate& b) {
    return std::tie(a.entry.group, a.entry.rank, a.entry.key) < std::tie(b.entry.group, b.entry.rank, b.entry.key);
  });
  return out;
}

// What a session has seen of the routes: the last turn, and on which connection. Another connection may lead to a server
// that has lost commits, whose turns mean something else.
std::string encode_seen(std::uint64_t connection, std::int64_t turn) {
  return std::to_string(connection) + ":" + std::to_string(turn);
}

std::int64_t turn_seen(const std::string& seen, std::uint64_t connection) {
  const std::string prefix = std::to_string(connection) + ":";
  return seen.starts_with(prefix) ? std::stoll(seen.substr(prefix.size())) : 0;
}

// Of clock_and_routes. Returns the last turn.
std::int64_t take_routes(const Rows& rows, std::int64_t last, std::vector<Route>& out) {
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.is_null(row, 1)) continue;
    last = std::max(last, rows.integer(row, 1));
    out.push_back(
        {static_cast<RouteNo>(rows.integer(row, 2)), rows.string(row, 4), rows.texts(row, 5), rows.string(row, 3)});
  }
  return last;
}

// The record as it was locked takes the place of the one that was read before.
void take_held(const Rows& rows, ReadReply& reply) {
  if (rows.size() == 0) return;
  Record held = record_at(rows, 0, 0);
  std::erase_if(reply.records, [&](const Record& record) { return record.key == held.key; });
  reply.records.push_back(std::move(held));
}

std::optional<std::string_view> namespace_of(const RouteDemand& demand) { return demand.name_space; }

bool names_a_namespace(const std::vector<RouteDemand>& demands) {
  return std::any_of(demands.begin(), demands.end(), [](const RouteDemand& d) { return d.name_space.has_value(); });
}

bool wants_groups(const ReadRequest& request) { return !request.groups.empty() && request.group_limit > 0; }

bool guards_hold(const ChangeSet& set, const std::unordered_map<std::string, std::uint64_t>& versions) {
  PutIndex puts(set);
  const bool rooted = std::all_of(set.appends.begin(), set.appends.end(), [&](const Append& append) {
    return versions.contains(append.sequence.root.bytes) || puts.find(append.sequence.root) < set.roots.size();
  });
  return rooted && std::all_of(set.roots.begin(), set.roots.end(), [&](const RootChange& change) {
           const auto found = versions.find(change.key.bytes);
           return change.expected_version == (found == versions.end() ? 0 : found->second);
         });
}

}  // namespace

WriterSession::WriterSession(Address address, std::function<std::int64_t()> clock)
    : address_(std::move(address)), clock_(std::move(clock)) {}

Result<std::unique_ptr<Session>> WriterSession::open(Address address, std::function<std::int64_t()> clock) {
  std::unique_ptr<WriterSession> session(new WriterSession(std::move(address), std::move(clock)));
  FF_TRY_VOID(session->connect());
  FF_TRY_VOID(session->register_writer());
  return std::unique_ptr<Session>(std::move(session));
}

WriterSession::~WriterSession() {
  if (connection_ == nullptr || connection_->broken()) return;
  release();
  Params params;
  params.int8(writer_);
  (void)connection_->run(delete_writer, params);  // a row that is not deleted is removed later
}

Result<void> WriterSession::connect() {
  FF_TRY(connection, Connection::open(address_, setup_sql));
  FF_TRY(incarnation, current_incarnation(*connection, address_));
  FF_TRY(part, to_result(connection->run(take_part, {})));
  part_ = part.integer(0, 0);
  connection_ = std::move(connection);
  shift_ = incarnation.shift;
  ++connection_number_;
  in_transaction_ = false;
  held_.clear();
  return {};
}

Result<void> WriterSession::register_writer() {
  FF_TRY(row, to_result(connection_->run(insert_writer, {})));
  writer_ = row.integer(0, 0);
  generation_ = row.integer(0, 1);
  batch_ = 0;
  return {};
}

// Reconnects until the deadline. The error is that of the last attempt.
Result<void> WriterSession::reconnect(Time deadline) {
  Backoff backoff;
  for (;;) {
    auto connected = connect();
    if (connected || connected.error().code != Errc::unavailable) return connected;
    const auto wait = backoff.next();
    if (steady_clock::now() + wait > deadline) return connected;
    std::this_thread::sleep_for(wait);
  }
}

// Runs reads, and repeats them on a new connection if the old one is lost.
template <class Work>
auto WriterSession::repeated(Work work) -> decltype(work()) {
  const auto deadline = steady_clock::now() + read_patience;
  for (;;) {
    if (connection_->broken()) {
      if (auto connected = reconnect(deadline); !connected) {
        return Unexpected(Failure{true, {}, connected.error().message});
      }
    }
    auto reply = work();
    if (reply || !reply.error().lost || steady_clock::now() > deadline) return reply;
    log(LogLevel::warn, "repeating a read on a new connection", {{"cause", reply.error().message}});
  }
}

void WriterSession::release() {
  if (!in_transaction_) return;
  in_transaction_ = false;
  held_.clear();
  (void)connection_->run(rollback, {});  // a lost connection has rolled back too; the next call notices
}

Result<ReadReply> WriterSession::read(const ReadRequest& request) {
  return to_result(repeated([&] { return read_once(request); }));
}

// A transaction gets its number, and thereby its place in the log, with its first lock. So keys and groups are read first
// and the one statement that locks is the last that reads records: then the transaction comes after those that it has seen.
// What a batch reads after its search may be newer than its number; the commit notices that (update_roots in batch.cpp).
// A record that is to be held is locked and read at once, as the last. The clock comes after the search, so that what the search found due is due by `now_us`.
void WriterSession::queue_reads(const ReadRequest& request, std::int64_t now_us) {
  const bool locks = !request.ready.empty() || request.due_limit > 0 || request.hold;
  if (locks && !in_transaction_) connection_->queue(begin, {});
  if (!request.keys.empty()) connection_->queue(load_records, keys_param(request.keys));
  Params params;
  if (wants_groups(request)) {
    std::vector<GroupDemand> groups = request.groups;
    std::sort(groups.begin(), groups.end(),
              [](const GroupDemand& a, const GroupDemand& b) { return a.group < b.group; });
    params.array(Type::int8, groups, [](const GroupDemand& demand) { return static_cast<std::int64_t>(demand.group); })
        .array(Type::int8, groups, [](const GroupDemand& demand) { return std::int64_t{demand.limit}; })
        .int8(request.group_limit);
    connection_->queue(search_groups, params);
    params.clear();
  }
  if (!request.ready.empty()) {
    params.array(Type::int8, request.ready, [](const RouteDemand& d) { return static_cast<std::int64_t>(d.route); })
        .array(Type::int4, request.ready, [](const RouteDemand& d) { return std::int64_t{d.limit}; });
    if (names_a_namespace(request.ready)) {
      params.array(Type::text, request.ready, namespace_of);
      connection_->queue(search_namespaces, params);
    } else {
      connection_->queue(search_ready, params);
    }
  } else if (request.due_limit > 0) {
    params.int4(request.due_limit);
    clock_ ? params.int8(now_us / 1000) : params.null();
    // No key is empty, so the empty key sorts before all entries of its time.
    const DuePosition after = request.due_after.value_or(DuePosition{std::numeric_limits<TimestampMs>::min(), {}});
    params.int8(after.due_at).bytes(after.key.bytes);
    connection_->queue(search_due, params);
  } else if (request.hold) {
    params.bytes(request.hold->bytes);
    connection_->queue(hold_record, params);
  }
  if (clock_ && !request.want_routes) return;
  params.clear();
  params.int8(request.want_routes ? turn_seen(request.routes_seen, connection_number_) : INT64_MAX);
  connection_->queue(clock_and_routes, params);
}

Reply<ReadReply> WriterSession::read_once(const ReadRequest& request) {
  ReadReply reply;
  if (clock_) reply.now_us = clock_();
  const bool locks = !request.ready.empty() || request.due_limit > 0 || request.hold;
  const bool begins = locks && !in_transaction_;
  const bool reads = locks || wants_groups(request) || !request.keys.empty() || request.want_routes;
  if (!reads && clock_) return reply;
  queue_reads(request, reply.now_us);
  auto answer = connection_->flush();
  if (begins) in_transaction_ = true;
  if (!answer) {
    if (!answer.error().lost) release();
    return Unexpected(std::move(answer).error());
  }
  auto rows = answer->begin();
  if (begins) ++rows;
  if (!request.keys.empty()) reply.records = records_of(*rows++);
  if (wants_groups(request)) reply.grouped = grouped_of(*rows++);
  if (!request.ready.empty()) {
    reply.ready = candidates_of(*rows++, held_);
  } else if (request.due_limit > 0) {
    reply.due = due_of(*rows++);
  } else if (request.hold) {
    take_held(*rows++, reply);
  }
  if (!clock_) reply.now_us = rows->integer(0, 0);
  if (request.want_routes) {
    const std::int64_t seen = turn_seen(request.routes_seen, connection_number_);
    reply.routes_seen = encode_seen(connection_number_, take_routes(*rows, seen, reply.routes));
  }
  return reply;
}

Result<std::vector<Satellite>> WriterSession::read_satellites(const std::vector<SatelliteName>& names) {
  if (names.empty()) return std::vector<Satellite>{};
  Params params;
  params.array(Type::bytea, names, [](const SatelliteName& name) { return std::string_view(name.root.bytes); })
      .array(Type::int2, names, [](const SatelliteName& name) { return std::int64_t{name.kind}; })
      .array(Type::int8, names, [](const SatelliteName& name) { return std::int64_t{name.n}; });
  FF_TRY(rows, to_result(repeated([&] { return connection_->run(load_satellites, params); })));
  return satellites_of(rows);
}

Result<std::vector<SequenceEntry>> WriterSession::read_sequence(const SequenceName& name, std::uint64_t from,
                                                                std::uint32_t limit) {
  return to_result(repeated([&] { return query_sequence(*connection_, name, from, limit); }));
}

// Almost always the first group commits, in one round trip. After a conflict the conflicting sets are determined, get
// their verdict and are left out. An error is returned only if nothing has been written.
Result<std::vector<Verdict>> WriterSession::commit(const std::vector<ChangeSet>& sets) {
  std::vector<Verdict> verdicts(sets.size(), Verdict::committed);
  std::vector<std::size_t> pending(sets.size());
  std::size_t appends = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    pending[i] = i;
    appends += sets[i].appends.size();
  }
  appended_.assign(appends, 0);
  for (int round = 0; round < group_rounds && !pending.empty(); ++round) {
    FF_TRY(outcome, commit_group(sets, pending, round > 0));
    if (outcome == Outcome::committed) return verdicts;
    FF_TRY_VOID(judge(sets, pending, verdicts));
  }
  release();
  FF_TRY_VOID(commit_one_by_one(sets, pending, verdicts));
  return verdicts;
}

Result<void> WriterSession::commit_one_by_one(const std::vector<ChangeSet>& sets,
                                              const std::vector<std::size_t>& pending, std::vector<Verdict>& verdicts) {
  bool written = false;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    auto verdict = commit_alone(sets, pending[i]);
    if (!verdict) {
      if (!written || verdict.error().code == Errc::outcome_unknown) return Unexpected(verdict.error());
      // Something is committed, so an error would be wrong. Stale is correct: nothing of these was written.
      for (; i < pending.size(); ++i) verdicts[pending[i]] = Verdict::stale;
      return {};
    }
    verdicts[pending[i]] = *verdict;
    written = written || *verdict == Verdict::committed;
  }
  return {};
}

Result<Verdict> WriterSession::commit_alone(const std::vector<ChangeSet>& sets, std::size_t index) {
  std::vector<std::size_t> pending = {index};
  std::vector<Verdict> verdicts(sets.size(), Verdict::committed);
  for (int round = 0; round < alone_rounds; ++round) {
    FF_TRY(outcome, commit_group(sets, pending, true));
    if (outcome == Outcome::committed) return Verdict::committed;
    FF_TRY_VOID(judge(sets, pending, verdicts));
    if (pending.empty()) return verdicts[index];
  }
  return Verdict::stale;
}

// Compares the guards of the pending sets with the stored versions; conflicting sets are removed from `pending`.
Result<void> WriterSession::judge(const std::vector<ChangeSet>& sets, std::vector<std::size_t>& pending,
                                  std::vector<Verdict>& verdicts) {
  std::vector<Key> keys;
  for (const std::size_t i : pending) {
    for (const auto& change : sets[i].roots) keys.push_back(change.key);
    for (const auto& append : sets[i].appends) keys.push_back(append.sequence.root);
  }
  FF_TRY(rows, to_result(repeated([&] { return connection_->run(load_versions, keys_param(keys)); })));
  std::unordered_map<std::string, std::uint64_t> versions;
  for (int row = 0; row < rows.size(); ++row) {
    versions[rows.string(row, 0)] = static_cast<std::uint64_t>(rows.integer(row, 1));
  }
  std::vector<std::size_t> left;
  for (const std::size_t i : pending) {
    if (guards_hold(sets[i], versions)) {
      left.push_back(i);
    } else {
      verdicts[i] = Verdict::stale;
    }
  }
  pending = std::move(left);
  return {};
}

// The numbers of the appends.
Reply<std::vector<std::uint64_t>> WriterSession::send_group(const Batch& batch, bool patiently) {
  ++batch_;
  Params params;
  params.int8(writer_).int8(generation_).int8(batch_);
  connection_->queue(fence_commit, params);
  batch.queue(*connection_, held_, patiently);
  if (in_transaction_) connection_->queue(commit_transaction, {});
  auto answer = connection_->flush();
  if (answer) {
    const std::span<const Rows> replies(*answer);
    auto numbers = batch.numbers(in_transaction_ ? replies.first(replies.size() - 1) : replies);
    in_transaction_ = false;
    held_.clear();
    return numbers;
  }
  if (!answer.error().lost) release();
  return Unexpected(std::move(answer).error());
}

// `numbers` are those of the chosen sets.
void WriterSession::note_numbers(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen,
                                 const std::vector<std::uint64_t>& numbers) {
  if (numbers.empty()) return;
  std::vector<std::size_t> first(sets.size() + 1, 0);
  for (std::size_t i = 0; i < sets.size(); ++i) first[i + 1] = first[i] + sets[i].appends.size();
  auto number = numbers.begin();
  for (const std::size_t i : chosen) {
    for (std::size_t n = first[i]; n < first[i + 1]; ++n) appended_[n] = *number++;
  }
}

// Commits the chosen sets together or not at all.
Result<WriterSession::Outcome> WriterSession::commit_group(const std::vector<ChangeSet>& sets,
                                                           const std::vector<std::size_t>& chosen, bool patiently) {
  const auto deadline = steady_clock::now() + commit_patience;
  bool registered_again = false;
  for (;;) {
    const Batch batch(sets, chosen, shift_, part_);  // a new connection may be one to another incarnation
    const auto sent = send_group(batch, patiently);
    if (sent) {
      note_numbers(sets, chosen, *sent);
      return Outcome::committed;
    }
    const Failure& failure = sent.error();
    if (failure.lost) {
      log(LogLevel::warn, "connection lost during a commit", {{"cause", failure.message}});
      FF_TRY(happened, find_out(deadline));
      if (happened) return Outcome::committed;
      if (steady_clock::now() > deadline) return Unexpected(to_error(failure));
    } else if (is_conflict(failure)) {
      return Outcome::conflict;
    } else if (failure.sqlstate == "FF002" && !registered_again) {
      // Our row was deleted after a long idle time. The reply came over a live connection: nothing was written.
      registered_again = true;
      FF_TRY_VOID(register_writer());
    } else {
      return Unexpected(to_error(failure));
    }
  }
}

// After a lost connection: did the last commit happen? The row of `writer` shows it; taking it over first waits for a
// transaction of ours that is still running on the server and makes a later one fail.
Result<bool> WriterSession::find_out(Time deadline) {
  const auto unknown = [](const std::string& why) {
    return fail(Errc::outcome_unknown, "the connection was lost during a commit and the outcome is unknown: " + why);
  };
  Params params;
  params.int8(writer_);
  Backoff backoff;
  for (;;) {
    if (auto connected = reconnect(deadline); !connected) return unknown(connected.error().message);
    (void)connection_->exec("SET lock_timeout = '5s'");
    auto row = connection_->run(take_over_writer, params);
    (void)connection_->exec("SET lock_timeout = 0");
    if (row && row->size() == 0) return fail(Errc::internal, "a row of the table writer was removed while in use");
    if (row) {
      generation_ = row->integer(0, 1);
      return row->integer(0, 0) == batch_;
    }
    if (steady_clock::now() > deadline) return unknown(row.error().message);
    std::this_thread::sleep_for(backoff.next());
  }
}

}  // namespace flowfabric::postgres
