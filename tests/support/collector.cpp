#include "support/collector.hpp"

#include <regex>
#include <stdexcept>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "support/http_server.hpp"

namespace flowfabric::test {
namespace {

namespace json = boost::json;

void demand(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

std::string text(const json::value& value) { return std::string(value.as_string()); }

std::string matching(const json::value& value, const char* pattern) {
  std::string found = text(value);
  demand(std::regex_match(found, std::regex(pattern)), "\"" + found + "\" is not " + pattern);
  return found;
}

std::int64_t number_as_text(const json::value& value) { return std::stoll(matching(value, "-?[0-9]{1,19}")); }

std::map<std::string, std::string> attributes_of(const json::value& list) {
  std::map<std::string, std::string> found;
  for (const json::value& attribute : list.as_array()) {
    const json::object& value = attribute.at("value").as_object();
    demand(value.size() == 1, "an attribute has one value");
    const json::value* number = value.if_contains("intValue");
    const std::string shown =
        number != nullptr ? std::to_string(number_as_text(*number)) : text(value.at("stringValue"));
    demand(found.emplace(text(attribute.at("key")), shown).second, "an attribute comes once");
  }
  return found;
}

CollectedSpan read_span(const json::object& span) {
  CollectedSpan read;
  read.trace_id = matching(span.at("traceId"), "(?!0{32})[0-9a-f]{32}");
  read.span_id = matching(span.at("spanId"), "(?!0{16})[0-9a-f]{16}");
  if (const json::value* parent = span.if_contains("parentSpanId")) {
    read.parent_id = matching(*parent, "(?!0{16})[0-9a-f]{16}");
  }
  read.name = text(span.at("name"));
  demand(!read.name.empty(), "a span has a name");
  read.kind = span.at("kind").as_int64();
  demand(read.kind >= 1 && read.kind <= 5, "a kind is 1 to 5");
  read.start_ns = number_as_text(span.at("startTimeUnixNano"));
  read.end_ns = number_as_text(span.at("endTimeUnixNano"));
  demand(read.start_ns > 0 && read.start_ns <= read.end_ns, "a span ends after it began");
  read.attributes = attributes_of(span.at("attributes"));
  const json::object& status = span.at("status").as_object();
  if (const json::value* code = status.if_contains("code")) {
    demand(code->as_int64() == 2, "the only status that we set is error");
    read.failed = true;
    read.problem = text(status.at("message"));
  }
  const std::size_t known = 8 + (read.parent_id.empty() ? 0 : 1);
  demand(span.size() == known, "a span has members that are not in the protocol");
  return read;
}

std::vector<CollectedSpan> read_body(const std::string& body) {
  std::vector<CollectedSpan> found;
  const json::value document = json::parse(body);
  for (const json::value& of_resource : document.at("resourceSpans").as_array()) {
    const auto resource = attributes_of(of_resource.at("resource").at("attributes"));
    demand(resource.contains("service.name"), "a resource has a name");
    for (const json::value& of_scope : of_resource.at("scopeSpans").as_array()) {
      demand(text(of_scope.at("scope").at("name")) == "flowfabric", "the scope is this library");
      for (const json::value& span : of_scope.at("spans").as_array()) {
        found.push_back(read_span(span.as_object()));
        found.back().resource = resource;
      }
    }
  }
  demand(!found.empty(), "nobody sends nothing");
  return found;
}

}  // namespace

Collector::Collector(net::ServerOptions options) {
  options.max_body_bytes = std::size_t{64} * 1024 * 1024;
  server_ = serve([this](std::shared_ptr<net::Exchange> exchange) { handle(std::move(exchange)); }, std::move(options));
}

// The handler uses all other members.
Collector::~Collector() { server_->stop(); }

std::string Collector::url() const { return "http://127.0.0.1:" + std::to_string(port()); }

void Collector::answer_next(std::vector<net::Response> answers) {
  const std::lock_guard lock(mutex_);
  for (net::Response& answer : answers) answers_.push_back(std::move(answer));
}

void Collector::fall_silent() {
  const std::lock_guard lock(mutex_);
  silent_ = true;
}

std::size_t Collector::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

net::Headers Collector::headers() const {
  const std::lock_guard lock(mutex_);
  return headers_;
}

std::vector<CollectedSpan> Collector::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

std::vector<CollectedSpan> Collector::spans_of(const std::string& trace_id) const {
  std::vector<CollectedSpan> found = spans();
  std::erase_if(found, [&](const CollectedSpan& span) { return span.trace_id != trace_id; });
  return found;
}

std::vector<std::string> Collector::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

void Collector::handle(std::shared_ptr<net::Exchange> exchange) {
  const net::Request& request = exchange->request();
  std::unique_lock lock(mutex_);
  ++requests_;
  headers_ = request.headers;
  std::vector<CollectedSpan> read;
  try {
    demand(request.method == "POST", "spans are posted");
    demand(request.path.ends_with("/v1/traces"), request.path + " is not the path of traces");
    demand(request.headers.find("content-type") == "application/json", "the body is said to be JSON");
    read = read_body(request.body);
  } catch (const std::exception& problem) {
    complaints_.push_back(std::string(problem.what()) + ": " + request.body);
  }
  if (silent_) return unanswered_.push_back(std::move(exchange));
  net::Response answer{.body = "{}"};
  if (!answers_.empty()) {
    answer = std::move(answers_.front());
    answers_.pop_front();
  }
  if (answer.status == 200) spans_.insert(spans_.end(), read.begin(), read.end());
  lock.unlock();
  exchange->respond(std::move(answer));
}

}  // namespace flowfabric::test
