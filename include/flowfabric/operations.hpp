// The requests and replies of the engine. Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <flowfabric/ids.hpp>
#include <flowfabric/signals.hpp>
#include <flowfabric/submit_keys.hpp>
#include <flowfabric/types.hpp>

namespace flowfabric {

// ---- Submitting ----------------------------------------------------------------------------------------------------

struct CreateRequest {
  std::string name_space = "default";
  std::string lane = "default";
  std::string kind{};     // the job type; selects the handler
  std::string payload{};  // bytes, not interpreted
  std::string payload_encoding{};
  std::int32_t priority = 0;  // higher first
  Tags tags{};
  std::vector<std::string> required_capabilities{};
  Policy policy{};
  TimestampMs delay_until = 0;
  TimestampMs deadline_at = 0;  // must end before this time, in any phase
  // The same two counted from the creation, by the store's clock. Each excludes its absolute form.
  std::optional<std::int64_t> delay_ms{};
  std::optional<std::int64_t> deadline_ms{};
  std::string creator{};
  std::string idempotency_key{};
  std::optional<Uuid> id{};   // generated (UUIDv7) if absent
  std::string traceparent{};  // W3C trace context of the submitter; passed to the worker that claims it
  // At most one of these.
  std::optional<UniqueKey> unique{};
  std::optional<Debounce> debounce{};
  std::optional<Throttle> throttle{};
  // Of each budget that it is under: what a lease reserves, instead of the default of the budget.
  Amounts reserve{};
};

struct Created {
  ExecutionId execution_id{};
  // Absent for a duplicate whose execution has ended and been removed by retention since.
  std::optional<PublicState> public_state{};
  bool duplicate = false;  // this call has created nothing; `outcome` says why
  CreateOutcome outcome = CreateOutcome::created;
  std::optional<ExecutionId> replaced{};  // the execution that had the unique key and was cancelled

  friend bool operator==(const Created&, const Created&) = default;
};

// ---- Durable steps -------------------------------------------------------------------------------------------------

// One piece of a handler's work whose outcome is kept: when the handler runs again, it is returned instead of doing the work
// again. Steps are numbered from 1 in the order in which the handler comes to them.
struct Step {
  std::uint32_t position = 0;
  std::string name{};
  StepState state = StepState::succeeded;
  std::string result{};  // bytes
  std::string result_encoding{};
  std::optional<Failure> failure{};  // of a failed one
  bool permanent = false;            // the failure is not to be retried
  std::uint32_t tries = 1;
  std::int64_t duration_ms = 0;
  TimestampMs recorded_at = 0;
  TimestampMs wake_at = 0;  // of a sleep
  std::uint32_t attempt_index = 0;
  std::uint32_t replay_count = 0;  // which life it was recorded in
  std::string worker_instance_id{};
  std::optional<WaitOutcome> wait{};  // of a wait

  friend bool operator==(const Step&, const Step&) = default;
};

struct StepRequest {
  std::uint32_t position = 0;
  std::string name{};
  std::string result{};
  std::string result_encoding{};
  std::optional<Failure> failure{};        // set: the step failed
  bool permanent = false;                  // only of a failed one
  std::optional<std::int64_t> sleep_ms{};  // set: the step is a sleep of this length, from now on
  std::uint32_t tries = 1;
  std::int64_t duration_ms = 0;  // what it took, as the worker has measured it
  // The last position of the steps that run side by side with it; 0: it runs alone. A later step that is recorded shows that
  // the handler went on after a failure of this one.
  std::uint32_t group_end = 0;
};

struct StepReply {
  TimestampMs recorded_at = 0;
  TimestampMs wake_at = 0;  // of a sleep
  // This position was recorded before, perhaps by this very call. Read the steps to see what stands there.
  bool duplicate = false;

  friend bool operator==(const StepReply&, const StepReply&) = default;
};

struct ListStepsReply {
  std::vector<Step> steps{};        // by position
  std::uint32_t next_position = 0;  // where to go on; 0 at the end
};

// Bytes that a handler wants to find again when it runs anew. There is one an execution: the last.
struct Checkpoint {
  std::string bytes{};
  std::string encoding{};
  TimestampMs recorded_at = 0;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// ---- Working -------------------------------------------------------------------------------------------------------

struct ClaimRequest {
  std::string worker_namespace = "default";  // the namespace in which the worker is registered, if it is
  std::string worker_id{};
  std::string worker_instance_id{};
  std::optional<std::string> name_space{};  // only executions of this namespace; absent: of all
  std::vector<std::string> lanes = {"default"};
  // Of lanes that have work, so many executions are taken of each where one is taken of a lane without a weight, 1 to 1000.
  // Empty: the order of service is that of all lanes together.
  Weights lane_weights{};
  std::vector<std::string> capabilities{};
  std::uint32_t max_executions = 1;
  std::uint32_t lease_ttl_ms = 30000;
  std::uint32_t wait_ms = 0;  // how long to wait if there is no work
};

// What an upstream node of the flow has left for a node that is claimed.
struct FlowInput {
  std::string name{};  // of the upstream node
  ExecutionId execution_id{};
  Outcome outcome = Outcome::none;
  std::string result{};
  std::string result_encoding{};
  bool by_reference = false;  // the result is too large to come with the claim: read it from the execution
  std::optional<Failure> failure{};

