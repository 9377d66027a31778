// Signing in with a browser. A session is a signed text in a cookie that scripts cannot read.
#include "api/browser_guard.hpp"
#include "api/dashboard.hpp"
#include "api/route.hpp"
#include "api/session_bodies.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

constexpr std::int64_t session_lifetime_ms = 24LL * 3600 * 1000;

// Whether the browser came over TLS: to us, or to a proxy before us. Browsers say it themselves, in the origin of their page.
bool is_secure(const net::Request& request) {
  return request.secure || request.headers.find("origin").value_or("").starts_with("https://");
}

// Without a lifetime, so that browsers forget it when they are closed; an empty value takes it away.
net::Headers with_cookie(const net::Request& request, const std::string& token) {
  std::string cookie = std::string(session_cookie) + "=" + token + "; Path=/; HttpOnly; SameSite=Strict";
  if (token.empty()) cookie += "; Max-Age=0";
  if (is_secure(request)) cookie += "; Secure";
  return {{"Cache-Control", "no-store"}, {"Set-Cookie", std::move(cookie)}};
}

SessionReply reply_for(const Call& call, const DashboardSettings& settings, const Caller& caller) {
  SessionReply reply;
  reply.authentication = call.gatekeeper().required();
  reply.signed_in = true;
  reply.name = caller.name;
  reply.role = caller.role;
  reply.name_space = caller.name_space;
  reply.version = FLOWFABRIC_VERSION;
  reply.store = settings.store_kind;
  return reply;
}

// Those who are not signed in learn nothing but that they have to.
void look(const CallPtr& call, const DashboardSettings& settings) {
  const auto known = call->gatekeeper().recall(call->request());
  const auto caller = known ? *known : call->gatekeeper().ask(call->request());
  if (!caller && caller.error().code != Errc::unauthenticated) return call->refuse(caller.error());
  SessionReply reply;
  reply.authentication = true;
  if (caller) reply = reply_for(*call, settings, *caller);
  call->answer(200, wire::to_json(reply), {{"Cache-Control", "no-store"}});
}

void sign_in(const CallPtr& call, const DashboardSettings& settings, const SessionBody& body) {
  if (!call->gatekeeper().required()) {
    return call->refuse(Error{
        Errc::invalid_argument, "api_key: this server runs without authentication and has no sessions", "api_key", {}});
  }
  const auto session = call->engine().begin_session(body.api_key, session_lifetime_ms);
  if (!session) return call->refuse(session.error());
  const ApiKeyInfo& key = session->key;
  const SessionReply reply = reply_for(*call, settings, {key.name, key.role, key.name_space});
  call->answer(200, wire::to_json(reply), with_cookie(call->request(), session->token));
}

void sign_out(const CallPtr& call) {
  SessionReply reply;
  reply.authentication = call->gatekeeper().required();
  call->answer(200, wire::to_json(reply), with_cookie(call->request(), {}));
}

// Anybody may call these. A page of another site could sign a browser in or out, so its origin is looked at first.
Route session_route(Route route, const std::function<void(const CallPtr&)>& run) {
  route.anybody = true;
  route.of_dashboard = true;
  route.run = [run](const CallPtr& call) {
    if (const auto checked = check_own_page(call->request()); !checked) return call->refuse(checked.error());
    run(call);
  };
  return route;
}

}  // namespace

std::vector<Route> session_routes(const DashboardSettings& settings) {
  const std::string path = "/v1/session";
  return {
      session_route(detail::declare<Nothing, SessionReply>(ApiRole::viewer, "GET", path,
                                                           "Whether you are signed in, and as whom.", {}, 200),
                    [settings](const CallPtr& call) { call->in_pool([=] { look(call, settings); }); }),
      session_route(described(detail::declare<SessionBody, SessionReply>(ApiRole::viewer, "POST", path,
                                                                         "Sign a browser in with an API key.", {}, 200),
                              "Sets the cookie `flowfabric_session`, which then stands for the key on pages of this "
                              "server: for 24 hours at most, and no longer than the key is valid."),
                    [settings](const CallPtr& call) {
                      auto body = detail::read_body<SessionBody>(*call);
                      if (!body) return call->refuse(body.error());
                      call->in_pool([=] { sign_in(call, settings, *body); });
                    }),
      session_route(described(detail::declare<Nothing, SessionReply>(ApiRole::viewer, "DELETE", path,
                                                                     "Sign the browser out.", {}, 200),
                              "Removes the cookie. To end a session that was copied, revoke its key."),
                    sign_out),
  };
}

}  // namespace flowfabric::api
