// The engine, embedded in your process.
//
//   auto engine = flowfabric::Engine::open("sqlite:jobs.db");
//
// Every call blocks until it is durable in the store (or refused) and may be made from any thread. Calls from many
// threads share commits, so throughput grows with the number of callers. Times are milliseconds by the store's clock.
//
// Destroying the engine stops it cleanly: queued commands are finished, waiting calls return, nothing is left half
// done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/dead_letters.hpp>
#include <flowfabric/flows.hpp>
#include <flowfabric/hooks.hpp>
#include <flowfabric/limits.hpp>
#include <flowfabric/operations.hpp>
#include <flowfabric/result.hpp>
#include <flowfabric/schedules.hpp>
#include <flowfabric/signals.hpp>
#include <flowfabric/types.hpp>

namespace flowfabric {

// What happens to the leases of a registered worker that is marked dead or whose TTL lapses.
enum class OnWorkerDeath : std::uint8_t { release_now, wait_for_lease };

struct EngineOptions {
  std::size_t max_payload_bytes = 1024 * 1024;
  std::size_t max_result_bytes = 1024 * 1024;
  std::uint32_t writers = 0;                // connections that write; 0: the store's default (SQLite 1, PostgreSQL 2)
  std::size_t max_queued_commands = 65536;  // at this limit, calls fail with `overloaded`
  std::int64_t default_retention_ms = 7LL * 24 * 3600 * 1000;
  OnWorkerDeath on_worker_death = OnWorkerDeath::release_now;
  // Called once, from a thread of the engine, when nothing can be written until the store is opened again: a flush to disk
  // failed, the database file was removed or replaced, or it is damaged. Must be quick. Reads may still work.
  std::function<void(const Error&)> on_failure{};
  std::uint32_t read_timeout_ms =
      30000;             // a listing or other read that takes longer is stopped as `timed_out`; 0: never
  bool migrate = false;  // let open() migrate the schema of a PostgreSQL database; SQLite files are always migrated
};

// Reads the event log from a cursor onwards. Must be used by one thread.
class Subscription {
 public:
  // The next events, waiting up to `wait_ms` for the first; empty if there are none.
  Result<std::vector<Event>> next(std::uint32_t wait_ms, std::uint32_t limit = 100);
  // The position of the next read. Store it to continue after a restart.
  const std::string& cursor() const { return cursor_; }

 private:
  friend class Engine;
  Subscription(class Engine& engine, EventFilter filter, std::string cursor);

