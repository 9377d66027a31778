// Webhooks: requests that other systems send and sign become signals or executions. docs/hooks.md explains how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric {

// How the sender signs. Values are stored; append only.
enum class HookScheme : std::uint8_t {
  github,  // X-Hub-Signature-256: sha256=HEX of the body
  stripe,  // Stripe-Signature: t=SECONDS,v1=HEX of "SECONDS.body"
  slack,   // X-Slack-Signature: v0=HEX of "v0:SECONDS:body", with X-Slack-Request-Timestamp
  hmac     // HEX of the body in a header of your choice
};
// What a request becomes. Values are stored; append only.
enum class HookAction : std::uint8_t { signal, create };
// What became of one. Values are not stored.
enum class HookOutcome : std::uint8_t { delivered, created, duplicate, dropped, challenge };

std::string_view to_string(HookScheme value);
std::string_view to_string(HookAction value);
std::string_view to_string(HookOutcome value);

// Places in a request are written "header:NAME", "query:NAME" or as a JSON pointer into the body, such as
// "/data/object/metadata/execution".
struct HookRequest {
  std::string name{};  // in the path: POST /v1/hooks/NAME
  std::string name_space = "default";
  HookScheme scheme = HookScheme::hmac;
  std::string signature_header{};  // with `hmac` only; absent: X-Signature
  std::string signature_prefix{};  // with `hmac` only; such as "sha256="
  std::string secret{};            // shared with the sender; absent: one is made
  HookAction action = HookAction::signal;
  // Of a signal: the place of the execution's id or of a token, and the waitpoint.
  std::string execution_at{};
  std::string token_at{};
  std::string waitpoint{};
  std::string signal_name{};
  // Of a create. The body is the payload.
  std::string lane = "default";
  std::string kind{};
  // The place of what makes the request unique. Absent: what the scheme's sender uses, if it has one.
  std::string idempotency_at{};
};

// A hook without its secret.
struct HookInfo {
  HookRequest request{};  // its secret is empty
  TimestampMs created_at = 0;
  std::string created_by{};
  std::uint32_t secrets = 1;           // that are accepted
  TimestampMs older_secret_until = 0;  // after a rotation
};

struct NewHook {
  HookInfo info{};
  std::string secret{};  // shown only this once
};

// A request as it arrived. Names of headers are in lower case.
struct HookCall {
  std::string name{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::vector<std::pair<std::string, std::string>> query{};
  std::string body{};
};

struct HookReply {
  HookOutcome outcome = HookOutcome::dropped;
  std::optional<ExecutionId> execution_id{};
  std::string reason{};     // why it was dropped
  std::string challenge{};  // of a sender that asks whether the address is right: to be sent back

  friend bool operator==(const HookReply&, const HookReply&) = default;
};

}  // namespace flowfabric
