// Validation: every request of every caller is checked here first. Each function refuses invalid input with the name of
// the field, what was wrong and what is allowed; nothing has been read or written by then.
#pragma once

#include <flowfabric/flows.hpp>
#include <flowfabric/operations.hpp>

#include "base/limits.hpp"

namespace flowfabric {

struct IngressLimits {
  std::size_t max_payload_bytes = limits::default_max_payload_bytes;
  std::size_t max_result_bytes = limits::default_max_payload_bytes;
};

// Also normalises the required capabilities: sorted, without duplicates.
Result<void> admit(CreateRequest& request, const IngressLimits& limits);
// The texts and numbers of a flow; its nodes get the namespace, the creator and the trace of the flow. The graph is
// checked by plan_flow.
Result<void> admit(FlowRequest& request, const IngressLimits& limits);
// The same, with nodes that are flows left as they were given.
Result<void> admit_folded(FlowRequest& request, const IngressLimits& limits);
// What is added to a flow. Its namespace is not known here; core/flow_growth.hpp checks and fills in what depends on it.
Result<void> admit(FlowAddition& addition, const IngressLimits& limits);
Result<void> admit_node_names(const std::vector<std::string>& names);
Result<void> admit(const ListFlowsRequest& request);
Result<void> admit_flow_id(const FlowId& id);
Result<void> admit(ClaimRequest& request);
Result<void> admit(const ProgressReport& report);
Result<void> admit(const CompleteRequest& request, const IngressLimits& limits);
Result<void> admit(const FailRequest& request);
Result<void> admit(const StepRequest& request, const IngressLimits& limits);
Result<void> admit_checkpoint(const std::string& bytes, const std::string& encoding, const IngressLimits& limits);
Result<void> admit(const Operator& by);
Result<void> admit(const TagChanges& changes);
Result<void> admit(const ListRequest& request);
Result<void> admit(const EventFilter& filter);
Result<void> admit(const NamespaceInfo& info);
Result<void> admit(const Policy& policy);

// The fleet. Lanes and capabilities are normalised: sorted, without duplicates.
Result<void> admit(WorkerRegistration& registration);
Result<void> admit(const HeartbeatRequest& request);
Result<void> admit(const ListWorkersRequest& request);
Result<void> admit(const ListWorkerLeasesRequest& request);
Result<void> admit(const ListExpiredLeasesRequest& request);
Result<void> admit(GrantRequest& request);
Result<void> admit(ClaimForWorkerRequest& request);
Result<void> admit(RedeemRequest& request);
Result<void> admit(const RetentionRun& run);
Result<void> admit(const ApiKeyRequest& request);
Result<void> admit_worker_name(std::string_view name_space, std::string_view worker_instance_id);
Result<void> admit_death(const Operator& by);
Result<void> admit_grace(std::int64_t grace_ms);

// Refuses keys at submission, for what cannot have one.
Result<void> admit_without_submit_key(const CreateRequest& request, const std::string& why);
Result<void> admit_lane(std::string_view lane, const std::string& field = "lane");
Result<void> admit_namespace(std::string_view name_space, const char* field = "namespace");
Result<void> admit_execution_id(const ExecutionId& id);
Result<void> admit_priority(std::int32_t priority);
// 0 (not set), or from the year 2000 to 9999.
Result<void> admit_time(TimestampMs at, const char* field);
Result<void> admit_delay(std::int64_t delay_ms);
Result<void> admit_lease_ttl(std::uint32_t lease_ttl_ms);
Result<void> admit_wait(std::uint32_t wait_ms);
Result<void> admit_reason(std::string_view reason);
Result<void> admit_handles(const std::vector<Handle>& handles);  // the number only; each handle is verified later
// What stands in the path of a URL.
Result<void> admit_path_segment(std::string_view name, const std::string& field);
Result<void> admit_tag_key(std::string_view key, const std::string& field = "tags");

}  // namespace flowfabric