  class Engine* engine_;
  EventFilter filter_;
  std::string cursor_;
};

class Engine {
 public:
  // "sqlite:PATH", "postgres://...", "memory:".
  static Result<std::unique_ptr<Engine>> open(const std::string& url, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- Submitting
  Result<Created> create(CreateRequest request);
  // One result per request, in order; each request succeeds or fails independently.
  std::vector<Result<Created>> create_many(std::vector<CreateRequest> requests);

  // ---- Flows. docs/flows.md has the rules.
  // Validates the graph as a whole and creates the flow with all its nodes, or nothing.
  Result<FlowCreated> submit_flow(FlowRequest request);
  void submit_flow_async(FlowRequest request, std::function<void(Result<FlowCreated>)> done);
  // The same with `open` set: nodes can be added until the flow is sealed. They may already run.
  Result<FlowCreated> open_flow(FlowRequest request);
  // Adds to an open flow, all or nothing. What exists with equal content is left as it is, so the call can be repeated.
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition, Operator by = {});
  void add_to_flow_async(const FlowId& id, FlowAddition addition, Operator by,
                         std::function<void(Result<FlowAdded>)> done);
  // Nothing more is added from outside: the flow ends when its nodes have.
  Result<FlowSealed> seal_flow(const FlowId& id, Operator by = {});
  // Returns at once; the members are ended in the background. `wait_flow` waits for the last of them.
  Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request = {}, Operator by = {});
  // Runs nodes of an ended flow again; the groups of the nodes behind them are armed anew. Returns at once.
  Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request = {}, Operator by = {});
  // Waits until the flow has ended; `timed_out` if it has not ended within `wait_ms`.
  Result<FlowResult> wait_flow(const FlowId& id, std::uint32_t wait_ms);
  void wait_flow_async(const FlowId& id, std::uint32_t wait_ms, std::function<void(Result<FlowResult>)> done);
  Result<FlowDescription> describe_flow(const FlowId& id);
  // What its nodes without outgoing edges have returned so far.
  Result<FlowResult> get_flow_result(const FlowId& id);
  Result<ListFlowsReply> list_flows(const ListFlowsRequest& request = {});
  // By ordinal; `limit` counts nodes, and for edges the upstream nodes.
  Result<FlowNodesReply> list_flow_nodes(const FlowId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  Result<FlowEdgesReply> list_flow_edges(const FlowId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  // All nodes and edges at once.
  Result<FlowGraph> read_flow_graph(const FlowId& id);
  Result<EventPage> flow_history(const FlowId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  // The inputs of a node, from a number on; a claim brings the first ones along.
  Result<FlowInputsReply> list_flow_inputs(const ExecutionId& id, std::uint32_t from = 0, std::uint32_t limit = 100);
  // The id of the flow to which the execution belongs, if any.
  Result<std::optional<FlowId>> flow_of_execution(const ExecutionId& id);
  // Reads one record.
  Result<std::string> namespace_of_flow(const FlowId& id);

  // ---- Schedules
  // Repeating the call with the same spec changes nothing; another spec under an existing name is a conflict.
  Result<ScheduleSaved> create_schedule(ScheduleRequest request);
  // Replaces the spec. With `expected_revision` only if it is the present one.
  Result<ScheduleSaved> update_schedule(const std::string& name_space, const std::string& name, ScheduleSpec spec,
                                        std::optional<std::uint64_t> expected_revision = {}, Operator by = {});
  // While it is paused no time comes. What would have come can be backfilled.
  Result<ScheduleSaved> pause_schedule(const std::string& name_space, const std::string& name, Operator by = {});
  Result<ScheduleSaved> resume_schedule(const std::string& name_space, const std::string& name, Operator by = {});
  // Executions that it has created go on.
  Result<ScheduleSaved> delete_schedule(const std::string& name_space, const std::string& name, Operator by = {});
  Result<TriggerReply> trigger_schedule(const std::string& name_space, const std::string& name,
                                        TriggerRequest request = {}, Operator by = {});
  Result<BackfillReply> backfill_schedule(const std::string& name_space, const std::string& name,
                                          const BackfillRequest& request, Operator by = {});
  Result<ScheduleDescription> describe_schedule(const std::string& name_space, const std::string& name);
  Result<ListSchedulesReply> list_schedules(const ListSchedulesRequest& request = {});
  Result<NextRuns> next_runs(const std::string& name_space, const std::string& name,
                             const NextRunsRequest& request = {});
  // The times of a schedule that need not exist; `execution` and what happens to firings do not matter.
  Result<NextRuns> preview_runs(const ScheduleSpec& spec, const NextRunsRequest& request = {});
  // Its events, also for a day after it was deleted.
  Result<EventPage> schedule_history(const std::string& name_space, const std::string& name,
                                     const std::string& cursor = {}, std::uint32_t limit = 100);

  // ---- Limits: how many executions run at the same time, and how many start in a period
  // Makes the limit, or changes its concurrency, rate or budget. Lowering it lets what runs finish.
  Result<LimitSaved> set_limit(LimitRequest request, Operator by = {});
  // What it holds back may start.
  Result<LimitSaved> remove_limit(const LimitName& limit, Operator by = {});
  Result<std::vector<LimitInfo>> list_limits(const ListLimitsRequest& request = {});
  // What is in use, by key.
  Result<ListLimitUseReply> list_limit_use(const ListLimitUseRequest& request);
  // What would happen to an execution that is created now.
  Result<LimitCheck> check_limits(const LimitCheckRequest& request);
  // Changes what counts as spent of a budget, or lets an account go on that is paused.
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, Operator by = {});

  // ---- Working
  // Up to `max_executions`, best first; empty when there is nothing within `wait_ms`. Fewer when their payloads would be
  // more than 4 MiB together, but never none for that reason.
  Result<std::vector<ClaimedExecution>> claim(ClaimRequest request);
  Result<RenewVerdict> renew(const Handle& handle);
  std::vector<Result<RenewVerdict>> renew_many(const std::vector<Handle>& handles);
  Result<void> report_progress(const Handle& handle, ProgressReport report);
  // Counts what the execution has spent in every budget that it is under, or in none: `budget_exceeded` if a hard limit does
  // not allow it. docs/budgets.md says what the budget does then.
  Result<SpendReply> spend(const Handle& handle, SpendRequest request);
  Result<void> complete(const Handle& handle, CompleteRequest request = {});
  Result<FailReply> fail(const Handle& handle, FailRequest request);
  // Adds nodes and edges to the flow of the execution, all or nothing. What exists with equal content is left as it is.
  Result<FlowAdded> extend_flow(const Handle& handle, FlowAddition addition);
  void extend_flow_async(const Handle& handle, FlowAddition addition, std::function<void(Result<FlowAdded>)> done);
  // Waits for nodes that the execution has added with join edges: releases the lease, and the same attempt continues when
  // all of them have ended. If they have, the lease is kept.
  Result<FlowJoinReply> join_nodes(const Handle& handle, std::vector<std::string> names);
  // Releases the lease until signals have arrived; the same attempt continues then. If signals that are there already are
  // enough, the lease is kept and the reply has them. docs/signals.md.
  Result<SuspendReply> suspend(const Handle& handle, SuspendRequest request);
  // Opens a waitpoint ahead of a wait, so that its token can be handed out first. The open one of that name if there is one.
  Result<WaitpointToken> open_waitpoint(const Handle& handle, WaitpointRequest request);
  // Releases the lease; the same attempt continues after `delay_until`.
  Result<DelayReply> delay(const Handle& handle, TimestampMs delay_until);
  // The same, `delay_ms` from now by the store's clock.
  Result<DelayReply> delay_for(const Handle& handle, std::int64_t delay_ms);
  // Gives the lease back now. The next claim goes on with the same attempt; no retry and no reclaim is counted.
  Result<void> release(const Handle& handle);
  Result<CancelReply> cancel_held(const Handle& handle, std::string reason);
  // Records the outcome of one durable step; each position once.
  Result<StepReply> record_step(const Handle& handle, StepRequest request);
  // Replaces the checkpoint of the execution, which the next claim brings along.
  Result<void> store_checkpoint(const Handle& handle, std::string bytes, std::string encoding = {});
  // Changes the tags of the execution and returns all of them.
  Result<Tags> change_tags_held(const Handle& handle, TagChanges changes);
  // The namespace of the execution that each handle is for; absent where the handle is not valid. Current handles say it
  // themselves; only those of older versions cause a read, and are absent when their execution is gone.
  Result<std::vector<std::optional<std::string>>> namespaces_of(const std::vector<Handle>& handles);

  // ---- The same without blocking, for callers that have no thread to spare: servers, event loops. `done` is called once,
  // on a thread of the engine (or on the caller's, when the request is refused at once). It must be quick and must not
  // call anything of the engine that blocks; starting another call is fine.
  template <class T>
  using Done = std::function<void(Result<T>)>;
  void create_async(CreateRequest request, Done<Created> done);
  // Names a claim that has begun, for withdraw_claim.
  using ClaimTicket = std::weak_ptr<void>;
  ClaimTicket claim_async(ClaimRequest request, Done<std::vector<ClaimedExecution>> done);
  // For a caller that has gone: a claim that waits is answered with nothing, and gets no work from here on. What it was
  // given before that is still answered; `release` gives it back.
  void withdraw_claim(const ClaimTicket& claim);
  void renew_async(const Handle& handle, Done<RenewVerdict> done);
  void complete_async(const Handle& handle, CompleteRequest request, Done<void> done);
  void fail_async(const Handle& handle, FailRequest request, Done<FailReply> done);
  void release_async(const Handle& handle, Done<void> done);
  void record_step_async(const Handle& handle, StepRequest request, Done<StepReply> done);
  void cancel_async(const ExecutionId& id, Operator by, Done<CancelReply> done);
  void replay_async(const ExecutionId& id, Operator by, Done<ReplayReply> done);
  void change_priority_async(const ExecutionId& id, std::int32_t priority, Operator by, Done<void> done);
  void send_signal_async(const ExecutionId& id, SignalRequest request, Done<SignalReply> done);
  void send_signal_by_token_async(const std::string& token, SignalRequest request, Done<SignalReply> done);
  void heartbeat_async(HeartbeatRequest request, Done<HeartbeatReply> done);
  // Tens of thousands of these may wait at once: each costs some memory until it is answered.
  void wait_async(const ExecutionId& id, std::uint32_t wait_ms, Done<ExecutionResult> done);
  void read_events_async(EventFilter filter, std::string cursor, std::uint32_t limit, std::uint32_t wait_ms,
                         Done<EventPage> done);

  // ---- The fleet. docs/fleet.md tells how these belong together.
  // Refused if the instance id is live under another worker id: "instance_id reassigned".
  Result<RegisterWorkerReply> register_worker(WorkerRegistration registration);
  // Extends the registration by its stored TTL and renews the given leases. Heartbeats wait a short time for each other
  // to share a commit, so the reply may take a tenth of a second.
  Result<HeartbeatReply> heartbeat_worker(HeartbeatRequest request);
  Result<MarkWorkerDeadOutcome> mark_worker_dead(const std::string& name_space, const std::string& worker_instance_id,
                                                 Operator by = {});
  // With its next heartbeat the worker is told to finish its work and claim no more.
  Result<DrainWorkerOutcome> drain_worker(const std::string& name_space, const std::string& worker_instance_id,
                                          Operator by = {});
  Result<ListWorkersReply> list_workers(const ListWorkersRequest& request = {});

  // The leases that one worker holds, without reading those of others.
  Result<ListWorkerLeasesReply> list_worker_leases(const ListWorkerLeasesRequest& request);
  Result<ListExpiredLeasesReply> list_expired_leases(const ListExpiredLeasesRequest& request = {});
  // Reserves one execution for one worker until the grant is redeemed or expires.
  Result<Grant> issue_claim_grant(GrantRequest request);
  // The same for the first execution in the queue that the worker could claim; nothing if there is none.
  Result<std::optional<Grant>> claim_for_worker(ClaimForWorkerRequest request);
  Result<ClaimedExecution> claim_from_grant(RedeemRequest request);
  Result<IssueReclaimGrantOutcome> issue_reclaim_grant(GrantRequest request);
  Result<ReclaimExecutionOutcome> reclaim_execution(RedeemRequest request);

  // ---- Operating
  Result<CancelReply> cancel(const ExecutionId& id, Operator by = {});
  Result<RevokeReply> revoke_lease(const ExecutionId& id, Operator by = {}, std::optional<Uuid> expected_lease_id = {});
  // The new life finds the recorded steps again: all, or with `from_step` those before the step of that name.
  Result<ReplayReply> replay_execution(const ExecutionId& id, Operator by = {},
                                       const std::optional<std::string>& from_step = {});
  Result<void> change_priority(const ExecutionId& id, std::int32_t priority, Operator by = {});
  // Returns the tags afterwards.
  Result<Tags> change_tags(const ExecutionId& id, TagChanges changes, Operator by = {});
  Result<LaneInfo> set_lane_state(const std::string& lane, LaneState state, Operator by = {});
  Result<NamespaceInfo> set_namespace(NamespaceInfo info, Operator by = {});

  // ---- Dead letters: failed executions in groups of equal failures. docs/dead-letters.md
  Result<ListDeadLettersReply> list_dead_letters(const ListDeadLettersRequest& request = {});
  // One group with a page of its executions; `not_found` if it has none.
  Result<DeadLetterDetails> get_dead_letters(const GetDeadLettersRequest& request);
  // Replays what is selected, as fast as its rate lets it; whichever engine of the store has time goes on with it.
  Result<RedriveInfo> create_redrive(RedriveRequest request, Operator by = {});
  // One that has ended cannot be changed: `conflict`.
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, Operator by = {});
  // Also for a week after its end.
  Result<RedriveInfo> get_redrive(const std::string& redrive_id);
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request = {});

  // ---- Waits, signals and approvals. docs/signals.md tells how these belong together.
  // Delivers a signal to the open waitpoint of that name, or keeps it for the next wait there.
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request);
  // Delivers a signal to the one waitpoint that the token is for. `invalid_token` for every token that is not accepted.
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request);
  // Decides as a person about an open approval. Each person decides once.
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request);
  // Ends a wait by force.
  Result<void> resume(const ExecutionId& id, Operator by = {});
  // Refused if the wait could never end then.
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, Operator by = {});
  // A new token of an open waitpoint, possibly for one sender.
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, Operator by = {});
  Result<ExecutionWaits> describe_waits(const ExecutionId& id);
  Result<ListWaitsReply> list_waits(const ListWaitsRequest& request = {});
  Result<TokenInfo> describe_token(const std::string& token);

  // ---- Webhooks. docs/hooks.md
  Result<NewHook> create_hook(HookRequest request, Operator by = {});
  Result<HookInfo> remove_hook(const std::string& name, Operator by = {});
  // A new secret; the one before is accepted for another `grace_ms`.
  Result<NewHook> rotate_hook(const std::string& name, std::int64_t grace_ms, std::string secret = {},
                              Operator by = {});
  Result<std::vector<HookInfo>> list_hooks();
  // Checks the signature and does what the hook says. `unauthenticated` whatever is wrong with it.
  Result<HookReply> receive_hook(const HookCall& call);

  // ---- Reading
  Result<ExecutionDescription> describe_execution(const ExecutionId& id);
  Result<PublicState> read_execution_state(const ExecutionId& id);
  // Reads one record.
  Result<std::string> namespace_of(const ExecutionId& id);
  // The result since the last replay, or the result of one attempt, also from before a replay.
  Result<ExecutionResult> get_execution_result(const ExecutionId& id, std::optional<std::uint32_t> attempt_index = {});
  Result<ExecutionContext> read_execution_context(const ExecutionId& id);
  Result<std::vector<Attempt>> list_attempts(const ExecutionId& id, std::uint32_t from = 0, std::uint32_t limit = 100);
  // The recorded steps that count, by position.
  Result<ListStepsReply> list_steps(const ExecutionId& id, std::uint32_t from_position = 0, std::uint32_t limit = 100);
  Result<Tags> get_tags(const ExecutionId& id);
  Result<EventPage> execution_history(const ExecutionId& id, const std::string& cursor = {}, std::uint32_t limit = 100);
  Result<ListReply> list_executions(const ListRequest& request);
  Result<std::vector<LaneCounts>> count_executions(const std::optional<std::string>& name_space = {});
  Result<std::vector<LaneInfo>> list_lanes();
  Result<NamespaceInfo> get_namespace(const std::string& name_space);
  // Those that have settings, by name.
  Result<std::vector<NamespaceInfo>> list_namespaces();
  // Waits until the execution has ended; `timed_out` if it has not ended within `wait_ms`.
  Result<ExecutionResult> wait(const ExecutionId& id, std::uint32_t wait_ms);
  // The store's clock.
  Result<TimestampMs> now();
  // An error when the last write failed and none has succeeded since, or when the store does not answer. While writes fail
  // the engine tries a harmless one every second.
  Result<void> ready();

  // ---- Events
  // `cursor`: empty for new events only, "earliest" for all stored events, or an earlier cursor. A page is empty if
  // there was no event within `wait_ms` or the engine stops; its cursor is valid in any case.
  Result<Subscription> subscribe(EventFilter filter = {}, const std::string& cursor = {});
  Result<EventPage> read_events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                std::uint32_t wait_ms);

  // ---- Care
  // Keys of the HTTP API. A name that is already used is a conflict.
  Result<NewApiKey> create_api_key(ApiKeyRequest request, Operator by = {});
  // By key id or by name; `not_found` if there is none. Other engines on the store notice within a few seconds.
  Result<ApiKeyInfo> revoke_api_key(const std::string& key, Operator by = {});
  Result<std::vector<ApiKeyInfo>> list_api_keys();
  // The key of this secret; `unauthenticated` if there is none or it has expired. Reads the store at most once per
  // second.
  Result<ApiKeyInfo> authenticate(const std::string& secret);
  // A signed text for the cookie of a browser, which then calls without the secret. It ends after `lifetime_ms`, and with
  // the API key that it belongs to, on every engine of the store.
  struct ApiSession {
    ApiKeyInfo key;
    std::string token;
  };
  Result<ApiSession> begin_session(const std::string& secret, std::int64_t lifetime_ms);
  // Whose session this is; `unauthenticated` when it is not one of this store, has ended, or its key has.
  Result<ApiKeyInfo> authenticate_session(const std::string& token);
  // Creates a new signing key; signatures of older keys are accepted for another `grace_ms`.
  Result<KeyRotation> rotate_keys(std::int64_t grace_ms, Operator by = {});
  Result<std::vector<SigningKeyInfo>> list_keys();
  // Returns how many executions it removed; the event log says so too. A dry run returns how many it would remove.
  Result<std::uint64_t> run_retention(const RetentionRun& run = {}, Operator by = {});
  Result<std::vector<std::string>> check_integrity();
  // Stops: refuses new calls, finishes queued commands, ends waiting calls. Idempotent.
  void stop();

  // ---- Watching
  // The metrics of this engine in the Prometheus text format. docs/operating.md lists the names. Some of them query the
  // store.
  std::string metrics();

  // How many batches this engine has committed, and commands in them.
  struct Statistics {
    std::uint64_t batches = 0;
    std::uint64_t commands = 0;
    std::uint64_t stale = 0;
    std::uint64_t sweeps = 0;
    // How many commits took up to so many milliseconds and longer than the bucket before; the last one has no bound.
    struct CommitBucket {
      double up_to_ms = 0;
      std::uint64_t commits = 0;
    };
    std::vector<CommitBucket> commit_durations{};
  };
  Statistics statistics() const;
  // What is late on the store, whichever engine should have done it. Asks the store.
  struct Delays {
    std::int64_t overdue_ms = 0;    // how long the earliest timer that is not processed yet has been due
    std::int64_t held_back_ms = 0;  // how long an open transaction has kept events from subscribers
    std::string holder{};           // which one, for people
  };
  Result<Delays> delays();

  // Used by the file that opens the stores.
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// Migrates the schema of a store.
Result<void> migrate_store(const std::string& url);

}  // namespace flowfabric
