// Query parameters, and the limits of lists in bodies.
#pragma once

#include <flowfabric/operations.hpp>

#include "api/call.hpp"
#include "api/route.hpp"
#include "base/limits.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::api {

inline constexpr std::uint32_t max_items = limits::max_http_items;
inline constexpr std::uint32_t max_parked_ms = limits::max_http_wait_ms;

Result<std::uint32_t> page_limit(const Call& call, std::uint32_t otherwise = limits::default_page,
                                 std::uint32_t max = limits::max_page);
Result<std::optional<TimestampMs>> query_moment(const Call& call, std::string_view name);
Result<bool> query_flag(const Call& call, std::string_view name);
// Every filter, the cursor and the limit.
Result<ListRequest> list_request(const Call& call);
// The parameter `wait_ms`; 0 without it.
Result<std::uint32_t> query_wait_ms(const Call& call);
// The bytes of a result, if there is one.
Result<LabelledBytes> result_bytes(ExecutionResult result);
// The header `Idempotency-Key` is for clients that set it on every request; the body or the query may name the key as well.
Result<void> carry_idempotency_key(Call& call, std::string& key);
// A key proves who calls, so nobody speaks for another one. Without keys there is only what the body says.
Result<void> carry_sender(const Call& call, std::string& sender, const char* field);
Result<void> check_count(const std::string& field, std::size_t count, std::size_t max = max_items);

// Parameters that are more than a text.
QueryParameter number_parameter(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max);
QueryParameter moment_parameter(std::string_view name, std::string_view about);
QueryParameter flag_parameter(std::string_view name, std::string_view about);
// A list of names of an enum.
template <class Enum>
QueryParameter names_parameter(std::string_view name, std::string_view about) {
  wire::Schemas none;
  return {name, about, wire::Codec<Enum>::schema(none), true};
}
QueryParameter wait_parameter(std::string_view about);

std::vector<QueryParameter> paging_parameters();
std::vector<QueryParameter> listing_parameters();

}  // namespace flowfabric::api
