// hooks create, list, rotate, remove: webhooks.
#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/secrets.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/terminal.hpp"
#include "cli/times.hpp"
#include "wire/hook_shapes.hpp"

namespace flowfabric::cli {
namespace {

std::string what_a_hook_does(const HookRequest& hook) {
  if (hook.action == HookAction::create) return "creates " + hook.kind + " on lane " + hook.lane;
  if (!hook.token_at.empty()) return "signals the waitpoint of the token at " + hook.token_at;
  return "signals \"" + hook.waitpoint + "\" of the execution at " + hook.execution_at;
}

Table hooks_table(const std::vector<HookInfo>& hooks) {
  Table table({{"HOOK"}, {"SCHEME"}, {"NAMESPACE"}, {"DOES"}, {"CREATED"}, {"BY"}, {"SECRETS"}});
  for (const HookInfo& hook : hooks) {
    table.add({{hook.request.name},
               {std::string(to_string(hook.request.scheme))},
               {hook.request.name_space},
               {what_a_hook_does(hook.request)},
               {format_time(hook.created_at)},
               {hook.created_by},
               {std::to_string(hook.secrets)}});
  }
  return table;
}

template <class Enum>
Result<Enum> read_named(const Arguments& arguments, const char* option, Enum otherwise) {
  const auto text = arguments.maybe(option);
  if (!text) return otherwise;
  if (const auto found = wire::named<Enum>(*text)) return *found;
  return fail(Errc::invalid_argument,
              std::string(option) + ": must be one of " + wire::allowed_names<Enum>() + ", not \"" + *text + "\"",
              option);
}

// A secret in the arguments would show in the list of processes, so it is read from a file.
Result<std::string> read_secret(const Arguments& arguments) {
  const auto file = arguments.maybe("--secret-file");
  return file ? read_secret_file(*file) : Result<std::string>(std::string());
}

void print_new_hook(const Arguments& arguments, const NewHook& made) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(made));
    return;
  }
  // Alone on stdout, so that a script can capture it.
  fmt::print("{}\n", made.secret);
  std::fflush(stdout);
  fmt::print(stderr, "The sender posts to /v1/hooks/{}. Its secret is shown only this once.\n", made.info.request.name);
}

Result<int> run_create_hook(const Arguments& arguments) {
  HookRequest request;
  request.name = arguments.operands.front();
  request.name_space = arguments.text("--namespace", "default");
  FF_TRY(scheme, read_named(arguments, "--scheme", HookScheme::hmac));
  request.scheme = scheme;
  request.signature_header = arguments.text("--signature-header", "");
  request.signature_prefix = arguments.text("--signature-prefix", "");
  request.execution_at = arguments.text("--execution-at", "");
  request.token_at = arguments.text("--token-at", "");
  request.waitpoint = arguments.text("--waitpoint", "");
  request.signal_name = arguments.text("--signal", "");
  request.kind = arguments.text("--kind", "");
  request.lane = arguments.text("--lane", "default");
  request.idempotency_at = arguments.text("--idempotency-at", "");
  if (!request.kind.empty()) request.action = HookAction::create;
  FF_TRY(secret, read_secret(arguments));
  request.secret = std::move(secret);
  FF_TRY(target, find_target(arguments));
  FF_TRY(made, target->create_hook(request, acting_operator(arguments)));
  print_new_hook(arguments, made);
  return 0;
}

Result<int> run_list_hooks(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(hooks, target->hooks());
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(bodies::HooksReply{hooks}));
  } else if (hooks.empty()) {
    fmt::print("there are no hooks\n");
  } else {
    fmt::print("{}", hooks_table(hooks).render(stdout_look()));
  }
  return 0;
}

Result<int> run_rotate_hook(const Arguments& arguments) {
  std::int64_t grace_ms = 0;
  if (const auto text = arguments.maybe("--grace")) {
    FF_TRY(parsed, parse_duration(*text, "--grace"));
    grace_ms = parsed;
  }
  FF_TRY(secret, read_secret(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(made, target->rotate_hook(arguments.operands.front(), grace_ms, secret, acting_operator(arguments)));
  print_new_hook(arguments, made);
  return 0;
}

Result<int> run_remove_hook(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(removed, target->remove_hook(arguments.operands.front(), acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(removed));
  } else {
    fmt::print("hook \"{}\" is removed; requests to it are refused\n", removed.request.name);
  }
  return 0;
}

}  // namespace

std::vector<Command> hook_commands() {
  return {
      {{"hooks create",
        {"NAME", 1, 1},
        "create a webhook",
        "Creates a webhook and prints its secret. The sender posts to /v1/hooks/NAME and signs with the secret. With\n"
        "--kind each request creates an execution whose payload is the body; otherwise it becomes a signal, and\n"
        "--execution-at (with --waitpoint) or --token-at says for what. A place is header:NAME, query:NAME or a JSON\n"
        "pointer into the body, like /data/object/metadata/execution.",
        options_of_acting({{"--scheme", "SCHEME", "how the sender signs: github, stripe, slack or hmac (hmac)"},
                           {"--signature-header", "NAME", "with hmac: the header of the signature (X-Signature)"},
                           {"--signature-prefix", "TEXT", "with hmac: what stands before it, such as sha256="},
                           {"--secret-file", "FILE", "a secret that the sender has chosen; - for standard input"},
                           {"--namespace", "NAME", "of the executions that it reaches (default)"},
                           {"--execution-at", "PLACE", "where the id of the execution stands"},
                           {"--token-at", "PLACE", "where the token of a waitpoint stands"},
                           {"--waitpoint", "NAME", "the waitpoint of the signal"},
                           {"--signal", "NAME", "the name of the signal (that of the waitpoint)"},
                           {"--kind", "KIND", "create executions of this kind instead"},
                           {"--lane", "LANE", "on this lane (default)"},
                           {"--idempotency-at", "PLACE", "where the id of the request stands"}})},
       run_create_hook},
      {{"hooks list", {}, "list the webhooks", "Lists the webhooks without their secrets.", options_of_reading({})},
       run_list_hooks},
      {{"hooks rotate",
        {"NAME", 1, 1},
        "give a webhook a new secret",
        "Makes a new secret, or takes one from a file, and prints it. The secret before is accepted for --grace.",
        options_of_acting({{"--grace", "DURATION", "how long the older secret is accepted (0)"},
                           {"--secret-file", "FILE", "a secret that the sender has chosen; - for standard input"}})},
       run_rotate_hook},
      {{"hooks remove",
        {"NAME", 1, 1},
        "remove a webhook",
        "Removes a webhook. Requests to it are refused from now on.",
        options_of_acting({})},
       run_remove_hook},
  };
}

}  // namespace flowfabric::cli
