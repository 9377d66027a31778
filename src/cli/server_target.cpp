// The operator commands on a server, through its HTTP API.
#include <chrono>
#include <cstdlib>

#include "api/bulk_bodies.hpp"
#include "base/check.hpp"
#include "cli/secrets.hpp"
#include "cli/target.hpp"
#include "sdk/flow_calls.hpp"
#include "sdk/http_caller.hpp"
#include "wire/fleet_bodies.hpp"
#include "wire/flow_bodies.hpp"
#include "wire/hook_shapes.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::cli {
namespace {

using sdk::flow_path;
using sdk::in_path;
using sdk::path_of;
using sdk::Url;
using std::chrono::milliseconds;

constexpr milliseconds usual_patience{60'000};
constexpr milliseconds long_patience{3600'000};  // for requests whose duration depends on the amount of work

// The value of a metric without labels.
std::optional<double> metric(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

std::string waitpoint_path(const ExecutionId& id, const std::string& waitpoint) {
  return path_of(id) + "/waitpoints/" + in_path(waitpoint);
}

// A signal without a key that is sent again may arrive twice.
sdk::CallOptions repeated_with_key(const SignalRequest& request) {
  return {.repeat = !request.idempotency_key.empty()};
}

class ServerTarget final : public Target {
 public:
  ServerTarget(std::unique_ptr<sdk::HttpCaller> caller, const Place& place)
      : caller_(std::move(caller)), name_(without_secrets(place.url)) {}

  // ---- Reading

  Result<ListReply> list(const ListRequest& request) override {
    Url url("/v1/executions");
    url.add("namespace", request.name_space).add("lane", request.lane).add("kind", request.kind);
    for (const PublicState state : request.states) url.add("state", std::string(to_string(state)));
    if (request.tag) url.add("tag", request.tag->first + "=" + request.tag->second);
    if (request.flow) url.add("flow", to_string(*request.flow));
    url.add("created_from", request.created_from).add("created_before", request.created_before);
    url.add("finished_from", request.finished_from).add("finished_before", request.finished_before);
    return caller_->get<ListReply>(url.page(request.cursor, request.limit));
  }
  Result<ExecutionDescription> describe(const ExecutionId& id) override {
    return caller_->get<ExecutionDescription>(Url(path_of(id)));
  }
  Result<ExecutionContext> context(const ExecutionId& id) override {
    return caller_->get<ExecutionContext>(Url(path_of(id) + "/payload"));
  }
  Result<ExecutionResult> result(const ExecutionId& id) override {
    return caller_->get<ExecutionResult>(Url(path_of(id) + "/result"));
  }
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(path_of(id) + "/history");
    return caller_->get<EventPage>(url.page(cursor, limit));
  }
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                           std::uint32_t wait_ms) override {
    Url url("/v1/events");
    url.add("namespace", filter.name_space).add("lane", filter.lane);
    if (filter.execution_id) url.add("execution_id", to_string(*filter.execution_id));
    if (filter.flow_id) url.add("flow_id", to_string(*filter.flow_id));
    for (const EventType type : filter.types) url.add("type", std::string(to_string(type)));
    if (wait_ms > 0) url.add("wait_ms", std::to_string(wait_ms));
    return caller_->get<EventPage>(url.page(cursor, limit));
  }
  Result<std::vector<NamespaceInfo>> namespaces() override {
    FF_TRY(reply, caller_->get<bodies::NamespacesReply>(Url("/v1/namespaces")));
    return std::move(reply.namespaces);
  }
  Result<NamespaceInfo> name_space(const std::string& name) override {
    return caller_->get<NamespaceInfo>(Url("/v1/namespaces/" + in_path(name)));
  }
  Result<Tags> tags(const ExecutionId& id) override {
    FF_TRY(reply, caller_->get<bodies::TagsReply>(Url(path_of(id) + "/tags")));
    return std::move(reply.tags);
  }
  Result<ListStepsReply> steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override {
    Url url(path_of(id) + "/steps");
    FF_TRY(reply, caller_->get<bodies::StepsReply>(url.page(std::to_string(from_position), limit)));
    const auto next = static_cast<std::uint32_t>(std::strtoul(reply.next_cursor.c_str(), nullptr, 10));
    return ListStepsReply{std::move(reply.steps), next};
  }
  Result<std::vector<LaneView>> lanes(const std::optional<std::string>& name_space) override {
    FF_TRY(lanes, caller_->get<bodies::LanesReply>(Url("/v1/lanes")));
    FF_TRY(counts, caller_->get<bodies::CountsReply>(Url("/v1/counts").add("namespace", name_space)));
    return lane_views(std::move(lanes.lanes), std::move(counts.lanes));
  }
  Result<ListWorkersReply> workers(const ListWorkersRequest& request) override {
    Url url("/v1/workers");
    url.add("namespace", request.name_space).add("lane", request.lane).add("capability", request.capability);
    if (request.include_expired) url.add("include_expired", std::string("true"));
    return caller_->get<ListWorkersReply>(url.page(request.cursor, request.limit));
  }
  Result<ListExpiredLeasesReply> expired_leases(const ListExpiredLeasesRequest& request) override {
    Url url("/v1/leases/expired");
    if (request.as_of) url.add("as_of", std::to_string(*request.as_of));
    url.add("namespace", request.name_space);
    return caller_->get<ListExpiredLeasesReply>(url.page(request.cursor, request.limit));
  }
  Result<std::vector<SigningKeyInfo>> keys() override {
    FF_TRY(reply, caller_->get<bodies::KeysReply>(Url("/v1/signing-keys")));
    return std::move(reply.keys);
  }
  Result<std::vector<ApiKeyInfo>> api_keys() override {
    FF_TRY(reply, caller_->get<bodies::ApiKeysReply>(Url("/v1/api-keys")));
    return std::move(reply.keys);
  }
  Result<std::vector<HookInfo>> hooks() override {
    FF_TRY(reply, caller_->get<bodies::HooksReply>(Url("/v1/hooks")));
    return std::move(reply.hooks);
  }

  Result<ListFlowsReply> flows(const ListFlowsRequest& request) override {
    return caller_->get<ListFlowsReply>(sdk::flows_url(request));
  }
  Result<FlowDescription> describe_flow(const FlowId& id) override {
    return caller_->get<FlowDescription>(Url(flow_path(id)));
  }
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(flow_path(id) + "/nodes");
    return caller_->get<FlowNodesReply>(url.page(cursor, limit));
  }
  Result<FlowEdgesReply> flow_edges(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(flow_path(id) + "/edges");
    return caller_->get<FlowEdgesReply>(url.page(cursor, limit));
  }
  Result<FlowGraph> flow_graph(const FlowId& id) override { return sdk::read_graph(*caller_, id); }
  Result<EventPage> flow_history(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(flow_path(id) + "/history");
    return caller_->get<EventPage>(url.page(cursor, limit));
  }
  Result<FlowResult> flow_result(const FlowId& id, std::uint32_t wait_ms) override {
    Url url(flow_path(id) + "/result");
    if (wait_ms > 0) url.add("wait_ms", std::to_string(wait_ms));
    return caller_->get<FlowResult>(url, {.extra_time = milliseconds(wait_ms)});
  }

  Result<ExecutionWaits> waits_of(const ExecutionId& id) override {
    return caller_->get<ExecutionWaits>(Url(path_of(id) + "/waits"));
  }
  Result<ListWaitsReply> waits(const ListWaitsRequest& request) override {
    Url url("/v1/waits");
    url.add("namespace", request.name_space);
    if (request.approvals) url.add("approvals", std::string("true"));
    return caller_->get<ListWaitsReply>(url.page(request.cursor, request.limit));
  }

  // The server's counters start with the process, so the change since the last call is the difference.
  Result<Pulse> pulse() override {
    Pulse pulse;
    pulse.now = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto answer = caller_->call("GET", "/metrics", {}, {});
    // A key of one namespace may not see the figures of all of them.
    if (!answer && answer.error().code == Errc::permission_denied) return pulse;
    if (!answer) return Unexpected(answer.error());
    const std::string& metrics = answer->body;
    if (const auto parked = metric(metrics, "flowfabric_parked_claims")) {
      pulse.parked_claims = static_cast<std::uint64_t>(*parked);
    }
    const double lag = metric(metrics, "flowfabric_due_lag_seconds_sum").value_or(0);
    const double count = metric(metrics, "flowfabric_due_lag_seconds_count").value_or(0);
    if (count < due_count_) due_lag_ = due_count_ = 0;  // it was restarted
    const double came = count - due_count_;
    pulse.due_lag_ms = came > 0 ? static_cast<std::int64_t>((lag - due_lag_) / came * 1000) : 0;
    due_lag_ = lag;
    due_count_ = count;
    return pulse;
  }

  // ---- Acting

  Result<Created> create(CreateRequest request) override {
    return caller_->send<Created>("POST", "/v1/executions", request);
  }
  sdk::ScheduleCalls& schedules() override { return *schedules_; }
  sdk::LimitCalls& limits() override { return *limits_; }
  sdk::DeadLetterCalls& dead_letters() override { return *dead_letters_; }
  Result<FlowCreated> submit_flow(FlowRequest request) override {
    return caller_->send<FlowCreated>("POST", "/v1/flows", request);
  }
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition, const Operator&) override {
    return caller_->send<FlowAdded>("POST", flow_path(id) + "/nodes", addition);
  }
  Result<FlowSealed> seal_flow(const FlowId& id, const Operator& by) override {
    return caller_->send<FlowSealed>("POST", flow_path(id) + "/seal", bodies::ReasonBody{by.reason});
  }
  Result<FlowCancelReply> cancel_flow(const FlowId& id, const FlowCancelRequest& request, const Operator& by) override {
    return caller_->send<FlowCancelReply>("POST", flow_path(id) + "/cancel",
                                          bodies::FlowCancelBody{request.policy, request.run_cleanup, by.reason});
  }
  Result<FlowReplayReply> replay_flow(const FlowId& id, const FlowReplayRequest& request, const Operator& by) override {
    return caller_->send<FlowReplayReply>("POST", flow_path(id) + "/replay",
                                          bodies::FlowReplayBody{request.node, request.descendants, by.reason});
  }
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) override {
    bodies::SignalBody body;
    static_cast<SignalRequest&>(body) = std::move(request);
    return caller_->send<SignalReply>("POST", path_of(id) + "/signals", body, repeated_with_key(body));
  }
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) override {
    bodies::TokenSignalBody body;
    static_cast<SignalRequest&>(body) = std::move(request);
    body.token = token;
    return caller_->send<SignalReply>("POST", "/v1/signals", body, repeated_with_key(body));
  }
  // A person decides once, so it can be repeated.
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request, const Operator&) override {
    return caller_->send<SignalReply>(
        "POST", path_of(id) + "/approvals/" + in_path(request.waitpoint) + "/decide",
        bodies::DecideBody{request.decision, std::move(request.comment), std::move(request.actor)});
  }
  Result<void> resume(const ExecutionId& id, const Operator& by) override {
    return caller_->send_only("POST", path_of(id) + "/resume", bodies::ReasonBody{by.reason});
  }
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, const Operator& by) override {
    return caller_->send_only("POST", waitpoint_path(id, waitpoint) + "/close", bodies::ReasonBody{by.reason});
  }
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, const Operator& by) override {
    return caller_->send<WaitpointToken>(
        "POST", waitpoint_path(id, request.waitpoint) + "/reissue",
        bodies::ReissueBody{std::move(request.source), request.token_ttl_ms, request.revoke_earlier, by.reason});
  }
  Result<NamespaceInfo> set_namespace(const NamespaceInfo& info, const Operator& by) override {
    return caller_->send<NamespaceInfo>("PUT", "/v1/namespaces/" + in_path(info.name_space),
                                        bodies::NamespaceBody{info.retention, by.reason});
  }
  Result<Tags> change_tags(const ExecutionId& id, TagChanges changes, const Operator& by) override {
    const bodies::TagsBody body{std::move(changes.set), std::move(changes.remove), by.reason};
    FF_TRY(reply, caller_->send<bodies::TagsReply>("PATCH", path_of(id) + "/tags", body));
    return std::move(reply.tags);
  }
  Result<RevokeReply> revoke_lease(const ExecutionId& id, const Operator& by, std::optional<Uuid> expected) override {
    return caller_->send<RevokeReply>("POST", path_of(id) + "/revoke-lease", bodies::RevokeBody{by.reason, expected});
  }
  Result<api::BulkTally> act_on(const api::BulkOrder& order, const std::vector<ExecutionId>& ids) override {
    if (order.verb == api::BulkVerb::signal) return send_to_all(order.signal, ids);
    api::BulkBody body;
    body.action = order.verb;
    body.ids = ids;
    body.reason = order.by.reason;
    if (order.verb == api::BulkVerb::priority) body.priority = order.priority;
    body.from_step = order.from_step;
    FF_TRY(reply, caller_->send<api::BulkReply>("POST", "/v1/executions/bulk", body));
    return static_cast<api::BulkTally&&>(reply);
  }
  Result<LaneInfo> set_lane_state(const std::string& lane, LaneState state, const Operator& by) override {
    return caller_->send<LaneInfo>("PUT", "/v1/lanes/" + in_path(lane), bodies::LaneBody{state, by.reason});
  }
  Result<MarkedDead> mark_worker_dead(const std::string& name_space, const std::string& instance,
                                      const Operator& by) override {
    const std::string path = "/v1/workers/" + in_path(instance) + "/mark-dead";
    FF_TRY(reply, caller_->send<bodies::MarkDeadReply>("POST", path, bodies::WorkerBody{name_space, by.reason}));
    return MarkedDead{reply.outcome, false};
  }
  Result<DrainWorkerOutcome> drain_worker(const std::string& name_space, const std::string& instance,
                                          const Operator& by) override {
    const std::string path = "/v1/workers/" + in_path(instance) + "/drain";
    FF_TRY(reply, caller_->send<bodies::DrainReply>("POST", path, bodies::WorkerBody{name_space, by.reason}));
    return reply.outcome;
  }
  Result<KeyRotation> rotate_keys(std::int64_t grace_ms, const Operator& by) override {
    return caller_->send<KeyRotation>("POST", "/v1/signing-keys/rotate", bodies::RotateBody{grace_ms, by.reason});
  }
  Result<NewApiKey> create_api_key(const ApiKeyRequest& request, const Operator&) override {
    return caller_->send<NewApiKey>("POST", "/v1/api-keys", request);
  }
  Result<ApiKeyInfo> revoke_api_key(const std::string& key, const Operator&) override {
    FF_TRY(response, caller_->call("DELETE", "/v1/api-keys/" + in_path(key), {}, {}));
    return sdk::HttpCaller::read<ApiKeyInfo>(response);
  }
  Result<NewHook> create_hook(const HookRequest& request, const Operator&) override {
    return caller_->send<NewHook>("POST", "/v1/hooks", request);
  }
  Result<NewHook> rotate_hook(const std::string& name, std::int64_t grace_ms, const std::string& secret,
                              const Operator&) override {
    return caller_->send<NewHook>("POST", "/v1/hooks/" + in_path(name) + "/rotate",
                                  bodies::RotateHookBody{grace_ms, secret});
  }
  Result<HookInfo> remove_hook(const std::string& name, const Operator&) override {
    FF_TRY(response, caller_->call("DELETE", "/v1/hooks/" + in_path(name), {}, {}));
    return sdk::HttpCaller::read<HookInfo>(response);
  }
  Result<std::uint64_t> run_retention(const RetentionRun& run, const Operator& by) override {
    const bodies::RetentionBody body{run.older_than_ms, run.name_space, run.lane, run.tag, run.dry_run, by.reason};
    FF_TRY(reply,
           caller_->send<bodies::RetentionReply>("POST", "/v1/retention/run", body, {.extra_time = long_patience}));
    return reply.matched;
  }
  std::string name() const override { return name_; }

 private:
  Result<api::BulkTally> send_to_all(const SignalRequest& signal, const std::vector<ExecutionId>& ids) {
    api::BulkSignalBody body;
    static_cast<SignalRequest&>(body) = signal;
    body.ids = ids;
    FF_TRY(reply, caller_->send<api::BulkReply>("POST", "/v1/executions/bulk/signal", body));
    return static_cast<api::BulkTally&&>(reply);
  }

  std::unique_ptr<sdk::HttpCaller> caller_;
  std::unique_ptr<sdk::ScheduleCalls> schedules_ = sdk::schedule_calls(*caller_);
  std::unique_ptr<sdk::LimitCalls> limits_ = sdk::limit_calls(*caller_);
  std::unique_ptr<sdk::DeadLetterCalls> dead_letters_ = sdk::dead_letter_calls(*caller_);
  std::string name_;
  double due_lag_ = 0;  // seconds and number, as of the last pulse
  double due_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Target>> make_server_target(const Place& place) {
  ClientOptions options;
  options.api_key = place.api_key;
  options.ca_file = place.ca_file;
  options.call_timeout = usual_patience;
  options.retry_for = milliseconds{0};  // a person sees the error at once and decides
  FF_TRY(caller, sdk::HttpCaller::create(place.url, options));
  return std::make_unique<ServerTarget>(std::move(caller), place);
}

}  // namespace flowfabric::cli
