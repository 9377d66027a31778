#include "figures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

namespace flowfabric::bench {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double quantile(std::vector<float>& values, double fraction) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::string listed(const std::vector<double>& values, int decimals) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.{}f}", text.empty() ? "" : " ", value, decimals);
  return text;
}

void print_line(const std::string& name, double value, const std::string& unit, const std::string& rest) {
  fmt::print("{:<44} {:>10.0f} {:<10} {}\n", name, value, unit, rest);
  std::fflush(stdout);
}

void give_up(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(1);
}

}  // namespace flowfabric::bench
