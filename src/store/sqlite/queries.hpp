// The reads outside batches. Each function is one snapshot of the database; store.hpp describes the guarantees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/sqlite/database.hpp"
#include "store/store.hpp"

namespace flowfabric::sqlite {

// queries.cpp
Result<std::vector<Record>> load(Database& database, const std::vector<Key>& keys);
Result<std::vector<Satellite>> load_satellites(Database& database, const Key& root, std::uint8_t kind,
                                               std::uint32_t from, std::uint32_t limit);
Result<std::vector<SequenceEntry>> load_sequence(Database& database, const SequenceName& name, std::uint64_t from,
                                                 std::uint32_t limit);
Result<std::vector<Record>> scan(Database& database, RecordKind kind, const std::string& after, std::uint32_t limit);
Result<std::vector<ListedRecord>> list(Database& database, const ListQuery& query);
Result<std::vector<Counter>> counters(Database& database, const std::string& prefix);
Result<std::optional<TimestampMs>> next_due(Database& database);
Result<std::vector<DueEntry>> due_entries(Database& database, const std::optional<DuePosition>& after,
                                          TimestampMs until, std::uint32_t limit);
Result<std::vector<DueEntry>> group_entries(Database& database, std::uint64_t group,
                                            const std::optional<Store::GroupPosition>& after, std::uint32_t limit);
Result<std::uint64_t> count_ready_before(Database& database, const ReadyEntry& entry, std::uint64_t limit);
Result<std::optional<std::uint64_t>> first_ready(Database& database, RouteNo route, std::int32_t priority);
Result<std::vector<RouteNo>> forget_routes(Database& database, const std::vector<RouteNo>& numbers);
Result<std::vector<std::string>> check_integrity(Database& database);

// inspection.cpp; see store/inspection.hpp.
Result<std::vector<InspectedRecord>> inspect_records(Database& database, const std::string& after, std::uint32_t limit);
Result<std::vector<InspectedReady>> inspect_ready(Database& database, const std::optional<ReadyEntry>& after,
                                                  std::uint32_t limit);
Result<std::vector<InspectedDue>> inspect_due(Database& database, const std::optional<DueEntry>& after,
                                              std::uint32_t limit);
Result<std::vector<SatelliteName>> orphaned_satellites(Database& database, const std::optional<SatelliteName>& after,
                                                       std::uint32_t limit);
Result<std::vector<SequenceName>> orphaned_sequences(Database& database, const std::optional<SequenceName>& after,
                                                     std::uint32_t limit);
Result<InspectedCounts> inspect_counts(Database& database);
Result<std::vector<Route>> all_routes(Database& database);
Result<std::vector<PresentEntries>> present(Database& database, const std::vector<WantedEntries>& wanted);

// log_queries.cpp
Result<std::string> log_start(Database& database);
Result<std::string> log_end(Database& database);
Result<LogPage> read_log(Database& database, const LogQuery& query);
Result<std::vector<LoggedEntry>> history(Database& database, const Key& root, const std::string& after,
                                         std::uint32_t limit);
// Adds the problems of the log. Within a snapshot.
Result<void> check_log(Database& database, std::vector<std::string>& findings);

// Keeps one snapshot over several statements. Returning the connection ends it after an error.
class Snapshot {
 public:
  static Result<Snapshot> begin(Database& database);
  Result<void> end();

 private:
  explicit Snapshot(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace flowfabric::sqlite
