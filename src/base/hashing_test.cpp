#include "base/hashing.hpp"

#include <set>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

TEST(Hashing, Crc16IsXmodem) {
  EXPECT_EQ(crc16("123456789"), 0x31C3);
  EXPECT_EQ(crc16(""), 0);
  EXPECT_EQ(crc16(std::string(1, '\0')), 0);
  EXPECT_EQ(crc16("foo") % 16384, 12182) << "the slot that Redis Cluster gives to foo";
}

TEST(Hashing, PartitionsAreInRangeAndUseAllOfIt) {
  std::set<std::uint16_t> seen;
  for (int i = 0; i < 5000; ++i) {
    const std::uint16_t partition = partition_of(std::to_string(i));
    EXPECT_LT(partition, partition_count);
    seen.insert(partition);
  }
  EXPECT_EQ(seen.size(), partition_count);
  EXPECT_EQ(partition_of(Uuid{}), partition_of(std::string(16, '\0')));
}

TEST(Hashing, Sha256KnowsItsVectors) {
  const auto hex = [](std::string_view text) {
    const Sha256 digest = sha256(text);
    return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
  };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest64("abc"), 0xba7816bf8f01cfeaULL);
}

TEST(Hashing, HmacKnowsTheVectorsOfRfc4231) {
  EXPECT_EQ(to_hex(Signer("Jefe").sign("what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(Signer(std::string(20, '\x0b')).sign("Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(Signer(std::string(131, '\xaa')).sign("Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hashing, ASignatureFitsItsBytesAndItsKeyOnly) {
  const Signer signer("key");
  const std::string signature = signer.sign("bytes");
  EXPECT_EQ(signature.size(), 32u);
  EXPECT_TRUE(signer.verify("bytes", signature));
  EXPECT_EQ(signer.sign("bytes"), signature) << "signing leaves no trace in the signer";
  EXPECT_FALSE(signer.verify("bytez", signature));
  EXPECT_FALSE(signer.verify("bytes", signature.substr(1)));
  EXPECT_FALSE(signer.verify("bytes", ""));
  EXPECT_FALSE(signer.verify("bytes", signature + "x"));
  EXPECT_FALSE(Signer("other").verify("bytes", signature));
}

TEST(Hashing, ASignatureMayBeCutToSixteenBytesAndNoFurther) {
  const Signer signer("key");
  const std::string signature = signer.sign("bytes");
  for (std::size_t size = 0; size <= signature.size(); ++size) {
    EXPECT_EQ(signer.verify("bytes", signature.substr(0, size)), size >= 16) << size;
  }
}

TEST(Hashing, FnvKnowsItsVectors) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8ULL);
  EXPECT_NE(fnv1a64("\x80"), fnv1a64("\xff")) << "bytes above 127 are not sign-extended into each other";
}

TEST(Hashing, Base64IsPadded) {
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xfb\xff", "+/8="}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(to_base64(plain), text);
    EXPECT_EQ(from_base64(text), plain);
  }
  for (const char* bad : {"Zg", "Zg=", "Zg===", "Z===", "Zh==", "-_8=", "Zm8=Zm8=", "====", "Zm9v\n", "=Zm8"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

TEST(Hashing, ConstantTimeEqualityIsEquality) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST(Hashing, HexRoundTripsAndRefusesTheRest) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_hex(to_hex(all)), all);
  EXPECT_EQ(to_hex("\xff\x01"), "ff01");
  EXPECT_EQ(from_hex(""), "");
  for (const char* bad : {"f", "fg", "FF", "0x", "0 "}) EXPECT_FALSE(from_hex(bad)) << bad;
}

TEST(Hashing, Base64urlKnowsTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(to_base64url(plain), text);
    EXPECT_EQ(from_base64url(text), plain);
  }
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
}

TEST(Hashing, Base64urlRoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Hashing, EqualBytesHaveOneBase64urlSpelling) {
  for (const char* bad : {"Zg==", "Zh", "Zm9", "Z", "Zm9vY", "Zm 9v", "Zm+v", "Zm/v", "Zm9v\n"}) {
    EXPECT_FALSE(from_base64url(bad)) << bad;
  }
  EXPECT_FALSE(from_base64url(std::string("Zm9v\0", 5)));
}

}  // namespace
}  // namespace flowfabric
