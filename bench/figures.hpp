// What every benchmark needs to make figures of what it saw.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace flowfabric::bench {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

double median(std::vector<double> values);
// 0 of no values. Puts the values into another order.
double quantile(std::vector<float>& values, double fraction);
// "1 2 3"
std::string listed(const std::vector<double>& values, int decimals = 0);

void print_line(const std::string& name, double value, const std::string& unit, const std::string& rest);

// Says why and ends the program: a figure with errors in it is none.
[[noreturn]] void give_up(const std::string& why);

}  // namespace flowfabric::bench
