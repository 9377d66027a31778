#include "core/tokens.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/limits.hpp"

namespace flowfabric {
namespace {

constexpr std::uint8_t handle_without_namespace = 1;
constexpr std::uint8_t handle_mark = 2;
constexpr std::uint8_t grant_mark = 'G';
constexpr std::uint8_t session_mark = 'S';
constexpr std::uint8_t waitpoint_mark = 'W';
constexpr std::uint8_t waitpoint_layout = 1;
constexpr std::size_t waitpoint_signature_bytes = 32;
constexpr std::uint8_t session_layout = 1;
constexpr std::size_t handle_signature_bytes = 16;
constexpr std::size_t grant_signature_bytes = 32;
constexpr std::size_t session_signature_bytes = 32;
constexpr std::size_t max_session_chars = 160;
constexpr std::size_t max_handle_chars = 320;

Unexpected<Error> refuse_handle(const char* why) {
  return fail(Errc::invalid_handle, std::string("this is not a handle of this store: ") + why, "handle");
}

Unexpected<Error> refuse_grant(const char* why) {
  return fail(Errc::invalid_claim_grant, std::string("this is not a grant key of this store: ") + why, "grant_key");
}

struct Token {
  std::string signed_part;
  std::string signature;
};

// Splits a token into the signed part and the signature; nothing if it is malformed.
std::optional<Token> part(std::string_view text, std::size_t max_chars, std::size_t signature_bytes) {
  if (text.empty() || text.size() > max_chars) return std::nullopt;
  const auto bytes = from_base64url(text);
  if (!bytes || bytes->size() <= signature_bytes) return std::nullopt;
  const std::size_t split = bytes->size() - signature_bytes;
  return Token{bytes->substr(0, split), bytes->substr(split)};
}

void put_execution_id(Encoder& out, const ExecutionId& id) {
  out.unsigned_number(id.partition);
  out.uuid(id.uuid);
}

// Nothing if the partition does not exist.
std::optional<ExecutionId> get_execution_id(Decoder& in) {
  const std::uint32_t partition = in.u32();
  const Uuid uuid = in.uuid();
  if (partition >= partition_count) return std::nullopt;
  return ExecutionId{static_cast<std::uint16_t>(partition), uuid};
}

}  // namespace

Result<void> admit_grant(const GrantClaims& claims, GrantKind kind, const RedeemRequest& request) {
  if (claims.kind != kind) {
    return fail(Errc::invalid_claim_grant, "this is a " + std::string(to_string(claims.kind)) + " grant", "grant_key");
  }
  if (claims.execution_id != request.execution_id) {
    return fail(Errc::invalid_claim_grant, "the grant was issued for another execution", "execution_id");
  }
  if (claims.worker_id != request.worker_id) {
    return fail(Errc::invalid_claim_grant, "the grant was issued for another worker", "worker_id");
  }
  if (kind == GrantKind::claim && request.max_reclaim_count) {
    return fail(Errc::invalid_argument, "max_reclaim_count: belongs to a reclaim, and this is a claim",
                "max_reclaim_count");
  }
  return {};
}

Unexpected<Error> refuse_wait_token() {
  return fail(Errc::invalid_token,
              "this token is not accepted: it is not one of this store, has expired, or was revoked", "token");
}

std::string grant_id_of(std::string_view grant_key) {
  const Sha256 digest = sha256(grant_key);
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

TokenSigner::TokenSigner(const KeyringRecord& keyring) {
  for (const auto& key : keyring.keys) {
    keys_.push_back({key.key_id, key.expires_at, std::make_unique<Signer>(key.secret)});
  }
  FF_CHECK(!keys_.empty());
}

const char* TokenSigner::fault(std::uint32_t key_id, std::string_view bytes, std::string_view signature,
                               TimestampMs now) const {
  const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Key& k) { return k.key_id == key_id; });
  if (key == keys_.end()) return "it was signed with an unknown key";
  if (!key->signer->verify(bytes, signature)) return "its signature is wrong";
  if (key->expires_at != 0 && key->expires_at <= now) return "the key that it was signed with is no longer accepted";
  return nullptr;
}

bool TokenSigner::knows_key_of(std::string_view token) const {
  const auto bytes = from_base64url(token.substr(0, limits::max_grant_key_chars));
  if (!bytes) return true;
  Decoder in(*bytes);
  in.u8();
  in.u8();
  const std::uint32_t key_id = in.u32();
  return !in.ok() || std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.key_id == key_id; });
}

Handle TokenSigner::sign_handle(const Fence& fence, HandleKind kind, std::string_view name_space) const {
  const Key& newest = keys_.back();
  Encoder out;
  out.u8(handle_mark);
  out.enumerator(kind);
  out.unsigned_number(newest.key_id);
  put_execution_id(out, fence.execution_id);
  out.unsigned_number(fence.attempt_index);
  out.unsigned_number(fence.lease_epoch);
  out.uuid(fence.lease_id);
  out.text(name_space);
  std::string bytes = out.take();
  bytes += newest.signer->sign(bytes).substr(0, handle_signature_bytes);
  return to_base64url(bytes);
}

