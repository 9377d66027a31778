#include "core/fingerprint.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace flowfabric {
namespace {

TEST(Fingerprint, MessagesLoseWhatDiffers) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"connection refused", "connection refused"},
      {"  two   blanks\n\tand a line ", "two blanks and a line"},
      {"order 17 of 1,234.50 EUR", "order <n> of <n> EUR"},
      {"10.0.0.1:8080 timed out after 1.5e3 ms", "<n>:<n> timed out after <n>e<n> ms"},
      {"node17 and node18", "node<n> and node<n>"},
      {"id 01929b1c-7a52-8000-8000-0123456789ab gone", "id <uuid> gone"},
      {"fp7-01929b1c-7a52-8000-8000-0123456789ab", "fp<n>-<uuid>"},
      {"0xDEADbeef at 0x7f", "<hex> at <hex>"},
      {"commit deadbeef01", "commit <hex>"},
      {"commit deadbeef", "commit deadbeef"},  // a word without digits stays
      {"12345678", "<n>"},
      {"no key \"customer\" in 'map'", "no key <text> in <text>"},
      {"can't open `x y`", "can't open <text>"},
      {"it isn't 'this' one", "it isn't <text> one"},
      {"an \"open quotation", "an \"open quotation"},
      {"\"a \\\" b\" c", "<text> c"},
      {"cannot open /var/data/7.txt: denied", "cannot open <path>: denied"},
      {"see https://host/path?a=1.", "see <path>."},
      {"C:\\data\\x is missing", "<path> is missing"},
      {"./a and ../b and ~/c", "<path> and <path> and <path>"},
      {"read/write failed", "read/write failed"},
      {"a / b", "a / b"},
      {"(/etc/hosts)", "(<path>)"},
      {"größe 5", "größe <n>"},
  };
  for (const auto& [message, normalized] : cases) EXPECT_EQ(normalized_message(message), normalized) << message;
}

TEST(Fingerprint, OnlyTheBeginningOfALongMessageCounts) {
  const std::string begin = "cannot parse " + std::string(600, 'x');
  EXPECT_EQ(normalized_message(begin + "1 a"), normalized_message(begin + "2 b"));
  // Quotations that do not end are no reason to take long.
  EXPECT_LE(normalized_message(std::string(100000, '\"')).size(), 4096U);
}

TEST(Fingerprint, DependsOnKindCategoryAndNormalizedMessage) {
  const std::uint64_t one = fingerprint_of("mail", "timeout", "after 10 ms");
  EXPECT_EQ(fingerprint_of("mail", "timeout", "after 99 ms"), one);
  EXPECT_NE(fingerprint_of("sms", "timeout", "after 10 ms"), one);
  EXPECT_NE(fingerprint_of("mail", "refused", "after 10 ms"), one);
  EXPECT_NE(fingerprint_of("mail", "timeout", "after 10 s"), one);
  // What ends one text does not begin the next.
  EXPECT_NE(fingerprint_of("ab", "c", ""), fingerprint_of("a", "bc", ""));
}

// Stored with executions: these may never change.
TEST(Fingerprint, IsTheSameForEver) {
  EXPECT_EQ(fingerprint_text(fingerprint_of("mail", "timeout", "after 10 ms")), "aca1993184d2ef7c");
  EXPECT_EQ(fingerprint_text(1), "0000000000000001");
  EXPECT_EQ(fingerprint_text(0), "older");
}

}  // namespace
}  // namespace flowfabric
