#include "store/postgres/queries.hpp"

#include <algorithm>
#include <array>

#include "store/postgres/incarnation.hpp"
#include "store/postgres/rows.hpp"

namespace flowfabric::postgres {
namespace {

// Result: satellites of one root and kind, ascending. Index satellite_pkey.
constexpr Statement scan_satellites = {"scan_satellites", R"sql(
SELECT root, kind, n, body FROM satellite WHERE root = $1::bytea AND kind = $2::int AND n >= $3::bigint
ORDER BY n LIMIT $4::bigint)sql"};

// Result: entries of one sequence, ascending. Index sequence_entry_pkey.
constexpr Statement scan_sequence = {"scan_sequence", R"sql(
SELECT n, body FROM sequence_entry WHERE root = $1::bytea AND kind = $2::int::smallint AND n >= $3::bigint
ORDER BY n LIMIT $4::bigint)sql"};

// Result: records with $1 < key < $2, ascending. Index root_pkey.
constexpr Statement scan_records = {
    "scan_records", "SELECT " FF_RECORD_COLUMNS R"sql( FROM root WHERE key > $1::bytea AND key < $2::bytea
ORDER BY key LIMIT $3::bigint)sql"};

// Result: the earliest entry, if any. Index due_pkey.
constexpr Statement first_due = {"first_due", "SELECT due_at FROM due ORDER BY due_at, key LIMIT 1"};

// Result: entries after a position and up to a time, ascending. Index due_pkey.
constexpr Statement scan_due = {"scan_due", R"sql(
SELECT due_at, group_no, rank, key FROM due
WHERE (due_at, key) > ($1::bigint, $2::bytea) AND due_at <= $3::bigint ORDER BY due_at, key LIMIT $4::bigint)sql"};

// Result: entries of a group after a position, ascending. Index due_group, as in session.cpp.
constexpr Statement scan_group = {"scan_group", R"sql(
SELECT due_at, group_no, rank, key FROM due
WHERE group_no = $1::bigint AND group_no <> 0 AND (rank, key) > ($2::bigint, $3::bytea)
ORDER BY rank, key LIMIT $4::bigint)sql"};

// Result: counters with $1 <= name < $2, ascending, without those that are 0. Index counter_pkey.
constexpr Statement read_counters = {"read_counters", R"sql(
SELECT name, sum(value)::bigint FROM counter WHERE name >= $1::bytea AND name < $2::bytea
GROUP BY name HAVING sum(value) <> 0 ORDER BY name)sql"};

// Result: the number of entries of the route before one, up to a limit. Index ready_order: all with a higher priority,
// and of the same priority those before (sequence, key).
constexpr Statement count_before = {"count_before", R"sql(
SELECT count(*) FROM (
  (SELECT FROM ready WHERE route = $1::bigint AND priority > $2::int LIMIT $5::bigint)
  UNION ALL
  (SELECT FROM ready WHERE route = $1::bigint AND priority = $2::int AND (sequence, key) < ($3::bigint, $4::bytea)
   LIMIT $5::bigint)
  LIMIT $5::bigint) found)sql"};

// Result: the lowest sequence of a priority of the route, if any. Index ready_order.
constexpr Statement find_first_ready = {"find_first_ready", R"sql(
SELECT sequence FROM ready WHERE route = $1::bigint AND priority = $2::int ORDER BY sequence, key LIMIT 1)sql"};

// Result: those of the routes on which nothing is ready. A count, because EXISTS could become a join that begins at the
// table. Index ready_order.
constexpr Statement find_unused_routes = {"find_unused_routes", R"sql(
SELECT i.number FROM unnest($1::bigint[]) i(number)
WHERE (SELECT count(*) FROM (SELECT FROM ready WHERE ready.route = i.number LIMIT 1) one) = 0)sql"};

// A commit looks at its routes last and keeps its lock on the table until it ends. So whoever has the table alone sees
// what is ready on a route, and a later commit sees that the route is gone. Indexes ready_order, route_number.
constexpr Statement begin_forgetting = {"begin_forgetting", "BEGIN"};
constexpr Statement forget_briefly = {"forget_briefly", "SET LOCAL lock_timeout = '100ms'"};
constexpr Statement lock_routes = {"lock_routes", "LOCK TABLE route IN ACCESS EXCLUSIVE MODE"};
constexpr Statement forget_unused_routes = {"forget_unused_routes", R"sql(
DELETE FROM route WHERE number = ANY($1::bigint[])
  AND (SELECT count(*) FROM (SELECT FROM ready WHERE ready.route = route.number LIMIT 1) one) = 0)sql"};
constexpr Statement end_forgetting = {"end_forgetting", "COMMIT"};

// Result: those of the routes that are not stored. Index route_number.
constexpr Statement find_missing_routes = {"find_missing_routes", R"sql(
SELECT i.number FROM unnest($1::bigint[]) i(number)
WHERE (SELECT count(*) FROM route WHERE route.number = i.number) = 0)sql"};

// Every entry that the chains of all records lead to. `linked` is false for a link that leads nowhere, forwards, or to
// an entry of another record; the walk ends there. An entry has the key of its record after the type, the time and a
// length.
#define FF_ALL_CHAINS                                                                                                 \
  "WITH RECURSIVE chain(key, xid, n, page, linked, prev_xid, prev_n) AS (\n"                                          \
  "  SELECT r.key, r.log_xid, r.log_n, l.n, coalesce(substring(l.entry FROM 13 FOR length(r.key)) = r.key, false),\n" \
  "    l.prev_xid, l.prev_n\n"                                                                                        \
  "  FROM root r LEFT JOIN LATERAL (\n"                                                                               \
  "    SELECT p.n, p.entries[r.log_n - p.n + 1] AS entry, p.prev_xids[r.log_n - p.n + 1] AS prev_xid,\n"              \
  "      p.prev_ns[r.log_n - p.n + 1] AS prev_n\n"                                                                    \
  "    FROM log p WHERE p.xid = r.log_xid AND p.n <= r.log_n ORDER BY p.n DESC LIMIT 1) l ON true\n"                  \
  "  WHERE r.log_n IS NOT NULL\n"                                                                                     \
  "  UNION ALL\n"                                                                                                     \
  "  SELECT c.key, b.xid, b.n, l.n,\n"                                                                                \
  "    coalesce(substring(l.entry FROM 13 FOR length(c.key)) = c.key AND (b.xid, b.n) < (c.xid, c.n), false),\n"      \
  "    l.prev_xid, l.prev_n\n"                                                                                        \
  "  FROM chain c\n"                                                                                                  \
  "  CROSS JOIN LATERAL (SELECT CASE WHEN c.prev_xid = '0' THEN c.xid ELSE c.prev_xid END, c.prev_n) b(xid, n)\n"     \
  "  LEFT JOIN LATERAL (\n"                                                                                           \
  "    SELECT p.n, p.entries[b.n - p.n + 1] AS entry, p.prev_xids[b.n - p.n + 1] AS prev_xid,\n"                      \
  "      p.prev_ns[b.n - p.n + 1] AS prev_n\n"                                                                        \
  "    FROM log p WHERE p.xid = b.xid AND p.n <= b.n ORDER BY p.n DESC LIMIT 1) l ON true\n"                          \
  "  WHERE c.linked AND c.prev_n <> 0)\n"

// Each query counts invalid rows; the text describes them.
struct Finding {
  Statement statement;
  const char* sentence;
};
constexpr std::array findings = {
    Finding{{"broken_history", FF_ALL_CHAINS "SELECT count(*) FROM chain WHERE NOT linked"},
            "links between log entries lead to none, to a later one, or to one of another record"},
    Finding{{"miscounted_page", FF_ALL_CHAINS R"sql(
SELECT count(*) FROM log l
LEFT JOIN (SELECT xid, page, count(*) AS live FROM chain WHERE linked GROUP BY xid, page) c ON c.xid = l.xid AND c.page = l.n
WHERE l.live <> coalesce(c.live, 0))sql"},
            "pages of the log count other entries than those whose records exist"},
    Finding{{"bad_version", "SELECT count(*) FROM root WHERE version < 1"}, "records have a version below 1"},
    Finding{{"bad_group", "SELECT count(*) FROM due WHERE group_no < 0"}, "due entries have a group below 0"},
    // In a restored copy that nothing has written to yet, the next writer begins an incarnation that goes on behind them.
    Finding{{"future_event", R"sql(
SELECT count(*) FROM log, (SELECT * FROM incarnation ORDER BY ordinal DESC LIMIT 1) i
WHERE )sql" FF_IS_OF_THIS_SERVER
                             " AND xid >= (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift)::text::xid8"},
            "log entries are numbered ahead of this server's transactions; the log cannot be read in order"},
};

// Collects conditions with their parameters. Values never become part of the text.
class Conditions {
 public:
  explicit Conditions(std::string first) : sql_(std::move(first)) {}
  // `text` with '?' for the number of the parameter that was added last.
  void add(const char* text) {
    sql_ += " AND ";
    for (const char* c = text; *c != '\0'; ++c) {
      *c == '?' ? sql_ += "$" + std::to_string(params_.size()) : sql_ += *c;
    }
  }
  void bytes(const char* text, const std::optional<std::string>& value) {
    if (!value) return;
    params_.bytes(*value);
    add(text);
  }
  void int8(const char* text, const std::optional<std::int64_t>& value) {
    if (!value) return;
    params_.int8(*value);
    add(text);
  }
  Params& params() { return params_; }
  std::string& sql() { return sql_; }

