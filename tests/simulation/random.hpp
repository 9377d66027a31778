// Everything random in a simulated run comes from one of these, so the seed determines the whole run.
#pragma once

#include <cstdint>
#include <vector>

namespace flowfabric::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t value = state_;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }

  // Below `n`, which is not 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  // True in this many of a thousand cases; draws nothing if that is 0.
  bool chance(int permille) { return permille > 0 && static_cast<int>(next() % 1000) < permille; }

  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace flowfabric::simulation
