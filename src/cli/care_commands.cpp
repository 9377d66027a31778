// leases expired, keys list, keys rotate, retention run.
#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {
namespace {

// ---- leases ---------------------------------------------------------------------------------------------------------

constexpr std::uint32_t default_leases = 100;

Table leases_table(const std::vector<ExpiredLease>& leases) {
  Table table({{"EXECUTION"},
               {"NAMESPACE", false, true},
               {"EXPIRED"},
               {"CAUSE"},
               {"WORKER", false, true},
               {"ATTEMPT", true},
               {"EPOCH", true}});
  for (const ExpiredLease& lease : leases) {
    table.add({{to_string(lease.execution_id)},
               {lease.name_space},
               time_cell(lease.expires_at),
               {lease.cause == LeaseLoss::none ? "not processed yet" : std::string(to_string(lease.cause))},
               {lease.worker_instance_id},
               {fmt::format("{}", lease.attempt_index)},
               {fmt::format("{}", lease.lease_epoch)}});
  }
  return table;
}

Result<int> run_leases_expired(const Arguments& arguments) {
  ListExpiredLeasesRequest request;
  if (const auto as_of = arguments.maybe("--as-of")) {
    FF_TRY(at, parse_time(*as_of, "--as-of"));
    request.as_of = at;
  }
  request.name_space = arguments.maybe("--namespace");
  request.cursor = arguments.text("--cursor", "");
  FF_TRY(limit, arguments.number("--limit", default_leases, 1, limits::max_expired_leases_page));
  request.limit = static_cast<std::uint32_t>(limit);
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->expired_leases(request));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.leases.empty()) {
    fmt::print("no expired leases\n");
  } else {
    fmt::print("{}", leases_table(reply.leases).render(stdout_look()));
    print_more(reply.next_cursor);
  }
  return 0;
}

// ---- keys -----------------------------------------------------------------------------------------------------------

Table keys_table(const std::vector<SigningKeyInfo>& keys) {
  Table table({{"KEY", true}, {"CREATED"}, {"ACCEPTED UNTIL"}});
  for (const SigningKeyInfo& key : keys) {
    table.add({{fmt::format("{}", key.key_id)},
               time_cell(key.created_at),
               key.expires_at == 0 ? Cell{"current", Tone::good} : time_cell(key.expires_at)});
  }
  return table;
}

Result<int> run_keys_list(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(keys, target->keys());
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(bodies::KeysReply{keys}));
  } else if (keys.empty()) {
    fmt::print("this store has no keys yet; the first engine creates one\n");
  } else {
    fmt::print("{}", keys_table(keys).render(stdout_look()));
  }
  return 0;
}

Result<int> run_keys_rotate(const Arguments& arguments) {
  FF_TRY(grace_ms, parse_duration(arguments.text("--grace", "1h"), "--grace"));
  FF_TRY(agreed, confirm(fmt::format("sign with a new key and refuse handles signed by older keys after {}?",
                                     format_duration(grace_ms)),
                         arguments));
  if (!agreed) return exit_declined;
  FF_TRY(target, find_target(arguments));
  FF_TRY(rotation, target->rotate_keys(grace_ms, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(rotation));
  } else {
    fmt::print("key {} is now the signing key\n{}", rotation.key_id, keys_table(rotation.keys).render(stdout_look()));
  }
  return 0;
}

// ---- retention ------------------------------------------------------------------------------------------------------

std::string retention_question(const RetentionRun& run) {
  std::string text = "remove ended executions";
  if (run.name_space) text += " of namespace " + *run.name_space;
  if (run.lane) text += " on lane " + *run.lane;
  if (run.tag) text += " with the tag " + run.tag->first + "=" + run.tag->second;
  return text + (run.older_than_ms ? " that ended " + format_duration(*run.older_than_ms) + " ago or earlier?"
                                   : " whose retention is over?");
}

Result<int> run_retention(const Arguments& arguments) {
  RetentionRun run;
  run.name_space = arguments.maybe("--namespace");
  run.lane = arguments.maybe("--lane");
  if (const auto text = arguments.maybe("--tag")) {
    FF_TRY(tag, parse_tag(*text, "--tag"));
    run.tag = std::move(tag);
  }
  if (const auto text = arguments.maybe("--older-than")) {
    FF_TRY(older_than_ms, parse_duration(*text, "--older-than"));
    run.older_than_ms = older_than_ms;
  }
  run.dry_run = arguments.has("--dry-run");
  if (!run.dry_run) {
    FF_TRY(agreed, confirm(retention_question(run), arguments));
    if (!agreed) return exit_declined;
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(matched, target->run_retention(run, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(bodies::RetentionReply{matched, run.dry_run ? 0 : matched}));
  } else {
    fmt::print("{} {}\n", counted(matched, "execution"), run.dry_run ? "would be removed" : "removed");
  }
  return 0;
}

}  // namespace

std::vector<Command> care_commands() {
  return {
      {{"leases expired",
        {},
        "list expired and revoked leases that wait for a reclaim",
        "Lists leases that expired or were revoked and whose executions have not been claimed again, oldest first.",
        options_of_reading({{"--as-of", "TIME", "leases expired by this time (now), like 2026-01-02T03:04:05Z"},
                            {"--namespace", "NAME", "only executions of this namespace"},
                            {"--limit", "N", fmt::format("page size ({})", default_leases)},
                            {"--cursor", "CURSOR", "continue after an earlier page"}})},
       run_leases_expired},
      {{"keys list",
        {},
        "list the signing keys",
        "Lists the keys whose signatures are accepted, oldest first, without their secrets.",
        options_of_reading({})},
       run_keys_list},
      {{"keys rotate",
        {},
        "sign with a new key",
        "Creates a new signing key. Handles and grants that older keys signed are accepted for the grace period; "
        "workers\n"
        "that hold a lease for longer must have renewed it by then.",
        options_of_acting({{"--grace", "DURATION", "how long older keys are accepted (1h)"}, yes_option()})},
       run_keys_rotate},
      {{"retention run",
        {},
        "remove executions that ended long ago",
        "Removes ended executions with all their data: those whose retention is over, or with --older-than all that\n"
        "ended that long ago or longer, regardless of their policy. This cannot be undone.",
        options_of_acting({{"--older-than", "DURATION", "time since the end, like 12h or 7d"},
                           {"--namespace", "NAME", "only executions of this namespace"},
                           {"--lane", "NAME", "only executions of this lane"},
                           {"--tag", "KEY=VALUE", "only executions with this tag"},
                           {"--dry-run", "", "only count what would be removed"},
                           yes_option()})},
       run_retention},
  };
}

}  // namespace flowfabric::cli
