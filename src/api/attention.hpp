// What an operator should look at first, by rules that need no history but the overview's own.
#pragma once

#include "api/overview_bodies.hpp"

namespace flowfabric::api {

struct AttentionFacts {
  std::int64_t held_back_ms = 0;
  std::string holder{};
  std::uint64_t workers_lost = 0;
};

// Errors first. `overview` is complete but for these.
std::vector<Attention> needs_attention(const OverviewReply& overview, const AttentionFacts& facts);

}  // namespace flowfabric::api
