#include <array>

#include <flowfabric/result.hpp>

#include "base/check.hpp"

namespace flowfabric {
namespace {

// The table of errors, in the order of the enum.
constexpr std::array<ErrcInfo, 37> table = {{
    {Errc::invalid_argument, "invalid_argument", 400, false, 2},
    {Errc::payload_too_large, "payload_too_large", 413, false, 2},
    {Errc::invalid_handle, "invalid_handle", 400, false, 2},
    {Errc::not_found, "not_found", 404, false, 3},
    {Errc::conflict, "conflict", 409, false, 4},
    {Errc::lane_closed, "lane_closed", 409, false, 4},
    {Errc::not_active, "not_active", 409, false, 4},
    {Errc::lease_expired, "lease_expired", 409, false, 4},
    {Errc::lease_revoked, "lease_revoked", 409, false, 4},
    {Errc::stale_lease, "stale_lease", 409, false, 4},
    {Errc::no_active_lease, "no_active_lease", 409, false, 4},
    {Errc::already_terminal, "already_terminal", 409, false, 4},
    {Errc::not_terminal, "not_terminal", 409, false, 4},
    {Errc::max_replays_exhausted, "max_replays_exhausted", 409, false, 4},
    {Errc::not_eligible, "not_eligible", 409, false, 4},
    {Errc::capability_mismatch, "capability_mismatch", 409, false, 4},
    {Errc::grant_already_exists, "grant_already_exists", 409, false, 4},
    {Errc::invalid_claim_grant, "invalid_claim_grant", 403, false, 4},
    {Errc::claim_grant_expired, "claim_grant_expired", 409, false, 4},
    {Errc::invalid_token, "invalid_token", 403, false, 4},
    {Errc::waitpoint_closed, "waitpoint_closed", 409, false, 4},
    {Errc::budget_exceeded, "budget_exceeded", 409, false, 4},
    {Errc::cursor_expired, "cursor_expired", 410, false, 4},
    {Errc::contended, "contended", 409, true, 5},
    {Errc::overloaded, "overloaded", 429, true, 5},
    {Errc::throttled, "throttled", 429, true, 5},
    {Errc::shutting_down, "shutting_down", 503, true, 5},
    {Errc::timed_out, "timed_out", 504, true, 5},
    {Errc::unavailable, "unavailable", 503, true, 5},
    {Errc::outcome_unknown, "outcome_unknown", 503, true, 5},
    {Errc::schema_mismatch, "schema_mismatch", 500, false, 6},
    {Errc::corruption, "corruption", 500, false, 7},
    {Errc::unauthenticated, "unauthenticated", 401, false, 8},
    {Errc::permission_denied, "permission_denied", 403, false, 8},
    {Errc::method_not_allowed, "method_not_allowed", 405, false, 2},
    {Errc::unsupported_media_type, "unsupported_media_type", 415, false, 2},
    {Errc::unsupported, "unsupported", 501, false, 2},
    {Errc::internal, "internal", 500, false, 70},
}};

}  // namespace

const ErrcInfo& describe(Errc code) {
  const auto index = static_cast<std::size_t>(code);
  FF_CHECK(index < table.size());
  FF_CHECK(table[index].code == code);
  return table[index];
}

std::string_view to_string(Errc code) { return describe(code).text; }

}  // namespace flowfabric
