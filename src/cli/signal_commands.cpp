// signals send.
#include <iostream>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/secrets.hpp"
#include "cli/signal_options.hpp"
#include "cli/target.hpp"
#include "cli/wait_show.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::cli {
namespace {

Unexpected<Error> wrong_signal(const std::string& option, const std::string& message) {
  return fail(Errc::invalid_argument, option + ": " + message, option);
}

// The text itself, or with @ the content of a file.
Result<std::string> payload_content(const std::string& given) {
  if (!given.starts_with('@')) return given;
  if (given == "@-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  auto content = read_text_file(given.substr(1));
  if (!content) return wrong_signal("--payload", content.error().message);
  return content;
}

Result<std::optional<std::string>> read_token(const Arguments& arguments) {
  const auto token = arguments.maybe("--token");
  const auto file = arguments.maybe("--token-file");
  if (token && file) return wrong_signal("--token-file", "is given beside --token; give one of them");
  if (!file) return token;
  auto content = read_secret_file(*file);
  if (!content) return wrong_signal("--token-file", content.error().message);
  return std::optional(std::move(*content));
}

Result<SignalReply> deliver(const Arguments& arguments) {
  FF_TRY(token, read_token(arguments));
  FF_TRY(request, read_signal(arguments));
  if (token) {
    if (!arguments.operands.empty()) {
      return wrong_signal("ID", "the token says which execution and waitpoint; give no ID and no WAITPOINT with it");
    }
    FF_TRY(target, find_target(arguments));
    return target->send_signal_by_token(*token, std::move(request));
  }
  if (arguments.operands.empty()) return wrong_signal("ID", "is missing; give ID and WAITPOINT, or --token");
  if (arguments.operands.size() < 2) return wrong_signal("WAITPOINT", "is missing");
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  request.waitpoint = arguments.operands.back();
  FF_TRY(target, find_target(arguments));
  return target->send_signal(id, std::move(request));
}

Result<int> run_signals_send(const Arguments& arguments) {
  FF_TRY(reply, deliver(arguments));
  fmt::print("{}", arguments.has("--json") ? to_json(reply) + "\n" : signal_sentence(reply));
  return 0;
}

}  // namespace

std::vector<OptionSpec> signal_options() {
  return {{"--name", "NAME", "name of the signal (that of the waitpoint)"},
          {"--payload", "JSON", "the payload, or @FILE to read it from a file, @- from stdin"},
          {"--payload-encoding", "LABEL", "label of the payload (json, if it is JSON)"},
          {"--source", "NAME", "the sender (on a server with API keys the name of the key)"},
          {"--key", "KEY", "idempotency key: repeating the command with it does nothing"}};
}

Result<SignalRequest> read_signal(const Arguments& arguments) {
  SignalRequest request;
  request.name = arguments.text("--name", "");
  request.source = arguments.text("--source", "");
  request.idempotency_key = arguments.text("--key", "");
  if (const auto given = arguments.maybe("--payload")) {
    FF_TRY(content, payload_content(*given));
    request.payload = std::move(content);
  }
  const auto label = arguments.maybe("--payload-encoding");
  if (label) request.payload_encoding = *label;
  if (!label && wire::is_one_json_text(request.payload)) request.payload_encoding = "json";
  return request;
}

std::vector<Command> signal_commands() {
  std::vector<OptionSpec> options = signal_options();
  options.push_back({"--token", "TOKEN", "a token of the waitpoint, instead of ID and WAITPOINT"});
  options.push_back({"--token-file", "FILE", "file that contains the token"});
  return {
      {{"signals send",
        {"ID WAITPOINT", 0, 2},
        "send a signal to an execution",
        "Delivers a signal to a waitpoint of an execution: by the name of the waitpoint, or with its token. By name "
        "the\n"
        "waitpoint need not be open yet; the signal is then kept for the next wait there. With --token a server needs\n"
        "no API key. `executions signal` sends one to many executions.",
        options_of_reading(std::move(options))},
       run_signals_send},
  };
}

}  // namespace flowfabric::cli
