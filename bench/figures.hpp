// Statistics for the benchmarks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace flowfabric::bench {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

double median(std::vector<double> values);
// 0 for no values. Reorders the values.
double quantile(std::vector<float>& values, double fraction);
// "1 2 3"
std::string listed(const std::vector<double>& values, int decimals = 0);

void print_line(const std::string& name, double value, const std::string& unit, const std::string& rest);

// Prints the reason and exits: a figure with errors is invalid.
[[noreturn]] void give_up(const std::string& why);

}  // namespace flowfabric::bench
