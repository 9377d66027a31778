// Clients and workers on a server, through its HTTP API.
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <thread>

#include "base/entropy.hpp"
#include "sdk/dead_letter_calls.hpp"
#include "sdk/flow_calls.hpp"
#include "sdk/gateway.hpp"
#include "sdk/http_caller.hpp"
#include "sdk/limit_calls.hpp"
#include "sdk/schedule_calls.hpp"
#include "wire/budget_shapes.hpp"
#include "wire/fleet_bodies.hpp"
#include "wire/flow_bodies.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::sdk {
namespace {

constexpr milliseconds max_server_wait{60'000};  // what a server lets one wait in one call
constexpr std::size_t max_items = 1000;          // in one call
constexpr std::size_t max_batch_bytes = 512 * 1024;

// Sends settlements from a thread of its own: all that wait when it has time go in one request.
class SettlementSender {
 public:
  explicit SettlementSender(HttpCaller& caller) : caller_(caller), thread_([this] { run(); }) {}
  ~SettlementSender() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void add(Handle handle, Settlement settlement, std::function<void(Result<void>)> done) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({std::move(handle), std::move(settlement), std::move(done)});
    }
    wake_.notify_one();
  }

 private:
  struct One {
    Handle handle;
    Settlement settlement;
    std::function<void(Result<void>)> done;
  };

  static bool is_completion(const One& one) {
    return std::holds_alternative<CompleteRequest>(one.settlement) ||
           std::holds_alternative<FailRequest>(one.settlement);
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::vector<One> batch;
      std::size_t bytes = 0;
      do {
        bytes += size_of(waiting_.front());
        batch.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      } while (!waiting_.empty() && batch.size() < max_items && bytes + size_of(waiting_.front()) < max_batch_bytes);
      lock.unlock();
      send(std::move(batch));
      lock.lock();
    }
  }

  static std::size_t size_of(const One& one) {
    const auto* complete = std::get_if<CompleteRequest>(&one.settlement);
    return one.handle.size() + (complete != nullptr ? 2 * complete->result.size() : 0);
  }

  void send(std::vector<One> batch) {
    std::vector<One> completions;
    for (One& one : batch) {
      if (is_completion(one)) {
        completions.push_back(std::move(one));
      } else {
        one.done(send_alone(one));
      }
    }
    if (!completions.empty()) send_completions(completions);
  }

  Result<void> send_alone(const One& one) {
    if (const auto* delay = std::get_if<Delay>(&one.settlement)) {
      return caller_.send_only("POST", "/v1/leases/delay", bodies::DelayBody{one.handle, delay->delay_until}, once);
    }
    if (const auto* cancel = std::get_if<CancelHeld>(&one.settlement)) {
      return caller_.send_only("POST", "/v1/leases/cancel", bodies::CancelHeldBody{one.handle, cancel->reason}, once);
    }
    if (const auto* join = std::get_if<Join>(&one.settlement)) {
      FF_TRY(joined,
             caller_.send<FlowJoinReply>("POST", "/v1/leases/join", bodies::JoinBody{one.handle, join->names}, once));
      // They have ended meanwhile: the next claim brings what they left.
      if (!joined.ended) return {};
    }
    return caller_.send_only("POST", "/v1/leases/release", bodies::HandleBody{one.handle}, once);
  }

  void send_completions(std::vector<One>& completions) {
    bodies::CompletionsBody body;
    for (One& one : completions) {
      bodies::Completion& completion = body.completions.emplace_back();
      completion.handle = one.handle;
      if (auto* complete = std::get_if<CompleteRequest>(&one.settlement)) completion.complete = std::move(*complete);
      if (auto* failure = std::get_if<FailRequest>(&one.settlement)) completion.fail = std::move(*failure);
    }
    auto reply = caller_.send<bodies::CompletionsReply>("POST", "/v1/completions", body, once);
    if (reply && reply->results.size() != completions.size()) {
      reply = fail(Errc::schema_mismatch, "the server answered for another number of completions");
    }
    for (std::size_t i = 0; i < completions.size(); ++i) {
      if (!reply) {
        completions[i].done(Unexpected(reply.error()));
      } else if (reply->results[i].error) {
        completions[i].done(Unexpected(*reply->results[i].error));
      } else {
        completions[i].done({});
      }
    }
  }

  static inline const CallOptions once{.repeat = false};

  HttpCaller& caller_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<One> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

