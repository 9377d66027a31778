// The writing half of a batch.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "store/put_index.hpp"
#include "store/sqlite/batch.hpp"

namespace flowfabric::sqlite {
namespace {

// A guard that was not read in this transaction: at the position where the record was read, or else through root_key.
constexpr char find_root_at_sql[] = "SELECT id, version FROM root WHERE id = ?1 AND key = ?2";
constexpr char find_root_sql[] = "SELECT id, version FROM root WHERE key = ?1";

constexpr char insert_root_sql[] = R"(
  INSERT INTO root(key, version, record_kind, fixed, body, state, created_at, finished_at, name_space, lane, kind, flow,
                   tags, last_entry)
  VALUES(?1, ?13, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?14))";

// The guard was checked before; none of these columns is indexed, so only the row itself is rewritten. A put without
// log entries (NULL) keeps the newest entry.
constexpr char update_root_sql[] =
    "UPDATE root SET version = ?2, body = ?3, last_entry = coalesce(?4, last_entry) WHERE id = ?1";
constexpr char update_listed_root_sql[] = R"(
  UPDATE root SET version = ?2, body = ?3, last_entry = coalesce(?4, last_entry), state = ?5, finished_at = ?6, tags = ?7
  WHERE id = ?1)";
// The columns that otherwise never change; root_listing moves with them.
constexpr char relist_root_sql[] = R"(
  UPDATE root SET created_at = ?2, name_space = ?3, lane = ?4, kind = ?5, flow = ?6 WHERE id = ?1)";
constexpr char delete_root_sql[] = "DELETE FROM root WHERE id = ?1";

constexpr char insert_ready_sql[] =
    "INSERT OR IGNORE INTO ready(route, neg_priority, sequence, key, name_space) VALUES(?1, ?2, ?3, ?4, ?5)";
constexpr char delete_ready_sql[] =
    "DELETE FROM ready WHERE route = ?1 AND neg_priority = ?2 AND sequence = ?3 AND key = ?4";
constexpr char insert_route_sql[] = R"(
  INSERT INTO route(number, name_space, lane, capabilities)
  SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM route WHERE number = ?1))";
constexpr char insert_due_sql[] = "INSERT OR IGNORE INTO due(due_at, key, group_no, rank) VALUES(?1, ?2, ?3, ?4)";
constexpr char delete_due_sql[] = "DELETE FROM due WHERE due_at = ?1 AND key = ?2";

constexpr char put_satellite_sql[] = R"(
  INSERT INTO satellite(root, kind, n, body) VALUES(?1, ?2, ?3, ?4)
  ON CONFLICT(root, kind, n) DO UPDATE SET body = excluded.body)";
constexpr char delete_satellite_sql[] = "DELETE FROM satellite WHERE root = ?1 AND kind = ?2 AND n = ?3";
constexpr char delete_satellites_sql[] = "DELETE FROM satellite WHERE root = ?1";

constexpr char last_number_sql[] = "SELECT n FROM sequence_entry WHERE root = ?1 AND kind = ?2 ORDER BY n DESC LIMIT 1";
constexpr char append_sql[] = "INSERT INTO sequence_entry(root, kind, n, body) VALUES(?1, ?2, ?3, ?4)";
constexpr char drop_below_sql[] = "DELETE FROM sequence_entry WHERE root = ?1 AND kind = ?2 AND n < ?3";
constexpr char drop_sequence_sql[] = "DELETE FROM sequence_entry WHERE root = ?1 AND kind = ?2";
constexpr char delete_sequences_sql[] = "DELETE FROM sequence_entry WHERE root = ?1";

constexpr char log_end_sql[] = "SELECT seq + entries - 1 FROM log ORDER BY seq DESC LIMIT 1";
constexpr char shrink_page_sql[] = "UPDATE log SET live = ?2, body = ?3 WHERE seq = ?1";
constexpr char delete_page_sql[] = "DELETE FROM log WHERE seq = ?1";
constexpr char load_floor_sql[] = "SELECT value FROM meta WHERE name = 'log_floor'";
constexpr char raise_floor_sql[] = "UPDATE meta SET value = ?1 WHERE name = 'log_floor'";

