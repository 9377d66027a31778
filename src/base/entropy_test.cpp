#include "base/entropy.hpp"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

TEST(Entropy, ASeedReproducesItsStream) {
  const Entropy a = seeded_entropy(42);
  const Entropy b = seeded_entropy(42);
  const Entropy c = seeded_entropy(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = a();
    EXPECT_EQ(number, b());
    differs = differs || number != c();
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(seeded_entropy(0)(), 0xe220a8397b1dcdafULL) << "the first number of splitmix64 from zero";
}

TEST(Entropy, TheSystemGivesEveryThreadItsOwnNumbers) {
  constexpr int each = 1000;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& numbers : drawn) {
    threads.emplace_back([&numbers] {
      const Entropy entropy = system_entropy();
      for (int i = 0; i < each; ++i) numbers.push_back(entropy());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& numbers : drawn) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), 4u * each);
}

TEST(Entropy, RandomUuidsAreOfVersionFour) {
  const Entropy entropy = seeded_entropy(7);
  std::set<Uuid> seen;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = random_uuid(entropy);
    EXPECT_EQ(uuid.bytes[6] >> 4, 4);
    EXPECT_EQ(uuid.bytes[8] >> 6, 2);
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Entropy, TimeOrderedUuidsAreOfVersionSevenAndInOrder) {
  const Entropy entropy = seeded_entropy(7);
  const TimestampMs at = 0x0123456789ab;
  const Uuid uuid = time_ordered_uuid(at, 0xabc, entropy);
  EXPECT_EQ(to_string(uuid).substr(0, 18), "01234567-89ab-7abc");
  EXPECT_EQ(uuid.bytes[8] >> 6, 2);
  Uuid last = time_ordered_uuid(at - 1, 0xfff, entropy);
  for (std::uint16_t order = 0; order < 4096; ++order) {
    const Uuid next = time_ordered_uuid(at, order, entropy);
    EXPECT_LT(last, next);
    last = next;
  }
  EXPECT_LT(last, time_ordered_uuid(at + 1, 0, entropy));
}

}  // namespace
}  // namespace flowfabric
