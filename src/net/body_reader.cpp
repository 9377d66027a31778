#include "net/body_reader.hpp"

#include <algorithm>

namespace flowfabric::net {
namespace {

// Extensions and trailers are ignored, so their size is limited.
constexpr std::uint32_t max_size_digits = 16;
constexpr std::uint32_t max_extension_bytes = 256;
constexpr std::uint32_t max_trailer_bytes = 8 * 1024;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

}  // namespace

BodyReader::BodyReader(Framing framing, std::uint64_t limit) : kind_(framing.kind), allowance_(limit) {
  if (kind_ == Framing::Kind::none) state_ = State::done;
  if (kind_ != Framing::Kind::length) return;
  remaining_ = framing.length;
  if (remaining_ > limit) state_ = State::too_large;
  if (remaining_ == 0) state_ = State::done;
}

BodyReader::State BodyReader::take(std::string_view& input, std::string& body) {
  if (state_ != State::reading) return state_;
  switch (kind_) {
    case Framing::Kind::none: break;
    case Framing::Kind::length: take_length(input, body); break;
    case Framing::Kind::chunked: take_chunked(input, body); break;
    case Framing::Kind::until_close: take_rest(input, body); break;
  }
  return state_;
}

BodyReader::State BodyReader::finish() {
  if (state_ == State::reading) state_ = kind_ == Framing::Kind::until_close ? State::done : State::malformed;
  return state_;
}

void BodyReader::take_length(std::string_view& input, std::string& body) {
  const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  body.append(input.substr(0, bytes));
  input.remove_prefix(bytes);
  remaining_ -= bytes;
  if (remaining_ == 0) state_ = State::done;
}

void BodyReader::take_rest(std::string_view& input, std::string& body) {
  if (input.size() > allowance_) {
    state_ = State::too_large;
    return;
  }
  allowance_ -= input.size();
  body.append(input);
  input = {};
}

void BodyReader::take_chunked(std::string_view& input, std::string& body) {
  while (state_ == State::reading && !input.empty()) {
    if (place_ != Place::data) {
      state_ = take_framing_byte(input.front());
      input.remove_prefix(1);
      continue;
    }
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
    body.append(input.substr(0, bytes));
    input.remove_prefix(bytes);
    remaining_ -= bytes;
    if (remaining_ == 0) place_ = Place::data_cr;
  }
}

BodyReader::State BodyReader::expect(char c, char wanted, Place next) {
  place_ = next;
  return c == wanted ? State::reading : State::malformed;
}

BodyReader::State BodyReader::take_framing_byte(char c) {
  switch (place_) {
    case Place::size: return take_size_digit(c);
    case Place::before_extension: return take_extension_start(c);
    case Place::extension:
      if (c == '\r') return expect(c, '\r', Place::size_lf);
      return is_control(c) || ++framing_bytes_ > max_extension_bytes ? State::malformed : State::reading;
    case Place::size_lf: return c == '\n' ? start_chunk() : State::malformed;
    case Place::data_cr: return expect(c, '\r', Place::data_lf);
    case Place::data_lf: return expect(c, '\n', Place::size);
    case Place::trailer_start:
      place_ = c == '\r' ? Place::last_lf : Place::trailer;
      return is_control(c) && c != '\r' ? State::malformed : State::reading;
    case Place::trailer:
      if (c == '\r') return expect(c, '\r', Place::trailer_lf);
      return is_control(c) || ++framing_bytes_ > max_trailer_bytes ? State::malformed : State::reading;
    case Place::trailer_lf:
      // An empty name counts too; otherwise a client could send line ends without limit.
      if (++framing_bytes_ > max_trailer_bytes) return State::malformed;
      return expect(c, '\n', Place::trailer_start);
    case Place::last_lf: return c == '\n' ? State::done : State::malformed;
    case Place::data: break;
  }
  return State::malformed;
}

BodyReader::State BodyReader::take_size_digit(char c) {
  const int digit = hex_digit(c);
  if (digit >= 0) {
    if (!has_digit_) remaining_ = 0;
    has_digit_ = true;
    if (++framing_bytes_ > max_size_digits) return State::malformed;  // so it fits into 64 bits
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(digit);
    return remaining_ > allowance_ ? State::too_large : State::reading;
  }
  if (!has_digit_) return State::malformed;
  framing_bytes_ = 0;
  if (c == '\r') return expect(c, '\r', Place::size_lf);
  return take_extension_start(c);
}

// The standard has readers put up with blanks between the size and the semicolon of an extension. With anything else
// behind them two readers could see two sizes.
BodyReader::State BodyReader::take_extension_start(char c) {
  place_ = c == ';' ? Place::extension : Place::before_extension;
  const bool blank = c == ' ' || c == '\t';
  return c == ';' || (blank && ++framing_bytes_ <= max_extension_bytes) ? State::reading : State::malformed;
}

BodyReader::State BodyReader::start_chunk() {
  has_digit_ = false;
  framing_bytes_ = 0;
  allowance_ -= remaining_;
  place_ = remaining_ == 0 ? Place::trailer_start : Place::data;
  return State::reading;
}

}  // namespace flowfabric::net
