// Webhooks as JSON.
#pragma once

#include <flowfabric/hooks.hpp>

#include "wire/bodies.hpp"

namespace flowfabric::bodies {

struct RotateHookBody {
  std::int64_t grace_ms = 0;
  std::string secret{};
};
struct HooksReply {
  std::vector<HookInfo> hooks{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<HookScheme> : Range<HookScheme, HookScheme::github, HookScheme::hmac> {};
template <>
struct EnumRange<HookAction> : Range<HookAction, HookAction::signal, HookAction::create> {};
template <>
struct EnumRange<HookOutcome> : Range<HookOutcome, HookOutcome::delivered, HookOutcome::challenge> {};

// The settings of a hook, without its secret.
inline constexpr auto hook_settings = std::tuple{
    required("name", &HookRequest::name, "In the path to which the sender posts: /v1/hooks/NAME.")
        .within(1, limits::max_hook_name_bytes),
    field("namespace", &HookRequest::name_space, "Of the executions that it reaches or creates (default).")
        .within(1, limits::max_namespace_bytes),
    field("scheme", &HookRequest::scheme, "How the sender signs (hmac)."),
    if_set("signature_header", &HookRequest::signature_header, "With hmac: the header of the signature (X-Signature).")
        .up_to(limits::max_hook_name_bytes),
    if_set("signature_prefix", &HookRequest::signature_prefix, "With hmac: what stands before it, such as sha256=.")
        .up_to(limits::max_hook_name_bytes),
    field("action", &HookRequest::action, "What a request becomes (signal)."),
    if_set(
        "execution_at", &HookRequest::execution_at,
        "Of a signal: where the id of the execution stands: header:NAME, query:NAME or a JSON pointer into the body.")
        .up_to(limits::max_match_field_bytes),
    if_set("token_at", &HookRequest::token_at, "Instead: where the token of a waitpoint stands.")
        .up_to(limits::max_match_field_bytes),
    if_set("waitpoint", &HookRequest::waitpoint, "Of a signal: the waitpoint.").up_to(limits::max_waitpoint_name_bytes),
    if_set("signal_name", &HookRequest::signal_name, "Of a signal: its name; absent: that of the waitpoint.")
        .up_to(limits::max_signal_name_bytes),
    field("lane", &HookRequest::lane, "Of a create: the lane (default).").within(1, limits::max_lane_bytes),
    if_set("kind", &HookRequest::kind, "Of a create: the job type. The body becomes the payload.")
        .up_to(limits::max_kind_bytes),
    if_set("idempotency_at", &HookRequest::idempotency_at,
           "Where the id of the request stands; absent: where the scheme's sender puts it.")
        .up_to(limits::max_match_field_bytes),
};

template <>
struct Shape<HookRequest> {
  static constexpr std::string_view name = "HookRequest";
  static constexpr auto fields = std::tuple_cat(
      hook_settings, std::tuple{if_set("secret", &HookRequest::secret,
                                       "Shared with the sender, 16 to 256 bytes; absent: one is made and shown once.")
                                    .up_to(limits::max_hook_secret_bytes)});
};

// The settings of a hook beside what happened to it.
struct HookSettings : HookRequest {};
template <>
struct Shape<HookSettings> {
  static constexpr std::string_view name = "HookSettings";
  static constexpr auto fields = hook_settings;
};
template <>
struct Codec<HookInfo> {
  struct Flat : HookSettings {
    TimestampMs created_at = 0;
    std::string created_by{};
    std::uint32_t secrets = 1;
    TimestampMs older_secret_until = 0;
  };
  static Result<void> read(const Value& value, const At& at, HookInfo& out);
  static void write(Writer& writer, const HookInfo& info);
  static std::string schema(Schemas& schemas);
};
template <>
struct Shape<Codec<HookInfo>::Flat> {
  using F = Codec<HookInfo>::Flat;
  static constexpr std::string_view name = "HookInfo";
  static constexpr auto fields = std::tuple_cat(
      hook_settings, std::tuple{moment("created_at", &F::created_at, "When it was made."),
                                if_set("created_by", &F::created_by, "The actor that made it."),
                                field("secrets", &F::secrets, "How many secrets are accepted."),
                                moment("older_secret_until", &F::older_secret_until,
                                       "After a rotation: until when the secret before it is accepted.")});
};
inline Result<void> Codec<HookInfo>::read(const Value& value, const At& at, HookInfo& out) {
  Flat flat;
  FF_TRY_VOID(Codec<Flat>::read(value, at, flat));
  out.created_at = flat.created_at;
  out.created_by = std::move(flat.created_by);
  out.secrets = flat.secrets;
  out.older_secret_until = flat.older_secret_until;
  out.request = std::move(static_cast<HookRequest&>(flat));
  return {};
}
inline void Codec<HookInfo>::write(Writer& writer, const HookInfo& info) {
  Flat flat;
  static_cast<HookRequest&>(flat) = info.request;
  flat.created_at = info.created_at;
  flat.created_by = info.created_by;
  flat.secrets = info.secrets;
  flat.older_secret_until = info.older_secret_until;
  Codec<Flat>::write(writer, flat);
}
inline std::string Codec<HookInfo>::schema(Schemas& schemas) { return Codec<Flat>::schema(schemas); }

template <>
struct Shape<NewHook> {
  static constexpr std::string_view name = "NewHook";
  static constexpr auto fields = std::tuple{
      field("info", &NewHook::info, "The hook."),
      field("secret", &NewHook::secret, "Its secret; shown only this once."),
  };
};

template <>
struct Shape<bodies::RotateHookBody> {
  using T = bodies::RotateHookBody;
  static constexpr std::string_view name = "RotateHookBody";
  static constexpr auto fields = std::tuple{
      field("grace_ms", &T::grace_ms, "How long the secret before is accepted besides (0).")
          .up_to(limits::max_duration_ms),
      if_set("secret", &T::secret, "The new secret; absent: one is made.").up_to(limits::max_hook_secret_bytes),
  };
};

template <>
struct Shape<bodies::HooksReply> {
  using T = bodies::HooksReply;
  static constexpr std::string_view name = "HooksReply";
  static constexpr auto fields = std::tuple{field("hooks", &T::hooks, "Without their secrets.")};
};

template <>
struct Shape<HookReply> {
  using R = HookReply;
  static constexpr std::string_view name = "HookReply";
  static constexpr auto fields = std::tuple{
      field("outcome", &R::outcome, "What became of the request."),
      field("execution_id", &R::execution_id, "The execution that got the signal, or was created."),
      if_set("reason", &R::reason, "Why it was dropped."),
      if_set("challenge", &R::challenge, "The text that the sender wants back."),
  };
};

}  // namespace flowfabric::wire
