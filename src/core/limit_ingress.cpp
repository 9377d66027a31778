#include "core/limit_ingress.hpp"

#include <algorithm>
#include <set>

#include "core/admit_parts.hpp"
#include "core/ingress.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

constexpr std::string_view per_tag = "tags.";
constexpr const char* per_names = "tags.NAME, namespace, lane, kind, creator, flow";

Result<void> admit_per(const std::vector<std::string>& per) {
  FF_TRY_VOID(admit_count(per.size(), "per", 0, limits::max_limit_keys));
  const std::set<std::string> plain = {"namespace", "lane", "kind", "creator", "flow"};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < per.size(); ++i) {
    const std::string field = "per[" + std::to_string(i) + "]";
    if (per[i].starts_with(per_tag)) {
      FF_TRY_VOID(admit_tag_key(std::string_view(per[i]).substr(per_tag.size()), field));
    } else if (!plain.contains(per[i])) {
      return refuse("is \"" + per[i].substr(0, 64) + "\"; allowed: " + per_names, field);
    }
    if (!seen.insert(per[i]).second) return refuse("repeats \"" + per[i] + "\"", field);
  }
  return {};
}

Result<void> admit_rate(const RateLimit& rate) {
  FF_TRY_VOID(admit_range<std::uint32_t>(rate.count, "rate.count", 1, limits::max_rate_count));
  FF_TRY_VOID(admit_range<std::int64_t>(rate.period_ms, "rate.period_ms", 1, 31LL * 24 * 3600 * 1000));
  if (rate.burst) FF_TRY_VOID(admit_range<std::uint32_t>(*rate.burst, "rate.burst", 1, limits::max_rate_count));
  return {};
}

}  // namespace

Result<void> admit(const LimitName& limit) {
  FF_TRY_VOID(admit_text(limit.name, "name", 1, limits::max_limit_name_bytes, Content::no_controls_or_spaces));
  FF_TRY_VOID(admit_path_segment(limit.name, "name"));
  return limit.name_space ? admit_namespace(*limit.name_space) : Result<void>{};
}

Result<void> admit(LimitRequest& request) {
  FF_TRY_VOID(admit(static_cast<const LimitName&>(request)));
  if (request.lane) FF_TRY_VOID(admit_lane(*request.lane, "lane"));
  if (request.kind) {
    FF_TRY_VOID(admit_text(*request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
  }
  FF_TRY_VOID(admit_per(request.per));
  if (!request.concurrency && !request.rate) {
    return refuse("is missing; a limit has a concurrency, a rate, or both", "concurrency");
  }
  if (request.concurrency == 0U) {
    return refuse("is 0, which would hold back everything for ever; allowed: 1 to " +
                      std::to_string(limits::max_concurrency) + " (to stop a lane, pause it)",
                  "concurrency");
  }
  if (request.concurrency) {
    FF_TRY_VOID(admit_range<std::uint32_t>(*request.concurrency, "concurrency", 1, limits::max_concurrency));
  }
  return request.rate ? admit_rate(*request.rate) : Result<void>{};
}

Result<void> admit(const ListLimitsRequest& request) {
  return request.name_space ? admit_namespace(*request.name_space) : Result<void>{};
}

Result<void> admit(const ListLimitUseRequest& request) {
  FF_TRY_VOID(admit(request.limit));
  FF_TRY_VOID(admit_cursor(request.cursor));
  return admit_range<std::uint32_t>(request.limit_keys, "limit", 1, limits::max_page);
}

Result<void> admit(const LimitCheckRequest& request) {
  FF_TRY_VOID(admit_namespace(request.name_space));
  FF_TRY_VOID(admit_lane(request.lane, "lane"));
  FF_TRY_VOID(admit_text(request.kind, "kind", 0, limits::max_kind_bytes, Content::no_controls));
  FF_TRY_VOID(admit_text(request.creator, "creator", 0, limits::max_creator_bytes, Content::no_controls));
  TagChanges tags;
  tags.set = request.tags;
  return request.tags.empty() ? Result<void>{} : admit(tags);
}

}  // namespace flowfabric
