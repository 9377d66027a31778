// The part of a message before its body. Pure; the only user of Beast, whose parser knows the grammar of start lines and
// fields. What a library must leave open is decided here: which framing, which versions, which combinations are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Finds the end of a head in bytes that arrive bit by bit, and looks at every byte once.
// It already refuses what no head may have (a bare LF or CR, control characters, folded lines), so that garbage is
// answered at once and not when the header timeout is over.
class HeadScanner {
 public:
  enum class Verdict { incomplete, complete, malformed };

  // `text` must start with the bytes of the earlier calls.
  Verdict scan(std::string_view text);
  std::size_t end() const { return position_; }  // after complete: the size of the head with its empty line
  std::size_t first_line() const {
    return first_line_ > 0 ? first_line_ : position_;
  }  // its size, as far as it is here

 private:
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::size_t first_line_ = 0;  // 0: its end has not come
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

// Both take a whole head, up to and including its empty line.
tl::expected<RequestHead, Fault> parse_request_head(std::string_view head);
Result<ResponseHead> parse_response_head(std::string_view head, bool answers_head_request);

}  // namespace flowfabric::net
