// waits list, show; waitpoints list, close, reissue; approvals list, decide; executions resume.
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "cli/wait_show.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t waits_shown = 50;
constexpr const char* or_all_waits = ", or show everything with --all";

// ---- Reading

Result<ListWaitsReply> wait_pages(Target& target, const Arguments& arguments, bool approvals) {
  ListWaitsRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.approvals = approvals;
  FF_TRY(page, read_page_options(arguments, waits_shown, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(reply, target.waits(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target.waits(request));
    std::move(more.waits.begin(), more.waits.end(), std::back_inserter(reply.waits));
    reply.next_cursor = std::move(more.next_cursor);
  }
  return reply;
}

Result<int> list_waiting(const Arguments& arguments, bool approvals) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, wait_pages(*target, arguments, approvals));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
    return 0;
  }
  if (reply.waits.empty()) {
    fmt::print("{}\n", approvals ? "nothing waits for an approval" : "no execution is suspended");
  } else {
    fmt::print("{}", (approvals ? approvals_table(reply.waits) : waits_table(reply.waits)).render(stdout_look()));
  }
  print_more(reply.next_cursor, or_all_waits);
  return 0;
}

Result<int> run_waits_list(const Arguments& arguments) { return list_waiting(arguments, arguments.has("--approvals")); }
Result<int> run_approvals_list(const Arguments& arguments) { return list_waiting(arguments, true); }

Result<int> run_waits_show(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(target, find_target(arguments));
  FF_TRY(waits, target->waits_of(id));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(waits));
    return 0;
  }
  const std::string text = waits_text(waits, stdout_look());
  fmt::print("{}", text.empty() ? to_string(id) + " waits for nothing\n" : to_string(id) + "\n" + text);
  return 0;
}

Result<int> run_waitpoints_list(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(target, find_target(arguments));
  FF_TRY(waits, target->waits_of(id));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(ShownWaitpoints{id, waits.waitpoints}));
  } else if (waits.waitpoints.empty()) {
    fmt::print("no open waitpoints\n");
  } else {
    fmt::print("{}", waitpoints_table(waits.waitpoints).render(stdout_look()));
  }
  return 0;
}

// ---- Acting

Result<int> run_waitpoints_close(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  const std::string& waitpoint = arguments.operands.back();
  FF_TRY(target, find_target(arguments));
  FF_TRY_VOID(target->close_waitpoint(id, waitpoint, acting_operator(arguments)));
  fmt::print("{}", arguments.has("--json")
                       ? to_json(ClosedWaitpoint{id, waitpoint}) + "\n"
                       : fmt::format("waitpoint \"{}\" of {} is closed\n", printable(waitpoint), to_string(id)));
  return 0;
}

Result<WaitpointToken> reissued_token(const Arguments& arguments, Target& target, const std::string& source) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  ReissueRequest request;
  request.waitpoint = arguments.operands.back();
  request.source = source;
  if (const auto ttl = arguments.maybe("--ttl")) {
    FF_TRY(ttl_ms, parse_duration(*ttl, "--ttl"));
    request.token_ttl_ms = ttl_ms;
  }
  request.revoke_earlier = arguments.has("--revoke-earlier");
  return target.reissue_token(id, std::move(request), acting_operator(arguments));
}

Result<int> run_waitpoints_reissue(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(token, reissued_token(arguments, *target, arguments.text("--source", "")));
  fmt::print("{}\n", arguments.has("--json") ? to_json(token) : token.token);
  return 0;
}

// The address before /approve: what was given, or that of the server that is asked.
Result<std::string> address_of_links(const Arguments& arguments, const Target& target) {
  std::string address = arguments.text("--base", target.name());
  while (address.ends_with('/')) address.pop_back();
  if (address.starts_with("http://") || address.starts_with("https://")) return address;
  return fail(
      Errc::invalid_argument,
      arguments.maybe("--base")
          ? "--base: must begin with http:// or https://"
          : "--base: is missing; a store has no address, so give that of a server, like https://jobs.example.com",
      "--base");
}

Result<int> run_approvals_link(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(address, address_of_links(arguments, *target));
  // Of a waitpoint that people do not decide about the page would be refused.
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(waits, target->waits_of(id));
  for (const WaitpointInfo& waitpoint : waits.waitpoints) {
    if (waitpoint.name != arguments.operands.back() || waitpoint.approval) continue;
    return fail(Errc::invalid_argument, "APPROVAL: waitpoint \"" + waitpoint.name + "\" is not an approval",
                "APPROVAL");
  }
  FF_TRY(token, reissued_token(arguments, *target, arguments.text("--for", "")));
  fmt::print("{}/approve/{}\n", address, token.token);
  return 0;
}

Result<ApprovalDecision> read_decision(const std::string& word) {
  for (const ApprovalDecision decision : {ApprovalDecision::approve, ApprovalDecision::reject}) {
    if (word == to_string(decision)) return decision;
  }
  return fail(Errc::invalid_argument, "DECISION: unknown value \"" + word + "\"; allowed: approve, reject", "DECISION");
}

