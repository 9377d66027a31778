// One request that has found its route.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <flowfabric/engine.hpp>

#include "api/gatekeeper.hpp"
#include "api/pool.hpp"
#include "net/http_server.hpp"

namespace flowfabric::api {

// {"error":{"code","message","field"?,"retryable","details"?}}
std::string error_json(const Error& error);
net::Response error_response(const Error& error);
// The error if the pool is full.
Error too_many_waiting();

// The media type of bytes that are not JSON, and the header that carries their label.
inline constexpr std::string_view bytes_type = "application/octet-stream";
inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view stream_type = "text/event-stream";
inline constexpr std::string_view label_header = "FlowFabric-Encoding";

// Whether a Content-Type has that type, with any parameters.
bool is_media_type(std::string_view header, std::string_view type);

class Call : public std::enable_shared_from_this<Call> {
 public:
  // The engine may answer after the server is destroyed, so a call keeps what it needs for that.
  struct Home {
    Engine& engine;
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Gatekeeper> gatekeeper;
  };
  Call(std::shared_ptr<net::Exchange> exchange, const Home& home, Caller caller,
       std::map<std::string, std::string, std::less<>> parameters);

  Engine& engine() const { return home_.engine; }
  const Home& home() const { return home_; }
  Gatekeeper& gatekeeper() const { return *home_.gatekeeper; }
  const Caller& caller() const { return caller_; }
  // The actor, for the event log.
  Operator as_operator(std::string reason) const { return {caller_.name, std::move(reason)}; }
  net::Request& request() { return exchange_->request(); }

  // A path parameter.
  const std::string& parameter(std::string_view name) const;
  bool has_parameter(std::string_view name) const { return parameters_.contains(name); }
  Result<ExecutionId> execution_id() const;
  Result<FlowId> flow_id() const;
  // A client that is restricted to one namespace is refused access to others. For it, executions of other namespaces do
  // not exist. The last two read the store and block. Invalid handles pass: the engine refuses them.
  Result<void> check_reach(const std::string& name_space, const char* field = "namespace") const;
  Result<void> check_reach(const ExecutionId& id) const;
  Result<void> check_reach(const std::vector<Handle>& handles) const;
  Result<void> check_reach_of_flow(const FlowId& id) const;
  Result<void> check_reach_of_redrive(const std::string& id) const;
  // A query parameter. For a client that is restricted to one namespace, the namespace is always that one.
  std::optional<std::string> query(std::string_view name) const;
  // Every value of a parameter that is a list: a,b and repeating the parameter say the same.
  Result<std::vector<std::string>> query_list(std::string_view name) const;
  Result<std::int64_t> query_number(std::string_view name, std::int64_t otherwise) const;

  // From any thread, once.
  void answer(int status, std::string json, net::Headers headers = {});
  // The same for an answer that hands out leases. If it cannot be delivered they are released: else they would hold the
  // work back until they expire, for a client that has never heard of them.
  void hand_over(int status, std::string json, std::vector<Handle> leases);
  // As application/octet-stream, with the label of the bytes in a header.
  void answer_bytes(std::string bytes, const std::string& label);
  void refuse(const Error& error);
  // Null if the client has disconnected.
  std::shared_ptr<net::ResponseStream> begin_stream(net::Response head);
  // Runs blocking work; the call is refused as overloaded if the pool is full.
  void in_pool(std::function<void()> work);
  // Runs what takes time in the pool, or here when too much is waiting there: for answers that must not get lost. Threads
  // of the engine have commits to make, so they do not encode and compress what may be large.
  void off_engine_thread(const std::function<void()>& work);
  // See net::Exchange.
  bool is_abandoned() const { return exchange_->is_abandoned(); }
  void on_abandoned(std::function<void()> callback) { exchange_->on_abandoned(std::move(callback)); }

 private:
  std::shared_ptr<net::Exchange> exchange_;
  const Home home_;
  const Caller caller_;
  std::map<std::string, std::string, std::less<>> parameters_;
};

}  // namespace flowfabric::api
