// Waiting for the world: a worker suspends its execution on waitpoints; signals that arrive there end the wait.
// docs/signals.md explains the terms. Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/ids.hpp>
#include <flowfabric/result.hpp>

namespace flowfabric {

// What the distinct things are that a count counts. Values are stored; append only.
enum class CountBy : std::uint8_t { signals, waitpoints, sources };
// What happens when a wait has not ended in time. Values are stored; append only.
enum class OnWaitTimeout : std::uint8_t {
  fail,     // the execution fails, with category "wait_timeout"; it is not retried
  cancel,   // the execution is cancelled
  expire,   // the execution ends as expired
  resume,   // the wait ends, and the worker that claims the execution sees that it timed out
  escalate  // an event is logged and the wait goes on for `escalate_ms`; then `after_escalation` happens
};
// Why a wait ended. Values are stored; append only.
enum class WaitCause : std::uint8_t { signals, veto, timeout, by_operator };
// What a delivered signal did. Values are stored; append only.
enum class SignalEffect : std::uint8_t {
  kept,      // nothing waits at a waitpoint of this name yet: it is kept for the next wait there
  accepted,  // it counts for the wait, which needs more
  resumed,   // it ended the wait
  ignored    // it makes no difference to the wait; it was not kept
};
enum class ApprovalDecision : std::uint8_t { approve, reject };

std::string_view to_string(CountBy value);
std::string_view to_string(OnWaitTimeout value);
std::string_view to_string(WaitCause value);
std::string_view to_string(SignalEffect value);
std::string_view to_string(ApprovalDecision value);

// One value in the JSON payload of a signal.
struct SignalField {
  std::string pointer{};  // RFC 6901, such as "/order/state"
  std::string equals{};   // JSON text, such as "\"paid\"" or "42"

  friend bool operator==(const SignalField&, const SignalField&) = default;
};

// Which signals count. What is empty allows all.
struct SignalMatch {
  std::string waitpoint{};             // the name of a waitpoint of this wait
  std::string name{};                  // of the signal
  std::vector<std::string> sources{};  // one of these
  std::vector<SignalField> fields{};   // all of these

  friend bool operator==(const SignalMatch&, const SignalMatch&) = default;
};

// At least `n` distinct signals, waitpoints or sources among the signals that one of `of` allows.
struct SignalCount {
  std::uint32_t n = 0;
  CountBy by = CountBy::signals;
  std::vector<SignalMatch> of{};

  friend bool operator==(const SignalCount&, const SignalCount&) = default;
};

// A tree. Exactly one of the four is set.
struct WaitCondition {
  std::optional<SignalMatch> signal{};  // at least one such signal
  std::optional<std::vector<WaitCondition>> all_of{};
  std::optional<std::vector<WaitCondition>> any_of{};
  std::optional<SignalCount> count{};

  friend bool operator==(const WaitCondition&, const WaitCondition&) = default;
};

// Makes a waitpoint an approval: people decide there. Unless the request says otherwise the wait ends when `needed` different
// people have approved, and at once when `rejections` have rejected.
struct ApprovalRequest {
  std::string title{};
  std::string context{};                 // bytes, what the people should know
  std::string context_encoding{};        // such as "text/plain"
  std::vector<std::string> approvers{};  // the names that may decide; empty: everybody who may send signals
  std::uint32_t needed = 1;
  std::uint32_t rejections = 1;

  friend bool operator==(const ApprovalRequest&, const ApprovalRequest&) = default;
};

struct WaitpointRequest {
  std::string name{};
  // Until when its token is accepted; absent: as long as the wait lasts. The waitpoint itself stays open by name.
  std::optional<std::int64_t> token_ttl_ms{};
  std::optional<ApprovalRequest> approval{};
};

// Suspends the execution until the condition holds. The lease is released; the same attempt goes on afterwards.
struct SuspendRequest {
  std::vector<WaitpointRequest> waitpoints{};
  // Absent: one signal at each waitpoint, and at an approval as many as it needs.
  std::optional<WaitCondition> condition{};
  // When this holds the wait ends at once, with cause `veto`. Absent: enough rejections of an approval.
  std::optional<WaitCondition> veto{};
  std::optional<std::int64_t> timeout_ms{};  // absent: waits until the deadline of the execution
  TimestampMs timeout_at = 0;                // instead of timeout_ms
  OnWaitTimeout on_timeout = OnWaitTimeout::fail;
  std::int64_t escalate_ms = 0;  // only with `escalate`
  OnWaitTimeout after_escalation = OnWaitTimeout::fail;
  std::int64_t resume_delay_ms = 0;  // between the end of the wait and the next claim
  std::string reason{};              // shown to people
  // Distinguishes two equal calls under one lease. A repeated call with equal content gets the answer of the first.
  std::string idempotency_key{};
  // The durable step that the wait is; 0: none. Its end is recorded there, so a later run of the handler finds it.
  std::uint32_t position = 0;
  std::string step_name{};
};

// The right to send signals to one waitpoint.
struct WaitpointToken {
  std::string waitpoint{};
  std::uint32_t number = 0;  // of the waitpoint, within its execution; never used again
  std::string token{};
  TimestampMs expires_at = 0;  // 0: as long as the waitpoint is open

  friend bool operator==(const WaitpointToken&, const WaitpointToken&) = default;
};

struct Signal {
  std::uint64_t number = 0;  // within its execution, ascending in the order of delivery
  std::string waitpoint{};
  std::string name{};
  std::string payload{};  // bytes
  std::string payload_encoding{};
  std::string source{};
  TimestampMs delivered_at = 0;

