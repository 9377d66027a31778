// Replies as lines of a transcript: any difference between two replies is visible in the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/commands.hpp"

namespace flowfabric::test {

std::string show(const Error& error);
std::string show(const Done&);
std::string show(const Created& reply);
std::string show(const Tags& tags);
std::string show(const ClaimedExecution& claim);
std::string show(const RenewVerdict& reply);
std::string show(const FailReply& reply);
std::string show(const DelayReply& reply);
std::string show(const StepReply& reply);
std::string show(const CancelReply& reply);
std::string show(const RevokeReply& reply);
std::string show(const ReplayReply& reply);
std::string show(const LaneInfo& info);
std::string show(const NamespaceInfo& info);
std::string show(const Reply& reply);
std::string show(const std::vector<ClaimedExecution>& claims);
std::string show(const Event& event);
std::string show(const ExecutionSummary& summary);
std::string show(const Grant& grant);
std::string show(const std::optional<Grant>& grant);
std::string show(const IssueReclaimGrantOutcome& outcome);
std::string show(const ReclaimExecutionOutcome& outcome);
std::string show(const RegisterWorkerReply& reply);
std::string show(const HeartbeatReply& reply);
std::string show(const MarkWorkerDeadOutcome& outcome);
std::string show(const DrainWorkerOutcome& outcome);
std::string show(const KeyRotation& rotation);
std::string show(const RemoveReply& reply);
std::string show(const WaitOutcome& outcome);
std::string show(const WaitpointToken& token);
std::string show(const SuspendReply& reply);
std::string show(const SignalReply& reply);
std::string show(const WaitingExecution& waiting);
std::string show(const ExecutionWaits& waits);
std::string show(const WorkerInfo& info);
std::string show(const ExpiredLease& lease);
std::string show(const ReadyEntry& entry);
std::string show(const DueEntry& entry);

template <class T>
std::string show(const Result<T>& result) {
  return result ? show(*result) : show(result.error());
}

}  // namespace flowfabric::test
