// The queries of the store outside batches. Each function is one round trip on a reader connection.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

Reply<std::vector<Record>> query_records(Connection& connection, const std::vector<Key>& keys);
Reply<std::vector<Satellite>> query_satellites(Connection& connection, const Key& root, std::uint8_t kind,
                                               std::uint32_t from, std::uint32_t limit);
Reply<std::vector<SequenceEntry>> query_sequence(Connection& connection, const SequenceName& name, std::uint64_t from,
                                                 std::uint32_t limit);
Reply<std::vector<Record>> query_scan(Connection& connection, RecordKind kind, const std::string& after,
                                      std::uint32_t limit);
Reply<std::vector<ListedRecord>> query_list(Connection& connection, const ListQuery& query);
Reply<std::optional<TimestampMs>> query_next_due(Connection& connection);
Reply<std::vector<DueEntry>> query_due_entries(Connection& connection, const std::optional<DuePosition>& after,
                                               TimestampMs until, std::uint32_t limit);
Reply<std::vector<DueEntry>> query_group_entries(Connection& connection, std::uint64_t group,
                                                 const std::optional<Store::GroupPosition>& after, std::uint32_t limit);
Reply<std::vector<Counter>> query_counters(Connection& connection, const std::string& prefix);
Reply<std::int64_t> query_now_us(Connection& connection);
Reply<std::optional<std::uint64_t>> query_first_ready(Connection& connection, RouteNo route, std::int32_t priority);
Reply<std::uint64_t> query_ready_before(Connection& connection, const ReadyEntry& entry, std::uint64_t limit);
// See Store::forget_routes. The only function here that writes, and more than one round trip.
Reply<std::vector<RouteNo>> forget_routes(Connection& connection, const std::vector<RouteNo>& numbers);
Reply<std::vector<std::string>> query_findings(Connection& connection);

}  // namespace flowfabric::postgres