  friend bool operator==(const Signal&, const Signal&) = default;
};

// How a wait ended.
struct WaitOutcome {
  std::uint32_t number = 0;  // of the wait, within its execution
  WaitCause cause = WaitCause::signals;
  TimestampMs ended_at = 0;
  std::string by{};      // the operator who ended it
  std::string reason{};  // the operator's
  bool escalated = false;
  std::vector<Signal> signals{};  // that counted, in the order of their delivery; also when it timed out

  friend bool operator==(const WaitOutcome&, const WaitOutcome&) = default;
};

struct SuspendReply {
  bool suspended = false;  // false: signals that were there already end the wait; the lease is kept
  bool duplicate = false;  // the step was recorded before: read the steps to see what stands there
  std::uint32_t wait = 0;  // its number
  TimestampMs timeout_at = 0;
  std::vector<WaitpointToken> tokens{};  // of its waitpoints, in the order of the request
  std::optional<WaitOutcome> outcome{};  // if it was not suspended

  friend bool operator==(const SuspendReply&, const SuspendReply&) = default;
};

struct SignalRequest {
  std::string waitpoint{};  // with a token: empty, or that of the token
  std::string name{};       // empty: that of the waitpoint
  std::string payload{};
  std::string payload_encoding{};
  std::string source{};  // the sender; with a token that names one: that of the token
  // A repetition with the same key at a waitpoint of the same name is answered like the first and does nothing. A signal that
  // was ignored is not remembered.
  std::string idempotency_key{};
};

struct SignalReply {
  ExecutionId execution_id{};
  std::uint64_t number = 0;  // of the signal; 0 if it was ignored
  SignalEffect effect = SignalEffect::kept;
  bool duplicate = false;

  friend bool operator==(const SignalReply&, const SignalReply&) = default;
};

struct DecideRequest {
  std::string waitpoint{};
  ApprovalDecision decision = ApprovalDecision::approve;
  std::string comment{};
  std::string actor{};  // the person
};

struct ReissueRequest {
  std::string waitpoint{};
  std::string source{};  // the token then speaks for this sender
  std::optional<std::int64_t> token_ttl_ms{};
  bool revoke_earlier = false;  // the tokens of the waitpoint issued before are refused from now on
};

// A decision about an approval.
struct Decision {
  ApprovalDecision decision = ApprovalDecision::approve;
  std::string actor{};
  std::string comment{};
  TimestampMs decided_at = 0;

  friend bool operator==(const Decision&, const Decision&) = default;
};

struct ApprovalInfo {
  std::string title{};
  std::vector<std::string> approvers{};
  std::uint32_t needed = 1;
  std::uint32_t rejections = 1;
  std::vector<Decision> decisions{};
  std::string context{};  // only where one approval is read by itself
  std::string context_encoding{};

  friend bool operator==(const ApprovalInfo&, const ApprovalInfo&) = default;
};

// An open waitpoint.
struct WaitpointInfo {
  std::string name{};
  std::uint32_t number = 0;
  TimestampMs opened_at = 0;
  bool waited_for = false;    // the execution is suspended on it
  std::uint32_t signals = 0;  // that it holds
  std::optional<ApprovalInfo> approval{};

  friend bool operator==(const WaitpointInfo&, const WaitpointInfo&) = default;
};

// What an execution waits for.
struct WaitInfo {
  std::uint32_t number = 0;
  std::string reason{};
  TimestampMs since = 0;
  TimestampMs timeout_at = 0;
  OnWaitTimeout on_timeout = OnWaitTimeout::fail;
  bool escalated = false;
  WaitCondition condition{};
  std::optional<WaitCondition> veto{};

  friend bool operator==(const WaitInfo&, const WaitInfo&) = default;
};

struct ExecutionWaits {
  std::optional<WaitInfo> wait{};  // while it is suspended
  std::vector<WaitpointInfo> waitpoints{};
  std::vector<Signal> signals{};  // that were delivered and have not ended a wait, without their payloads
  std::optional<WaitOutcome> last_wait{};

  friend bool operator==(const ExecutionWaits&, const ExecutionWaits&) = default;
};

// A suspended execution.
struct WaitingExecution {
  ExecutionId execution_id{};
  std::string name_space{};
  std::string lane{};
  std::string kind{};
  std::string reason{};
  TimestampMs since = 0;
  TimestampMs timeout_at = 0;
  bool escalated = false;
  std::vector<WaitpointInfo> waitpoints{};

  friend bool operator==(const WaitingExecution&, const WaitingExecution&) = default;
};

struct ListWaitsRequest {
  std::optional<std::string> name_space{};
  bool approvals = false;  // only those that wait for the decision of people
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListWaitsReply {
  std::vector<WaitingExecution> waits{};  // those that have waited longest first
  std::string next_cursor{};              // empty on the last page
};

// What a token stands for.
struct TokenInfo {
  ExecutionId execution_id{};
  std::string name_space{};
  std::string kind{};
  std::string source{};  // for whom it speaks; empty: for anybody
  TimestampMs expires_at = 0;
  bool open = false;          // the waitpoint still takes signals
  WaitpointInfo waitpoint{};  // of one that is closed only its number, and the approval if no wait has ended since
};

}  // namespace flowfabric
