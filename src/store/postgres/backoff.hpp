// The pause before the next attempt to connect: doubling, with jitter so that many engines do not connect at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace flowfabric::postgres {

class Backoff {
 public:
  std::chrono::milliseconds next() {
    const auto wait = ceiling_;
    ceiling_ = std::min(ceiling_ * 2, longest);
    std::uniform_int_distribution<long long> jitter(wait.count() / 2, wait.count());
    return std::chrono::milliseconds(jitter(random_));
  }
  void reset() { ceiling_ = shortest; }

 private:
  static constexpr std::chrono::milliseconds shortest{50}, longest{2000};

  std::chrono::milliseconds ceiling_ = shortest;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace flowfabric::postgres
