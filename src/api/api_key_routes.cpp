#include "api/route.hpp"
#include "base/check.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::api {
namespace {

Result<NewApiKey> create_key(Call& call, ApiKeyRequest request) {
  return call.engine().create_api_key(std::move(request), call.as_operator({}));
}

Result<ApiKeyInfo> revoke_key(Call& call, Nothing) {
  auto revoked = call.engine().revoke_api_key(call.parameter("key"), call.as_operator({}));
  call.gatekeeper().forget();
  return revoked;
}

Result<ApiKeysReply> list_keys(Call& call, Nothing) {
  FF_TRY(keys, call.engine().list_api_keys());
  if (const auto name_space = call.query("namespace")) {
    std::erase_if(keys, [&](const ApiKeyInfo& key) { return key.name_space != name_space; });
  }
  return ApiKeysReply{std::move(keys)};
}

Result<CallerReply> who_am_i(Call& call, Nothing) {
  const Caller& caller = call.caller();
  return CallerReply{caller.name, caller.role, caller.name_space};
}

}  // namespace

std::vector<Route> api_key_routes() {
  Route whoami = blocking_route<Nothing, CallerReply>(ApiRole::viewer, "GET", "/v1/whoami",
                                                      "Show the name, role and namespace of your API key.", who_am_i);
  whoami.keeps_to_namespace = true;
  return {
      std::move(whoami),
      blocking_route<Nothing, ApiKeysReply>(ApiRole::admin, "GET", "/v1/api-keys",
                                            "List all API keys, oldest first, without their secrets.", list_keys,
                                            {{"namespace", "Only keys that are restricted to this namespace."}}),
      blocking_route<ApiKeyRequest, NewApiKey>(ApiRole::admin, "POST", "/v1/api-keys",
                                               "Create an API key. The secret is shown only this once.", create_key, {},
                                               201),
      blocking_route<Nothing, ApiKeyInfo>(
          ApiRole::admin, "DELETE", "/v1/api-keys/{key}",
          "Revoke an API key, by its id or its name. Other servers on the store refuse it "
          "within five seconds.",
          revoke_key),
  };
}

}  // namespace flowfabric::api
