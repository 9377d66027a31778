// What the facts of an execution hold about its waits: open waitpoints, signals that have not ended a wait, and the wait
// itself while it is suspended; and the rules of conditions, as pure functions of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/operations.hpp>

#include "base/codec.hpp"

namespace flowfabric {

struct WaitpointFacts {
  std::string name;              // unique among the open ones
  std::uint32_t number = 0;      // never used again in this execution, so that a token fits one waitpoint only
  std::uint32_t generation = 0;  // of its tokens: one more when earlier ones are revoked
  TimestampMs opened_at = 0;
  TimestampMs token_expires_at = 0;           // of tokens issued with it; 0: they do not expire
  bool waited_for = false;                    // it belongs to the current wait
  std::optional<ApprovalRequest> approval{};  // without its context, which is a satellite

  friend bool operator==(const WaitpointFacts&, const WaitpointFacts&) = default;
};

// A signal that has not ended a wait.
struct KeptSignal {
  Signal signal;
  std::uint32_t waitpoint_number = 0;  // the waitpoint that it reached; 0: for the next one of that name
  bool counts = false;                 // for the current wait
  bool unnamed = false;                // it came by a token that names no sender: its source is what the request said

  friend bool operator==(const KeptSignal&, const KeptSignal&) = default;
};

struct Wait {
  std::uint32_t number = 0;
  TimestampMs since = 0;
  TimestampMs timeout_at = 0;  // 0: none
  OnWaitTimeout on_timeout = OnWaitTimeout::fail;
  std::int64_t escalate_ms = 0;
  OnWaitTimeout after_escalation = OnWaitTimeout::fail;
  bool escalated = false;
  std::int64_t resume_delay_ms = 0;
  std::string reason;
  std::uint32_t position = 0;  // of the step that it is; 0: none
  std::string step_name;
  WaitCondition condition;
  std::optional<WaitCondition> veto;

  friend bool operator==(const Wait&, const Wait&) = default;
};

// An idempotency key that was used.
struct SignalKey {
  std::string digest;  // of waitpoint and key
  std::uint64_t number = 0;
  SignalEffect effect = SignalEffect::kept;

  friend bool operator==(const SignalKey&, const SignalKey&) = default;
};

struct WaitFacts {
  std::uint32_t waitpoint_count = 0;  // how many there have been
  std::uint32_t wait_count = 0;
  std::uint64_t signal_count = 0;
  std::vector<WaitpointFacts> open{};
  std::vector<KeptSignal> signals{};  // ascending by number
  std::optional<Wait> wait{};         // while the execution is suspended
  std::vector<SignalKey> keys{};      // the last `limits::max_signal_keys`, oldest first
  bool has_outcome = false;           // a satellite tells how the last wait ended

  friend bool operator==(const WaitFacts&, const WaitFacts&) = default;
};

void encode_into(Encoder& out, const WaitFacts& waits);
WaitFacts decode_waits(Decoder& in);
void encode_into(Encoder& out, const WaitOutcome& outcome);
WaitOutcome decode_outcome(Decoder& in);
// An approval that its wait has closed: who has its token may still see what came of it.
struct EndedApproval {
  std::uint32_t number = 0;  // of the waitpoint
  std::string waitpoint{};
  std::string title{};
  std::uint32_t needed = 1;
  std::uint32_t rejections = 1;

  friend bool operator==(const EndedApproval&, const EndedApproval&) = default;
};
struct EndedWait {
  WaitOutcome outcome{};
  std::vector<EndedApproval> approvals{};

  friend bool operator==(const EndedWait&, const EndedWait&) = default;
};
// The decisions about an approval of the wait. A signal names its waitpoint, and names are unique within a wait.
std::vector<Decision> decisions_at(const EndedWait& ended, const EndedApproval& approval);
// As a satellite.
std::string encode(const EndedWait& ended);
Result<EndedWait> decode_ended_wait(std::string_view bytes);
Result<WaitOutcome> decode_wait_outcome(std::string_view bytes);
struct ApprovalContext {
  std::string context;
  std::string context_encoding;
};
std::string encode(const ApprovalContext& context);
Result<ApprovalContext> decode_approval_context(std::string_view bytes);

// What a token of a waitpoint says.
struct WaitpointClaims {
  ExecutionId execution_id;
  std::uint32_t number = 0;
  std::uint32_t generation = 0;
  TimestampMs expires_at = 0;  // 0: never
  std::string waitpoint;
  std::string source;

  friend bool operator==(const WaitpointClaims&, const WaitpointClaims&) = default;
};
// Whatever is wrong with a token, the answer is the same.
Unexpected<Error> refuse_wait_token();

// ---- Conditions. Monotone: a signal more never makes one untrue.

// Whether the signal counts there. Payloads are read as JSON only if a field is asked for.
bool allows(const SignalMatch& match, const Signal& signal);
bool holds(const WaitCondition& condition, const std::vector<Signal>& signals);
// How far it is: for every signal node and count node of the tree the number of distinct things, at most as many as it needs.
// A signal that leaves this as it is makes no difference to the wait.
std::vector<std::uint32_t> progress(const WaitCondition& condition, const std::vector<Signal>& signals);
// Whether it may still hold if these waitpoints take any number of signals from now on.
bool can_hold(const WaitCondition& condition, const std::vector<std::string>& open, const std::vector<Signal>& signals);
// What is missing, for people: "a signal at \"paid\"", "2 of 3 sources at \"approve\"".
std::vector<std::string> missing(const WaitCondition& condition, const std::vector<Signal>& signals);

// Those that count for the current wait, in the order of their delivery.
std::vector<Signal> signals_of_wait(const WaitFacts& waits);
// Why the current wait is over; nothing if it is not.
std::optional<WaitCause> cause_of_end(const WaitFacts& waits);
bool makes_difference(const WaitFacts& waits, const Signal& signal);
// The execution ends, or starts over: nothing is waited for. Numbers go on, so that no token fits a later waitpoint.
void forget_waits(WaitFacts& waits);
WaitpointFacts* find_open(WaitFacts& waits, std::string_view name);
std::vector<Decision> decisions_at(const WaitFacts& waits, std::uint32_t waitpoint_number);

// What a request without a condition or a veto means. Its waitpoints say which of them are approvals.
void fill_in_defaults(SuspendRequest& request);
// How many signals may count is bounded.
Result<void> admit_most_signals(const SuspendRequest& request);
Result<void> admit(SuspendRequest& request);
Result<void> admit(WaitpointRequest& request, const std::string& field);
Result<void> admit(SignalRequest& request, bool has_token);
Result<void> admit(const DecideRequest& request);
Result<void> admit(const ReissueRequest& request);
Result<void> admit(const ListWaitsRequest& request);
Result<void> admit_waitpoint_name(std::string_view name, const std::string& field = "waitpoint");

}  // namespace flowfabric
