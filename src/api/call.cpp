#include "api/call.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::api {
namespace {

// Errors repeat the input of the caller, but not a megabyte of it.
constexpr std::size_t max_message_bytes = 1000;
constexpr std::size_t max_field_bytes = 200;

// A throttle knows when the next one is let in; else the pause is a guess. Whole seconds, rounded up.
std::string seconds_to_pause(const Error& error) {
  const auto known = std::find_if(error.details.begin(), error.details.end(),
                                  [](const auto& detail) { return detail.first == "retry_after_ms"; });
  if (known == error.details.end()) return "1";
  return std::to_string((std::strtoll(known->second.c_str(), nullptr, 10) + 999) / 1000);
}

}  // namespace

std::string error_json(const Error& error) {
  wire::ErrorBody body{error};
  body.error.message = clipped(error.message, max_message_bytes);
  body.error.field = clipped(error.field, max_field_bytes);
  return wire::to_json(body);
}

bool is_media_type(std::string_view header, std::string_view type) {
  std::string_view given = header.substr(0, header.find(';'));
  while (given.ends_with(' ') || given.ends_with('\t')) given.remove_suffix(1);
  return net::equal_ignoring_case(given, type);
}

net::Response error_response(const Error& error) {
  net::Response response;
  response.status = describe(error.code).http_status;
  response.body = error_json(error);
  if (response.status == 401) response.headers.add("WWW-Authenticate", "Bearer");
  if (response.status == 429 || response.status == 503) response.headers.add("Retry-After", seconds_to_pause(error));
  return response;
}

Error too_many_waiting() { return Error{Errc::overloaded, "too many requests are waiting; try again later", {}, {}}; }

Call::Call(std::shared_ptr<net::Exchange> exchange, const Home& home, Caller caller,
           std::map<std::string, std::string, std::less<>> parameters)
    : exchange_(std::move(exchange)), home_(home), caller_(std::move(caller)), parameters_(std::move(parameters)) {}

Result<void> Call::check_reach(const std::string& name_space, const char* field) const {
  if (!caller_.name_space || *caller_.name_space == name_space) return {};
  return fail(Errc::permission_denied,
              std::string(field) + ": \"" + caller_.name + "\" is restricted to the namespace " + *caller_.name_space,
              field);
}

Result<void> Call::check_reach(const std::vector<Handle>& handles) const {
  if (!caller_.name_space || handles.empty()) return {};
  FF_TRY(namespaces, home_.engine.namespaces_of(handles));
  for (const auto& name_space : namespaces) {
    if (name_space) FF_TRY_VOID(check_reach(*name_space, "handle"));
  }
  return {};
}

Result<void> Call::check_reach(const ExecutionId& id) const {
  if (!caller_.name_space) return {};
  FF_TRY(name_space, home_.engine.namespace_of(id));
  if (name_space == *caller_.name_space) return {};
  return fail(Errc::not_found, "there is no execution " + to_string(id), "execution_id");
}

Result<void> Call::check_reach_of_flow(const FlowId& id) const {
  if (!caller_.name_space) return {};
  FF_TRY(name_space, home_.engine.namespace_of_flow(id));
  if (name_space == *caller_.name_space) return {};
  return fail(Errc::not_found, "there is no flow " + to_string(id), "flow_id");
}

Result<void> Call::check_reach_of_redrive(const std::string& id) const {
  if (!caller_.name_space) return {};
  FF_TRY(redrive, home_.engine.get_redrive(id));
  if (redrive.name_space == *caller_.name_space) return {};
  return fail(Errc::not_found, "there is no redrive " + id, "redrive_id");
}

const std::string& Call::parameter(std::string_view name) const {
  const auto found = parameters_.find(name);
  FF_CHECK(found != parameters_.end());
  return found->second;
}

Result<ExecutionId> Call::execution_id() const { return parse_execution_id(parameter("execution_id")); }

Result<FlowId> Call::flow_id() const {
  auto id = parse_execution_id(parameter("flow_id"));
  if (id) return id;
  return fail(Errc::invalid_argument, "flow_id: is not a flow id like fp7-<uuid>: \"" + parameter("flow_id") + "\"",
              "flow_id");
}

std::optional<std::string> Call::query(std::string_view name) const {
  const auto value = exchange_->request().query_value(name);
  if (value) return std::string(*value);
  return name == "namespace" ? caller_.name_space : std::nullopt;
}

Result<std::vector<std::string>> Call::query_list(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : exchange_->request().query) {
    if (key != name) continue;
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t end = std::min(value.find(',', at), value.size());
      if (end == at) {
        return fail(Errc::invalid_argument, std::string(name) + ": has an empty entry in \"" + value + "\"",
                    std::string(name));
      }
      values.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  }
  return values;
}

Result<std::int64_t> Call::query_number(std::string_view name, std::int64_t otherwise) const {
  const auto text = query(name);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, problem] = std::from_chars(text->data(), end, value);
  if (problem == std::errc{} && stopped == end) return value;
  return fail(Errc::invalid_argument, std::string(name) + ": must be a whole number, not \"" + *text + "\"",
              std::string(name));
}

void Call::answer(int status, std::string json, net::Headers headers) {
  net::Response response;
  response.status = status;
  response.headers = std::move(headers);
  response.body = std::move(json);
  exchange_->respond(std::move(response));
}

void Call::hand_over(int status, std::string json, std::vector<Handle> leases) {
  const auto give_back = [&engine = home_.engine, leases = std::move(leases)] {
    for (const Handle& handle : leases) {
      engine.release_async(handle, [](const Result<void>& released) {
        if (released) return;
        log(LogLevel::debug, "an undelivered lease was not released", {{"error", released.error().message}});
      });
    }
  };
  if (exchange_->is_abandoned()) {
    give_back();
    return refuse(Error{Errc::unavailable, "the client has closed its side of the connection", {}, {}});
  }
  net::Response response;
  response.status = status;
  response.body = std::move(json);
  exchange_->respond_and_report(std::move(response), [give_back](bool delivered) {
    if (!delivered) give_back();
  });
}

void Call::answer_bytes(std::string bytes, const std::string& label) {
  net::Response response;
  response.content_type = bytes_type;
  response.body = std::move(bytes);
  if (!label.empty()) response.headers.add(std::string(label_header), label);
  exchange_->respond(std::move(response));
}

void Call::refuse(const Error& error) { exchange_->respond(error_response(error)); }

std::shared_ptr<net::ResponseStream> Call::begin_stream(net::Response head) {
  return exchange_->begin_stream(std::move(head));
}

void Call::off_engine_thread(const std::function<void()>& work) {
  if (!home_.pool->submit(work)) work();
}

void Call::in_pool(std::function<void()> work) {
  if (!home_.pool->submit(std::move(work))) {
    refuse(too_many_waiting());
  }
}

}  // namespace flowfabric::api
