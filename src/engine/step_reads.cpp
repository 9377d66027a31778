// Reading the durable steps of an execution.
#include "base/check.hpp"
#include "base/limits.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr auto step_kind = static_cast<std::uint8_t>(SatelliteKind::step);
constexpr std::size_t names_shown = 20;

// Steps that were forgotten, by a retry or a replay, lie there until they are written over: the facts say which count.
Result<ListStepsReply> steps_of(Store& store, const Execution& execution, std::uint32_t from, std::uint32_t limit) {
  ListStepsReply reply;
  const StepIndex& index = execution.facts.steps;
  while (!index.positions(from, 1).empty()) {
    if (reply.steps.size() == limit) {
      reply.next_position = index.positions(from, 1).front();
      break;
    }
    const auto wanted = static_cast<std::uint32_t>(limit - reply.steps.size());
    FF_TRY(satellites, store.load_satellites(execution_key(execution.id), step_kind, from, wanted));
    if (satellites.empty()) break;
    for (const Satellite& satellite : satellites) {
      from = satellite.name.n + 1;
      if (!index.contains(satellite.name.n)) continue;
      FF_TRY(step, decode_step(satellite.body));
      reply.steps.push_back(std::move(step));
    }
  }
  return reply;
}

}  // namespace

Result<ListStepsReply> steps(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit) {
  if (limit == 0 || limit > limits::max_page) {
    return fail(Errc::invalid_argument,
                "limit: is " + std::to_string(limit) + "; allowed: 1 to " + std::to_string(limits::max_page), "limit");
  }
  FF_TRY(execution, load_execution(store, id));
  return steps_of(store, execution, from, limit);
}

Result<StepPlace> find_step(Store& store, const ExecutionId& id, const std::string& name) {
  FF_TRY(execution, load_execution(store, id));
  std::string names;
  std::size_t shown = 0;
  std::uint32_t from = 0;
  do {
    FF_TRY(page, steps_of(store, execution, from, limits::max_page));
    for (const Step& step : page.steps) {
      if (step.name == name) return StepPlace{step.position, execution.facts.replay_count};
      if (shown++ < names_shown) names += (names.empty() ? "" : ", ") + step.name;
    }
    from = page.next_position;
  } while (from != 0);
  const std::string there = names.empty() ? "it has recorded none" : "recorded are: " + names;
  return fail(Errc::not_found, "from_step: the execution has no recorded step \"" + name + "\"; " + there, "from_step");
}

}  // namespace flowfabric::reads
