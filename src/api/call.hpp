// One request that has found its route.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <flowfabric/engine.hpp>

#include "api/pool.hpp"
#include "net/http_server.hpp"

namespace flowfabric::api {

// {"error":{"code","message","field"?,"retryable","details"?}}
std::string error_json(const Error& error);
net::Response error_response(const Error& error);

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<net::Exchange> exchange, Engine& engine, Pool& pool,
       std::map<std::string, std::string, std::less<>> parameters);

  Engine& engine() { return engine_; }
  net::Request& request() { return exchange_->request(); }

  // What stands in the path.
  const std::string& parameter(std::string_view name) const;
  Result<ExecutionId> execution_id() const;
  // What stands in the query.
  std::optional<std::string> query(std::string_view name) const;
  Result<std::int64_t> query_number(std::string_view name, std::int64_t otherwise) const;
  // A duration with a unit (500ms, 30s) or a number of milliseconds.
  Result<std::uint32_t> query_duration_ms(std::string_view name, std::uint32_t otherwise) const;
  // The parameter `wait`, up to a minute; 0 without it.
  Result<std::uint32_t> query_wait_ms() const;

  // From any thread, once.
  void answer(int status, std::string json);
  void refuse(const Error& error);
  // Null when the client has gone.
  std::shared_ptr<net::ResponseStream> begin_stream(net::Response head);
  // Runs what blocks; the call is refused as overloaded when too much is waiting.
  void in_pool(std::function<void()> work);

 private:
  std::shared_ptr<net::Exchange> exchange_;
  Engine& engine_;
  Pool& pool_;
  std::map<std::string, std::string, std::less<>> parameters_;
};

// The parameter `limit` of pages.
Result<std::uint32_t> page_limit(const Call& call);

}  // namespace flowfabric::api
