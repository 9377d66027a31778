#include "api/bulk_bodies.hpp"
#include "api/parameters.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

Unexpected<Error> refuse(const std::string& field, const std::string& message) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

bool is_empty(const ListRequest& filter) {
  return !filter.name_space && !filter.lane && !filter.kind && filter.states.empty() && !filter.tag && !filter.flow &&
         !filter.created_from && !filter.created_before && !filter.finished_from && !filter.finished_before;
}

Result<BulkOrder> order_of(const Call& call, const BulkBody& body) {
  if (body.priority.has_value() != (body.action == BulkVerb::priority)) {
    return refuse("priority", body.priority ? "is allowed only for the action priority" : "is missing");
  }
  if (body.from_step && body.action != BulkVerb::replay) {
    return refuse("from_step", "belongs to the action replay alone");
  }
  const std::int32_t priority = body.priority.value_or(0);
  if (priority < limits::min_priority || priority > limits::max_priority) {
    return refuse("priority", "is " + std::to_string(priority) + "; allowed: " + std::to_string(limits::min_priority) +
                                  " to " + std::to_string(limits::max_priority));
  }
  return BulkOrder{body.action, priority, call.as_operator(body.reason), body.from_step};
}

Result<BulkReply> act_on_named(Call& call, const BulkOrder& order, const BulkSelection& body) {
  FF_TRY_VOID(check_count("ids", body.ids->size()));
  if (body.dry_run)
    return refuse("dry_run", "counts the executions that a filter selects; it cannot be combined with ids");
  if (!body.cursor.empty()) return refuse("cursor", "cannot be combined with ids");
  BulkReply reply;
  if (call.caller().name_space) {
    for (const ExecutionId& id : *body.ids) FF_TRY_VOID(call.check_reach(id));
  }
  static_cast<BulkTally&>(reply) = act_on(call.engine(), order, *body.ids);
  return reply;
}

// The cursor goes from the newest to the oldest, so executions moved by the action are not selected again, and new ones
// are left alone.
Result<BulkReply> act_on_page(Call& call, const BulkOrder& order, const BulkSelection& body) {
  if (is_empty(*body.filter)) return refuse("filter", "must not be empty; it would select everything");
  if (body.limit < 1 || body.limit > max_items) {
    return refuse("limit", "is " + std::to_string(body.limit) + "; allowed: 1 to " + std::to_string(max_items));
  }
  FF_TRY(request, filter_for(order.verb, *body.filter, "filter.states"));
  if (!request.name_space) request.name_space = call.caller().name_space;
  if (request.name_space) FF_TRY_VOID(call.check_reach(*request.name_space));
  request.cursor = body.cursor;
  request.limit = body.limit;
  FF_TRY(page, call.engine().list_executions(request));
  BulkReply reply;
  if (body.dry_run) {
    reply.matched = page.executions.size();
  } else {
    std::vector<ExecutionId> ids;
    for (const ExecutionSummary& execution : page.executions) ids.push_back(execution.execution_id);
    static_cast<BulkTally&>(reply) = act_on(call.engine(), order, ids);
    pass_over_moved(reply);
  }
  reply.done = page.next_cursor.empty();
  reply.next_cursor = std::move(page.next_cursor);
  return reply;
}

Result<BulkReply> act_on_selection(Call& call, const BulkOrder& order, const BulkSelection& selection) {
  if (selection.ids.has_value() == selection.filter.has_value()) {
    return refuse("filter", "either a filter or ids must be given");
  }
  return selection.ids ? act_on_named(call, order, selection) : act_on_page(call, order, selection);
}

Result<BulkReply> bulk(Call& call, const BulkBody& body) {
  FF_TRY(order, order_of(call, body));
  return act_on_selection(call, order, body);
}

Result<BulkReply> bulk_signal(Call& call, BulkSignalBody body) {
  FF_TRY_VOID(carry_sender(call, body.source, "source"));
  FF_TRY_VOID(carry_idempotency_key(call, body.idempotency_key));
  BulkOrder order;
  order.verb = BulkVerb::signal;
  order.signal = body;
  return act_on_selection(call, order, body);
}

}  // namespace

std::vector<Route> bulk_routes() {
  Route acting =
      described(blocking_route<BulkBody, BulkReply>(ApiRole::operating, "POST", "/v1/executions/bulk",
                                                    "Cancel, replay or change the priority of many executions.", bulk),
                "A request handles one page of the selected executions and returns a cursor; repeat it with the cursor "
                "until `done`. Therefore a request is short for any filter, the client sees the progress and can stop "
                "between two pages, and nothing is lost if a server stops: the cursor is the only state.");
  Route signalling =
      described(blocking_route<BulkSignalBody, BulkReply>(ApiRole::operating, "POST", "/v1/executions/bulk/signal",
                                                          "Send a signal to many executions.", bulk_signal),
                "By ids or by a filter, a page at a time as in `POST /v1/executions/bulk`. With an `idempotency_key` a "
                "page can be repeated: an execution takes the signal once.");
  signalling.headers = {{"Idempotency-Key", "The same as `idempotency_key`."}};
  acting.keeps_to_namespace = true;
  signalling.keeps_to_namespace = true;
  return {std::move(acting), std::move(signalling)};
}

}  // namespace flowfabric::api