 private:
  std::string sql_;
  Params params_;
};

// Reads an index backwards, newest first, and ends at the limit: due_group for a group, root_flow for a flow, otherwise
// root_listing. Each ends with (time, key).
Conditions list_conditions(const ListQuery& query) {
  std::string source = "root WHERE true";
  if (query.flow && !query.flow->empty()) source = "root WHERE flow IS NOT NULL AND flow <> ''::bytea";
  if (query.group) {
    source =
        "due CROSS JOIN LATERAL (SELECT ctid, * FROM root WHERE root.key = due.key LIMIT 1) root"
        " WHERE due.group_no <> 0";
  }
  Conditions where(
      "SELECT root.key, version, fixed, body, log_xid, log_n, root.ctid, created_at, coalesce(state, 0) FROM " +
      source);
  where.int8("record_kind = ?::bigint::smallint", static_cast<std::int64_t>(query.record_kind));
  where.bytes("name_space = ?::text", query.name_space);
  where.bytes("lane = ?::text", query.lane);
  where.bytes("kind = ?::text", query.kind);
  where.bytes("flow = ?::bytea", query.flow);
  if (!query.states.empty()) {
    where.params().array(Type::int2, query.states, [](std::uint8_t state) { return std::int64_t{state}; });
    where.add("state = ANY(?::smallint[])");
  }
  where.bytes("position(chr(31) || ?::text || chr(31) in tags) > 0", query.tag);
  where.int8("created_at >= ?::bigint", query.created_from);
  where.int8("created_at < ?::bigint", query.created_before);
  if (query.finished_from || query.finished_before) where.add("finished_at > 0");
  where.int8("finished_at >= ?::bigint", query.finished_from);
  where.int8("finished_at < ?::bigint", query.finished_before);
  if (query.group) where.int8("due.group_no = ?::bigint", static_cast<std::int64_t>(*query.group));
  const std::string time = query.group ? "due.rank" : "created_at", key = query.group ? "due.key" : "key";
  if (query.after) {
    where.params().int8(query.after->created_at).bytes(query.after->key.bytes);
    const auto n = where.params().size();
    where.sql() += " AND (" + time + ", " + key + ") < ($" + std::to_string(n - 1) + "::bigint, $" + std::to_string(n) +
                   "::bytea)";
  }
  where.params().int8(query.limit);
  where.sql() +=
      " ORDER BY " + time + " DESC, " + key + " DESC LIMIT $" + std::to_string(where.params().size()) + "::bigint";
  return where;
}

Params numbers_param(const std::vector<RouteNo>& numbers) {
  Params params;
  params.array(Type::int8, numbers, [](RouteNo number) { return static_cast<std::int64_t>(number); });
  return params;
}

std::vector<RouteNo> numbers_of(const Rows& rows) {
  std::vector<RouteNo> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(static_cast<RouteNo>(rows.integer(row, 0)));
  return out;
}

// Columns due_at, group_no, rank, key.
std::vector<DueEntry> due_entries_of(const Rows& rows) {
  std::vector<DueEntry> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) out.push_back(due_entry_at(rows, row, 0, Key{rows.string(row, 3)}));
  return out;
}

