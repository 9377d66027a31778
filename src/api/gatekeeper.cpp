#include "api/gatekeeper.hpp"

#include <chrono>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

constexpr std::int64_t believed_ms = 4000;

std::int64_t system_steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The key of a request, or why there is none.
Result<std::string_view> bearer(const net::Request& request) {
  const auto header = request.headers.find("authorization");
  if (!header) {
    return fail(Errc::unauthenticated, "this server requires an API key: send the header `Authorization: Bearer KEY`");
  }
  constexpr std::string_view scheme = "bearer ";
  if (header->size() <= scheme.size() || !net::equal_ignoring_case(header->substr(0, scheme.size()), scheme)) {
    return fail(Errc::unauthenticated, "authorization: must be `Bearer KEY`", "authorization");
  }
  return header->substr(scheme.size());
}

}  // namespace

Gatekeeper::Gatekeeper(Engine& engine, bool required, std::function<std::int64_t()> steady_ms)
    : engine_(engine), required_(required), steady_ms_(steady_ms ? std::move(steady_ms) : system_steady_ms) {}

std::optional<Result<Caller>> Gatekeeper::recall(const net::Request& request) {
  if (!required_) return Caller{};
  const auto secret = bearer(request);
  if (!secret) return tl::unexpected(secret.error());
  const Sha256 hash = sha256(*secret);
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(hash);
  if (found == known_.end() || found->second.until_ms <= steady_ms_()) return std::nullopt;
  return found->second.caller;
}

Result<Caller> Gatekeeper::ask(const net::Request& request) {
  FF_TRY(secret, bearer(request));
  const std::int64_t until = steady_ms_() + believed_ms;
  const auto info = engine_.authenticate(std::string(secret));
  if (!info) return tl::unexpected(info.error());
  const Caller caller{info->name, info->role, info->name_space};
  const std::lock_guard lock(mutex_);
  if (known_.size() >= limits::max_api_keys) forget_old();
  known_.insert_or_assign(sha256(secret), Known{caller, until});
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

Result<void> check_role(const Caller& caller, ApiRole needed) {
  if (caller.role >= needed) return {};
  return fail(Errc::permission_denied, "this request requires the role " + std::string(to_string(needed)) + "; \"" +
                                           caller.name + "\" has the role " + std::string(to_string(caller.role)));
}

}  // namespace flowfabric::api
