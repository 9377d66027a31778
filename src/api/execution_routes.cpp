#include <charconv>

#include "api/parameters.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

const std::string one = "/v1/executions/{execution_id}";

// ---- Submitting

// The trace of the request is that of the submitted execution, unless the body has one. An invalid trace header is
// ignored, as the standard requires.
void carry_trace(Call& call, CreateRequest& request) {
  if (!request.traceparent.empty()) return;
  const auto header = call.request().headers.find("traceparent");
  if (header && is_traceparent(*header)) request.traceparent = *header;
}

// 201 with the place of the new execution, 200 when there is no new one.
void answer_created(Call& call, const Result<Created>& created) {
  if (!created) return call.refuse(created.error());
  if (created->duplicate) return call.answer(200, wire::to_json(*created));
  call.answer(201, wire::to_json(*created), {{"Location", "/v1/executions/" + to_string(created->execution_id)}});
}

void submit(const CallPtr& call, CreateRequest request) {
  carry_trace(*call, request);
  if (auto carried = carry_idempotency_key(*call, request.idempotency_key); !carried)
    return call->refuse(carried.error());
  call->engine().create_async(std::move(request),
                              [call](const Result<Created>& created) { answer_created(*call, created); });
}

void create(const CallPtr& call, CreateRequest request, const Engine::Done<Created>& done) {
  if (!call->request().query.empty()) {
    const std::string& name = call->request().query.front().first;
    return done(fail(Errc::invalid_argument, name + ": must be in the body if the body is JSON", name));
  }
  submit(call, std::move(request));
}

// The body is the payload, so the other fields are in the query.
Result<CreateRequest> create_request_of_bytes(Call& call) {
  CreateRequest request;
  const auto kind = call.query("kind");
  if (!kind) return fail(Errc::invalid_argument, "kind: is missing", "kind");
  request.kind = *kind;
  request.name_space = call.query("namespace").value_or(request.name_space);
  request.lane = call.query("lane").value_or(request.lane);
  request.payload_encoding = call.query("payload_encoding").value_or("");
  request.idempotency_key = call.query("idempotency_key").value_or("");
  FF_TRY(priority, call.query_number("priority", 0));
  if (priority < limits::min_priority || priority > limits::max_priority) {
    return fail(Errc::invalid_argument,
                "priority: is " + std::to_string(priority) + "; allowed: " + std::to_string(limits::min_priority) +
                    " to " + std::to_string(limits::max_priority),
                "priority");
  }
  request.priority = static_cast<std::int32_t>(priority);
  request.payload = std::move(call.request().body);
  return request;
}

void create_of_bytes(const CallPtr& call) {
  auto request = create_request_of_bytes(*call);
  if (!request) return call->refuse(request.error());
  submit(call, std::move(*request));
}

Result<CreatedMany> create_many(Call& call, CreateManyBody body) {
  FF_TRY_VOID(check_count("executions", body.executions.size()));
  if (call.request().headers.find("idempotency-key")) {
    return fail(Errc::invalid_argument,
                "idempotency-key: the header is for one execution; give each of the batch its own idempotency_key",
                "idempotency-key");
  }
  for (CreateRequest& request : body.executions) carry_trace(call, request);
  return CreatedMany{items(call.engine().create_many(std::move(body.executions)))};
}

const std::vector<QueryParameter> beside_bytes = {
    {"kind", "Only with a binary body, and then required: the job type, which selects the handler."},
    {"namespace", "Only with a binary body: the namespace (default)."},
    {"lane", "Only with a binary body: the lane, which is the queue (default)."},
    {"payload_encoding", "Only with a binary body: the label of the payload."},
    number_parameter("priority", "Only with a binary body: higher first, -32768 to 32767 (0).", limits::min_priority,
                     limits::max_priority),
    {"idempotency_key", "Only with a binary body: unique in the namespace."}};

