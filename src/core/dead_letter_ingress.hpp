// Validation of the calls about dead letters and redrives.
#pragma once

#include <flowfabric/dead_letters.hpp>

namespace flowfabric {

Result<void> admit(const ListDeadLettersRequest& request);
Result<void> admit(const GetDeadLettersRequest& request);
// Also sorts the fingerprints and the ids, without duplicates.
Result<void> admit(RedriveRequest& request);
Result<void> admit(const ListRedrivesRequest& request);
// 0 for "older".
Result<std::uint64_t> parse_fingerprint(std::string_view text);
Result<Uuid> parse_redrive_id(std::string_view text);

}  // namespace flowfabric
