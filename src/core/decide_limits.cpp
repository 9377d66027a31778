// Limits: made, changed and removed at run time. Slots that are taken stay with their leases.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/limit_ingress.hpp"

namespace flowfabric {
namespace {

LimitsRecord& stored_limits(Slot& slot) {
  if (slot.limits() == nullptr) slot.record = std::make_unique<LimitsRecord>();
  return *slot.limits();
}

void log_limit(Slot& slot, EventType type, const LimitInfo& info, const Operator& by, const Context& context) {
  slot.changed = true;
  const std::string why = by.reason.empty() ? "" : ": " + by.reason;
  Event event = plain_event(type, context, by, info.name + why);
  if (info.name_space) event.name_space = *info.name_space;
  if (info.lane) event.lane = *info.lane;
  slot.log(std::move(event));
}

Result<void> check_revision(const LimitRequest& request, const LimitDefinition* present) {
  if (!request.expected_revision) return {};
  const std::uint64_t revision = present == nullptr ? 0 : present->info.revision;
  if (*request.expected_revision == revision) return {};
  return fail(Errc::conflict,
              "expected_revision: is " + std::to_string(*request.expected_revision) + "; " + shown(request) +
                  (revision == 0 ? " does not exist" : " has revision " + std::to_string(revision)),
              "expected_revision");
}

// Two shares of a lane would have two orders.
Result<void> check_only_share(const LimitsRecord* limits, const LimitRequest& request) {
  if (!request.share || limits == nullptr) return {};
  const auto other = std::find_if(limits->limits.begin(), limits->limits.end(), [&](const LimitDefinition& one) {
    return one.info.share && one.info.lane == request.lane && one.info.name != request.name;
  });
  if (other == limits->limits.end()) return {};
  return fail(Errc::conflict,
              "lane: \"" + *request.lane + "\" has the share \"" + other->info.name +
                  "\" already; allowed: one for each lane (remove that one first)",
              "lane");
}

Result<void> check_zone(const LimitSpec& spec, const Context& context) {
  if (!spec.budget || find_zone(context.zones, spec.budget->time_zone) != nullptr) return {};
  return fail(Errc::invalid_argument,
              "budget.time_zone: \"" + clipped(spec.budget->time_zone, limits::max_time_zone_bytes) +
                  "\" is not a time zone that this server knows; give a name of the IANA database, like Europe/Berlin",
              "budget.time_zone");
}

// The clock looks at its pools: more may start now.
void visit_pools(LimitsRecord& limits, std::uint64_t number) {
  auto& to_visit = limits.to_visit;
  if (std::find(to_visit.begin(), to_visit.end(), number) == to_visit.end()) to_visit.push_back(number);
}

LimitSaved make_limit(LimitsRecord& limits, const SetLimitCommand& command, const Context& context) {
  LimitDefinition limit;
  limit.number = ++limits.last_number;
  static_cast<LimitName&>(limit.info) = command.request;
  static_cast<LimitSpec&>(limit.info) = command.request;
  limit.info.revision = 1;
  limit.info.created_at = limit.info.changed_at = context.now;
  limit.info.created_by = limit.info.changed_by = command.by.name;
  const auto place = std::find_if(limits.limits.begin(), limits.limits.end(), [&](const LimitDefinition& one) {
    return static_cast<const LimitName&>(one.info) > static_cast<const LimitName&>(limit.info);
  });
  return {LimitChange::created, limits.limits.insert(place, std::move(limit))->info};
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const SetLimitCommand& command, const Context& context) {
  FF_TRY_VOID(check_zone(command.request, context));
  Slot& slot = workspace.at(limits_key());
  const LimitsRecord* stored = slot.limits();
  const LimitDefinition* present = stored == nullptr ? nullptr : stored->find(command.request);
  FF_TRY_VOID(check_revision(command.request, present));
  FF_TRY_VOID(check_only_share(stored, command.request));
  const LimitSpec& spec = command.request;
  if (present == nullptr) {
    if (stored != nullptr && stored->limits.size() >= limits::max_limits) {
      return fail(Errc::conflict,
                  "name: the store has " + std::to_string(limits::max_limits) + " limits already; allowed: at most " +
                      std::to_string(limits::max_limits) + " (remove one first)",
                  "name");
    }
    LimitSaved saved = make_limit(stored_limits(slot), command, context);
    log_limit(slot, EventType::limit_created, saved.info, command.by, context);
    return saved;
  }
  if (static_cast<const LimitSpec&>(present->info) == spec) return LimitSaved{LimitChange::unchanged, present->info};
  FF_TRY_VOID(admit_change(present->info, spec));
  LimitsRecord& limits = stored_limits(slot);
  const auto limit = std::find_if(limits.limits.begin(), limits.limits.end(),
                                  [&](const LimitDefinition& one) { return one.number == present->number; });
  static_cast<LimitSpec&>(limit->info) = spec;
  ++limit->info.revision;
  limit->info.changed_at = context.now;
  limit->info.changed_by = command.by.name;
  visit_pools(limits, limit->number);
  log_limit(slot, EventType::limit_changed, limit->info, command.by, context);
  return LimitSaved{LimitChange::changed, limit->info};
}

Result<Reply> decide_one(Workspace& workspace, const RemoveLimitCommand& command, const Context& context) {
  Slot& slot = workspace.at(limits_key());
  const LimitDefinition* present = slot.limits() == nullptr ? nullptr : slot.limits()->find(command.limit);
  if (present == nullptr) return fail(Errc::not_found, "there is no " + shown(command.limit), "name");
  LimitSaved saved{LimitChange::removed, present->info};
  LimitsRecord& limits = *slot.limits();
  visit_pools(limits, present->number);
  std::erase_if(limits.limits,
                [&](const LimitDefinition& one) { return static_cast<const LimitName&>(one.info) == command.limit; });
  log_limit(slot, EventType::limit_removed, saved.info, command.by, context);
  return saved;
}

}  // namespace flowfabric
