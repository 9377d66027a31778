#include <atomic>

#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/bodies.hpp"
#include "wire/budget_shapes.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

// Replies with more than this are not encoded by a thread of the engine.
constexpr std::size_t max_encoded_at_once = 1024;

bool is_small(const std::vector<ClaimedExecution>& claimed) {
  return claimed.empty() || (claimed.size() == 1 && claimed.front().payload.size() <= max_encoded_at_once &&
                             claimed.front().steps.empty() && !claimed.front().checkpoint);
}

void claim(const CallPtr& call, ClaimRequest request, Engine::Done<ClaimReply> done) {
  if (request.wait_ms > max_parked_ms) {
    return done(
        fail(Errc::invalid_argument,
             "wait_ms: is " + std::to_string(request.wait_ms) + "; allowed: 0 to " + std::to_string(max_parked_ms),
             "wait_ms"));
  }
  const auto ticket = call->engine().claim_async(
      std::move(request), [call, done = std::move(done)](Result<std::vector<ClaimedExecution>> claimed) {
        if (!claimed) return done(Unexpected(claimed.error()));
        const bool small = is_small(*claimed);
        const auto reply = std::make_shared<ClaimReply>(ClaimReply{std::move(*claimed)});
        small ? done(std::move(*reply)) : call->off_engine_thread([done, reply] { done(std::move(*reply)); });
      });
  call->on_abandoned([&engine = call->engine(), ticket] { engine.withdraw_claim(ticket); });
}

void complete(const CallPtr& call, CompleteBody body, Engine::Done<Nothing> done) {
  const Handle handle = std::move(body.handle);
  call->engine().complete_async(handle, std::move(body), [done = std::move(done)](const Result<void>& outcome) {
    if (!outcome) return done(Unexpected(outcome.error()));
    done(Nothing{});
  });
}

void fail_attempt(const CallPtr& call, FailBody body, Engine::Done<FailReply> done) {
  const Handle handle = std::move(body.handle);
  call->engine().fail_async(handle, std::move(body), std::move(done));
}

void release(const CallPtr& call, const HandleBody& body, Engine::Done<Nothing> done) {
  call->engine().release_async(body.handle, [done = std::move(done)](const Result<void>& outcome) {
    if (!outcome) return done(Unexpected(outcome.error()));
    done(Nothing{});
  });
}

Result<DelayReply> delay(Call& call, const DelayBody& body) {
  if (body.delay_until.has_value() == body.delay_ms.has_value()) {
    return fail(Errc::invalid_argument, "delay_ms: give either delay_ms or delay_until", "delay_ms");
  }
  return body.delay_ms ? call.engine().delay_for(body.handle, *body.delay_ms)
                       : call.engine().delay(body.handle, *body.delay_until);
}

Result<Verdicts> renew(Call& call, const HandlesBody& body) {
  FF_TRY_VOID(check_count("handles", body.handles.size()));
  return Verdicts{items(call.engine().renew_many(body.handles))};
}

// ---- Many ends in one call

Engine::Done<CompletionsReply> encoded_elsewhere(const CallPtr& call, Engine::Done<CompletionsReply> done) {
  return [call, done = std::move(done)](const Result<CompletionsReply>& reply) {
    call->off_engine_thread([done, reply] { done(reply); });
  };
}

// Collects results from any thread; the last one sends the response.
class Gathering {
 public:
  Gathering(std::size_t count, Engine::Done<CompletionsReply> done) : left_(count), done_(std::move(done)) {
    reply_.results.resize(count);
  }
  void put(std::size_t at, Item<CompletionDone> item) {
    reply_.results[at] = std::move(item);
    if (left_.fetch_sub(1) == 1) done_(std::move(reply_));
  }

 private:
  CompletionsReply reply_;
  std::atomic<std::size_t> left_;
  Engine::Done<CompletionsReply> done_;
};

Result<void> check_completions(const std::vector<Completion>& completions) {
  FF_TRY_VOID(check_count("completions", completions.size()));
  for (std::size_t i = 0; i < completions.size(); ++i) {
    if (completions[i].complete.has_value() != completions[i].fail.has_value()) continue;
    const std::string field = "completions[" + std::to_string(i) + "]";
    return fail(Errc::invalid_argument, field + ": must have exactly one of complete and fail", field);
  }
  return {};
}

void end_one(Engine& engine, Completion completion, const std::shared_ptr<Gathering>& gathering, std::size_t at) {
  if (completion.complete) {
    engine.complete_async(completion.handle, std::move(*completion.complete),
                          [gathering, at](const Result<void>& outcome) {
                            if (!outcome) return gathering->put(at, {{}, outcome.error()});
                            gathering->put(at, {CompletionDone{}, {}});
                          });
  } else {
    engine.fail_async(completion.handle, std::move(*completion.fail), [gathering, at](Result<FailReply> outcome) {
      if (!outcome) return gathering->put(at, {{}, outcome.error()});
      gathering->put(at, {CompletionDone{std::move(*outcome)}, {}});
    });
  }
}

