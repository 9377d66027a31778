// Waits, signals and approvals.
#include "wire/wait_shapes.hpp"

#include "api/parameters.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

using bodies::DecideBody;
using bodies::OpenWaitpointBody;
using bodies::ReasonBody;
using bodies::ReissueBody;
using bodies::SignalBody;
using bodies::SuspendBody;
using bodies::TokenSignalBody;

using CallPtr = std::shared_ptr<Call>;

const std::string waiting_one = "/v1/executions/{execution_id}";
const std::string one_waitpoint = waiting_one + "/waitpoints/{waitpoint}";

// ---- Signals

void deliver_signal(const CallPtr& call, SignalBody body, Engine::Done<SignalReply> done) {
  const auto id = call->execution_id();
  if (!id) return done(Unexpected(id.error()));
  Result<void> completed = carry_sender(*call, body.source, "source");
  if (completed) completed = carry_idempotency_key(*call, body.idempotency_key);
  if (!completed) return done(Unexpected(completed.error()));
  call->engine().send_signal_async(*id, std::move(body), std::move(done));
}

// The token is the credential: an API key that is sent along is not looked at. Checking a token may read the signing keys
// from the store, so a thread of the pool does it; no thread waits for the commit.
void deliver_by_token(const CallPtr& call, TokenSignalBody body, Engine::Done<SignalReply> done) {
  if (auto carried = carry_idempotency_key(*call, body.idempotency_key); !carried) {
    return done(Unexpected(carried.error()));
  }
  call->in_pool([call, body = std::move(body), done = std::move(done)]() mutable {
    const std::string token = std::move(body.token);
    call->engine().send_signal_by_token_async(token, std::move(body), std::move(done));
  });
}

Result<SignalReply> decide(Call& call, DecideBody body) {
  FF_TRY(id, call.execution_id());
  FF_TRY_VOID(carry_sender(call, body.actor, "actor"));
  return call.engine().decide_approval(
      id, {call.parameter("waitpoint"), body.decision, std::move(body.comment), std::move(body.actor)});
}

Route taking_idempotency_key(Route route) {
  route.headers = {{"Idempotency-Key", "The same as `idempotency_key`."}};
  return route;
}

std::vector<Route> signal_routes() {
  Route by_token = taking_idempotency_key(described(
      async_route<TokenSignalBody, SignalReply>(ApiRole::viewer, "POST", "/v1/signals",
                                                "Send a signal with the token of a waitpoint.", deliver_by_token),
      "The token is the credential. Every token that is not accepted (forged, damaged, expired, revoked, or "
      "signed with a key that is no longer accepted) is refused with the same `invalid_token`."));
  by_token.anybody = true;
  return {
      taking_idempotency_key(described(
          async_route<SignalBody, SignalReply>(ApiRole::worker, "POST", waiting_one + "/signals",
                                               "Send a signal to a waitpoint by its name.", deliver_signal),
          "While no waitpoint of this name is open the signal is kept for the next wait there. With API keys the "
          "sender is the name of the key.")),
      std::move(by_token),
      described(blocking_route<DecideBody, SignalReply>(ApiRole::worker, "POST",
                                                        waiting_one + "/approvals/{waitpoint}/decide",
                                                        "Decide about an open approval.", decide),
                "Each person decides once. With API keys the person is the name of the key."),
  };
}

// ---- Workers

