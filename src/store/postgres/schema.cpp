#include "store/postgres/schema.hpp"

#include <array>

#include "base/check.hpp"
#include "base/log.hpp"

namespace flowfabric::postgres {
namespace {

// Columns that never change come before those that do: PostgreSQL leaves the common prefix of an update out of its
// write-ahead log. No index contains a column that changes, so updates stay on their page (HOT) and change no index;
// fillfactor 50 leaves room for one rewrite of every row, and pruning makes room for the next.
//
// `ready` and `due` rows are inserted and deleted, never updated: a search that locks one reads it as in its snapshot,
// which the order of the log relies on (see session.cpp).
//
// An entry's position in the log is (xid, n): its transaction and its index in it. See event_log.cpp for the order.
constexpr const char* migration_1 = R"sql(
CREATE TABLE root (
  key bytea NOT NULL PRIMARY KEY,
  record_kind smallint,
  created_at bigint,
  name_space text COLLATE "C",
  lane text COLLATE "C",
  kind text COLLATE "C",
  flow bytea,
  fixed bytea NOT NULL,
  version bigint NOT NULL,
  finished_at bigint,
  state smallint,
  tags text COLLATE "C",
  body bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX root_listing ON root (record_kind, created_at, key) WHERE record_kind IS NOT NULL;

CREATE TABLE ready (
  sequence bigint NOT NULL,
  route int NOT NULL,
  priority int NOT NULL,
  key bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE UNIQUE INDEX ready_order ON ready (route, priority DESC, sequence, key);

CREATE TABLE due (
  due_at bigint NOT NULL,
  key bytea NOT NULL,
  PRIMARY KEY (due_at, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);

CREATE TABLE satellite (
  root bytea NOT NULL,
  n bigint NOT NULL,
  kind smallint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (root, kind, n)
);

CREATE TABLE event (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  n int NOT NULL,
  type smallint NOT NULL,
  at bigint NOT NULL,
  root bytea NOT NULL,
  name_space text COLLATE "C" NOT NULL,
  lane text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (xid, n)
);
CREATE INDEX event_root ON event (root, xid, n);

CREATE TABLE log_floor (single boolean PRIMARY KEY DEFAULT true CHECK (single), xid xid8 NOT NULL, n int NOT NULL);
INSERT INTO log_floor (xid, n) VALUES ('0', 0);

CREATE TABLE route (
  number int PRIMARY KEY,
  lane text COLLATE "C" NOT NULL,
  capabilities text[] COLLATE "C" NOT NULL,
  UNIQUE (lane, capabilities)
);

CREATE TABLE counter (key bytea PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 50);

CREATE TABLE writer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  generation bigint NOT NULL DEFAULT 1,
  batch bigint NOT NULL DEFAULT 0,
  touched_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

-- Both end a transaction that a guard does not allow. FF001: a record or counter; FF002: the writer was fenced.
CREATE FUNCTION assert_count(actual bigint, expected bigint, code text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF actual <> expected THEN
    RAISE EXCEPTION 'guard failed: % of % rows', actual, expected USING ERRCODE = code;
  END IF;
END $$;
CREATE FUNCTION conflict() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION 'guard failed' USING ERRCODE = 'FF001';
END $$;
)sql";

// Groups. Most entries have none, so the index contains only the others. Constant defaults rewrite no row.
constexpr const char* migration_2 = R"sql(
ALTER TABLE due ADD COLUMN group_no bigint NOT NULL DEFAULT 0, ADD COLUMN rank bigint NOT NULL DEFAULT 0;
CREATE INDEX due_group ON due (group_no, rank, key) WHERE group_no <> 0;
)sql";

// Namespaces of ready entries, for claims restricted to one. An entry without a record gets none: it cannot be claimed.
// The index does not contain the default namespace, so that stores without other namespaces have no extra cost.
constexpr const char* migration_3 = R"sql(
ALTER TABLE ready ADD COLUMN name_space text COLLATE "C" NOT NULL DEFAULT '';
UPDATE ready SET name_space = root.name_space FROM root WHERE root.key = ready.key AND root.name_space IS NOT NULL;
CREATE INDEX ready_namespace ON ready (name_space, route, priority DESC, sequence, key) WHERE name_space <> 'default';
)sql";

// The log in pages: one row for the entries of a commit instead of a row, and two index entries, for each. A page
// begins at `n` and contains `entries` (see log_pages.hpp), each with the position of the record's previous entry:
// prev_n 0 for none, prev_xid 0 for the same transaction. A record has the position of its newest entry, so its history
// is a chain. `live` counts the entries of existing records; the others are empty. Pages are stored uncompressed and in
// one piece up to the size of a block. The entries of the old log become pages of one entry. fenced() raises FF002, as
// conflict() raises FF001.
constexpr const char* migration_4 = R"sql(
CREATE TABLE log (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  n int NOT NULL,
  live int NOT NULL,
  entries bytea[] NOT NULL,
  prev_xids xid8[] NOT NULL,
  prev_ns int[] NOT NULL,
  PRIMARY KEY (xid, n)
) WITH (toast_tuple_target = 8160);
ALTER TABLE log ALTER entries SET STORAGE EXTERNAL, ALTER prev_xids SET STORAGE EXTERNAL,
  ALTER prev_ns SET STORAGE EXTERNAL;
INSERT INTO log (xid, n, live, entries, prev_xids, prev_ns)
SELECT xid, n, 1,
  ARRAY[int2send(type) || int8send(at) || int2send(length(root)::smallint) || root
    || int2send(octet_length(name_space)::smallint) || convert_to(name_space, 'UTF8')
    || int2send(octet_length(lane)::smallint) || convert_to(lane, 'UTF8') || body],
  ARRAY[coalesce(lag(xid) OVER history, '0')], ARRAY[coalesce(lag(n) OVER history, 0)]
FROM event WINDOW history AS (PARTITION BY root ORDER BY xid, n);
ALTER TABLE root ADD COLUMN log_xid xid8, ADD COLUMN log_n int;
UPDATE root SET log_xid = newest.xid, log_n = newest.n
FROM (SELECT DISTINCT ON (root) root, xid, n FROM event ORDER BY root, xid DESC, n DESC) newest
WHERE root.key = newest.root;
DROP TABLE event;
CREATE FUNCTION fenced() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION 'guard failed' USING ERRCODE = 'FF002';
END $$;
)sql";

// Incarnations of the log (incarnation.hpp): what is stored belongs to the first, in which numbers are transaction ids. If
// they lie ahead of this server's, a dump was restored here: then the first incarnation is of no server, and the next
// connection begins the second. Until `log_horizon` all transactions have ended, and what they logged may be shown.
constexpr const char* migration_5 = R"sql(
CREATE TABLE incarnation (
  ordinal int PRIMARY KEY,
  id int NOT NULL UNIQUE,
  server bigint NOT NULL,
  timeline int NOT NULL,
  log_table bigint NOT NULL,
  shift bigint NOT NULL,
  after_xid xid8 NOT NULL,
  after_n int NOT NULL,
  began_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO incarnation (ordinal, id, server, timeline, log_table, shift, after_xid, after_n)
SELECT 1, 1 + floor(random() * 2147483646)::int,
  CASE WHEN (SELECT xid FROM log ORDER BY xid DESC LIMIT 1) >= pg_snapshot_xmax(pg_current_snapshot()) THEN 0
    ELSE system_identifier END,
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int, 'log'::regclass::oid::bigint, 0, '0', 0
FROM pg_control_system();
CREATE FUNCTION log_horizon() RETURNS xid8 LANGUAGE sql STABLE AS $$
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + shift)::text::xid8
  FROM incarnation ORDER BY ordinal DESC LIMIT 1
$$;
)sql";

// Routes are numbered by what they are (core/route.hpp) instead of in the order in which they came, so a number cannot come
// to mean something else when a failover loses commits. `turn` is the order in which they were stored, by which readers
// learn of new ones: commits that add routes take turns at the row of route_turn, so turns become visible in their order.
// No index holds the capabilities, which may be longer than an index entry can be. put_routes() comes last in a commit,
// and only looks when the routes are there, as they nearly always are. What is ready moves to the new numbers.
constexpr const char* migration_6 = R"sql(
ALTER TABLE route DROP CONSTRAINT route_lane_capabilities_key, DROP CONSTRAINT route_pkey;
ALTER TABLE route RENAME number TO turn;
ALTER TABLE route ALTER turn TYPE bigint, ADD COLUMN number bigint,
  ADD COLUMN name_space text COLLATE "C" NOT NULL DEFAULT '';
UPDATE route SET number = (('x' || substr(encode(sha256(convert_to(
  array_to_string(array_prepend(lane, capabilities), chr(31)), 'UTF8')), 'hex'), 1, 16))::bit(64) >> 1)::bigint;
ALTER TABLE route ALTER number SET NOT NULL, ADD PRIMARY KEY (turn);
CREATE UNIQUE INDEX route_number ON route (number);
CREATE TABLE route_turn (single boolean PRIMARY KEY DEFAULT true CHECK (single), turn bigint NOT NULL);
INSERT INTO route_turn (turn) SELECT coalesce(max(turn), 0) FROM route;
ALTER TABLE ready ALTER route TYPE bigint;
UPDATE ready SET route = route.number FROM route WHERE route.turn = ready.route;
CREATE FUNCTION put_routes(numbers bigint[], lanes text[], required text[], name_spaces text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE last bigint;
BEGIN
  IF (SELECT count(*) FROM route WHERE number = ANY (numbers)) = cardinality(numbers) THEN RETURN; END IF;
  UPDATE route_turn SET turn = turn + cardinality(numbers) RETURNING turn INTO last;
  INSERT INTO route (turn, number, name_space, lane, capabilities)
  SELECT last - cardinality(numbers) + i, numbers[i], name_spaces[i], lanes[i], string_to_array(required[i], chr(31))
  FROM generate_subscripts(numbers, 1) i ON CONFLICT (number) DO NOTHING;
END $$;
)sql";

// Every execution leaves dead rows in root and pages in the log. With the server's own settings a table must be a fifth dead
// before it is cleaned, and cleaning pauses so often that it cannot keep up with a busy store.
constexpr const char* migration_7 = R"sql(
ALTER TABLE root SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE log SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE satellite SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE ready SET (autovacuum_vacuum_cost_delay = 0);
ALTER TABLE due SET (autovacuum_vacuum_cost_delay = 0);
)sql";

