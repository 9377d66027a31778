// The public interface for flows.
#include "base/check.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {

Result<FlowCreated> Engine::submit_flow(FlowRequest request) {
  Answer<Result<FlowCreated>> answer;
  submit_flow_async(std::move(request), [&](Result<FlowCreated> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

void Engine::submit_flow_async(FlowRequest request, Done<FlowCreated> done) {
  impl_->runtime->submit_flow(std::move(request),
                              [timer = impl_->timer("submit_flow"), done = std::move(done)](Result<Reply> reply) {
                                timer.ended(reply);
                                done(reply_as<FlowCreated>(std::move(reply)));
                              });
}

Result<FlowCreated> Engine::open_flow(FlowRequest request) {
  request.open = true;
  return submit_flow(std::move(request));
}

Result<FlowAdded> Engine::add_to_flow(const FlowId& id, FlowAddition addition, Operator by) {
  Answer<Result<FlowAdded>> answer;
  add_to_flow_async(id, std::move(addition), std::move(by),
                    [&](Result<FlowAdded> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

void Engine::add_to_flow_async(const FlowId& id, FlowAddition addition, Operator by, Done<FlowAdded> done) {
  const auto timer = impl_->timer("add_to_flow");
  Result<void> admitted = admit_flow_id(id);
  if (admitted) admitted = admit(by);
  if (admitted) admitted = admit(addition, impl_->runtime->ingress());
  if (!admitted) return refuse(timer, done, admitted.error());
  submit_as(*impl_->runtime, timer, GrowFlowCommand{id, std::move(addition), std::nullopt, std::move(by)},
            std::move(done));
}

Result<FlowAdded> Engine::extend_flow(const Handle& handle, FlowAddition addition) {
  Answer<Result<FlowAdded>> answer;
  extend_flow_async(handle, std::move(addition), [&](Result<FlowAdded> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

void Engine::extend_flow_async(const Handle& handle, FlowAddition addition, Done<FlowAdded> done) {
  const auto timer = impl_->timer("extend_flow");
  const auto fence = impl_->runtime->fence_of(handle);
  if (!fence) return refuse(timer, done, fence.error());
  if (auto admitted = admit(addition, impl_->runtime->ingress()); !admitted) {
    return refuse(timer, done, admitted.error());
  }
  submit_as(*impl_->runtime, timer, GrowFlowCommand{{}, std::move(addition), *fence, {}}, std::move(done));
}

Result<FlowSealed> Engine::seal_flow(const FlowId& id, Operator by) {
  return impl_->counted("seal_flow", [&]() -> Result<FlowSealed> {
    FF_TRY_VOID(admit_flow_id(id));
    FF_TRY_VOID(admit(by));
    return call_as<FlowSealed>(*impl_->runtime, SealFlowCommand{id, std::move(by)});
  });
}

Result<FlowJoinReply> Engine::join_nodes(const Handle& handle, std::vector<std::string> names) {
  return impl_->counted("join_nodes", [&]() -> Result<FlowJoinReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit_node_names(names));
    return call_as<FlowJoinReply>(*impl_->runtime, JoinNodesCommand{fence, std::move(names)});
  });
}

Result<FlowCancelReply> Engine::cancel_flow(const FlowId& id, FlowCancelRequest request, Operator by) {
  return impl_->counted("cancel_flow", [&]() -> Result<FlowCancelReply> {
    FF_TRY_VOID(admit_flow_id(id));
    FF_TRY_VOID(admit(by));
    return call_as<FlowCancelReply>(*impl_->runtime, CancelFlowCommand{id, request, std::move(by)});
  });
}

Result<FlowReplayReply> Engine::replay_flow(const FlowId& id, FlowReplayRequest request, Operator by) {
  return impl_->counted("replay_flow", [&]() -> Result<FlowReplayReply> {
    FF_TRY_VOID(admit(by));
    FF_TRY(command, reads::replay_command(impl_->runtime->store(), id, request, std::move(by)));
    return call_as<FlowReplayReply>(*impl_->runtime, std::move(command));
  });
}

Result<FlowResult> Engine::wait_flow(const FlowId& id, std::uint32_t wait_ms) {
  Answer<Result<FlowResult>> answer;
  wait_flow_async(id, wait_ms, [&](Result<FlowResult> result) { answer.give(std::move(result)); });
  return answer.take();
}

void Engine::wait_flow_async(const FlowId& id, std::uint32_t wait_ms, Done<FlowResult> done) {
  impl_->runtime->wait_for_flow(id, wait_ms,
                                [timer = impl_->timer("wait_flow"), done = std::move(done)](Result<FlowResult> result) {
                                  timer.ended(result);
                                  done(std::move(result));
                                });
}

Result<FlowDescription> Engine::describe_flow(const FlowId& id) {
  return impl_->counted("describe_flow", [&] { return reads::describe_flow(impl_->runtime->store(), id); });
}

Result<FlowResult> Engine::get_flow_result(const FlowId& id) {
  return impl_->counted("get_flow_result", [&]() -> Result<FlowResult> {
    FF_TRY(flow, reads::load_flow(impl_->runtime->store(), id));
    return reads::flow_result(impl_->runtime->store(), flow);
  });
}

Result<ListFlowsReply> Engine::list_flows(const ListFlowsRequest& request) {
  return impl_->counted("list_flows", [&] { return reads::flows(impl_->runtime->store(), request); });
}

Result<FlowNodesReply> Engine::list_flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  return impl_->counted("list_flow_nodes",
                        [&] { return reads::flow_nodes(impl_->runtime->store(), id, cursor, limit); });
}

Result<FlowEdgesReply> Engine::list_flow_edges(const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  return impl_->counted("list_flow_edges",
                        [&] { return reads::flow_edges(impl_->runtime->store(), id, cursor, limit); });
}

Result<FlowGraph> Engine::read_flow_graph(const FlowId& id) {
  return impl_->counted("read_flow_graph", [&] { return reads::flow_graph(impl_->runtime->store(), id); });
}

Result<EventPage> Engine::flow_history(const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  return impl_->counted("flow_history",
                        [&] { return reads::flow_history(impl_->runtime->store(), id, cursor, limit); });
}

Result<FlowInputsReply> Engine::list_flow_inputs(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) {
  return impl_->counted("list_flow_inputs",
                        [&] { return reads::flow_inputs(impl_->runtime->store(), id, from, limit); });
}

Result<std::optional<FlowId>> Engine::flow_of_execution(const ExecutionId& id) {
  return impl_->counted("flow_of_execution", [&]() -> Result<std::optional<FlowId>> {
    FF_TRY(execution, reads::load_execution(impl_->runtime->store(), id));
    if (!execution.spec.member) return std::optional<FlowId>{};
    return std::optional<FlowId>{flow_of(execution)};
  });
}

Result<std::string> Engine::namespace_of_flow(const FlowId& id) {
  return impl_->counted("namespace_of_flow", [&]() -> Result<std::string> {
    FF_TRY(flow, reads::load_flow(impl_->runtime->store(), id));
    return std::move(flow.spec.name_space);
  });
}

}  // namespace flowfabric