constexpr char add_to_counter_sql[] =
    "INSERT INTO counter(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = value + excluded.value";

// The one integer of a statement with at most one row.
Result<std::int64_t> lookup(Statement& statement, std::int64_t otherwise) {
  FF_TRY(row, statement.step());
  if (!row) return otherwise;
  const std::int64_t value = statement.integer(0);
  statement.reset();
  return value;
}

}  // namespace

Result<void> Batch::prepare_writes() {
  Statements& s = statements_;
  const std::pair<Statement*, const char*> all[] = {
      {&s.find_root_at, find_root_at_sql},
      {&s.find_root, find_root_sql},
      {&s.insert_root, insert_root_sql},
      {&s.update_root, update_root_sql},
      {&s.update_listed_root, update_listed_root_sql},
      {&s.relist_root, relist_root_sql},
      {&s.delete_root, delete_root_sql},
      {&s.insert_route, insert_route_sql},
      {&s.insert_ready, insert_ready_sql},
      {&s.delete_ready, delete_ready_sql},
      {&s.insert_due, insert_due_sql},
      {&s.delete_due, delete_due_sql},
      {&s.put_satellite, put_satellite_sql},
      {&s.delete_satellite, delete_satellite_sql},
      {&s.delete_satellites, delete_satellites_sql},
      {&s.last_number, last_number_sql},
      {&s.append, append_sql},
      {&s.drop_below, drop_below_sql},
      {&s.drop_sequence, drop_sequence_sql},
      {&s.delete_sequences, delete_sequences_sql},
      {&s.log_end, log_end_sql},
      {&s.shrink_page, shrink_page_sql},
      {&s.delete_page, delete_page_sql},
      {&s.load_floor, load_floor_sql},
      {&s.raise_floor, raise_floor_sql},
      {&s.add_to_counter, add_to_counter_sql},
  };
  for (const auto& [statement, sql] : all) {
    FF_TRY(prepared, database_->prepare(sql));
    *statement = std::move(prepared);
  }
  return {};
}

Result<std::unique_ptr<Batch>> Batch::prepare(Database& database) {
  std::unique_ptr<Batch> batch(new Batch(database));
  FF_TRY_VOID(batch->prepare_reads());
  FF_TRY_VOID(batch->prepare_writes());
  return batch;
}

void Batch::begin() {
  known_.clear();
  put_routes_.clear();
  dirty_ = false;
}

Result<std::vector<Verdict>> Batch::write(const std::vector<ChangeSet>& sets) {
  FF_TRY_VOID(begin_log());
  std::vector<Verdict> verdicts;
  verdicts.reserve(sets.size());
  appended_.clear();
  sums_.clear();
  for (const ChangeSet& set : sets) {
    // All checks of a set come before its first write, so a failed set has nothing to undo.
    FF_TRY(verdict, judge(set));
    verdicts.push_back(verdict);
    if (verdict == Verdict::committed) FF_TRY_VOID(apply(set));
    if (verdict != Verdict::committed) appended_.resize(appended_.size() + set.appends.size());
  }
  FF_TRY_VOID(end_log());
  FF_TRY_VOID(write_counters());
  return verdicts;
}

void Batch::remember(const Key& key, Root root) { known_.insert_or_assign(key.bytes, root); }

Result<Batch::Root> Batch::stored(const RootChange& change) {
  const auto known = known_.find(change.key.bytes);
  if (known != known_.end()) return known->second;
  Root root;
  if (change.place != 0) {
    statements_.find_root_at.bind(1, static_cast<std::int64_t>(change.place));
    statements_.find_root_at.bind_blob(2, change.key.bytes);
    FF_TRY(found, root_of(statements_.find_root_at));
    root = found;
  }
  if (root.version == 0) {
    statements_.find_root.bind_blob(1, change.key.bytes);
    FF_TRY(found, root_of(statements_.find_root));
    root = found;
  }
  remember(change.key, root);
  return root;
}

// Of a statement with columns (id, version) and at most one row.
Result<Batch::Root> Batch::root_of(Statement& find) {
  FF_TRY(row, find.step());
  if (!row) return Root{};
  const Root root{static_cast<std::uint64_t>(find.integer(1)), find.integer(0)};
  find.reset();
  return root;
}

