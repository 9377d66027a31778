// Submits executions and looks at them: inside this process, or on a server. The string decides.
//
//   auto client = flowfabric::Client::open("sqlite:jobs.db");           // or memory:, postgres://..., http://host:7070
//   auto job = client->submit("send_mail", Mail{"ada@example.com"});
//   auto receipt = client->result<Receipt>(job->execution_id, 30s);
//
// Errors are values. Over HTTP a call whose connection breaks is sent again until `retry_for` is over; a repeated submit
// never creates a second execution. Calls block and may be made from any thread; copies share one connection pool or
// engine, which closes with the last copy.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <flowfabric/convert.hpp>
#include <flowfabric/dead_letters.hpp>
#include <flowfabric/flows.hpp>
#include <flowfabric/limits.hpp>
#include <flowfabric/operations.hpp>
#include <flowfabric/schedules.hpp>

namespace flowfabric {

class Engine;
namespace sdk {
class Gateway;
}

struct ClientOptions {
  std::string api_key{};               // servers only; empty: the environment variable FLOWFABRIC_API_KEY, if it is set
  std::string ca_file{};               // servers only: certificates to trust, PEM; empty: those of the system
  bool verify_tls = true;              // servers only
  std::uint32_t max_connections = 16;  // servers only: kept open for calls made at the same time
  std::chrono::milliseconds call_timeout{30'000};  // servers only: for one try; waiting calls add their wait
  std::chrono::milliseconds retry_for{30'000};     // servers only: how long a call is repeated while nobody answers
  bool migrate = false;                            // embedded PostgreSQL only: bring the schema up to date
};

// What a submitted execution may say besides its kind and input. The rest is in CreateRequest.
struct SubmitOptions {
  std::string lane = "default";
  std::string name_space = "default";
  std::int32_t priority = 0;
  Tags tags{};
  std::string idempotency_key{};
  std::vector<std::string> required_capabilities{};
  Policy policy{};
  TimestampMs delay_until = 0;
  TimestampMs deadline_at = 0;
  std::string traceparent{};
  // At most one of these (docs/submitting.md).
  std::optional<UniqueKey> unique{};
  std::optional<Debounce> debounce{};
  std::optional<Throttle> throttle{};
  Amounts reserve{};  // of its budgets, instead of their defaults
};

// What a signal may say besides its waitpoint and payload.
struct SignalOptions {
  std::string name{};             // empty: that of the waitpoint
  std::string source{};           // the sender; with an API key the server fills in the name of the key
  std::string idempotency_key{};  // a repetition with the same key at the same waitpoint does nothing
};

class Client {
 public:
  // "memory:", "sqlite:PATH", "postgres://...", "http://HOST:PORT", "https://HOST". A server is connected to by the first
  // call.
  static Result<Client> open(const std::string& url, const ClientOptions& options = {});
  // Uses an engine that the program has opened itself.
  static Client over(std::shared_ptr<Engine> engine);

  // ---- Submitting
  Result<Created> submit(CreateRequest request);
  template <class T>
  Result<Created> submit(std::string kind, const T& input, SubmitOptions options = {}) {
    return submit(make_request(std::move(kind), encode_value(input), std::move(options)));
  }
  // One answer a request, in order; each succeeds or fails by itself.
  std::vector<Result<Created>> submit_many(std::vector<CreateRequest> requests);
  static CreateRequest make_request(std::string kind, Bytes input, SubmitOptions options = {});

  // ---- Flows
  Result<FlowCreated> submit_flow(FlowRequest request);
  // A flow to which nodes can be added until it is sealed.
  Result<FlowCreated> open_flow(FlowRequest request);
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition);
  Result<FlowSealed> seal_flow(const FlowId& id, std::string reason = {});
  // However it ends; `timed_out` when it has not within `timeout`.
  Result<FlowResult> wait_flow(const FlowId& id, std::chrono::milliseconds timeout);
  // What one node of a flow that completes has returned; `already_terminal` when the flow or the node ends otherwise.
  template <class T>
  Result<T> flow_output(const FlowId& id, const std::string& node, std::chrono::milliseconds timeout) {
    auto bytes = output_of_flow(id, node, timeout);
    if (!bytes) return Unexpected(std::move(bytes).error());
    return read_result<T>(*bytes);
  }
  Result<FlowDescription> get_flow(const FlowId& id);
  Result<ListFlowsReply> list_flows(const ListFlowsRequest& request = {});
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  // The whole graph; to_mermaid and to_graphviz draw it.
  Result<FlowGraph> flow_graph(const FlowId& id);
  Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request = {}, std::string reason = {});
  Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request = {}, std::string reason = {});

