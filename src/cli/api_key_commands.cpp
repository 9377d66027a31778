// api-keys create, list, revoke: the keys of the HTTP API.
#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/terminal.hpp"
#include "cli/times.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::cli {
namespace {

Table keys_table(const std::vector<ApiKeyInfo>& keys) {
  Table table({{"KEY"}, {"NAME"}, {"ROLE"}, {"NAMESPACE"}, {"CREATED"}, {"BY"}, {"EXPIRES"}});
  for (const ApiKeyInfo& key : keys) {
    table.add({{key.key_id},
               {key.name},
               {std::string(to_string(key.role))},
               {key.name_space.value_or("all")},
               {format_time(key.created_at)},
               {key.created_by},
               {key.expires_at == 0 ? "never" : format_time(key.expires_at)}});
  }
  return table;
}

Result<ApiRole> parse_role(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(ApiRole::admin); ++i) {
    const auto role = static_cast<ApiRole>(i);
    if (to_string(role) == text) return role;
  }
  return fail(Errc::invalid_argument, "--role: must be viewer, worker, operator or admin, not \"" + text + "\"",
              "--role");
}

Result<int> run_create(const Arguments& arguments) {
  ApiKeyRequest request;
  request.name = arguments.operands.front();
  FF_TRY(role, parse_role(arguments.text("--role", "")));
  request.role = role;
  request.name_space = arguments.maybe("--namespace");
  if (const auto text = arguments.maybe("--expires")) {
    FF_TRY(at, parse_time(*text, "--expires"));
    request.expires_at = at;
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(made, target->create_api_key(request, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(made));
  } else {
    // Alone on stdout, so that a script can capture it.
    fmt::print("{}\n", made.secret);
    std::fflush(stdout);
    fmt::print(stderr, "The secret of \"{}\" is shown only this once.\n", made.info.name);
  }
  return 0;
}

Result<int> run_list_of_keys(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(keys, target->api_keys());
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(bodies::ApiKeysReply{keys}));
  } else if (keys.empty()) {
    fmt::print("there are no API keys\n");
  } else {
    fmt::print("{}", keys_table(keys).render(stdout_look()));
  }
  return 0;
}

Result<int> run_revoke(const Arguments& arguments) {
  const std::string& key = arguments.operands.front();
  FF_TRY(target, find_target(arguments));
  FF_TRY(revoked, target->revoke_api_key(key, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(revoked));
  } else {
    fmt::print("\"{}\" is revoked; running servers refuse it within five seconds\n", revoked.name);
  }
  return 0;
}

}  // namespace

std::vector<Command> api_key_commands() {
  return {
      {{"api-keys create",
        {"NAME", 1, 1},
        "create a key for the HTTP API",
        "Creates a key and prints its secret, which clients send as `Authorization: Bearer SECRET`. The store keeps\n"
        "only a hash of it. Roles: viewer can read; worker can also submit, claim and complete; operator can also\n"
        "cancel, replay and change lanes and workers; admin can also manage keys.",
        options_of_acting({{"--role", "ROLE", "viewer, worker, operator or admin"},
                           {"--namespace", "NAME", "restrict the key to this namespace (all)"},
                           {"--expires", "TIME", "when the key expires (never), like 2027-01-02T03:04:05Z"}})},
       run_create},
      {{"api-keys list",
        {},
        "list the keys of the HTTP API",
        "Lists the keys, oldest first, without their secrets.",
        options_of_reading({})},
       run_list_of_keys},
      {{"api-keys revoke",
        {"KEY", 1, 1},
        "revoke a key of the HTTP API",
        "Revokes a key, named by its id or its name. Running servers refuse it within five seconds.",
        options_of_acting({})},
       run_revoke},
  };
}

}  // namespace flowfabric::cli
