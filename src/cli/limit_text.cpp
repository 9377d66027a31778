#include "cli/limit_text.hpp"

#include <charconv>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {

Result<RateLimit> parse_rate(std::string_view text, const std::string& field) {
  const std::size_t slash = text.find('/');
  const std::string_view count = text.substr(0, slash);
  RateLimit rate;
  const auto [stopped, problem] = std::from_chars(count.data(), count.data() + count.size(), rate.count);
  if (slash == std::string_view::npos || problem != std::errc{} || stopped != count.data() + count.size()) {
    return fail(Errc::invalid_argument,
                field + ": must be a number of starts, 1 to " + std::to_string(limits::max_rate_count) +
                    ", and a period, like 100/1m, not \"" + std::string(text) + "\"",
                field);
  }
  FF_TRY(period_ms, parse_duration(text.substr(slash + 1), field));
  rate.period_ms = period_ms;
  return rate;
}

std::string rate_text(const RateLimit& rate) {
  std::string text = std::to_string(rate.count) + "/" + format_duration(rate.period_ms);
  if (rate.burst) text += ", burst " + std::to_string(*rate.burst);
  return text;
}

Result<std::pair<std::string, std::uint32_t>> parse_weight(std::string_view text, const std::string& field) {
  const std::size_t equals = text.rfind('=');
  std::uint32_t weight = 0;
  const std::string_view number = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const auto [stopped, problem] = std::from_chars(number.data(), number.data() + number.size(), weight);
  if (number.empty() || problem != std::errc{} || stopped != number.data() + number.size()) {
    return fail(Errc::invalid_argument,
                field + ": must be a key and its weight, 1 to " + std::to_string(limits::max_weight) +
                    ", like acme=5, not \"" + std::string(text) + "\"",
                field);
  }
  return std::pair(std::string(text.substr(0, equals)), weight);
}

std::string share_text(const ShareSpec& share) {
  std::string text;
  for (const auto& [key, weight] : share.weights) {
    text += (text.empty() ? "" : ", ") + (key.empty() ? "\"\"" : key) + "=" + std::to_string(weight);
  }
  return text.empty() ? "equal" : text;
}

std::string per_text(const LimitSpec& limit) { return join(limit.per, ", "); }

std::string limit_label(const LimitName& limit) {
  return limit.name_space ? *limit.name_space + "/" + limit.name : limit.name;
}

}  // namespace flowfabric::cli
