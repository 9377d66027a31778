// Clients and workers on an engine inside this process.
#include <condition_variable>
#include <mutex>

#include <flowfabric/engine.hpp>

#include "base/check.hpp"
#include "sdk/dead_letter_calls.hpp"
#include "sdk/gateway.hpp"
#include "sdk/limit_calls.hpp"
#include "sdk/schedule_calls.hpp"

namespace flowfabric::sdk {
namespace {

std::uint32_t to_ms(milliseconds time) {
  const auto count = std::max<milliseconds::rep>(time.count(), 0);
  return static_cast<std::uint32_t>(std::min<milliseconds::rep>(count, INT32_MAX));
}

Operator by_client(std::string reason) { return {"client", std::move(reason)}; }

// An answer that comes once, from another thread, when perhaps nobody waits for it any more.
template <class T>
class Expected {
 public:
  void give(Result<T> answer) {
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
    }
    came_.notify_all();
  }
  // Nothing when `stop` is requested first.
  std::optional<Result<T>> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, stop, [&] { return answer_.has_value(); });
    return std::exchange(answer_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any came_;
  std::optional<Result<T>> answer_;
};

class EngineGateway final : public Gateway {
 public:
  explicit EngineGateway(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  Result<Created> create(CreateRequest request) override { return engine_->create(std::move(request)); }
  std::vector<Result<Created>> create_many(std::vector<CreateRequest> requests) override {
    return engine_->create_many(std::move(requests));
  }
  Result<FlowCreated> submit_flow(FlowRequest request) override { return engine_->submit_flow(std::move(request)); }
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition) override {
    return engine_->add_to_flow(id, std::move(addition), by_client({}));
  }
  Result<FlowSealed> seal_flow(const FlowId& id, std::string reason) override {
    return engine_->seal_flow(id, by_client(std::move(reason)));
  }
  ScheduleCalls& schedules() override { return *schedules_; }
  LimitCalls& limits() override { return *limits_; }
  DeadLetterCalls& dead_letters() override { return *dead_letters_; }
  Result<FlowResult> wait_flow(const FlowId& id, milliseconds timeout) override {
    return engine_->wait_flow(id, to_ms(timeout));
  }
  Result<FlowDescription> describe_flow(const FlowId& id) override { return engine_->describe_flow(id); }
  Result<ListFlowsReply> list_flows(const ListFlowsRequest& request) override { return engine_->list_flows(request); }
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    return engine_->list_flow_nodes(id, cursor, limit);
  }
  Result<FlowGraph> flow_graph(const FlowId& id) override { return engine_->read_flow_graph(id); }
  Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) override {
    return engine_->cancel_flow(id, request, by_client(std::move(reason)));
  }
  Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) override {
    return engine_->replay_flow(id, std::move(request), by_client(std::move(reason)));
  }
  Result<ExecutionDescription> describe(const ExecutionId& id) override { return engine_->describe_execution(id); }
  Result<ListReply> list(const ListRequest& request) override { return engine_->list_executions(request); }
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override {
    return engine_->execution_history(id, cursor, limit);
  }
  Result<ExecutionResult> wait(const ExecutionId& id, milliseconds timeout) override {
    return engine_->wait(id, to_ms(timeout));
  }
  Result<CancelReply> cancel(const ExecutionId& id, std::string reason) override {
    return engine_->cancel(id, by_client(std::move(reason)));
  }
  Result<ReplayReply> replay(const ExecutionId& id, std::string reason,
                             const std::optional<std::string>& from_step) override {
    return engine_->replay_execution(id, by_client(std::move(reason)), from_step);
  }
  Result<void> change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) override {
    return engine_->change_priority(id, priority, by_client(std::move(reason)));
  }
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) override {
    return engine_->send_signal(id, std::move(request));
  }
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) override {
    return engine_->send_signal_by_token(token, std::move(request));
  }
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request) override {
    return engine_->decide_approval(id, std::move(request));
  }
  Result<ExecutionWaits> describe_waits(const ExecutionId& id) override { return engine_->describe_waits(id); }
  Result<ListWaitsReply> list_waits(const ListWaitsRequest& request) override { return engine_->list_waits(request); }
  Result<void> resume(const ExecutionId& id, std::string reason) override {
    return engine_->resume(id, by_client(std::move(reason)));
  }
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) override {
    return engine_->close_waitpoint(id, waitpoint, by_client(std::move(reason)));
  }
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason) override {
    return engine_->reissue_token(id, std::move(request), by_client(std::move(reason)));
  }
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit, milliseconds wait,
                           std::stop_token stop) override {
    auto answer = std::make_shared<Expected<EventPage>>();
    engine_->read_events_async(filter, cursor, limit, to_ms(wait),
                               [answer](Result<EventPage> page) { answer->give(std::move(page)); });
    if (auto page = answer->take(stop)) return std::move(*page);
    return fail(Errc::shutting_down, "the call was stopped");
  }

  Result<RegisterWorkerReply> register_worker(const WorkerRegistration& registration) override {
    return engine_->register_worker(registration);
  }
  Result<HeartbeatReply> heartbeat(const HeartbeatRequest& request) override {
    return engine_->heartbeat_worker(request);
  }
  Result<std::vector<ClaimedExecution>> claim(const ClaimRequest& request, std::stop_token stop) override;
  Result<SpendReply> spend(const Handle& handle, const SpendRequest& request) override {
    return engine_->spend(handle, request);
  }
  Result<void> progress(const Handle& handle, ProgressReport report) override {
    return engine_->report_progress(handle, std::move(report));
  }
  Result<void> change_tags(const Handle& handle, TagChanges changes) override {
    FF_TRY(tags, engine_->change_tags_held(handle, std::move(changes)));
    static_cast<void>(tags);
    return {};
  }
  Result<StepReply> record_step(const Handle& handle, const StepRequest& request) override {
    return engine_->record_step(handle, request);
  }
  Result<ListStepsReply> list_steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override {
    return engine_->list_steps(id, from_position, limit);
  }
  Result<FlowAdded> extend_flow(const Handle& handle, const FlowAddition& addition) override {
    return engine_->extend_flow(handle, addition);
  }
  Result<FlowInputsReply> list_flow_inputs(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) override {
    return engine_->list_flow_inputs(id, from, limit);
  }
  Result<SuspendReply> suspend(const Handle& handle, const SuspendRequest& request) override {
    return engine_->suspend(handle, request);
  }
  Result<WaitpointToken> open_waitpoint(const Handle& handle, const WaitpointRequest& request) override {
    return engine_->open_waitpoint(handle, request);
  }
  Result<void> store_checkpoint(const Handle& handle, Bytes bytes) override {
    return engine_->store_checkpoint(handle, std::move(bytes.bytes), std::move(bytes.encoding));
  }
  void settle(const Handle& handle, Settlement settlement, std::function<void(Result<void>)> done) override;
  Engine* engine() override { return engine_.get(); }

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<ScheduleCalls> schedules_ = schedule_calls(*engine_);
  std::unique_ptr<LimitCalls> limits_ = limit_calls(*engine_);
  std::unique_ptr<DeadLetterCalls> dead_letters_ = dead_letter_calls(*engine_);
};

