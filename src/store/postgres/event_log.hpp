// Reading the log in an order without gaps.
//
// A position is (xid, n): the number of the transaction that wrote an entry and the entry's turn in it.
// Transactions are numbered in order but commit in any order; so a reader is shown only entries below the oldest
// transaction that is still running in his snapshot (the horizon). Whatever commits later has a number at or above it:
// nothing ever appears behind a reader. batch.cpp keeps the entries of one record in commit order.
//
// A cursor never goes beyond the last entry that was shown, because ids that were given out and not written down, as by a
// transaction that only read, are given out again after a crash. And it names the incarnation (incarnation.hpp): where a
// log was set back to an earlier state, cursors from beyond that state are refused, and all others stay good.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/log_pages.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

// Before everything.
Reply<std::string> query_log_start(Connection& connection);
// Behind the last entry that may be shown. Entries above the horizon come for someone who reads on from here.
Reply<std::string> query_log_end(Connection& connection);

// A page, or why the cursor is refused.
Reply<Result<LogPage>> query_log(Connection& connection, const LogQuery& query, const Cursor& after);
Reply<Result<std::vector<LoggedEntry>>> query_history(Connection& connection, const Key& root, const Cursor& after,
                                                      std::uint32_t limit);

// See Store::log_health.
Reply<LogHealth> query_log_health(Connection& connection);

}  // namespace flowfabric::postgres
