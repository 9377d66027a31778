// A write transaction: the reads of a batch, and the writing of its change sets.
//
// A Batch works on one connection between BEGIN IMMEDIATE and COMMIT, which its owner executes. No other connection can
// write in that time, so a version that was read need not be checked again as a guard. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <flowfabric/result.hpp>

#include "store/sqlite/database.hpp"
#include "store/sqlite/log_pages.hpp"
#include "store/store.hpp"

namespace flowfabric::sqlite {

class Batch {
 public:
  // Prepares all statements. The database must outlive the batch, at the same address.
  static Result<std::unique_ptr<Batch>> prepare(Database& database);

  // A new transaction has begun: data of the last one is no longer valid.
  void begin();

  Result<ReadReply> read(const ReadRequest& request, std::int64_t now_us);
  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names);
  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from, std::uint32_t limit);

  // Writes every set whose guards allow it. After an error the transaction must be rolled back.
  Result<std::vector<Verdict>> write(const std::vector<ChangeSet>& sets);
  // See Session::appended.
  const std::vector<std::uint64_t>& appended() const { return appended_; }
  // Whether `write` has changed anything in this transaction.
  bool dirty() const { return dirty_; }

 private:
  // The stored state of a root as of this transaction; version 0 means absent.
  struct Root {
    std::uint64_t version = 0;
    std::int64_t id = 0;
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>{}(bytes); }
  };
  struct Statements {
    Statement load_root, find_root_at, find_root, insert_root, update_root, update_listed_root, relist_root,
        delete_root;
    Statement find_ready, find_ready_of, find_ready_of_default, insert_ready, delete_ready;
    Statement find_due, find_grouped, insert_due, delete_due;
    Statement load_satellite, put_satellite, delete_satellite, delete_satellites;
    Statement load_sequence, last_number, append, drop_below, drop_sequence, delete_sequences;
    Statement log_end, shrink_page, delete_page;
    Statement load_floor, raise_floor;
    Statement add_to_counter;
    Statement load_routes, insert_route;
  };

  explicit Batch(Database& database) : database_(&database), old_pages_(database) {}
  Result<void> prepare_reads();
  Result<void> prepare_writes();

  Result<void> read_keys(const std::vector<Key>& keys, ReadReply& reply);
  Statement& search_for(const RouteDemand& demand);
  Result<void> read_ready(const RouteDemand& demand, std::size_t index, ReadReply& reply);
  Result<void> read_due(const ReadRequest& request, ReadReply& reply);
  Result<void> read_groups(const ReadRequest& request, ReadReply& reply);
  Result<void> take_due(Statement& find, std::vector<DueCandidate>& found);
  Result<void> read_routes(const std::string& seen, ReadReply& reply);
  Record take_record(Key key, const Statement& row, int first_column);

  Result<Root> stored(const RootChange& change);
  static Result<Root> root_of(Statement& find);
  void remember(const Key& key, Root root);
  Result<Verdict> judge(const ChangeSet& set);
  Result<bool> has_roots_of_appends(const ChangeSet& set);
  Result<void> begin_log();

  Result<void> apply(const ChangeSet& set);
  Result<void> put_root(const RootChange& change, std::int64_t newest);
  Result<void> relist_root(std::int64_t id, const Listing& listing);
  Result<void> create_root(const RootChange& change, std::int64_t newest);
  Result<void> erase_root(const RootChange& change);
  Result<void> apply_routes(const ChangeSet& set);
  Result<void> apply_ready(const ChangeSet& set);
  Result<void> apply_due(const ChangeSet& set);
  Result<void> apply_satellites(const ChangeSet& set);
  Result<void> apply_sequences(const ChangeSet& set);
  Result<void> drop_entries(const SequenceDrop& drop);
  // The highest number ever given, negative if all entries were dropped, 0 if there never was one.
  Result<std::int64_t> last_number(const SequenceName& name);
  void append_log(const ChangeSet& set);
  Result<void> erase_history(const RootChange& change);
  // A page that loses entries because their records are erased.
  struct Loss {
    std::int64_t live = 0;            // before
    std::vector<std::size_t> places;  // of the entries in the page
  };
  Result<void> shrink_page(std::int64_t first, const Loss& loss);
  Result<void> end_log();
  Result<void> write_counters();

  Database* database_;
  Statements statements_;
  std::unordered_map<std::string, Root, KeyHash, std::equal_to<>> known_;
  // What the applied sets add to counters. Many sets add to the same few, so each is written once, at the end.
  std::map<std::string, std::int64_t, std::less<>> sums_;
  // The newest entries that the applied set adds, in the order of its roots; 0 if it adds none.
  std::vector<std::int64_t> newest_;
  std::vector<std::uint64_t> appended_;
  PageWriter new_pages_;
  PageReader old_pages_;
  std::unordered_set<RouteNo> put_routes_;  // that are stored, as this transaction has made sure
  std::map<std::int64_t, Loss> losses_;     // by the first entry of the page
  std::int64_t last_seq_ = 0;
  std::int64_t floor_ = 0;
  bool floor_raised_ = false;
  bool dirty_ = false;
};

// Entries of a sequence, for batches and for readers: a range of the clustered table. Columns n, body.
inline constexpr char load_sequence_sql[] = R"(
  SELECT n, body FROM sequence_entry WHERE root = ?1 AND kind = ?2 AND n >= ?3 ORDER BY n LIMIT ?4)";
Result<std::vector<SequenceEntry>> entries_of(Statement& load, const SequenceName& name, std::uint64_t from,
                                              std::uint32_t limit);

// The capabilities of a route as one column.
std::string encode_capabilities(const std::vector<std::string>& capabilities);
Result<std::vector<std::string>> decode_capabilities(std::string_view bytes);

}  // namespace flowfabric::sqlite
