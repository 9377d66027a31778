#include "sdk/batch_call.hpp"

#include "sdk/handler_call.hpp"

namespace flowfabric {

namespace sdk {

bool BatchEntry::answer(Settlement settlement) {
  if (answered) return false;
  answered = true;
  return settle(std::move(settlement));
}

void call_batch_handler(std::vector<BatchEntry>& entries, const BatchHandler& handler) {
  std::vector<BatchTask> tasks;
  tasks.reserve(entries.size());
  for (BatchEntry& entry : entries) tasks.emplace_back(entry);
  TaskBatch batch(std::move(tasks));
  Settlement rest = CompleteRequest{};
  try {
    handler(batch);
  } catch (const Abandon&) {
    throw;
  } catch (...) {
    rest = settlement_of_exception();
  }
  for (BatchEntry& entry : entries) entry.answer(rest);
}

}  // namespace sdk

const ClaimedExecution& BatchTask::execution() const { return entry_->task->execution(); }
std::stop_token BatchTask::stop_token() const { return entry_->task->stop_token(); }
bool BatchTask::answered() const { return entry_->answered; }

bool BatchTask::progress(std::uint8_t percent, std::optional<std::string> message) {
  if (entry_->answered || cancelled()) return false;
  Task view(*entry_->task);
  try {
    view.progress(percent, std::move(message));
    return true;
  } catch (const TaskStopped&) {
    return false;  // which is no reason to leave the others
  }
}

bool BatchTask::complete_with(Bytes result) {
  CompleteRequest request;
  request.result = std::move(result.bytes);
  request.result_encoding = std::move(result.encoding);
  return entry_->answer(std::move(request));
}

bool BatchTask::fail(const std::string& message, const std::string& category) {
  return entry_->answer(sdk::failure_request(category, message, FailRequest::Retryable::by_policy));
}

bool BatchTask::fail_permanently(const std::string& message, const std::string& category) {
  return entry_->answer(sdk::failure_request(category, message, FailRequest::Retryable::never));
}

bool BatchTask::retry_after(std::chrono::milliseconds delay, const std::string& message) {
  FailRequest request = sdk::failure_request("retry_after", message, FailRequest::Retryable::by_policy);
  request.retry_after_ms = delay.count();
  return entry_->answer(std::move(request));
}

bool BatchTask::delay(std::chrono::milliseconds time) {
  return entry_->answer(sdk::Delay{entry_->task->store_now() + time.count()});
}

}  // namespace flowfabric
