// The stored records: the facts, and their encodings.
//
// An execution has two parts. The Spec is written once, at creation. The Facts change with every transition. Facts are
// not labels: states that users see are derived from the facts (core/state.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/operations.hpp>

#include "base/entropy.hpp"
#include "core/changes.hpp"
#include "core/dead_letters.hpp"
#include "core/limit_records.hpp"
#include "core/membership.hpp"
#include "core/steps.hpp"
#include "core/submit_records.hpp"
#include "core/waits.hpp"

namespace flowfabric {

enum class SatelliteKind : std::uint8_t {
  payload = 1,
  result = 2,
  attempt = 3,
  step = 4,
  checkpoint = 5,
  wait_outcome = 6,     // of the last wait
  approval_context = 7  // by the number of the waitpoint
};

// The firing of a schedule of the same namespace that has created an execution or a flow.
struct ScheduleOrigin {
  std::string name;
  std::uint64_t incarnation = 0;
  TimestampMs scheduled_at = 0;
  bool tells = false;  // the schedule wants to know of its end

  friend bool operator==(const ScheduleOrigin&, const ScheduleOrigin&) = default;
};

struct Spec {
  std::string name_space;
  std::string lane;
  std::string kind;
  std::string creator;
  std::string payload_encoding;
  std::string payload;  // empty if it is in a satellite
  std::uint64_t payload_bytes = 0;
  std::vector<std::string> required_capabilities;  // sorted, unique
  RouteNo route = 0;  // of the lane and the capabilities; computed, never read from the store
  Policy policy;
  RetentionPolicy namespace_retention;  // the namespace's default at creation
  std::int64_t deadline_span_ms = 0;    // deadline - created_at, to set it again on replay
  std::optional<Uuid> flow;
  TimestampMs created_at = 0;
  std::uint64_t request_digest = 0;
  std::string traceparent;
  std::optional<Membership> member;  // present if `flow` is
  std::optional<ScheduleOrigin> schedule{};
  SubmitKeyKind submit_key_kind = SubmitKeyKind::none;  // the key under which it was created
  std::string submit_key{};
  Amounts reserve{};  // instead of the defaults of its budgets

  bool payload_is_inline() const { return payload.size() == payload_bytes; }
  friend bool operator==(const Spec&, const Spec&) = default;
};

enum class DelayCause : std::uint8_t { none, submitted, worker, backoff, reclaim_grace };

// The attempt that the next claim will start. Absent if the next claim continues the current attempt.
struct PendingAttempt {
  AttemptType type = AttemptType::initial;
  std::optional<std::uint32_t> previous_attempt_index;
  std::string reason;
  std::string requested_by;

  friend bool operator==(const PendingAttempt&, const PendingAttempt&) = default;
};

// The last operation by which a holder released its lease, or would have if there had been something to wait for, with its
// reply: the same fence repeating the same operation gets the same reply again.
struct Release {
  enum class Operation : std::uint8_t { none, complete, fail, delay, cancel, release, join, suspend };
  Operation operation = Operation::none;
  Uuid lease_id;
  std::uint64_t lease_epoch = 0;
  std::uint32_t attempt_index = 0;
  std::uint64_t request_digest = 0;
  FailReply fail;
  TimestampMs delay_until = 0;
  std::uint32_t wait = 0;  // the number of the wait, of suspend
  bool suspended = false;  // whether there was something to wait for

  friend bool operator==(const Release&, const Release&) = default;
};

// The last lost lease, for its former holder and for listings of lost leases.
struct LostLease {
  LeaseLoss cause = LeaseLoss::none;
  std::uint64_t lease_epoch = 0;  // the epoch that was lost
  Uuid lease_id;
  std::string worker_id;
  std::string worker_instance_id;
  std::uint32_t attempt_index = 0;
  TimestampMs lost_at = 0;  // when it expired or was revoked

  friend bool operator==(const LostLease&, const LostLease&) = default;
};

// A reservation for one worker. While it exists no other worker can claim the execution; the clock removes it.
struct HeldGrant {
  GrantKind kind = GrantKind::claim;
  std::string grant_id;  // SHA-256 of the grant key
  std::string worker_id;
  TimestampMs expires_at = 0;
  std::string worker_instance_id{};  // that it was issued for
  std::string capability_hash{};     // texts of the scheduler, kept as they are
  std::string route_snapshot{};
  std::string admission_summary{};