// Runs a statement and converts its rows.
template <class Convert>
auto ask(Connection& connection, const Statement& statement, const Params& params, Convert convert)
    -> Reply<decltype(convert(std::declval<Rows&>()))> {
  auto rows = connection.run(statement, params);
  if (!rows) return Unexpected(std::move(rows).error());
  return convert(*rows);
}

}  // namespace

Reply<std::vector<Record>> query_records(Connection& connection, const std::vector<Key>& keys) {
  return ask(connection, load_records, keys_param(keys), records_of);
}

Reply<std::vector<Satellite>> query_satellites(Connection& connection, const Key& root, std::uint8_t kind,
                                               std::uint32_t from, std::uint32_t limit) {
  Params params;
  params.bytes(root.bytes).int4(kind).int8(from).int8(limit);
  return ask(connection, scan_satellites, params, satellites_of);
}

// No entry has a number below 1; see the migration for the row that does.
Reply<std::vector<SequenceEntry>> query_sequence(Connection& connection, const SequenceName& name, std::uint64_t from,
                                                 std::uint32_t limit) {
  Params params;
  params.bytes(name.root.bytes).int4(name.kind);
  params.int8(static_cast<std::int64_t>(std::clamp<std::uint64_t>(from, 1, INT64_MAX))).int8(limit);
  return ask(connection, scan_sequence, params, [](const Rows& rows) {
    std::vector<SequenceEntry> out;
    for (int row = 0; row < rows.size(); ++row) {
      out.push_back({static_cast<std::uint64_t>(rows.integer(row, 0)), rows.string(row, 1)});
    }
    return out;
  });
}