// Sequences. If all entries of one were dropped, a single row holds the highest number ever given, negative and without a
// body, so the greatest `n` of a sequence always tells the next number.
constexpr const char* migration_8 = R"sql(
CREATE TABLE sequence_entry (
  root bytea NOT NULL,
  n bigint NOT NULL,
  kind smallint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (root, kind, n)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
)sql";

// Counters count listed records (core/counts.hpp has their names); each session adds to a part of its own. Failed,
// cancelled, expired and skipped executions are found by a group (core/state.hpp); they have an entry for the end of their
// retention. Members of a flow are found by an index over columns that never change.
constexpr const char* migration_9 = R"sql(
DROP TABLE counter;
CREATE TABLE counter (name bytea NOT NULL, part int NOT NULL, value bigint NOT NULL, PRIMARY KEY (name, part))
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);
INSERT INTO counter (name, part, value)
SELECT convert_to(chr(record_kind) || name_space || chr(31) || lane || chr(31) || state, 'UTF8'), 0, count(*)
FROM root WHERE record_kind IS NOT NULL GROUP BY record_kind, name_space, lane, state;
UPDATE due SET group_no = 4611686018427388160 + root.state, rank = root.created_at
FROM root WHERE root.key = due.key AND due.group_no = 0 AND root.record_kind = 101 AND root.state BETWEEN 8 AND 11;
CREATE INDEX root_flow ON root (flow, created_at, key) WHERE flow IS NOT NULL AND flow <> ''::bytea;
)sql";

