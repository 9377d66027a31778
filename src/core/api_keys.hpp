// Keys of the HTTP API: the format of a secret, and the lookup of its key.
//
// A secret is "ffk_", the id of its key (12 hex digits), "_" and 43 random characters. The prefix lets scanners of source
// code find one that was committed by mistake.
#pragma once

#include <string>
#include <string_view>

#include "base/entropy.hpp"
#include "core/records.hpp"

namespace flowfabric {

NewApiKey make_api_key(const ApiKeyRequest& request, const std::string& created_by, TimestampMs now,
                       const Entropy& entropy);
std::string hash_of_secret(std::string_view secret);
bool has_expired(const ApiKeyInfo& info, TimestampMs now);
// `unauthenticated` if there is no such key; the message is the same for every cause.
Result<ApiKeyInfo> whose_secret(const ApiKeysRecord& record, std::string_view secret, TimestampMs now);

// The key of that id; `unauthenticated` when there is none, or when it has expired.
Result<ApiKeyInfo> whose_key_id(const ApiKeysRecord& record, std::string_view key_id, TimestampMs now);

}  // namespace flowfabric
