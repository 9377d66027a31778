#include "net/head_parser.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include "base/check.hpp"
#include "net/target.hpp"

namespace flowfabric::net {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// Collects the fields of a header for Beast. It never sees a body: `skip` makes it stop at the empty line.
template <bool is_request>
class Collector final : public http::basic_parser<is_request> {
 public:
  Collector() {
    this->skip(true);
    this->body_limit(boost::none);
  }

  beast::error_code parse(std::string_view head) {
    this->header_limit(static_cast<std::uint32_t>(head.size() + 1));
    beast::error_code failure;
    this->put(boost::asio::const_buffer(head.data(), head.size()), failure);
    return failure;
  }

  std::string method{};
  std::string target{};
  int status = 0;
  int version = 0;
  Headers headers{};

 private:
  using Text = beast::string_view;

  void on_request_impl(http::verb, Text sent_method, Text sent_target, int sent_version, beast::error_code&) override {
    method = std::string(sent_method);
    target = std::string(sent_target);
    version = sent_version;
  }
  void on_response_impl(int sent_status, Text, int sent_version, beast::error_code&) override {
    status = sent_status;
    version = sent_version;
  }
  void on_field_impl(http::field, Text name, Text value, beast::error_code& failure) override {
    if (headers.size() == max_header_fields) {
      failure = http::error::header_limit;
      return;
    }
    headers.add(std::string(name), std::string(value));
  }
  void on_header_impl(beast::error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(Text, beast::error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, beast::error_code&) override { return 0; }
  void on_finish_impl(beast::error_code&) override {}
};

Unexpected<Fault> refuse(int status, Errc code, std::string message) {
  return Unexpected(Fault{status, Error{code, std::move(message), {}, {}}});
}

Unexpected<Fault> malformed(std::string message) { return refuse(400, Errc::invalid_argument, std::move(message)); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the first line ends in a well-formed version that is not supported.
bool names_another_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 8) return false;
  const std::string_view version = line.substr(line.size() - 8);
  return version.substr(0, 5) == "HTTP/" && is_digit(version[5]) && version[6] == '.' && is_digit(version[7]) &&
         version != "HTTP/1.0" && version != "HTTP/1.1";
}

Unexpected<Fault> fault_of(const beast::error_code& failure, std::string_view head) {
  if (failure == http::error::header_limit) {
    return refuse(431, Errc::invalid_argument, "the request has too many header fields");
  }
  if (failure == http::error::bad_version && names_another_version(head)) {
    return refuse(505, Errc::unsupported, "only HTTP/1.0 and HTTP/1.1 are supported");
  }
  return malformed("malformed request: " + failure.message());
}

// A message with two lengths can be used to smuggle a request past a proxy. Therefore one Content-Length or one
// Transfer-Encoding, never both, and only the coding "chunked".
Result<Framing, Fault> request_framing(const Headers& headers, int version, std::uint64_t length) {
  const std::size_t lengths = headers.count("Content-Length");
  const std::size_t codings = headers.count("Transfer-Encoding");
  const bool is_list = lengths == 1 && headers.find("Content-Length")->find(',') != std::string_view::npos;
  if (lengths + codings > 1 || is_list) return malformed("the length of the body is given more than once");
  if (codings == 1) {
    if (version < 11) return malformed("HTTP/1.0 has no Transfer-Encoding");
    if (!equal_ignoring_case(*headers.find("Transfer-Encoding"), "chunked")) {
      return refuse(501, Errc::unsupported, "the only supported transfer coding is chunked");
    }
    return Framing{Framing::Kind::chunked, 0};
  }
  if (lengths == 1 && length > 0) return Framing{Framing::Kind::length, length};
  return Framing{};
}

// Some clients offer HTTP/2 over plain text with every first request; they continue without it if it is ignored.
// Clients that ask for any other upgrade cannot continue.
bool wants_other_protocol(const Headers& headers) {
  const auto upgrade = headers.find("Upgrade");
  return upgrade && headers.has_token("Connection", "upgrade") && !equal_ignoring_case(*upgrade, "h2c");
}

Result<bool, Fault> expectation(const Headers& headers, int version) {
  const auto expect = headers.find("Expect");
  if (!expect || version < 11) return false;
  if (!equal_ignoring_case(*expect, "100-continue")) {
    return refuse(417, Errc::unsupported, "the only supported expectation is 100-continue");
  }
  return true;
}

Result<void, Fault> check_host(const Headers& headers, int version) {
  const std::size_t hosts = headers.count("Host");
  if (hosts > 1) return malformed("the request has more than one Host");
  if (hosts == 0 && version >= 11) return malformed("the request has no Host");
  return {};
}

}  // namespace

