#include "store/postgres/event_log.hpp"

#include <algorithm>
#include <optional>

#include "base/hashing.hpp"
#include "store/log_filter.hpp"

namespace flowfabric::postgres {
namespace {

// How many entries one read examines if a filter matches few of them; then it returns the position to continue from.
constexpr std::size_t window = 20000;
// How many pages are fetched at once, at first and at most. A page holds one entry or a few dozen.
constexpr std::uint32_t first_pages = 32, most_pages = 512;

// The statements of one read share a snapshot.
constexpr Statement begin_snapshot = {"begin_snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement end_snapshot = {"end_snapshot", "COMMIT"};

// $1 is the incarnation that a cursor names, 0 for those that name none: they are of the first. Result: the current
// incarnation; the last position that was ever removed; the horizon; the newest entry; if that may not be shown yet, the
// newest that may; whether the cursor's incarnation is known; and if it is over, its last position. Index log_pkey, from
// its end: asked whether there are entries past the horizon, the planner would take many for granted and read the table.
constexpr Statement read_state = {"read_log_state", R"sql(
SELECT i.id, f.xid, f.n, h.horizon, newest.xid, newest.n, shown.xid, shown.n, mine.ordinal, ended.after_xid, ended.after_n
FROM (SELECT id FROM incarnation ORDER BY ordinal DESC LIMIT 1) i
CROSS JOIN log_floor f
CROSS JOIN (SELECT log_horizon() AS horizon OFFSET 0) h
LEFT JOIN LATERAL (
  SELECT xid, n + cardinality(prev_ns) - 1 AS n FROM log ORDER BY log.xid DESC, log.n DESC LIMIT 1) newest ON true
LEFT JOIN LATERAL (
  SELECT xid, n + cardinality(prev_ns) - 1 AS n FROM log WHERE newest.xid >= h.horizon AND log.xid < h.horizon
  ORDER BY log.xid DESC, log.n DESC LIMIT 1) shown ON true
LEFT JOIN LATERAL (
  SELECT ordinal FROM incarnation WHERE id = $1::int OR ($1::int = 0 AND ordinal = 1) LIMIT 1) mine ON true
LEFT JOIN LATERAL (
  SELECT after_xid, after_n FROM incarnation WHERE ordinal = mine.ordinal + 1 LIMIT 1) ended ON true)sql"};

// Result: the pages with entries after a position and below the horizon. Index log_pkey.
constexpr Statement read_pages = {"read_pages", R"sql(
SELECT xid, n, entries FROM log
WHERE xid >= $1::xid8 AND (xid, n + cardinality(prev_ns) - 1) > ($1::xid8, $2::int) AND xid < (SELECT log_horizon())
ORDER BY xid, n LIMIT $3::bigint)sql"};

// Result: the entries of one record after a position, oldest first: the chain is walked from its newest to there. One
// record's entries commit in the order of their positions, so a history may go beyond the horizon ($5). Indexes root_pkey,
// log_pkey.
constexpr Statement read_chain = {"read_chain", R"sql(
WITH RECURSIVE chain(xid, n, entry, prev_xid, prev_n) AS (
  SELECT p.xid, r.log_n, p.entries[r.log_n - p.n + 1], p.prev_xids[r.log_n - p.n + 1], p.prev_ns[r.log_n - p.n + 1]
  FROM (SELECT log_xid, log_n FROM root WHERE key = $1::bytea AND (log_xid, log_n) > ($2::xid8, $3::int) LIMIT 1) r
  CROSS JOIN LATERAL (SELECT * FROM log WHERE xid = r.log_xid AND n <= r.log_n ORDER BY n DESC LIMIT 1) p
  UNION ALL
  SELECT p.xid, b.n, p.entries[b.n - p.n + 1], p.prev_xids[b.n - p.n + 1], p.prev_ns[b.n - p.n + 1]
  FROM chain c
  CROSS JOIN LATERAL (SELECT CASE WHEN c.prev_xid = '0' THEN c.xid ELSE c.prev_xid END, c.prev_n) b(xid, n)
  CROSS JOIN LATERAL (SELECT * FROM log WHERE xid = b.xid AND n <= b.n ORDER BY n DESC LIMIT 1) p
  WHERE c.prev_n <> 0 AND (b.xid, b.n) > ($2::xid8, $3::int))
SELECT xid, n, entry FROM chain WHERE $5::int <> 0 OR xid < (SELECT log_horizon())
ORDER BY xid, n LIMIT $4::bigint)sql"};

// Result: whether events are held back; for how long the oldest transaction that writes has been open, and whose it is; the
// same for the oldest of all. Any database of the cluster counts. Fields of other roles may be hidden from ours.
constexpr Statement read_health = {"read_log_health", R"sql(
WITH transactions AS (
  SELECT backend_xid IS NOT NULL AS writes, xact_start AS since, concat_ws(', ', 'pid ' || pid, 'user ' || usename,
    'database ' || datname, 'application ' || nullif(application_name, ''), state) AS holder
  FROM pg_stat_activity
  WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL) AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT true, prepared, concat_ws(', ', 'prepared transaction ' || gid, 'user ' || owner, 'database ' || database)
  FROM pg_prepared_xacts)
SELECT coalesce((SELECT xid FROM log ORDER BY xid DESC LIMIT 1) >= log_horizon(), false)::int,
  writer.ms, writer.holder, oldest.ms, oldest.holder
FROM (VALUES (1)) one
LEFT JOIN LATERAL (
  SELECT (extract(epoch FROM clock_timestamp() - since) * 1000)::bigint AS ms, holder
  FROM transactions WHERE writes ORDER BY since LIMIT 1) writer ON true
LEFT JOIN LATERAL (
  SELECT (extract(epoch FROM clock_timestamp() - since) * 1000)::bigint AS ms, holder
  FROM transactions ORDER BY since LIMIT 1) oldest ON true)sql"};

Params chain_params(const Key& root, const Position& after, std::int64_t limit, bool beyond_horizon) {
  Params params;
  params.bytes(root.bytes).int8(static_cast<std::int64_t>(after.xid)).int4(after.n).int8(limit);
  params.int4(beyond_horizon ? 1 : 0);
  return params;
}

// What read_state says.
struct LogState {
  std::int32_t incarnation = 0;  // the current one
  Position removed, horizon;
  Position newest;               // entry, shown or not
  Position end;                  // behind the last entry that may be shown
  bool hidden = false;           // there are committed entries that may not be shown yet
  bool knows_cursor = false;     // its incarnation
  std::optional<Position> last;  // of the cursor's incarnation, if that is over
};

std::optional<Position> optional_position_at(const Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return position_at(rows, row, column);
}

LogState state_of(const Rows& rows) {
  LogState state;
  state.incarnation = static_cast<std::int32_t>(rows.integer(0, 0));
  state.removed = position_at(rows, 0, 1);
  state.horizon = {static_cast<std::uint64_t>(rows.integer(0, 3)), 0};
  state.newest = optional_position_at(rows, 0, 4).value_or(Position{});
  state.hidden = state.newest >= state.horizon;
  state.end = state.hidden ? optional_position_at(rows, 0, 6).value_or(Position{}) : state.newest;
  // What was removed was shown, or would be: then it counts for the end too, so that the end does not go back.
  if (state.removed < state.horizon) state.end = std::max(state.end, state.removed);
  state.knows_cursor = !rows.is_null(0, 8);
  state.last = optional_position_at(rows, 0, 9);
  return state;
}

Params cursor_param(std::int32_t incarnation) {
  Params params;
  params.int4(incarnation);
  return params;
}

Error refused(const std::string& message, const LogState& state, const Position& earliest) {
  Error error{Errc::cursor_expired, message, "after", {}};
  error.details.emplace_back("earliest", to_hex(encode(Cursor{state.incarnation, earliest})));
  return error;
}

// Whether everything before the cursor is in this log as its owner has seen it; else nobody knows what he has missed.
std::optional<Error> objection(const Cursor& after, const LogState& state) {
  if (!state.knows_cursor) return refused(cursor_of_another_log, state, {});
  if (state.last) {
    if (after.position <= *state.last) return std::nullopt;
    return refused(cursor_ahead_of_log, state, *state.last);
  }
  Position end = std::max(state.newest, state.removed);
  if (after.incarnation == 0) end = std::max(end, state.horizon);  // the old ones could go as far
  if (after.position <= end) return std::nullopt;
  return refused(cursor_ahead_of_log, state, {});
}

// The result of one read of the log.
struct Look {
  LogState state;
  bool cut = false;                                            // there may be more than was fetched
  std::vector<std::pair<Position, std::string_view>> entries;  // packed
  std::vector<Rows> rows;                                      // the rows that contain them
};

// Columns xid, n, entry of read_chain.
void take_chain(Look& look, const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    look.entries.emplace_back(position_at(rows, row, 0), rows.bytes(row, 2));
  }
  look.cut = rows.size() >= static_cast<int>(window);
}

// Columns xid, n, entries of read_pages; a page may begin before the place. Entries of erased records are empty.
void take_pages(Look& look, const Rows& rows, const Position& after, std::uint32_t pages) {
  for (int row = 0; row < rows.size(); ++row) {
    Position position = position_at(rows, row, 0);
    for (const std::string_view entry : rows.elements(row, 2)) {
      if (position > after) look.entries.emplace_back(position, entry);
      ++position.n;
    }
  }
  look.cut = rows.size() >= static_cast<int>(pages);
}

Reply<Look> look_at_log(Connection& connection, const LogQuery& query, std::int32_t incarnation, const Position& after,
                        std::uint32_t pages) {
  connection.queue(begin_snapshot, {});
  connection.queue(read_state, cursor_param(incarnation));
  if (query.root) {
    connection.queue(read_chain, chain_params(*query.root, after, window, false));
  } else {
    Params params;
    params.int8(static_cast<std::int64_t>(after.xid)).int4(after.n).int8(pages);
    connection.queue(read_pages, params);
  }
  connection.queue(end_snapshot, {});
  auto answer = connection.flush();
  if (!answer) {
    if (!answer.error().lost) (void)connection.exec("ROLLBACK");
    return Unexpected(std::move(answer).error());
  }
  Look look;
  look.rows = std::move(*answer);
  look.state = state_of(look.rows[1]);
  query.root ? take_chain(look, look.rows[2]) : take_pages(look, look.rows[2], after, pages);
  return look;
}

// Adds matching entries, up to the limit. Returns the position to continue from.
Position fill(LogPage& page, const Look& look, const LogQuery& query, const Position& after) {
  Position next = after;
  for (const auto& [position, packed] : look.entries) {
    if (page.entries.size() >= query.limit) return next;
    next = position;
    if (packed.empty()) continue;
    LogEntry entry = unpack(packed);
    if (!wants(query, entry)) continue;
    page.entries.push_back({encode(Cursor{look.state.incarnation, position}), std::move(entry)});
  }
  const bool all_seen = page.entries.size() < query.limit && !look.cut;
  return all_seen ? std::max(next, look.state.end) : next;
}

Reply<LogState> query_state(Connection& connection) {
  auto rows = connection.run(read_state, cursor_param(0));
  if (!rows) return Unexpected(std::move(rows).error());
  return state_of(*rows);
}

}  // namespace