Result<Verdict> Batch::judge(const ChangeSet& set) {
  for (const RootChange& change : set.roots) {
    FF_TRY(root, stored(change));
    if (root.version != change.expected_version) return Verdict::stale;
  }
  FF_TRY(rooted, has_roots_of_appends(set));
  return rooted ? Verdict::committed : Verdict::stale;
}

Result<bool> Batch::has_roots_of_appends(const ChangeSet& set) {
  PutIndex puts(set);
  for (const Append& append : set.appends) {
    if (puts.find(append.sequence.root) < set.roots.size()) continue;
    RootChange root;
    root.key = append.sequence.root;
    FF_TRY(found, stored(root));
    if (found.version == 0) return false;
  }
  return true;
}

Result<void> Batch::write_counters() {
  for (const auto& [name, sum] : sums_) {
    if (sum == 0) continue;
    statements_.add_to_counter.bind_blob(1, name);
    statements_.add_to_counter.bind(2, sum);
    FF_TRY_VOID(statements_.add_to_counter.run());
  }
  return {};
}

// Every number ever assigned is either still stored or not above the floor.
Result<void> Batch::begin_log() {
  new_pages_.clear();  // of an abandoned batch
  old_pages_.clear();
  losses_.clear();
  FF_TRY(last, lookup(statements_.log_end, 0));
  FF_TRY(floor, lookup(statements_.load_floor, 0));
  floor_ = floor;
  floor_raised_ = false;
  last_seq_ = std::max(last, floor);
  return {};
}

Result<void> Batch::apply(const ChangeSet& set) {
  dirty_ = true;
  append_log(set);
  for (std::size_t i = 0; i < set.roots.size(); ++i) {
    const RootChange& change = set.roots[i];
    if (change.action == RootChange::Action::put) FF_TRY_VOID(put_root(change, newest_[i]));
    if (change.action == RootChange::Action::erase) FF_TRY_VOID(erase_root(change));
  }
  FF_TRY_VOID(apply_routes(set));
  FF_TRY_VOID(apply_ready(set));
  FF_TRY_VOID(apply_due(set));
  FF_TRY_VOID(apply_satellites(set));
  FF_TRY_VOID(apply_sequences(set));
  for (const CounterAdd& add : set.counters) sums_[add.counter] += add.delta;
  return {};
}

Result<void> Batch::put_root(const RootChange& change, std::int64_t newest) {
  if (change.expected_version == 0) return create_root(change, newest);
  Root& root = known_.find(change.key.bytes)->second;  // the guard has added it
  root.version = change.next_version();
  Statement& update = change.listing ? statements_.update_listed_root : statements_.update_root;
  update.bind(1, root.id);
  update.bind(2, static_cast<std::int64_t>(root.version));
  update.bind_blob(3, change.body);
  if (newest != 0) update.bind(4, newest);
  if (newest == 0) update.bind_null(4);
  if (change.listing) {
    update.bind(5, change.listing->state);
    update.bind(6, change.listing->finished_at);
    update.bind_blob(7, change.listing->tags);
  }
  FF_TRY_VOID(update.run());
  return change.relist && change.listing ? relist_root(root.id, *change.listing) : Result<void>();
}

Result<void> Batch::relist_root(std::int64_t id, const Listing& listing) {
  Statement& relist = statements_.relist_root;
  relist.bind(1, id);
  relist.bind(2, listing.created_at);
  relist.bind_text(3, listing.name_space);
  relist.bind_text(4, listing.lane);
  relist.bind_text(5, listing.kind);
  relist.bind_blob(6, listing.flow);
  return relist.run();
}

