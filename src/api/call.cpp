#include "api/call.hpp"

#include <charconv>

#include "base/check.hpp"
#include "wire/writer.hpp"

namespace flowfabric::api {

std::string error_json(const Error& error) {
  wire::Writer writer;
  writer.begin_object();
  writer.key("error");
  writer.begin_object();
  writer.key("code");
  writer.text(to_string(error.code));
  writer.key("message");
  writer.text(error.message);
  if (!error.field.empty()) {
    writer.key("field");
    writer.text(error.field);
  }
  writer.key("retryable");
  writer.boolean(describe(error.code).retryable);
  if (!error.details.empty()) {
    writer.key("details");
    writer.begin_object();
    for (const auto& [name, value] : error.details) {
      writer.key(name);
      writer.text(value);
    }
    writer.end_object();
  }
  writer.end_object();
  writer.end_object();
  return writer.take();
}

net::Response error_response(const Error& error) {
  net::Response response;
  response.status = describe(error.code).http_status;
  response.body = error_json(error);
  // How long to back off is a guess; that backing off helps is not.
  if (response.status == 429 || response.status == 503) response.headers.add("Retry-After", "1");
  return response;
}

Error too_many_waiting() {
  return Error{Errc::overloaded, "too many requests are waiting; back off and repeat", {}, {}};
}

Call::Call(std::shared_ptr<net::Exchange> exchange, Engine& engine, Pool& pool,
           std::map<std::string, std::string, std::less<>> parameters)
    : exchange_(std::move(exchange)), engine_(engine), pool_(pool), parameters_(std::move(parameters)) {}

const std::string& Call::parameter(std::string_view name) const {
  const auto found = parameters_.find(name);
  FF_CHECK(found != parameters_.end());
  return found->second;
}

Result<ExecutionId> Call::execution_id() const { return parse_execution_id(parameter("execution_id")); }

std::optional<std::string> Call::query(std::string_view name) const {
  const auto value = exchange_->request().query_value(name);
  if (!value) return std::nullopt;
  return std::string(*value);
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

Result<std::uint32_t> Call::query_duration_ms(std::string_view name, std::uint32_t otherwise) const {
  const auto text = query(name);
  if (!text) return otherwise;
  std::uint32_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, problem] = std::from_chars(text->data(), end, value);
  const std::string_view unit(stopped, static_cast<std::size_t>(end - stopped));
  if (problem == std::errc{} && (unit.empty() || unit == "ms")) return value;
  if (problem == std::errc{} && unit == "s" && value <= 3600) return value * 1000;
  return fail(Errc::invalid_argument,
              std::string(name) + ": must be a duration like 500ms or 30s, up to an hour; not \"" + *text + "\"",
              std::string(name));
}

void Call::answer(int status, std::string json) {
  net::Response response;
  response.status = status;
  response.body = std::move(json);
  exchange_->respond(std::move(response));
}

void Call::refuse(const Error& error) { exchange_->respond(error_response(error)); }

void Call::in_pool(std::function<void()> work) {
  if (!pool_.submit(std::move(work))) {
    refuse(too_many_waiting());
  }
}

}  // namespace flowfabric::api
