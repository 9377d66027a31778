#include "support/driver.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace flowfabric::test {

Driver::Driver(std::unique_ptr<Store> store, ManualClock& clock, std::uint64_t seed, RuntimeOptions options)
    : clock_(clock) {
  if (!options.steady_ms) options.steady_ms = [&clock] { return clock.now_us() / 1000; };
  options.entropy = seeded_entropy(seed);
  auto opened = Runtime::open(std::move(store), std::move(options));
  FF_CHECK(opened.has_value());
  runtime_ = std::move(*opened);
}

void Driver::settle() {
  for (;;) {
    runtime_->tick();
    bool moved = false;
    while (runtime_->look()) moved = true;
    for (std::size_t i = 0; i < runtime_->writers(); ++i) {
      while (runtime_->pump(i)) moved = true;
    }
    if (!moved) return;
  }
}

void Driver::advance(std::int64_t ms) {
  settle();
  while (ms > 0) {
    const std::int64_t step = std::clamp<std::int64_t>(runtime_->tick(), 1, ms);
    clock_.advance_ms(step);
    ms -= step;
    settle();
  }
}

void Driver::jump(std::int64_t ms) {
  clock_.advance_ms(ms);
  settle();
}

Result<Reply> Driver::call(Command command) {
  std::optional<Result<Reply>> answer;
  runtime_->submit(std::move(command), [&](Result<Reply> reply) { answer = std::move(reply); });
  settle();
  FF_CHECK(answer.has_value());
  return std::move(*answer);
}

Result<Created> Driver::create(CreateRequest request) {
  std::optional<Result<Reply>> answer;
  runtime_->submit_create(std::move(request), [&](Result<Reply> reply) { answer = std::move(reply); });
  settle();
  FF_CHECK(answer.has_value());
  if (!*answer) return Unexpected(answer->error());
  return std::get<Created>(**answer);
}

Result<FlowCreated> Driver::submit_flow(FlowRequest request) {
  std::optional<Result<Reply>> answer;
  runtime_->submit_flow(std::move(request), [&](Result<Reply> reply) { answer = std::move(reply); });
  settle();
  FF_CHECK(answer.has_value());
  if (!*answer) return flowfabric::fail(answer->error().code, answer->error().message, answer->error().field);
  return std::get<FlowCreated>(**answer);
}

Pending<FlowResult> Driver::wait_flow_later(const FlowId& id, std::uint32_t wait_ms) {
  Pending<FlowResult> pending;
  runtime_->wait_for_flow(id, wait_ms, [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  settle();
  return pending;
}

Pending<std::vector<ClaimedExecution>> Driver::claim_later(ClaimRequest request) {
  Pending<std::vector<ClaimedExecution>> pending;
  runtime_->submit_claim(std::move(request), [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  settle();
  return pending;
}

Result<std::vector<ClaimedExecution>> Driver::claim(ClaimRequest request) {
  const auto pending = claim_later(std::move(request));
  FF_CHECK(pending.done());
  return pending.get();
}

Pending<ExecutionResult> Driver::wait_later(const ExecutionId& id, std::uint32_t wait_ms) {
  Pending<ExecutionResult> pending;
  runtime_->wait_for_end(id, wait_ms, [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  settle();
  return pending;
}

Pending<EventPage> Driver::events_later(const std::string& cursor, std::uint32_t wait_ms, const EventFilter& filter) {
  Pending<EventPage> pending;
  runtime_->wait_for_events(filter, cursor, limits::default_page, wait_ms,
                            [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  settle();
  return pending;
}

ExecutionId Driver::make(std::string kind, std::string lane) {
  CreateRequest request;
  request.kind = std::move(kind);
  request.lane = std::move(lane);
  const auto created = create(std::move(request));
  FF_CHECK(created.has_value());
  return created->execution_id;
}

ClaimedExecution Driver::take(std::string lane, std::uint32_t lease_ttl_ms, std::string instance) {
  ClaimRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = std::move(instance);
  request.lanes = {std::move(lane)};
  request.lease_ttl_ms = lease_ttl_ms;
  const auto claimed = claim(std::move(request));
  FF_CHECK(claimed.has_value() && claimed->size() == 1);
  return claimed->front();
}

Fence Driver::fence(const ClaimedExecution& claimed) const {
  const auto fence = runtime_->fence_of(claimed.handle);
  FF_CHECK(fence.has_value());
  return *fence;
}

Result<Reply> Driver::complete(const ClaimedExecution& claimed, std::string result) {
  return call(CompleteCommand{fence(claimed), {std::move(result), {}}});
}

Result<FailReply> Driver::fail(const ClaimedExecution& claimed, std::string category) {
  FailRequest request;
  request.category = std::move(category);
  auto reply = call(FailCommand{fence(claimed), std::move(request)});
  if (!reply) return Unexpected(reply.error());
  return std::get<FailReply>(*reply);
}

Result<RenewVerdict> Driver::renew(const ClaimedExecution& claimed) {
  auto reply = call(RenewCommand{fence(claimed), 0});
  if (!reply) return Unexpected(reply.error());
  return std::get<RenewVerdict>(*reply);
}

Result<DelayReply> Driver::delay(const ClaimedExecution& claimed, TimestampMs until) {
  auto reply = call(DelayCommand{fence(claimed), until});
  if (!reply) return Unexpected(reply.error());
  return std::get<DelayReply>(*reply);
}

Result<Reply> Driver::release(const ClaimedExecution& claimed) { return call(ReleaseHeldCommand{fence(claimed)}); }

Execution Driver::execution(const ExecutionId& id) {
  auto loaded = reads::load_execution(store(), id);
  FF_CHECK(loaded.has_value());
  return std::move(*loaded);
}

ExecutionDescription Driver::describe(const ExecutionId& id) {
  auto description = reads::describe(store(), id);
  FF_CHECK(description.has_value());
  return std::move(*description);
}

std::vector<EventType> Driver::history(const ExecutionId& id) {
  auto page = reads::history(store(), id, {}, 1000);
  FF_CHECK(page.has_value());
  std::vector<EventType> types;
  for (const Event& event : page->events) types.push_back(event.type);
  return types;
}

}  // namespace flowfabric::test