Route creating_route() {
  Route route = described(
      taking_bytes(async_route<CreateRequest, Created>(ApiRole::worker, "POST", "/v1/executions",
                                                       "Create an execution.", create, beside_bytes, 201),
                   create_of_bytes),
      "The body may also be the payload itself, as application/octet-stream; the other fields are then in the "
      "query. What the query has no parameter for needs the JSON form. The header `Location` of a 201 is the "
      "path of the "
      "execution.");
  route.headers = {{"Idempotency-Key", "The same as `idempotency_key`."}};
  route.also = {{200, "Nothing was created; `outcome` says why the execution that is named is the answer."}};
  return route;
}

std::vector<Route> submitting_routes() {
  return {
      creating_route(),
      blocking_route<CreateManyBody, CreatedMany>(
          ApiRole::worker, "POST", "/v1/executions/batch",
          "Create up to 1,000 executions; each succeeds or fails independently.", create_many),
  };
}

// ---- Reading

Result<std::uint32_t> attempt_index(const Call& call) {
  const std::string& text = call.parameter("attempt_index");
  std::uint32_t index = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, index);
  if (problem == std::errc{} && stopped == end) return index;
  return fail(Errc::invalid_argument, "attempt_index: must be a whole number, not \"" + text + "\"", "attempt_index");
}

Result<ExecutionResult> result_of_attempt(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(index, attempt_index(call));
  return call.engine().get_execution_result(id, index);
}

Result<LabelledBytes> result_bytes_of_attempt(Call& call) {
  FF_TRY(result, result_of_attempt(call, {}));
  return result_bytes(std::move(result));
}

Result<ExecutionContext> payload_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  return call.engine().read_execution_context(id);
}

Result<LabelledBytes> payload_bytes(Call& call) {
  FF_TRY(context, payload_of(call, {}));
  return LabelledBytes{std::move(context.payload), std::move(context.payload_encoding)};
}

Result<EventPage> history_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(limit, page_limit(call));
  return call.engine().execution_history(id, call.query("cursor").value_or(""), limit);
}

// The cursor of attempts and steps is the number of the first one on the next page.
Result<std::uint32_t> number_cursor(const Call& call) {
  const std::string text = call.query("cursor").value_or("0");
  std::uint32_t index = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, index);
  if (problem == std::errc{} && stopped == end) return index;
  return fail(Errc::invalid_argument, "cursor: is not a cursor of this call", "cursor");
}

Result<AttemptsReply> attempts_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(from, number_cursor(call));
  FF_TRY(limit, page_limit(call));
  FF_TRY(attempts, call.engine().list_attempts(id, from, limit));
  AttemptsReply reply{std::move(attempts), {}};
  if (reply.attempts.size() < limit) return reply;
  const std::uint32_t next = reply.attempts.back().attempt_index + 1;
  FF_TRY(more, call.engine().list_attempts(id, next, 1));
  if (!more.empty()) reply.next_cursor = std::to_string(next);
  return reply;
}

Result<StepsReply> steps_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(from, number_cursor(call));
  FF_TRY(limit, page_limit(call));
  FF_TRY(page, call.engine().list_steps(id, from, limit));
  StepsReply reply{std::move(page.steps), {}};
  if (page.next_position != 0) reply.next_cursor = std::to_string(page.next_position);
  return reply;
}

