// flows submit, add, seal, wait, cancel, replay.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/flow_show.hpp"
#include "cli/json_out.hpp"
#include "cli/progress.hpp"
#include "cli/secrets.hpp"
#include "cli/signals.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/flow_shapes.hpp"

namespace flowfabric::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int exit_not_completed = 1;
constexpr std::int64_t wait_step_ms = 1000;  // Ctrl-C is noticed, and progress is shown, within this time

// ---- Waiting

Result<std::optional<std::int64_t>> read_wait_timeout(const Arguments& arguments) {
  const auto given = arguments.maybe("--timeout");
  if (!given) return std::optional<std::int64_t>{};
  FF_TRY(timeout_ms, parse_duration(*given, "--timeout"));
  return std::optional<std::int64_t>{timeout_ms};
}

// Progress of a flow, on a terminal.
class FlowProgress {
 public:
  explicit FlowProgress(bool shown) {
    if (shown) display_.emplace();
  }
  void show(const FlowResult& result) {
    if (display_) display_->show(view(result));
  }
  void finish(const FlowResult& result) {
    if (display_) display_->finish(view(result));
  }

 private:
  ProgressView view(const FlowResult& result) const {
    const FlowCounts& counts = result.counts;
    return {counts.total - counts.pending,
            counts.total,
            {counts_text(counts)},
            std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin_)};
  }

  std::optional<ProgressDisplay> display_;
  steady_clock::time_point begin_ = steady_clock::now();
};

// Nothing if it is interrupted.
Result<std::optional<FlowResult>> wait_for_end(Target& target, const FlowId& id, std::optional<std::int64_t> timeout_ms,
                                               bool with_progress) {
  const StopSignal stop;
  FlowProgress progress(with_progress);
  const auto begin = steady_clock::now();
  while (!StopSignal::came()) {
    const std::int64_t passed = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count();
    const std::int64_t left = timeout_ms ? std::max<std::int64_t>(*timeout_ms - passed, 0) : wait_step_ms;
    FF_TRY(result, target.flow_result(id, static_cast<std::uint32_t>(std::min(left, wait_step_ms))));
    if (has_ended(result.state)) {
      progress.finish(result);
      return std::optional(std::move(result));
    }
    progress.show(result);
    if (timeout_ms && left <= wait_step_ms) {
      return fail(Errc::timed_out, fmt::format("flow {} has not ended within {}: {}", to_string(id),
                                               format_duration(*timeout_ms), counts_text(result.counts)));
    }
  }
  return std::optional<FlowResult>{};
}

Result<int> wait_and_report(Target& target, const FlowId& id, const Arguments& arguments) {
  FF_TRY(timeout_ms, read_wait_timeout(arguments));
  const bool json = arguments.has("--json");
  FF_TRY(result, wait_for_end(target, id, timeout_ms, stdout_is_terminal() && !json));
  if (!result) return exit_interrupted;
  fmt::print("{}", json ? to_json(*result) + "\n" : flow_end_text(*result));
  return result->state == FlowState::completed ? 0 : exit_not_completed;
}

Result<int> run_flows_wait(const Arguments& arguments) {
  FF_TRY(id, parse_flow_id(arguments.operands.front(), "ID"));
  FF_TRY_VOID(read_wait_timeout(arguments));
  FF_TRY(target, find_target(arguments));
  return wait_and_report(*target, id, arguments);
}

// ---- Submitting

std::string shown_name(const std::string& file) { return file == "-" ? "stdin" : file; }

template <class T>
Result<T> read_flow_file(const std::string& file) {
  std::string content;
  if (file == "-") {
    content.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    auto read = read_text_file(file);
    if (!read) return fail(Errc::invalid_argument, "FILE: " + read.error().message, "FILE");
    content = std::move(*read);
  }
  auto document = wire::from_json<T>(content);
  if (document) return document;
  return fail(document.error().code, shown_name(file) + ": " + document.error().message, document.error().field);
}

Result<FlowRequest> read_flow_request(const Arguments& arguments) {
  std::optional<Uuid> id;
  if (const auto text = arguments.maybe("--id")) {
    const auto uuid = parse_uuid(*text);
    if (!uuid) return fail(Errc::invalid_argument, "--id: " + uuid.error().message, "--id");
    id = *uuid;
  }
  if (arguments.has("--timeout") && !arguments.has("--wait")) {
    return fail(Errc::invalid_argument, "--timeout: is only for --wait", "--timeout");
  }
  FF_TRY_VOID(read_wait_timeout(arguments));
  FF_TRY(request, read_flow_file<FlowRequest>(arguments.operands.front()));
  if (id) request.id = id;
  request.idempotency_key = arguments.text("--idempotency-key", request.idempotency_key);
  return request;
}