  friend bool operator==(const FlowInput&, const FlowInput&) = default;
};

// A signed, opaque text that proves ownership of one lease. Every operation of a worker on an execution needs it.
using Handle = std::string;

struct ClaimedExecution {
  ExecutionId execution_id{};
  std::string name_space{};
  std::string lane{};
  std::string kind{};
  std::string payload{};
  std::string payload_encoding{};
  std::int32_t priority = 0;
  Tags tags{};
  Attempt attempt{};
  Lease lease{};
  TimestampMs created_at = 0;
  TimestampMs deadline_at = 0;
  std::string traceparent{};  // of the submitter; empty: none
  HandleKind handle_kind = HandleKind::fresh;
  Handle handle{};
  // What earlier runs have recorded, by position, up to a limit in bytes.
  std::vector<Step> steps{};
  std::uint32_t next_step_position = 0;  // where the rest begins, to be read by list_steps; 0: these are all
  std::optional<Checkpoint> checkpoint{};
  std::optional<WaitOutcome> last_wait{};  // how the last wait of this execution ended
  // Of a member of a flow.
  std::optional<ExecutionId> flow_id{};
  std::string node{};
  std::vector<FlowInput>
      inputs{};                  // by the order of the edges; the winners of a group in the order of their completion
  std::uint32_t next_input = 0;  // where the rest begins, to be read by list_flow_inputs; 0: these are all
};

struct RenewVerdict {
  TimestampMs expires_at = 0;
  std::uint64_t lease_epoch = 0;
  Handle handle{};  // use this one from now on: it is signed with the newest key

  friend bool operator==(const RenewVerdict&, const RenewVerdict&) = default;
};

struct ProgressReport {
  std::optional<std::uint8_t> percent{};  // 0..100; absent: keeps the last value
  std::optional<std::string> message{};
};

struct CompleteRequest {
  std::string result{};  // bytes
  std::string result_encoding{};
};

struct FailRequest {
  enum class Retryable : std::uint8_t { by_policy, never, force };
  std::string category = "error";
  std::string message{};
  std::string detail{};  // bytes
  Retryable retryable = Retryable::by_policy;
  // If the attempt is retried, after this time instead of the policy's backoff.
  std::optional<std::int64_t> retry_after_ms{};
};

struct FailReply {
  enum class Decision : std::uint8_t { retry_scheduled, failed };
  Decision decision = Decision::failed;
  TimestampMs retry_at = 0;
  std::uint32_t next_attempt_index = 0;
  std::string reason{};  // the reason: "retries_left", "retries_exhausted", "never", "no_retry_policy", ...

  friend bool operator==(const FailReply&, const FailReply&) = default;
};

struct DelayReply {
  TimestampMs delay_until = 0;

  friend bool operator==(const DelayReply&, const DelayReply&) = default;
};

// ---- The fleet: who works here -------------------------------------------------------------------------------------

// An instance is identified by (namespace, instance id). Registering is optional: it makes a worker visible, renews
// many leases with one call per period, and releases the leases at once when the worker dies.
struct WorkerRegistration {
  std::string name_space = "default";
  std::string worker_id{};
  std::string worker_instance_id{};
  std::vector<std::string> lanes = {"default"};
  std::vector<std::string> capabilities{};
  std::uint32_t liveness_ttl_ms = 30000;
};

struct RegisterWorkerReply {
  enum class Outcome : std::uint8_t { registered, refreshed };
  Outcome outcome = Outcome::registered;
  TimestampMs registered_at = 0;
  TimestampMs next_expiry_at = 0;

