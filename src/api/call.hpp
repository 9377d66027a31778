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
// For what the pool does not take.
Error too_many_waiting();

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

  // From any thread, once.
  void answer(int status, std::string json);
  void refuse(const Error& error);
  // Runs what blocks; the call is refused as overloaded when too much is waiting.
  void in_pool(std::function<void()> work);

 private:
  std::shared_ptr<net::Exchange> exchange_;
  Engine& engine_;
  Pool& pool_;
  std::map<std::string, std::string, std::less<>> parameters_;
};

}  // namespace flowfabric::api
