// executions create.
#include <iostream>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/complaint.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/secrets.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::cli {
namespace {

Unexpected<Error> wrong(const std::string& option, const std::string& message) {
  return fail(Errc::invalid_argument, option + ": " + message, option);
}

Result<std::string> file_content(const std::string& name) {
  if (name == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  auto content = read_text_file(name);
  if (!content) return wrong("--payload-file", content.error().message);
  return content;
}

// As over HTTP: bytes that are JSON get the label `json`, unless they are given another one.
Result<void> read_payload(const Arguments& arguments, CreateRequest& request) {
  const auto text = arguments.maybe("--payload");
  const auto file = arguments.maybe("--payload-file");
  if (text && file) return wrong("--payload-file", "is given beside --payload; give one of them");
  if (text) request.payload = *text;
  if (file) {
    FF_TRY(content, file_content(*file));
    request.payload = std::move(content);
  }
  const auto label = arguments.maybe("--payload-encoding");
  if (label) request.payload_encoding = *label;
  if (!label && wire::is_one_json_text(request.payload)) request.payload_encoding = "json";
  return {};
}

// A duration counts from now by the clock of the store; else it is a time.
Result<void> read_moment(const Arguments& arguments, const std::string& option, std::optional<std::int64_t>& from_now,
                         TimestampMs& at) {
  const auto given = arguments.maybe(option);
  if (!given) return {};
  if (const auto duration = parse_duration(*given, option)) {
    from_now = *duration;
    return {};
  }
  auto time = parse_time(*given, option);
  if (!time) {
    return wrong(option,
                 "must be a duration like 30s or 2h, or a time like 2026-01-02T03:04:05Z, not \"" + *given + "\"");
  }
  at = *time;
  return {};
}

// Options that mean nothing without another one.
Result<void> only_beside(const Arguments& arguments, const std::string& key, const std::vector<std::string>& options) {
  if (arguments.has(key)) return {};
  for (const std::string& option : options) {
    if (arguments.has(option)) return wrong(option, "is given without " + key);
  }
  return {};
}

Result<void> read_unique(const Arguments& arguments, CreateRequest& request) {
  FF_TRY_VOID(only_beside(arguments, "--unique", {"--on-conflict"}));
  const auto key = arguments.maybe("--unique");
  if (!key) return {};
  request.unique = UniqueKey{*key};
  const auto rule = arguments.maybe("--on-conflict");
  if (!rule) return {};
  auto parsed = parse_on_conflict(*rule);
  if (!parsed) return wrong("--on-conflict", parsed.error().message);
  request.unique->on_conflict = *parsed;
  return {};
}

Result<void> read_debounce(const Arguments& arguments, CreateRequest& request) {
  FF_TRY_VOID(only_beside(arguments, "--debounce", {"--debounce-delay", "--debounce-max-wait"}));
  const auto key = arguments.maybe("--debounce");
  if (!key) return {};
  const auto delay = arguments.maybe("--debounce-delay");
  if (!delay) return wrong("--debounce-delay", "is missing; --debounce needs it");
  request.debounce = Debounce{*key};
  FF_TRY(delay_ms, parse_duration(*delay, "--debounce-delay"));
  request.debounce->delay_ms = delay_ms;
  const auto max_wait = arguments.maybe("--debounce-max-wait");
  if (!max_wait) return {};
  FF_TRY(max_wait_ms, parse_duration(*max_wait, "--debounce-max-wait"));
  request.debounce->max_wait_ms = max_wait_ms;
  return {};
}

Result<void> read_throttle(const Arguments& arguments, CreateRequest& request) {
  FF_TRY_VOID(only_beside(arguments, "--throttle", {"--throttle-count", "--throttle-period", "--on-throttle"}));
  const auto key = arguments.maybe("--throttle");
  if (!key) return {};
  const auto period = arguments.maybe("--throttle-period");
  if (!period) return wrong("--throttle-period", "is missing; --throttle needs it");
  request.throttle = Throttle{*key};
  FF_TRY(period_ms, parse_duration(*period, "--throttle-period"));
  request.throttle->period_ms = period_ms;
  FF_TRY(count, arguments.signed_number("--throttle-count", 1, 1, limits::max_rate_count));
  request.throttle->count = static_cast<std::uint32_t>(count);
  const auto rule = arguments.maybe("--on-throttle");
  if (!rule) return {};
  auto parsed = parse_on_throttle(*rule);
  if (!parsed) return wrong("--on-throttle", parsed.error().message);
  request.throttle->on_limit = *parsed;
  return {};
}

Result<CreateRequest> read_request(const Arguments& arguments) {
  CreateRequest request;
  const auto kind = arguments.maybe("--kind");
  if (!kind) return wrong("--kind", "is missing");
  request.kind = *kind;
  request.name_space = arguments.text("--namespace", request.name_space);
  request.lane = arguments.text("--lane", request.lane);
  FF_TRY_VOID(read_payload(arguments, request));
  FF_TRY(priority, arguments.signed_number("--priority", 0, limits::min_priority, limits::max_priority));
  request.priority = static_cast<std::int32_t>(priority);
  for (const std::string& word : arguments.all("--tag")) {
    FF_TRY(tag, parse_tag(word, "--tag"));
    request.tags[tag.first] = tag.second;
  }
  FF_TRY(capabilities, read_list(arguments, "--require"));
  request.required_capabilities = std::move(capabilities);
  FF_TRY_VOID(read_moment(arguments, "--delay", request.delay_ms, request.delay_until));
  FF_TRY_VOID(read_moment(arguments, "--deadline", request.deadline_ms, request.deadline_at));
  if (const auto policy = arguments.maybe("--policy")) {
    auto parsed = parse_policy_json(*policy);
    if (!parsed) return wrong("--policy", parsed.error().message);
    request.policy = std::move(*parsed);
  }
  request.idempotency_key = arguments.text("--idempotency-key", "");
  FF_TRY_VOID(read_unique(arguments, request));
  FF_TRY_VOID(read_debounce(arguments, request));
  FF_TRY_VOID(read_throttle(arguments, request));
  request.creator = arguments.text("--creator", "");
  if (const auto id = arguments.maybe("--id")) {
    auto uuid = parse_uuid(*id);
    if (!uuid) return wrong("--id", uuid.error().message);
    request.id = *uuid;
  }
  return request;
}

// What the id alone does not tell.
std::string note_on(const Created& created) {
  switch (created.outcome) {
    case CreateOutcome::created: return {};
    case CreateOutcome::duplicate: return "nothing new, an earlier request with this key or id created it";
    case CreateOutcome::returned: return "nothing new, this execution has the unique key";
    case CreateOutcome::replaced: return "created; cancelled " + to_string(*created.replaced) + ", which had the key";
    case CreateOutcome::debounced: return "nothing new, this execution waits and has the new input now";
    case CreateOutcome::throttled: return "nothing new, the throttle lets no more in; this is the last one created";
  }
  return {};
}

Result<int> run_create(const Arguments& arguments) {
  FF_TRY(request, read_request(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(created, target->create(std::move(request)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(created));
    return 0;
  }
  fmt::print("{}\n", to_string(created.execution_id));
  const std::string note = note_on(created);
  if (!note.empty()) fmt::print(stderr, "flowfabric executions create: {}\n", note);
  return 0;
}

}  // namespace

std::vector<Command> create_commands() {
  return {
      {{"executions create",
        {},
        "create an execution",
        "Creates an execution and prints its id. A payload that is JSON is labelled json, as over HTTP. Delays and\n"
        "deadlines are a duration from now by the clock of the store, or a time.",
        options_of_reading({{"--kind", "NAME", "selects the handler; required"},
                            {"--lane", "NAME", "the queue (default)"},
                            {"--namespace", "NAME", "namespace of the execution (default)"},
                            {"--payload", "TEXT", "the payload"},
                            {"--payload-file", "FILE", "read the payload from a file, - for stdin"},
                            {"--payload-encoding", "LABEL", "label of the payload"},
                            {"--priority", "N", "higher first, -32768 to 32767 (0)"},
                            {"--tag", "KEY=VALUE", "give it this tag", true},
                            {"--require", "WORDS", "capabilities that a worker must offer, like gpu,eu", true},
                            {"--delay", "TIME", "not claimable before: 10m, or 2026-01-02T03:04:05Z"},
                            {"--deadline", "TIME", "must have ended by then: 2h, or 2026-01-02T03:04:05Z"},
                            {"--policy", "JSON", "retries, timeouts, retention, like {\"retry\":{\"max_retries\":3}}"},
                            {"--idempotency-key", "KEY", "repeating the command with this key creates nothing new"},
                            {"--unique", "KEY", "at most one execution that has not ended has this key"},
                            {"--on-conflict", "RULE", "if another has it: reject (default), return it, or replace it"},
                            {"--debounce", "KEY", "one execution for creates that come shortly after each other"},
                            {"--debounce-delay", "TIME", "it starts when none has come for so long, like 10s"},
                            {"--debounce-max-wait", "TIME", "it starts so long after the first at the latest"},
                            {"--throttle", "KEY", "create only so many with this key in a period"},
                            {"--throttle-count", "N", "how many (1)"},
                            {"--throttle-period", "TIME", "the period, like 1m"},
                            {"--on-throttle", "RULE", "others: reject (default), or return the last one created"},
                            {"--creator", "NAME", "who asked for it"},
                            {"--id", "UUID", "the UUID of its id; generated by default"}})},
       run_create}};
}

}  // namespace flowfabric::cli
