#include "e2e/support/api_reference.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/route.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;
using Example = ExampleRecorder::Example;

constexpr std::string_view before_errors = R"(# The HTTP API

<!-- Made by `./dev docs` from the route table; a test compares it. Change the routes, not this file. -->

Everything the engine can do, over HTTP/1.1 with JSON. The same as OpenAPI 3.1 is at `/openapi.json` of every server. The
examples here were answered by a server; ids, handles and other values that never come twice were replaced.

**Where.** `flowfabric serve` listens on `http://127.0.0.1:7070` unless told otherwise. Beside the API, which is under `/v1`, a
server has `/healthz` (it is alive), `/readyz` (it reaches its store), `/metrics` (Prometheus), `/openapi.json` and the dashboard at `/`.
With `dashboard = false` there is no dashboard, no `/v1/session` and no `/v1/overview`.

**Who.** A server with `auth = "keys"` wants `Authorization: Bearer SECRET` with every call. Each route names the role that it
needs: `viewer`, `worker`, `operator` or `admin`; each of them may do what those before it may. A key of one namespace is
refused everything beyond it. Browsers sign in with `POST /v1/session` instead: the cookie that it sets stands for the key, on pages of
this server only. Without `auth` every program on this machine may do everything, and web pages nothing: `Host` must be
`localhost`, `127.0.0.1` or `[::1]`, and an `Origin` must be in `cors_origins`, else the response is 403.
[operating.md](operating.md) describes how keys are made.

**What.** Bodies are `application/json`. Every request except `GET` needs this `Content-Type`, also without a body; else the response
is 415. Unknown fields, fields that come twice and wrong types are refused, never ignored; so are
unknown parameters. Clients should ignore fields of replies that they do not know. Fields that are not set are left out of
replies. Times are milliseconds since 1970, durations are milliseconds and end in `_ms`. Ids, handles and cursors are opaque:
keep them, compare them, send them back. Lists in queries are written `state=waiting,active`. Times before the year 2000 are
refused: they are seconds by mistake. Where a time may also be relative, `delay_ms` and `deadline_ms` count from now by the store's
clock. Every answer has an `X-Request-Id`, yours if you send
one.

**Payloads and results** are bytes with a label (`payload_encoding`, `result_encoding`). Given as JSON in `payload` they are kept
byte for byte and get the label `json` (objects and arrays may be nested 500 levels deep); anything else goes into `payload_base64`. They come back in the same way. Where a route
says so, the body can be the bytes themselves, as `application/octet-stream`, and with `Accept: application/octet-stream` so can
the answer; its label is then in `FlowFabric-Encoding`.

**Pages.** What lists takes `limit` and answers with a `next_cursor`; send it as `cursor` for the next page. An empty one means that
there is no more. The cursor of the event log never ends: there it means "go on from here".

**Waiting.** `POST /v1/claims` with `wait_ms`, results and events with `wait_ms` answer as soon as there is something to say, or empty
when the time (up to 60 s) is over. Nobody has to poll. A claim ends when its client closes the connection or its sending side. If
the response to a claim cannot be delivered, its leases are released at once; no reclaim is counted.

**Repeating.** Who got no answer does not know what happened, and asks again. Creating again with the same `idempotency_key` (or
header `Idempotency-Key`, or `id`) makes nothing new and answers 200 with `"duplicate": true` instead of 201. Completing or failing again with the same handle and the same content succeeds
again. Priorities, tags, lanes and cancellations are the same after the second time as after the first.

## Errors

An answer of 400 or more has this body, and only such an answer:

)";

constexpr std::string_view after_error_example = R"(
`code` is stable and decides the status; `message` is for people and may change. `field` names the input that was wrong, as in
`policy.retry.max_retries`. What is `retryable` may succeed when the same call is repeated, after `Retry-After` where that
header is there. `details` has more facts where the code has some. In calls that carry many, each item has its own `error` of
this shape, and the call itself succeeds.

)";

// ---- Small things

std::string str(const json::value& value) { return text(value); }

std::string member(const json::value& object, const char* name) {
  const json::value* found = object.as_object().if_contains(name);
  return found == nullptr ? "" : str(*found);
}

