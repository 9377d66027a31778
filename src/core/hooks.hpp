// Webhooks: the stored form, the signatures of common senders, and what a request becomes. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <flowfabric/hooks.hpp>

#include "base/entropy.hpp"

namespace flowfabric {

// The hooks of the store, by name. Unlike the secrets of API keys theirs are stored as they are: checking a signature
// needs them. They are never shown again.
struct HooksRecord {
  struct Secret {
    std::string text;
    TimestampMs expires_at = 0;  // 0: never
  };
  struct Hook {
    HookRequest request;  // its secret is empty
    TimestampMs created_at = 0;
    std::string created_by;
    std::vector<Secret> secrets;  // newest first, one or two
  };
  std::vector<Hook> hooks;
};

std::string encode(const HooksRecord& record);
Result<HooksRecord> decode_hooks(std::string_view bytes);
HookInfo info_of(const HooksRecord::Hook& hook, TimestampMs now);
std::string make_hook_secret(const Entropy& entropy);

Result<void> admit(HookRequest& request);
Result<void> admit_hook_name(std::string_view name);

// What an accepted request asks for.
struct HookSignal {
  std::optional<ExecutionId> execution_id{};  // or:
  std::string token{};
  SignalRequest request{};
};
struct HookChallenge {
  std::string text;
};
struct HookDropped {
  std::string reason;
};
using HookWish = std::variant<HookSignal, CreateRequest, HookChallenge, HookDropped>;

// `unauthenticated` if there is no hook of this name or the signature is wrong, with the same words and the same work.
Result<HookWish> receive(const HooksRecord& record, const HookCall& call, TimestampMs now);

}  // namespace flowfabric
