#include "store/sqlite/queries.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "store/sqlite/batch.hpp"
#include "store/sqlite/log_pages.hpp"

namespace flowfabric::sqlite {
namespace {

// Reads columns (key, version, fixed, body, last_entry, id) from `first_column` on.
Record record_at(const Statement& row, int first_column) {
  return Record{Key{row.bytes(first_column)},
                static_cast<std::uint64_t>(row.integer(first_column + 1)),
                row.bytes(first_column + 2),
                row.bytes(first_column + 3),
                encode_last_entry(row.integer(first_column + 4)),
                static_cast<std::uint64_t>(row.integer(first_column + 5))};
}

// All rows of columns (due_at, key, group_no, rank).
Result<std::vector<DueEntry>> all_due_entries(Statement& find) {
  std::vector<DueEntry> entries;
  for (;;) {
    FF_TRY(row, find.step());
    if (!row) return entries;
    entries.push_back(
        DueEntry{find.integer(0), Key{find.bytes(1)}, static_cast<std::uint64_t>(find.integer(2)), find.integer(3)});
  }
}

// The conditions of one listing and the values of their parameters, numbered in order.
class Conditions {
 public:
  struct Text {
    std::string_view value;
  };
  struct Blob {
    std::string_view value;
  };
  using Value = std::variant<std::int64_t, Text, Blob>;

  // `?` in the condition is the value; add_value adds further values.
  void add(const std::string& condition, Value value) {
    sql_ += " AND " + condition;
    values_.push_back(value);
  }
  void add_value(Value value) { values_.push_back(value); }
  void add_literal(const std::string& condition) { sql_ += " AND " + condition; }

  const std::string& sql() const { return sql_; }

  void bind(Statement& statement) const {
    int parameter = 0;
    for (const Value& value : values_) {
      ++parameter;
      if (const auto* number = std::get_if<std::int64_t>(&value)) statement.bind(parameter, *number);
      if (const auto* text = std::get_if<Text>(&value)) statement.bind_text(parameter, text->value);
      if (const auto* blob = std::get_if<Blob>(&value)) statement.bind_blob(parameter, blob->value);
    }
  }

 private:
  std::string sql_;
  std::vector<Value> values_;
};

std::string number_list(const std::vector<std::uint8_t>& numbers) {
  std::string text;
  for (const std::uint8_t number : numbers) {
    if (!text.empty()) text += ", ";
    text += std::to_string(number);
  }
  return text;
}

// `tag` is the search text, and must outlive the conditions like the query itself.
Conditions conditions_of(const ListQuery& query, const std::string& tag) {
  using Text = Conditions::Text;
  using Blob = Conditions::Blob;
  Conditions all;
  all.add("record_kind = ?", static_cast<std::int64_t>(query.record_kind));
  if (query.name_space) all.add("name_space = ?", Text{*query.name_space});
  if (query.lane) all.add("lane = ?", Text{*query.lane});
  if (query.kind) all.add("kind = ?", Text{*query.kind});
  if (query.flow) all.add("flow = ?", Blob{*query.flow});
  if (!query.states.empty()) all.add_literal("state IN (" + number_list(query.states) + ")");
  if (query.tag) all.add("instr(tags, ?) > 0", Blob{tag});
  if (query.created_from) all.add("created_at >= ?", *query.created_from);
  if (query.created_before) all.add("created_at < ?", *query.created_before);
  if (query.finished_from || query.finished_before) all.add_literal("finished_at <> 0");
  if (query.finished_from) all.add("finished_at >= ?", *query.finished_from);
  if (query.finished_before) all.add("finished_at < ?", *query.finished_before);
  if (query.group) all.add("group_no = ?", static_cast<std::int64_t>(*query.group));
  if (query.after) {
    all.add(query.group ? "(due.rank, due.key) < (?, ?)" : "(created_at, key) < (?, ?)", query.after->created_at);
    all.add_value(Blob{query.after->key.bytes});
  }
  return all;
}

}  // namespace

Result<Snapshot> Snapshot::begin(Database& database) {
  FF_TRY_VOID(database.execute("BEGIN"));
  return Snapshot(database);
}

Result<void> Snapshot::end() { return database_->execute("COMMIT"); }

Result<std::vector<Record>> load(Database& database, const std::vector<Key>& keys) {
  constexpr static char sql[] = "SELECT key, version, fixed, body, last_entry, id FROM root WHERE key = ?1";
  FF_TRY(snapshot, Snapshot::begin(database));
  FF_TRY(find, database.cached(sql));
  std::vector<Record> records;
  records.reserve(keys.size());
  for (const Key& key : keys) {
    find->bind_blob(1, key.bytes);
    FF_TRY(row, find->step());
    if (!row) continue;
    records.push_back(record_at(*find, 0));
    find->reset();
  }
  FF_TRY_VOID(snapshot.end());
  return records;
}

Result<std::vector<Satellite>> load_satellites(Database& database, const Key& root, std::uint8_t kind,
                                               std::uint32_t from, std::uint32_t limit) {
  constexpr static char sql[] =
      "SELECT n, body FROM satellite WHERE root = ?1 AND kind = ?2 AND n >= ?3 ORDER BY n LIMIT ?4";
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, root.bytes);
  find->bind(2, kind);
  find->bind(3, from);
  find->bind(4, limit);
  std::vector<Satellite> satellites;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return satellites;
    const auto n = static_cast<std::uint32_t>(find->integer(0));
    satellites.push_back(Satellite{SatelliteName{root, kind, n}, find->bytes(1)});
  }
}