std::vector<Route> suspending_routes() {
  return {
      described(
          blocking_route<SuspendBody, SuspendReply>(ApiRole::worker, "POST", "/v1/leases/suspend", "Wait for signals.",
                                                    [](Call& call, SuspendBody body) -> Result<SuspendReply> {
                                                      const Handle handle = std::move(body.handle);
                                                      return call.engine().suspend(handle, std::move(body));
                                                    }),
          "The lease is released, unless signals that are there already end the wait. The same attempt goes on "
          "with the claim after the end of the wait; the claim has the outcome as `last_wait`."),
      described(blocking_route<OpenWaitpointBody, WaitpointToken>(
                    ApiRole::worker, "POST", "/v1/leases/waitpoints", "Open a waitpoint ahead of a wait.",
                    [](Call& call, OpenWaitpointBody body) -> Result<WaitpointToken> {
                      const Handle handle = std::move(body.handle);
                      return call.engine().open_waitpoint(handle, std::move(body));
                    }),
                "So that its token can be handed out before the execution is suspended. The open waitpoint of that "
                "name, if there is one."),
  };
}

// ---- Reading

Result<ListWaitsReply> list_waits(Call& call, Nothing) {
  ListWaitsRequest request;
  request.name_space = call.query("namespace");
  FF_TRY(approvals, query_flag(call, "approvals"));
  request.approvals = approvals;
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_waits(request);
}

std::vector<Route> wait_reading_routes() {
  std::vector<QueryParameter> parameters = {
      {"namespace", "Only executions of this namespace."},
      flag_parameter("approvals", "Only those that wait for the decision of people: the inbox."),
  };
  for (QueryParameter& parameter : paging_parameters()) parameters.push_back(std::move(parameter));
  return {
      blocking_route<Nothing, ExecutionWaits>(ApiRole::viewer, "GET", waiting_one + "/waits",
                                              "Get what it waits for: its wait, waitpoints and signals.",
                                              [](Call& call, Nothing) -> Result<ExecutionWaits> {
                                                FF_TRY(id, call.execution_id());
                                                return call.engine().describe_waits(id);
                                              }),
      blocking_route<Nothing, ListWaitsReply>(ApiRole::viewer, "GET", "/v1/waits",
                                              "List suspended executions, those that have waited longest first.",
                                              list_waits, std::move(parameters)),
  };
}

// ---- Operating

Result<WaitpointToken> reissue(Call& call, ReissueBody body) {
  FF_TRY(id, call.execution_id());
  return call.engine().reissue_token(
      id, {call.parameter("waitpoint"), std::move(body.source), body.token_ttl_ms, body.revoke_earlier},
      call.as_operator(std::move(body.reason)));
}

std::vector<Route> wait_operating_routes() {
  return {
      described(
          blocking_route<ReasonBody, Nothing>(
              ApiRole::operating, "POST", waiting_one + "/resume", "End its wait by force.",
              [](Call& call, ReasonBody body) -> Result<Nothing> {
                FF_TRY(id, call.execution_id());
                FF_TRY_VOID(call.engine().resume(id, call.as_operator(std::move(body.reason))));
                return Nothing{};
              }),
          "The worker that claims it is told the cause `operator`, and by whom. `conflict` if it is not suspended."),
      described(blocking_route<ReasonBody, Nothing>(ApiRole::operating, "POST", one_waitpoint + "/close",
                                                    "Close a waitpoint: it takes no more signals.",
                                                    [](Call& call, ReasonBody body) -> Result<Nothing> {
                                                      FF_TRY(id, call.execution_id());
                                                      FF_TRY_VOID(call.engine().close_waitpoint(
                                                          id, call.parameter("waitpoint"),
                                                          call.as_operator(std::move(body.reason))));
                                                      return Nothing{};
                                                    }),
                "`conflict` if the wait could never end then."),
      described(blocking_route<ReissueBody, WaitpointToken>(ApiRole::operating, "POST", one_waitpoint + "/reissue",
                                                            "Issue a new token of an open waitpoint.", reissue),
                "Tokens are not stored, so a lost one cannot be shown again. Earlier tokens stay valid unless "
                "`revoke_earlier` is set."),
  };
}

}  // namespace

std::vector<Route> wait_routes() {
  std::vector<Route> all = suspending_routes();
  for (auto& more : {signal_routes(), wait_reading_routes(), wait_operating_routes()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace flowfabric::api