  friend bool operator==(const RegisterWorkerReply&, const RegisterWorkerReply&) = default;
};

struct HeartbeatRequest {
  std::string name_space = "default";
  std::string worker_instance_id{};
  std::vector<Handle> leases{};  // to renew in the same call
};

struct HeartbeatReply {
  enum class Outcome : std::uint8_t { refreshed, not_registered };  // not_registered: register again
  Outcome outcome = Outcome::refreshed;
  TimestampMs next_expiry_at = 0;
  std::vector<Result<RenewVerdict>> leases{};  // one result per handle, in order; present even if not registered
  // Directives.
  bool drain = false;                         // finish the claimed executions and claim no more
  std::vector<ExecutionId> revoked_leases{};  // stop working on these; the worker no longer owns them
};

enum class MarkWorkerDeadOutcome : std::uint8_t { marked, not_registered };
enum class DrainWorkerOutcome : std::uint8_t { draining, not_registered };

struct WorkerInfo {
  std::string name_space{};
  std::string worker_id{};
  std::string worker_instance_id{};
  std::vector<std::string> lanes{};
  std::vector<std::string> capabilities{};
  std::uint32_t liveness_ttl_ms = 0;
  TimestampMs registered_at = 0;
  TimestampMs last_heartbeat_at = 0;
  TimestampMs expires_at = 0;
  std::uint16_t partition = 0;  // fnv1a64(instance id) mod 256, for placement
  bool draining = false;
  WorkerState state = WorkerState::live;
  TimestampMs ended_at = 0;
  std::string ended_by{};
  std::string reason{};

  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

struct ListWorkersRequest {
  std::optional<std::string> name_space{};  // absent: all namespaces
  std::optional<std::string> lane{};
  std::optional<std::string> capability{};
  bool include_expired = false;  // also workers that lapsed or died within the last day
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListWorkersReply {
  std::vector<WorkerInfo> workers{};  // sorted by namespace, then instance id
  std::string next_cursor{};          // empty on the last page
};

// A lease that a worker holds, registered or not. It may have run out a moment ago.
struct HeldLease {
  ExecutionId execution_id{};
  std::string name_space{};
  std::string lane{};
  std::string kind{};
  std::uint32_t attempt_index = 0;
  std::uint64_t lease_epoch = 0;
  TimestampMs acquired_at = 0;
  TimestampMs renewed_at = 0;
  TimestampMs expires_at = 0;

  friend bool operator==(const HeldLease&, const HeldLease&) = default;
};

struct ListWorkerLeasesRequest {
  std::string name_space = "default";  // of the worker
  std::string worker_instance_id{};
  std::optional<std::string> execution_namespace{};  // only leases on executions of this one
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListWorkerLeasesReply {
  std::vector<HeldLease> leases{};  // by (acquired_at, execution id)
  std::string next_cursor{};        // empty at the end
};

// ---- The fleet: leases that ran out, and grants --------------------------------------------------------------------

// A lease that expired or was revoked and whose execution has not been claimed again.
struct ExpiredLease {
  ExecutionId execution_id{};
  std::string name_space{};
  Uuid lease_id{};
  std::uint64_t lease_epoch = 0;
  std::string worker_id{};
  std::string worker_instance_id{};
  std::uint32_t attempt_index = 0;
  TimestampMs expires_at = 0;         // when it ended
  LeaseLoss cause = LeaseLoss::none;  // none: the clock has not processed it yet

  friend bool operator==(const ExpiredLease&, const ExpiredLease&) = default;
};

struct ListExpiredLeasesRequest {
  std::optional<TimestampMs> as_of{};  // leases with expires_at <= as_of; absent: now
  std::optional<std::string> name_space{};
  std::string cursor{};
  std::uint32_t limit = 1000;
};

struct ListExpiredLeasesReply {
  std::vector<ExpiredLease> leases{};  // sorted by (expires_at, execution id)
  std::string next_cursor{};
};

// Reserves one execution for one worker. Single use.
struct Grant {
  GrantKind kind = GrantKind::claim;
  ExecutionId execution_id{};
  std::string lane{};
  std::string worker_id{};
  std::string worker_instance_id{};
  std::string grant_key{};  // signed; the token that the worker redeems
  std::string grant_id{};   // SHA-256 of the key in hex: safe to log
  TimestampMs expires_at = 0;
  std::string capability_hash{};  // as they were given; see GrantRequest
  std::string route_snapshot{};
  std::string admission_summary{};

  friend bool operator==(const Grant&, const Grant&) = default;
};

// A grant that stands, without the key that redeems it.
struct GrantInfo {
  GrantKind kind = GrantKind::claim;
  std::string grant_id{};
  std::string worker_id{};
  std::string worker_instance_id{};  // the instance that it was issued for
  TimestampMs expires_at = 0;
  std::string capability_hash{};
  std::string route_snapshot{};
  std::string admission_summary{};

