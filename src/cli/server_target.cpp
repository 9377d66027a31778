// The operator commands on a server, through its HTTP API.
#include <chrono>
#include <cstdlib>

#include "api/bulk_bodies.hpp"
#include "api/fleet_bodies.hpp"
#include "base/check.hpp"
#include "cli/secrets.hpp"
#include "cli/target.hpp"
#include "net/http_client.hpp"
#include "net/target.hpp"

namespace flowfabric::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds usual_patience{60'000};
constexpr milliseconds long_patience{3600'000};  // for requests whose duration depends on the amount of work

// A path with a query; absent values are left out.
class Url {
 public:
  explicit Url(std::string path) : text_(std::move(path)) {}

  Url& add(const char* name, const std::string& value) {
    text_ += (first_ ? '?' : '&') + std::string(name) + "=" + net::percent_encode(value);
    first_ = false;
    return *this;
  }
  Url& add(const char* name, const std::optional<std::string>& value) { return value ? add(name, *value) : *this; }
  Url& add(const char* name, const std::optional<std::int64_t>& value) {
    return value ? add(name, std::to_string(*value)) : *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool first_ = true;
};

std::string path_of(const ExecutionId& id) { return "/v1/executions/" + net::percent_encode(to_string(id)); }

// For responses without a known error code, from a proxy or a newer server.
Errc code_of_status(int status) {
  switch (status) {
    case 401: return Errc::unauthenticated;
    case 403: return Errc::permission_denied;
    case 404: return Errc::not_found;
    case 409: return Errc::conflict;
    case 429: return Errc::overloaded;
    case 502:
    case 503: return Errc::unavailable;
    case 504: return Errc::timed_out;
    default: return status >= 400 && status < 500 ? Errc::invalid_argument : Errc::internal;
  }
}

Error error_of(const net::Response& response) {
  if (auto body = wire::from_reply<wire::ErrorBody>(response.body)) return std::move(body->error);
  return {code_of_status(response.status),
          "the server answered " + std::to_string(response.status) + " " +
              std::string(net::reason_phrase(response.status)) +
              " without a FlowFabric error body; is this a FlowFabric server?",
          {},
          {}};
}

// The value of a metric without labels.
std::optional<double> metric(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

class ServerTarget final : public Target {
 public:
  ServerTarget(net::HttpClient http, const Place& place)
      : http_(std::move(http)), api_key_(place.api_key), name_(without_secrets(place.url)) {}

  // ---- Reading

  Result<ListReply> list(const ListRequest& request) override {
    Url url("/v1/executions");
    url.add("namespace", request.name_space).add("lane", request.lane).add("kind", request.kind);
    for (const PublicState state : request.states) url.add("state", std::string(to_string(state)));
    if (request.tag) url.add("tag", request.tag->first + "=" + request.tag->second);
    if (request.flow) url.add("flow", to_string(*request.flow));
    url.add("created_from", request.created_from).add("created_before", request.created_before);
    url.add("finished_from", request.finished_from).add("finished_before", request.finished_before);
    return get<ListReply>(page(url, request.cursor, request.limit));
  }
  Result<ExecutionDescription> describe(const ExecutionId& id) override {
    return get<ExecutionDescription>(Url(path_of(id)));
  }
  Result<ExecutionContext> context(const ExecutionId& id) override {
    return get<ExecutionContext>(Url(path_of(id) + "/payload"));
  }
  Result<ExecutionResult> result(const ExecutionId& id) override {
    return get<ExecutionResult>(Url(path_of(id) + "/result"));
  }
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override {
    Url url(path_of(id) + "/history");
    return get<EventPage>(page(url, cursor, limit));
  }
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                           std::uint32_t wait_ms) override {
    Url url("/v1/events");
    url.add("namespace", filter.name_space).add("lane", filter.lane);
    if (filter.execution_id) url.add("execution_id", to_string(*filter.execution_id));
    for (const EventType type : filter.types) url.add("type", std::string(to_string(type)));
    if (wait_ms > 0) url.add("wait_ms", std::to_string(wait_ms));
    return get<EventPage>(page(url, cursor, limit));
  }
  Result<std::vector<NamespaceInfo>> namespaces() override {
    FF_TRY(reply, get<api::NamespacesReply>(Url("/v1/namespaces")));
    return std::move(reply.namespaces);
  }
  Result<NamespaceInfo> name_space(const std::string& name) override {
    return get<NamespaceInfo>(Url("/v1/namespaces/" + net::percent_encode(name)));
  }
  Result<Tags> tags(const ExecutionId& id) override {
    FF_TRY(reply, get<api::TagsReply>(Url(path_of(id) + "/tags")));
    return std::move(reply.tags);
  }
  Result<ListStepsReply> steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override {
    Url url(path_of(id) + "/steps");
    FF_TRY(reply, get<api::StepsReply>(page(url, std::to_string(from_position), limit)));
    const auto next = static_cast<std::uint32_t>(std::strtoul(reply.next_cursor.c_str(), nullptr, 10));
    return ListStepsReply{std::move(reply.steps), next};
  }
  Result<std::vector<LaneView>> lanes(const std::optional<std::string>& name_space) override {
    FF_TRY(lanes, get<api::LanesReply>(Url("/v1/lanes")));
    FF_TRY(counts, get<api::CountsReply>(Url("/v1/counts").add("namespace", name_space)));
    return lane_views(std::move(lanes.lanes), std::move(counts.lanes));
  }
  Result<ListWorkersReply> workers(const ListWorkersRequest& request) override {
    Url url("/v1/workers");
    url.add("namespace", request.name_space).add("lane", request.lane).add("capability", request.capability);
    if (request.include_expired) url.add("include_expired", std::string("true"));
    return get<ListWorkersReply>(page(url, request.cursor, request.limit));
  }
  Result<ListExpiredLeasesReply> expired_leases(const ListExpiredLeasesRequest& request) override {
    Url url("/v1/leases/expired");
    if (request.as_of) url.add("as_of", std::to_string(*request.as_of));
    url.add("namespace", request.name_space);
    return get<ListExpiredLeasesReply>(page(url, request.cursor, request.limit));
  }
  Result<std::vector<SigningKeyInfo>> keys() override {
    FF_TRY(reply, get<api::KeysReply>(Url("/v1/signing-keys")));
    return std::move(reply.keys);
  }
  Result<std::vector<ApiKeyInfo>> api_keys() override {
    FF_TRY(reply, get<api::ApiKeysReply>(Url("/v1/api-keys")));
    return std::move(reply.keys);
  }

  // The server's counters start with the process, so the change since the last call is the difference.
  Result<Pulse> pulse() override {
    Pulse pulse;
    pulse.now = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto answer = answer_to("GET", "/metrics", {}, usual_patience);
    // A key of one namespace may not see the figures of all of them.
    if (!answer && answer.error().code == Errc::permission_denied) return pulse;
    if (!answer) return Unexpected(answer.error());
    const std::string& metrics = *answer;
    if (const auto parked = metric(metrics, "flowfabric_parked_claims")) {
      pulse.parked_claims = static_cast<std::uint64_t>(*parked);
    }
    const double lag = metric(metrics, "flowfabric_due_lag_seconds_sum").value_or(0);
    const double count = metric(metrics, "flowfabric_due_lag_seconds_count").value_or(0);
    if (count < due_count_) due_lag_ = due_count_ = 0;  // it was restarted
    const double came = count - due_count_;
    pulse.due_lag_ms = came > 0 ? static_cast<std::int64_t>((lag - due_lag_) / came * 1000) : 0;
    due_lag_ = lag;
    due_count_ = count;
    return pulse;
  }

  // ---- Acting

  Result<Created> create(CreateRequest request) override { return send<Created>("POST", "/v1/executions", request); }
  Result<NamespaceInfo> set_namespace(const NamespaceInfo& info, const Operator& by) override {
    return send<NamespaceInfo>("PUT", "/v1/namespaces/" + net::percent_encode(info.name_space),
                               api::NamespaceBody{info.retention, by.reason});
  }
  Result<Tags> change_tags(const ExecutionId& id, TagChanges changes, const Operator& by) override {
    const api::TagsBody body{std::move(changes.set), std::move(changes.remove), by.reason};
    FF_TRY(reply, send<api::TagsReply>("PATCH", path_of(id) + "/tags", body));
    return std::move(reply.tags);
  }
  Result<RevokeReply> revoke_lease(const ExecutionId& id, const Operator& by, std::optional<Uuid> expected) override {
    return send<RevokeReply>("POST", path_of(id) + "/revoke-lease", api::RevokeBody{by.reason, expected});
  }
  Result<api::BulkTally> act_on(const api::BulkOrder& order, const std::vector<ExecutionId>& ids) override {
    api::BulkBody body;
    body.action = order.verb;
    body.ids = ids;
    body.reason = order.by.reason;
    if (order.verb == api::BulkVerb::priority) body.priority = order.priority;
    body.from_step = order.from_step;
    FF_TRY(reply, send<api::BulkReply>("POST", "/v1/executions/bulk", body));
    return static_cast<api::BulkTally&&>(reply);
  }
  Result<LaneInfo> set_lane_state(const std::string& lane, LaneState state, const Operator& by) override {
    return send<LaneInfo>("PUT", "/v1/lanes/" + net::percent_encode(lane), api::LaneBody{state, by.reason});
  }
  Result<MarkedDead> mark_worker_dead(const std::string& name_space, const std::string& instance,
                                      const Operator& by) override {
    const std::string path = "/v1/workers/" + net::percent_encode(instance) + "/mark-dead";
    FF_TRY(reply, send<api::MarkDeadReply>("POST", path, api::WorkerBody{name_space, by.reason}));
    return MarkedDead{reply.outcome, false};
  }
  Result<DrainWorkerOutcome> drain_worker(const std::string& name_space, const std::string& instance,
                                          const Operator& by) override {
    const std::string path = "/v1/workers/" + net::percent_encode(instance) + "/drain";
    FF_TRY(reply, send<api::DrainReply>("POST", path, api::WorkerBody{name_space, by.reason}));
    return reply.outcome;
  }
  Result<KeyRotation> rotate_keys(std::int64_t grace_ms, const Operator& by) override {
    return send<KeyRotation>("POST", "/v1/signing-keys/rotate", api::RotateBody{grace_ms, by.reason});
  }
  Result<NewApiKey> create_api_key(const ApiKeyRequest& request, const Operator&) override {
    return send<NewApiKey>("POST", "/v1/api-keys", request);
  }
  Result<ApiKeyInfo> revoke_api_key(const std::string& key, const Operator&) override {
    return ask<ApiKeyInfo>("DELETE", "/v1/api-keys/" + net::percent_encode(key), {}, usual_patience);
  }
  Result<std::uint64_t> run_retention(const RetentionRun& run, const Operator& by) override {
    const api::RetentionBody body{run.older_than_ms, run.name_space, run.lane, run.tag, run.dry_run, by.reason};
    FF_TRY(reply, send<api::RetentionReply>("POST", "/v1/retention/run", body, long_patience));
    return reply.matched;
  }
  std::string name() const override { return name_; }

 private:
  static Url& page(Url& url, const std::string& cursor, std::uint32_t limit) {
    if (!cursor.empty()) url.add("cursor", cursor);
    return url.add("limit", std::to_string(limit));
  }

  template <class Reply>
  Result<Reply> get(const Url& url) {
    return ask<Reply>("GET", url.text(), {}, usual_patience);
  }
  template <class Reply, class Body>
  Result<Reply> send(const char* method, std::string path, const Body& body, milliseconds patience = usual_patience) {
    return ask<Reply>(method, std::move(path), wire::to_json(body), patience);
  }

  template <class Reply>
  Result<Reply> ask(const char* method, std::string target, std::string body, milliseconds patience) {
    FF_TRY(text, answer_to(method, std::move(target), std::move(body), patience));
    auto reply = wire::from_reply<Reply>(text);
    if (reply) return reply;
    return fail(Errc::schema_mismatch,
                "the server's answer cannot be read; is it of another version? " + reply.error().message);
  }

  Result<std::string> answer_to(const char* method, std::string target, std::string body, milliseconds patience) {
    net::ClientRequest request;
    request.method = method;
    request.target = std::move(target);
    request.timeout = patience;
    if (!api_key_.empty()) request.headers.add("Authorization", "Bearer " + api_key_);
    if (request.method != "GET") request.headers.add("Content-Type", "application/json");
    request.body = std::move(body);
    FF_TRY(response, http_.request(request));
    if (response.status >= 300) return Unexpected(error_of(response));
    return std::move(response.body);
  }

  net::HttpClient http_;
  std::string api_key_;
  std::string name_;
  double due_lag_ = 0;  // seconds and number, as of the last pulse
  double due_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Target>> make_server_target(const Place& place) {
  net::ClientOptions options;
  options.url = place.url;
  options.ca_file = place.ca_file;
  FF_TRY(http, net::HttpClient::create(std::move(options)));
  return std::make_unique<ServerTarget>(std::move(http), place);
}

}  // namespace flowfabric::cli