Result<void> Batch::create_root(const RootChange& change, std::int64_t newest) {
  Statement& insert = statements_.insert_root;
  insert.bind_blob(1, change.key.bytes);
  insert.bind(2, static_cast<std::uint8_t>(change.key.kind()));
  insert.bind_blob(3, change.fixed);
  insert.bind_blob(4, change.body);
  if (change.listing) {
    const Listing& listing = *change.listing;
    insert.bind(5, listing.state);
    insert.bind(6, listing.created_at);
    insert.bind(7, listing.finished_at);
    insert.bind_text(8, listing.name_space);
    insert.bind_text(9, listing.lane);
    insert.bind_text(10, listing.kind);
    insert.bind_blob(11, listing.flow);
    insert.bind_blob(12, listing.tags);
  } else {
    for (int parameter = 5; parameter <= 12; ++parameter) insert.bind_null(parameter);
  }
  insert.bind(13, static_cast<std::int64_t>(change.first_version));
  insert.bind(14, newest);
  FF_TRY_VOID(insert.run());
  known_.find(change.key.bytes)->second = Root{change.first_version, database_->last_insert_id()};
  return {};
}

Result<void> Batch::erase_root(const RootChange& change) {
  Root& root = known_.find(change.key.bytes)->second;
  statements_.delete_root.bind(1, root.id);
  FF_TRY_VOID(statements_.delete_root.run());
  root = Root{};
  statements_.delete_satellites.bind_blob(1, change.key.bytes);
  FF_TRY_VOID(statements_.delete_satellites.run());
  statements_.delete_sequences.bind_blob(1, change.key.bytes);
  FF_TRY_VOID(statements_.delete_sequences.run());
  return erase_history(change);
}

// If the chain is broken, the rest of it remains: check_integrity reports it, and the record must be removed anyway.
Result<void> Batch::erase_history(const RootChange& change) {
  const std::int64_t newest = decode_last_entry(change.last_entry);
  for (std::int64_t seq = newest; seq != 0;) {
    FF_TRY(found, old_pages_.find(seq, change.key.bytes));
    if (found.entry == nullptr) break;
    Loss& loss = losses_.try_emplace(found.page->first, Loss{found.page->live, {}}).first->second;
    loss.places.push_back(static_cast<std::size_t>(seq - found.page->first));
    seq = found.entry->previous;
  }
  if (newest > floor_) {
    floor_ = newest;
    floor_raised_ = true;
  }
  return {};
}

// Most sets of a batch name the same few routes, and nearly always those are stored.
Result<void> Batch::apply_routes(const ChangeSet& set) {
  for (const Route& route : set.routes) {
    if (!put_routes_.insert(route.number).second) continue;
    const std::string capabilities = encode_capabilities(route.capabilities);
    Statement& insert = statements_.insert_route;
    insert.bind(1, static_cast<std::int64_t>(route.number));
    insert.bind_text(2, route.name_space);
    insert.bind_text(3, route.lane);
    insert.bind_blob(4, capabilities);
    FF_TRY_VOID(insert.run());
  }
  return {};
}

Result<void> Batch::apply_ready(const ChangeSet& set) {
  const auto bind_name = [](Statement& statement, const ReadyEntry& entry) {
    statement.bind(1, static_cast<std::int64_t>(entry.route));
    statement.bind(2, -static_cast<std::int64_t>(entry.priority));
    statement.bind(3, static_cast<std::int64_t>(entry.sequence));
    statement.bind_blob(4, entry.key.bytes);
  };
  for (const ReadyEntry& entry : set.ready_drop) {
    bind_name(statements_.delete_ready, entry);
    FF_TRY_VOID(statements_.delete_ready.run());
  }
  for (const ReadyEntry& entry : set.ready_put) {
    bind_name(statements_.insert_ready, entry);
    statements_.insert_ready.bind_text(5, entry.name_space);
    FF_TRY_VOID(statements_.insert_ready.run());
  }
  return {};
}

Result<void> Batch::apply_due(const ChangeSet& set) {
  for (const DueEntry& entry : set.due_drop) {
    statements_.delete_due.bind(1, entry.due_at);
    statements_.delete_due.bind_blob(2, entry.key.bytes);
    FF_TRY_VOID(statements_.delete_due.run());
  }
  for (const DueEntry& entry : set.due_put) {
    statements_.insert_due.bind(1, entry.due_at);
    statements_.insert_due.bind_blob(2, entry.key.bytes);
    statements_.insert_due.bind(3, static_cast<std::int64_t>(entry.group));
    statements_.insert_due.bind(4, entry.rank);
    FF_TRY_VOID(statements_.insert_due.run());
  }
  return {};
}

