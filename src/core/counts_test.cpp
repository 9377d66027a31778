#include "core/counts.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

TEST(Counts, NamesSayWhatIsCounted) {
  const std::string name = counter_name(RecordKind::execution, "shop", "mail", 11);
  EXPECT_EQ(name,
            "eshop\x1fmail\x1f"
            "11");
  EXPECT_EQ(decode_counter(name), (Counted{RecordKind::execution, "shop", "mail", 11}));
  EXPECT_TRUE(name.starts_with(counter_prefix(RecordKind::execution, std::nullopt)));
  EXPECT_TRUE(name.starts_with(counter_prefix(RecordKind::execution, "shop")));
  EXPECT_FALSE(name.starts_with(counter_prefix(RecordKind::execution, "sho")));
  EXPECT_FALSE(name.starts_with(counter_prefix(RecordKind::lane, std::nullopt)));
}

TEST(Counts, OtherNamesAreNotUnderstood) {
  for (const std::string name : {"", "e", "eshop", "eshop\x1fmail", "eshop\x1fmail\x1f", "eshop\x1fmail\x1fx",
                                 "eshop\x1fmail\x1f"
                                 "256",
                                 "eshop\x1fmail\x1f"
                                 "1 "}) {
    EXPECT_FALSE(decode_counter(name)) << name;
  }
}

}  // namespace
}  // namespace flowfabric
