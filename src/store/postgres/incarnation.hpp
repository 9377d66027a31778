// Which life of the database a connection writes to.
//
// Positions in the log are made of transaction ids, and PostgreSQL can hand those out a second time: a promoted replica
// or a restore to a point in time begins a new timeline at an earlier id, and a dump can be restored into a cluster with
// smaller ids. Each of these is a new *incarnation* of the log, a row of table `incarnation`. Within one, the number of a
// log entry is the transaction id plus `shift`, and the shift is chosen so that the numbers go on behind everything stored.
// A cursor names the incarnation in which it was handed out (event_log.hpp). See docs/decisions/0027.
//
// Whoever writes calls `current_incarnation` on each new connection, before anything else: so the row is there before the
// first entry, and no transaction of an earlier incarnation can still be running.
#pragma once

#include <cstdint>

#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

struct Incarnation {
  std::int32_t id = 0;     // drawn at random, never 0
  std::int64_t shift = 0;  // number of a log entry - transaction id
};

// Begins a new incarnation if this server, its timeline or the table of the log is another one than at the last call.
// Errc::unavailable on a standby: nothing can be written there.
Result<Incarnation> current_incarnation(Connection& connection, const Address& address);

// pg_walfile_name knows a new timeline at once, pg_control_checkpoint only after the first checkpoint. Fails on a standby.
#define FF_TIMELINE "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int"

// Whether row `i` of table `incarnation` was begun on this server, on its timeline and with its table. Nothing is written on
// a standby, so its timeline does not matter.
#define FF_IS_OF_THIS_SERVER                                       \
  "i.server = (SELECT system_identifier FROM pg_control_system())" \
  " AND i.log_table = 'log'::regclass::oid::bigint"                \
  " AND CASE WHEN pg_is_in_recovery() THEN true ELSE i.timeline = " FF_TIMELINE " END"

// The number that log entries of this transaction get, given the parameter that holds the shift. Evaluated once a
// statement. xid8 has no arithmetic, and the usual shift of 0 needs none.
#define FF_LOG_NUMBER(SHIFT)               \
  "(SELECT CASE WHEN " SHIFT               \
  "::bigint = 0 THEN pg_current_xact_id()" \
  " ELSE (pg_current_xact_id()::text::bigint + " SHIFT "::bigint)::text::xid8 END)"

}  // namespace flowfabric::postgres
