#include "api/bulk.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/check.hpp"

namespace flowfabric::api {
namespace {

constexpr std::size_t max_threads = 32;  // calls that wait at the same time share commits

const std::vector<PublicState> open_states = {
    PublicState::waiting, PublicState::delayed,   PublicState::rate_limited, PublicState::waiting_children,
    PublicState::active,  PublicState::suspended, PublicState::resumable};
const std::vector<PublicState> ended_states = {PublicState::completed, PublicState::failed, PublicState::cancelled,
                                               PublicState::expired, PublicState::skipped};

const std::vector<PublicState>& applies_to(BulkVerb verb) {
  return verb == BulkVerb::replay ? ended_states : open_states;
}

std::vector<PublicState> usual_states(BulkVerb verb) {
  return verb == BulkVerb::replay ? std::vector{PublicState::failed} : open_states;
}

Result<BulkSuccess> act_on_one(Engine& engine, const BulkOrder& order, const ExecutionId& id) {
  BulkSuccess success;
  success.execution_id = id;
  switch (order.verb) {
    case BulkVerb::cancel: {
      FF_TRY(reply, engine.cancel(id, order.by));
      success.already_cancelled = reply.already_cancelled;
      break;
    }
    case BulkVerb::replay: {
      FF_TRY(reply, engine.replay_execution(id, order.by));
      success.replay_count = reply.replay_count;
      success.public_state = reply.public_state;
      break;
    }
    case BulkVerb::priority:
      FF_TRY_VOID(engine.change_priority(id, order.priority, order.by));
      success.priority = order.priority;
      break;
  }
  return success;
}

bool has_moved_on(const BulkFailure& failure) {
  const Errc code = failure.error.code;
  return code == Errc::not_found || code == Errc::already_terminal || code == Errc::not_terminal;
}

}  // namespace

bool is_change(const BulkSuccess& success) { return !success.already_cancelled.value_or(false); }

Result<ListRequest> filter_for(BulkVerb verb, ListRequest filter, const std::string& field) {
  const std::vector<PublicState>& possible = applies_to(verb);
  for (const PublicState state : filter.states) {
    if (std::find(possible.begin(), possible.end(), state) != possible.end()) continue;
    return fail(Errc::invalid_argument,
                field + ": " + std::string(to_string(verb)) + " cannot be applied to executions that are " +
                    std::string(flowfabric::to_string(state)),
                field);
  }
  if (filter.states.empty()) filter.states = usual_states(verb);
  return filter;
}

BulkTally act_on(Engine& engine, const BulkOrder& order, const std::vector<ExecutionId>& ids) {
  std::vector<Result<BulkSuccess>> outcomes(ids.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::min(max_threads, ids.size()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < ids.size(); at = next++) outcomes[at] = act_on_one(engine, order, ids[at]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  BulkTally tally;
  tally.matched = ids.size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!outcomes[i]) {
      tally.failures.push_back({ids[i], std::move(outcomes[i]).error()});
      continue;
    }
    (is_change(*outcomes[i]) ? tally.changed : tally.unchanged) += 1;
    tally.results.push_back(std::move(*outcomes[i]));
  }
  return tally;
}

void pass_over_moved(BulkTally& tally) { tally.skipped += std::erase_if(tally.failures, has_moved_on); }

}  // namespace flowfabric::api
