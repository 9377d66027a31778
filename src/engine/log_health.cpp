#include "engine/log_health.hpp"

#include "base/limits.hpp"
#include "base/log.hpp"

namespace flowfabric {
namespace {

void tell_one(std::int64_t for_ms, std::int64_t tolerable_ms, const char* trouble, const char* over,
              const std::string& holder, std::int64_t& from_ms) {
  if (for_ms < tolerable_ms) {
    if (from_ms != 0) log(LogLevel::info, over);
    from_ms = 0;
    return;
  }
  if (for_ms < from_ms) return;
  log(LogLevel::warn, trouble, {{"for_ms", std::to_string(for_ms)}, {"transaction", holder}});
  from_ms = 10 * for_ms;
}

}  // namespace

void LogHealthReport::tell(const LogHealth& health) {
  tell_one(health.held_back_ms, limits::events_held_back_warning_ms,
           "events are held back by a transaction that stays open; subscribers see them when it ends",
           "events are no longer held back", health.holder, held_back_from_ms_);
  tell_one(health.uncleared_ms, limits::uncleared_rows_warning_ms,
           "removed rows cannot be cleared away because of a transaction that stays open; the database grows",
           "removed rows can be cleared away again", health.holder, uncleared_from_ms_);
}

}  // namespace flowfabric
