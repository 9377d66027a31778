#include <flowfabric/task.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <set>
#include <thread>

#include "base/entropy.hpp"
#include "sdk/running_task.hpp"
#include "sdk/steps.hpp"

namespace flowfabric {

namespace {

constexpr std::size_t max_side_by_side = 16;
constexpr std::uint32_t inputs_page = 1000;
constexpr std::chrono::milliseconds first_spawn_pause{50};
constexpr std::chrono::milliseconds longest_spawn_pause{2'000};

// Each child has a join edge to the node that spawns it: that node handles its failure, and can wait for it.
FlowAddition addition_of(const std::vector<Child>& children, const ClaimedExecution& parent) {
  FlowAddition addition;
  for (const Child& child : children) {
    FlowNode node;
    node.name = child.name;
    node.request.kind = child.kind;
    node.request.name_space = parent.name_space;
    node.request.payload = child.input.bytes;
    node.request.payload_encoding = child.input.encoding;
    node.request.lane = child.options.lane.empty() ? parent.lane : child.options.lane;
    node.request.priority = child.options.priority;
    node.request.tags = child.options.tags;
    node.request.required_capabilities = child.options.required_capabilities;
    node.request.policy = child.options.policy;
    addition.nodes.push_back(std::move(node));
    addition.edges.push_back({child.name, parent.node, EdgeKind::join, {}});
  }
  return addition;
}

// The lease is in order, and the same addition would be refused again.
bool refuses_addition(Errc code) {
  return code == Errc::invalid_argument || code == Errc::payload_too_large || code == Errc::conflict ||
         code == Errc::unsupported || code == Errc::not_eligible || code == Errc::lane_closed;
}

}  // namespace

Task::Task(sdk::RunningTask& running, const sdk::StepPlan* plan)
    : running_(running), steps_(std::make_unique<sdk::Steps>(running, plan)) {}
Task::~Task() = default;

const ClaimedExecution& Task::execution() const { return running_.execution(); }
std::stop_token Task::stop_token() const { return running_.stop_token(); }
std::string Task::stop_reason() const { return running_.stop_reason(); }

void Task::check_stopped() const {
  if (cancelled()) throw TaskStopped(stop_reason());
}

void Task::progress(std::uint8_t percent, std::optional<std::string> message) {
  check_stopped();
  const auto reported = running_.gateway().progress(running_.handle(), {percent, std::move(message)});
  // Progress is for people: if nobody can be told now, the work goes on.
  if (reported || sdk::is_passing(reported.error())) return;
  if (reported.error().code == Errc::invalid_argument) throw std::invalid_argument(reported.error().message);
  running_.lose("the lease is lost: " + reported.error().message);
  check_stopped();
}

Bytes Task::run_step(std::string_view name, const StepOptions& options, const StepWork& work) {
  Step step = steps_->run(steps_->reserve(name), options, work);
  return {std::move(step.result), std::move(step.result_encoding)};
}

// The handler's own thread takes part, so that this ends even when no other thread can be had.
std::vector<Bytes> Task::run_all(std::vector<AnyStep> steps) {
  std::vector<sdk::Steps::Place> places;
  for (const AnyStep& step : steps) places.push_back(steps_->reserve(step.name));
  for (auto& place : places) place.group_end = places.back().position;
  std::vector<Bytes> results(steps.size());
  std::vector<std::exception_ptr> failures(steps.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < steps.size(); i = next++) {
      try {
        Step step = steps_->run(places[i], steps[i].options, steps[i].work);
        results[i] = {std::move(step.result), std::move(step.result_encoding)};
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t wanted = std::min(steps.size(), max_side_by_side);
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
    work();
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return results;
}

void Task::sleep(std::string_view name, std::chrono::milliseconds duration) {
  steps_->sleep(steps_->reserve(name), duration);
}

void Task::spawn_all(std::vector<Child> children) {
  if (children.empty()) return;
  const std::string name = "spawn " + children.front().name;
  run_step(name, {}, [&](const std::stop_token& stop) -> Bytes {
    const FlowAddition addition = addition_of(children, execution());
    for (auto wait = first_spawn_pause;; wait = std::min(wait * 2, longest_spawn_pause)) {
      check_stopped();
      const auto added = running_.gateway().extend_flow(running_.handle(), addition);
      if (added) return {};
      if (refuses_addition(added.error().code)) throw PermanentFailure(added.error().message, "spawn_refused");
      if (!sdk::is_passing(added.error())) {
        running_.lose("the lease is lost: " + added.error().message);
        check_stopped();
      }
      running_.gateway().pause(wait, stop);
    }
  });
}

std::vector<ChildResult> Task::join(const std::vector<std::string>& names) {
  check_stopped();
  std::map<std::string, ChildResult> ended = ended_children(names);
  if (ended.size() < std::set<std::string>(names.begin(), names.end()).size())
    throw sdk::LeaveHandler{sdk::Join{names}};
  std::vector<ChildResult> results;
  results.reserve(names.size());
  for (const std::string& name : names) results.push_back(ended.at(name));
  return results;
}

// The claim has brought the first inputs along; the others are read.
std::map<std::string, ChildResult> Task::ended_children(const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::map<std::string, ChildResult> ended;
  const auto take = [&](const std::vector<FlowInput>& inputs) {
    for (const FlowInput& input : inputs) {
      if (!wanted.contains(input.name) || ended.contains(input.name)) continue;
      ChildResult child{
          input.name, input.execution_id, input.outcome, {input.result, input.result_encoding}, input.failure};
      if (input.by_reference) child.result = result_by_reference(input);
      ended.emplace(input.name, std::move(child));
    }
  };
  take(inputs());
  for (std::uint32_t next = execution().next_input; next != 0 && ended.size() < wanted.size();) {
    const auto more = running_.gateway().list_flow_inputs(id(), next, inputs_page);
    if (!more) throw std::runtime_error("what the nodes left cannot be read: " + more.error().message);
    take(more->inputs);
    next = more->next_input;
  }
  return ended;
}

Bytes Task::result_by_reference(const FlowInput& input) {
  auto result = running_.gateway().wait(input.execution_id, std::chrono::milliseconds(0));
  if (!result) {
    throw std::runtime_error("the result of node \"" + input.name + "\" cannot be read: " + result.error().message);
  }
  return {std::move(result->result), std::move(result->result_encoding)};
}

TimestampMs Task::now() { return steps_->note(steps_->reserve("now")).recorded_at; }

std::uint64_t Task::random() {
  return static_cast<std::uint64_t>(step("random", [] { return static_cast<std::int64_t>(system_entropy()()); }));
}

Uuid Task::uuid() {
  const std::string text = step("uuid", [] { return to_string(random_uuid(system_entropy())); });
  const auto uuid = parse_uuid(text);
  if (!uuid) throw std::runtime_error("a recorded uuid cannot be read: " + uuid.error().message);
  return *uuid;
}

void Task::store_checkpoint(Bytes bytes) {
  check_stopped();
  check_written(running_.gateway().store_checkpoint(running_.handle(), std::move(bytes)));
}

void Task::tag(Tags set, std::vector<std::string> remove) {
  check_stopped();
  check_written(running_.gateway().change_tags(running_.handle(), {std::move(set), std::move(remove)}));
}

void Task::check_written(const Result<void>& written) {
  if (written) return;
  const Errc code = written.error().code;
  if (sdk::is_passing(written.error())) throw std::runtime_error(written.error().message);
  if (code == Errc::invalid_argument || code == Errc::payload_too_large) {
    throw std::invalid_argument(written.error().message);
  }
  running_.lose("the lease is lost: " + written.error().message);
  check_stopped();
}

void Task::check_steps_reached() { steps_->finish(); }

void Task::cancel(std::string reason) { throw sdk::LeaveHandler{sdk::CancelHeld{std::move(reason)}}; }

}  // namespace flowfabric