Result<int> run_approvals_decide(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  DecideRequest request;
  request.waitpoint = arguments.operands.at(1);
  FF_TRY(decision, read_decision(arguments.operands.at(2)));
  request.decision = decision;
  request.comment = arguments.text("--comment", "");
  request.actor = arguments.text("--actor", "");
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->decide_approval(id, std::move(request), acting_operator(arguments)));
  fmt::print("{}", arguments.has("--json") ? to_json(reply) + "\n" : signal_sentence(reply));
  return 0;
}

Result<int> run_resume(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(target, find_target(arguments));
  FF_TRY_VOID(target->resume(id, acting_operator(arguments)));
  fmt::print("{}", arguments.has("--json") ? to_json(Resumed{id}) + "\n" : to_string(id) + " is resumed\n");
  return 0;
}

std::vector<OptionSpec> waits_options(bool with_approvals) {
  std::vector<OptionSpec> options = {{"--namespace", "NAME", "only executions of this namespace"}};
  if (with_approvals) options.push_back({"--approvals", "", "only those that wait for the decision of people"});
  for (OptionSpec& option : page_options(waits_shown)) options.push_back(std::move(option));
  return options_of_reading(std::move(options));
}

std::vector<Command> waitpoint_commands() {
  return {
      {{"waitpoints list",
        {"ID", 1, 1},
        "list the open waitpoints of an execution",
        "Lists the open waitpoints of an execution: those that it waits for, and those that it has opened ahead of a\n"
        "wait.",
        options_of_reading({})},
       run_waitpoints_list},
      {{"waitpoints close",
        {"ID WAITPOINT", 2, 2},
        "close a waitpoint",
        "Closes a waitpoint: it takes no more signals, and its tokens are refused. Signals that have counted still "
        "count.\n"
        "Refused if the wait could never end then; `executions resume` ends a wait.",
        options_of_acting({})},
       run_waitpoints_close},
      {{"waitpoints reissue",
        {"ID WAITPOINT", 2, 2},
        "issue a new token of a waitpoint",
        "Prints a new token of an open waitpoint. Whoever has it can send signals there: treat it as a password.\n"
        "Earlier tokens stay valid unless --revoke-earlier is given.",
        options_of_acting({{"--source", "NAME", "the token speaks for this sender (for anybody)"},
                           {"--ttl", "DURATION", "how long it is accepted, like 24h (as the first one)"},
                           {"--revoke-earlier", "", "refuse the tokens that were issued before"}})},
       run_waitpoints_reissue},
  };
}

std::vector<Command> approval_commands() {
  std::vector<OptionSpec> deciding = {
      {"--comment", "TEXT", "why"},
      {"--actor", "NAME", "the person (on a store you; on a server with API keys the name of the key)"}};
  return {
      {{"approvals list",
        {},
        "list what waits for the decision of people",
        "Lists the approvals that executions wait for, those that have waited longest first.",
        waits_options(false)},
       run_approvals_list},
      {{"approvals decide",
        {"ID APPROVAL DECISION", 3, 3},
        "approve or reject",
        "Decides about an open approval of an execution: approve or reject. Each person decides once.",
        options_of_reading(std::move(deciding))},
       run_approvals_decide},
      {{"approvals link",
        {"ID APPROVAL", 2, 2},
        "make a link to approve or reject",
        "Prints a new link to the page of an open approval. Whoever has it can decide there, without an API key: send "
        "it\n"
        "to one person. Links made before stay valid unless --revoke-earlier is given.",
        options_of_acting({{"--for", "NAME", "the link speaks for this person (the page asks for a name)"},
                           {"--base", "URL", "address of the server as people reach it (that of --store)"},
                           {"--ttl", "DURATION", "how long it is accepted, like 24h (as the first one)"},
                           {"--revoke-earlier", "", "refuse the links that were made before"}})},
       run_approvals_link},
  };
}

}  // namespace

std::vector<Command> wait_commands() {
  std::vector<Command> all = {
      {{"waits list",
        {},
        "list suspended executions",
        "Lists the executions that wait for signals or decisions, those that have waited longest first.",
        waits_options(true)},
       run_waits_list},
      {{"waits show",
        {"ID", 1, 1},
        "show what an execution waits for",
        "Shows the wait of an execution with its condition, the open waitpoints, the approvals with the decisions so\n"
        "far, the signals that no wait has used yet, and how the last wait ended.",
        options_of_reading({})},
       run_waits_show},
      {{"executions resume",
        {"ID", 1, 1},
        "end the wait of a suspended execution by force",
        "Ends the wait of a suspended execution. The worker that claims it is told the cause `operator`, by whom and "
        "why.",
        options_of_acting({})},
       run_resume},
  };
  for (auto part : {waitpoint_commands(), approval_commands()})
    std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

}  // namespace flowfabric::cli
