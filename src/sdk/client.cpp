#include <flowfabric/client.hpp>

#include <flowfabric/engine.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "sdk/gateway.hpp"

namespace flowfabric {
namespace {

bool is_server(const std::string& url) { return url.starts_with("http://") || url.starts_with("https://"); }

// Why an execution that was expected to complete did not.
Error not_completed(const ExecutionId& id, const ExecutionResult& result) {
  std::string message = "execution " + to_string(id) + " ended as " + std::string(to_string(result.outcome));
  if (result.failure) message += ": " + result.failure->message;
  return {Errc::already_terminal, std::move(message), {}, {{"outcome", std::string(to_string(result.outcome))}}};
}

Error not_completed(const FlowId& id, const FlowResult& result) {
  std::string message = "flow " + to_string(id) + " ended as " + std::string(to_string(result.state));
  if (result.first_failure) message += ": node \"" + result.first_failure->node + "\"";
  return {Errc::already_terminal, std::move(message), {}, {{"outcome", std::string(to_string(result.state))}}};
}

}  // namespace

Result<Client> Client::open(const std::string& url, const ClientOptions& options) {
  if (is_server(url)) {
    FF_TRY(gateway, sdk::make_http_gateway(url, options));
    return Client(std::move(gateway));
  }
  EngineOptions engine_options;
  engine_options.migrate = options.migrate;
  FF_TRY(engine, Engine::open(url, engine_options));
  return over(std::shared_ptr<Engine>(std::move(engine)));
}

Client Client::over(std::shared_ptr<Engine> engine) { return Client(sdk::make_engine_gateway(std::move(engine))); }

CreateRequest Client::make_request(std::string kind, Bytes input, SubmitOptions options) {
  CreateRequest request;
  request.kind = std::move(kind);
  request.payload = std::move(input.bytes);
  request.payload_encoding = std::move(input.encoding);
  request.lane = std::move(options.lane);
  request.name_space = std::move(options.name_space);
  request.priority = options.priority;
  request.tags = std::move(options.tags);
  request.idempotency_key = std::move(options.idempotency_key);
  request.required_capabilities = std::move(options.required_capabilities);
  request.policy = std::move(options.policy);
  request.delay_until = options.delay_until;
  request.deadline_at = options.deadline_at;
  request.traceparent = std::move(options.traceparent);
  request.unique = std::move(options.unique);
  request.debounce = std::move(options.debounce);
  request.throttle = std::move(options.throttle);
  request.reserve = std::move(options.reserve);
  return request;
}

Result<Created> Client::submit(CreateRequest request) { return gateway_->create(std::move(request)); }
std::vector<Result<Created>> Client::submit_many(std::vector<CreateRequest> requests) {
  return gateway_->create_many(std::move(requests));
}
Result<FlowCreated> Client::submit_flow(FlowRequest request) { return gateway_->submit_flow(std::move(request)); }
Result<FlowCreated> Client::open_flow(FlowRequest request) {
  request.open = true;
  return gateway_->submit_flow(std::move(request));
}
Result<FlowAdded> Client::add_to_flow(const FlowId& id, FlowAddition addition) {
  return gateway_->add_to_flow(id, std::move(addition));
}
Result<FlowSealed> Client::seal_flow(const FlowId& id, std::string reason) {
  return gateway_->seal_flow(id, std::move(reason));
}
Result<FlowResult> Client::wait_flow(const FlowId& id, std::chrono::milliseconds timeout) {
  return gateway_->wait_flow(id, timeout);
}
Result<FlowDescription> Client::get_flow(const FlowId& id) { return gateway_->describe_flow(id); }
Result<ListFlowsReply> Client::list_flows(const ListFlowsRequest& request) { return gateway_->list_flows(request); }
Result<FlowNodesReply> Client::flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  return gateway_->flow_nodes(id, cursor, limit);
}
Result<FlowGraph> Client::flow_graph(const FlowId& id) { return gateway_->flow_graph(id); }
Result<FlowCancelReply> Client::cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) {
  return gateway_->cancel_flow(id, request, std::move(reason));
}
Result<FlowReplayReply> Client::replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) {
  return gateway_->replay_flow(id, std::move(request), std::move(reason));
}
Result<ExecutionDescription> Client::get(const ExecutionId& id) { return gateway_->describe(id); }
Result<ListReply> Client::list(const ListRequest& request) { return gateway_->list(request); }
Result<EventPage> Client::history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) {
  return gateway_->history(id, cursor, limit);
}
Result<EventPage> Client::events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                 std::chrono::milliseconds wait) {
  return gateway_->events(filter, cursor, limit, wait, {});
}
Result<ExecutionResult> Client::wait(const ExecutionId& id, std::chrono::milliseconds timeout) {
  return gateway_->wait(id, timeout);
}
Result<CancelReply> Client::cancel(const ExecutionId& id, std::string reason) {
  return gateway_->cancel(id, std::move(reason));
}
Result<ReplayReply> Client::replay(const ExecutionId& id, std::string reason,
                                   const std::optional<std::string>& from_step) {
  return gateway_->replay(id, std::move(reason), from_step);
}
Result<ListStepsReply> Client::steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) {
  return gateway_->list_steps(id, from_position, limit);
}
Result<void> Client::change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) {
  return gateway_->change_priority(id, priority, std::move(reason));
}
Result<SignalReply> Client::send_signal(const ExecutionId& id, SignalRequest request) {
  return gateway_->send_signal(id, std::move(request));
}
Result<SignalReply> Client::send_signal_by_token(const std::string& token, SignalRequest request) {
  return gateway_->send_signal_by_token(token, std::move(request));
}
SignalRequest Client::make_signal(std::string waitpoint, Bytes payload, SignalOptions options) {
  SignalRequest request;
  request.waitpoint = std::move(waitpoint);
  request.name = std::move(options.name);
  request.payload = std::move(payload.bytes);
  request.payload_encoding = std::move(payload.encoding);
  request.source = std::move(options.source);
  request.idempotency_key = std::move(options.idempotency_key);
  return request;
}
Result<SignalReply> Client::decide_approval(const ExecutionId& id, DecideRequest request) {
  return gateway_->decide_approval(id, std::move(request));
}
Result<ExecutionWaits> Client::describe_waits(const ExecutionId& id) { return gateway_->describe_waits(id); }
Result<ListWaitsReply> Client::list_waits(const ListWaitsRequest& request) { return gateway_->list_waits(request); }
Result<void> Client::resume(const ExecutionId& id, std::string reason) {
  return gateway_->resume(id, std::move(reason));
}
Result<void> Client::close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) {
  return gateway_->close_waitpoint(id, waitpoint, std::move(reason));
}
Result<WaitpointToken> Client::reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason) {
  return gateway_->reissue_token(id, std::move(request), std::move(reason));
}
Engine* Client::engine() const { return gateway_->engine(); }

