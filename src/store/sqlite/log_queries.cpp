// The log. A position is `seq` as eight bytes, most significant first, so that positions order like numbers.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "store/sqlite/queries.hpp"

namespace flowfabric::sqlite {
namespace {

// A narrow filter over a long log answers in pieces, so that no reader holds its snapshot for long.
constexpr std::uint32_t max_examined = 20'000;

constexpr std::size_t position_bytes = 8;

std::string encode_position(std::int64_t seq) {
  std::string bytes(position_bytes, '\0');
  auto rest = static_cast<std::uint64_t>(seq);
  for (std::size_t i = position_bytes; i-- > 0; rest >>= 8) bytes[i] = static_cast<char>(rest & 0xff);
  return bytes;
}

Result<std::int64_t> decode_position(const std::string& bytes) {
  std::uint64_t seq = 0;
  for (const char byte : bytes) seq = (seq << 8) | static_cast<std::uint8_t>(byte);
  if (bytes.size() != position_bytes || seq > INT64_MAX) {
    return fail(Errc::invalid_argument, "this is not a position of this store's log", "after");
  }
  return static_cast<std::int64_t>(seq);
}

// The greatest number that was ever deleted, and the greatest that was ever given out: what was deleted is never above
// the floor, so the latter needs no row of its own.
constexpr char floor_sql[] = "SELECT value FROM meta WHERE name = 'log_floor'";
constexpr char end_sql[] =
    "SELECT max((SELECT coalesce(max(seq), 0) FROM event), (SELECT value FROM meta WHERE name = 'log_floor'))";

constexpr char read_all_sql[] = R"(
  SELECT seq, root, type, at, name_space, lane, body FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
// Through event_root, which is sorted by (root, seq).
constexpr char read_root_sql[] = R"(
  SELECT seq, root, type, at, name_space, lane, body FROM event INDEXED BY event_root
  WHERE root = ?3 AND seq > ?1 ORDER BY seq LIMIT ?2)";

LoggedEntry entry_at(const Statement& row) {
  LogEntry entry{Key{row.bytes(1)}, static_cast<std::uint8_t>(row.integer(2)),
                 row.integer(3),    row.bytes(4),
                 row.bytes(5),      row.bytes(6)};
  return LoggedEntry{encode_position(row.integer(0)), std::move(entry)};
}

bool matches(const LogQuery& query, const Statement& row) {
  if (query.name_space && row.view(4) != *query.name_space) return false;
  if (query.lane && row.view(5) != *query.lane) return false;
  const auto type = static_cast<std::uint8_t>(row.integer(2));
  return query.types.empty() || std::find(query.types.begin(), query.types.end(), type) != query.types.end();
}

// The number to start after, or why that is no longer possible.
Result<std::int64_t> start_of(const LogQuery& query, std::int64_t floor) {
  if (query.after.empty()) return floor;
  FF_TRY(after, decode_position(query.after));
  if (after >= floor) return after;
  Error error{Errc::cursor_expired, "events after this position have been removed by retention", {}, {}};
  error.details.emplace_back("earliest", to_hex(encode_position(floor)));
  return tl::unexpected(std::move(error));
}

// Fills the page from the rows after `seq`. True when it has seen them all, false when it stopped before the end; then
// `seq` is the last row that it looked at.
Result<bool> fill_page(Database& database, const LogQuery& query, std::int64_t& seq, LogPage& page) {
  FF_TRY(find, database.cached(query.root ? read_root_sql : read_all_sql));
  find->bind(1, seq);
  find->bind(2, max_examined);
  if (query.root) find->bind_blob(3, query.root->bytes);
  for (std::uint32_t examined = 0; page.entries.size() < query.limit; ++examined) {
    FF_TRY(row, find->step());
    if (!row) return examined < max_examined;
    seq = find->integer(0);
    if (matches(query, *find)) page.entries.push_back(entry_at(*find));
  }
  find->reset();
  return false;
}

}  // namespace

Result<std::string> log_start(Database& database) {
  FF_TRY(floor, database.query_integer(floor_sql));
  return encode_position(floor);
}

Result<std::string> log_end(Database& database) {
  FF_TRY(end, database.query_integer(end_sql));
  return encode_position(end);
}

Result<LogPage> read_log(Database& database, const LogQuery& query) {
  FF_TRY(snapshot, Snapshot::begin(database));
  FF_TRY(floor, database.query_integer(floor_sql));
  FF_TRY(end, database.query_integer(end_sql));
  FF_TRY(seq, start_of(query, floor));
  LogPage page;
  FF_TRY(complete, fill_page(database, query, seq, page));
  page.behind = !complete;
  page.next = encode_position(complete ? std::max(seq, end) : seq);
  FF_TRY_VOID(snapshot.end());
  return page;
}

Result<std::vector<LoggedEntry>> history(Database& database, const Key& root, const std::string& after,
                                         std::uint32_t limit) {
  std::int64_t seq = 0;
  if (!after.empty()) {
    FF_TRY(given, decode_position(after));
    seq = given;
  }
  FF_TRY(find, database.cached(read_root_sql));
  find->bind(1, seq);
  find->bind(2, limit);
  find->bind_blob(3, root.bytes);
  std::vector<LoggedEntry> entries;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return entries;
    entries.push_back(entry_at(*find));
  }
}

}  // namespace flowfabric::sqlite