// A claim that is stopped while it waits is answered at once: with nothing, or with what it had been given by then.
Result<std::vector<ClaimedExecution>> EngineGateway::claim(const ClaimRequest& request, std::stop_token stop) {
  auto answer = std::make_shared<Expected<std::vector<ClaimedExecution>>>();
  const auto ticket = engine_->claim_async(
      request, [answer](Result<std::vector<ClaimedExecution>> claimed) { answer->give(std::move(claimed)); });
  const std::stop_callback withdraw(stop, [&] { engine_->withdraw_claim(ticket); });
  return std::move(*answer->take({}));
}

template <class T>
std::function<void(Result<T>)> without_reply(std::function<void(Result<void>)> done) {
  return [done = std::move(done)](const Result<T>& reply) { reply ? done({}) : done(Unexpected(reply.error())); };
}

void EngineGateway::settle(const Handle& handle, Settlement settlement, std::function<void(Result<void>)> done) {
  if (auto* complete = std::get_if<CompleteRequest>(&settlement)) {
    return engine_->complete_async(handle, std::move(*complete), std::move(done));
  }
  if (auto* failure = std::get_if<FailRequest>(&settlement)) {
    return engine_->fail_async(handle, std::move(*failure), without_reply<FailReply>(std::move(done)));
  }
  if (std::holds_alternative<GiveBack>(settlement)) return engine_->release_async(handle, std::move(done));
  if (std::holds_alternative<Suspended>(settlement)) return done({});
  // The rest is rare and has no call that does not block.
  if (const auto* delay = std::get_if<Delay>(&settlement)) {
    return without_reply<DelayReply>(std::move(done))(engine_->delay(handle, delay->delay_until));
  }
  if (auto* join = std::get_if<Join>(&settlement)) {
    const auto joined = engine_->join_nodes(handle, std::move(join->names));
    if (!joined) return done(Unexpected(joined.error()));
    // They have ended meanwhile: the next claim brings what they left.
    return joined->ended ? engine_->release_async(handle, std::move(done)) : done({});
  }
  auto& cancel = std::get<CancelHeld>(settlement);
  without_reply<CancelReply>(std::move(done))(engine_->cancel_held(handle, std::move(cancel.reason)));
}

}  // namespace

std::shared_ptr<Gateway> make_engine_gateway(std::shared_ptr<Engine> engine) {
  return std::make_shared<EngineGateway>(std::move(engine));
}

}  // namespace flowfabric::sdk