Result<std::vector<SequenceEntry>> load_sequence(Database& database, const SequenceName& name, std::uint64_t from,
                                                 std::uint32_t limit) {
  FF_TRY(find, database.cached(load_sequence_sql));
  return entries_of(*find, name, from, limit);
}

// Keys of a kind are adjacent in root_key, between its byte and the next one.
Result<std::vector<Record>> scan(Database& database, RecordKind kind, const std::string& after, std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT key, version, fixed, body, last_entry, id FROM root INDEXED BY root_key
    WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3)";
  const std::string first(1, static_cast<char>(kind));
  const std::string past(1, static_cast<char>(static_cast<std::uint8_t>(kind) + 1));
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, std::max(first, after));
  find->bind_blob(2, past);
  find->bind(3, limit);
  std::vector<Record> records;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return records;
    records.push_back(record_at(*find, 0));
  }
}

// The index that is read backwards: of a group, of a flow, or of all records of the kind. Each ends with (time, key), so
// the records come in their order, and each is examined until the page is full.
Result<std::vector<ListedRecord>> list(Database& database, const ListQuery& query) {
  const std::string tag = "\x1f" + query.tag.value_or("") + "\x1f";
  const Conditions conditions = conditions_of(query, tag);
  std::string source = "root INDEXED BY root_listing WHERE created_at IS NOT NULL";
  if (query.flow && !query.flow->empty())
    source = "root INDEXED BY root_flow WHERE flow IS NOT NULL AND flow <> x'' AND created_at IS NOT NULL";
  std::string order = "created_at DESC, key DESC";
  if (query.group) {
    source = "due INDEXED BY due_group CROSS JOIN root USING (key) WHERE group_no <> 0";
    order = "due.rank DESC, due.key DESC";
  }
  const std::string sql = "SELECT created_at, key, version, fixed, body, last_entry, id, state FROM " + source +
                          conditions.sql() + " ORDER BY " + order + " LIMIT " + std::to_string(query.limit);
  FF_TRY(find, database.prepare(sql));
  conditions.bind(find);
  std::vector<ListedRecord> listed;
  for (;;) {
    FF_TRY(row, find.step());
    if (!row) return listed;
    listed.push_back(ListedRecord{record_at(find, 1), find.integer(0), static_cast<std::uint8_t>(find.integer(7))});
  }
}

// A name is UTF-8, in which no byte is 255.
Result<std::vector<Counter>> counters(Database& database, const std::string& prefix) {
  constexpr static char sql[] =
      "SELECT key, value FROM counter WHERE key >= ?1 AND key < ?2 AND value <> 0 ORDER BY key";
  const std::string past = prefix + '\xff';
  FF_TRY(find, database.cached(sql));
  find->bind_blob(1, prefix);
  find->bind_blob(2, past);
  std::vector<Counter> found;
  for (;;) {
    FF_TRY(row, find->step());
    if (!row) return found;
    found.push_back({find->bytes(0), find->integer(1)});
  }
}

Result<std::optional<TimestampMs>> next_due(Database& database) {
  constexpr static char sql[] = "SELECT due_at FROM due ORDER BY due_at LIMIT 1";
  FF_TRY(find, database.cached(sql));
  FF_TRY(row, find->step());
  if (!row) return std::optional<TimestampMs>();
  const std::optional<TimestampMs> earliest = find->integer(0);
  find->reset();
  return earliest;
}

// No key is empty, so the empty key sorts before all entries of the smallest time.
Result<std::vector<DueEntry>> due_entries(Database& database, const std::optional<DuePosition>& after,
                                          TimestampMs until, std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT due_at, key, group_no, rank FROM due
    WHERE (due_at, key) > (?1, ?2) AND due_at <= ?3 ORDER BY due_at, key LIMIT ?4)";
  FF_TRY(find, database.cached(sql));
  find->bind(1, after ? after->due_at : INT64_MIN);
  find->bind_blob(2, after ? std::string_view(after->key.bytes) : "");
  find->bind(3, until);
  find->bind(4, limit);
  return all_due_entries(*find);
}

