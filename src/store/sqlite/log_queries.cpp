// Reading the log: all of it page by page, and one record's part along its chain.
#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "store/log_filter.hpp"
#include "store/sqlite/log_pages.hpp"
#include "store/sqlite/queries.hpp"

namespace flowfabric::sqlite {
namespace {

// A selective filter over a long log answers in pieces, so that no reader holds its snapshot for long.
constexpr std::uint32_t max_examined = 20'000;

// The id of the log, and the greatest number that was ever given out: what was deleted is never above the floor, so that
// needs no row of its own. A file that no newer program has written to yet has no id.
constexpr char id_sql[] = "SELECT coalesce((SELECT value FROM meta WHERE name = 'log_id'), 0)";
constexpr char end_sql[] = R"(
  SELECT max(coalesce((SELECT seq + entries - 1 FROM log ORDER BY seq DESC LIMIT 1), 0),
             (SELECT value FROM meta WHERE name = 'log_floor')))";

struct LogState {
  std::int64_t id = 0;
  std::int64_t end = 0;
};

Result<LogState> log_state(Database& database) {
  FF_TRY(id, database.query_integer(id_sql));
  FF_TRY(end, database.query_integer(end_sql));
  return LogState{id, end};
}

// Starting with the page that contains the entry ?1.
constexpr char read_pages_sql[] = R"(
  SELECT seq, entries, body FROM log
  WHERE seq >= coalesce((SELECT max(seq) FROM log WHERE seq <= ?1), 0) ORDER BY seq)";
constexpr char newest_entry_sql[] = "SELECT last_entry FROM root WHERE key = ?1";

LoggedEntry logged_entry(std::int64_t log_id, std::int64_t seq, const PageEntry& entry) {
  LogEntry copy{
      Key{std::string(entry.root)}, entry.type, entry.at, std::string(entry.name_space), std::string(entry.lane),
      std::string(entry.body)};
  return LoggedEntry{encode_position(log_id, seq), std::move(copy)};
}

// The number to start after, if this log has ever reached it.
Result<std::int64_t> start_of(const std::string& after, const LogState& log) {
  if (after.empty()) return 0;
  const auto position = decode_position(after);
  if (!position) return fail(Errc::invalid_argument, "this is not a position of this store's log", "after");
  const bool ours = position->log_id.value_or(log.id) == log.id;
  if (ours && position->seq <= log.end) return position->seq;
  Error error{Errc::cursor_expired, ours ? cursor_ahead_of_log : cursor_of_another_log, "after", {}};
  error.details.emplace_back("earliest", to_hex(encode_position(log.id, 0)));
  return Unexpected(std::move(error));
}

// A read of the log in progress.
struct Reading {
  const LogQuery& query;
  std::int64_t log_id = 0;
  std::int64_t seq = 0;  // the last examined entry
  std::uint32_t examined = 0;
  std::vector<LoggedEntry> entries{};

  bool full() const { return entries.size() >= query.limit || examined >= max_examined; }
};

// What erased records have left in a page is empty.
void read_entries(std::int64_t first, const std::vector<PageEntry>& entries, Reading& reading) {
  const std::int64_t seen = std::max<std::int64_t>(reading.seq - first + 1, 0);
  for (auto i = static_cast<std::size_t>(seen); i < entries.size() && !reading.full(); ++i) {
    reading.seq = first + static_cast<std::int64_t>(i);
    ++reading.examined;
    if (entries[i].root.empty() || !wants(reading.query, entries[i])) continue;
    reading.entries.push_back(logged_entry(reading.log_id, reading.seq, entries[i]));
  }
}

// True if it has seen all entries, false if it stopped at the limit.
Result<bool> read_pages(Database& database, Reading& reading) {
  FF_TRY(find, database.cached(read_pages_sql));
  find->bind(1, reading.seq);
  while (!reading.full()) {
    FF_TRY(row, find->step());
    if (!row) return true;
    auto entries = decode_page(find->view(2), find->integer(1));
    if (!entries) {
      find->reset();
      return Unexpected(std::move(entries).error());
    }
    read_entries(find->integer(0), *entries, reading);
  }
  find->reset();
  return false;
}

