#include "api/call.hpp"

#include <charconv>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "wire/writer.hpp"

namespace flowfabric::api {
namespace {

constexpr std::uint32_t max_wait_ms = 60000;

}  // namespace

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

Result<std::uint32_t> Call::query_wait_ms() const {
  FF_TRY(wait_ms, query_duration_ms("wait", 0));
  if (wait_ms <= max_wait_ms) return wait_ms;
  return fail(Errc::invalid_argument, "wait: is " + *query("wait") + "; allowed are 0 to 60s", "wait");
}

Result<std::uint32_t> page_limit(const Call& call) {
  FF_TRY(limit, call.query_number("limit", limits::default_page));
  if (limit < 1 || limit > limits::max_page) {
    return fail(Errc::invalid_argument,
                "limit: is " + std::to_string(limit) + "; allowed are 1 to " + std::to_string(limits::max_page),
                "limit");
  }
  return static_cast<std::uint32_t>(limit);
}

void Call::answer(int status, std::string json) {
  net::Response response;
  response.status = status;
  response.body = std::move(json);
  exchange_->respond(std::move(response));
}

void Call::refuse(const Error& error) { exchange_->respond(error_response(error)); }

std::shared_ptr<net::ResponseStream> Call::begin_stream(net::Response head) {
  return exchange_->begin_stream(std::move(head));
}

void Call::in_pool(std::function<void()> work) {
  if (!pool_.submit(std::move(work))) {
    refuse(Error{Errc::overloaded, "too many requests are waiting; back off and repeat", {}, {}});
  }
}

}  // namespace flowfabric::api
