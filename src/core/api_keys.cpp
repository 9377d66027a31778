#include "core/api_keys.hpp"

#include <algorithm>

#include "base/hashing.hpp"

namespace flowfabric {
namespace {

constexpr std::string_view prefix = "ffk_";
constexpr std::size_t id_digits = 12;
constexpr std::size_t random_words = 4;

std::string random_bytes(std::size_t words, const Entropy& entropy) {
  std::string bytes;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = entropy();
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((word >> shift) & 0xff);
  }
  return bytes;
}

}  // namespace

NewApiKey make_api_key(const ApiKeyRequest& request, const std::string& created_by, TimestampMs now,
                       const Entropy& entropy) {
  NewApiKey made;
  made.info.key_id = to_hex(random_bytes(1, entropy)).substr(0, id_digits);
  made.info.name = request.name;
  made.info.role = request.role;
  made.info.name_space = request.name_space;
  made.info.created_at = now;
  made.info.created_by = created_by;
  made.info.expires_at = request.expires_at;
  made.secret = std::string(prefix) + made.info.key_id + "_" + to_base64url(random_bytes(random_words, entropy));
  return made;
}

std::string hash_of_secret(std::string_view secret) {
  const Sha256 hash = sha256(secret);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

bool has_expired(const ApiKeyInfo& info, TimestampMs now) { return info.expires_at != 0 && info.expires_at <= now; }

namespace {

Result<ApiKeyInfo> if_good(const ApiKeyInfo* found, TimestampMs now) {
  if (found != nullptr && !has_expired(*found, now)) return *found;
  return fail(Errc::unauthenticated, "this API key is not known, was revoked or has expired");
}

}  // namespace

Result<ApiKeyInfo> whose_secret(const ApiKeysRecord& record, std::string_view secret, TimestampMs now) {
  const std::string hash = hash_of_secret(secret);
  const ApiKeyInfo* found = nullptr;
  // Compares all keys, so that the duration reveals nothing.
  for (const auto& key : record.keys) {
    if (equal_in_constant_time(key.secret_hash, hash)) found = &key.info;
  }
  return if_good(found, now);
}

Result<ApiKeyInfo> whose_key_id(const ApiKeysRecord& record, std::string_view key_id, TimestampMs now) {
  const auto found = std::find_if(record.keys.begin(), record.keys.end(),
                                  [&](const ApiKeysRecord::ApiKey& key) { return key.info.key_id == key_id; });
  return if_good(found == record.keys.end() ? nullptr : &found->info, now);
}

}  // namespace flowfabric
