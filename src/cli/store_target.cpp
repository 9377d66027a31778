// The operator commands on a store. Reading opens only the store; changes open an engine on it.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.hpp"
#include "cli/secrets.hpp"
#include "cli/store_dead_letters.hpp"
#include "cli/store_limits.hpp"
#include "cli/store_schedules.hpp"
#include "cli/target.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::chrono::milliseconds release_patience{10000};
constexpr std::chrono::milliseconds cancel_patience{60000};  // a flow may have thousands of nodes
constexpr std::chrono::milliseconds release_pause{20};
constexpr std::chrono::milliseconds look_pause{200};

class StoreTarget final : public Target {
 public:
  explicit StoreTarget(std::string url) : url_(std::move(url)) {}

  Result<ListReply> list(const ListRequest& request) override {
    FF_TRY(store, opened_store());
    return reads::list(*store, request);
  }
  Result<ExecutionDescription> describe(const ExecutionId& id) override {
    FF_TRY(store, opened_store());
    return reads::describe(*store, id);
  }
  Result<ExecutionContext> context(const ExecutionId& id) override {
    FF_TRY(store, opened_store());
    return reads::context(*store, id);
  }
  Result<ExecutionResult> result(const ExecutionId& id) override {
    FF_TRY(store, opened_store());
    return reads::result(*store, id);
  }
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override {
    FF_TRY(store, opened_store());
    return reads::history(*store, id, cursor, limit);
  }
  // Nobody tells a reader of the store about news, so it looks again and again.
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                           std::uint32_t wait_ms) override {
    FF_TRY(store, opened_store());
    FF_TRY(from, reads::start_cursor(*store, cursor));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
    while (true) {
      FF_TRY(read, reads::events(*store, filter, from, limit));
      if (!read.page.events.empty() || std::chrono::steady_clock::now() >= until) return std::move(read.page);
      from = read.page.next_cursor;
      std::this_thread::sleep_for(look_pause);
    }
  }
  Result<std::vector<NamespaceInfo>> namespaces() override {
    FF_TRY(store, opened_store());
    return reads::all_namespaces(*store);
  }
  Result<NamespaceInfo> name_space(const std::string& name) override {
    FF_TRY(store, opened_store());
    return reads::name_space(*store, name);
  }
  Result<Tags> tags(const ExecutionId& id) override {
    FF_TRY(store, opened_store());
    FF_TRY(execution, reads::load_execution(*store, id));
    return execution.facts.tags;
  }
  Result<ListStepsReply> steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override {
    FF_TRY(store, opened_store());
    return reads::steps(*store, id, from_position, limit);
  }
  Result<std::vector<LaneView>> lanes(const std::optional<std::string>& name_space) override {
    FF_TRY(store, opened_store());
    FF_TRY(stored, store->inspect()->routes());
    RouteTable routes;
    routes.add(stored);
    FF_TRY(lanes, reads::lanes(*store, routes));
    FF_TRY(counts, reads::counts(*store, name_space));
    return lane_views(std::move(lanes), std::move(counts));
  }
  Result<ListWorkersReply> workers(const ListWorkersRequest& request) override {
    FF_TRY(store, opened_store());
    return reads::workers(*store, request);
  }
  Result<ListExpiredLeasesReply> expired_leases(const ListExpiredLeasesRequest& request) override {
    FF_TRY(store, opened_store());
    return reads::expired_leases(*store, request);
  }
  Result<std::vector<SigningKeyInfo>> keys() override {
    FF_TRY(store, opened_store());
    return reads::keys(*store);
  }
  Result<std::vector<ApiKeyInfo>> api_keys() override {
    FF_TRY(store, opened_store());
    return reads::api_keys(*store);
  }
  Result<std::vector<HookInfo>> hooks() override {
    FF_TRY(store, opened_store());
    return reads::hooks(*store);
  }

  Result<ListFlowsReply> flows(const ListFlowsRequest& request) override {
    FF_TRY(store, opened_store());
    return reads::flows(*store, request);
  }
  Result<FlowDescription> describe_flow(const FlowId& id) override {
    FF_TRY(store, opened_store());
    return reads::describe_flow(*store, id);
  }
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    FF_TRY(store, opened_store());
    return reads::flow_nodes(*store, id, cursor, limit);
  }
  Result<FlowEdgesReply> flow_edges(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    FF_TRY(store, opened_store());
    return reads::flow_edges(*store, id, cursor, limit);
  }
  Result<FlowGraph> flow_graph(const FlowId& id) override {
    FF_TRY(store, opened_store());
    return reads::flow_graph(*store, id);
  }
  Result<EventPage> flow_history(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    FF_TRY(store, opened_store());
    return reads::flow_history(*store, id, cursor, limit);
  }
  Result<FlowResult> flow_result(const FlowId& id, std::uint32_t wait_ms) override {
    FF_TRY(store, opened_store());
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
    while (true) {
      FF_TRY(flow, reads::load_flow(*store, id));
      if (has_ended(flow.facts.state) || std::chrono::steady_clock::now() >= until) {
        return reads::flow_result(*store, flow);
      }
      std::this_thread::sleep_for(look_pause);
    }
  }

  Result<ExecutionWaits> waits_of(const ExecutionId& id) override {
    FF_TRY(store, opened_store());
    return reads::execution_waits(*store, id);
  }
  Result<ListWaitsReply> waits(const ListWaitsRequest& request) override {
    FF_TRY(store, opened_store());
    return reads::waits(*store, request);
  }

  // The lag is the age of the earliest due entry, and 0 when nothing is due.
  Result<Pulse> pulse() override {
    FF_TRY(store, opened_store());
    FF_TRY(now_us, store->now_us());
    FF_TRY(next_due, store->next_due());
    Pulse pulse;
    pulse.now = now_us / 1000;
    pulse.due_lag_ms = next_due ? std::max<std::int64_t>(0, pulse.now - *next_due) : 0;
    return pulse;
  }

  Result<Created> create(CreateRequest request) override {
    FF_TRY(engine, opened_engine());
    return engine->create(std::move(request));
  }
  sdk::ScheduleCalls& schedules() override { return *schedules_; }
  sdk::LimitCalls& limits() override { return *limits_; }
  sdk::DeadLetterCalls& dead_letters() override { return *dead_letters_; }
  Result<FlowCreated> submit_flow(FlowRequest request) override {
    FF_TRY(engine, opened_engine());
    return engine->submit_flow(std::move(request));
  }
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->add_to_flow(id, std::move(addition), by);
  }
  Result<FlowSealed> seal_flow(const FlowId& id, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->seal_flow(id, by);
  }
  Result<FlowCancelReply> cancel_flow(const FlowId& id, const FlowCancelRequest& request, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    FF_TRY(reply, engine->cancel_flow(id, request, by));
    if (request.policy != FlowCancelPolicy::flow_only) FF_TRY_VOID(wait_for_cancellation(id, reply));
    return reply;
  }
  Result<FlowReplayReply> replay_flow(const FlowId& id, const FlowReplayRequest& request, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    FF_TRY(reply, engine->replay_flow(id, request, by));
    FF_TRY_VOID(wait_for_replay(id));
    return reply;
  }
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) override {
    FF_TRY(engine, opened_engine());
    return engine->send_signal(id, std::move(request));
  }
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) override {
    FF_TRY(engine, opened_engine());
    return engine->send_signal_by_token(token, std::move(request));
  }
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request, const Operator& by) override {
    if (request.actor.empty()) request.actor = by.name;
    FF_TRY(engine, opened_engine());
    return engine->decide_approval(id, std::move(request));
  }
  Result<void> resume(const ExecutionId& id, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->resume(id, by);
  }
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->close_waitpoint(id, waitpoint, by);
  }
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->reissue_token(id, std::move(request), by);
  }
  Result<NamespaceInfo> set_namespace(const NamespaceInfo& info, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->set_namespace(info, by);
  }
  Result<Tags> change_tags(const ExecutionId& id, TagChanges changes, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->change_tags(id, std::move(changes), by);
  }
  Result<RevokeReply> revoke_lease(const ExecutionId& id, const Operator& by, std::optional<Uuid> expected) override {
    FF_TRY(engine, opened_engine());
    return engine->revoke_lease(id, by, expected);
  }
  Result<api::BulkTally> act_on(const api::BulkOrder& order, const std::vector<ExecutionId>& ids) override {
    FF_TRY(engine, opened_engine());
    return api::act_on(*engine, order, ids);
  }
  Result<LaneInfo> set_lane_state(const std::string& lane, LaneState state, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->set_lane_state(lane, state, by);
  }
  Result<MarkedDead> mark_worker_dead(const std::string& name_space, const std::string& instance,
                                      const Operator& by) override {
    FF_TRY(engine, opened_engine());
    FF_TRY(outcome, engine->mark_worker_dead(name_space, instance, by));
    if (outcome == MarkWorkerDeadOutcome::not_registered) return MarkedDead{outcome, false};
    FF_TRY(released, wait_for_release(holder_group(name_space, instance)));
    return MarkedDead{outcome, released};
  }
  Result<DrainWorkerOutcome> drain_worker(const std::string& name_space, const std::string& instance,
                                          const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->drain_worker(name_space, instance, by);
  }
  Result<KeyRotation> rotate_keys(std::int64_t grace_ms, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->rotate_keys(grace_ms, by);
  }
  Result<NewApiKey> create_api_key(const ApiKeyRequest& request, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->create_api_key(request, by);
  }
  Result<ApiKeyInfo> revoke_api_key(const std::string& key, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->revoke_api_key(key, by);
  }
  Result<NewHook> create_hook(const HookRequest& request, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->create_hook(request, by);
  }
  Result<NewHook> rotate_hook(const std::string& name, std::int64_t grace_ms, const std::string& secret,
                              const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->rotate_hook(name, grace_ms, secret, by);
  }
  Result<HookInfo> remove_hook(const std::string& name, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->remove_hook(name, by);
  }
  Result<std::uint64_t> run_retention(const RetentionRun& run, const Operator& by) override {
    FF_TRY(engine, opened_engine());
    return engine->run_retention(run, by);
  }
  std::string name() const override { return without_secrets(url_); }

 private:
  Result<Store*> opened_store() {
    if (!store_) {
      FF_TRY(opened, open_for_reading(url_));
      store_ = std::move(opened);
    }
    return store_.get();
  }
  Result<Engine*> opened_engine() {
    if (!engine_) {
      FF_TRY(opened, open_for_acting(url_));
      engine_ = std::move(opened);
    }
    return engine_.get();
  }

  // The clock of an engine releases the leases of a dead worker. There may be no other engine on this store, so this one
  // runs until the leases are released. False when that takes too long.
  Result<bool> wait_for_release(std::uint64_t leases) {
    FF_TRY(store, opened_store());
    const auto until = std::chrono::steady_clock::now() + release_patience;
    while (std::chrono::steady_clock::now() < until) {
      FF_TRY(held, store->group_entries(leases, std::nullopt, 1));
      if (held.empty()) return true;
      std::this_thread::sleep_for(release_pause);
    }
    return false;
  }

  // The clock of an engine ends the nodes. There may be no other engine on this store, so this one runs until the flow has
  // ended, or until all that is left are nodes that go on.
  Result<void> wait_for_cancellation(const FlowId& id, FlowCancelReply& reply) {
    FF_TRY(store, opened_store());
    const auto until = std::chrono::steady_clock::now() + cancel_patience;
    while (std::chrono::steady_clock::now() < until) {
      FF_TRY(flow, reads::load_flow(*store, id));
      reply.state = flow.facts.state;
      if (has_ended(flow.facts.state)) return {};
      if (flow.facts.cancel && flow.facts.cancel->done) {
        FF_TRY(description, reads::describe_flow(*store, id));
        const auto goes_on = [](const Reason& reason) {
          return reason.code == "running" || reason.code == "waiting_for_worker";
        };
        if (std::any_of(description.explain.begin(), description.explain.end(), goes_on)) return {};
      }
      std::this_thread::sleep_for(release_pause);
    }
    return {};
  }

  // The clock of an engine prepares the nodes, as above.
  Result<void> wait_for_replay(const FlowId& id) {
    FF_TRY(store, opened_store());
    const auto until = std::chrono::steady_clock::now() + release_patience;
    while (std::chrono::steady_clock::now() < until) {
      FF_TRY(flow, reads::load_flow(*store, id));
      if (!flow.facts.replay) return {};
      std::this_thread::sleep_for(release_pause);
    }
    return {};
  }

  std::unique_ptr<sdk::ScheduleCalls> schedules_ =
      store_schedules([this] { return opened_store(); }, [this] { return opened_engine(); });
  std::unique_ptr<sdk::LimitCalls> limits_ =
      store_limits([this] { return opened_store(); }, [this] { return opened_engine(); });
  std::unique_ptr<sdk::DeadLetterCalls> dead_letters_ =
      store_dead_letters([this] { return opened_store(); }, [this] { return opened_engine(); });
  std::string url_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Target> make_store_target(std::string url) { return std::make_unique<StoreTarget>(std::move(url)); }

}  // namespace flowfabric::cli
