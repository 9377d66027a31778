#include "sdk/handler_call.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric::sdk {
namespace {

using Retryable = FailRequest::Retryable;

constexpr std::size_t ellipsis_bytes = 3;

Settlement completed(RunningTask& task, const Handler& handler, const StepPlan* plan) {
  Task view(task, plan);
  Bytes result = handler(view);
  view.check_steps_reached();
  CompleteRequest complete;
  complete.result = std::move(result.bytes);
  complete.result_encoding = std::move(result.encoding);
  return complete;
}

}  // namespace

FailRequest failure_request(const std::string& category, const std::string& message, Retryable retryable) {
  FailRequest request;
  const bool usable = !category.empty() && is_valid_utf8(category) && !has_control_characters(category);
  request.category = usable ? clipped(category, limits::max_category_bytes - ellipsis_bytes) : "error";
  request.message =
      is_valid_utf8(message) ? clipped(message, limits::max_message_bytes - ellipsis_bytes) : "the message is no UTF-8";
  request.retryable = retryable;
  return request;
}

Settlement call_handler(RunningTask& task, const Handler& handler, const StepPlan* plan) {
  try {
    return completed(task, handler, plan);
  } catch (const Abandon&) {
    throw;
  } catch (...) {
    return settlement_of_exception();
  }
}

Settlement settlement_of_exception() {
  try {
    throw;
  } catch (LeaveHandler& leave) {
    return std::move(leave.settlement);
  } catch (const TaskStopped&) {
    return GiveBack{};
  } catch (const PermanentFailure& error) {
    return failure_request(error.category(), error.what(), Retryable::never);
  } catch (const StepFailed& error) {
    return failure_request(error.category(), "step " + error.step() + ": " + error.what(),
                           error.permanent() ? Retryable::never : Retryable::by_policy);
  } catch (const HandlerChanged& error) {
    return failure_request("handler_changed", error.what(), Retryable::by_policy);
  } catch (const BudgetExceeded& error) {
    return failure_request("budget_exceeded", error.what(), Retryable::by_policy);
  } catch (const RetryAfter& error) {
    FailRequest request = failure_request("retry_after", error.what(), Retryable::by_policy);
    request.retry_after_ms = error.delay().count();
    return request;
  } catch (const std::exception& error) {
    return failure_request("error", error.what(), Retryable::by_policy);
  } catch (...) {
    return failure_request("error", "the handler threw something that is no std::exception", Retryable::by_policy);
  }
}

}  // namespace flowfabric::sdk