constexpr std::array migrations = {migration_1, migration_2, migration_3, migration_4, migration_5,
                                   migration_6, migration_7, migration_8, migration_9};
constexpr int current_version = static_cast<int>(migrations.size());

// The version of the schema, 0 if there is none.
Reply<int> installed_version(Connection& connection, const Address& address) {
  auto table = connection.exec("SELECT to_regclass('" + address.quoted_schema() + ".schema_version') IS NOT NULL");
  if (!table) return Unexpected(table.error());
  if (table->bytes(0, 0) != "t") return 0;
  auto version = connection.exec("SELECT coalesce(max(version), 0) FROM schema_version");
  if (!version) return Unexpected(version.error());
  return std::stoi(version->string(0, 0));
}

// Runs inside the transaction that holds the lock. The existence of the schema is checked first because CREATE SCHEMA
// IF NOT EXISTS requires the right to create one even if it exists.
Reply<void> apply_missing(Connection& connection, const Address& address) {
  auto exists = connection.exec("SELECT to_regnamespace('" + address.quoted_schema() + "') IS NOT NULL");
  if (!exists) return Unexpected(exists.error());
  if (exists->bytes(0, 0) != "t") {
    if (auto made = connection.exec("CREATE SCHEMA " + address.quoted_schema()); !made) {
      return Unexpected(made.error());
    }
  }
  const auto version = installed_version(connection, address);
  if (!version) return Unexpected(version.error());
  std::string sql;
  if (*version == 0) {
    sql = "CREATE TABLE schema_version (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());";
  }
  for (int number = *version + 1; number <= current_version; ++number) {
    sql += migrations[static_cast<std::size_t>(number - 1)];
    sql += "INSERT INTO schema_version (version) VALUES (" + std::to_string(number) + ");";
  }
  if (sql.empty()) return {};
  auto applied = connection.exec(sql);
  if (!applied) return Unexpected(applied.error());
  return {};
}