HeadScanner::Verdict HeadScanner::scan(std::string_view text) {
  for (; position_ < text.size(); ++position_) {
    const auto byte = static_cast<unsigned char>(text[position_]);
    const bool after_cr = position_ > 0 && text[position_ - 1] == '\r';
    if (after_cr != (byte == '\n')) return Verdict::malformed;  // CR and LF must come together
    if (byte == '\n') {
      const bool empty_line = position_ - line_start_ == 1;
      line_start_ = position_ + 1;
      if (first_line_ == 0) first_line_ = line_start_;
      if (!empty_line) continue;
      ++position_;
      return Verdict::complete;
    }
    if (position_ == line_start_ && (byte == ' ' || byte == '\t')) return Verdict::malformed;
    if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7f) return Verdict::malformed;
  }
  return Verdict::incomplete;
}

Result<RequestHead, Fault> parse_request_head(std::string_view head) {
  Collector<true> parser;
  if (const auto failure = parser.parse(head)) return fault_of(failure, head);
  if (!parser.is_header_done()) return malformed("the request header is incomplete");
  FF_TRY_VOID(check_host(parser.headers, parser.version));
  if (parser.method == "CONNECT") return refuse(501, Errc::unsupported, "this server is not a proxy");
  if (wants_other_protocol(parser.headers))
    return refuse(501, Errc::unsupported, "protocol upgrades are not supported");
  const auto framing = request_framing(parser.headers, parser.version, parser.content_length().value_or(0));
  if (!framing) return Unexpected(framing.error());
  const auto expects_continue = expectation(parser.headers, parser.version);
  if (!expects_continue) return Unexpected(expects_continue.error());

  RequestHead result{.framing = *framing, .keep_alive = parser.keep_alive(), .expects_continue = *expects_continue};
  result.request.method = std::move(parser.method);
  result.request.target = std::move(parser.target);
  result.request.minor_version = parser.version - 10;
  result.request.headers = std::move(parser.headers);
  FF_TRY_VOID(decode_target(result.request));
  return result;
}

Result<ResponseHead> parse_response_head(std::string_view head, bool answers_head_request) {
  Collector<false> parser;
  if (const auto failure = parser.parse(head)) {
    return fail(Errc::outcome_unknown, "malformed response: " + failure.message());
  }
  if (!parser.is_header_done()) return fail(Errc::outcome_unknown, "the response header is incomplete");
  if (parser.status < 100) return fail(Errc::outcome_unknown, "the response has a status below 100");
  ResponseHead result{.status = parser.status, .headers = std::move(parser.headers), .keep_alive = parser.keep_alive()};
  const bool bodiless =
      answers_head_request || result.status / 100 == 1 || result.status == 204 || result.status == 304;
  if (bodiless) return result;
  if (parser.chunked()) {
    result.framing.kind = Framing::Kind::chunked;
  } else if (const auto length = parser.content_length()) {
    result.framing = {*length > 0 ? Framing::Kind::length : Framing::Kind::none, *length};
  } else {
    result.framing.kind = Framing::Kind::until_close;
    result.keep_alive = false;
  }
  return result;
}

}  // namespace flowfabric::net