Reply<std::vector<Record>> query_scan(Connection& connection, RecordKind kind, const std::string& after,
                                      std::uint32_t limit) {
  const std::string first(1, static_cast<char>(kind));  // no key is only a kind byte, so "after it" skips nothing
  const std::string end(1, static_cast<char>(static_cast<std::uint8_t>(kind) + 1));
  Params params;
  params.bytes(std::max(after, first)).bytes(end).int8(limit);
  return ask(connection, scan_records, params, records_of);
}

Reply<std::vector<ListedRecord>> query_list(Connection& connection, const ListQuery& query) {
  Conditions where = list_conditions(query);
  connection.queue_once(where.sql(), where.params());
  auto answer = connection.flush();
  if (!answer) return Unexpected(std::move(answer).error());
  const Rows& rows = answer->front();
  std::vector<ListedRecord> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row)
    out.push_back({record_at(rows, row, 0), rows.integer(row, record_columns),
                   static_cast<std::uint8_t>(rows.integer(row, record_columns + 1))});
  return out;
}

Reply<std::optional<TimestampMs>> query_next_due(Connection& connection) {
  return ask(connection, first_due, {}, [](const Rows& rows) {
    return rows.size() == 0 ? std::nullopt : std::optional<TimestampMs>(rows.integer(0, 0));
  });
}