  // ---- Schedules
  // Repeating the call with the same spec changes nothing.
  Result<ScheduleSaved> create_schedule(ScheduleRequest request);
  Result<ScheduleSaved> update_schedule(const std::string& name_space, const std::string& name, ScheduleSpec spec,
                                        std::optional<std::uint64_t> expected_revision = {}, std::string reason = {});
  Result<ScheduleSaved> pause_schedule(const std::string& name_space, const std::string& name, std::string reason = {});
  Result<ScheduleSaved> resume_schedule(const std::string& name_space, const std::string& name,
                                        std::string reason = {});
  Result<ScheduleSaved> delete_schedule(const std::string& name_space, const std::string& name,
                                        std::string reason = {});
  Result<TriggerReply> trigger_schedule(const std::string& name_space, const std::string& name,
                                        const TriggerRequest& request = {}, std::string reason = {});
  Result<BackfillReply> backfill_schedule(const std::string& name_space, const std::string& name,
                                          const BackfillRequest& request, std::string reason = {});
  Result<ScheduleDescription> get_schedule(const std::string& name_space, const std::string& name);
  Result<ListSchedulesReply> list_schedules(const ListSchedulesRequest& request = {});
  // Dead letters. docs/dead-letters.md
  Result<ListDeadLettersReply> list_dead_letters(const ListDeadLettersRequest& request = {});
  Result<DeadLetterDetails> get_dead_letters(const GetDeadLettersRequest& request);
  Result<RedriveInfo> create_redrive(RedriveRequest request, std::string reason = {});
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, std::string reason = {});
  Result<RedriveInfo> get_redrive(const std::string& redrive_id);
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request = {});
  Result<NextRuns> next_runs(const std::string& name_space, const std::string& name,
                             const NextRunsRequest& request = {});

  // ---- Limits: how many executions run at the same time, and how many start in a period
  // Makes the limit, or changes its concurrency, rate or budget. Repeating the call changes nothing.
  Result<LimitSaved> set_limit(LimitRequest request, std::string reason = {});
  // What it holds back may start.
  Result<LimitSaved> remove_limit(const LimitName& limit, std::string reason = {});
  Result<std::vector<LimitInfo>> list_limits(const ListLimitsRequest& request = {});
  // What is in use, by key.
  Result<ListLimitUseReply> list_limit_use(const ListLimitUseRequest& request);
  // What would happen to an execution that is created now.
  Result<LimitCheck> check_limits(const LimitCheckRequest& request);
  // Changes what counts as spent of a budget, or lets an account go on that is paused.
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, std::string reason = {});

  // ---- Looking
  Result<ExecutionDescription> get(const ExecutionId& id);
  Result<ListReply> list(const ListRequest& request);
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  Result<ListStepsReply> steps(const ExecutionId& id, std::uint32_t from_position = 0, std::uint32_t limit = 100);
  // `cursor`: empty for "from now on", "earliest", or the cursor of an earlier page.
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                           std::chrono::milliseconds wait);

  // ---- Waiting
  // However it ends; `timed_out` when it has not within `timeout`.
  Result<ExecutionResult> wait(const ExecutionId& id, std::chrono::milliseconds timeout);
  // The result of an execution that completes; `already_terminal` with the failure when it ends otherwise.
  template <class T>
  Result<T> result(const ExecutionId& id, std::chrono::milliseconds timeout) {
    auto bytes = completed(id, timeout);
    if (!bytes) return Unexpected(std::move(bytes).error());
    return read_result<T>(*bytes);
  }

  // ---- Acting
  Result<CancelReply> cancel(const ExecutionId& id, std::string reason = {});
  // Runs an ended execution again. The new life finds the recorded steps: all, or with `from_step` those before it.
  Result<ReplayReply> replay(const ExecutionId& id, std::string reason = {},
                             const std::optional<std::string>& from_step = {});
  Result<void> change_priority(const ExecutionId& id, std::int32_t priority, std::string reason = {});

  // ---- Signals and approvals (docs/signals.md)
  // To the waitpoint of that name; kept if it is not waited for yet.
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request);
  template <class T>
  Result<SignalReply> signal(const ExecutionId& id, std::string waitpoint, const T& value, SignalOptions options = {}) {
    return send_signal(id, make_signal(std::move(waitpoint), encode_value(value), std::move(options)));
  }
  // To the one waitpoint that the token is for.
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request = {});
  static SignalRequest make_signal(std::string waitpoint, Bytes payload, SignalOptions options = {});
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request);
  // What an execution waits for, its open waitpoints, and the signals that they hold.
  Result<ExecutionWaits> describe_waits(const ExecutionId& id);
  // Those that have waited longest first.
  Result<ListWaitsReply> list_waits(const ListWaitsRequest& request = {});
  // Ends a wait by force.
  Result<void> resume(const ExecutionId& id, std::string reason = {});
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason = {});
  // A new token of an open waitpoint.
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason = {});

  // The engine behind an embedded client; null for a server.
  Engine* engine() const;

 private:
  friend class Worker;
  explicit Client(std::shared_ptr<sdk::Gateway> gateway) : gateway_(std::move(gateway)) {}
  Result<Bytes> completed(const ExecutionId& id, std::chrono::milliseconds timeout);
  Result<ExecutionId> node_of_flow(const FlowId& id, const std::string& node);
  Result<Bytes> output_of_flow(const FlowId& id, const std::string& node, std::chrono::milliseconds timeout);
  template <class T>
  static Result<T> read_result(const Bytes& bytes) {
    if constexpr (std::is_same_v<T, Bytes>) return bytes;
    try {
      return Convert<T>::from_bytes(bytes.bytes);
    } catch (const std::exception& error) {
      return fail(Errc::invalid_argument,
                  "result: cannot be read as the type that was asked for: " + std::string(error.what()), "result");
    }
  }

  std::shared_ptr<sdk::Gateway> gateway_;
};

}  // namespace flowfabric