  friend bool operator==(const GrantInfo&, const GrantInfo&) = default;
};

struct GrantRequest {
  ExecutionId execution_id{};
  std::string worker_id{};
  std::string worker_instance_id{};
  std::vector<std::string> capabilities{};
  std::uint32_t grant_ttl_ms = 5000;
  // Texts of a scheduler that are kept with the grant and shown with it. Opaque: the engine does not read them.
  std::string capability_hash{};
  std::string route_snapshot{};
  std::string admission_summary{};
};

struct ClaimForWorkerRequest {
  std::optional<std::string> name_space{};  // only executions of this namespace; absent: of all
  std::string lane = "default";
  std::string worker_id{};
  std::string worker_instance_id{};
  std::vector<std::string> capabilities{};
  std::uint32_t grant_ttl_ms = 5000;
  std::string capability_hash{};  // as in GrantRequest
  std::string route_snapshot{};
  std::string admission_summary{};
};

// Redeems a grant. The worker id must be that of the grant; the instance may differ.
struct RedeemRequest {
  ExecutionId execution_id{};
  std::string grant_key{};
  std::string worker_namespace = "default";
  std::string worker_id{};
  std::string worker_instance_id{};
  std::vector<std::string> capabilities{};
  std::uint32_t lease_ttl_ms = 30000;
  // Only for a reclaim: an execution that was reclaimed this often ends as failed instead. The policy's own limit holds
  // as well.
  std::optional<std::uint32_t> max_reclaim_count{};
};

struct Granted {
  Grant grant{};
};
struct Claimed {
  ClaimedExecution execution{};
};
struct GrantNotFound {};
struct NotReclaimable {
  std::string detail{};
};
struct ReclaimCapExceeded {
  std::uint32_t count = 0;
};
using IssueReclaimGrantOutcome = std::variant<Granted, NotReclaimable, ReclaimCapExceeded>;
using ReclaimExecutionOutcome = std::variant<Claimed, GrantNotFound, NotReclaimable, ReclaimCapExceeded>;

// ---- Signing keys --------------------------------------------------------------------------------------------------

// One key of the store, without its secret.
struct SigningKeyInfo {
  std::uint32_t key_id = 0;
  TimestampMs created_at = 0;
  TimestampMs expires_at = 0;  // 0: the current signing key; else its signatures are refused from this time on

  friend bool operator==(const SigningKeyInfo&, const SigningKeyInfo&) = default;
};

struct KeyRotation {
  std::uint32_t key_id = 0;            // the new signing key
  std::vector<SigningKeyInfo> keys{};  // all accepted keys, oldest first

  friend bool operator==(const KeyRotation&, const KeyRotation&) = default;
};

// ---- API keys ------------------------------------------------------------------------------------------------------

// The name and the permissions of a client of the HTTP API.
struct ApiKeyRequest {
  std::string name{};  // recorded in the event log; unique
  ApiRole role = ApiRole::viewer;
  std::optional<std::string> name_space{};  // restricts the key to this namespace
  TimestampMs expires_at = 0;               // 0: never
};

// A key without its secret, which cannot be read again.
struct ApiKeyInfo {
  std::string key_id{};
  std::string name{};
  ApiRole role = ApiRole::viewer;
  std::optional<std::string> name_space{};
  TimestampMs created_at = 0;
  std::string created_by{};
  TimestampMs expires_at = 0;

  friend bool operator==(const ApiKeyInfo&, const ApiKeyInfo&) = default;
};

struct NewApiKey {
  ApiKeyInfo info{};
  std::string secret{};  // clients send it; the store keeps only its hash
};

// ---- Operating -----------------------------------------------------------------------------------------------------

struct Operator {
  std::string name = "operator";  // recorded in the event log
  std::string reason{};
};

struct CancelReply {
  bool already_cancelled = false;

  friend bool operator==(const CancelReply&, const CancelReply&) = default;
};

struct RevokeReply {
  Uuid lease_id{};
  std::uint64_t lease_epoch = 0;  // after the revocation
  PublicState public_state = PublicState::waiting;

  friend bool operator==(const RevokeReply&, const RevokeReply&) = default;
};

struct ReplayReply {
  std::uint32_t replay_count = 0;
  PublicState public_state = PublicState::waiting;

  friend bool operator==(const ReplayReply&, const ReplayReply&) = default;
};

struct TagChanges {
  Tags set{};
  std::vector<std::string> remove{};
};

struct LaneInfo {
  std::string lane{};
  LaneState state = LaneState::active;
  TimestampMs changed_at = 0;
  std::string changed_by{};
  std::string reason{};
  TimestampMs registered_at = 0;  // when its first execution was created; 0: before this was recorded
  std::string registered_by{};    // the creator of that execution

