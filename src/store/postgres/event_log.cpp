#include "store/postgres/event_log.hpp"

#include <algorithm>

namespace flowfabric::postgres {
namespace {

// How many entries one read looks at when a filter passes few of them; then it says where to go on.
constexpr std::size_t window = 20000;
// How many pages are fetched at once, at first and at most. A page holds one entry or a few dozen.
constexpr std::uint32_t first_pages = 32, most_pages = 512;

// The statements of one read share a snapshot.
constexpr Statement begin_snapshot = {"begin_snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement end_snapshot = {"end_snapshot", "COMMIT"};

constexpr Statement read_floor = {"read_floor", "SELECT xid, n FROM log_floor"};

constexpr Statement read_horizon = {"read_horizon", "SELECT pg_snapshot_xmin(pg_current_snapshot())"};

// Result: floor, horizon, whether entries are committed that may not be shown yet. Index log_pkey, from its end: asked
// whether there are entries past the horizon, the planner would take many for granted and read the table for the first.
constexpr Statement read_state = {"read_log_state", R"sql(
SELECT f.xid, f.n, pg_snapshot_xmin(pg_current_snapshot()),
  coalesce((SELECT xid FROM log ORDER BY xid DESC LIMIT 1) >= pg_snapshot_xmin(pg_current_snapshot()), false)::int
FROM log_floor f)sql"};

// Result: the pages with entries after a position and below the horizon. Index log_pkey.
constexpr Statement read_pages = {"read_pages", R"sql(
SELECT xid, n, entries FROM log
WHERE xid >= $1::xid8 AND (xid, n + cardinality(entries) - 1) > ($1::xid8, $2::int)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
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
SELECT xid, n, entry FROM chain WHERE $5::int <> 0 OR xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, n LIMIT $4::bigint)sql"};

Params chain_params(const Key& root, const Position& after, std::int64_t limit, bool beyond_horizon) {
  Params params;
  params.bytes(root.bytes).int8(static_cast<std::int64_t>(after.xid)).int4(after.n).int8(limit);
  params.int4(beyond_horizon ? 1 : 0);
  return params;
}

bool matches(const LogQuery& query, const LogEntry& entry) {
  return (!query.name_space || *query.name_space == entry.name_space) && (!query.lane || *query.lane == entry.lane) &&
         (query.types.empty() || std::find(query.types.begin(), query.types.end(), entry.type) != query.types.end());
}

// What one look at the log brings.
struct Look {
  Position floor, horizon;
  bool hidden = false;                                         // entries are committed that may not be shown yet
  bool cut = false;                                            // there may be more than was fetched
  std::vector<std::pair<Position, std::string_view>> entries;  // packed
  std::vector<Rows> rows;                                      // that hold them
};

// Columns xid, n, entry of read_chain.
void take_chain(Look& look, const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    look.entries.emplace_back(position_at(rows, row, 0), rows.bytes(row, 2));
  }
  look.cut = rows.size() >= static_cast<int>(window);
}

// Columns xid, n, entries of read_pages; a page may begin before the place.
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

Reply<Look> look_at_log(Connection& connection, const LogQuery& query, const Position& after, std::uint32_t pages) {
  connection.queue(begin_snapshot, {});
  connection.queue(read_state, {});
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
    return tl::unexpected(std::move(answer).error());
  }
  Look look;
  look.rows = std::move(*answer);
  const Rows& state = look.rows[1];
  look.floor = position_at(state, 0, 0);
  look.horizon = {static_cast<std::uint64_t>(state.integer(0, 2)), 0};
  look.hidden = state.integer(0, 3) != 0;
  query.root ? take_chain(look, look.rows[2]) : take_pages(look, look.rows[2], after, pages);
  return look;
}

// Adds what matches, up to the limit. Returns where to go on.
Position fill(LogPage& page, const Look& look, const LogQuery& query, const Position& after) {
  Position next = after;
  for (const auto& [position, packed] : look.entries) {
    if (page.entries.size() >= query.limit) return next;
    LogEntry entry = unpack(packed);
    if (matches(query, entry)) page.entries.push_back({encode(position), std::move(entry)});
    next = position;
  }
  const bool all_seen = page.entries.size() < query.limit && !look.cut;
  return all_seen ? std::max(next, look.horizon) : next;
}

}  // namespace

Reply<Position> query_log_start(Connection& connection) {
  auto rows = connection.run(read_floor, {});
  if (!rows) return tl::unexpected(std::move(rows).error());
  return position_at(*rows, 0, 0);
}

Reply<Position> query_log_end(Connection& connection) {
  auto rows = connection.run(read_horizon, {});
  if (!rows) return tl::unexpected(std::move(rows).error());
  return Position{static_cast<std::uint64_t>(rows->integer(0, 0)), 0};
}

// Several looks, until there is a page full of entries, or nothing more, or too much that does not match. Each stands on its
// own, so that what retention removes between two of them ends the page: whoever reads on from there is told.
Reply<LogSlice> query_log(Connection& connection, const LogQuery& query, const Position& after) {
  LogSlice slice;
  Position next = after;
  std::size_t examined = 0;
  for (std::uint32_t pages = first_pages;; pages = std::min(4 * pages, most_pages)) {
    auto look = look_at_log(connection, query, next, pages);
    if (!look) return tl::unexpected(std::move(look).error());
    if (examined == 0) slice.floor = look->floor;
    if (look->floor > next) {
      slice.page.behind = true;
      break;
    }
    next = fill(slice.page, *look, query, next);
    examined += look->entries.size();
    const bool full = slice.page.entries.size() >= query.limit;
    slice.page.behind = full || look->cut || look->hidden;
    if (full || !look->cut || examined >= window) break;
  }
  slice.page.next = encode(next);
  return slice;
}

Reply<std::vector<LoggedEntry>> query_history(Connection& connection, const Key& root, const Position& after,
                                              std::uint32_t limit) {
  auto rows = connection.run(read_chain, chain_params(root, after, limit, true));
  if (!rows) return tl::unexpected(std::move(rows).error());
  std::vector<LoggedEntry> out;
  out.reserve(static_cast<std::size_t>(rows->size()));
  for (int row = 0; row < rows->size(); ++row) {
    out.push_back({encode(position_at(*rows, row, 0)), unpack(rows->bytes(row, 2))});
  }
  return out;
}

}  // namespace flowfabric::postgres