std::string lower(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// As a cell of a table.
std::string cell(std::string words) {
  for (std::size_t at = 0; (at = words.find('|', at)) != words.npos; at += 2) words.replace(at, 1, "\\|");
  return words;
}

// Where GitHub and others let a link to a heading point.
std::string anchor(const std::string& heading) {
  std::string out;
  for (const char c : lower(heading)) {
    if (c == ' ') out += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') out += c;
  }
  return out;
}

void indent(std::string& out, std::size_t depth) { out += "\n" + std::string(2 * depth, ' '); }

// Short arrays and objects stay on a line, so that examples fit a screen.
void write_pretty(std::string& out, const json::value& value, std::size_t depth) {
  constexpr std::size_t short_enough = 100;
  const std::string whole = json::serialize(value);
  const bool is_flat = !value.is_object() && !value.is_array();
  if (is_flat || (whole.size() + 2 * depth <= short_enough && whole.find('{', 1) == whole.npos)) {
    out += whole;
    return;
  }
  const std::size_t count = value.is_object() ? value.as_object().size() : value.as_array().size();
  std::size_t written = 0;
  out += value.is_object() ? '{' : '[';
  const auto one = [&](const std::string& name, const json::value& element) {
    indent(out, depth + 1);
    if (!name.empty()) out += name + ": ";
    write_pretty(out, element, depth + 1);
    if (++written != count) out += ',';
  };
  if (value.is_object()) {
    for (const auto& [key, element] : value.as_object()) one(json::serialize(key), element);
  } else {
    for (const json::value& element : value.as_array()) one("", element);
  }
  indent(out, depth);
  out += value.is_object() ? '}' : ']';
}

std::string pretty(const json::value& value) {
  std::string out;
  write_pretty(out, value, 0);
  return out;
}

// ---- What changes from run to run

// Gives every such value a name by the order in which it turns up.
class Names {
 public:
  void learn(const json::value& value, const std::string& name = {}) {
    if (value.is_string()) return learn_text(name, str(value));
    if (value.is_array()) {
      for (const json::value& element : value.as_array()) learn(element, name);
    } else if (value.is_object()) {
      for (const auto& [key, element] : value.as_object()) learn(element, std::string(key.data(), key.size()));
    }
  }

  std::string replace_in(std::string words) {
    for (const auto& [value, name] : known_) {
      for (std::size_t at = 0; (at = words.find(value, at)) != words.npos; at += name.size()) {
        words.replace(at, value.size(), name);
      }
    }
    words = std::regex_replace(words, std::regex(R"(\bfp\d+-)"), "fp7-");
    return replace_uuids(words);
  }

 private:
  void learn_text(const std::string& name, const std::string& value) {
    static const std::map<std::string, std::string> ours = {
        {"handle", "HANDLE"},     {"handles", "HANDLE"}, {"leases", "HANDLE"}, {"grant_key", "GRANT-KEY"},
        {"grant_id", "GRANT-ID"}, {"secret", "SECRET"},  {"key_id", "KEY-ID"}, {"next_cursor", "CURSOR"},
        {"cursor", "CURSOR"},     {"api_key", "SECRET"}};
    const auto kind = ours.find(name);
    if (kind == ours.end() || value.empty() || value == made_up_handle) return;
    if (std::any_of(known_.begin(), known_.end(), [&](const auto& known) { return known.first == value; })) return;
    known_.emplace_back(value, kind->second + "-" + std::to_string(++counts_[kind->second]));
    // A secret has the id of its key in it.
    std::sort(known_.begin(), known_.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  }

  std::string replace_uuids(const std::string& words) {
    static const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
    std::string out;
    auto rest = words.cbegin();
    for (std::sregex_iterator found(words.begin(), words.end(), uuid), end; found != end; ++found) {
      out.append(rest, found->prefix().second);
      rest = found->suffix().first;
      const auto number = uuids_.emplace(found->str(), uuids_.size() + 1).first->second;
      const std::string digits = std::to_string(number);
      out += "019b76da-a800-7000-8000-" + std::string(12 - digits.size(), '0') + digits;
    }
    return out.append(rest, words.cend());
  }

  std::vector<std::pair<std::string, std::string>> known_;
  std::map<std::string, std::size_t> counts_;
  std::map<std::string, std::size_t> uuids_;
};

// ---- Schemas

std::string referred(const json::value& schema) {
  const std::string reference = member(schema, "$ref");
  return reference.substr(reference.rfind('/') + 1);
}

// " (1 to 64 bytes)", from two keywords of a schema; nothing without the upper one.
std::string bounds_of(const json::object& schema, const char* min_name, const char* max_name, const char* unit) {
  const json::value* max = schema.if_contains(max_name);
  if (max == nullptr) return {};
  const json::value* min = schema.if_contains(min_name);
  const std::string from = min == nullptr ? "up to " : std::to_string(min->as_int64()) + " to ";
  return " (" + from + std::to_string(max->as_int64()) + unit + ")";
}

std::string type_of(const json::value& schema) {
  const auto& object = schema.as_object();
  if (object.contains("$ref")) return "[" + referred(schema) + "](#" + anchor(referred(schema)) + ")";
  if (const json::value* values = object.if_contains("enum")) {
    std::string names;
    for (const json::value& value : values->as_array()) names += (names.empty() ? "`" : ", `") + str(value) + "`";
    return names;
  }
  const std::string type = member(schema, "type");
  if (type.empty()) return "any JSON";
  if (type == "array") {
    return "array of " + type_of(object.at("items")) + bounds_of(object, "minItems", "maxItems", " entries");
  }
  if (const json::value* values = object.if_contains("additionalProperties");
      values != nullptr && values->is_object()) {
    return "object of " + type_of(*values) + bounds_of(object, "minProperties", "maxProperties", " keys");
  }
  if (member(schema, "format") == "uuid") return "UUID";
  if (object.contains("contentEncoding")) return "base64";
  if (type == "integer") return type + bounds_of(object, "minimum", "maximum", "");
  return type + bounds_of(object, "minLength", "maxLength", " bytes");
}

bool is_required(const json::value& schema, const json::string_view& name) {
  const json::value* required = schema.as_object().if_contains("required");
  if (required == nullptr) return false;
  const auto& names = required->as_array();
  return std::any_of(names.begin(), names.end(), [&](const json::value& one) { return one.as_string() == name; });
}

class Reference {
 public:
  Reference(const json::value& openapi, const std::map<std::string, Example>& examples)
      : openapi_(openapi), examples_(examples), routes_(api::all_routes()) {}

  std::string render(const Example& refusal) {
    out_ += before_errors;
    write_example(refusal);
    out_ += after_error_example;
    write_error_table();
    write_contents();
    for (const api::Route& route : routes_) write_route(route);
    write_types();
    return std::move(out_);
  }

 private:
  static std::string heading(const api::Route& route) { return route.method + " " + route.pattern; }

  void write_error_table() {
    out_ += "| code | status | retryable |\n|---|---|---|\n";
    using Codes = wire::EnumRange<Errc>;
    for (int i = static_cast<int>(Codes::first); i <= static_cast<int>(Codes::last); ++i) {
      const ErrcInfo& info = describe(static_cast<Errc>(i));
      out_ += "| `" + std::string(info.text) + "` | " + std::to_string(info.http_status) + " | " +
              (info.retryable ? "yes" : "no") + " |\n";
    }
  }

  void write_contents() {
    out_ += "\n## Routes\n\n| route | what it does | role |\n|---|---|---|\n";
    for (const api::Route& route : routes_) {
      const std::string role = route.anybody ? "none" : "`" + std::string(to_string(route.needs)) + "`";
      out_ += "| [" + heading(route) + "](#" + anchor(heading(route)) + ") | " + cell(route.summary) + " | " + role +
              " |\n";
    }
  }

  void write_route(const api::Route& route) {
    const json::value& operation = openapi_.at("paths").at(route.pattern).at(lower(route.method));
    out_ += "\n### " + heading(route) + "\n\n" + route.summary;
    if (!route.description.empty()) out_ += " " + route.description;
    out_ += route.anybody ? " Needs no key.\n" : " Needs the role `" + std::string(to_string(route.needs)) + "`.\n";
    write_parameters(operation);
    write_request(route, operation);
    write_reply(route, operation);
    const auto example = examples_.find(heading(route));
    if (example == examples_.end()) return;
    out_ += "\n";
    write_example(example->second);
  }

  void write_parameters(const json::value& operation) {
    const auto& parameters = operation.at("parameters").as_array();
    if (parameters.empty()) return;
    out_ += "\n| parameter | in | meaning |\n|---|---|---|\n";
    for (const json::value& parameter : parameters) {
      out_ += "| `" + member(parameter, "name") + "` | " + member(parameter, "in") + " | " +
              cell(member(parameter, "description")) + " |\n";
    }
  }

  void write_request(const api::Route& route, const json::value& operation) {
    const json::value* body = operation.as_object().if_contains("requestBody");
    if (body == nullptr) return;
    out_ += std::string("\n**Request**") + (route.body_required ? "" : " (may be absent)") +
            (route.takes_bytes ? ": this, or the payload as `application/octet-stream`\n" : "\n");
    write_fields(body->at("content").at("application/json").at("schema"), false);
  }

  void write_reply(const api::Route& route, const json::value& operation) {
    out_ += "\n**Reply** `" + std::to_string(route.status) + "`";
    if (route.gives_bytes) out_ += ": this, or the bytes as `application/octet-stream`";
    if (route.streams) out_ += ": this, or `text/event-stream` for those who accept it ([events.md](events.md))";
    out_ += "\n";
    const json::value& schema =
        operation.at("responses").at(std::to_string(route.status)).at("content").at("application/json").at("schema");
    if (route.response_schema) {
      write_fields(schema, true);
    } else {
      out_ += "\nAn empty object.\n";
    }
    for (const api::OtherAnswer& other : route.also) {
      out_ += "\n`" + std::to_string(other.status) + "`: " + std::string(other.about) + "\n";
    }
  }

  // The fields of a body. Its own type is not named; those within are explained at the end.
  void write_fields(const json::value& schema, bool of_reply) {
    const json::value& fields = openapi_.at("components").at("schemas").at(referred(schema));
    (of_reply ? of_replies_ : of_requests_).insert(referred(schema));
    write_field_table(fields, of_reply);
    note_types_within(fields, of_reply);
  }

  void write_field_table(const json::value& schema, bool of_reply) {
    out_ += "\n| field | type | | meaning |\n|---|---|---|---|\n";
    for (const auto& [name, field] : schema.at("properties").as_object()) {
      const bool required = is_required(schema, name);
      const char* presence = of_reply ? (required ? "" : "optional") : (required ? "required" : "");
      out_ += "| `" + std::string(name.data(), name.size()) + "` | " + cell(type_of(field)) + " | " + presence + " | " +
              cell(member(field, "description")) + " |\n";
    }
  }

  void note_types_within(const json::value& value, bool of_reply) {
    if (value.is_array()) {
      for (const json::value& element : value.as_array()) note_types_within(element, of_reply);
    }
    if (!value.is_object()) return;
    if (value.as_object().contains("$ref")) {
      const std::string name = referred(value);
      types_.insert(name);
      if (!(of_reply ? of_replies_ : of_requests_).insert(name).second) return;
      note_types_within(openapi_.at("components").at("schemas").at(name), of_reply);
    }
    for (const auto& [key, element] : value.as_object()) note_types_within(element, of_reply);
  }

  void write_types() {
    out_ += "\n## Types\n";
    for (const std::string& name : types_) {
      out_ += "\n### " + name + "\n";
      write_field_table(openapi_.at("components").at("schemas").at(name), !of_requests_.contains(name));
    }
  }

  void write_example(const Example& example) {
    names_.learn(example.body);
    names_.learn(example.reply.json);
    out_ += "```http\n" + example.method + " " + names_.replace_in(example.target) + "\n";
    if (!example.body.is_null()) out_ += "\n" + pretty(named(example.body)) + "\n";
    out_ += "```\n```http\n" + std::to_string(example.reply.status) + " " +
            std::string(net::reason_phrase(example.reply.status)) + "\n\n" + pretty(named(example.reply.json)) +
            "\n```\n";
  }

  json::value named(const json::value& value) { return json::parse(names_.replace_in(json::serialize(value))); }

  const json::value& openapi_;
  const std::map<std::string, Example>& examples_;
  const std::vector<api::Route> routes_;
  Names names_;
  std::set<std::string> types_;  // those that stand within a body
  std::set<std::string> of_requests_;
  std::set<std::string> of_replies_;
  std::string out_;
};

}  // namespace

Reply ExampleRecorder::send(const std::string& method, const std::string& target, const std::string& body) {
  const auto before = client_.succeeded();
  Reply reply = client_.send(method, target, body);
  for (const std::string& operation : client_.succeeded()) {
    if (before.contains(operation)) continue;
    examples_[operation] = {method, target, body.empty() ? json::value{} : json::parse(body), reply};
  }
  return reply;
}

std::string render_api_reference(const json::value& openapi, const std::map<std::string, Example>& examples,
                                 const Example& refusal) {
  return Reference(openapi, examples).render(refusal);
}

}  // namespace flowfabric::e2e