Result<HandleClaims> TokenSigner::verify_handle(std::string_view handle, TimestampMs now) const {
  const auto token = part(handle, max_handle_chars, handle_signature_bytes);
  if (!token) return refuse_handle("it is not base64url text of the right length");
  Decoder in(token->signed_part);
  const std::uint8_t version = in.u8();
  if (version != handle_mark && version != handle_without_namespace) return refuse_handle("its version is unknown");
  in.enumerator(HandleKind::reclaimed);
  const std::uint32_t key_id = in.u32();
  const auto execution_id = get_execution_id(in);
  HandleClaims claims;
  claims.fence.attempt_index = in.u32();
  claims.fence.lease_epoch = in.unsigned_number();
  claims.fence.lease_id = in.uuid();
  if (version == handle_mark) claims.name_space = in.text();
  if (!in.at_end() || !execution_id) return refuse_handle("its contents are malformed");
  claims.fence.execution_id = *execution_id;
  if (const char* why = fault(key_id, token->signed_part, token->signature, now)) return refuse_handle(why);
  return claims;
}

std::string TokenSigner::sign_grant(const GrantClaims& claims) const {
  const Key& newest = keys_.back();
  Encoder out;
  out.u8(grant_mark);
  out.enumerator(claims.kind);
  out.unsigned_number(newest.key_id);
  put_execution_id(out, claims.execution_id);
  out.number(claims.expires_at);
  out.unsigned_number(claims.nonce);
  out.text(claims.worker_id);
  out.text(claims.worker_instance_id);
  std::string bytes = out.take();
  bytes += newest.signer->sign(bytes);
  return to_base64url(bytes);
}

Result<GrantClaims> TokenSigner::verify_grant(std::string_view grant_key, TimestampMs now) const {
  const auto token = part(grant_key, limits::max_grant_key_chars, grant_signature_bytes);
  if (!token) return refuse_grant("it is not base64url text of the right length");
  Decoder in(token->signed_part);
  if (in.u8() != grant_mark) return refuse_grant("its version is unknown");
  GrantClaims claims;
  claims.kind = in.enumerator(GrantKind::reclaim);
  const std::uint32_t key_id = in.u32();
  const auto execution_id = get_execution_id(in);
  claims.expires_at = in.number();
  claims.nonce = in.unsigned_number();
  claims.worker_id = in.text();
  claims.worker_instance_id = in.text();
  if (!in.at_end() || !execution_id) return refuse_grant("its contents are malformed");
  claims.execution_id = *execution_id;
  if (const char* why = fault(key_id, token->signed_part, token->signature, now)) return refuse_grant(why);
  return claims;
}

std::string TokenSigner::sign_waitpoint(const WaitpointClaims& claims) const {
  const Key& newest = keys_.back();
  Encoder out;
  out.u8(waitpoint_mark);
  out.u8(waitpoint_layout);
  out.unsigned_number(newest.key_id);
  put_execution_id(out, claims.execution_id);
  out.unsigned_number(claims.number);
  out.unsigned_number(claims.generation);
  out.number(claims.expires_at);
  out.text(claims.waitpoint);
  out.text(claims.source);
  std::string bytes = out.take();
  bytes += newest.signer->sign(bytes);
  return to_base64url(bytes);
}

Result<WaitpointClaims> TokenSigner::verify_waitpoint(std::string_view text, TimestampMs now) const {
  const auto token = part(text, limits::max_wait_token_chars, waitpoint_signature_bytes);
  if (!token) return refuse_wait_token();
  Decoder in(token->signed_part);
  if (in.u8() != waitpoint_mark || in.u8() != waitpoint_layout) return refuse_wait_token();
  const std::uint32_t key_id = in.u32();
  const auto execution_id = get_execution_id(in);
  WaitpointClaims claims;
  claims.number = in.u32();
  claims.generation = in.u32();
  claims.expires_at = in.number();
  claims.waitpoint = in.text();
  claims.source = in.text();
  if (!in.at_end() || !execution_id) return refuse_wait_token();
  claims.execution_id = *execution_id;
  if (fault(key_id, token->signed_part, token->signature, now) != nullptr) return refuse_wait_token();
  return claims;
}

std::string TokenSigner::sign_session(const SessionClaims& claims) const {
  const Key& newest = keys_.back();
  Encoder out;
  out.u8(session_mark);
  out.u8(session_layout);
  out.unsigned_number(newest.key_id);
  out.text(claims.api_key_id);
  out.number(claims.expires_at);
  std::string bytes = out.take();
  bytes += newest.signer->sign(bytes);
  return to_base64url(bytes);
}

Result<SessionClaims> TokenSigner::verify_session(std::string_view session, TimestampMs now) const {
  const auto refused = fail(Errc::unauthenticated, "this session is not known or has ended; sign in again");
  const auto token = part(session, max_session_chars, session_signature_bytes);
  if (!token) return refused;
  Decoder in(token->signed_part);
  if (in.u8() != session_mark || in.u8() != session_layout) return refused;
  const std::uint32_t key_id = in.u32();
  SessionClaims claims;
  claims.api_key_id = in.text();
  claims.expires_at = in.number();
  if (!in.at_end() || fault(key_id, token->signed_part, token->signature, now) != nullptr) return refused;
  if (claims.expires_at <= now) return refused;
  return claims;
}

}  // namespace flowfabric
