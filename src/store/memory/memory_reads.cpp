// Reads outside batches, the log, and what checks read.
#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "store/log_filter.hpp"
#include "store/memory/memory_database.hpp"

namespace flowfabric {
namespace {

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

bool contains(const std::vector<std::uint8_t>& values, std::uint8_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool time_matches(TimestampMs at, const std::optional<TimestampMs>& from, const std::optional<TimestampMs>& before) {
  return (!from || at >= *from) && (!before || at < *before);
}

bool matches(const Listing& listing, const ListQuery& query) {
  if (query.name_space && listing.name_space != *query.name_space) return false;
  if (query.lane && listing.lane != *query.lane) return false;
  if (query.kind && listing.kind != *query.kind) return false;
  if (query.flow && listing.flow != *query.flow) return false;
  if (!query.states.empty() && !contains(query.states, listing.state)) return false;
  if (query.tag && listing.tags.find('\x1f' + *query.tag + '\x1f') == std::string::npos) return false;
  if (!time_matches(listing.created_at, query.created_from, query.created_before)) return false;
  const bool wants_finished = query.finished_from || query.finished_before;
  if (wants_finished && listing.finished_at == 0) return false;
  return time_matches(listing.finished_at, query.finished_from, query.finished_before);
}

bool matches(const LogEntry& entry, const LogQuery& query) {
  return (!query.root || entry.root == *query.root) && wants(query, entry);
}

}  // namespace

// Nothing outlives the process, so a number that is new in it is enough.
std::uint32_t MemoryDatabase::next_log_id() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

std::vector<RouteNo> MemoryDatabase::forget_routes(const std::vector<RouteNo>& numbers) {
  const std::lock_guard lock(mutex_);
  std::vector<RouteNo> gone;
  for (const RouteNo number : numbers) {
    const auto turn = route_turns_.find(number);
    if (turn != route_turns_.end()) {
      const auto entry = ready_.lower_bound(first_of_route(number));
      if (entry != ready_.end() && entry->route == number) continue;
      routes_.erase(turn->second);
      route_turns_.erase(turn);
    }
    gone.push_back(number);
  }
  return gone;
}

std::optional<TimestampMs> MemoryDatabase::next_due() {
  const std::lock_guard lock(mutex_);
  if (due_.empty()) return std::nullopt;
  return due_.begin()->due_at;
}

std::vector<DueEntry> MemoryDatabase::due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                                  std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<DueEntry> entries;
  auto place = after ? due_.upper_bound(DueEntry{after->due_at, after->key}) : due_.begin();
  for (; place != due_.end() && place->due_at <= until && entries.size() < limit; ++place) entries.push_back(*place);
  return entries;
}

std::vector<DueEntry> MemoryDatabase::group_entries(std::uint64_t group,
                                                    const std::optional<Store::GroupPosition>& after,
                                                    std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<DueEntry> entries;
  auto place = after ? grouped_.upper_bound(DueEntry{0, after->key, group, after->rank})
                     : grouped_.lower_bound(first_of_group(group));
  for (; place != grouped_.end() && place->group == group && entries.size() < limit; ++place) {
    entries.push_back(*place);
  }
  return entries;
}

std::vector<Record> MemoryDatabase::load(const std::vector<Key>& keys) {
  const std::lock_guard lock(mutex_);
  return records_of(keys);
}

std::vector<Satellite> MemoryDatabase::load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                       std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Satellite> satellites;
  auto place = satellites_.lower_bound(SatelliteName{root, kind, from});
  for (; place != satellites_.end() && satellites.size() < limit; ++place) {
    const auto& [name, body] = *place;
    if (name.root != root || name.kind != kind) break;
    satellites.push_back({name, body});
  }
  return satellites;
}

std::vector<Record> MemoryDatabase::scan(RecordKind kind, const std::string& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  // The kind byte alone is smaller than every key of its kind.
  auto place = records_.upper_bound(Key{std::max(after, std::string(1, static_cast<char>(kind)))});
  for (; place != records_.end() && records.size() < limit; ++place) {
    if (place->first.kind() != kind) break;
    records.push_back(to_record(place->first, place->second));
  }
  return records;
}

