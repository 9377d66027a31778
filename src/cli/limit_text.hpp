// Limits in text form. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <flowfabric/limits.hpp>

namespace flowfabric::cli {

// "100/1m": so many starts in a period. `field` names the option in the error.
Result<RateLimit> parse_rate(std::string_view text, const std::string& field);
// "100/1m", with a burst "100/1m, burst 10".
std::string rate_text(const RateLimit& rate);
// "acme=5": the weight of a key of a share.
Result<std::pair<std::string, std::uint32_t>> parse_weight(std::string_view text, const std::string& field);
// "acme=5, shop=2"; without weights "equal".
std::string share_text(const ShareSpec& share);
// "tags.app.customer, kind"
std::string per_text(const LimitSpec& limit);
// "NAME" or "NAMESPACE/NAME"
std::string limit_label(const LimitName& limit);

}  // namespace flowfabric::cli
