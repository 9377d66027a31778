// The encoding of all stored data.
//
// Numbers are little-endian base-128 varints (signed ones zig-zag), strings are length-prefixed, enums are one byte
// with a known maximum. A Decoder never reads past its input and never trusts it: the first invalid value makes `ok()`
// false permanently, every later read returns zero values, and the caller reports `corruption` once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <flowfabric/ids.hpp>

namespace flowfabric {

class Encoder {
 public:
  void u8(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void unsigned_number(std::uint64_t value) {
    char digits[10];
    std::size_t size = 0;
    while (value >= 128) {
      digits[size++] = static_cast<char>((value & 127) | 128);
      value >>= 7;
    }
    digits[size++] = static_cast<char>(value);
    bytes_.append(digits, size);
  }
  void number(std::int64_t value) {
    unsigned_number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void boolean(bool value) { u8(value ? 1 : 0); }
  void text(std::string_view value) {
    unsigned_number(value.size());
    bytes_ += value;
  }
  void uuid(const Uuid& value) { bytes_.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void enumerator(Enum value) {
    u8(static_cast<std::uint8_t>(value));
  }

  std::string take() { return std::move(bytes_); }
  void reserve(std::size_t size) { bytes_.reserve(size); }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

  std::uint8_t u8() {
    if (rest_.empty()) return broken();
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (!ok_ || (shift == 63 && byte > 1)) return broken();
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return broken();
  }
  std::int64_t number() {
    const std::uint64_t value = unsigned_number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::uint32_t u32() {
    const std::uint64_t value = unsigned_number();
    if (value > UINT32_MAX) return broken();
    return static_cast<std::uint32_t>(value);
  }
  std::uint16_t u16() {
    const std::uint64_t value = unsigned_number();
    if (value > UINT16_MAX) return broken();
    return static_cast<std::uint16_t>(value);
  }
  std::int32_t i32() {
    const std::int64_t value = number();
    if (value < INT32_MIN || value > INT32_MAX) return broken();
    return static_cast<std::int32_t>(value);
  }
  bool boolean() {
    const std::uint8_t value = u8();
    if (value > 1) broken();
    return value == 1;
  }
  std::string text() { return std::string(text_view()); }
  // A part of the input; valid as long as the input.
  std::string_view text_view() {
    const std::uint64_t size = unsigned_number();
    if (!ok_ || size > rest_.size()) {
      broken();
      return {};
    }
    const std::string_view value = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return value;
  }
  Uuid uuid() {
    Uuid value;
    if (rest_.size() < value.bytes.size()) {
      broken();
      return value;
    }
    for (std::size_t i = 0; i < value.bytes.size(); ++i) value.bytes[i] = static_cast<std::uint8_t>(rest_[i]);
    rest_.remove_prefix(value.bytes.size());
    return value;
  }
  // An enum whose greatest value is `last`: a larger value is corruption, never a default.
  template <class Enum>
    requires std::is_enum_v<Enum>
  Enum enumerator(Enum last) {
    const std::uint8_t value = u8();
    if (value > static_cast<std::uint8_t>(last)) {
      broken();
      return Enum{};
    }
    return static_cast<Enum>(value);
  }
  // A count of elements of at least one byte each, so that a hostile count cannot cause a large allocation.
  std::size_t count() {
    const std::uint64_t value = unsigned_number();
    if (value > rest_.size()) return broken();
    return static_cast<std::size_t>(value);
  }

  // What was read so far is not what an encoder writes.
  void refuse() { broken(); }

 private:
  std::uint8_t broken() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace flowfabric
