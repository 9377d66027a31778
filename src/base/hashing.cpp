#include "base/hashing.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.hpp"

namespace flowfabric {
namespace {

constexpr std::array<std::uint16_t, 256> make_crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) ? (crc << 1) ^ 0x1021 : crc << 1;
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr auto crc_table = make_crc_table();
constexpr std::size_t least_signature_bytes = 16;
constexpr std::size_t hash_block_bytes = 64;

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Digest = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

Digest new_digest() {
  Digest digest(EVP_MD_CTX_new());
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  FF_CHECK(digest != nullptr && algorithm != nullptr);
  FF_CHECK(EVP_DigestInit_ex2(digest.get(), algorithm, nullptr) == 1);
  EVP_MD_free(algorithm);  // the digest has its own reference
  return digest;
}

void add(const Digest& digest, std::string_view bytes) {
  FF_CHECK(EVP_DigestUpdate(digest.get(), raw(bytes), bytes.size()) == 1);
}

// With OpenSSL 3, looking up an algorithm or creating a keyed context costs more than hashing a short text. Therefore
// each thread keeps one digest that has its algorithm, and continues from the state of `start`.
Sha256 finish_hash(const Digest* start, std::string_view bytes) {
  thread_local const Digest own = new_digest();
  FF_CHECK((start != nullptr ? EVP_MD_CTX_copy_ex(own.get(), start->get())
                             : EVP_DigestInit_ex2(own.get(), nullptr, nullptr)) == 1);
  add(own, bytes);
  Sha256 hash;
  FF_CHECK(EVP_DigestFinal_ex(own.get(), hash.data(), nullptr) == 1);
  return hash;
}

std::string_view view(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

}  // namespace

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes)
    crc = ((crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 255]) & 0xffff;
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t partition_of(std::string_view bytes) { return crc16(bytes) % partition_count; }

std::uint16_t partition_of(const Uuid& uuid) {
  return partition_of(std::string_view(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()));
}

Sha256 sha256(std::string_view bytes) { return finish_hash(nullptr, bytes); }

std::uint64_t digest64(std::string_view bytes) {
  const Sha256 digest = sha256(bytes);
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8) | digest[static_cast<std::size_t>(i)];
  return value;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint64_t fnv1a64(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

// HMAC as in RFC 2104: the key, padded to a block, precedes both hashes. That part is hashed once.
struct Signer::Keyed {
  Digest inner = new_digest();
  Digest outer = new_digest();
};

Signer::Signer(std::string key) : keyed_(std::make_unique<Keyed>()) {
  std::string block = key.size() > hash_block_bytes ? std::string(view(sha256(key))) : key;
  block.resize(hash_block_bytes);
  for (const auto& [digest, pad] : {std::pair(&keyed_->inner, 0x36), std::pair(&keyed_->outer, 0x5c)}) {
    std::string padded = block;
    for (char& c : padded) c = static_cast<char>(c ^ pad);
    add(*digest, padded);
    OPENSSL_cleanse(padded.data(), padded.size());
  }
  OPENSSL_cleanse(block.data(), block.size());
  OPENSSL_cleanse(key.data(), key.size());
}

Signer::~Signer() = default;

std::string Signer::sign(std::string_view bytes) const {
  const Sha256 inner = finish_hash(&keyed_->inner, bytes);
  return std::string(view(finish_hash(&keyed_->outer, view(inner))));
}

bool Signer::verify(std::string_view bytes, std::string_view signature) const {
  if (signature.size() < least_signature_bytes || signature.size() > 32) return false;
  return equal_in_constant_time(sign(bytes).substr(0, signature.size()), signature);
}

std::string to_hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Result<std::string> from_hex(std::string_view text) {
  const auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return fail(Errc::invalid_argument, "hexadecimal text has an even length");
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = value(text[i]);
    const int low = value(text[i + 1]);
    if (high < 0 || low < 0) return fail(Errc::invalid_argument, "not lower-case hexadecimal text");
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

namespace {

constexpr std::string_view base64url_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view base64_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The value of every character; 64 for invalid characters.
using Base64Values = std::array<std::uint8_t, 256>;

constexpr Base64Values values_of(std::string_view alphabet) {
  Base64Values values{};
  values.fill(64);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr Base64Values base64url_values = values_of(base64url_alphabet);
constexpr Base64Values base64_values = values_of(base64_alphabet);

std::string encode_base64(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3 + 2);
  unsigned pending = 0;
  int bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet[(pending >> bits) & 63];
    }
  }
  if (bits > 0) text += alphabet[(pending << (6 - bits)) & 63];
  return text;
}

std::optional<std::string> decode_base64(std::string_view text, const Base64Values& values) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned pending = 0;
  int bits = 0;
  for (const char c : text) {
    const unsigned value = values[static_cast<unsigned char>(c)];
    if (value == 64) return std::nullopt;
    pending = (pending << 6) | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((pending >> bits) & 255);
    }
  }
  // Remaining bits must be zero and fewer than a whole character, so that equal bytes have one spelling.
  if (bits >= 6 || (pending & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::string to_base64url(std::string_view bytes) { return encode_base64(bytes, base64url_alphabet); }

Result<std::string> from_base64url(std::string_view text) {
  auto bytes = decode_base64(text, base64url_values);
  if (!bytes) return fail(Errc::invalid_argument, "not base64url text");
  return std::move(*bytes);
}

std::string to_base64(std::string_view bytes) {
  std::string text = encode_base64(bytes, base64_alphabet);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  const std::size_t end = std::min(text.find('='), text.size());
  const bool padded =
      text.size() % 4 == 0 && text.size() - end <= 2 && text.find_first_not_of('=', end) == std::string_view::npos;
  auto bytes = padded ? decode_base64(text.substr(0, end), base64_values) : std::nullopt;
  if (!bytes) return fail(Errc::invalid_argument, "not base64 text");
  return std::move(*bytes);
}

}  // namespace flowfabric
