#include "core/tokens.hpp"

#include <gtest/gtest.h>

#include "base/codec.hpp"
#include "base/entropy.hpp"
#include "base/limits.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs today = 1000000;
const KeyringRecord one_key = {{{1, "the first secret", 0, 0}}};
const KeyringRecord two_keys = {{{1, "the first secret", 0, 0}, {2, "the second secret", 0, 0}}};
// The first key expires.
const KeyringRecord expiring = {{{1, "the first secret", 0, today}, {2, "the second secret", 0, 0}}};

Fence some_fence() {
  Fence fence;
  fence.execution_id = {255, Uuid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
  fence.attempt_index = 300;
  fence.lease_epoch = 70000;
  fence.lease_id = Uuid{{42}};
  return fence;
}

GrantClaims some_claims(GrantKind kind = GrantKind::claim) {
  GrantClaims claims;
  claims.kind = kind;
  claims.execution_id = some_fence().execution_id;
  claims.expires_at = today + 5000;
  claims.nonce = UINT64_MAX;
  claims.worker_id = "w";
  claims.worker_instance_id = "w-1";
  return claims;
}

std::string some_handle(const TokenSigner& signer, HandleKind kind = HandleKind::fresh) {
  return signer.sign_handle(some_fence(), kind, "team");
}

void expect_refused(const TokenSigner& signer, const std::string& handle, TimestampMs at = today) {
  const auto fence = signer.verify_handle(handle, at);
  ASSERT_FALSE(fence) << handle;
  EXPECT_EQ(fence.error().code, Errc::invalid_handle);
  EXPECT_EQ(fence.error().field, "handle");
}

void expect_grant_refused(const TokenSigner& signer, const std::string& grant_key, TimestampMs at = today) {
  const auto claims = signer.verify_grant(grant_key, at);
  ASSERT_FALSE(claims) << grant_key;
  EXPECT_EQ(claims.error().code, Errc::invalid_claim_grant);
  EXPECT_EQ(claims.error().field, "grant_key");
}

// All texts that differ in one bit.
std::vector<std::string> with_a_flipped_bit(const std::string& token) {
  const std::string bytes = *from_base64url(token);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      all.push_back(to_base64url(changed));
    }
  }
  return all;
}

std::vector<std::string> with_another_character(const std::string& token) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'A', 'z', '9', '-', '=', ' ', '\0'}) {
      if (token[i] == c) continue;
      all.push_back(token);
      all.back()[i] = c;
    }
  }
  return all;
}

std::vector<std::string> with_text_around(const std::string& token) {
  return {token + "=",           token + "A",
          "A" + token,           " " + token,
          token + token,         std::string(),
          std::string(321, 'A'), std::string(limits::max_grant_key_chars + 1, 'A'),
          token + '\0',          std::string(1000000, 'A')};
}

// ---- Handles -------------------------------------------------------------------------------------------------------

TEST(Handles, CarryTheirFence) {
  const TokenSigner signer(one_key);
  for (const HandleKind kind : {HandleKind::fresh, HandleKind::resumed, HandleKind::reclaimed}) {
    EXPECT_EQ(signer.verify_handle(some_handle(signer, kind), today), (HandleClaims{some_fence(), "team"}));
  }
  EXPECT_EQ(signer.verify_handle(signer.sign_handle(Fence{}, HandleKind::fresh, ""), today),
            (HandleClaims{Fence{}, ""}));
}

TEST(Handles, HaveRoomForTheGreatestOfEverything) {
  const TokenSigner signer({{{UINT32_MAX, "the first secret", 0, 0}}});
  Fence greatest = some_fence();
  greatest.attempt_index = UINT32_MAX;
  greatest.lease_epoch = UINT64_MAX;
  const std::string longest(limits::max_namespace_bytes, 'n');
  EXPECT_EQ(signer.verify_handle(signer.sign_handle(greatest, HandleKind::fresh, longest), today),
            (HandleClaims{greatest, longest}));
}

