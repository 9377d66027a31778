#include "store/postgres/incarnation.hpp"

#include "base/check.hpp"
#include "base/log.hpp"

namespace flowfabric::postgres {
namespace {

// What an incarnation is recognised by. A restored dump has new tables, a promoted replica a new timeline, another cluster
// another identifier.
#define FF_IDENTITY                                         \
  "(SELECT system_identifier AS server, " FF_TIMELINE       \
  " AS timeline, 'log'::regclass::oid::bigint AS log_table" \
  " FROM pg_control_system()) here"

// Result: whether the server is a standby, where the other statements fail.
constexpr Statement read_recovery = {"read_recovery", "SELECT pg_is_in_recovery()"};

// Result: the newest incarnation, and whether it is the one of this server.
constexpr Statement read_incarnation = {"read_incarnation", R"sql(
SELECT i.id, i.shift, )sql" FF_IS_OF_THIS_SERVER ", i.ordinal FROM incarnation i ORDER BY i.ordinal DESC LIMIT 1"};

// Runs under the lock. `after` is the last position of the log so far: the newest that is stored or that was removed. The
// oldest running transaction, not the next one, gets the first number behind it, so that the horizon is never below.
constexpr const char* begin_incarnation = R"sql(
INSERT INTO incarnation (ordinal, id, server, timeline, log_table, shift, after_xid, after_n)
SELECT i.ordinal + 1, 1 + floor(random() * 2147483646)::int, here.server, here.timeline, here.log_table,
  last.xid::text::bigint + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint, last.xid, last.n
FROM (SELECT * FROM incarnation ORDER BY ordinal DESC LIMIT 1) i, )sql" FF_IDENTITY R"sql(,
  (SELECT xid, n FROM log_floor
   UNION ALL (SELECT xid, n + cardinality(prev_ns) - 1 FROM log ORDER BY xid DESC, n DESC LIMIT 1)
   ORDER BY xid DESC, n DESC LIMIT 1) last
WHERE (i.server, i.timeline, i.log_table) IS DISTINCT FROM (here.server, here.timeline, here.log_table))sql";

Reply<void> begin_if_changed(Connection& connection, const Address& address) {
  auto begun = connection.exec("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('flowfabric incarnation " +
                               address.schema + "', 0))");
  if (begun) begun = connection.exec(begin_incarnation);
  auto ended = connection.exec(begun ? "COMMIT" : "ROLLBACK");
  if (!begun) return Unexpected(std::move(begun).error());
  if (!ended) return Unexpected(std::move(ended).error());
  return {};
}

}  // namespace

Result<Incarnation> current_incarnation(Connection& connection, const Address& address) {
  FF_TRY(recovery, to_result(connection.run(read_recovery, {})));
  if (recovery.integer(0, 0) != 0) {
    return fail(Errc::unavailable, "the PostgreSQL server is a standby and takes no writes");
  }
  for (bool begun = false;; begun = true) {
    FF_TRY(row, to_result(connection.run(read_incarnation, {})));
    if (row.size() == 0) return fail(Errc::corruption, "the table incarnation is empty");
    if (row.integer(0, 2) != 0) {
      if (begun) {
        log(LogLevel::warn, "the database was restored, moved or promoted: its log goes on as a new incarnation",
            {{"schema", address.schema}, {"incarnation", std::to_string(row.integer(0, 3))}});
      }
      return Incarnation{static_cast<std::int32_t>(row.integer(0, 0)), row.integer(0, 1)};
    }
    if (begun)
      return fail(Errc::unavailable, "the PostgreSQL server has changed its timeline while it was asked for it");
    if (const auto done = begin_if_changed(connection, address); !done) return Unexpected(to_error(done.error()));
  }
}

}  // namespace flowfabric::postgres
