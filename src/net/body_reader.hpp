// Extracts the body of a message from the arriving bytes. Pure, without I/O: it stores no bytes itself.
//
// Beast has a chunk parser too, but it requires each chunk header as a whole in one buffer, and with assertions on it
// aborts when "0\r\n" and "\r" arrive separately. This one reads every byte once, and the bytes can be split anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

class BodyReader {
 public:
  enum class State { reading, done, malformed, too_large };

  // At most `limit` bytes of body; more is too_large as soon as it is announced.
  BodyReader(Framing framing, std::uint64_t limit);

  State state() const { return state_; }
  // Removes the bytes of this message from the front of `input` and appends the bytes of the body to `body`.
  State take(std::string_view& input, std::string& body);
  // The other side will send no more. Completes only a body that ends with the connection.
  State finish();

 private:
  enum class Place {
    size,
    before_extension,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_start,
    trailer,
    trailer_lf,
    last_lf
  };

  void take_length(std::string_view& input, std::string& body);
  void take_chunked(std::string_view& input, std::string& body);
  void take_rest(std::string_view& input, std::string& body);
  State take_framing_byte(char c);
  State take_size_digit(char c);
  State take_extension_start(char c);
  State start_chunk();
  State expect(char c, char wanted, Place next);

  Framing::Kind kind_;
  State state_ = State::reading;
  Place place_ = Place::size;
  bool has_digit_ = false;
  std::uint32_t framing_bytes_ = 0;  // of the chunk size, its extension or the trailers
  std::uint64_t remaining_ = 0;      // of the body, or of the chunk
  std::uint64_t allowance_;          // bytes of body that may still be announced
};

}  // namespace flowfabric::net
