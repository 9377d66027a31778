#include <algorithm>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/api_keys.hpp"
#include "core/decide_parts.hpp"

namespace flowfabric {
namespace {

ApiKeysRecord stored_keys(const Slot& slot) {
  const auto* stored = std::get_if<ApiKeysRecord>(&slot.record);
  return stored == nullptr ? ApiKeysRecord{} : *stored;
}

std::string what_it_may(const ApiKeyInfo& info) {
  std::string text = info.name + ": " + std::string(to_string(info.role));
  if (info.name_space) text += " of namespace " + *info.name_space;
  return text;
}

void store_keys(Slot& slot, ApiKeysRecord record, EventType type, const ApiKeyInfo& info, const Operator& by,
                const Context& context) {
  slot.record = std::move(record);
  slot.changed = true;
  Event event = plain_event(type, context, by, what_it_may(info));
  if (info.name_space) event.name_space = *info.name_space;
  slot.log(std::move(event));
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const CreateApiKeyCommand& command, const Context& context) {
  Slot& slot = workspace.at(api_keys_key());
  const ApiKeyRequest& request = command.request;
  ApiKeysRecord record = stored_keys(slot);
  std::erase_if(record.keys, [&](const auto& key) { return has_expired(key.info, context.now); });
  for (const auto& key : record.keys) {
    if (key.info.name == request.name) {
      return fail(Errc::conflict,
                  "name: a key \"" + request.name + "\" already exists; revoke it or choose another name", "name");
    }
  }
  if (record.keys.size() >= limits::max_api_keys) {
    return fail(Errc::conflict,
                "the limit of " + std::to_string(record.keys.size()) + " API keys is reached; revoke one first");
  }
  if (request.expires_at != 0 && request.expires_at <= context.now) {
    return fail(Errc::invalid_argument, "expires_at: is in the past", "expires_at");
  }
  NewApiKey made = make_api_key(request, command.by.name, context.now, context.entropy);
  record.keys.push_back({made.info, hash_of_secret(made.secret)});
  store_keys(slot, std::move(record), EventType::api_key_created, made.info, command.by, context);
  return made;
}

Result<Reply> decide_one(Workspace& workspace, const RevokeApiKeyCommand& command, const Context& context) {
  Slot& slot = workspace.at(api_keys_key());
  ApiKeysRecord record = stored_keys(slot);
  const auto found = std::find_if(record.keys.begin(), record.keys.end(), [&](const auto& key) {
    return key.info.key_id == command.key || key.info.name == command.key;
  });
  if (found == record.keys.end()) return fail(Errc::not_found, "there is no API key \"" + command.key + "\"");
  const ApiKeyInfo info = found->info;
  record.keys.erase(found);
  store_keys(slot, std::move(record), EventType::api_key_revoked, info, command.by, context);
  return info;
}

}  // namespace flowfabric
