#include "core/limit_ingress.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "core/admit_parts.hpp"
#include "core/budget_ingress.hpp"
#include "core/ingress.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

constexpr std::string_view per_tag = "tags.";
constexpr std::size_t shown_key_bytes = 64;
constexpr const char* per_names = "tags.NAME, namespace, lane, kind, creator, flow, execution";

Result<void> admit_per(const std::vector<std::string>& per) {
  FF_TRY_VOID(admit_count(per.size(), "per", 0, limits::max_limit_keys));
  const std::set<std::string> plain = {"namespace", "lane", "kind", "creator", "flow", "execution"};
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

// The text of a key: values of tags and of other fields, joined with "/".
Result<void> admit_weights(const Weights& weights) {
  FF_TRY_VOID(admit_count(weights.size(), "share.weights", 0, limits::max_share_weights));
  for (const auto& [key, weight] : weights) {
    const std::string field = "share.weights." + clipped(key, shown_key_bytes);
    FF_TRY_VOID(admit_text(key, "share.weights", 0, limits::max_share_key_bytes, Content::no_controls));
    FF_TRY_VOID(admit_range<std::uint32_t>(weight, field, 1, limits::max_weight));
  }
  return {};
}

Result<void> admit_share(const LimitRequest& request) {
  if (!request.lane) return refuse("is missing; a share is of one lane", "lane");
  if (request.per.empty()) return refuse("is missing; a share is between the values of something", "per");
  if (std::find(request.per.begin(), request.per.end(), "execution") != request.per.end()) {
    return refuse(
        "has \"execution\", so that nothing would be shared; allowed: tags.NAME, namespace, kind, creator, flow",
        "per");
  }
  if (request.name_space) return refuse("is set; a share is for all namespaces", "namespace");
  if (request.kind) return refuse("is set; a share is for all kinds", "kind");
  const char* other = request.concurrency ? "concurrency" : request.rate ? "rate" : request.budget ? "budget" : nullptr;
  if (other != nullptr) {
    return refuse(std::string("cannot be in one limit with a ") + other + "; make two limits", "share");
  }
  return admit_weights(request.share->weights);
}

Result<void> admit_rate(const RateLimit& rate) {
  FF_TRY_VOID(admit_range<std::uint32_t>(rate.count, "rate.count", 1, limits::max_rate_count));
  FF_TRY_VOID(admit_range<std::int64_t>(rate.period_ms, "rate.period_ms", 1, limits::max_rate_period_ms));
  if (rate.burst) FF_TRY_VOID(admit_range<std::uint32_t>(*rate.burst, "rate.burst", 1, limits::max_rate_count));
  return {};
}

// By the rules of changes, which name the field `set`.
Result<void> admit_tags_of_check(const Tags& tags) {
  constexpr std::string_view in_changes = "set";
  TagChanges changes;
  changes.set = tags;
  const auto admitted = admit(changes);
  if (admitted) return {};
  Error error = admitted.error();
  for (std::string* text : {&error.message, &error.field}) {
    if (text->starts_with(in_changes)) text->replace(0, in_changes.size(), "tags");
  }
  return Unexpected(std::move(error));
}

}  // namespace

Result<void> admit(const LimitName& limit) {
  FF_TRY_VOID(admit_text(limit.name, "name", 1, limits::max_limit_name_bytes, Content::no_controls_or_spaces));
  FF_TRY_VOID(admit_path_segment(limit.name, "name"));
  return limit.name_space ? admit_namespace(*limit.name_space) : Result<void>{};
}

std::string shown(const LimitName& limit) {
  return "limit \"" + limit.name + "\"" +
         (limit.name_space ? " of namespace \"" + *limit.name_space + "\"" : " for all namespaces");
}

Result<void> admit_change(const LimitSpec& before, const LimitSpec& now) {
  const bool same_role = before.share.has_value() == now.share.has_value();
  if (before.lane == now.lane && before.kind == now.kind && before.per == now.per && same_role) return {};
  const char* field = before.lane != now.lane   ? "lane"
                      : before.kind != now.kind ? "kind"
                      : before.per != now.per   ? "per"
                                                : "share";
  return fail(Errc::conflict,
              std::string(field) +
                  ": cannot be changed; allowed are changes of concurrency, rate and budget (remove the "
                  "limit and make it anew)",
              field);
}

Result<void> admit(LimitRequest& request) {
  FF_TRY_VOID(admit(static_cast<const LimitName&>(request)));
  if (request.lane) FF_TRY_VOID(admit_lane(*request.lane, "lane"));
  if (request.kind) {
    FF_TRY_VOID(admit_text(*request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
  }
  FF_TRY_VOID(admit_per(request.per));
  if (request.share) return admit_share(request);
  if (!request.concurrency && !request.rate && !request.budget) {
    return refuse("is missing; a limit has a concurrency, a rate, a budget, or several of them; or a share",
                  "concurrency");
  }
  if (request.concurrency == 0U) {
    return refuse("is 0, which would hold back everything for ever; allowed: 1 to " +
                      std::to_string(limits::max_concurrency) + " (to stop a lane, pause it)",
                  "concurrency");
  }
  if (request.concurrency) {
    FF_TRY_VOID(admit_range<std::uint32_t>(*request.concurrency, "concurrency", 1, limits::max_concurrency));
  }
  if (request.budget) FF_TRY_VOID(admit(*request.budget, "budget"));
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
  FF_TRY_VOID(admit_reserve(request.reserve));
  return request.tags.empty() ? Result<void>{} : admit_tags_of_check(request.tags);
}

}  // namespace flowfabric