Reply<void> apply_under_lock(Connection& connection, const Address& address) {
  auto locked = connection.exec("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('flowfabric migrate " +
                                address.schema + "', 0))");
  if (!locked) return Unexpected(locked.error());
  const auto applied = apply_missing(connection, address);
  auto ended = connection.exec(applied ? "COMMIT" : "ROLLBACK");
  if (!applied) return applied;
  if (!ended) return Unexpected(ended.error());
  return {};
}

}  // namespace

Result<void> prepare_schema(Connection& connection, const Address& address, bool migrate) {
  FF_TRY(version, to_result(installed_version(connection, address)));
  if (version < current_version && migrate) {
    const auto applied = apply_under_lock(connection, address);
    if (!applied) return Unexpected(to_error(applied.error()));
    if (version > 0) {
      log(LogLevel::warn, "the PostgreSQL schema was migrated; older programs cannot use it any more",
          {{"schema", address.schema}, {"from", std::to_string(version)}, {"to", std::to_string(current_version)}});
    }
    return {};
  }
  const std::string schema = "the PostgreSQL schema \"" + address.schema + "\"";
  if (version == 0) {
    return fail(Errc::schema_mismatch, schema + " has no FlowFabric tables yet; run `flowfabric migrate URL`");
  }
  if (version < current_version) {
    return fail(Errc::schema_mismatch, schema + " is at version " + std::to_string(version) + ", this program needs " +
                                           std::to_string(current_version) + "; run `flowfabric migrate URL`");
  }
  if (version > current_version) {
    return fail(Errc::schema_mismatch, schema + " is at version " + std::to_string(version) +
                                           ", newer than this program supports (" + std::to_string(current_version) +
                                           "); use a newer program");
  }
  return {};
}

}  // namespace flowfabric::postgres
