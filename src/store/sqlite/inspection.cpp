// The reads of checks and repairs (store/inspection.hpp). Each function is one snapshot.
#include "store/inspection.hpp"

#include <map>
#include <tuple>

#include "base/check.hpp"
#include "store/sqlite/batch.hpp"
#include "store/sqlite/log_pages.hpp"
#include "store/sqlite/queries.hpp"

namespace flowfabric::sqlite {
namespace {

// The columns of a record behind an entry's own; all of them are NULL where there is no such record.
std::optional<Record> joined_record(const Statement& row, int first_column) {
  if (row.is_null(first_column)) return std::nullopt;
  return Record{Key{row.bytes(first_column)},
                static_cast<std::uint64_t>(row.integer(first_column + 1)),
                row.bytes(first_column + 2),
                row.bytes(first_column + 3),
                encode_last_entry(row.integer(first_column + 4)),
                static_cast<std::uint64_t>(row.integer(first_column + 5))};
}

// Columns created_at, finished_at, state, name_space, lane, kind, flow, tags. A record without created_at is not listed.
std::optional<Listing> stored_listing(const Statement& row, int first_column) {
  if (row.is_null(first_column)) return std::nullopt;
  Listing listing;
  listing.created_at = row.integer(first_column);
  listing.finished_at = row.integer(first_column + 1);
  listing.state = static_cast<std::uint8_t>(row.integer(first_column + 2));
  listing.name_space = row.bytes(first_column + 3);
  listing.lane = row.bytes(first_column + 4);
  listing.kind = row.bytes(first_column + 5);
  listing.flow = row.bytes(first_column + 6);
  listing.tags = row.bytes(first_column + 7);
  return listing;
}

Result<bool> has_row(Statement& find) {
  FF_TRY(row, find.step());
  if (row) find.reset();
  return row;
}

Result<bool> has_ready(Database& database, const ReadyEntry& entry) {
  constexpr static char sql[] = R"(
    SELECT 1 FROM ready
    WHERE route = ?1 AND neg_priority = ?2 AND sequence = ?3 AND key = ?4 AND name_space = ?5)";
  FF_TRY(find, database.cached(sql));
  find->bind(1, static_cast<std::int64_t>(entry.route));
  find->bind(2, -static_cast<std::int64_t>(entry.priority));
  find->bind(3, static_cast<std::int64_t>(entry.sequence));
  find->bind_blob(4, entry.key.bytes);
  find->bind_text(5, entry.name_space);
  return has_row(*find);
}

Result<bool> has_due(Database& database, const DueEntry& entry) {
  constexpr static char sql[] = "SELECT 1 FROM due WHERE due_at = ?1 AND key = ?2 AND group_no = ?3 AND rank = ?4";
  FF_TRY(find, database.cached(sql));
  find->bind(1, entry.due_at);
  find->bind_blob(2, entry.key.bytes);
  find->bind(3, static_cast<std::int64_t>(entry.group));
  find->bind(4, entry.rank);
  return has_row(*find);
}

Result<bool> has_satellite(Database& database, const SatelliteName& name) {
  constexpr static char sql[] = "SELECT 1 FROM satellite WHERE root = ?1 AND kind = ?2 AND n = ?3";
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, name.root.bytes);
  find->bind(2, name.kind);
  find->bind(3, name.n);
  return has_row(*find);
}

Result<PresentEntries> present_of(Database& database, const WantedEntries& wanted) {
  constexpr static char sql[] = "SELECT version FROM root WHERE key = ?1";
  PresentEntries found;
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, wanted.key.bytes);
  FF_TRY(row, find->step());
  if (row) {
    found.version = static_cast<std::uint64_t>(find->integer(0));
    find->reset();
  }
  if (wanted.ready) {
    FF_TRY(ready, has_ready(database, *wanted.ready));
    found.ready = ready;
  }
  if (wanted.due) {
    FF_TRY(due, has_due(database, *wanted.due));
    found.due = due;
  }
  for (const SatelliteName& name : wanted.satellites) {
    FF_TRY(there, has_satellite(database, name));
    found.satellites.push_back(there);
  }
  return found;
}

}  // namespace

Result<std::vector<InspectedRecord>> inspect_records(Database& database, const std::string& after,
                                                     std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT key, version, fixed, body, last_entry, id,
           created_at, finished_at, state, name_space, lane, kind, flow, tags
    FROM root WHERE key > ?1 ORDER BY key LIMIT ?2)";
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, after);
  find->bind(2, limit);
  std::vector<InspectedRecord> page;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return page;
    page.push_back({*joined_record(*find, 0), stored_listing(*find, 6)});
  }
}