Reply<std::string> query_log_start(Connection& connection) {
  auto state = query_state(connection);
  if (!state) return Unexpected(std::move(state).error());
  return encode(Cursor{state->incarnation, {}});
}

Reply<std::string> query_log_end(Connection& connection) {
  auto state = query_state(connection);
  if (!state) return Unexpected(std::move(state).error());
  return encode(Cursor{state->incarnation, state->end});
}

// Several looks, until there is a page full of entries, or nothing more, or too much that does not match.
Reply<Result<LogPage>> query_log(Connection& connection, const LogQuery& query, const Cursor& after) {
  LogPage page;
  Position next = after.position;
  std::size_t examined = 0;
  for (std::uint32_t pages = first_pages;; pages = std::min(4 * pages, most_pages)) {
    auto look = look_at_log(connection, query, after.incarnation, next, pages);
    if (!look) return Unexpected(std::move(look).error());
    if (!query.after.empty() && examined == 0) {
      if (auto error = objection(after, look->state)) return Result<LogPage>(Unexpected(std::move(*error)));
    }
    next = fill(page, *look, query, next);
    examined += look->entries.size();
    const bool full = page.entries.size() >= query.limit;
    page.behind = full || look->cut || look->state.hidden;
    page.next = encode(Cursor{look->state.incarnation, next});
    if (full || !look->cut || examined >= window) return page;
  }
}