Url list_url(const ListRequest& request) {
  Url url("/v1/executions");
  url.add("namespace", request.name_space).add("lane", request.lane).add("kind", request.kind);
  url.add("state", joined(request.states));
  if (request.tag) url.add("tag", request.tag->first + "=" + request.tag->second);
  if (request.flow) url.add("flow", to_string(*request.flow));
  url.add("created_from", request.created_from).add("created_before", request.created_before);
  url.add("finished_from", request.finished_from).add("finished_before", request.finished_before);
  return url.page(request.cursor, request.limit);
}

class HttpGateway final : public Gateway {
 public:
  explicit HttpGateway(std::unique_ptr<HttpCaller> caller) : caller_(std::move(caller)), sender_(*caller_) {}

  // With an id of its own, a request that is sent twice finds what the first one made.
  Result<Created> create(CreateRequest request) override {
    const bool named = name_create(request);
    FF_TRY(created, caller_->send<Created>("POST", "/v1/executions", request));
    if (named) forget_repeat(created);
    return created;
  }
  std::vector<Result<Created>> create_many(std::vector<CreateRequest> requests) override;
  Result<FlowCreated> submit_flow(FlowRequest request) override {
    const bool named = name(request);
    FF_TRY(created, caller_->send<FlowCreated>("POST", "/v1/flows", request));
    if (named) created.duplicate = false;
    return created;
  }
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition) override {
    return caller_->send<FlowAdded>("POST", flow_path(id) + "/nodes", addition);
  }
  Result<FlowSealed> seal_flow(const FlowId& id, std::string reason) override {
    return caller_->send<FlowSealed>("POST", flow_path(id) + "/seal", bodies::ReasonBody{std::move(reason)});
  }
  ScheduleCalls& schedules() override { return *schedules_; }
  LimitCalls& limits() override { return *limits_; }
  DeadLetterCalls& dead_letters() override { return *dead_letters_; }
  Result<FlowResult> wait_flow(const FlowId& id, milliseconds timeout) override {
    return wait_at<FlowResult>(flow_path(id) + "/result", timeout, "the flow");
  }
  Result<FlowDescription> describe_flow(const FlowId& id) override {
    return caller_->get<FlowDescription>(Url(flow_path(id)));
  }
  Result<ListFlowsReply> list_flows(const ListFlowsRequest& request) override {
    return caller_->get<ListFlowsReply>(flows_url(request));
  }
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(flow_path(id) + "/nodes");
    return caller_->get<FlowNodesReply>(url.page(cursor, limit));
  }
  Result<FlowGraph> flow_graph(const FlowId& id) override { return read_graph(*caller_, id); }
  Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) override {
    const bodies::FlowCancelBody body{request.policy, request.run_cleanup, std::move(reason)};
    return caller_->send<FlowCancelReply>("POST", flow_path(id) + "/cancel", body);
  }
  Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) override {
    const bodies::FlowReplayBody body{std::move(request.node), request.descendants, std::move(reason)};
    return caller_->send<FlowReplayReply>("POST", flow_path(id) + "/replay", body);
  }
  Result<ExecutionDescription> describe(const ExecutionId& id) override {
    return caller_->get<ExecutionDescription>(Url(path_of(id)));
  }
  Result<ListReply> list(const ListRequest& request) override { return caller_->get<ListReply>(list_url(request)); }
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(path_of(id) + "/history");
    return caller_->get<EventPage>(url.page(cursor, limit));
  }
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit, milliseconds wait,
                           std::stop_token stop) override;
  Result<ExecutionResult> wait(const ExecutionId& id, milliseconds timeout) override {
    return wait_at<ExecutionResult>(path_of(id) + "/result", timeout, "the execution");
  }
  Result<CancelReply> cancel(const ExecutionId& id, std::string reason) override {
    return caller_->send<CancelReply>("POST", path_of(id) + "/cancel", bodies::ReasonBody{std::move(reason)});
  }
  Result<ReplayReply> replay(const ExecutionId& id, std::string reason,
                             const std::optional<std::string>& from_step) override {
    // A repeat would start another life.
    return caller_->send<ReplayReply>("POST", path_of(id) + "/replay", bodies::ReplayBody{std::move(reason), from_step},
                                      {.repeat = false});
  }
  Result<void> change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) override {
    return caller_->send_only("PUT", path_of(id) + "/priority", bodies::PriorityBody{priority, std::move(reason)});
  }
  // With a key of its own, a signal that is sent twice arrives once.
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) override {
    const bool marked = mark(request);
    FF_TRY(reply, caller_->send<SignalReply>("POST", path_of(id) + "/signals", bodies::SignalBody{std::move(request)}));
    if (marked) reply.duplicate = false;
    return reply;
  }
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) override {
    const bool marked = mark(request);
    FF_TRY(reply,
           caller_->send<SignalReply>("POST", "/v1/signals", bodies::TokenSignalBody{std::move(request), token}));
    if (marked) reply.duplicate = false;
    return reply;
  }
  // Not repeated, like the next ones: the answer to a repeat would be that of another call.
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request) override {
    const std::string path = path_of(id) + "/approvals/" + in_path(request.waitpoint) + "/decide";
    const bodies::DecideBody body{request.decision, std::move(request.comment), std::move(request.actor)};
    return caller_->send<SignalReply>("POST", path, body, {.repeat = false});
  }
  Result<ExecutionWaits> describe_waits(const ExecutionId& id) override {
    return caller_->get<ExecutionWaits>(Url(path_of(id) + "/waits"));
  }
  Result<ListWaitsReply> list_waits(const ListWaitsRequest& request) override {
    Url url("/v1/waits");
    url.add("namespace", request.name_space);
    if (request.approvals) url.add("approvals", std::string("true"));
    return caller_->get<ListWaitsReply>(url.page(request.cursor, request.limit));
  }
  Result<void> resume(const ExecutionId& id, std::string reason) override {
    return caller_->send_only("POST", path_of(id) + "/resume", bodies::ReasonBody{std::move(reason)},
                              {.repeat = false});
  }
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) override {
    return caller_->send_only("POST", path_of(id) + "/waitpoints/" + in_path(waitpoint) + "/close",
                              bodies::ReasonBody{std::move(reason)}, {.repeat = false});
  }
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason) override {
    const std::string path = path_of(id) + "/waitpoints/" + in_path(request.waitpoint) + "/reissue";
    const bodies::ReissueBody body{std::move(request.source), request.token_ttl_ms, request.revoke_earlier,
                                   std::move(reason)};
    return caller_->send<WaitpointToken>("POST", path, body, {.repeat = false});
  }

  Result<RegisterWorkerReply> register_worker(const WorkerRegistration& registration) override {
    return caller_->send<RegisterWorkerReply>("POST", "/v1/workers", registration);
  }
  // Not repeated here: the worker sends the next one with what it holds by then.
  Result<HeartbeatReply> heartbeat(const HeartbeatRequest& request) override {
    FF_TRY(answer, caller_->send<bodies::HeartbeatAnswer>("POST", "/v1/workers/heartbeat", request, {.repeat = false}));
    HeartbeatReply reply;
    reply.outcome = answer.outcome;
    reply.next_expiry_at = answer.next_expiry_at;
    reply.drain = answer.drain;
    reply.revoked_leases = std::move(answer.revoked_leases);
    for (auto& item : answer.leases) {
      if (item.error) reply.leases.emplace_back(Unexpected(std::move(*item.error)));
      if (!item.error) reply.leases.emplace_back(item.value.value_or(RenewVerdict{}));
    }
    return reply;
  }
  Result<std::vector<ClaimedExecution>> claim(const ClaimRequest& request, std::stop_token stop) override {
    FF_TRY(reply, caller_->send<bodies::ClaimReply>("POST", "/v1/claims", request,
                                                    {milliseconds(request.wait_ms), false, std::move(stop)}));
    return std::move(reply.executions);
  }
  Result<SpendReply> spend(const Handle& handle, const SpendRequest& request) override {
    bodies::SpendBody body{request, handle};
    return caller_->send<SpendReply>("POST", "/v1/leases/spend", body, {.repeat = false});
  }
  Result<void> progress(const Handle& handle, ProgressReport report) override {
    return caller_->send_only("POST", "/v1/leases/progress",
                              bodies::ProgressBody{handle, report.percent, std::move(report.message)});
  }
  Result<void> change_tags(const Handle& handle, TagChanges changes) override {
    return caller_->send_only("POST", "/v1/leases/tags",
                              bodies::TagsHeldBody{handle, std::move(changes.set), std::move(changes.remove)});
  }
  // Not repeated here: the task goes on trying while the lease is its own.
  Result<StepReply> record_step(const Handle& handle, const StepRequest& request) override {
    bodies::StepBody body{request, handle};
    return caller_->send<StepReply>("POST", "/v1/leases/steps", body, {.repeat = false});
  }
  Result<ListStepsReply> list_steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override {
    Url url(path_of(id) + "/steps");
    FF_TRY(page, caller_->get<bodies::StepsReply>(url.page(std::to_string(from_position), limit)));
    ListStepsReply reply{std::move(page.steps), 0};
    if (!page.next_cursor.empty()) {
      reply.next_position = static_cast<std::uint32_t>(std::strtoul(page.next_cursor.c_str(), nullptr, 10));
    }
    return reply;
  }
  Result<FlowAdded> extend_flow(const Handle& handle, const FlowAddition& addition) override {
    bodies::ExtendBody body{addition, handle};
    return caller_->send<FlowAdded>("POST", "/v1/leases/extend", body, {.repeat = false});
  }
  Result<FlowInputsReply> list_flow_inputs(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) override {
    Url url(path_of(id) + "/inputs");
    url.add("from", std::to_string(from)).add("limit", std::to_string(limit));
    return caller_->get<FlowInputsReply>(url);
  }
  Result<SuspendReply> suspend(const Handle& handle, const SuspendRequest& request) override {
    return caller_->send<SuspendReply>("POST", "/v1/leases/suspend", bodies::SuspendBody{request, handle},
                                       {.repeat = false});
  }
  Result<WaitpointToken> open_waitpoint(const Handle& handle, const WaitpointRequest& request) override {
    return caller_->send<WaitpointToken>("POST", "/v1/leases/waitpoints", bodies::OpenWaitpointBody{request, handle},
                                         {.repeat = false});
  }
  Result<void> store_checkpoint(const Handle& handle, Bytes bytes) override {
    return caller_->send_only("POST", "/v1/leases/checkpoint",
                              bodies::CheckpointBody{handle, std::move(bytes.bytes), std::move(bytes.encoding)});
  }
  void settle(const Handle& handle, Settlement settlement, std::function<void(Result<void>)> done) override {
    if (std::holds_alternative<Suspended>(settlement)) return done({});
    sender_.add(handle, std::move(settlement), std::move(done));
  }

 private:
  // Asks for a result until there is one.
  template <class T>
  Result<T> wait_at(const std::string& path, milliseconds timeout, const std::string& what);
  // Gives the request an id unless it can be told from others already.
  template <class Request>
  static bool name(Request& request) {
    if (request.id || !request.idempotency_key.empty()) return false;
    request.id = random_uuid(system_entropy());
    return true;
  }
  // A create under a debounce key may change an execution with another id, so its id would not tell it from others.
  static bool name_create(CreateRequest& request) {
    if (!request.debounce) return name(request);
    if (request.id || !request.idempotency_key.empty()) return false;
    request.idempotency_key = to_string(random_uuid(system_entropy()));
    return true;
  }
  // Only this call has the name, so what looks like a repetition is one of its own.
  static void forget_repeat(Created& created) {
    const bool is_repeat = created.outcome == CreateOutcome::duplicate || created.outcome == CreateOutcome::created;
    if (!is_repeat) return;
    created.duplicate = false;
    created.outcome = CreateOutcome::created;
  }
  static bool mark(SignalRequest& request) {
    if (!request.idempotency_key.empty()) return false;
    request.idempotency_key = to_string(random_uuid(system_entropy()));
    return true;
  }

  std::unique_ptr<HttpCaller> caller_;
  SettlementSender sender_;
  std::unique_ptr<ScheduleCalls> schedules_ = schedule_calls(*caller_);
  std::unique_ptr<LimitCalls> limits_ = limit_calls(*caller_);
  std::unique_ptr<DeadLetterCalls> dead_letters_ = dead_letter_calls(*caller_);
};

