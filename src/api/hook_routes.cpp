// Webhooks: the routes of operators, and the one to which senders post.
#include "wire/hook_shapes.hpp"

#include "api/route.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

using bodies::HooksReply;
using bodies::RotateHookBody;

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

HookCall hook_call_of(Call& call) {
  net::Request& request = call.request();
  HookCall hook;
  hook.name = call.parameter("name");
  for (const auto& [name, value] : request.headers) hook.headers.emplace_back(in_lower_case(name), value);
  for (const auto& [name, value] : request.query) hook.query.emplace_back(name, value);
  hook.body = std::move(request.body);
  return hook;
}

Route receiving_route() {
  Route route = described(
      blocking_route<Nothing, HookReply>(ApiRole::viewer, "POST", "/v1/hooks/{name}", "Receive a signed webhook.",
                                         [](Call&, Nothing) { return HookReply{}; }),
      "Any body. The signature is the credential, in the headers that the scheme of the hook defines. A request with a "
      "good signature that cannot be used (the execution has ended, the waitpoint is closed) is answered with status "
      "200 and the outcome `dropped`, so that senders do not repeat it.");
  route.anybody = true;
  route.signed_by_sender = true;
  route.run = [](const std::shared_ptr<Call>& call) {
    call->in_pool([call] { detail::give<HookReply>(*call, 200, call->engine().receive_hook(hook_call_of(*call))); });
  };
  return route;
}

}  // namespace

std::vector<Route> hook_routes() {
  return {
      blocking_route<Nothing, HooksReply>(ApiRole::admin, "GET", "/v1/hooks", "List the webhooks, without secrets.",
                                          [](Call& call, Nothing) -> Result<HooksReply> {
                                            FF_TRY(hooks, call.engine().list_hooks());
                                            if (const auto name_space = call.query("namespace")) {
                                              std::erase_if(hooks, [&](const HookInfo& hook) {
                                                return hook.request.name_space != *name_space;
                                              });
                                            }
                                            return HooksReply{std::move(hooks)};
                                          },
                                          {{"namespace", "Only hooks of this namespace."}}),
      described(blocking_route<HookRequest, NewHook>(
                    ApiRole::admin, "POST", "/v1/hooks", "Create a webhook.",
                    [](Call& call, HookRequest request) {
                      return call.engine().create_hook(std::move(request), call.as_operator({}));
                    },
                    {}, 201),
                "Senders post to /v1/hooks/NAME. The secret is shown only this once."),
      receiving_route(),
      blocking_route<RotateHookBody, NewHook>(
          ApiRole::admin, "POST", "/v1/hooks/{name}/rotate", "Give a webhook a new secret.",
          [](Call& call, RotateHookBody body) {
            return call.engine().rotate_hook(call.parameter("name"), body.grace_ms, std::move(body.secret),
                                             call.as_operator({}));
          }),
      blocking_route<Nothing, HookInfo>(
          ApiRole::admin, "DELETE", "/v1/hooks/{name}", "Remove a webhook.",
          [](Call& call, Nothing) { return call.engine().remove_hook(call.parameter("name"), call.as_operator({})); }),
  };
}

}  // namespace flowfabric::api
