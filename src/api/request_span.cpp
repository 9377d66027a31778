#include "api/request_span.hpp"

#include <algorithm>
#include <cstring>

#include "base/entropy.hpp"

namespace flowfabric::api {
namespace {

const Entropy& entropy() {
  static const Entropy source = system_entropy();
  return source;
}

observe::SpanId random_span_id() {
  observe::SpanId id{};
  const std::uint64_t bits = entropy()() | 1;  // never all zeros
  std::memcpy(id.data(), &bits, id.size());
  return id;
}

// Under the span of the client, or a new trace.
observe::TraceContext context_of(const net::Request& request, const observe::Tracer& tracer) {
  if (const auto header = request.headers.find("traceparent")) {
    if (const auto given = observe::read_traceparent(*header)) return *given;
  }
  observe::TraceContext own{random_uuid(entropy()).bytes, {}, true};
  own.sampled = tracer.samples(own.trace_id);
  return own;
}

std::int64_t unix_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

RequestSpan::RequestSpan(std::shared_ptr<observe::Tracer> tracer, const net::Request& request)
    : tracer_(std::move(tracer)) {
  const observe::TraceContext context = context_of(request, *tracer_);
  sampled_ = context.sampled;
  if (!sampled_) return;
  span_.hang_under(context);
  span_.span_id = random_span_id();
  span_.kind = observe::SpanKind::server;
  span_.start_ns = unix_ns();
  span_.add("url.path", request.path);
  span_.add("url.scheme", request.secure ? "https" : "http");
}

void RequestSpan::end(const End& end) {
  if (!sampled_) return;
  const bool usual = end.method != observe::other;
  span_.name = usual ? end.method : "HTTP";
  span_.add("http.request.method", usual ? end.method : "_OTHER");
  if (!end.route.empty()) {
    span_.name.append(" ").append(end.route);
    span_.add("http.route", end.route);
  }
  span_.end_ns = span_.start_ns + end.took_ns;
  span_.add_number("http.response.status_code", end.status);
  span_.add("flowfabric.request.id", end.request_id);
  if (end.status >= 500) {
    span_.add("error.type", std::to_string(end.status));
    span_.fail(net::reason_phrase(end.status));
  }
  tracer_->record(std::move(span_));
}

}  // namespace flowfabric::api
