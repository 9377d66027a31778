// The engine's reads and subscriptions.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.hpp"
#include "core/state.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {
namespace {

// How soon to look again while entries are committed that may not be shown yet.
constexpr std::int64_t behind_pause_ms = 2;

}  // namespace

Result<ExecutionDescription> Engine::describe_execution(const ExecutionId& id) {
  return impl_->counted("describe_execution", [&] { return reads::describe(impl_->runtime->store(), id); });
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

Result<TimestampMs> Engine::now() {
  return impl_->counted("now", [&]() -> Result<TimestampMs> {
    FF_TRY(now_us, impl_->runtime->store().now_us());
    return now_us / 1000;
  });
}

Result<EventPage> Engine::read_events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                      std::uint32_t wait_ms) {
  return impl_->counted("read_events", [&]() -> Result<EventPage> {
    FF_TRY_VOID(admit_wait(wait_ms));
    Runtime& runtime = *impl_->runtime;
    FF_TRY(start, reads::start_cursor(runtime.store(), cursor));
    const std::int64_t until = runtime.steady_ms() + wait_ms;
    for (std::string from = start;;) {
      // The version is taken before the read: a commit in between makes the wait return at once.
      const std::uint64_t seen = runtime.log_version();
      FF_TRY(read, reads::events(runtime.store(), filter, from, limit));
      const std::int64_t left = until - runtime.steady_ms();
      if (!read.page.events.empty() || left <= 0 || runtime.refusing()) return std::move(read.page);
      const bool advanced = read.page.next_cursor != from;
      from = read.page.next_cursor;
      if (!read.behind) {
        runtime.wait_for_log(seen, left);
      } else if (!advanced) {
        std::this_thread::sleep_for(std::chrono::milliseconds(behind_pause_ms));
      }
    }
  });
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
