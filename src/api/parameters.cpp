#include "api/parameters.hpp"

#include "base/check.hpp"

namespace flowfabric::api {
namespace {

Unexpected<Error> out_of_range(const std::string& field, std::int64_t value, std::int64_t min, std::int64_t max) {
  return fail(
      Errc::invalid_argument,
      field + ": is " + std::to_string(value) + "; allowed: " + std::to_string(min) + " to " + std::to_string(max),
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
  FF_TRY(states, call.query_list("state"));
  for (const std::string& word : states) {
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

Result<std::uint32_t> query_wait_ms(const Call& call) {
  FF_TRY(wait_ms, call.query_number("wait_ms", 0));
  if (wait_ms < 0 || wait_ms > max_parked_ms) return out_of_range("wait_ms", wait_ms, 0, max_parked_ms);
  return static_cast<std::uint32_t>(wait_ms);
}

Result<LabelledBytes> result_bytes(ExecutionResult result) {
  if (result.outcome != Outcome::success) {
    return fail(Errc::not_found, "there is no result: the outcome is " + std::string(to_string(result.outcome)));
  }
  return LabelledBytes{std::move(result.result), std::move(result.result_encoding)};
}

Result<void> carry_idempotency_key(Call& call, std::string& key) {
  const auto header = call.request().headers.find("idempotency-key");
  if (!header) return {};
  if (header->empty()) return fail(Errc::invalid_argument, "idempotency-key: the header is empty", "idempotency-key");
  if (!key.empty() && key != *header) {
    return fail(Errc::invalid_argument, "idempotency_key: differs from the header Idempotency-Key; give one of them",
                "idempotency_key");
  }
  key = *header;
  return {};
}

Result<void> carry_sender(const Call& call, std::string& sender, const char* field) {
  if (!call.gatekeeper().required()) return {};
  const std::string& name = call.caller().name;
  if (!sender.empty() && sender != name) {
    return fail(Errc::permission_denied,
                std::string(field) + ": the API key is that of \"" + name +
                    "\", who cannot send as somebody else; leave the field out",
                field);
  }
  sender = name;
  return {};
}

Result<void> check_count(const std::string& field, std::size_t count, std::size_t max) {
  if (count <= max) return {};
  return fail(Errc::invalid_argument,
              field + ": has " + std::to_string(count) + " entries; allowed: at most " + std::to_string(max), field);
}

QueryParameter number_parameter(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max) {
  return {name, about,
          R"({"type":"integer","format":"int64","minimum":)" + std::to_string(min) + R"(,"maximum":)" +
              std::to_string(max) + "}"};
}

QueryParameter moment_parameter(std::string_view name, std::string_view about) {
  return number_parameter(name, about, 0, limits::max_timestamp_ms);
}

QueryParameter flag_parameter(std::string_view name, std::string_view about) {
  return {name, about, R"({"type":"boolean"})"};
}

QueryParameter wait_parameter(std::string_view about) { return number_parameter("wait_ms", about, 0, max_parked_ms); }

std::vector<QueryParameter> paging_parameters() {
  return {{"cursor", "The next_cursor of the previous page."},
          number_parameter("limit", "Page size, 1 to 1000 (100).", 1, limits::max_page)};
}

std::vector<QueryParameter> listing_parameters() {
  std::vector<QueryParameter> all = {
      {"namespace", "Only executions of this namespace."},
      {"lane", "Only executions of this lane."},
      {"kind", "Only executions of this kind."},
      names_parameter<PublicState>("state", "Only executions in one of these public states: `waiting,active`."),
      {"tag", "Only executions with this tag: key=value."},
      {"flow", "Only executions of this flow."},
      moment_parameter("created_from",
                       "Only executions created at this time or later, in milliseconds since the epoch."),
      moment_parameter("created_before", "Only executions created before this time."),
      moment_parameter("finished_from", "Only executions that ended at this time or later."),
      moment_parameter("finished_before", "Only executions that ended before this time."),
  };
  for (const QueryParameter& parameter : paging_parameters()) all.push_back(parameter);
  return all;
}

}  // namespace flowfabric::api