// In a group, the rank of a record is the time of its creation.
std::vector<ListedRecord> MemoryDatabase::list_group(const ListQuery& query) const {
  const TimestampMs last = std::numeric_limits<TimestampMs>::max();
  DueEntry end{0, Key{"\xff"}, *query.group, last};
  if (query.after) end = {0, query.after->key, *query.group, query.after->created_at};
  std::vector<ListedRecord> page;
  auto place = std::make_reverse_iterator(grouped_.lower_bound(end));
  for (; place != grouped_.rend() && place->group == *query.group && page.size() < query.limit; ++place) {
    const auto found = records_.find(place->key);
    if (found == records_.end() || !found->second.listing || place->key.kind() != query.record_kind) continue;
    const Listing& listing = *found->second.listing;
    if (matches(listing, query))
      page.push_back({to_record(place->key, found->second), listing.created_at, listing.state});
  }
  return page;
}

std::vector<ListedRecord> MemoryDatabase::list(const ListQuery& query) {
  const std::lock_guard lock(mutex_);
  if (query.group) return list_group(query);
  // Everything before `end` matches: the first position of the next kind, or less because of the page or the time.
  const auto next_kind = static_cast<RecordKind>(static_cast<std::uint8_t>(query.record_kind) + 1);
  ListingPlace end{next_kind, std::numeric_limits<TimestampMs>::min(), {}};
  if (query.created_before) end = std::min(end, ListingPlace{query.record_kind, *query.created_before, {}});
  if (query.after) end = std::min(end, ListingPlace{query.record_kind, query.after->created_at, query.after->key});

  std::vector<ListedRecord> page;
  auto place = std::make_reverse_iterator(listings_.lower_bound(end));
  for (; place != listings_.rend() && page.size() < query.limit; ++place) {
    if (place->kind != query.record_kind) break;
    if (query.created_from && place->created_at < *query.created_from) break;
    const auto& stored = records_.at(place->key);
    if (!matches(*stored.listing, query)) continue;
    page.push_back({to_record(place->key, stored), place->created_at, stored.listing->state});
  }
  return page;
}

std::vector<Counter> MemoryDatabase::counters_from(const std::string& prefix) const {
  std::vector<Counter> found;
  for (auto place = counters_.lower_bound(prefix); place != counters_.end(); ++place) {
    if (!place->first.starts_with(prefix)) break;
    if (place->second != 0) found.push_back({place->first, place->second});
  }
  return found;
}

std::vector<Counter> MemoryDatabase::counters(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  return counters_from(prefix);
}

std::uint64_t MemoryDatabase::count_ready_before(const ReadyEntry& entry, std::uint64_t limit) {
  const std::lock_guard lock(mutex_);
  std::uint64_t number = 0;
  auto place = ready_.lower_bound(first_of_route(entry.route));
  for (; place != ready_.end() && number < limit && ServedBefore{}(*place, entry); ++place) ++number;
  return number;
}

std::optional<std::uint64_t> MemoryDatabase::first_ready(RouteNo route, std::int32_t priority) {
  const std::lock_guard lock(mutex_);
  const auto place = ready_.lower_bound(ReadyEntry{route, priority, 0, {}, {}});
  if (place == ready_.end() || place->route != route || place->priority != priority) return std::nullopt;
  return place->sequence;
}

// ---------------------------------------------------------------- log

std::string MemoryDatabase::position(std::uint64_t sequence) const {
  return encode_number(log_id_, log_id_bytes) + encode_number(sequence, sequence_bytes);
}