std::vector<Result<Created>> HttpGateway::create_many(std::vector<CreateRequest> requests) {
  bodies::CreateManyBody body{std::move(requests)};
  std::vector<bool> named;
  for (CreateRequest& request : body.executions) named.push_back(name_create(request));
  auto reply = caller_->send<bodies::CreatedMany>("POST", "/v1/executions/batch", body);
  if (reply && reply->results.size() != named.size()) {
    reply = fail(Errc::schema_mismatch, "the server answered for another number of requests");
  }
  if (!reply) return std::vector<Result<Created>>(named.size(), Unexpected(reply.error()));
  std::vector<Result<Created>> out;
  for (std::size_t i = 0; i < named.size(); ++i) {
    auto& item = reply->results[i];
    if (item.error) {
      out.emplace_back(Unexpected(std::move(*item.error)));
      continue;
    }
    Created created = item.value.value_or(Created{});
    if (named[i]) forget_repeat(created);
    out.emplace_back(std::move(created));
  }
  return out;
}

// A server lets one wait for a minute at most; a longer wait is several calls.
template <class T>
Result<T> HttpGateway::wait_at(const std::string& path, milliseconds timeout, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    const milliseconds wait = std::clamp(left, milliseconds{0}, max_server_wait);
    Url url(path);
    url.add("wait_ms", std::to_string(wait.count()));
    FF_TRY(response, caller_->call("GET", url.text(), {}, {.extra_time = wait}));
    if (response.status != 202) return HttpCaller::read<T>(response);
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(Errc::timed_out, what + " has not ended within the time to wait");
    }
  }
}

Result<EventPage> HttpGateway::events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                      milliseconds wait, std::stop_token stop) {
  Url url("/v1/events");
  url.add("namespace", filter.name_space).add("lane", filter.lane);
  if (filter.execution_id) url.add("execution_id", to_string(*filter.execution_id));
  if (filter.flow_id) url.add("flow_id", to_string(*filter.flow_id));
  url.add("type", joined(filter.types));
  const milliseconds asked = std::min(wait, max_server_wait);
  url.add("wait_ms", std::to_string(asked.count()));
  return caller_->get<EventPage>(url.page(cursor, limit), {.extra_time = asked, .stop = std::move(stop)});
}

}  // namespace

Result<std::shared_ptr<Gateway>> make_http_gateway(const std::string& url, const ClientOptions& options) {
  ClientOptions chosen = options;
  if (chosen.api_key.empty()) {
    if (const char* key = std::getenv("FLOWFABRIC_API_KEY")) chosen.api_key = key;
  }
  FF_TRY(caller, HttpCaller::create(url, chosen));
  return std::make_shared<HttpGateway>(std::move(caller));
}

}  // namespace flowfabric::sdk
