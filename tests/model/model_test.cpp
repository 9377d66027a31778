// Random sequences give the same transcript on the reference model and on every real store.
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "model/play.hpp"

namespace flowfabric::test {
namespace {

constexpr std::uint64_t default_seed = 20240501;
constexpr int largest_play = 160;  // steps; most are much shorter

// Ranges do not grow with the length of the sequence: every operation must occur in short ones too.
rc::Gen<std::uint32_t> below(std::uint32_t n) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, n));
}

rc::Gen<Step> any_step() {
  return rc::gen::map(rc::gen::tuple(below(verb_count), below(100000), below(5040)),
                      [](const std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>& numbers) {
                        return Step{static_cast<std::uint8_t>(std::get<0>(numbers)), std::get<1>(numbers),
                                    std::get<2>(numbers)};
                      });
}

std::string first_difference(const std::vector<std::string>& model, const std::vector<std::string>& real) {
  for (std::size_t i = 0; i < std::max(model.size(), real.size()); ++i) {
    const std::string expected = i < model.size() ? model[i] : "(nothing)";
    const std::string found = i < real.size() ? real[i] : "(nothing)";
    if (expected == found) continue;
    return "line " + std::to_string(i) + "\n  memory: " + expected + "\n  store:  " + found;
  }
  return {};
}

// FF_MODEL_SEED and FF_MODEL_CASES choose other sequences than the usual ones.
std::uint64_t from_environment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

void compare_with_memory(StoreKindId kind, int cases) {
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = "the same transcript as on memory";
  rc::detail::TestParams params;
  params.seed = from_environment("FF_MODEL_SEED", default_seed);
  params.maxSuccess = static_cast<int>(from_environment("FF_MODEL_CASES", static_cast<std::uint64_t>(cases)));
  params.maxSize = largest_play;
  const auto result = rc::detail::checkTestable(
      [kind] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
        const std::string difference =
            first_difference(play(StoreKindId::memory, steps, seed), play(kind, steps, seed));
        if (!difference.empty()) RC_FAIL(difference);
      },
      metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
}

TEST(Model, AgreesWithItself) { compare_with_memory(StoreKindId::memory, 100); }

TEST(Model, AgreesWithSqlite) { compare_with_memory(StoreKindId::sqlite, 150); }

TEST(Model, AgreesWithPostgres) { compare_with_memory(StoreKindId::postgres, 60); }

}  // namespace
}  // namespace flowfabric::test