// What is wrong with the graph is wrong with the file.
Error about_file(Error error, const std::string& file) {
  if (error.code == Errc::invalid_argument && !error.field.empty()) {
    error.message = shown_name(file) + ": " + error.message;
  }
  return error;
}

Result<int> run_flows_submit(const Arguments& arguments) {
  FF_TRY(request, read_flow_request(arguments));
  FF_TRY(target, find_target(arguments));
  const auto created = target->submit_flow(std::move(request));
  if (!created) return Unexpected(about_file(created.error(), arguments.operands.front()));
  const bool waits = arguments.has("--wait");
  const bool json = arguments.has("--json");
  if (json && !waits) fmt::print("{}\n", to_json(*created));
  if (!json) fmt::print("{}\n", to_string(created->flow_id));
  std::fflush(stdout);
  if (created->duplicate) {
    fmt::print(stderr, "flowfabric flows submit: nothing new, an earlier request with this key or id submitted it\n");
  }
  return waits ? wait_and_report(*target, created->flow_id, arguments) : Result<int>(0);
}

// ---- Building step by step

std::string added_text(const FlowAdded& reply) {
  const std::string id = to_string(reply.flow_id);
  if (reply.added_nodes == 0 && reply.added_edges == 0) {
    return fmt::format("{} has all of it already, revision {}\n", id, reply.revision);
  }
  return fmt::format("{} got {} and {}, revision {}\n", id, counted(reply.added_nodes, "node"),
                     counted(reply.added_edges, "edge"), reply.revision);
}

Result<int> run_flows_add(const Arguments& arguments) {
  FF_TRY(id, parse_flow_id(arguments.operands.front(), "ID"));
  const std::string& file = arguments.operands.back();
  FF_TRY(addition, read_flow_file<FlowAddition>(file));
  FF_TRY(target, find_target(arguments));
  const auto added = target->add_to_flow(id, std::move(addition), acting_operator(arguments));
  if (!added) return Unexpected(about_file(added.error(), file));
  fmt::print("{}", arguments.has("--json") ? to_json(*added) + "\n" : added_text(*added));
  return 0;
}

Result<int> run_flows_seal(const Arguments& arguments) {
  FF_TRY(id, parse_flow_id(arguments.operands.front(), "ID"));
  FF_TRY(target, find_target(arguments));
  FF_TRY(sealed, target->seal_flow(id, acting_operator(arguments)));
  fmt::print("{}", arguments.has("--json")
                       ? to_json(sealed) + "\n"
                       : fmt::format("{} {} and is {}\n", to_string(id),
                                     sealed.already_sealed ? "was not open" : "is sealed", to_string(sealed.state)));
  return 0;
}

// ---- Cancelling and replaying

Result<FlowCancelRequest> read_cancel_request(const Arguments& arguments) {
  FlowCancelRequest request;
  if (const auto word = arguments.maybe("--policy")) {
    const auto policy = parse_flow_cancel_policy(*word);
    if (!policy) return fail(Errc::invalid_argument, "--policy: " + policy.error().message, "--policy");
    request.policy = *policy;
  }
  request.run_cleanup = arguments.has("--run-cleanup");
  return request;
}

std::string cancelled_text(const FlowId& id, const FlowCancelReply& reply) {
  if (reply.already_cancelled) {
    return fmt::format("{} was already cancelled ({}) and is {}\n", to_string(id), to_string(reply.policy),
                       to_string(reply.state));
  }
  return fmt::format("{} is {}\n", to_string(id), to_string(reply.state));
}

std::string replay_question(const FlowId& id, const FlowReplayRequest& request) {
  if (request.node.empty()) {
    return fmt::format("run all nodes of flow {} again that have not succeeded, and those behind them?", to_string(id));
  }
  return fmt::format("run node \"{}\" of flow {} again{}?", request.node, to_string(id),
                     request.descendants ? ", and all nodes behind it" : "");
}