Result<Bytes> Client::completed(const ExecutionId& id, std::chrono::milliseconds timeout) {
  FF_TRY(result, wait(id, timeout));
  if (result.outcome != Outcome::success) return Unexpected(not_completed(id, result));
  return Bytes{std::move(result.result), std::move(result.result_encoding)};
}

Result<Bytes> Client::output_of_flow(const FlowId& id, const std::string& node, std::chrono::milliseconds timeout) {
  FF_TRY(result, wait_flow(id, timeout));
  if (result.state != FlowState::completed) return Unexpected(not_completed(id, result));
  for (FlowOutput& output : result.outputs) {
    if (output.node != node) continue;
    if (output.by_reference || output.outcome != Outcome::success) return completed(output.execution_id, {});
    return Bytes{std::move(output.result), std::move(output.result_encoding)};
  }
  // Nodes with outgoing edges, and those beyond the first page of outputs.
  FF_TRY(execution, node_of_flow(id, node));
  return completed(execution, {});
}

Result<ExecutionId> Client::node_of_flow(const FlowId& id, const std::string& node) {
  std::string cursor;
  do {
    FF_TRY(page, flow_nodes(id, cursor, limits::max_page));
    for (const FlowNodeInfo& one : page.nodes) {
      if (one.name == node) return one.execution_id;
    }
    cursor = std::move(page.next_cursor);
  } while (!cursor.empty());
  return fail(Errc::not_found, "flow " + to_string(id) + " has no node \"" + node + "\"", "node");
}

}  // namespace flowfabric