// No route is below 1, so 0 stands before all.
Result<std::vector<InspectedReady>> inspect_ready(Database& database, const std::optional<ReadyEntry>& after,
                                                  std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT ready.route, ready.neg_priority, ready.sequence, ready.key, ready.name_space,
           root.key, root.version, root.fixed, root.body, root.last_entry, root.id
    FROM ready LEFT JOIN root ON root.key = ready.key
    WHERE (ready.route, ready.neg_priority, ready.sequence, ready.key) > (?1, ?2, ?3, ?4)
    ORDER BY ready.route, ready.neg_priority, ready.sequence, ready.key LIMIT ?5)";
  FF_TRY(find, database.cached(sql));
  find->bind(1, after ? static_cast<std::int64_t>(after->route) : 0);
  find->bind(2, after ? -static_cast<std::int64_t>(after->priority) : INT64_MIN);
  find->bind(3, after ? static_cast<std::int64_t>(after->sequence) : 0);
  find->bind_blob(4, after ? std::string_view(after->key.bytes) : "");
  find->bind(5, limit);
  std::vector<InspectedReady> page;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return page;
    ReadyEntry entry{static_cast<RouteNo>(find->integer(0)), static_cast<std::int32_t>(-find->integer(1)),
                     static_cast<std::uint64_t>(find->integer(2)), Key{find->bytes(3)}, find->bytes(4)};
    page.push_back({std::move(entry), joined_record(*find, 5)});
  }
}

Result<std::vector<InspectedDue>> inspect_due(Database& database, const std::optional<DueEntry>& after,
                                              std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT due.due_at, due.key, due.group_no, due.rank,
           root.key, root.version, root.fixed, root.body, root.last_entry, root.id
    FROM due LEFT JOIN root ON root.key = due.key
    WHERE (due.due_at, due.key) > (?1, ?2) ORDER BY due.due_at, due.key LIMIT ?3)";
  FF_TRY(find, database.cached(sql));
  find->bind(1, after ? after->due_at : INT64_MIN);
  find->bind_blob(2, after ? std::string_view(after->key.bytes) : "");
  find->bind(3, limit);
  std::vector<InspectedDue> page;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return page;
    DueEntry entry{find->integer(0), Key{find->bytes(1)}, static_cast<std::uint64_t>(find->integer(2)),
                   find->integer(3)};
    page.push_back({std::move(entry), joined_record(*find, 4)});
  }
}

Result<std::vector<SatelliteName>> orphaned_satellites(Database& database, const std::optional<SatelliteName>& after,
                                                       std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT root, kind, n FROM satellite INDEXED BY satellite_name
    WHERE (root, kind, n) > (?1, ?2, ?3) AND NOT EXISTS (SELECT 1 FROM root WHERE root.key = satellite.root)
    ORDER BY root, kind, n LIMIT ?4)";
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, after ? std::string_view(after->root.bytes) : "");
  find->bind(2, after ? after->kind : 0);
  find->bind(3, after ? after->n : 0);
  find->bind(4, limit);
  std::vector<SatelliteName> page;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return page;
    page.push_back({Key{find->bytes(0)}, static_cast<std::uint8_t>(find->integer(1)),
                    static_cast<std::uint32_t>(find->integer(2))});
  }
}

Result<std::vector<SequenceName>> orphaned_sequences(Database& database, const std::optional<SequenceName>& after,
                                                     std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT DISTINCT root, kind FROM sequence_entry
    WHERE (root, kind) > (?1, ?2) AND NOT EXISTS (SELECT 1 FROM root WHERE root.key = sequence_entry.root)
    ORDER BY root, kind LIMIT ?3)";
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, after ? std::string_view(after->root.bytes) : "");
  find->bind(2, after ? after->kind : 0);
  find->bind(3, limit);
  std::vector<SequenceName> page;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return page;
    page.push_back({Key{find->bytes(0)}, static_cast<std::uint8_t>(find->integer(1))});
  }
}

// One pass over the table in its own order. Grouping happens here: SQLite would sort all rows for it.
Result<InspectedCounts> inspect_counts(Database& database) {
  constexpr static char sql[] =
      "SELECT record_kind, name_space, lane, state FROM root NOT INDEXED WHERE created_at IS NOT NULL";
  FF_TRY(snapshot, Snapshot::begin(database));
  FF_TRY(find, database.cached(sql));
  std::map<std::tuple<std::int64_t, std::string, std::string, std::int64_t>, std::uint64_t> numbers;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) break;
    ++numbers[{find->integer(0), find->bytes(1), find->bytes(2), find->integer(3)}];
  }
  InspectedCounts counts;
  for (const auto& [columns, number] : numbers) {
    const auto& [kind, name_space, lane, state] = columns;
    counts.listed.push_back(
        {static_cast<RecordKind>(kind), name_space, lane, static_cast<std::uint8_t>(state), number});
  }
  FF_TRY(stored, counters(database, ""));
  counts.counters = std::move(stored);
  FF_TRY_VOID(snapshot.end());
  return counts;
}

Result<std::vector<Route>> all_routes(Database& database) {
  constexpr static char sql[] = "SELECT number, lane, capabilities FROM route ORDER BY number";
  FF_TRY(find, database.prepare(sql));
  std::vector<Route> routes;
  for (;;) {
    FF_TRY(row, find.step());
    if (!row) return routes;
    FF_TRY(capabilities, decode_capabilities(find.view(2)));
    routes.push_back(Route{static_cast<RouteNo>(find.integer(0)), find.bytes(1), std::move(capabilities)});
  }
}

Result<std::vector<PresentEntries>> present(Database& database, const std::vector<WantedEntries>& wanted) {
  FF_TRY(snapshot, Snapshot::begin(database));
  std::vector<PresentEntries> all;
  all.reserve(wanted.size());
  for (const WantedEntries& one : wanted) {
    FF_TRY(found, present_of(database, one));
    all.push_back(std::move(found));
  }
  FF_TRY_VOID(snapshot.end());
  return all;
}

}  // namespace flowfabric::sqlite