  friend bool operator==(const HeldGrant&, const HeldGrant&) = default;
};

// Bits of Facts::gates. Values are stored.
inline constexpr std::uint32_t dependency_gate = 1;  // edges of its flow that are not resolved
inline constexpr std::uint32_t limit_gate = 2;       // a limit lets no more start; see LimitFacts::held
// Of an ended execution, which nothing blocks: its schedule has not been told of the end.
inline constexpr std::uint32_t untold_schedule = 1U << 16;

struct Facts {
  Phase phase = Phase::runnable;
  Outcome outcome = Outcome::none;
  std::int32_t priority = 0;
  std::uint32_t gates = 0;  // a set of blockers other than time; while there is one, it is not claimable
  TimestampMs delay_until = 0;
  DelayCause delay_cause = DelayCause::none;
  TimestampMs deadline_at = 0;

  std::uint64_t lease_epoch = 0;
  std::optional<Lease> lease;
  LostLease lost;
  std::optional<HeldGrant> grant;

  std::optional<PendingAttempt> pending;
  std::optional<Attempt> attempt;  // the current or last attempt; earlier ones are satellites
  std::uint32_t attempt_count = 0;
  std::uint32_t retry_count = 0;
  std::uint32_t reclaim_count = 0;
  std::uint32_t replay_count = 0;

  std::uint64_t ready_sequence = 0;  // its position in the ready index, 0 if it is not there
  TimestampMs armed_due = 0;  // its entry in the due index, 0 if there is none; never later than the next due time

  TimestampMs started_at = 0;
  TimestampMs finished_at = 0;
  TimestampMs last_transition_at = 0;
  TimestampMs last_mutation_at = 0;
  TimestampMs retain_until = 0;  // terminal only

  std::optional<Progress> progress;
  std::optional<Failure> failure;  // why it ended, or why the last attempt failed
  std::string cancellation_reason;
  std::string cancelled_by;
  Tags tags;
  Release release;

  bool has_result = false;
  bool result_is_inline = false;
  std::string result;

  StepIndex steps;
  bool has_checkpoint = false;
  std::optional<MemberFacts> member;  // of a member of a flow
  std::optional<WaitFacts> waits;     // once it had a waitpoint or a signal
  LimitFacts limits;
  SubmitFacts submit{};
  LetterFacts letter;

  friend bool operator==(const Facts&, const Facts&) = default;
};

struct Execution {
  ExecutionId id;
  Spec spec;
  Facts facts;

  // The input: that of the spec, unless later creates under its debounce key have changed it.
  std::uint64_t payload_bytes() const {
    return facts.submit.newest ? facts.submit.newest->payload_bytes : spec.payload_bytes;
  }
  const std::string& payload_encoding() const {
    return facts.submit.newest ? facts.submit.newest->payload_encoding : spec.payload_encoding;
  }
  std::int64_t deadline_span_ms() const {
    return facts.submit.newest ? facts.submit.newest->deadline_span_ms : spec.deadline_span_ms;
  }
  bool payload_is_inline() const { return !facts.submit.newest && spec.payload_is_inline(); }
  // Empty if it is in a satellite.
  std::string inline_payload() const { return payload_is_inline() ? spec.payload : std::string(); }
};

// A flow. Like an execution it has a part that is written once, and facts that change.
struct FlowSpec {
  std::string name_space;
  std::string kind;
  std::string creator;
  FailurePolicy failure_policy = FailurePolicy::fail_fast;
  RetentionPolicy retention;
  RetentionPolicy namespace_retention;  // the namespace's default at submission
  std::int64_t deadline_span_ms = 0;
  TimestampMs created_at = 0;
  std::uint64_t request_digest = 0;
  std::uint32_t edge_count = 0;
  std::vector<std::uint32_t> sinks;  // members without outgoing edges, the first `limits::max_flow_outputs`
  std::string traceparent;
  std::optional<ScheduleOrigin> schedule{};

