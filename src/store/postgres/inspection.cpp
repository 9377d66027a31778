#include "store/postgres/inspection.hpp"

#include "store/postgres/rows.hpp"

namespace flowfabric::postgres {
namespace {

#define FF_JOINED_RECORD "r.key, r.version, r.fixed, r.body, r.log_xid, r.log_n, r.ctid"

// Result: records after $1 with the columns of their listing. Index root_pkey.
constexpr Statement page_of_records = {"page_of_records", "SELECT " FF_JOINED_RECORD R"sql(,
  r.created_at, r.finished_at, r.state, r.name_space, r.lane, r.kind, r.flow, r.tags
FROM root r WHERE r.key > $1::bytea ORDER BY r.key LIMIT $2::bigint)sql"};

// Result: entries after one, with their records. Index ready_order: the rest of its route and priority, the rest of its
// route, the routes behind it; each part is a range of the index, which one condition over all four columns would not be.
constexpr Statement page_of_ready = {
    "page_of_ready", "SELECT x.route, x.priority, x.sequence, x.key, x.name_space, " FF_JOINED_RECORD R"sql(
FROM (
  (SELECT * FROM ready WHERE route = $1::bigint AND priority = $2::int AND (sequence, key) > ($3::bigint, $4::bytea)
   ORDER BY sequence, key LIMIT $5::bigint)
  UNION ALL
  (SELECT * FROM ready WHERE route = $1::bigint AND priority < $2::int
   ORDER BY priority DESC, sequence, key LIMIT $5::bigint)
  UNION ALL
  (SELECT * FROM ready WHERE route > $1::bigint ORDER BY route, priority DESC, sequence, key LIMIT $5::bigint)
  ORDER BY route, priority DESC, sequence, key LIMIT $5::bigint) x
LEFT JOIN root r ON r.key = x.key
ORDER BY x.route, x.priority DESC, x.sequence, x.key)sql"};

// Result: entries after a place, with their records. Index due_pkey.
constexpr Statement page_of_due = {"page_of_due", "SELECT x.due_at, x.group_no, x.rank, x.key, " FF_JOINED_RECORD R"sql(
FROM (SELECT * FROM due WHERE (due_at, key) > ($1::bigint, $2::bytea) ORDER BY due_at, key LIMIT $3::bigint) x
LEFT JOIN root r ON r.key = x.key ORDER BY x.due_at, x.key)sql"};

// Result: names of satellites without a record. Index satellite_pkey.
constexpr Statement page_of_orphans = {"page_of_orphans", R"sql(
SELECT s.root, s.kind, s.n FROM satellite s
WHERE (s.root, s.kind, s.n) > ($1::bytea, $2::int::smallint, $3::bigint)
  AND NOT EXISTS (SELECT FROM root r WHERE r.key = s.root)
ORDER BY s.root, s.kind, s.n LIMIT $4::bigint)sql"};

// Result: names of sequences without a record. Index sequence_entry_pkey.
constexpr Statement page_of_orphaned_sequences = {"page_of_orphaned_sequences", R"sql(
SELECT DISTINCT s.root, s.kind FROM sequence_entry s
WHERE (s.root, s.kind) > ($1::bytea, $2::int::smallint) AND NOT EXISTS (SELECT FROM root r WHERE r.key = s.root)
ORDER BY s.root, s.kind LIMIT $3::bigint)sql"};

constexpr Statement every_route = {"every_route", "SELECT number, lane, capabilities FROM route ORDER BY number"};

// Result: for each of the arrays' elements the version of the record and whether its entries are there. Scalar subqueries,
// because the planner may answer EXISTS by reading a whole table first.
constexpr Statement find_entries = {"find_entries", R"sql(
SELECT coalesce((SELECT version FROM root WHERE key = i.key), 0),
  (SELECT 1 FROM ready WHERE route = i.route AND priority = i.priority AND sequence = i.sequence AND key = i.key
   AND name_space = i.name_space LIMIT 1) IS NOT NULL,
  (SELECT 1 FROM due WHERE due_at = i.due_at AND key = i.key AND group_no = i.group_no AND rank = i.rank LIMIT 1)
    IS NOT NULL
FROM unnest($1::bytea[], $2::bigint[], $3::int[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
  WITH ORDINALITY i(key, route, priority, sequence, name_space, due_at, group_no, rank, place)
ORDER BY i.place)sql"};
constexpr Statement find_satellites = {"find_satellites", R"sql(
SELECT (SELECT 1 FROM satellite WHERE root = i.root AND kind = i.kind AND n = i.n LIMIT 1) IS NOT NULL
FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) WITH ORDINALITY i(root, kind, n, place) ORDER BY i.place)sql"};

// Reads all records.
constexpr Statement count_listed = {"count_listed", R"sql(
SELECT record_kind, name_space, lane, coalesce(state, 0), count(*) FROM root WHERE record_kind IS NOT NULL
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4)sql"};
constexpr Statement all_counters = {"all_counters", R"sql(
SELECT name, sum(value)::bigint FROM counter GROUP BY name HAVING sum(value) <> 0 ORDER BY name)sql"};

constexpr Statement begin_inspection = {"begin_inspection", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement end_inspection = {"end_inspection", "COMMIT"};

std::optional<Record> joined_record(const Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return record_at(rows, row, column);
}

std::optional<Listing> stored_listing(const Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  Listing listing;
  listing.created_at = rows.integer(row, column);
  listing.finished_at = rows.is_null(row, column + 1) ? 0 : rows.integer(row, column + 1);
  listing.state = rows.is_null(row, column + 2) ? 0 : static_cast<std::uint8_t>(rows.integer(row, column + 2));
  listing.name_space = rows.string(row, column + 3);
  listing.lane = rows.string(row, column + 4);
  listing.kind = rows.string(row, column + 5);
  listing.flow = rows.string(row, column + 6);
  listing.tags = rows.string(row, column + 7);
  return listing;
}

// Gives a getter for one field of a wanted entry, null where none is wanted.
template <class T, class Member, class Get>
auto field_of(Member member, Get get) {
  return [member, get](const WantedEntries& wanted) -> std::optional<T> {
    const auto& entry = wanted.*member;
    if (!entry) return std::nullopt;
    return T(get(*entry));
  };
}

Params entry_params(const std::vector<WantedEntries>& wanted) {
  using Int = std::int64_t;
  constexpr auto ready = &WantedEntries::ready;
  constexpr auto due = &WantedEntries::due;
  Params params;
  params.array(Type::bytea, wanted, [](const WantedEntries& one) { return std::string_view(one.key.bytes); })
      .array(Type::int8, wanted, field_of<Int>(ready, [](const ReadyEntry& e) { return e.route; }))
      .array(Type::int4, wanted, field_of<Int>(ready, [](const ReadyEntry& e) { return e.priority; }))
      .array(Type::int8, wanted, field_of<Int>(ready, [](const ReadyEntry& e) { return e.sequence; }))
      .array(Type::text, wanted,
             field_of<std::string_view>(ready, [](const ReadyEntry& e) -> const std::string& { return e.name_space; }))
      .array(Type::int8, wanted, field_of<Int>(due, [](const DueEntry& e) { return e.due_at; }))
      .array(Type::int8, wanted, field_of<Int>(due, [](const DueEntry& e) { return e.group; }))
      .array(Type::int8, wanted, field_of<Int>(due, [](const DueEntry& e) { return e.rank; }));
  return params;
}

Params satellite_params(const std::vector<WantedEntries>& wanted) {
  std::vector<const SatelliteName*> names;
  for (const WantedEntries& one : wanted) {
    for (const SatelliteName& name : one.satellites) names.push_back(&name);
  }
  Params params;
  params.array(Type::bytea, names, [](const auto* name) { return std::string_view(name->root.bytes); })
      .array(Type::int2, names, [](const auto* name) { return std::int64_t{name->kind}; })
      .array(Type::int8, names, [](const auto* name) { return std::int64_t{name->n}; });
  return params;
}

}  // namespace

Reply<std::vector<InspectedRecord>> inspect_records(Connection& connection, const std::string& after,
                                                    std::uint32_t limit) {
  Params params;
  params.bytes(after).int8(limit);
  auto rows = connection.run(page_of_records, params);
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<InspectedRecord> page;
  for (int row = 0; row < rows->size(); ++row) {
    page.push_back({record_at(*rows, row, 0), stored_listing(*rows, row, record_columns)});
  }
  return page;
}

// No route is below 1, so 0 stands before all.
Reply<std::vector<InspectedReady>> inspect_ready(Connection& connection, const std::optional<ReadyEntry>& after,
                                                 std::uint32_t limit) {
  const ReadyEntry from = after.value_or(ReadyEntry{});
  Params params;
  params.int8(static_cast<std::int64_t>(from.route))
      .int4(from.priority)
      .int8(static_cast<std::int64_t>(from.sequence))
      .bytes(from.key.bytes);
  params.int8(limit);
  auto rows = connection.run(page_of_ready, params);
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<InspectedReady> page;
  for (int row = 0; row < rows->size(); ++row) {
    ReadyEntry entry{static_cast<RouteNo>(rows->integer(row, 0)), static_cast<std::int32_t>(rows->integer(row, 1)),
                     static_cast<std::uint64_t>(rows->integer(row, 2)), Key{rows->string(row, 3)},
                     rows->string(row, 4)};
    page.push_back({std::move(entry), joined_record(*rows, row, 5)});
  }
  return page;
}

Reply<std::vector<InspectedDue>> inspect_due(Connection& connection, const std::optional<DueEntry>& after,
                                             std::uint32_t limit) {
  Params params;
  params.int8(after ? after->due_at : INT64_MIN).bytes(after ? std::string_view(after->key.bytes) : "").int8(limit);
  auto rows = connection.run(page_of_due, params);
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<InspectedDue> page;
  for (int row = 0; row < rows->size(); ++row) {
    page.push_back({due_entry_at(*rows, row, 0, Key{rows->string(row, 3)}), joined_record(*rows, row, 4)});
  }
  return page;
}

Reply<std::vector<SatelliteName>> orphaned_satellites(Connection& connection, const std::optional<SatelliteName>& after,
                                                      std::uint32_t limit) {
  const SatelliteName from = after.value_or(SatelliteName{});
  Params params;
  params.bytes(from.root.bytes).int4(from.kind).int8(from.n).int8(limit);
  auto rows = connection.run(page_of_orphans, params);
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<SatelliteName> page;
  for (int row = 0; row < rows->size(); ++row) {
    page.push_back({Key{rows->string(row, 0)}, static_cast<std::uint8_t>(rows->integer(row, 1)),
                    static_cast<std::uint32_t>(rows->integer(row, 2))});
  }
  return page;
}

Reply<std::vector<SequenceName>> orphaned_sequences(Connection& connection, const std::optional<SequenceName>& after,
                                                    std::uint32_t limit) {
  const SequenceName from = after.value_or(SequenceName{});
  Params params;
  params.bytes(from.root.bytes).int4(from.kind).int8(limit);
  auto rows = connection.run(page_of_orphaned_sequences, params);
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<SequenceName> page;
  for (int row = 0; row < rows->size(); ++row) {
    page.push_back({Key{rows->string(row, 0)}, static_cast<std::uint8_t>(rows->integer(row, 1))});
  }
  return page;
}

Reply<InspectedCounts> inspect_counts(Connection& connection) {
  connection.queue(begin_inspection, {});
  connection.queue(count_listed, {});
  connection.queue(all_counters, {});
  connection.queue(end_inspection, {});
  auto answer = connection.flush();
  if (!answer) {
    if (!answer.error().lost) (void)connection.exec("ROLLBACK");
    return Unexpected(std::move(answer).error());
  }
  const Rows& listed = (*answer)[1];
  const Rows& counters = (*answer)[2];
  InspectedCounts counts;
  for (int row = 0; row < listed.size(); ++row) {
    counts.listed.push_back({static_cast<RecordKind>(listed.integer(row, 0)), listed.string(row, 1),
                             listed.string(row, 2), static_cast<std::uint8_t>(listed.integer(row, 3)),
                             static_cast<std::uint64_t>(listed.integer(row, 4))});
  }
  for (int row = 0; row < counters.size(); ++row) {
    counts.counters.push_back({counters.string(row, 0), counters.integer(row, 1)});
  }
  return counts;
}

Reply<std::vector<Route>> all_routes(Connection& connection) {
  auto rows = connection.run(every_route, {});
  if (!rows) return Unexpected(std::move(rows).error());
  std::vector<Route> routes;
  for (int row = 0; row < rows->size(); ++row) {
    routes.push_back({static_cast<RouteNo>(rows->integer(row, 0)), rows->string(row, 1), rows->texts(row, 2)});
  }
  return routes;
}

Reply<std::vector<PresentEntries>> present(Connection& connection, const std::vector<WantedEntries>& wanted) {
  connection.queue(begin_inspection, {});
  connection.queue(find_entries, entry_params(wanted));
  connection.queue(find_satellites, satellite_params(wanted));
  connection.queue(end_inspection, {});
  auto answer = connection.flush();
  if (!answer) {
    if (!answer.error().lost) (void)connection.exec("ROLLBACK");
    return Unexpected(std::move(answer).error());
  }
  const Rows& entries = (*answer)[1];
  const Rows& satellites = (*answer)[2];
  std::vector<PresentEntries> all(wanted.size());
  int satellite = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int row = static_cast<int>(i);
    all[i].version = static_cast<std::uint64_t>(entries.integer(row, 0));
    all[i].ready = entries.integer(row, 1) != 0;
    all[i].due = entries.integer(row, 2) != 0;
    for (std::size_t n = 0; n < wanted[i].satellites.size(); ++n) {
      all[i].satellites.push_back(satellites.integer(satellite++, 0) != 0);
    }
  }
  return all;
}

}  // namespace flowfabric::postgres
