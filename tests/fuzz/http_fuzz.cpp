// Bytes as they arrive on a connection: headers, lengths, chunks, targets, one request after the other.
//
// The last byte of an input is the number of cuts, and the bytes before it are their positions: the same bytes must
// give the same requests and the same fault with any cuts. Every accepted request must be unambiguous.
#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "net/body_reader.hpp"
#include "net/head_parser.hpp"
#include "net/target.hpp"

namespace flowfabric::net {
namespace {

constexpr std::size_t max_cuts = 15;
constexpr std::uint64_t max_body_bytes = 1024;

// The parsing of a connection. Mirrors the input half of Connection, without the socket.
class Intake {
 public:
  void take(std::string_view bytes) {
    input_ += bytes;
    while (status_ == 0 && step()) {
    }
  }

  const std::string& transcript() const { return transcript_; }

 private:
  // Whether there may be more to do.
  bool step() { return reader_ ? take_body() : take_head(); }

  bool take_head() {
    const HeadScanner::Verdict verdict = scanner_.scan(input_);
    if (verdict == HeadScanner::Verdict::incomplete) return false;
    if (verdict == HeadScanner::Verdict::malformed) return refuse(400);
    const std::string head = input_.substr(0, scanner_.end());
    input_.erase(0, scanner_.end());
    scanner_ = {};
    check_response(head);
    auto parsed = parse_request_head(head);
    if (!parsed) return refuse(parsed.error().status);
    check_head(*parsed);
    head_ = std::move(*parsed);
    reader_.emplace(head_.framing, max_body_bytes);
    return true;
  }

  bool take_body() {
    std::string_view rest = input_;
    const BodyReader::State state = reader_->take(rest, head_.request.body);
    FF_CHECK(head_.request.body.size() <= max_body_bytes);
    input_.erase(0, input_.size() - rest.size());
    switch (state) {
      case BodyReader::State::reading: FF_CHECK(input_.empty()); return false;
      case BodyReader::State::malformed: return refuse(400);
      case BodyReader::State::too_large: return refuse(413);
      case BodyReader::State::done: break;
    }
    if (head_.framing.kind == Framing::Kind::length) FF_CHECK(head_.request.body.size() == head_.framing.length);
    const Request& request = head_.request;
    transcript_ += request.method + " " + request.target + "\n";
    for (const auto& [name, value] : request.headers) transcript_.append(name).append(": ").append(value).append("\n");
    transcript_ += "\n" + request.body + "\n";
    head_ = {};
    reader_.reset();
    return true;
  }

  bool refuse(int status) {
    FF_CHECK(status >= 400 && status < 600);
    status_ = status;
    transcript_ += "refused " + std::to_string(status) + "\n";
    return false;
  }

  static void check_head(const RequestHead& head) {
    const Request& request = head.request;
    FF_CHECK(request.headers.size() <= max_header_fields);
    FF_CHECK(request.headers.count("Content-Length") + request.headers.count("Transfer-Encoding") <= 1);
    FF_CHECK(request.minor_version == 0 || request.headers.count("Host") == 1);
    FF_CHECK(head.framing.kind != Framing::Kind::until_close);
    for (const auto& [name, value] : request.headers) FF_CHECK(is_safe_field(name, value));
    check_target(request);
    check_rewritten(head);
  }

  // Segments and query must be the same after encoding and decoding.
  static void check_target(const Request& request) {
    if (request.path == "*") return FF_CHECK(request.method == "OPTIONS");
    FF_CHECK(request.path.front() == '/');
    Request again;
    again.method = request.method;
    for (const std::string& segment : request.segments) {
      FF_CHECK(segment != "." && segment != "..");
      FF_CHECK(segment.find('\0') == std::string::npos && is_valid_utf8(segment));
      again.target += "/" + percent_encode(segment);
    }
    if (request.segments.empty()) again.target = "/";
    char separator = '?';
    for (const auto& [name, value] : request.query) {
      FF_CHECK(is_valid_utf8(name) && is_valid_utf8(value));
      again.target += separator + percent_encode(name) + "=" + percent_encode(value);
      separator = '&';
    }
    FF_CHECK(decode_target(again));
    FF_CHECK(again.segments == request.segments);
    FF_CHECK(again.query == request.query);
  }

  // The parsed header, written again, must be parsed the same way.
  static void check_rewritten(const RequestHead& head) {
    const Request& request = head.request;
    std::string text =
        request.method + " " + request.target + " HTTP/1." + std::to_string(request.minor_version) + "\r\n";
    for (const auto& [name, value] : request.headers) text.append(name).append(": ").append(value).append("\r\n");
    text += "\r\n";
    HeadScanner scanner;
    FF_CHECK(scanner.scan(text) == HeadScanner::Verdict::complete && scanner.end() == text.size());
    const auto again = parse_request_head(text);
    FF_CHECK(again);
    FF_CHECK(again->request.headers == request.headers && again->request.segments == request.segments);
    FF_CHECK(again->framing.kind == head.framing.kind && again->framing.length == head.framing.length);
    FF_CHECK(again->keep_alive == head.keep_alive && again->expects_continue == head.expects_continue);
  }

  // Our client also reads headers of other servers.
  static void check_response(std::string_view head) {
    const auto response = parse_response_head(head, false);
    if (!response) return FF_CHECK(!response.error().message.empty());
    FF_CHECK(response->status >= 100 && response->status <= 999);
  }

  std::string input_;
  HeadScanner scanner_;
  RequestHead head_;
  std::optional<BodyReader> reader_;
  int status_ = 0;
  std::string transcript_;
};

void check(std::string_view input) {
  if (input.empty()) return;
  const std::size_t cuts = std::min(static_cast<std::size_t>(input.back()) % (max_cuts + 1), input.size() - 1);
  const std::string_view bytes = input.substr(0, input.size() - 1 - cuts);
  const std::string_view sizes = input.substr(bytes.size(), cuts);

  Intake whole;
  whole.take(bytes);
  Intake pieces;
  std::string_view rest = bytes;
  for (const char size : sizes) {
    const std::string_view piece = rest.substr(0, static_cast<unsigned char>(size));
    rest.remove_prefix(piece.size());
    pieces.take(piece);
  }
  pieces.take(rest);
  FF_CHECK(pieces.transcript() == whole.transcript());

  Intake drops;
  for (const char& byte : bytes) drops.take({&byte, 1});
  FF_CHECK(drops.transcript() == whole.transcript());
}

}  // namespace
}  // namespace flowfabric::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flowfabric::net::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