std::vector<Route> reading_routes() {
  return {
      blocking_route<Nothing, ListReply>(
          ApiRole::viewer, "GET", "/v1/executions", "List executions, newest first.",
          [](Call& call, Nothing) -> Result<ListReply> {
            FF_TRY(request, list_request(call));
            return call.engine().list_executions(request);
          },
          listing_parameters()),
      blocking_route<Nothing, ExecutionDescription>(ApiRole::viewer, "GET", one, "Get all details of one execution.",
                                                    [](Call& call, Nothing) -> Result<ExecutionDescription> {
                                                      FF_TRY(id, call.execution_id());
                                                      return call.engine().describe_execution(id);
                                                    }),
      blocking_route<Nothing, StateReply>(ApiRole::viewer, "GET", one + "/state", "Get its state in one word.",
                                          [](Call& call, Nothing) -> Result<StateReply> {
                                            FF_TRY(id, call.execution_id());
                                            FF_TRY(state, call.engine().read_execution_state(id));
                                            return StateReply{state};
                                          }),
      giving_bytes(blocking_route<Nothing, ExecutionContext>(ApiRole::viewer, "GET", one + "/payload",
                                                             "Get its payload, kind and tags.", payload_of),
                   payload_bytes),
      giving_bytes(blocking_route<Nothing, ExecutionResult>(
                       ApiRole::viewer, "GET", one + "/attempts/{attempt_index}/result",
                       "Get the result of one attempt, also from before a replay.", result_of_attempt),
                   result_bytes_of_attempt),
      blocking_route<Nothing, ReasonsReply>(ApiRole::viewer, "GET", one + "/explain",
                                            "Explain why it is not running now.",
                                            [](Call& call, Nothing) -> Result<ReasonsReply> {
                                              FF_TRY(id, call.execution_id());
                                              FF_TRY(description, call.engine().describe_execution(id));
                                              return ReasonsReply{std::move(description.explain)};
                                            }),
      blocking_route<Nothing, EventPage>(ApiRole::viewer, "GET", one + "/history", "List its events, oldest first.",
                                         history_of, paging_parameters()),
      blocking_route<Nothing, AttemptsReply>(ApiRole::viewer, "GET", one + "/attempts",
                                             "List its attempts, oldest first.", attempts_of, paging_parameters()),
      blocking_route<Nothing, StepsReply>(ApiRole::viewer, "GET", one + "/steps", "Its durable steps, in order.",
                                          steps_of, paging_parameters()),
      blocking_route<Nothing, TagsReply>(ApiRole::viewer, "GET", one + "/tags", "Get its tags.",
                                         [](Call& call, Nothing) -> Result<TagsReply> {
                                           FF_TRY(id, call.execution_id());
                                           FF_TRY(tags, call.engine().get_tags(id));
                                           return TagsReply{std::move(tags)};
                                         }),
  };
}

// ---- Operating

Result<TagsReply> change_tags(Call& call, TagsBody body) {
  FF_TRY(id, call.execution_id());
  FF_TRY(tags, call.engine().change_tags(id, {std::move(body.set), std::move(body.remove)},
                                         call.as_operator(std::move(body.reason))));
  return TagsReply{std::move(tags)};
}

std::vector<Route> operating_routes() {
  return {
      blocking_route<ReasonBody, CancelReply>(ApiRole::operating, "POST", one + "/cancel", "Cancel it.",
                                              [](Call& call, ReasonBody body) -> Result<CancelReply> {
                                                FF_TRY(id, call.execution_id());
                                                return call.engine().cancel(id,
                                                                            call.as_operator(std::move(body.reason)));
                                              }),
      blocking_route<ReplayBody, ReplayReply>(
          ApiRole::operating, "POST", one + "/replay", "Run an ended execution again.",
          [](Call& call, ReplayBody body) -> Result<ReplayReply> {
            FF_TRY(id, call.execution_id());
            return call.engine().replay_execution(id, call.as_operator(std::move(body.reason)), body.from_step);
          }),
      blocking_route<RevokeBody, RevokeReply>(
          ApiRole::operating, "POST", one + "/revoke-lease", "Revoke the lease of its worker.",
          [](Call& call, RevokeBody body) -> Result<RevokeReply> {
            FF_TRY(id, call.execution_id());
            return call.engine().revoke_lease(id, call.as_operator(std::move(body.reason)), body.expected_lease_id);
          }),
      blocking_route<PriorityBody, Nothing>(
          ApiRole::operating, "PUT", one + "/priority",
          "Change its priority; it keeps its position among executions of the same priority.",
          [](Call& call, PriorityBody body) -> Result<Nothing> {
            FF_TRY(id, call.execution_id());
            FF_TRY_VOID(call.engine().change_priority(id, body.priority, call.as_operator(std::move(body.reason))));
            return Nothing{};
          }),
      blocking_route<TagsBody, TagsReply>(ApiRole::operating, "PATCH", one + "/tags", "Set and remove tags.",
                                          change_tags),
  };
}

}  // namespace

std::vector<Route> execution_routes() {
  std::vector<Route> all = submitting_routes();
  for (auto& more : {reading_routes(), operating_routes()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace flowfabric::api
