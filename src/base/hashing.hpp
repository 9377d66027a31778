// Hashes and signatures. Pure functions; Signer is safe to share between threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <flowfabric/ids.hpp>

namespace flowfabric {

// CRC-16/XMODEM, as used by Redis Cluster for slots.
std::uint16_t crc16(std::string_view bytes);

// The partition of a record: crc16(bytes) mod partition_count.
std::uint16_t partition_of(std::string_view bytes);
std::uint16_t partition_of(const Uuid& uuid);

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::string_view bytes);

// The first eight bytes of SHA-256 as a number: compares requests for equality, not against an adversary.
std::uint64_t digest64(std::string_view bytes);

// FNV-1a: for even distribution only.
std::uint64_t fnv1a64(std::string_view bytes);

bool equal_in_constant_time(std::string_view a, std::string_view b);

// HMAC-SHA256 with one key.
class Signer {
 public:
  explicit Signer(std::string key);
  ~Signer();
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  // 32 bytes.
  std::string sign(std::string_view bytes) const;
  // The signature may be truncated to its first bytes, but not to fewer than 16. Compares in constant time.
  bool verify(std::string_view bytes, std::string_view signature) const;

 private:
  struct Keyed;
  std::unique_ptr<Keyed> keyed_;
};

std::string to_hex(std::string_view bytes);
Result<std::string> from_hex(std::string_view text);
std::string to_base64url(std::string_view bytes);
Result<std::string> from_base64url(std::string_view text);
// The alphabet with + and /, padded to a multiple of four characters.
std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

}  // namespace flowfabric
