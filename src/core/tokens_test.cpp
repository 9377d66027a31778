#include "core/tokens.hpp"

#include <gtest/gtest.h>

#include "base/codec.hpp"
#include "base/limits.hpp"

namespace flowfabric {
namespace {

const KeyringRecord one_key = {{{1, "the first secret"}}};
const KeyringRecord two_keys = {{{1, "the first secret"}, {2, "the second secret"}}};

Fence some_fence() {
  Fence fence;
  fence.execution_id = {255, Uuid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
  fence.attempt_index = 300;
  fence.lease_epoch = 70000;
  fence.lease_id = Uuid{{42}};
  return fence;
}

void expect_refused(const TokenSigner& signer, const std::string& handle) {
  const auto fence = signer.verify(handle);
  ASSERT_FALSE(fence) << handle;
  EXPECT_EQ(fence.error().code, Errc::invalid_handle);
  EXPECT_EQ(fence.error().field, "handle");
}

TEST(Handles, CarryTheirFence) {
  const TokenSigner signer(one_key);
  for (const HandleKind kind : {HandleKind::fresh, HandleKind::resumed, HandleKind::reclaimed}) {
    EXPECT_EQ(signer.verify(signer.sign(some_fence(), kind)), some_fence());
  }
  EXPECT_EQ(signer.verify(signer.sign(Fence{}, HandleKind::fresh)), Fence{});
  Fence greatest = some_fence();
  greatest.attempt_index = UINT32_MAX;
  greatest.lease_epoch = UINT64_MAX;
  EXPECT_EQ(signer.verify(signer.sign(greatest, HandleKind::fresh)), greatest);
}

TEST(Handles, AreShortTextWithoutSpecialCharacters) {
  const std::string handle = TokenSigner(one_key).sign(some_fence(), HandleKind::fresh);
  EXPECT_LE(handle.size(), 90u);
  EXPECT_EQ(handle.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
}

TEST(Handles, OutliveARotationOfKeys) {
  const TokenSigner before(one_key);
  const TokenSigner after(two_keys);
  EXPECT_EQ(after.verify(before.sign(some_fence(), HandleKind::fresh)), some_fence());
  expect_refused(before, after.sign(some_fence(), HandleKind::fresh));
}

TEST(Handles, OfAnotherStoreAreRefused) {
  const TokenSigner ours(one_key);
  expect_refused(ours, TokenSigner({{{1, "another secret"}}}).sign(some_fence(), HandleKind::fresh));
  expect_refused(ours, TokenSigner({{{7, "the first secret"}}}).sign(some_fence(), HandleKind::fresh));
}

TEST(Handles, EveryPrefixIsRefused) {
  const TokenSigner signer(one_key);
  const std::string handle = signer.sign(some_fence(), HandleKind::fresh);
  for (std::size_t size = 0; size < handle.size(); ++size) expect_refused(signer, handle.substr(0, size));
}

TEST(Handles, EveryFlippedBitIsRefused) {
  const TokenSigner signer(two_keys);
  const std::string bytes = *from_base64url(signer.sign(some_fence(), HandleKind::resumed));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      expect_refused(signer, to_base64url(changed));
    }
  }
}

TEST(Handles, EveryOtherCharacterIsRefused) {
  const TokenSigner signer(one_key);
  const std::string handle = signer.sign(some_fence(), HandleKind::fresh);
  for (std::size_t i = 0; i < handle.size(); ++i) {
    for (const char c : {'A', 'z', '9', '-', '=', ' ', '\0'}) {
      std::string changed = handle;
      if (changed[i] == c) continue;
      changed[i] = c;
      expect_refused(signer, changed);
    }
  }
}

TEST(Handles, TextAroundThemIsRefused) {
  const TokenSigner signer(one_key);
  const std::string handle = signer.sign(some_fence(), HandleKind::fresh);
  for (const std::string& text : {handle + "=", handle + "A", "A" + handle, " " + handle, handle + handle,
                                  std::string(), std::string(257, 'A'), std::string(1000000, 'A')}) {
    expect_refused(signer, text);
  }
}

TEST(Handles, WellSignedNonsenseIsRefused) {
  const TokenSigner signer(one_key);
  const Signer key("the first secret");
  const auto signed_text = [&](std::string bytes) { return to_base64url(bytes + key.sign(bytes)); };
  Encoder far_partition;
  far_partition.u8(1);
  far_partition.u8(0);
  far_partition.unsigned_number(1);
  far_partition.unsigned_number(256);
  far_partition.uuid({});
  far_partition.unsigned_number(0);
  far_partition.unsigned_number(0);
  far_partition.uuid({});
  expect_refused(signer, signed_text(far_partition.take()));
  expect_refused(signer, signed_text(std::string("\x01\x00\x01", 3)));
  expect_refused(signer, signed_text(std::string("\x02\x00\x01", 3)));
  expect_refused(signer, signed_text(""));
}

}  // namespace
}  // namespace flowfabric
