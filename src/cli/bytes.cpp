#include "cli/bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace flowfabric::cli {

std::string to_base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) out.push_back(k <= have ? digits[group >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

}  // namespace flowfabric::cli
