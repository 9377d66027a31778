#include "api/bodies.hpp"
#include "api/route.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

constexpr std::uint32_t max_parked_ms = 60000;

void claim(const CallPtr& call, ClaimRequest request, Engine::Done<ClaimReply> done) {
  if (request.wait_ms > max_parked_ms) {
    return done(
        fail(Errc::invalid_argument,
             "wait_ms: is " + std::to_string(request.wait_ms) + "; allowed are 0 to " + std::to_string(max_parked_ms),
             "wait_ms"));
  }
  call->engine().claim_async(std::move(request),
                             [done = std::move(done)](Result<std::vector<ClaimedExecution>> claimed) {
                               if (!claimed) return done(tl::unexpected(claimed.error()));
                               done(ClaimReply{std::move(*claimed)});
                             });
}

void complete(const CallPtr& call, CompleteBody body, Engine::Done<Nothing> done) {
  const Handle handle = std::move(body.handle);
  call->engine().complete_async(handle, std::move(body), [done = std::move(done)](const Result<void>& outcome) {
    if (!outcome) return done(tl::unexpected(outcome.error()));
    done(Nothing{});
  });
}

void fail_attempt(const CallPtr& call, FailBody body, Engine::Done<FailReply> done) {
  FailRequest request;
  request.category = std::move(body.category);
  request.message = std::move(body.message);
  request.retryable = body.retryable;
  call->engine().fail_async(body.handle, std::move(request), std::move(done));
}

Result<Verdicts> renew(Call& call, HandlesBody body) {
  if (body.handles.size() > limits::max_page) {
    return fail(Errc::invalid_argument,
                "handles: has " + std::to_string(body.handles.size()) + " entries; allowed are at most " +
                    std::to_string(limits::max_page),
                "handles");
  }
  return Verdicts{items(call.engine().renew_many(body.handles))};
}

}  // namespace

std::vector<Route> worker_routes() {
  return {
      async_route<ClaimRequest, ClaimReply>(ApiRole::worker, "POST", "/v1/claims",
                                            "Claim work; parks while there is none.", claim),
      blocking_route<HandlesBody, Verdicts>(ApiRole::worker, "POST", "/v1/leases/renew", "Renew leases.", renew),
      async_route<CompleteBody, Nothing>(ApiRole::worker, "POST", "/v1/leases/complete",
                                         "End an execution with success.", complete),
      async_route<FailBody, FailReply>(ApiRole::worker, "POST", "/v1/leases/fail", "Say that the attempt failed.",
                                       fail_attempt),
      blocking_route<ProgressBody, Nothing>(ApiRole::worker, "POST", "/v1/leases/progress", "Report progress.",
                                            [](Call& call, ProgressBody body) -> Result<Nothing> {
                                              FF_TRY_VOID(call.engine().report_progress(
                                                  body.handle, {body.percent, std::move(body.message)}));
                                              return Nothing{};
                                            }),
      blocking_route<DelayBody, DelayReply>(ApiRole::worker, "POST", "/v1/leases/delay",
                                            "Go on later with the same attempt.",
                                            [](Call& call, DelayBody body) -> Result<DelayReply> {
                                              return call.engine().delay(body.handle, body.delay_until);
                                            }),
  };
}

}  // namespace flowfabric::api