// A range of due_group; the empty key as in due_entries.
Result<std::vector<DueEntry>> group_entries(Database& database, std::uint64_t group,
                                            const std::optional<Store::GroupPosition>& after, std::uint32_t limit) {
  constexpr static char sql[] = R"(
    SELECT due_at, key, group_no, rank FROM due INDEXED BY due_group
    WHERE group_no = ?1 AND group_no <> 0 AND (rank, key) > (?2, ?3) ORDER BY rank, key LIMIT ?4)";
  FF_TRY(find, database.cached(sql));
  find->bind(1, static_cast<std::int64_t>(group));
  find->bind(2, after ? after->rank : INT64_MIN);
  find->bind_blob(3, after ? std::string_view(after->key.bytes) : "");
  find->bind(4, limit);
  return all_due_entries(*find);
}

Result<std::uint64_t> count_ready_before(Database& database, const ReadyEntry& entry, std::uint64_t limit) {
  constexpr static char sql[] = R"(
    SELECT count(*) FROM (
      SELECT 1 FROM ready WHERE route = ?1 AND (neg_priority, sequence, key) < (?2, ?3, ?4) LIMIT ?5))";
  FF_TRY(find, database.cached(sql));
  find->bind(1, static_cast<std::int64_t>(entry.route));
  find->bind(2, -static_cast<std::int64_t>(entry.priority));
  find->bind(3, static_cast<std::int64_t>(entry.sequence));
  find->bind_blob(4, entry.key.bytes);
  find->bind(5, static_cast<std::int64_t>(std::min<std::uint64_t>(limit, INT64_MAX)));
  FF_TRY(row, find->step());
  const std::int64_t number = row ? find->integer(0) : 0;
  find->reset();
  return static_cast<std::uint64_t>(number);
}

// The first row of a range of the clustered table.
Result<std::optional<std::uint64_t>> first_ready(Database& database, RouteNo route, std::int32_t priority) {
  constexpr static char sql[] =
      "SELECT sequence FROM ready WHERE route = ?1 AND neg_priority = ?2 ORDER BY sequence LIMIT 1";
  FF_TRY(find, database.cached(sql));
  find->bind(1, static_cast<std::int64_t>(route));
  find->bind(2, -static_cast<std::int64_t>(priority));
  FF_TRY(row, find->step());
  std::optional<std::uint64_t> first;
  if (row) first = static_cast<std::uint64_t>(find->integer(0));
  find->reset();
  return first;
}

// Inside a write transaction, so that nothing becomes ready on a route that is about to go. A prefix of the clustered table
// says whether anything is.
Result<std::vector<RouteNo>> forget_routes(Database& database, const std::vector<RouteNo>& numbers) {
  constexpr static char forget_sql[] = R"(
    DELETE FROM route WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM ready WHERE ready.route = ?1))";
  constexpr static char find_sql[] = "SELECT 1 FROM route WHERE number = ?1";
  FF_TRY(forget, database.cached(forget_sql));
  FF_TRY(find, database.cached(find_sql));
  std::vector<RouteNo> gone;
  for (const RouteNo number : numbers) {
    forget->bind(1, static_cast<std::int64_t>(number));
    FF_TRY_VOID(forget->run());
    find->bind(1, static_cast<std::int64_t>(number));
    FF_TRY(stored, find->step());
    if (stored) {
      find->reset();
    } else {
      gone.push_back(number);
    }
  }
  return gone;
}

Result<std::vector<std::string>> check_integrity(Database& database) {
  // Each query counts the rows that violate one rule.
  constexpr static std::pair<const char*, const char*> rules[] = {
      {"SELECT count(*) FROM root WHERE version < 1", "records have a version below 1"},
      {"SELECT count(*) FROM due WHERE group_no < 0", "due entries have a group below 0"},
  };
  FF_TRY(snapshot, Snapshot::begin(database));
  std::vector<std::string> findings;
  FF_TRY(check, database.prepare("PRAGMA integrity_check"));
  for (;;) {
    FF_TRY(row, check.step());
    if (!row) break;
    if (check.view(0) != "ok") findings.push_back("SQLite reports: " + check.bytes(0) + ".");
  }
  for (const auto& [sql, complaint] : rules) {
    FF_TRY(statement, database.prepare(sql));
    FF_TRY(row, statement.step());
    if (row && statement.integer(0) > 0) {
      findings.push_back(std::to_string(statement.integer(0)) + " " + complaint + ".");
    }
  }
  FF_TRY_VOID(check_log(database, findings));
  FF_TRY_VOID(snapshot.end());
  return findings;
}

}  // namespace flowfabric::sqlite
