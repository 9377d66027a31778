// Turns change sets into the statements of one transaction.
//
// Everything is set-based: one statement per table and kind of change, for any number of sets, with its rows as arrays.
// Guards are checked on the server, so that a transaction in one round trip aborts itself if one fails.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/changes.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/log_pages.hpp"

namespace flowfabric::postgres {

// The positions of the ready entries of records. Valid during the transaction that has locked them.
using ReadyPlaces = std::unordered_map<std::string, std::uint64_t>;

// The sets must outlive the batch. `chosen` are the positions of the sets that take part, `shift` is that of the
// incarnation, `part` that of counters which the session adds to.
class Batch {
 public:
  Batch(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen, std::int64_t shift,
        std::int64_t part);

  // Queues every statement that the sets need; the caller fences, ends the transaction and flushes. `patiently` is for
  // attempts after a conflict: existing index entries are tolerated, and positions are not used.
  void queue(Connection& connection, const ReadyPlaces& held, bool patiently) const;

  // The numbers that the appends got, in the order of sets and of appends in each. `replies` are those to all statements
  // that were queued before and by this; appends are the last of them.
  std::vector<std::uint64_t> numbers(std::span<const Rows> replies) const;

 private:
  // The number of an entry is its index in `entries_`, from 1 on, so that (xid, 0) is the position before all entries
  // of a transaction.
  struct Entry {
    const LogEntry* entry = nullptr;
    Position previous;  // of the same record; xid 0: in this transaction
  };

  void add(const ChangeSet& set);
  void add_entry(const RootChange& change, const LogEntry& entry);
  Params insert_params(std::span<const RootChange* const> changes) const;
  Params update_params(std::span<const RootChange* const> changes) const;
  Params& add_newest(Params& params, std::span<const RootChange* const> changes) const;
  void sort();
  void queue_drops(Connection& connection, const ReadyPlaces& held) const;
  void queue_roots(Connection& connection, bool patiently) const;
  void queue_updates(Connection& connection, bool patiently) const;
  static void queue_relisting(Connection& connection, const RootChange& change);
  void queue_erasures(Connection& connection) const;
  void queue_puts(Connection& connection, bool patiently) const;
  void queue_satellites(Connection& connection) const;
  void queue_routes(Connection& connection) const;
  void queue_sequence_locks(Connection& connection) const;
  void queue_sequence_drops(Connection& connection) const;
  void queue_appends(Connection& connection) const;
  void queue_entries(Connection& connection) const;
  void queue_counters(Connection& connection) const;

  const std::int64_t shift_;
  const std::int64_t part_;
  std::vector<const RootChange*> inserts_, updates_, erasures_, checks_;
  std::vector<const RootChange*> absences_;  // checks that a record does not exist
  std::map<RouteNo, const Route*> routes_;
  std::vector<const ReadyEntry*> ready_put_, ready_drop_;
  std::vector<const DueEntry*> due_put_, due_drop_;
  std::vector<const Satellite*> satellites_;
  std::vector<const SatelliteName*> satellites_drop_;
  std::vector<const SequenceDrop*> sequence_drops_;
  std::vector<const Append*> appends_;
  std::vector<Entry> entries_;
  std::unordered_map<const RootChange*, std::uint32_t> newest_;  // the number of a record's last entry among these
  std::map<std::string_view, std::int64_t> counters_;            // what is added to each
};

}  // namespace flowfabric::postgres
