#include "base/entropy.hpp"

#include <sys/random.h>

#include <memory>

#include "base/check.hpp"

namespace flowfabric {
namespace {

std::uint64_t next_system_number() {
  thread_local std::array<std::uint64_t, 64> buffer;
  thread_local std::size_t used = buffer.size();
  if (used == buffer.size()) {
    // Requests of up to 256 bytes are never interrupted by a signal; this one is 512, so it is split in two.
    char* bytes = reinterpret_cast<char*>(buffer.data());
    FF_CHECK(getrandom(bytes, 256, 0) == 256);
    FF_CHECK(getrandom(bytes + 256, 256, 0) == 256);
    used = 0;
  }
  return buffer[used++];
}

void put_random(Uuid& uuid, std::size_t from, std::uint64_t bits) {
  for (std::size_t i = from; i < from + 8; ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(bits & 255);
    bits >>= 8;
  }
}

void set_version(Uuid& uuid, std::uint8_t version) {
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | (version << 4));
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
}

}  // namespace

Entropy system_entropy() { return next_system_number; }

Entropy seeded_entropy(std::uint64_t seed) {
  return [state = seed]() mutable {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t value = state;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  };
}

Uuid random_uuid(const Entropy& entropy) {
  Uuid uuid;
  put_random(uuid, 0, entropy());
  put_random(uuid, 8, entropy());
  set_version(uuid, 4);
  return uuid;
}

Uuid time_ordered_uuid(TimestampMs at, std::uint16_t order, const Entropy& entropy) {
  Uuid uuid;
  for (std::size_t i = 0; i < 6; ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>((static_cast<std::uint64_t>(at) >> (40 - 8 * i)) & 255);
  }
  uuid.bytes[6] = static_cast<std::uint8_t>((order >> 8) & 0x0f);
  uuid.bytes[7] = static_cast<std::uint8_t>(order & 255);
  put_random(uuid, 8, entropy());
  set_version(uuid, 7);
  return uuid;
}

}  // namespace flowfabric