  friend bool operator==(const FlowSpec&, const FlowSpec&) = default;
};

enum class CancelCause : std::uint8_t { by_operator, failure, deadline };

// Members are ended in the order of their ordinals, some at a time.
struct FlowCancel {
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;
  CancelCause cause = CancelCause::by_operator;
  bool run_cleanup = false;
  std::string by;
  std::string reason;
  TimestampMs at = 0;
  std::uint32_t next = 0;  // the first member that was not looked at
  bool done = false;

  friend bool operator==(const FlowCancel&, const FlowCancel&) = default;
};

struct FlowFirstFailure {
  std::uint32_t ordinal = 0;
  std::string node;
  Outcome outcome = Outcome::failed;
  std::string category;

  friend bool operator==(const FlowFirstFailure&, const FlowFirstFailure&) = default;
};

// Members that run again, while the clock prepares that. core/flow_replay.cpp describes the stages.
struct FlowReplay {
  // Values are stored; append only.
  enum class Stage : std::uint8_t {
    choose,     // all members that have not succeeded
    spread,     // and all nodes behind them
    take_back,  // edges from chosen to other nodes
    reset,      // the chosen ones
    arrive,     // edges from other to chosen nodes
  };
  Stage stage = Stage::choose;
  std::uint32_t next = 0;       // the member at which the stage goes on
  std::uint32_t next_edge = 0;  // of that member
  std::string chosen;           // a bit for each member
  std::string spread;           // a bit for each chosen one whose downstream nodes are chosen
  std::string by;
  std::string reason;
  TimestampMs at = 0;

  friend bool operator==(const FlowReplay&, const FlowReplay&) = default;
};

struct FlowFacts {
  FlowState state = FlowState::running;  // never `blocked`, which is derived from the members
  std::uint64_t revision = 1;            // one more with each addition and each replay
  std::uint32_t members = 0;
  // Members that have ended and whose edges are resolved, by outcome.
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;
  std::uint32_t expired = 0;
  std::uint32_t skipped = 0;
  std::uint32_t unhandled = 0;  // failures that no edge took up
  std::optional<FlowFirstFailure> first_failure;
  TimestampMs deadline_at = 0;  // 0: there is none, or it has passed
  std::optional<FlowCancel> cancel;
  std::optional<std::uint32_t> removing;  // its retention is over: the next member to remove
  TimestampMs finished_at = 0;
  TimestampMs retain_until = 0;  // once all members have ended
  TimestampMs last_mutation_at = 0;
  TimestampMs armed_due = 0;
  Tags tags;
  // Of a flow that has grown, or can.
  std::uint32_t named = 0;                          // the first so many members have a record for their name
  std::uint32_t added_edges = 0;                    // beside those of the spec
  std::optional<std::vector<std::uint32_t>> sinks;  // instead of those of the spec
  std::optional<FlowReplay> replay;                 // while it is being prepared
  bool untold_schedule = false;                     // it has ended, and its schedule has not been told

  std::uint32_t ended() const { return succeeded + failed + cancelled + expired + skipped; }
  friend bool operator==(const FlowFacts&, const FlowFacts&) = default;
};

struct FlowRecord {
  FlowId id;
  FlowSpec spec;
  FlowFacts facts;
};

// The member of a flow that has this name.
struct FlowNameRecord {
  std::uint32_t ordinal = 0;
};

struct LaneRecord {
  LaneInfo info;
};

struct NamespaceRecord {
  NamespaceInfo info;
};

// The execution, or the flow, that an idempotency key created.
struct IdempotencyRecord {
  ExecutionId execution_id;
  std::uint64_t request_digest = 0;
  TimestampMs expires_at = 0;
  TimestampMs armed_due = 0;
};

// The store's signing keys, oldest first. The newest signs; the others verify until they expire.
struct KeyringRecord {
  struct SigningKey {
    std::uint32_t key_id = 0;
    std::string secret;
    TimestampMs created_at = 0;
    TimestampMs expires_at = 0;  // 0: never, while it is the newest
  };
  std::vector<SigningKey> keys;
};

// The keys of the HTTP API, oldest first. Only the SHA-256 of a secret is stored: the secret is random, so no slower
// hash is needed.
struct ApiKeysRecord {
  struct ApiKey {
    ApiKeyInfo info;
    std::string secret_hash;
  };
  std::vector<ApiKey> keys;
};

// A registered worker instance. It is kept for a day after its end, together with its events.
struct WorkerRecord {
  WorkerInfo info;  // `state` is live, marked_dead or ttl_swept; lapsed is never stored
  // Leases that this instance got until then are to be released; 0 if there is nothing to do.
  TimestampMs release_until = 0;
  TimestampMs armed_due = 0;

