// Reading the log in an order without gaps.
//
// A position is (xid, n): the transaction that wrote an entry and the entry's turn in it.
// Transactions are numbered in order but commit in any order; so a reader is shown only entries below the oldest
// transaction that is still running in his snapshot (the horizon). Whatever commits later has a number at or above it:
// nothing ever appears behind a reader. See session.cpp for why the entries of one record are in commit order.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/log_pages.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

Reply<Position> query_log_start(Connection& connection);
// The horizon. Entries that are committed above it come again for someone who reads on from here, none is skipped.
Reply<Position> query_log_end(Connection& connection);

struct LogSlice {
  Position floor;
  LogPage page;
};
// What follows `after`; the caller compares it with the floor, which belongs to the same snapshot.
Reply<LogSlice> query_log(Connection& connection, const LogQuery& query, const Position& after);
Reply<std::vector<LoggedEntry>> query_history(Connection& connection, const Key& root, const Position& after,
                                              std::uint32_t limit);

}  // namespace flowfabric::postgres
