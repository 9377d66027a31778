#include "api/oldest_waiting.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

constexpr std::uint32_t rows_a_page = 100;
constexpr int max_pages = 20;  // what is not found with these is not shown
constexpr std::int64_t first_step_ms = 60'000;

// People read the age in whole seconds, minutes, hours.
bool is_close_enough(TimestampMs at_least, TimestampMs at_most, TimestampMs now) {
  return at_most - at_least <= std::max<std::int64_t>(1000, (now - at_most) / 20);
}

}  // namespace

// When one page does not reach the oldest, further pages begin ever farther back, until there is nothing; then in between.
Result<std::optional<TimestampMs>> oldest_waiting(const Lister& list, const std::optional<std::string>& name_space,
                                                  const std::string& lane, TimestampMs now) {
  ListRequest request;
  request.name_space = name_space;
  request.lane = lane;
  request.states = {PublicState::waiting};
  request.limit = rows_a_page;
  TimestampMs nothing_before = limits::min_timestamp_ms;  // earlier times are refused
  TimestampMs something_at = now;
  std::int64_t step = first_step_ms;
  for (int i = 0; i < max_pages; ++i) {
    FF_TRY(reply, list(request));
    if (!reply.executions.empty()) {
      something_at = reply.executions.back().created_at;
      if (reply.next_cursor.empty()) return something_at;
      step *= 4;
    } else {
      if (!request.created_before) return std::nullopt;  // it has gone meanwhile
      nothing_before = *request.created_before;
    }
    if (is_close_enough(nothing_before, something_at, now)) return something_at;
    const TimestampMs back = something_at - step;
    request.created_before = back > nothing_before ? back : nothing_before + (something_at - nothing_before) / 2;
  }
  return std::nullopt;
}

}  // namespace flowfabric::api
