// A sequence of small numbers, read as commands to an engine, and the transcript of the replies.
//
// The same sequence with the same seed gives the same transcript on every store; the model tests check this. Steps are
// plain numbers so that RapidCheck can generate and shrink them.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/driver.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {

struct Step {
  std::uint8_t verb = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << '{' << int(step.verb) << ", " << step.a << ", " << step.b << '}';
}

inline constexpr std::uint8_t verb_count = 36;

// Runs on a fresh database of this kind; one line per reply, then everything that is stored.
std::vector<std::string> play(StoreKindId kind, const std::vector<Step>& steps, std::uint64_t seed);

}  // namespace flowfabric::test