  friend bool operator==(const LaneInfo&, const LaneInfo&) = default;
};

struct NamespaceInfo {
  std::string name_space{};
  RetentionPolicy retention{};

  friend bool operator==(const NamespaceInfo&, const NamespaceInfo&) = default;
};

// Removes ended executions. With `older_than_ms`, those that ended that long ago or longer, whatever their policy says; 0
// removes everything that has ended.
struct RetentionRun {
  std::optional<std::int64_t> older_than_ms{};
  std::optional<std::string> name_space{};
  std::optional<std::string> lane{};
  std::optional<std::pair<std::string, std::string>> tag{};
  bool dry_run = false;  // only count them
};

// ---- Reading -------------------------------------------------------------------------------------------------------

// One reason why an execution is not running now. `code` is stable; `sentence` is for people.
struct Reason {
  std::string code{};
  std::string sentence{};
  TimestampMs until = 0;  // when the reason ends by itself

  friend bool operator==(const Reason&, const Reason&) = default;
};

struct ExecutionSummary {
  ExecutionId execution_id{};
  std::string name_space{};
  std::string lane{};
  std::string kind{};
  PublicState public_state = PublicState::waiting;
  std::int32_t priority = 0;
  Tags tags{};
  TimestampMs created_at = 0;
  TimestampMs started_at = 0;
  TimestampMs finished_at = 0;
  std::uint32_t attempt_count = 0;
  std::optional<ExecutionId> flow_id{};  // of a member of a flow
  std::string node{};                    // its name there
  // Why the stored record cannot be decoded, in listings. Then the state is that of its last change, and what is not known
  // is empty.
  std::optional<std::string> damage{};

  friend bool operator==(const ExecutionSummary&, const ExecutionSummary&) = default;
};

struct ExecutionDescription {
  ExecutionSummary summary{};
  StateVector state{};
  std::string creator{};
  std::string payload_encoding{};
  std::uint64_t payload_bytes = 0;
  std::vector<std::string> required_capabilities{};
  Policy policy{};
  std::optional<SubmitKey> submit_key{};
  std::optional<Lease> lease{};
  std::uint64_t lease_epoch = 0;
  std::optional<GrantInfo> grant{};  // while one reserves it
  std::optional<Attempt> attempt{};  // the current or last attempt
  std::vector<Attempt> attempts{};   // oldest first, up to a page
  std::uint32_t retry_count = 0;
  std::uint32_t reclaim_count = 0;
  std::uint32_t replay_count = 0;
  TimestampMs delay_until = 0;
  TimestampMs deadline_at = 0;
  TimestampMs last_transition_at = 0;
  TimestampMs last_mutation_at = 0;
  std::optional<Progress> progress{};
  std::optional<Failure> failure{};
  std::string fingerprint{};  // of the failure, while it is failed: the group of dead letters in which it is
  std::string redrive_id{};   // of the last redrive that replayed it; empty: none
  std::string cancellation_reason{};
  std::string cancelled_by{};
  std::vector<Reason> explain{};  // empty while it is running
};

struct ExecutionResult {
  Outcome outcome = Outcome::none;
  std::uint32_t attempt_index = 0;
  std::string result{};
  std::string result_encoding{};
  std::optional<Failure> failure{};
  TimestampMs finished_at = 0;
};

struct ExecutionContext {
  std::string kind{};
  std::string payload{};
  std::string payload_encoding{};
  Tags tags{};
};

struct ListRequest {
  std::optional<std::string> name_space{};
  std::optional<std::string> lane{};
  std::optional<std::string> kind{};
  std::vector<PublicState> states{};
  std::optional<std::pair<std::string, std::string>> tag{};
  std::optional<Uuid> flow{};
  std::optional<TimestampMs> created_from{}, created_before{};
  std::optional<TimestampMs> finished_from{}, finished_before{};
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListReply {
  std::vector<ExecutionSummary> executions{};
  std::string next_cursor{};  // empty on the last page
};

struct LaneCounts {
  std::string lane{};
  std::map<PublicState, std::uint64_t> counts{};

  friend bool operator==(const LaneCounts&, const LaneCounts&) = default;
};

struct EventFilter {
  std::optional<std::string> name_space{};
  std::optional<std::string> lane{};
  std::optional<ExecutionId> execution_id{};
  std::vector<EventType> types{};
  std::optional<ExecutionId> flow_id{};  // events of this flow itself, not of its members
};

struct EventPage {
  std::vector<Event> events{};
  std::string next_cursor{};
};

}  // namespace flowfabric
