// The output of --json. Every function returns one document in one line.
//
// Objects are those of the HTTP API (wire/shapes.hpp): the same names, and what is not set is left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>
#include <flowfabric/operations.hpp>

#include "cli/bulk.hpp"
#include "cli/target.hpp"
#include "cli/top_snapshot.hpp"

namespace flowfabric::cli {

struct ShownExecution {
  ExecutionDescription description{};
  std::optional<ExecutionContext> context{};  // with the payload, if requested
  std::optional<ExecutionResult> result{};
  ListStepsReply steps{};                 // the first of them
  std::optional<ExecutionWaits> waits{};  // what it waits for, if anything
};

struct ShownFlow {
  FlowDescription description{};
  FlowGraph graph{};
};

// An execution whose recorded steps do not fit those that a worker declares.
struct Misfit {
  ExecutionId execution_id{};
  std::string kind{};
  PublicState public_state = PublicState::waiting;
  std::uint32_t position = 0;  // of the first step that does not fit
  std::string step{};
  std::string recorded{};  // both orders, for people
  std::string declared{};
};
struct DeployReport {
  std::uint64_t kinds = 0;
  std::uint64_t examined = 0;
  std::vector<Misfit> misfits{};
};

std::string to_json(const Error& error);
std::string to_json(const ListReply& reply);
std::string to_json(const ShownExecution& shown);
std::string to_json(const ListStepsReply& reply);
std::string to_json(const EventPage& page);
std::string to_json(const Event& event);
std::string to_json(const Created& created);
std::string to_json(const BulkReport& report);
std::string to_json(const LaneInfo& lane);
std::string to_json(const NamespaceInfo& name_space);
std::string to_json(const std::vector<NamespaceInfo>& namespaces);
std::string to_json(const std::vector<LaneView>& lanes);
std::string to_json(const ListWorkersReply& reply);
std::string to_json(const ListExpiredLeasesReply& reply);
std::string to_json(const std::vector<SigningKeyInfo>& keys);
std::string to_json(const KeyRotation& rotation);
std::string to_json(const TopSnapshot& snapshot);
std::string to_json(const DeployReport& report);
std::string to_json(const FlowCreated& created);
std::string to_json(const FlowAdded& added);
std::string to_json(const FlowSealed& sealed);
std::string to_json(const ListFlowsReply& reply);
std::string to_json(const ShownFlow& shown);
std::string to_json(const FlowNodesReply& reply);
std::string to_json(const FlowEdgesReply& reply);
std::string to_json(const FlowGraph& graph);
std::string to_json(const FlowResult& result);
std::string cancelled_flow_to_json(const FlowId& id, const FlowCancelReply& reply);
std::string replayed_flow_to_json(const FlowId& id, const FlowReplayReply& reply);
std::string to_json(const ExecutionWaits& waits);
std::string to_json(const ListWaitsReply& reply);
std::string to_json(const SignalReply& reply);
std::string to_json(const WaitpointToken& token);
std::string waitpoints_to_json(const ExecutionId& id, const std::vector<WaitpointInfo>& waitpoints);
std::string resumed_to_json(const ExecutionId& id);
std::string closed_waitpoint_to_json(const ExecutionId& id, const std::string& waitpoint);
std::string explanation_to_json(const ExecutionDescription& description);
std::string tags_to_json(const ExecutionId& id, const Tags& tags);
std::string revocation_to_json(const ExecutionId& id, const RevokeReply& reply);
std::string worker_to_json(const std::string& name_space, const std::string& worker_instance_id,
                           const std::string& outcome);
std::string retention_to_json(std::uint64_t matched, std::uint64_t removed);
// `repairs` is null for a check that repairs nothing.
std::string integrity_to_json(const std::vector<std::string>& findings, const std::vector<std::string>* repairs);

}  // namespace flowfabric::cli
