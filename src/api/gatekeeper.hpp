// Authentication and authorization.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <flowfabric/engine.hpp>

#include "base/hashing.hpp"
#include "net/http.hpp"

namespace flowfabric::api {

struct Caller {
  std::string name = "local";  // recorded in the event log
  ApiRole role = ApiRole::admin;
  std::optional<std::string> name_space{};  // the namespace to which it is restricted; absent: all
};

// Knows callers by the API key that they send as `Authorization: Bearer KEY`, or by the session in the cookie of a browser
// that has signed in. Without `required` everybody is the local user, who may do everything: such a server listens on
// loopback only.
//
// A key that was found good is believed for a few seconds, so most requests cost a hash and nothing else, and a revoked
// key is refused everywhere soon after. Nothing is kept of secrets that are nobody's: there is no end to them. So what is
// kept is bounded by the number of keys, and by a limit of its own for sessions. Safe from any thread.
class Gatekeeper {
 public:
  // The clock never goes back; only differences matter. Null: that of the system.
  Gatekeeper(Engine& engine, bool required, std::function<std::int64_t()> steady_ms = {});

  bool required() const { return required_; }
  // The cached result; nothing if the engine must be asked.
  std::optional<Result<Caller>> recall(const net::Request& request);
  // Blocks while the engine looks it up.
  Result<Caller> ask(const net::Request& request);
  // After a key was revoked here.
  void forget();
  // How many it remembers.
  std::size_t known() const {
    const std::lock_guard lock(mutex_);
    return known_.size();
  }

 private:
  void forget_old();

  struct Known {
    Caller caller;
    std::int64_t until_ms = 0;  // of the monotonic clock
  };

  Engine& engine_;
  const bool required_;
  const std::function<std::int64_t()> steady_ms_;
  mutable std::mutex mutex_;
  std::map<Sha256, Known> known_;
};

// The session in the cookies of a request; nothing when there is none.
inline constexpr std::string_view session_cookie = "flowfabric_session";
std::optional<std::string_view> session_of(const net::Request& request);
// The fields that say who sends a request, for those who ask again later.
net::Request credentials_of(const net::Request& request);

// Refuses a role below the required one.
Result<void> check_role(const Caller& caller, ApiRole needed);

}  // namespace flowfabric::api
