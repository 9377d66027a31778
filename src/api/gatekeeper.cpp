#include "api/gatekeeper.hpp"

#include <algorithm>
#include <chrono>

#include "api/browser_guard.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

constexpr std::int64_t believed_ms = 4000;

std::int64_t system_steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::size_t max_known = 2 * limits::max_api_keys;

// What a caller shows: the secret of an API key, or a session.
struct Credential {
  std::string_view text;
  bool is_session = false;

  // The same text means something else as a key than as a session.
  Sha256 hash() const { return sha256((is_session ? "session " : "key ") + std::string(text)); }
};

// The credential of a request, or why there is none. A key that was sent on purpose comes before a cookie.
Result<Credential> credential_of(const net::Request& request) {
  const auto header = request.headers.find("authorization");
  if (!header) {
    if (const auto session = session_of(request)) return Credential{*session, true};
    return fail(Errc::unauthenticated, "this server requires an API key: send the header `Authorization: Bearer KEY`");
  }
  constexpr std::string_view scheme = "bearer ";
  if (header->size() <= scheme.size() || !net::equal_ignoring_case(header->substr(0, scheme.size()), scheme)) {
    return fail(Errc::unauthenticated, "authorization: must be `Bearer KEY`", "authorization");
  }
  return Credential{header->substr(scheme.size()), false};
}

}  // namespace

Gatekeeper::Gatekeeper(Engine& engine, bool required, std::function<std::int64_t()> steady_ms)
    : engine_(engine), required_(required), steady_ms_(steady_ms ? std::move(steady_ms) : system_steady_ms) {}

std::optional<Result<Caller>> Gatekeeper::recall(const net::Request& request) {
  if (!required_) return Caller{};
  const auto credential = credential_of(request);
  if (!credential) return Unexpected(credential.error());
  if (credential->is_session) {
    if (const auto checked = check_cookie_sender(request); !checked) return Unexpected(checked.error());
  }
  const Sha256 hash = credential->hash();
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(hash);
  if (found == known_.end() || found->second.until_ms <= steady_ms_()) return std::nullopt;
  return found->second.caller;
}

Result<Caller> Gatekeeper::ask(const net::Request& request) {
  FF_TRY(credential, credential_of(request));
  if (credential.is_session) FF_TRY_VOID(check_cookie_sender(request));
  const std::int64_t until = steady_ms_() + believed_ms;
  const std::string text(credential.text);
  const auto info = credential.is_session ? engine_.authenticate_session(text) : engine_.authenticate(text);
  if (!info) return Unexpected(info.error());
  const Caller caller{info->name, info->role, info->name_space};
  const std::lock_guard lock(mutex_);
  if (known_.size() >= limits::max_api_keys) forget_old();
  if (known_.size() < max_known) known_.insert_or_assign(credential.hash(), Known{caller, until});
  return caller;
}

// Keys that were revoked or not used for a while.
void Gatekeeper::forget_old() {
  const std::int64_t now = steady_ms_();
  std::erase_if(known_, [&](const auto& known) { return known.second.until_ms <= now; });
}

void Gatekeeper::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

std::optional<std::string_view> session_of(const net::Request& request) {
  for (const auto& [name, value] : request.headers) {
    if (!net::equal_ignoring_case(name, "cookie")) continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
      const std::string_view trimmed = pair.substr(std::min(pair.find_first_not_of(' '), pair.size()));
      const std::size_t equals = trimmed.find('=');
      if (equals != std::string_view::npos && trimmed.substr(0, equals) == session_cookie) {
        return trimmed.substr(equals + 1);
      }
    }
  }
  return std::nullopt;
}

net::Request credentials_of(const net::Request& request) {
  net::Request credentials;
  credentials.method = request.method;
  for (const auto& [name, value] : request.headers) {
    for (const std::string_view wanted : {"authorization", "cookie", "origin", "host", "sec-fetch-site"}) {
      if (net::equal_ignoring_case(name, wanted)) credentials.headers.add(name, value);
    }
  }
  return credentials;
}

Result<void> check_role(const Caller& caller, ApiRole needed) {
  if (caller.role >= needed) return {};
  return fail(Errc::permission_denied, "this request requires the role " + std::string(to_string(needed)) + "; \"" +
                                           caller.name + "\" has the role " + std::string(to_string(caller.role)));
}

}  // namespace flowfabric::api
