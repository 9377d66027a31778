// The part of a message before its body. Pure; the only user of Beast, whose parser implements the grammar of start
// lines and fields. This file decides what the library leaves open: framing, versions, and refused combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Finds the end of a header in bytes that arrive in pieces, and reads every byte once. It already refuses bytes that no
// header may have (a bare LF or CR, control characters, folded lines), so that garbage is answered at once and not
// after the header timeout.
class HeadScanner {
 public:
  enum class Verdict { incomplete, complete, malformed };

  // `text` must start with the bytes of the earlier calls.
  Verdict scan(std::string_view text);
  std::size_t end() const { return position_; }  // after complete: the size of the header with its empty line
  std::size_t first_line() const { return first_line_ > 0 ? first_line_ : position_; }  // its size so far

 private:
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::size_t first_line_ = 0;  // 0: its end has not arrived
};

struct RequestHead {
  Request request{};
  Framing framing{};
  bool keep_alive = false;
  bool expects_continue = false;
};

struct ResponseHead {
  int status = 0;
  Headers headers{};
  Framing framing{};
  bool keep_alive = false;
};

inline constexpr std::size_t max_header_fields = 100;

// Both take a whole header, up to and including its empty line.
Result<RequestHead, Fault> parse_request_head(std::string_view head);
Result<ResponseHead> parse_response_head(std::string_view head, bool answers_head_request);

}  // namespace flowfabric::net
