#include "store/postgres/event_log.hpp"

#include <algorithm>

namespace flowfabric::postgres {
namespace {

constexpr std::size_t position_bytes = 12;
// How many entries one read looks at when a filter passes few of them; then it says where to go on.
constexpr std::int64_t window = 20000;

// The statements of one read share a snapshot.
constexpr Statement begin_snapshot = {"begin_snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement end_snapshot = {"end_snapshot", "COMMIT"};

constexpr Statement read_floor = {"read_floor", "SELECT xid, n FROM log_floor"};

constexpr Statement read_horizon = {"read_horizon", "SELECT pg_snapshot_xmin(pg_current_snapshot())"};

// Result: floor, horizon, whether entries are committed that may not be shown yet. Index event_pkey.
constexpr Statement read_state = {"read_log_state", R"sql(
SELECT f.xid, f.n, pg_snapshot_xmin(pg_current_snapshot()),
  EXISTS (SELECT FROM event WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()))::int
FROM log_floor f)sql"};

// Result: entries of all records after a position and below the horizon, out of the next `window`. Index event_pkey.
constexpr Statement read_entries = {"read_entries", R"sql(
SELECT xid, n, root, type, at, name_space, lane, body FROM (
  SELECT * FROM event WHERE (xid, n) > ($1::xid8, $2::int) AND xid < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY xid, n LIMIT $7::bigint) e
WHERE ($3::text IS NULL OR name_space = $3::text) AND ($4::text IS NULL OR lane = $4::text)
  AND ($5::smallint[] IS NULL OR type = ANY($5::smallint[]))
ORDER BY xid, n LIMIT $6::bigint)sql"};

// Result: the last entry of the window when it is full. Index event_pkey alone.
constexpr Statement read_window_end = {"read_window_end", R"sql(
SELECT xid, n FROM event WHERE (xid, n) > ($1::xid8, $2::int) AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, n OFFSET $3::bigint - 1 LIMIT 1)sql"};

// Result: as read_entries for one record; no window, for it has few. Index event_root.
constexpr Statement read_entries_of_root = {"read_entries_of_root", R"sql(
SELECT xid, n, root, type, at, name_space, lane, body FROM event
WHERE root = $7::bytea AND (xid, n) > ($1::xid8, $2::int) AND xid < pg_snapshot_xmin(pg_current_snapshot())
  AND ($3::text IS NULL OR name_space = $3::text) AND ($4::text IS NULL OR lane = $4::text)
  AND ($5::smallint[] IS NULL OR type = ANY($5::smallint[]))
ORDER BY xid, n LIMIT $6::bigint)sql"};

// Result: all committed entries of one record. One record's entries commit in the order of their positions, so the
// horizon does not matter. Index event_root.
constexpr Statement read_history = {"read_history", R"sql(
SELECT xid, n, root, type, at, name_space, lane, body FROM event
WHERE root = $1::bytea AND (xid, n) > ($2::xid8, $3::int) ORDER BY xid, n LIMIT $4::bigint)sql"};

Position position_at(const Rows& rows, int row, int column) {
  return {static_cast<std::uint64_t>(rows.integer(row, column)),
          static_cast<std::uint32_t>(rows.integer(row, column + 1))};
}

std::vector<LoggedEntry> entries_of(const Rows& rows) {
  std::vector<LoggedEntry> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({encode(position_at(rows, row, 0)),
                   {Key{rows.string(row, 2)}, static_cast<std::uint8_t>(rows.integer(row, 3)), rows.integer(row, 4),
                    rows.string(row, 5), rows.string(row, 6), rows.string(row, 7)}});
  }
  return out;
}

bool has_filter(const LogQuery& query) { return query.name_space || query.lane || !query.types.empty(); }

void queue_entries(Connection& connection, const LogQuery& query, const Position& after) {
  Params params;
  params.int8(static_cast<std::int64_t>(after.xid)).int4(after.n);
  query.name_space ? params.bytes(*query.name_space) : params.null();
  query.lane ? params.bytes(*query.lane) : params.null();
  if (query.types.empty()) {
    params.null();
  } else {
    params.array(Type::int2, query.types, [](std::uint8_t type) { return std::int64_t{type}; });
  }
  params.int8(query.limit);
  if (query.root) {
    params.bytes(query.root->bytes);
    connection.queue(read_entries_of_root, params);
    return;
  }
  params.int8(has_filter(query) ? window : std::int64_t{query.limit});
  connection.queue(read_entries, params);
}

}  // namespace

std::string encode(const Position& position) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(position.xid >> shift));
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(position.n >> shift));
  return out;
}

Result<Position> decode_position(const std::string& bytes) {
  if (bytes.size() != position_bytes || static_cast<std::uint8_t>(bytes[8]) > 0x7f) {
    return fail(Errc::invalid_argument, "not a position of this log", "after");
  }
  Position position;
  for (std::size_t i = 0; i < 8; ++i) position.xid = (position.xid << 8) | static_cast<std::uint8_t>(bytes[i]);
  for (std::size_t i = 8; i < 12; ++i) position.n = (position.n << 8) | static_cast<std::uint8_t>(bytes[i]);
  return position;
}

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

Reply<LogSlice> query_log(Connection& connection, const LogQuery& query, const Position& after) {
  const bool windowed = has_filter(query) && !query.root;
  connection.queue(begin_snapshot, {});
  connection.queue(read_state, {});
  queue_entries(connection, query, after);
  if (windowed) {
    Params params;
    params.int8(static_cast<std::int64_t>(after.xid)).int4(after.n).int8(window);
    connection.queue(read_window_end, params);
  }
  connection.queue(end_snapshot, {});
  auto answer = connection.flush();
  if (!answer) {
    if (!answer.error().lost) (void)connection.exec("ROLLBACK");
    return tl::unexpected(std::move(answer).error());
  }
  const Rows& state = (*answer)[1];
  LogSlice slice{.floor = position_at(state, 0, 0), .page = {}};
  slice.page.entries = entries_of((*answer)[2]);
  const bool full = slice.page.entries.size() >= query.limit;
  const bool window_full = windowed && (*answer)[3].size() > 0;
  const Position horizon{static_cast<std::uint64_t>(state.integer(0, 2)), 0};
  if (full) {
    slice.page.next = slice.page.entries.empty() ? encode(after) : slice.page.entries.back().position;
  } else {
    slice.page.next = encode(window_full ? position_at((*answer)[3], 0, 0) : std::max(after, horizon));
  }
  slice.page.behind = full || window_full || state.integer(0, 3) != 0;
  return slice;
}

Reply<std::vector<LoggedEntry>> query_history(Connection& connection, const Key& root, const Position& after,
                                              std::uint32_t limit) {
  Params params;
  params.bytes(root.bytes).int8(static_cast<std::int64_t>(after.xid)).int4(after.n).int8(limit);
  auto rows = connection.run(read_history, params);
  if (!rows) return tl::unexpected(std::move(rows).error());
  return entries_of(*rows);
}

}  // namespace flowfabric::postgres