// No key is empty, so the empty key sorts before all entries of the smallest time or rank.
Reply<std::vector<DueEntry>> query_due_entries(Connection& connection, const std::optional<DuePosition>& after,
                                               TimestampMs until, std::uint32_t limit) {
  Params params;
  params.int8(after ? after->due_at : INT64_MIN).bytes(after ? std::string_view(after->key.bytes) : "");
  params.int8(until).int8(limit);
  return ask(connection, scan_due, params, due_entries_of);
}

Reply<std::vector<DueEntry>> query_group_entries(Connection& connection, std::uint64_t group,
                                                 const std::optional<Store::GroupPosition>& after,
                                                 std::uint32_t limit) {
  Params params;
  params.int8(static_cast<std::int64_t>(group));
  params.int8(after ? after->rank : INT64_MIN).bytes(after ? std::string_view(after->key.bytes) : "");
  params.int8(limit);
  return ask(connection, scan_group, params, due_entries_of);
}

// A name is UTF-8, in which no byte is 255.
Reply<std::vector<Counter>> query_counters(Connection& connection, const std::string& prefix) {
  const std::string past = prefix + '\xff';
  Params params;
  params.bytes(prefix).bytes(past);
  return ask(connection, read_counters, params, [](const Rows& rows) {
    std::vector<Counter> out;
    for (int row = 0; row < rows.size(); ++row) out.push_back({rows.string(row, 0), rows.integer(row, 1)});
    return out;
  });
}

Reply<std::int64_t> query_now_us(Connection& connection) {
  return ask(connection, read_clock, {}, [](const Rows& rows) { return rows.integer(0, 0); });
}

Reply<std::uint64_t> query_ready_before(Connection& connection, const ReadyEntry& entry, std::uint64_t limit) {
  Params params;
  params.int8(static_cast<std::int64_t>(entry.route))
      .int4(entry.priority)
      .int8(static_cast<std::int64_t>(entry.sequence))
      .bytes(entry.key.bytes)
      .int8(static_cast<std::int64_t>(limit));
  return ask(connection, count_before, params,
             [](const Rows& rows) { return static_cast<std::uint64_t>(rows.integer(0, 0)); });
}

Reply<std::optional<std::uint64_t>> query_first_ready(Connection& connection, RouteNo route, std::int32_t priority) {
  Params params;
  params.int8(static_cast<std::int64_t>(route)).int4(priority);
  return ask(connection, find_first_ready, params, [](const Rows& rows) {
    return rows.size() == 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(rows.integer(0, 0)));
  });
}

Reply<std::vector<RouteNo>> forget_routes(Connection& connection, const std::vector<RouteNo>& numbers) {
  auto unused = ask(connection, find_unused_routes, numbers_param(numbers), numbers_of);
  if (!unused) return unused;
  if (!unused->empty()) {
    connection.queue(begin_forgetting, {});
    connection.queue(forget_briefly, {});
    connection.queue(lock_routes, {});
    connection.queue(forget_unused_routes, numbers_param(*unused));
    connection.queue(end_forgetting, {});
    if (auto forgotten = connection.flush(); !forgotten) {
      if (!forgotten.error().lost) (void)connection.exec("ROLLBACK");
      return Unexpected(std::move(forgotten).error());
    }
  }
  return ask(connection, find_missing_routes, numbers_param(numbers), numbers_of);
}

Reply<std::vector<std::string>> query_findings(Connection& connection) {
  for (const auto& finding : findings) connection.queue(finding.statement, {});
  auto answer = connection.flush();
  if (!answer) return Unexpected(std::move(answer).error());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto count = (*answer)[i].integer(0, 0);
    if (count > 0) out.push_back(std::to_string(count) + " " + findings[i].sentence + ".");
  }
  return out;
}

}  // namespace flowfabric::postgres