void end_many(const CallPtr& call, CompletionsBody body, Engine::Done<CompletionsReply> done) {
  if (auto checked = check_completions(body.completions); !checked) return done(Unexpected(checked.error()));
  if (body.completions.empty()) return done(CompletionsReply{});
  const auto gathering = std::make_shared<Gathering>(body.completions.size(), encoded_elsewhere(call, std::move(done)));
  for (std::size_t i = 0; i < body.completions.size(); ++i) {
    end_one(call->engine(), std::move(body.completions[i]), gathering, i);
  }
}

}  // namespace

std::vector<Route> worker_routes() {
  return {
      async_route<ClaimRequest, ClaimReply>(ApiRole::worker, "POST", "/v1/claims",
                                            "Claim executions; with `wait_ms` it waits while there are none.", claim),
      async_route<CompletionsBody, CompletionsReply>(
          ApiRole::worker, "POST", "/v1/completions",
          "Complete or fail up to 1,000 attempts; each request succeeds or fails independently.", end_many),
      blocking_route<HandlesBody, Verdicts>(ApiRole::worker, "POST", "/v1/leases/renew", "Renew up to 1,000 leases.",
                                            renew),
      async_route<CompleteBody, Nothing>(ApiRole::worker, "POST", "/v1/leases/complete", "Complete an execution.",
                                         complete),
      async_route<FailBody, FailReply>(ApiRole::worker, "POST", "/v1/leases/fail", "Report that the attempt failed.",
                                       fail_attempt),
      blocking_route<ProgressBody, Nothing>(ApiRole::worker, "POST", "/v1/leases/progress", "Report progress.",
                                            [](Call& call, ProgressBody body) -> Result<Nothing> {
                                              FF_TRY_VOID(call.engine().report_progress(
                                                  body.handle, {body.percent, std::move(body.message)}));
                                              return Nothing{};
                                            }),
      described(
          blocking_route<SpendBody, SpendReply>(ApiRole::worker, "POST", "/v1/leases/spend",
                                                "Report what the execution has spent.",
                                                [](Call& call, SpendBody body) -> Result<SpendReply> {
                                                  const Handle handle = std::move(body.handle);
                                                  return call.engine().spend(handle, std::move(body));
                                                }),
          "Counts in every budget that the execution is under, or in none: `budget_exceeded` if a hard limit does not "
          "allow it."),
      async_route<StepBody, StepReply>(ApiRole::worker, "POST", "/v1/leases/steps",
                                       "Record the outcome of a durable step.",
                                       [](const CallPtr& call, StepBody body, Engine::Done<StepReply> done) {
                                         const Handle handle = std::move(body.handle);
                                         call->engine().record_step_async(handle, std::move(body), std::move(done));
                                       }),
      blocking_route<CheckpointBody, Nothing>(
          ApiRole::worker, "POST", "/v1/leases/checkpoint", "Replace the checkpoint of the execution.",
          [](Call& call, CheckpointBody body) -> Result<Nothing> {
            FF_TRY_VOID(call.engine().store_checkpoint(body.handle, std::move(body.bytes), std::move(body.encoding)));
            return Nothing{};
          }),
      blocking_route<TagsHeldBody, TagsReply>(
          ApiRole::worker, "POST", "/v1/leases/tags", "Set and remove tags of the execution.",
          [](Call& call, TagsHeldBody body) -> Result<TagsReply> {
            FF_TRY(tags, call.engine().change_tags_held(body.handle, {std::move(body.set), std::move(body.remove)}));
            return TagsReply{std::move(tags)};
          }),
      blocking_route<DelayBody, DelayReply>(ApiRole::worker, "POST", "/v1/leases/delay",
                                            "Release the lease and continue the same attempt later.", delay),
      described(async_route<HandleBody, Nothing>(ApiRole::worker, "POST", "/v1/leases/release",
                                                 "Give the lease back now.", release),
                "The execution is claimable at once, and the next claim continues the same attempt. No retry and no "
                "reclaim is counted. For workers that stop, or that got more work than they can do."),
      blocking_route<CancelHeldBody, CancelReply>(ApiRole::worker, "POST", "/v1/leases/cancel", "Cancel the execution.",
                                                  [](Call& call, CancelHeldBody body) -> Result<CancelReply> {
                                                    return call.engine().cancel_held(body.handle,
                                                                                     std::move(body.reason));
                                                  }),
  };
}

}  // namespace flowfabric::api
