// The reads of checks and repairs; see store/inspection.hpp. Each function is one round trip on a reader connection.
#pragma once

#include "store/inspection.hpp"
#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

Reply<std::vector<InspectedRecord>> inspect_records(Connection& connection, const std::string& after,
                                                    std::uint32_t limit);
Reply<std::vector<InspectedReady>> inspect_ready(Connection& connection, const std::optional<ReadyEntry>& after,
                                                 std::uint32_t limit);
Reply<std::vector<InspectedDue>> inspect_due(Connection& connection, const std::optional<DueEntry>& after,
                                             std::uint32_t limit);
Reply<std::vector<SatelliteName>> orphaned_satellites(Connection& connection, const std::optional<SatelliteName>& after,
                                                      std::uint32_t limit);
Reply<std::vector<SequenceName>> orphaned_sequences(Connection& connection, const std::optional<SequenceName>& after,
                                                    std::uint32_t limit);
Reply<InspectedCounts> inspect_counts(Connection& connection);
Reply<std::vector<Route>> all_routes(Connection& connection);
Reply<std::vector<PresentEntries>> present(Connection& connection, const std::vector<WantedEntries>& wanted);

}  // namespace flowfabric::postgres