// The place of a position that this log has reached; empty: before everything.
Result<std::uint64_t> MemoryDatabase::sequence_of(const std::string& bytes) const {
  if (bytes.empty()) return 0;
  if (bytes.size() != log_id_bytes + sequence_bytes) {
    return fail(Errc::invalid_argument, "not a position of this store", "after");
  }
  const std::string_view view = bytes;
  const std::uint64_t sequence = decode_number(view.substr(log_id_bytes));
  const bool ours = decode_number(view.substr(0, log_id_bytes)) == log_id_;
  if (ours && sequence <= log_sequence_) return sequence;
  Error error{Errc::cursor_expired, ours ? cursor_ahead_of_log : cursor_of_another_log, "after", {}};
  error.details.emplace_back("earliest", to_hex(position(0)));
  return Unexpected(std::move(error));
}

std::string MemoryDatabase::log_start() {
  const std::lock_guard lock(mutex_);
  return position(0);
}

std::string MemoryDatabase::log_end() {
  const std::lock_guard lock(mutex_);
  return position(log_sequence_);
}

Result<LogPage> MemoryDatabase::read_log(const LogQuery& query) {
  const std::lock_guard lock(mutex_);
  FF_TRY(after, sequence_of(query.after));
  LogPage page;
  std::uint64_t examined = after;
  for (auto place = log_.upper_bound(after); place != log_.end(); ++place) {
    if (page.entries.size() >= query.limit) {
      page.behind = true;
      break;
    }
    if (matches(place->second, query)) page.entries.push_back({position(place->first), place->second});
    examined = place->first;
  }
  // If the page is not full, everything committed has been examined.
  page.next = position(page.behind ? examined : log_sequence_);
  return page;
}

Result<std::vector<LoggedEntry>> MemoryDatabase::history(const Key& root, const std::string& after,
                                                         std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  FF_TRY(start, sequence_of(after));
  std::vector<LoggedEntry> entries;
  const auto found = log_of_root_.find(root);
  if (found == log_of_root_.end()) return entries;
  const auto& sequences = found->second;
  auto place = std::upper_bound(sequences.begin(), sequences.end(), start);
  for (; place != sequences.end() && entries.size() < limit; ++place) {
    entries.push_back({position(*place), log_.at(*place)});
  }
  return entries;
}

// ---------------------------------------------------------------- consistency and news

std::vector<std::string> MemoryDatabase::check_integrity() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> findings;
  for (const auto& entry : ready_) {
    if (!route_turns_.contains(entry.route)) {
      findings.push_back("Ready entry of record " + to_hex(entry.key.bytes) + " names a route that is not stored.");
    }
  }
  for (const auto& place : listings_) {
    if (!records_.contains(place.key)) findings.push_back("Listing of missing record " + to_hex(place.key.bytes) + ".");
  }
  std::size_t listed = 0;
  for (const auto& [key, stored] : records_) {
    if (!stored.listing) continue;
    ++listed;
    if (!listings_.contains(place_of(key, *stored.listing))) {
      findings.push_back("Record " + to_hex(key.bytes) + " is missing from the listing index.");
    }
  }
  if (listed != listings_.size()) findings.emplace_back("The listing index has entries that no record asks for.");
  if (ready_.size() != ready_by_namespace_.size()) findings.emplace_back("The two ready indexes differ in size.");
  if (due_.size() != due_at_.size()) findings.emplace_back("The two due indexes differ in size.");
  const auto in_group = std::count_if(due_.begin(), due_.end(), [](const DueEntry& entry) { return entry.group != 0; });
  if (static_cast<std::size_t>(in_group) != grouped_.size()) {
    findings.emplace_back("The due index and its groups differ in size.");
  }
  std::size_t logged = 0;
  for (const auto& [root, sequences] : log_of_root_) logged += sequences.size();
  if (logged != log_.size()) findings.emplace_back("The log and its index by record differ in size.");
  return findings;
}

std::optional<Record> MemoryDatabase::record_of(const Key& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? std::nullopt : std::optional(to_record(key, found->second));
}

