#include "engine/spans.hpp"

#include <algorithm>

#include "base/hashing.hpp"

namespace flowfabric {
namespace {

using observe::Span;
using observe::SpanId;
using observe::TraceContext;

std::int64_t nanoseconds(TimestampMs at) { return at * 1'000'000; }

// Span ids are computed from the subject of a span, so that parent and child match although different servers end them.
SpanId span_id(const ExecutionId& id, std::string_view what, std::uint64_t number) {
  const Sha256 digest = sha256(to_string(id) + " " + std::string(what) + " " + std::to_string(number));
  SpanId span{};
  std::copy_n(digest.begin(), span.size(), span.begin());
  return span;
}

SpanId id_of_life(const ExecutionId& id, const Stretch& stretch) { return span_id(id, "life", stretch.replay_count); }
SpanId id_of_turn(const ExecutionId& id, const Stretch& stretch) { return span_id(id, "turn", stretch.lease_epoch); }

// Under the submitter's span, if there is one. Otherwise the execution is a separate trace, whose id is derived from
// the execution.
TraceContext context_of(const Execution& execution, const observe::Tracer& tracer) {
  if (const auto given = observe::read_traceparent(execution.spec.traceparent)) return *given;
  TraceContext own{execution.id.uuid.bytes, {}, true};
  if (execution.id.uuid.is_nil()) own.trace_id.back() = 1;  // no trace id may be all zeros
  own.sampled = tracer.samples(own.trace_id);
  return own;
}

bool is_failure(EventType type) {
  switch (type) {
    case EventType::retry_scheduled:
    case EventType::failed:
    case EventType::expired:
    case EventType::lease_expired:
    case EventType::lease_revoked: return true;
    default: return false;
  }
}

void describe(Span& span, const Stretch& stretch, const Execution& execution) {
  span.attributes.reserve(13);  // the maximum number
  span.start_ns = nanoseconds(stretch.from);
  span.end_ns = nanoseconds(stretch.to);
  span.add("flowfabric.execution.id", to_string(execution.id));
  span.add("flowfabric.namespace", execution.spec.name_space);
  span.add("flowfabric.lane", execution.spec.lane);
  span.add("flowfabric.kind", execution.spec.kind);
  span.add_number("flowfabric.replay", stretch.replay_count);
  span.add("flowfabric.outcome", to_string(stretch.ended_by));
  span.add("flowfabric.ended_by", stretch.actor);
  if (!is_failure(stretch.ended_by)) return;
  span.add("error.type", stretch.failure ? std::string_view(stretch.failure->category) : to_string(stretch.ended_by));
  span.fail(stretch.failure ? std::string_view(stretch.failure->message) : to_string(stretch.ended_by));
}

Span span_of_life(const Stretch& stretch, const Execution& execution, const TraceContext& context) {
  Span span;
  span.hang_under(context);
  span.span_id = id_of_life(execution.id, stretch);
  span.name = "execution " + execution.spec.kind;
  describe(span, stretch, execution);
  return span;
}

Span span_of_turn(const Stretch& stretch, const Execution& execution, const TraceContext& context) {
  const Attempt& attempt = *stretch.attempt;
  Span span;
  span.hang_under(context);
  span.parent_id = id_of_life(execution.id, stretch);
  span.span_id = id_of_turn(execution.id, stretch);
  span.name = "attempt " + execution.spec.kind;
  describe(span, stretch, execution);
  span.add_number("flowfabric.attempt.index", attempt.attempt_index);
  span.add("flowfabric.attempt.type", to_string(attempt.attempt_type));
  span.add_number("flowfabric.lease.epoch", static_cast<std::int64_t>(stretch.lease_epoch));
  span.add("flowfabric.worker.id", attempt.worker_id);
  span.add("flowfabric.worker.instance_id", attempt.worker_instance_id);
  return span;
}

}  // namespace

void record_spans(const Slot& slot, observe::Tracer& tracer) {
  if (slot.stretches.empty()) return;
  const Execution& execution = *slot.execution();
  const TraceContext context = context_of(execution, tracer);
  if (!context.sampled) return;
  for (const Stretch& stretch : slot.stretches) {
    tracer.record(stretch.attempt ? span_of_turn(stretch, execution, context)
                                  : span_of_life(stretch, execution, context));
  }
}

}  // namespace flowfabric
