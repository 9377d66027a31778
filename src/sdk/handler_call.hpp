// Calls a handler and turns whatever comes out of it into the end of the attempt.
#pragma once

#include <flowfabric/handler.hpp>

#include "sdk/running_task.hpp"
#include "sdk/step_plan.hpp"

namespace flowfabric::sdk {

// With a plan the handler must keep to it.
Settlement call_handler(RunningTask& task, const Handler& handler, const StepPlan* plan = nullptr);

// Of the exception that is being handled; nothing else may be.
Settlement settlement_of_exception();

// Texts are cut to what the engine takes.
FailRequest failure_request(const std::string& category, const std::string& message, FailRequest::Retryable retryable);

}  // namespace flowfabric::sdk
