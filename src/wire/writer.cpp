#include "wire/writer.hpp"

namespace flowfabric::wire {

void Writer::quote(std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  out_ += '"';
  for (const char c : value) {
    switch (c) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\n': out_ += "\\n"; break;
      case '\r': out_ += "\\r"; break;
      case '\t': out_ += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out_ += "\\u00";
          out_ += digits[static_cast<unsigned char>(c) >> 4];
          out_ += digits[static_cast<unsigned char>(c) & 15];
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
}

}  // namespace flowfabric::wire
