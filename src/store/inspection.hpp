// What only checks, repairs and operators read of a store: records with their listings, index entries with their records,
// page by page, and the routes.
//
// Every call sees one moment of the database. An index entry and a satellite change only together with the version of
// their record, so an entry that is missing at the version that asks for it is missing for good. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

#include "core/changes.hpp"

namespace flowfabric {

struct InspectedRecord {
  Record record;
  std::optional<Listing> listing;
};

// An entry, and the record that it belongs to if that exists.
struct InspectedReady {
  ReadyEntry entry;
  std::optional<Record> record;
};
struct InspectedDue {
  DueEntry entry;
  std::optional<Record> record;
};

// What a record should have.
struct WantedEntries {
  Key key;
  std::optional<ReadyEntry> ready;
  std::optional<DueEntry> due;
  std::vector<SatelliteName> satellites;
};
// How much of that is there, exactly as it is wanted.
struct PresentEntries {
  std::uint64_t version = 0;  // of the record; 0: it does not exist
  bool ready = false;
  bool due = false;
  std::vector<bool> satellites{};  // in the order in which they were asked for
};

// How many records are listed under these columns.
struct ListedCount {
  RecordKind record_kind = RecordKind::execution;
  std::string name_space;
  std::string lane;
  std::uint8_t state = 0;
  std::uint64_t count = 0;

  friend auto operator<=>(const ListedCount&, const ListedCount&) = default;
};
// What was counted, and the counters of the same moment.
struct InspectedCounts {
  std::vector<ListedCount> listed;  // ascending
  std::vector<Counter> counters;    // as Store::counters
};

class Inspection {
 public:
  virtual ~Inspection() = default;

  // Records of all kinds, ascending by key, after `after` (exclusive; empty: from the start).
  virtual Result<std::vector<InspectedRecord>> records(const std::string& after, std::uint32_t limit) = 0;
  // All ready entries: by route, then in order of service.
  virtual Result<std::vector<InspectedReady>> ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) = 0;
  // All due entries, ascending by (due_at, key). A broken index may hold several for one record.
  virtual Result<std::vector<InspectedDue>> due(const std::optional<DueEntry>& after, std::uint32_t limit) = 0;
  // Satellites whose record does not exist, ascending by name.
  virtual Result<std::vector<SatelliteName>> orphaned_satellites(const std::optional<SatelliteName>& after,
                                                                 std::uint32_t limit) = 0;
  // Sequences whose record does not exist, ascending by name.
  virtual Result<std::vector<SequenceName>> orphaned_sequences(const std::optional<SequenceName>& after,
                                                               std::uint32_t limit) = 0;
  // Reads every record.
  virtual Result<InspectedCounts> counts() = 0;
  // All of them, ascending by number.
  virtual Result<std::vector<Route>> routes() = 0;
  // One answer for each, in order.
  virtual Result<std::vector<PresentEntries>> present(const std::vector<WantedEntries>& wanted) = 0;
};

}  // namespace flowfabric