// 0 if there is no such record, or no entry of it.
Result<std::int64_t> newest_entry(Database& database, const Key& root) {
  FF_TRY(find, database.cached(newest_entry_sql));
  find->bind_blob(1, root.bytes);
  FF_TRY(row, find->step());
  if (!row) return 0;
  const std::int64_t seq = find->integer(0);
  find->reset();
  return seq;
}

// The same for one root. A chain is read from its newest entry, so the first matching entries are found last.
Result<bool> read_chain(Database& database, Reading& reading) {
  const LogQuery& query = reading.query;
  PageReader pages(database);
  std::deque<LoggedEntry> oldest;
  FF_TRY(seq, newest_entry(database, *query.root));
  while (seq > reading.seq) {
    FF_TRY(found, pages.find(seq, query.root->bytes));
    if (found.entry == nullptr) return fail(Errc::corruption, "the log has lost a part of this record's history");
    if (wants(query, *found.entry)) oldest.push_front(logged_entry(reading.log_id, seq, *found.entry));
    if (oldest.size() > query.limit) oldest.pop_back();
    seq = found.entry->previous;
  }
  reading.entries.assign(std::make_move_iterator(oldest.begin()), std::make_move_iterator(oldest.end()));
  if (!reading.full()) return true;
  if (!reading.entries.empty()) reading.seq = decode_position(reading.entries.back().position)->seq;
  return false;
}

// The number of entries of each page that the chains of the records lead to, by the page's first entry. Returns the
// number of broken chains.
Result<std::int64_t> follow_chains(Database& database, std::unordered_map<std::int64_t, std::int64_t>& reached) {
  FF_TRY(root, database.prepare("SELECT key, last_entry FROM root WHERE last_entry <> 0 ORDER BY id"));
  PageReader pages(database);
  for (std::int64_t broken = 0;;) {
    FF_TRY(row, root.step());
    if (!row) return broken;
    for (std::int64_t seq = root.integer(1); seq != 0;) {
      FF_TRY(found, pages.find(seq, root.view(0)));
      broken += found.entry == nullptr ? 1 : 0;
      if (found.entry == nullptr) break;
      ++reached[found.page->first];
      seq = found.entry->previous;
    }
  }
}

}  // namespace

Result<std::string> log_start(Database& database) {
  FF_TRY(id, database.query_integer(id_sql));
  return encode_position(id, 0);
}

Result<std::string> log_end(Database& database) {
  FF_TRY(log, log_state(database));
  return encode_position(log.id, log.end);
}

Result<LogPage> read_log(Database& database, const LogQuery& query) {
  FF_TRY(snapshot, Snapshot::begin(database));
  FF_TRY(log, log_state(database));
  FF_TRY(start, start_of(query.after, log));
  Reading reading{query, log.id, start};
  FF_TRY(complete, query.root ? read_chain(database, reading) : read_pages(database, reading));
  FF_TRY_VOID(snapshot.end());
  const std::int64_t next = complete ? log.end : reading.seq;
  return LogPage{std::move(reading.entries), encode_position(log.id, next), !complete};
}

Result<std::vector<LoggedEntry>> history(Database& database, const Key& root, const std::string& after,
                                         std::uint32_t limit) {
  LogQuery query;
  query.root = root;
  query.limit = limit;
  FF_TRY(snapshot, Snapshot::begin(database));
  FF_TRY(log, log_state(database));
  FF_TRY(start, start_of(after, log));
  Reading reading{query, log.id, start};
  FF_TRY_VOID(read_chain(database, reading));
  FF_TRY_VOID(snapshot.end());
  return std::move(reading.entries);
}

Result<void> check_log(Database& database, std::vector<std::string>& findings) {
  std::unordered_map<std::int64_t, std::int64_t> reached;
  FF_TRY(broken, follow_chains(database, reached));
  if (broken > 0) findings.push_back(std::to_string(broken) + " records have a broken chain of log entries.");
  FF_TRY(page, database.prepare("SELECT seq, live FROM log"));
  std::int64_t wrong = 0;
  for (;;) {
    FF_TRY(row, page.step());
    if (!row) break;
    const auto found = reached.find(page.integer(0));
    wrong += page.integer(1) == (found == reached.end() ? 0 : found->second) ? 0 : 1;
  }
  if (wrong > 0) findings.push_back(std::to_string(wrong) + " pages of the log miscount their live entries.");
  return {};
}

}  // namespace flowfabric::sqlite