Reply<LogHealth> query_log_health(Connection& connection) {
  auto rows = connection.run(read_health, {});
  if (!rows) return Unexpected(std::move(rows).error());
  LogHealth health;
  if (!rows->is_null(0, 3)) {
    health.uncleared_ms = rows->integer(0, 3);
    health.holder = rows->string(0, 4);
  }
  if (rows->integer(0, 0) != 0 && !rows->is_null(0, 1)) {
    health.held_back_ms = rows->integer(0, 1);
    health.holder = rows->string(0, 2);
  }
  return health;
}

Reply<Result<std::vector<LoggedEntry>>> query_history(Connection& connection, const Key& root, const Cursor& after,
                                                      std::uint32_t limit) {
  connection.queue(read_state, cursor_param(after.incarnation));
  connection.queue(read_chain, chain_params(root, after.position, limit, true));
  auto answer = connection.flush();
  if (!answer) return Unexpected(std::move(answer).error());
  const LogState state = state_of(answer->front());
  if (after.position != Position{}) {
    if (auto error = objection(after, state)) {
      return Result<std::vector<LoggedEntry>>(Unexpected(std::move(*error)));
    }
  }
  const Rows& rows = answer->back();
  std::vector<LoggedEntry> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({encode(Cursor{state.incarnation, position_at(rows, row, 0)}), unpack(rows.bytes(row, 2))});
  }
  return out;
}

}  // namespace flowfabric::postgres
