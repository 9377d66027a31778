// Dead letters, and redrives of them.
#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/dead_letter_shapes.hpp"

namespace flowfabric::api {
namespace {

using bodies::RedriveBody;

const std::string one_redrive = "/v1/redrives/{redrive_id}";

Result<ListDeadLettersReply> list_dead_letters(Call& call, Nothing) {
  ListDeadLettersRequest request;
  request.name_space = call.query("namespace");
  request.lane = call.query("lane");
  request.kind = call.query("kind");
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_dead_letters(request);
}

Result<DeadLetterDetails> get_dead_letters(Call& call, Nothing) {
  GetDeadLettersRequest request;
  request.name_space = call.query("namespace").value_or("default");
  request.fingerprint = call.parameter("fingerprint");
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().get_dead_letters(request);
}

Result<ListRedrivesReply> list_redrives(Call& call, Nothing) {
  ListRedrivesRequest request;
  request.name_space = call.query("namespace");
  FF_TRY(states, call.query_list("state"));
  for (const std::string& word : states) {
    FF_TRY(state, parse_redrive_state(word));
    request.states.push_back(state);
  }
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_redrives(request);
}

Result<RedriveInfo> create_redrive(Call& call, RedriveBody body) {
  FF_TRY_VOID(carry_idempotency_key(call, body.idempotency_key));
  Operator by = call.as_operator(std::move(body.reason));
  return call.engine().create_redrive(static_cast<RedriveRequest&&>(body), std::move(by));
}

Route redrive_action(RedriveAction action, const std::string& verb, std::string summary) {
  return blocking_route<ReasonBody, RedriveInfo>(
      ApiRole::operating, "POST", one_redrive + "/" + verb, std::move(summary), [action](Call& call, ReasonBody body) {
        return call.engine().change_redrive(call.parameter("redrive_id"), action,
                                            call.as_operator(std::move(body.reason)));
      });
}

std::vector<QueryParameter> with_paging(std::vector<QueryParameter> query) {
  for (const QueryParameter& parameter : paging_parameters()) query.push_back(parameter);
  return query;
}

}  // namespace

std::vector<Route> dead_letter_routes() {
  return {
      described(
          blocking_route<Nothing, ListDeadLettersReply>(
              ApiRole::viewer, "GET", "/v1/dead-letters", "List failed executions in groups of equal failures.",
              list_dead_letters,
              with_paging({{"namespace", "Only executions of this namespace."},
                           {"lane", "Only executions on this lane."},
                           {"kind", "Only executions of this kind."}})),
          "The largest group comes first. Counts change while pages are read: a group may appear twice or be left "
          "out then."),
      blocking_route<Nothing, DeadLetterDetails>(ApiRole::viewer, "GET", "/v1/dead-letters/{fingerprint}",
                                                 "Get a group of failed executions, with a page of them.",
                                                 get_dead_letters,
                                                 with_paging({{"namespace", "The namespace of the group (default)."}})),
      described(
          blocking_route<RedriveBody, RedriveInfo>(ApiRole::operating, "POST", "/v1/redrives",
                                                   "Replay many failed executions, at a rate.", create_redrive, {},
                                                   201),
          "What is meant has to be selected: by fingerprints, by ids, by other fields, or all. It covers what has "
          "failed by now. The server goes on with it in the background; each execution is replayed at most once."),
      blocking_route<Nothing, ListRedrivesReply>(
          ApiRole::viewer, "GET", "/v1/redrives", "List redrives, newest first.", list_redrives,
          with_paging({{"namespace", "Only redrives of this namespace."},
                       names_parameter<RedriveState>("state", "Only redrives in one of these states.")})),
      blocking_route<Nothing, RedriveInfo>(
          ApiRole::viewer, "GET", one_redrive, "Get a redrive and how far it has come.",
          [](Call& call, Nothing) { return call.engine().get_redrive(call.parameter("redrive_id")); }),
      redrive_action(RedriveAction::pause, "pause", "Pause a redrive."),
      redrive_action(RedriveAction::resume, "resume", "Resume a paused redrive."),
      redrive_action(RedriveAction::cancel, "cancel", "Cancel a redrive. What it has replayed goes on."),
  };
}

}  // namespace flowfabric::api