std::vector<InspectedRecord> MemoryDatabase::inspect_records(const std::string& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedRecord> page;
  auto place = records_.upper_bound(Key{after});
  for (; place != records_.end() && page.size() < limit; ++place) {
    page.push_back({to_record(place->first, place->second), place->second.listing});
  }
  return page;
}

std::vector<InspectedReady> MemoryDatabase::inspect_ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedReady> page;
  auto place = after ? ready_.upper_bound(*after) : ready_.begin();
  for (; place != ready_.end() && page.size() < limit; ++place) page.push_back({*place, record_of(place->key)});
  return page;
}

std::vector<InspectedDue> MemoryDatabase::inspect_due(const std::optional<DueEntry>& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedDue> page;
  auto place = after ? due_.upper_bound(*after) : due_.begin();
  for (; place != due_.end() && page.size() < limit; ++place) page.push_back({*place, record_of(place->key)});
  return page;
}

std::vector<SatelliteName> MemoryDatabase::orphaned_satellites(const std::optional<SatelliteName>& after,
                                                               std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<SatelliteName> page;
  auto place = after ? satellites_.upper_bound(*after) : satellites_.begin();
  for (; place != satellites_.end() && page.size() < limit; ++place) {
    if (!records_.contains(place->first.root)) page.push_back(place->first);
  }
  return page;
}

std::vector<SequenceName> MemoryDatabase::orphaned_sequences(const std::optional<SequenceName>& after,
                                                             std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<SequenceName> page;
  auto place = after ? sequences_.upper_bound(*after) : sequences_.begin();
  for (; place != sequences_.end() && page.size() < limit; ++place) {
    if (!records_.contains(place->first.root)) page.push_back(place->first);
  }
  return page;
}

InspectedCounts MemoryDatabase::counts() {
  const std::lock_guard lock(mutex_);
  std::map<std::tuple<RecordKind, std::string, std::string, std::uint8_t>, std::uint64_t> numbers;
  for (const auto& [key, stored] : records_) {
    if (!stored.listing) continue;
    ++numbers[{key.kind(), stored.listing->name_space, stored.listing->lane, stored.listing->state}];
  }
  InspectedCounts counts;
  for (const auto& [columns, number] : numbers) {
    const auto& [kind, name_space, lane, state] = columns;
    counts.listed.push_back({kind, name_space, lane, state, number});
  }
  counts.counters = counters_from("");
  return counts;
}

std::vector<Route> MemoryDatabase::routes() {
  const std::lock_guard lock(mutex_);
  std::vector<Route> all;
  for (const auto& [turn, route] : routes_) all.push_back(route);
  return all;
}

std::vector<PresentEntries> MemoryDatabase::present(const std::vector<WantedEntries>& wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<PresentEntries> all;
  for (const WantedEntries& one : wanted) {
    PresentEntries& found = all.emplace_back();
    const auto record = records_.find(one.key);
    if (record != records_.end()) found.version = record->second.version;
    if (one.ready) {
      const auto entry = ready_.find(*one.ready);
      found.ready = entry != ready_.end() && *entry == *one.ready;
    }
    if (one.due) {
      const auto entry = due_.find(*one.due);
      found.due = entry != due_.end() && *entry == *one.due;
    }
    for (const SatelliteName& name : one.satellites) found.satellites.push_back(satellites_.contains(name));
  }
  return all;
}

void MemoryDatabase::add_listener(std::shared_ptr<ListenerSlot> slot) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.push_back(std::move(slot));
}

void MemoryDatabase::remove_listener(const std::shared_ptr<ListenerSlot>& slot) {
  const std::lock_guard lock(listeners_mutex_);
  std::erase(listeners_, slot);
}

void MemoryDatabase::announce(const ListenerSlot* from, const Wakeup& wakeup) {
  std::vector<std::shared_ptr<ListenerSlot>> slots;
  {
    const std::lock_guard lock(listeners_mutex_);
    slots = listeners_;
  }
  for (const auto& slot : slots) {
    if (slot.get() != from) slot->call(wakeup);
  }
}

}  // namespace flowfabric
