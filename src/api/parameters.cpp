#include "api/parameters.hpp"

#include "base/check.hpp"

namespace flowfabric::api {
namespace {

tl::unexpected<Error> out_of_range(const std::string& field, std::int64_t value, std::int64_t min, std::int64_t max) {
  return fail(
      Errc::invalid_argument,
      field + ": is " + std::to_string(value) + "; allowed are " + std::to_string(min) + " to " + std::to_string(max),
      field);
}

}  // namespace

Result<std::uint32_t> page_limit(const Call& call, std::uint32_t otherwise, std::uint32_t max) {
  FF_TRY(limit, call.query_number("limit", otherwise));
  if (limit < 1 || limit > max) return out_of_range("limit", limit, 1, max);
  return static_cast<std::uint32_t>(limit);
}

Result<std::optional<TimestampMs>> query_moment(const Call& call, std::string_view name) {
  if (!call.query(name)) return std::nullopt;
  FF_TRY(at, call.query_number(name, 0));
  if (at < 0 || at > limits::max_timestamp_ms) return out_of_range(std::string(name), at, 0, limits::max_timestamp_ms);
  return at;
}

Result<bool> query_flag(const Call& call, std::string_view name) {
  const std::string text = call.query(name).value_or("false");
  if (text == "true") return true;
  if (text == "false") return false;
  return fail(Errc::invalid_argument, std::string(name) + ": must be true or false, not \"" + text + "\"",
              std::string(name));
}

Result<ListRequest> list_request(const Call& call) {
  ListRequest request;
  request.name_space = call.query("namespace");
  request.lane = call.query("lane");
  request.kind = call.query("kind");
  for (const std::string& word : call.query_all("state")) {
    FF_TRY(state, parse_public_state(word));
    request.states.push_back(state);
  }
  if (const auto tag = call.query("tag")) {
    const std::size_t equals = tag->find('=');
    if (equals == std::string::npos) return fail(Errc::invalid_argument, "tag: must be key=value", "tag");
    request.tag = {tag->substr(0, equals), tag->substr(equals + 1)};
  }
  if (const auto flow = call.query("flow")) {
    const auto uuid = parse_uuid(*flow);
    if (!uuid) return fail(Errc::invalid_argument, "flow: is not a UUID: \"" + *flow + "\"", "flow");
    request.flow = *uuid;
  }
  FF_TRY(created_from, query_moment(call, "created_from"));
  FF_TRY(created_before, query_moment(call, "created_before"));
  FF_TRY(finished_from, query_moment(call, "finished_from"));
  FF_TRY(finished_before, query_moment(call, "finished_before"));
  request.created_from = created_from;
  request.created_before = created_before;
  request.finished_from = finished_from;
  request.finished_before = finished_before;
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return request;
}

Result<std::uint32_t> query_wait_ms(const Call& call) { return call.query_duration_ms("wait", 0, max_parked_ms); }

Result<LabelledBytes> result_bytes(ExecutionResult result) {
  if (result.outcome != Outcome::success) {
    return fail(Errc::not_found, "there is no result: the outcome is " + std::string(to_string(result.outcome)));
  }
  return LabelledBytes{std::move(result.result), std::move(result.result_encoding)};
}

Result<void> check_count(const std::string& field, std::size_t count, std::size_t max) {
  if (count <= max) return {};
  return fail(Errc::invalid_argument,
              field + ": has " + std::to_string(count) + " entries; allowed are at most " + std::to_string(max), field);
}

std::vector<QueryParameter> paging_parameters() {
  return {{"cursor", "Where the last page ended."}, {"limit", "How many at most, 1 to 1000 (100)."}};
}

std::vector<QueryParameter> listing_parameters() {
  std::vector<QueryParameter> all = {
      {"namespace", "Only executions of this namespace."},
      {"lane", "Only executions of this lane."},
      {"kind", "Only executions of this kind."},
      {"state", "Only executions in this public state; several: in one of these.", true},
      {"tag", "Only executions with this tag: key=value."},
      {"flow", "Only executions of this flow."},
      {"created_from", "Only executions made then or later, in milliseconds since the epoch."},
      {"created_before", "Only executions made earlier."},
      {"finished_from", "Only executions that ended then or later."},
      {"finished_before", "Only executions that ended earlier."},
  };
  for (const QueryParameter& parameter : paging_parameters()) all.push_back(parameter);
  return all;
}

}  // namespace flowfabric::api
