// The engine's reads, and the waits for the end of an execution or for events.
#include <map>

#include "base/check.hpp"
#include "core/state.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {

Result<ExecutionDescription> Engine::describe_execution(const ExecutionId& id) {
  return impl_->counted("describe_execution", [&] { return reads::describe(impl_->runtime->store(), id); });
}

Result<std::vector<std::optional<std::string>>> Engine::namespaces_of(const std::vector<Handle>& handles) {
  return impl_->counted("namespaces_of", [&]() -> Result<std::vector<std::optional<std::string>>> {
    FF_TRY_VOID(admit_handles(handles));
    std::vector<std::optional<std::string>> out(handles.size());
    std::map<std::size_t, ExecutionId> unsaid;  // handles of version 1 do not say it
    for (std::size_t i = 0; i < handles.size(); ++i) {
      auto claims = impl_->runtime->claims_of(handles[i]);
      if (!claims) continue;
      if (!claims->name_space) unsaid.emplace(i, claims->fence.execution_id);
      out[i] = std::move(claims->name_space);
    }
    if (unsaid.empty()) return out;
    std::vector<ExecutionId> ids;
    for (const auto& [i, id] : unsaid) ids.push_back(id);
    FF_TRY(namespaces, reads::namespaces(impl_->runtime->store(), ids));
    for (const auto& [i, id] : unsaid) {
      if (const auto found = namespaces.find(id); found != namespaces.end()) out[i] = found->second;
    }
    return out;
  });
}

Result<std::string> Engine::namespace_of(const ExecutionId& id) {
  return impl_->counted("namespace_of", [&]() -> Result<std::string> {
    FF_TRY(execution, reads::load_execution(impl_->runtime->store(), id));
    return std::move(execution.spec.name_space);
  });
}

Result<PublicState> Engine::read_execution_state(const ExecutionId& id) {
  return impl_->counted("read_execution_state", [&]() -> Result<PublicState> {
    FF_TRY(execution, reads::load_execution(impl_->runtime->store(), id));
    return public_state(execution.facts);
  });
}

Result<ExecutionResult> Engine::get_execution_result(const ExecutionId& id,
                                                     std::optional<std::uint32_t> attempt_index) {
  return impl_->counted("get_execution_result", [&]() -> Result<ExecutionResult> {
    if (attempt_index) return reads::attempt_result(impl_->runtime->store(), id, *attempt_index);
    return reads::result(impl_->runtime->store(), id);
  });
}

Result<ExecutionContext> Engine::read_execution_context(const ExecutionId& id) {
  return impl_->counted("read_execution_context", [&] { return reads::context(impl_->runtime->store(), id); });
}

Result<std::vector<Attempt>> Engine::list_attempts(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) {
  return impl_->counted("list_attempts", [&] { return reads::attempts(impl_->runtime->store(), id, from, limit); });
}

Result<ListStepsReply> Engine::list_steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) {
  return impl_->counted("list_steps", [&] { return reads::steps(impl_->runtime->store(), id, from_position, limit); });
}

Result<Tags> Engine::get_tags(const ExecutionId& id) {
  return impl_->counted("get_tags", [&]() -> Result<Tags> {
    FF_TRY(execution, reads::load_execution(impl_->runtime->store(), id));
    return execution.facts.tags;
  });
}

Result<EventPage> Engine::execution_history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) {
  return impl_->counted("execution_history",
                        [&] { return reads::history(impl_->runtime->store(), id, cursor, limit); });
}

Result<ListReply> Engine::list_executions(const ListRequest& request) {
  return impl_->counted("list_executions", [&] { return reads::list(impl_->runtime->store(), request); });
}

Result<std::vector<LaneCounts>> Engine::count_executions(const std::optional<std::string>& name_space) {
  return impl_->counted("count_executions", [&] { return reads::counts(impl_->runtime->store(), name_space); });
}

Result<std::vector<LaneInfo>> Engine::list_lanes() {
  return impl_->counted("list_lanes", [&] { return reads::lanes(impl_->runtime->store(), impl_->runtime->routes()); });
}

Result<NamespaceInfo> Engine::get_namespace(const std::string& name_space) {
  return impl_->counted("get_namespace", [&] { return reads::name_space(impl_->runtime->store(), name_space); });
}

Result<std::vector<NamespaceInfo>> Engine::list_namespaces() {
  return impl_->counted("list_namespaces", [&] { return reads::all_namespaces(impl_->runtime->store()); });
}

Result<TimestampMs> Engine::now() {
  return impl_->counted("now", [&]() -> Result<TimestampMs> {
    FF_TRY(now_us, impl_->runtime->store().now_us());
    return now_us / 1000;
  });
}

Result<void> Engine::ready() {
  return impl_->counted("ready", [&]() -> Result<void> {
    Store& store = impl_->runtime->store();
    if (auto failure = impl_->runtime->health().failure()) return Unexpected(std::move(*failure));
    if (auto failure = store.failure()) return Unexpected(std::move(*failure));
    if (auto now = store.now_us(); !now) return Unexpected(std::move(now).error());
    return {};
  });
}

void Engine::wait_async(const ExecutionId& id, std::uint32_t wait_ms, Done<ExecutionResult> done) {
  impl_->runtime->wait_for_end(id, wait_ms, [timer = impl_->timer("wait"), done = std::move(done)](auto result) {
    timer.ended(result);
    done(std::move(result));
  });
}

Result<ExecutionResult> Engine::wait(const ExecutionId& id, std::uint32_t wait_ms) {
  Answer<Result<ExecutionResult>> answer;
  wait_async(id, wait_ms, [&](Result<ExecutionResult> result) { answer.give(std::move(result)); });
  return answer.take();
}

void Engine::read_events_async(EventFilter filter, std::string cursor, std::uint32_t limit, std::uint32_t wait_ms,
                               Done<EventPage> done) {
  impl_->runtime->wait_for_events(std::move(filter), std::move(cursor), limit, wait_ms,
                                  [timer = impl_->timer("read_events"), done = std::move(done)](auto page) {
                                    timer.ended(page);
                                    done(std::move(page));
                                  });
}

Result<EventPage> Engine::read_events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                      std::uint32_t wait_ms) {
  Answer<Result<EventPage>> answer;
  read_events_async(filter, cursor, limit, wait_ms, [&](Result<EventPage> page) { answer.give(std::move(page)); });
  return answer.take();
}

Result<Subscription> Engine::subscribe(EventFilter filter, const std::string& cursor) {
  return impl_->counted("subscribe", [&]() -> Result<Subscription> {
    FF_TRY(start, reads::start_cursor(impl_->runtime->store(), cursor));
    return Subscription(*this, std::move(filter), std::move(start));
  });
}

Subscription::Subscription(Engine& engine, EventFilter filter, std::string cursor)
    : engine_(&engine), filter_(std::move(filter)), cursor_(std::move(cursor)) {}

Result<std::vector<Event>> Subscription::next(std::uint32_t wait_ms, std::uint32_t limit) {
  FF_TRY(page, engine_->read_events(filter_, cursor_, limit, wait_ms));
  cursor_ = page.next_cursor;
  return std::move(page.events);
}

}  // namespace flowfabric