TEST(Handles, AreShortTextWithoutSpecialCharacters) {
  const std::string handle = some_handle(TokenSigner(one_key));
  EXPECT_LE(handle.size(), 100u);
  EXPECT_EQ(handle.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
}

// Workers hold handles of the version that had no namespace while a server is replaced.
TEST(Handles, OfVersion1AreStillAccepted) {
  const std::string old = "AQAB_wEBAgMEBQYHCAkKCwwNDg8QrALwogQqAAAAAAAAAAAAAAAAAAAAeNZdjyLEV8FATAfGs5ms6w";
  EXPECT_EQ(TokenSigner(one_key).verify_handle(old, today), (HandleClaims{some_fence(), std::nullopt}));
}

TEST(Handles, OutliveARotationOfKeys) {
  const TokenSigner before(one_key);
  const TokenSigner after(two_keys);
  EXPECT_EQ(after.verify_handle(some_handle(before), today), (HandleClaims{some_fence(), "team"}));
  expect_refused(before, some_handle(after));
}

TEST(Handles, OfAnotherStoreAreRefused) {
  const TokenSigner ours(one_key);
  expect_refused(ours, some_handle(TokenSigner({{{1, "another secret", 0, 0}}})));
  expect_refused(ours, some_handle(TokenSigner({{{7, "the first secret", 0, 0}}})));
}

TEST(Handles, EveryPrefixIsRefused) {
  const TokenSigner signer(one_key);
  const std::string handle = some_handle(signer);
  for (std::size_t size = 0; size < handle.size(); ++size) expect_refused(signer, handle.substr(0, size));
}

TEST(Handles, EveryFlippedBitIsRefused) {
  const TokenSigner signer(two_keys);
  for (const auto& changed : with_a_flipped_bit(some_handle(signer))) expect_refused(signer, changed);
}

TEST(Handles, EveryOtherCharacterIsRefused) {
  const TokenSigner signer(one_key);
  for (const auto& changed : with_another_character(some_handle(signer))) expect_refused(signer, changed);
}

TEST(Handles, TextAroundThemIsRefused) {
  const TokenSigner signer(one_key);
  for (const auto& text : with_text_around(some_handle(signer))) expect_refused(signer, text);
}

// Signed like a handle, with the key for handles.
std::string signed_handle(const std::string& bytes) {
  return to_base64url(bytes + Signer("the first secret").sign(bytes).substr(0, 16));
}

TEST(Handles, WellSignedNonsenseIsRefused) {
  const TokenSigner signer(one_key);
  Encoder far_partition;
  far_partition.u8(1);
  far_partition.u8(0);
  far_partition.unsigned_number(1);
  far_partition.unsigned_number(256);
  far_partition.uuid({});
  far_partition.unsigned_number(0);
  far_partition.unsigned_number(0);
  far_partition.uuid({});
  expect_refused(signer, signed_handle(far_partition.take()));
  expect_refused(signer, signed_handle(std::string("\x01\x00\x01", 3)));
  expect_refused(signer, signed_handle(std::string("\x02\x00\x01", 3)));
  expect_refused(signer, signed_handle(std::string("\x03\x00\x01", 3)));
  expect_refused(signer, signed_handle(""));
}

TEST(Handles, WithAWholeSignatureAreRefused) {
  const TokenSigner signer(one_key);
  const std::string bytes = *from_base64url(some_handle(signer));
  const std::string body = bytes.substr(0, bytes.size() - 16);
  ASSERT_TRUE(signer.verify_handle(signed_handle(body), today)) << "the body is right";
  expect_refused(signer, to_base64url(body + Signer("the first secret").sign(body)));
}

// ---- Grant keys ----------------------------------------------------------------------------------------------------

TEST(GrantKeys, CarryTheirClaims) {
  const TokenSigner signer(one_key);
  for (const GrantKind kind : {GrantKind::claim, GrantKind::reclaim}) {
    EXPECT_EQ(signer.verify_grant(signer.sign_grant(some_claims(kind)), today), some_claims(kind));
  }
  EXPECT_EQ(signer.verify_grant(signer.sign_grant(GrantClaims{}), today), GrantClaims{});
}

TEST(GrantKeys, OfTheLongestNamesAreStillAccepted) {
  const TokenSigner signer({{{UINT32_MAX, "secret", 0, 0}}});
  GrantClaims claims = some_claims();
  claims.worker_id = std::string(limits::max_worker_id_bytes, 'w');
  claims.worker_instance_id = std::string(limits::max_worker_id_bytes, 'i');
  claims.expires_at = limits::max_timestamp_ms;
  const std::string key = signer.sign_grant(claims);
  EXPECT_LE(key.size(), limits::max_grant_key_chars);
  EXPECT_EQ(signer.verify_grant(key, today), claims);
}

TEST(GrantKeys, SayNothingAboutTheirOwnExpiry) {
  const TokenSigner signer(one_key);
  EXPECT_TRUE(signer.verify_grant(signer.sign_grant(some_claims()), some_claims().expires_at + 1));
}

TEST(GrantKeys, DifferInTheirNonceAlone) {
  const TokenSigner signer(one_key);
  GrantClaims other = some_claims();
  other.nonce = 1;
  EXPECT_NE(signer.sign_grant(some_claims()), signer.sign_grant(other));
  EXPECT_NE(grant_id_of(signer.sign_grant(some_claims())), grant_id_of(signer.sign_grant(other)));
  EXPECT_EQ(grant_id_of("abc").size(), 32u);
  EXPECT_EQ(to_hex(grant_id_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(GrantKeys, OfAnotherStoreAreRefused) {
  const TokenSigner ours(one_key);
  expect_grant_refused(ours, TokenSigner({{{1, "another secret", 0, 0}}}).sign_grant(some_claims()));
  expect_grant_refused(ours, TokenSigner({{{7, "the first secret", 0, 0}}}).sign_grant(some_claims()));
}

TEST(GrantKeys, EveryPrefixIsRefused) {
  const TokenSigner signer(one_key);
  const std::string key = signer.sign_grant(some_claims());
  for (std::size_t size = 0; size < key.size(); ++size) expect_grant_refused(signer, key.substr(0, size));
}

TEST(GrantKeys, EveryFlippedBitIsRefused) {
  const TokenSigner signer(two_keys);
  for (const GrantKind kind : {GrantKind::claim, GrantKind::reclaim}) {
    const std::string key = signer.sign_grant(some_claims(kind));
    for (const auto& changed : with_a_flipped_bit(key)) expect_grant_refused(signer, changed);
  }
}

TEST(GrantKeys, EveryOtherCharacterIsRefused) {
  const TokenSigner signer(one_key);
  const std::string key = signer.sign_grant(some_claims());
  for (const auto& changed : with_another_character(key)) expect_grant_refused(signer, changed);
}

TEST(GrantKeys, TextAroundThemIsRefused) {
  const TokenSigner signer(one_key);
  for (const auto& text : with_text_around(signer.sign_grant(some_claims()))) expect_grant_refused(signer, text);
}

// Signed like a grant key, with the key for grants.
std::string signed_grant(const std::string& bytes) {
  return to_base64url(bytes + Signer("the first secret").sign(bytes));
}

std::string grant_bytes(std::uint8_t mark, std::uint8_t kind, std::uint64_t partition, const std::string& more = {}) {
  Encoder out;
  out.u8(mark);
  out.u8(kind);
  out.unsigned_number(1);
  out.unsigned_number(partition);
  out.uuid({});
  out.number(today);
  out.unsigned_number(0);
  out.text("w");
  out.text("w-1");
  return out.take() + more;
}

TEST(GrantKeys, WellSignedNonsenseIsRefused) {
  const TokenSigner signer(one_key);
  ASSERT_TRUE(signer.verify_grant(signed_grant(grant_bytes('G', 1, 255)), today));
  expect_grant_refused(signer, signed_grant(grant_bytes('G', 0, 256)));
  expect_grant_refused(signer, signed_grant(grant_bytes('G', 0, 65536 + 255)));
  expect_grant_refused(signer, signed_grant(grant_bytes('G', 2, 0)));
  expect_grant_refused(signer, signed_grant(grant_bytes('H', 0, 0)));
  expect_grant_refused(signer, signed_grant(grant_bytes(1, 0, 0)));
  expect_grant_refused(signer, signed_grant(grant_bytes('G', 0, 0, "x")));
  expect_grant_refused(signer, signed_grant(std::string("G\x00\x01", 3)));
  expect_grant_refused(signer, signed_grant("G"));
  expect_grant_refused(signer, signed_grant(""));
}

TEST(GrantKeys, WithHalfASignatureAreRefused) {
  const TokenSigner signer(one_key);
  const std::string body = grant_bytes('G', 0, 0);
  expect_grant_refused(signer, to_base64url(body + Signer("the first secret").sign(body).substr(0, 16)));
}

// ---- Both ----------------------------------------------------------------------------------------------------------

TEST(Tokens, AHandleIsNoGrantAndAGrantIsNoHandle) {
  const TokenSigner signer(one_key);
  expect_grant_refused(signer, some_handle(signer));
  for (const GrantKind kind : {GrantKind::claim, GrantKind::reclaim}) {
    expect_refused(signer, signer.sign_grant(some_claims(kind)));
  }
  // Nor if one is signed like the other.
  const std::string handle = *from_base64url(some_handle(signer));
  expect_grant_refused(signer, signed_grant(handle.substr(0, handle.size() - 16)));
  expect_refused(signer, signed_handle(grant_bytes('G', 0, 0)));
}

TEST(Tokens, OfAKeyAreRefusedFromItsExpiryOn) {
  const TokenSigner before(one_key);
  const TokenSigner after(expiring);
  const std::string handle = some_handle(before);
  const std::string grant = before.sign_grant(some_claims());
  EXPECT_TRUE(after.verify_handle(handle, today - 1));
  EXPECT_TRUE(after.verify_grant(grant, today - 1));
  for (const TimestampMs at : {today, today + 1, today + 1000000}) {
    expect_refused(after, handle, at);
    expect_grant_refused(after, grant, at);
  }
  EXPECT_TRUE(after.verify_handle(some_handle(after), today + 1000000)) << "the newest one signs and does not expire";
  EXPECT_TRUE(after.verify_grant(after.sign_grant(some_claims()), today + 1000000));
}

TEST(Tokens, AreToldApartAsForgedAndAsSignedWithAnExpiredKey) {
  const TokenSigner after(expiring);
  const std::string forged = some_handle(TokenSigner({{{1, "another secret", 0, 0}}}));
  const std::string old = some_handle(TokenSigner(one_key));
  EXPECT_NE(after.verify_handle(old, today).error().message.find("no longer accepted"), std::string::npos);
  EXPECT_NE(after.verify_handle(forged, today).error().message.find("signature"), std::string::npos);
}

TEST(Tokens, KnowWhetherTheirKeyIsKnown) {
  const TokenSigner before(one_key);
  const TokenSigner after(two_keys);
  EXPECT_TRUE(before.knows_key_of(some_handle(before)));
  EXPECT_TRUE(after.knows_key_of(some_handle(before)));
  EXPECT_FALSE(before.knows_key_of(some_handle(after)));
  EXPECT_FALSE(before.knows_key_of(after.sign_grant(some_claims())));
  // A text that can never be a token must not cause a read of the store.
  for (const std::string& text : {std::string(), std::string("A"), std::string("!"), std::string(1000000, '!')}) {
    EXPECT_TRUE(before.knows_key_of(text)) << text.substr(0, 10);
  }
}

TEST(Tokens, AdmitTheWorkerTheyWereMadeFor) {
  RedeemRequest request;
  request.execution_id = some_claims().execution_id;
  request.worker_id = "w";
  request.worker_instance_id = "another instance";
  EXPECT_TRUE(admit_grant(some_claims(), GrantKind::claim, request)) << "the instance may be another";
  const auto field = [](const Result<void>& result) {
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().code, Errc::invalid_claim_grant);
    return result.error().field;
  };
  EXPECT_EQ(field(admit_grant(some_claims(), GrantKind::reclaim, request)), "grant_key");
  RedeemRequest elsewhere = request;
  elsewhere.execution_id.uuid.bytes[0] ^= 1;
  EXPECT_EQ(field(admit_grant(some_claims(), GrantKind::claim, elsewhere)), "execution_id");
  elsewhere = request;
  elsewhere.execution_id.partition = 0;
  EXPECT_EQ(field(admit_grant(some_claims(), GrantKind::claim, elsewhere)), "execution_id");
  RedeemRequest other = request;
  other.worker_id = "W";
  EXPECT_EQ(field(admit_grant(some_claims(), GrantKind::claim, other)), "worker_id");
}

// ---- Sessions ------------------------------------------------------------------------------------------------------

void expect_session_refused(const TokenSigner& signer, const std::string& session, TimestampMs at = today) {
  const auto claims = signer.verify_session(session, at);
  ASSERT_FALSE(claims) << session;
  EXPECT_EQ(claims.error().code, Errc::unauthenticated);
}

TEST(Sessions, SayWhatTheyWereSignedWith) {
  const TokenSigner signer(two_keys);
  const SessionClaims claims{"0123456789ab", today + 1};
  const std::string session = signer.sign_session(claims);
  EXPECT_EQ(signer.verify_session(session, today).value(), claims);
  EXPECT_EQ(TokenSigner(two_keys).verify_session(session, today).value(), claims) << "by any engine of the store";
  EXPECT_EQ(session.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), session.npos)
      << "it stands in a cookie";
}

TEST(Sessions, EndWithTheirTimeAndTheirKey) {
  const std::string session = TokenSigner(one_key).sign_session({"0123456789ab", today + 10});
  EXPECT_TRUE(TokenSigner(two_keys).verify_session(session, today + 9));
  expect_session_refused(TokenSigner(two_keys), session, today + 10);
  EXPECT_TRUE(TokenSigner(expiring).verify_session(session, today - 1));
  expect_session_refused(TokenSigner(expiring), session, today);
}

TEST(Sessions, WhatIsForgedOrOfAnotherKindIsRefused) {
  const TokenSigner signer(one_key);
  const std::string session = signer.sign_session({"0123456789ab", today + 1000});
  for (const auto& changed :
       {with_a_flipped_bit(session), with_another_character(session), with_text_around(session)}) {
    for (const std::string& text : changed) expect_session_refused(signer, text);
  }
  for (std::size_t size = 0; size < session.size(); ++size) expect_session_refused(signer, session.substr(0, size));
  expect_session_refused(TokenSigner({{{1, "a secret of another store", 0, 0}}}), session);
  expect_session_refused(signer, some_handle(signer));
  expect_session_refused(signer, signer.sign_grant(some_claims()));
  expect_refused(signer, session);
  expect_grant_refused(signer, session);
}

// One to four changes: of a byte, of the length, or a part moved.
std::string mutated(std::string bytes, const Entropy& entropy) {
  for (std::uint64_t n = 1 + entropy() % 4; n > 0; --n) {
    const std::size_t at = bytes.empty() ? 0 : entropy() % bytes.size();
    switch (entropy() % 4) {
      case 0: bytes.insert(at, 1, static_cast<char>(entropy())); break;
      case 1: bytes.resize(at); break;
      case 2: bytes += bytes.substr(at); break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(entropy());
    }
  }
  return bytes;
}

TEST(Tokens, MutatedTextIsRefused) {
  const TokenSigner signer(two_keys);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Entropy entropy = seeded_entropy(seed);
    for (int round = 0; round < 3000; ++round) {
      const std::string handle = some_handle(signer);
      const std::string grant = signer.sign_grant(some_claims());
      const std::string& original = round % 2 == 0 ? handle : grant;
      const std::string text =
          round % 4 < 2 ? mutated(original, entropy) : to_base64url(mutated(*from_base64url(original), entropy));
      signer.knows_key_of(text);
      if (text != handle) expect_refused(signer, text);
      if (text != grant) expect_grant_refused(signer, text);
    }
  }
}

// With a valid signature the decoders get arbitrary bytes: they return a value or an error.
TEST(Tokens, MutatedBytesUnderAGoodSignatureGiveAValueOrARefusal) {
  const TokenSigner signer(one_key);
  const std::string handle = *from_base64url(some_handle(signer));
  const std::string handle_body = handle.substr(0, handle.size() - 16);
  const std::string grant = *from_base64url(signer.sign_grant(some_claims()));
  const std::string grant_body = grant.substr(0, grant.size() - 32);
  for (const std::uint64_t seed : {4, 5, 6}) {
    const Entropy entropy = seeded_entropy(seed);
    for (int round = 0; round < 3000; ++round) {
      if (const auto claims = signer.verify_handle(signed_handle(mutated(handle_body, entropy)), today)) {
        EXPECT_LT(claims->fence.execution_id.partition, partition_count);
      }
      if (const auto claims = signer.verify_grant(signed_grant(mutated(grant_body, entropy)), today)) {
        EXPECT_LT(claims->execution_id.partition, partition_count);
        EXPECT_LE(claims->kind, GrantKind::reclaim);
      }
    }
  }
}

}  // namespace
}  // namespace flowfabric