Result<int> run_flows_replay(const Arguments& arguments) {
  FF_TRY(id, parse_flow_id(arguments.operands.front(), "ID"));
  FlowReplayRequest request;
  request.node = arguments.text("--node", "");
  request.descendants = !arguments.has("--only");
  if (request.node.empty() && !request.descendants) {
    return fail(Errc::invalid_argument, "--only needs --node: the one node that runs again", "--only");
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(confirmed, confirm(replay_question(id, request), arguments));
  if (!confirmed) return exit_declined;
  FF_TRY(reply, target->replay_flow(id, request, acting_operator(arguments)));
  fmt::print("{}", arguments.has("--json") ? to_json(OfFlow<FlowReplayReply>{id, reply}) + "\n"
                                           : fmt::format("{} is {} again, revision {}\n", to_string(id),
                                                         to_string(reply.state), reply.revision));
  return 0;
}

Result<int> run_flows_cancel(const Arguments& arguments) {
  FF_TRY(id, parse_flow_id(arguments.operands.front(), "ID"));
  FF_TRY(request, read_cancel_request(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(flow, target->describe_flow(id));
  const FlowCounts& counts = flow.summary.counts;
  FF_TRY(confirmed, confirm(fmt::format("cancel flow {}, {} of whose {} have not ended?", to_string(id), counts.pending,
                                        counted(counts.total, "node")),
                            arguments));
  if (!confirmed) return exit_declined;
  FF_TRY(reply, target->cancel_flow(id, request, acting_operator(arguments)));
  fmt::print("{}",
             arguments.has("--json") ? to_json(OfFlow<FlowCancelReply>{id, reply}) + "\n" : cancelled_text(id, reply));
  return 0;
}

}  // namespace

std::vector<Command> flow_act_commands() {
  return {
      {{"flows submit",
        {"FILE", 1, 1},
        "submit a flow",
        "Submits the flow in a JSON file, - for stdin, and prints its id. The document is that of POST /v1/flows:\n"
        "{\"kind\": ..., \"nodes\": [...], \"edges\": [...]}. The graph is validated as a whole; a flow that is "
        "refused\n"
        "leaves nothing behind. With --wait the exit code is that of `flows wait`.",
        options_of_reading({{"--id", "UUID", "the UUID of its id; generated by default"},
                            {"--idempotency-key", "KEY", "repeating the command with this key submits nothing new"},
                            {"--wait", "", "wait for its end"},
                            {"--timeout", "DURATION", "with --wait: how long, like 30s (without end)"}})},
       run_flows_submit},
      {{"flows add",
        {"ID FILE", 2, 2},
        "add to an open flow",
        "Adds the nodes, edges and groups in a JSON file, - for stdin, to a flow that was submitted with \"open\": "
        "true. The\n"
        "document is that of POST /v1/flows/{flow_id}/nodes: {\"nodes\": [...], \"edges\": [...], \"groups\": "
        "[...]}.\n"
        "Everything is added, or nothing. What exists with equal content is left as it is, so the command can be "
        "repeated.",
        options_of_reading({operator_options().front()})},
       run_flows_add},
      {{"flows seal",
        {"ID", 1, 1},
        "seal an open flow",
        "Seals an open flow: nothing more can be added from outside, and it ends when its nodes have. Sealing a flow "
        "that\n"
        "is not open changes nothing.",
        options_of_acting({})},
       run_flows_seal},
      {{"flows wait",
        {"ID", 1, 1},
        "wait for the end of a flow",
        "Waits until a flow has ended; on a terminal it shows the progress. The exit code is 0 if the flow completed,\n"
        "1 if it ended otherwise, and 5 if it has not ended in time. On a store it only looks: an engine or a server\n"
        "must be running there.",
        options_of_reading({{"--timeout", "DURATION", "how long to wait, like 30s (without end)"}})},
       run_flows_wait},
      {{"flows cancel",
        {"ID", 1, 1},
        "cancel a flow",
        "Cancels a flow after a confirmation. --policy decides about its nodes: cancel_all cancels all that have not\n"
        "ended, cancel_pending those that have not started, flow_only none. A server ends the nodes after it has\n"
        "answered; on a store the command waits for them.",
        options_of_acting({{"--policy", "POLICY", "flow_only, cancel_pending or cancel_all (cancel_all)"},
                           {"--run-cleanup", "", "keep and run cleanup nodes, those behind on_finish edges"},
                           yes_option()})},
       run_flows_cancel},
      {{"flows replay",
        {"ID", 1, 1},
        "run nodes of an ended flow again",
        "Runs nodes of an ended flow again, after a confirmation: all that have not succeeded and those behind them, "
        "or\n"
        "with --node that node and those behind it. The other nodes keep their outcomes and results.",
        options_of_acting({{"--node", "NAME", "the node from which to replay"},
                           {"--only", "", "only that node, not those behind it"},
                           yes_option()})},
       run_flows_replay},
  };
}

}  // namespace flowfabric::cli