Result<void> Batch::apply_satellites(const ChangeSet& set) {
  const auto bind_name = [](Statement& statement, const SatelliteName& name) {
    statement.bind_blob(1, name.root.bytes);
    statement.bind(2, name.kind);
    statement.bind(3, name.n);
  };
  for (const SatelliteName& name : set.satellites_drop) {
    bind_name(statements_.delete_satellite, name);
    FF_TRY_VOID(statements_.delete_satellite.run());
  }
  for (const Satellite& satellite : set.satellites) {
    bind_name(statements_.put_satellite, satellite.name);
    statements_.put_satellite.bind_blob(4, satellite.body);
    FF_TRY_VOID(statements_.put_satellite.run());
  }
  return {};
}

Result<std::int64_t> Batch::last_number(const SequenceName& name) {
  statements_.last_number.bind_blob(1, name.root.bytes);
  statements_.last_number.bind(2, name.kind);
  return lookup(statements_.last_number, 0);
}

Result<void> Batch::apply_sequences(const ChangeSet& set) {
  for (const SequenceDrop& drop : set.sequence_drops) FF_TRY_VOID(drop_entries(drop));
  for (const Append& append : set.appends) {
    FF_TRY(last, last_number(append.sequence));
    const std::int64_t next = std::abs(last) + 1;
    statements_.append.bind_blob(1, append.sequence.root.bytes);
    statements_.append.bind(2, append.sequence.kind);
    statements_.append.bind(3, next);
    statements_.append.bind_blob(4, append.body);
    FF_TRY_VOID(statements_.append.run());
    appended_.push_back(static_cast<std::uint64_t>(next));
  }
  return {};
}

Result<void> Batch::drop_entries(const SequenceDrop& drop) {
  const auto bind_name = [&](Statement& statement) {
    statement.bind_blob(1, drop.sequence.root.bytes);
    statement.bind(2, drop.sequence.kind);
  };
  if (drop.below == whole_sequence) {
    bind_name(statements_.drop_sequence);
    return statements_.drop_sequence.run();
  }
  FF_TRY(last, last_number(drop.sequence));
  if (last <= 0) return {};
  const auto below = static_cast<std::int64_t>(std::min<std::uint64_t>(drop.below, INT64_MAX));
  bind_name(statements_.drop_below);
  statements_.drop_below.bind(3, below);
  FF_TRY_VOID(statements_.drop_below.run());
  if (last >= below) return {};
  bind_name(statements_.append);
  statements_.append.bind(3, -last);
  statements_.append.bind_blob(4, "");
  return statements_.append.run();
}

// Assigns numbers and links to the entries. They are written when all sets have been applied; the following roots need
// the numbers.
void Batch::append_log(const ChangeSet& set) {
  newest_.assign(set.roots.size(), 0);
  PutIndex puts(set);
  for (const LogEntry& entry : set.log) {
    const std::size_t index = puts.at(entry.root);
    std::int64_t& newest = newest_[index];
    const std::int64_t previous = newest != 0 ? newest : decode_last_entry(set.roots[index].last_entry);
    newest = ++last_seq_;
    new_pages_.add(newest, entry, previous);
  }
}

Result<void> Batch::shrink_page(std::int64_t first, const Loss& loss) {
  const std::int64_t left = loss.live - static_cast<std::int64_t>(loss.places.size());
  if (left <= 0) {
    statements_.delete_page.bind(1, first);
    return statements_.delete_page.run();
  }
  FF_TRY(page, old_pages_.page_of(first));
  const std::string bytes = empty_entries(page->entries, loss.places);
  statements_.shrink_page.bind(1, first);
  statements_.shrink_page.bind(2, left);
  statements_.shrink_page.bind_blob(3, bytes);
  return statements_.shrink_page.run();
}

// Erasures of one batch change the same pages, so each page is written once, here.
Result<void> Batch::end_log() {
  FF_TRY_VOID(new_pages_.flush(*database_));
  for (const auto& [first, loss] : losses_) FF_TRY_VOID(shrink_page(first, loss));
  if (!floor_raised_) return {};
  statements_.raise_floor.bind(1, floor_);
  return statements_.raise_floor.run();
}

}  // namespace flowfabric::sqlite
