#include "sdk/http_caller.hpp"

#include <algorithm>
#include <condition_variable>

#include "net/target.hpp"
#include "sdk/gateway.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For responses without a known error code, from a proxy or a newer server.
Errc code_of_status(int status) {
  switch (status) {
    case 401: return Errc::unauthenticated;
    case 403: return Errc::permission_denied;
    case 404: return Errc::not_found;
    case 409: return Errc::conflict;
    case 429: return Errc::overloaded;
    case 502:
    case 503: return Errc::unavailable;
    case 504: return Errc::timed_out;
    default: return status >= 400 && status < 500 ? Errc::invalid_argument : Errc::internal;
  }
}

Error error_of(const net::Response& response) {
  if (auto body = wire::from_reply<wire::ErrorBody>(response.body)) return std::move(body->error);
  return {code_of_status(response.status),
          "the server answered " + std::to_string(response.status) + " " +
              std::string(net::reason_phrase(response.status)) +
              " without a FlowFabric error body; is this a FlowFabric server?",
          {},
          {}};
}

// Waits between two tries: 50 ms, doubled up to 2 s. Returns false when `stop` ends it.
bool pause_between_tries(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

Url& Url::add(const char* name, const std::string& value) {
  text_ += (first_ ? '?' : '&') + std::string(name) + "=" + net::percent_encode(value);
  first_ = false;
  return *this;
}

Url& Url::page(const std::string& cursor, std::uint32_t limit) {
  if (!cursor.empty()) add("cursor", cursor);
  return add("limit", std::to_string(limit));
}

std::string in_path(std::string_view text) { return net::percent_encode(text); }
std::string path_of(const ExecutionId& id) { return "/v1/executions/" + in_path(to_string(id)); }

Result<std::unique_ptr<HttpCaller>> HttpCaller::create(const std::string& url, const ClientOptions& options) {
  std::unique_ptr<HttpCaller> caller(new HttpCaller(url, options));
  // Refuses a bad URL now instead of at the first call.
  FF_TRY(client, net::HttpClient::create(caller->client_options({})));
  caller->put_back({{}, std::move(client)});
  return caller;
}

net::ClientOptions HttpCaller::client_options(std::stop_token stop) const {
  net::ClientOptions options;
  options.url = url_;
  options.ca_file = options_.ca_file;
  options.verify = options_.verify_tls;
  options.stop = std::move(stop);
  return options;
}

// A connection ends with the token that it was made with, so only calls with the same one share it.
Result<HttpCaller::Connection> HttpCaller::take(const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& one) { return one.stop == stop; });
    if (found != idle_.rend()) {
      Connection connection = std::move(*found);
      idle_.erase(std::next(found).base());
      return connection;
    }
  }
  FF_TRY(client, net::HttpClient::create(client_options(stop)));
  return Connection{stop, std::move(client)};
}

void HttpCaller::put_back(Connection connection) {
  if (connection.stop.stop_requested()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [](const Connection& one) { return one.stop.stop_requested(); });
  if (idle_.size() < options_.max_connections) idle_.push_back(std::move(connection));
}

Result<net::Response> HttpCaller::call_once(const net::ClientRequest& request, const std::stop_token& stop) {
  FF_TRY(connection, take(stop));
  auto response = connection.client.request(request);
  if (response) put_back(std::move(connection));
  if (!response && stop.stop_requested()) return fail(Errc::shutting_down, "the call was stopped");
  if (!response) return response;
  if (response->status >= 300) return Unexpected(error_of(*response));
  return response;
}

Result<net::Response> HttpCaller::call(const char* method, const std::string& target, const std::string& body,
                                       const CallOptions& options) {
  net::ClientRequest request;
  request.method = method;
  request.target = target;
  request.timeout = options_.call_timeout + options.extra_time;
  request.body = body;
  if (!options_.api_key.empty()) request.headers.add("Authorization", "Bearer " + options_.api_key);
  if (request.method != "GET") request.headers.add("Content-Type", "application/json");
  const auto deadline = steady_clock::now() + options_.retry_for;
  milliseconds wait{50};
  for (;;) {
    auto response = call_once(request, options.stop);
    const bool again = !response && options.repeat && is_passing(response.error());
    if (!again || options.stop.stop_requested() || steady_clock::now() + wait > deadline) return response;
    if (!pause_between_tries(wait, options.stop)) return response;
    wait = std::min(wait * 2, milliseconds{2'000});
  }
}

}  // namespace flowfabric::sdk
