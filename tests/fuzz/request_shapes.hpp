// The possible bodies of requests, as types. A test of the API compares the list with the route table, so that a new
// route cannot be forgotten.
#pragma once

#include <tuple>

#include "api/bulk_bodies.hpp"
#include "api/fleet_bodies.hpp"
#include "api/session_bodies.hpp"

namespace flowfabric::fuzz {

using RequestShapes =
    std::tuple<ApiKeyRequest, api::BulkBody, api::CancelHeldBody, api::CheckpointBody, ClaimForWorkerRequest,
               ClaimRequest, api::CompleteBody, api::CompletionsBody, api::CreateManyBody, CreateRequest,
               api::DelayBody, api::FailBody, GrantRequest, api::HandleBody, api::HandlesBody, HeartbeatRequest,
               api::LaneBody, api::NamespaceBody, api::PriorityBody, api::ProgressBody, api::ReasonBody, RedeemRequest,
               api::ReplayBody, api::RetentionBody, api::RevokeBody, api::RotateBody, api::SessionBody, api::StepBody,
               api::TagsBody, api::TagsHeldBody, api::WorkerBody, WorkerRegistration>;

// Calls visit(T{}) for each of them.
template <class Visit>
void for_each_request_shape(Visit visit) {
  std::apply([&](const auto&... shapes) { (visit(shapes), ...); }, RequestShapes{});
}

}  // namespace flowfabric::fuzz
