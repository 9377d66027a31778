#include "api/bulk.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "base/check.hpp"

namespace flowfabric::api {
namespace {

const std::vector<PublicState> open_states = {
    PublicState::waiting, PublicState::delayed,   PublicState::rate_limited, PublicState::waiting_children,
    PublicState::active,  PublicState::suspended, PublicState::resumable};
const std::vector<PublicState> ended_states = {PublicState::completed, PublicState::failed, PublicState::cancelled,
                                               PublicState::expired, PublicState::skipped};

const std::vector<PublicState>& applies_to(BulkVerb verb) {
  return verb == BulkVerb::replay ? ended_states : open_states;
}

std::vector<PublicState> usual_states(BulkVerb verb) {
  if (verb == BulkVerb::signal) return {PublicState::suspended};
  return verb == BulkVerb::replay ? std::vector{PublicState::failed} : open_states;
}

// What comes of all of them, from threads of the engine; `take` waits for the last.
class Outcomes {
 public:
  explicit Outcomes(std::size_t count) : outcomes_(count), missing_(count) {}

  void put(std::size_t at, Result<BulkSuccess> outcome) {
    const std::lock_guard lock(mutex_);
    outcomes_[at] = std::move(outcome);
    if (--missing_ == 0) complete_.notify_all();
  }
  std::vector<Result<BulkSuccess>> take() {
    std::unique_lock lock(mutex_);
    complete_.wait(lock, [&] { return missing_ == 0; });
    return std::move(outcomes_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable complete_;
  std::vector<Result<BulkSuccess>> outcomes_;
  std::size_t missing_;
};

void begin_one(Engine& engine, const BulkOrder& order, const ExecutionId& id,
               const std::function<void(Result<BulkSuccess>)>& done) {
  BulkSuccess success;
  success.execution_id = id;
  switch (order.verb) {
    case BulkVerb::cancel:
      return engine.cancel_async(id, order.by, [success, done](const Result<CancelReply>& reply) mutable {
        if (!reply) return done(Unexpected(reply.error()));
        success.already_cancelled = reply->already_cancelled;
        done(std::move(success));
      });
    case BulkVerb::replay: {
      auto note = [success, done](const Result<ReplayReply>& reply) mutable {
        if (!reply) return done(Unexpected(reply.error()));
        success.replay_count = reply->replay_count;
        success.public_state = reply->public_state;
        done(std::move(success));
      };
      // The place of the step has to be read first, which blocks.
      if (order.from_step) return note(engine.replay_execution(id, order.by, order.from_step));
      return engine.replay_async(id, order.by, std::move(note));
    }
    case BulkVerb::priority:
      return engine.change_priority_async(id, order.priority, order.by,
                                          [success, done, &order](const Result<void>& reply) mutable {
                                            if (!reply) return done(Unexpected(reply.error()));
                                            success.priority = order.priority;
                                            done(std::move(success));
                                          });
    case BulkVerb::signal:
      return engine.send_signal_async(id, order.signal, [success, done](const Result<SignalReply>& reply) mutable {
        if (!reply) return done(Unexpected(reply.error()));
        success.signal = *reply;
        done(std::move(success));
      });
  }
}

bool has_moved_on(const BulkFailure& failure) {
  const Errc code = failure.error.code;
  return code == Errc::not_found || code == Errc::already_terminal || code == Errc::not_terminal;
}

}  // namespace

bool is_change(const BulkSuccess& success) {
  if (success.signal) return !success.signal->duplicate && success.signal->effect != SignalEffect::ignored;
  return !success.already_cancelled.value_or(false);
}

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
  // The engine has no thread for each of them, and needs none: they share its commits.
  const auto gathered = std::make_shared<Outcomes>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    begin_one(engine, order, ids[i],
              [gathered, i](Result<BulkSuccess> outcome) { gathered->put(i, std::move(outcome)); });
  }
  std::vector<Result<BulkSuccess>> outcomes = gathered->take();
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
