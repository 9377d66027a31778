// Webhooks: made, removed and given new secrets by operators.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/hooks.hpp"

namespace flowfabric {
namespace {

HooksRecord stored_hooks(const Slot& slot) {
  const auto* stored = std::get_if<HooksRecord>(&slot.record);
  return stored == nullptr ? HooksRecord{} : *stored;
}

std::vector<HooksRecord::Hook>::iterator find_hook(HooksRecord& record, const std::string& name) {
  return std::find_if(record.hooks.begin(), record.hooks.end(),
                      [&](const HooksRecord::Hook& hook) { return hook.request.name == name; });
}

void store_hooks(Slot& slot, HooksRecord record, EventType type, const HookRequest& hook, const Operator& by,
                 const Context& context) {
  slot.record = std::move(record);
  slot.changed = true;
  Event event = plain_event(type, context, by, hook.name);
  event.name_space = hook.name_space;
  slot.log(std::move(event));
}

Unexpected<Error> no_such_hook(const std::string& name) {
  return fail(Errc::not_found, "there is no hook \"" + name + "\"", "name");
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const CreateHookCommand& command, const Context& context) {
  Slot& slot = workspace.at(hooks_key());
  HooksRecord record = stored_hooks(slot);
  if (find_hook(record, command.request.name) != record.hooks.end()) {
    return fail(Errc::conflict, "name: a hook \"" + command.request.name + "\" already exists", "name");
  }
  if (record.hooks.size() >= limits::max_hooks) {
    return fail(Errc::conflict, "the limit of " + std::to_string(limits::max_hooks) + " hooks is reached");
  }
  HooksRecord::Hook hook{command.request, context.now, command.by.name, {}};
  const std::string secret =
      command.request.secret.empty() ? make_hook_secret(context.entropy) : command.request.secret;
  hook.request.secret.clear();
  hook.secrets.push_back({secret, 0});
  NewHook made{info_of(hook, context.now), secret};
  record.hooks.push_back(std::move(hook));
  store_hooks(slot, std::move(record), EventType::hook_created, command.request, command.by, context);
  return made;
}

Result<Reply> decide_one(Workspace& workspace, const RemoveHookCommand& command, const Context& context) {
  Slot& slot = workspace.at(hooks_key());
  HooksRecord record = stored_hooks(slot);
  const auto found = find_hook(record, command.name);
  if (found == record.hooks.end()) return no_such_hook(command.name);
  HookInfo info = info_of(*found, context.now);
  record.hooks.erase(found);
  store_hooks(slot, std::move(record), EventType::hook_removed, info.request, command.by, context);
  return info;
}

Result<Reply> decide_one(Workspace& workspace, const RotateHookCommand& command, const Context& context) {
  Slot& slot = workspace.at(hooks_key());
  HooksRecord record = stored_hooks(slot);
  const auto found = find_hook(record, command.name);
  if (found == record.hooks.end()) return no_such_hook(command.name);
  const std::string secret = command.secret.empty() ? make_hook_secret(context.entropy) : command.secret;
  HooksRecord::Secret older = found->secrets.front();
  older.expires_at = context.now + command.grace_ms;
  found->secrets = {{secret, 0}};
  if (command.grace_ms > 0) found->secrets.push_back(std::move(older));
  NewHook made{info_of(*found, context.now), secret};
  store_hooks(slot, std::move(record), EventType::hook_rotated, made.info.request, command.by, context);
  return made;
}

}  // namespace flowfabric