  friend bool operator==(const WorkerRecord&, const WorkerRecord&) = default;
};

KeyringRecord::SigningKey make_signing_key(std::uint32_t key_id, TimestampMs created_at, const Entropy& entropy);

inline constexpr std::size_t execution_key_bytes = 1 + 16 + 2;  // kind, id, partition
Key execution_key(const ExecutionId& id);
Key flow_key(const FlowId& id);
// Only flows that have grown, or can, have these records.
Key flow_name_key(const FlowId& flow, std::string_view node);
FlowId flow_id_of(const Key& key);
// The member of a flow with this ordinal. Ids of members are computed, so that every member can be found without a table.
ExecutionId member_id(const FlowId& flow, std::uint32_t ordinal);
// The flow of a member.
FlowId flow_of(const Execution& execution);
Key lane_key(std::string_view lane);
Key namespace_key(std::string_view name_space);
Key keyring_key();
Key api_keys_key();
Key hooks_key();
// Keys of workers are ordered by (namespace, instance id).
Key worker_key(std::string_view name_space, std::string_view worker_instance_id);
std::uint16_t worker_partition(std::string_view worker_instance_id);
// The key of an idempotency record is a hash of (namespace, key); executions created with it are in its partition.
Key idempotency_key(std::string_view name_space, std::string_view key);
// Flows have keys of their own: the same text may also be the key of an execution.
Key flow_idempotency_key(std::string_view name_space, std::string_view key);
ExecutionId execution_id_of(const Key& key);
// "execution fp7-...", "lane mail": what messages call a record. Any bytes will do as a key.
std::string name_of_record(const Key& key);

std::string encode(const Spec& spec);
std::string encode(const Facts& facts);
std::string encode(const Attempt& attempt);
std::string encode(const FlowSpec& spec);
std::string encode(const FlowFacts& facts);
std::string encode(const FlowNameRecord& record);
std::string encode(const LaneRecord& record);
std::string encode(const NamespaceRecord& record);
std::string encode(const IdempotencyRecord& record);
std::string encode(const KeyringRecord& record);
std::string encode(const ApiKeysRecord& record);
std::string encode(const WorkerRecord& record);
std::string encode(const Event& event);

Result<Spec> decode_spec(std::string_view bytes);
Result<Facts> decode_facts(std::string_view bytes);
Result<Attempt> decode_attempt(std::string_view bytes);
Result<FlowRecord> decode_flow(const Record& record);
Result<FlowNameRecord> decode_flow_name(std::string_view bytes);
Result<LaneRecord> decode_lane(std::string_view bytes);
Result<NamespaceRecord> decode_namespace(std::string_view bytes);
Result<IdempotencyRecord> decode_idempotency(std::string_view bytes);
Result<KeyringRecord> decode_keyring(std::string_view bytes);
Result<ApiKeysRecord> decode_api_keys(std::string_view bytes);
Result<WorkerRecord> decode_worker(std::string_view bytes);
Result<Event> decode_event(std::string_view bytes);
// The type under which an event is stored in the log.
EventType event_type_of(std::uint8_t stored);
Result<Execution> decode_execution(const Record& record);

// Executions are large and the most often read records: this decodes into a fresh object in its final place. After an
// error the object must not be used.
Result<void> decode_execution_into(Execution& execution, const Record& record);

// A digest of everything that identifies a request. Times are left out: a client that repeats a request computes them
// again.
std::uint64_t request_digest(const CreateRequest& request);
std::uint64_t request_digest(const FlowRequest& request);

}  // namespace flowfabric
