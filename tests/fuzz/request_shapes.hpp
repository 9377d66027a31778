// The possible bodies of requests, as types. A test of the API compares the list with the route table, so that a new
// route cannot be forgotten.
#pragma once

#include <tuple>

#include "api/bulk_bodies.hpp"
#include "api/session_bodies.hpp"
#include "wire/budget_shapes.hpp"
#include "wire/dead_letter_shapes.hpp"
#include "wire/fleet_bodies.hpp"
#include "wire/flow_bodies.hpp"
#include "wire/hook_shapes.hpp"
#include "wire/limit_shapes.hpp"
#include "wire/schedule_shapes.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::fuzz {

using RequestShapes =
    std::tuple<ApiKeyRequest, api::BulkBody, api::BulkSignalBody, bodies::CancelHeldBody, bodies::CheckpointBody,
               ClaimForWorkerRequest, ClaimRequest, bodies::CompleteBody, bodies::CompletionsBody,
               bodies::CreateManyBody, CreateRequest, bodies::DecideBody, bodies::DelayBody, bodies::ExtendBody,
               bodies::FailBody, FlowAddition, bodies::FlowCancelBody, bodies::FlowReplayBody, FlowRequest,
               GrantRequest, bodies::HandleBody, bodies::HandlesBody, HeartbeatRequest, bodies::JoinBody,
               bodies::LaneBody, bodies::NamespaceBody, bodies::OpenWaitpointBody, bodies::PriorityBody,
               bodies::ProgressBody, bodies::ReasonBody, RedeemRequest, bodies::ReissueBody, bodies::ReplayBody,
               bodies::RetentionBody, bodies::RevokeBody, bodies::RotateBody, api::SessionBody, bodies::SignalBody,
               bodies::StepBody, bodies::SuspendBody, bodies::TagsBody, bodies::TagsHeldBody, bodies::TokenSignalBody,
               bodies::WorkerBody, WorkerRegistration, HookRequest, bodies::RotateHookBody, ScheduleRequest,
               bodies::ScheduleUpdateBody, bodies::ScheduleBody, bodies::PreviewBody, bodies::TriggerBody,
               bodies::BackfillBody, bodies::LimitBody, LimitCheckRequest, bodies::ChangeBudgetBody, bodies::SpendBody,
               bodies::RedriveBody>;

// Calls visit(T{}) for each of them.
template <class Visit>
void for_each_request_shape(Visit visit) {
  std::apply([&](const auto&... shapes) { (visit(shapes), ...); }, RequestShapes{});
}

}  // namespace flowfabric::fuzz
