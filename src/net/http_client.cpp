#include "net/http_client.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "net/body_reader.hpp"
#include "net/channel.hpp"
#include "net/deadline_wheel.hpp"
#include "net/head_parser.hpp"

namespace flowfabric::net {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} * 1024;
constexpr std::size_t max_head_bytes = std::size_t{64} * 1024;

struct Place {
  bool secure = false;
  std::string host{};
  std::string port{};
  std::string authority{};  // host and port as in the URL
};

Unexpected<Error> bad_url(const std::string& url) {
  return fail(Errc::invalid_argument, "\"" + url + "\" is not of the form http://host:port or https://host:port",
              "url");
}

Result<Place> parse_url(const std::string& url) {
  Place place;
  std::string_view rest = url;
  if (rest.rfind("http://", 0) == 0) {
    rest.remove_prefix(7);
  } else if (rest.rfind("https://", 0) == 0) {
    rest.remove_prefix(8);
    place.secure = true;
  } else {
    return bad_url(url);
  }
  if (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  place.authority = std::string(rest);
  place.port = place.secure ? "443" : "80";
  const std::size_t host_end = rest.rfind('[', 0) == 0 ? rest.find(']') : 0;
  if (host_end == std::string_view::npos) return bad_url(url);
  if (const std::size_t colon = rest.find(':', host_end); colon != std::string_view::npos) {
    place.port = std::string(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  }
  if (host_end > 0) rest = rest.substr(1, host_end - 1);
  place.host = std::string(rest);
  const bool digits = std::all_of(place.port.begin(), place.port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (place.host.empty() || place.port.empty() || !digits || !is_safe_field("Host", place.authority) ||
      place.authority.find_first_of("/?# @") != std::string::npos) {
    return bad_url(url);
  }
  return place;
}

Result<std::string> encode(const ClientRequest& request, const std::string& authority) {
  const bool good_target = !request.target.empty() && std::all_of(request.target.begin(), request.target.end(),
                                                                  [](char c) { return c > 0x20 && c < 0x7f; });
  if (!good_target) return fail(Errc::invalid_argument, "the request target cannot be sent", "target");
  if (!is_safe_field(request.method, "")) return fail(Errc::invalid_argument, "not an HTTP method", "method");
  std::string out = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (!request.headers.find("Host")) out += "Host: " + authority + "\r\n";
  for (const auto& [name, value] : request.headers) {
    if (!is_safe_field(name, value)) return fail(Errc::invalid_argument, "a header cannot be sent", "headers");
    out.append(name).append(": ").append(value).append("\r\n");
  }
  const bool usually_has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (!request.body.empty() || usually_has_body) {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  out += "\r\n";
  return out + request.body;
}

bool may_be_repeated(const std::string& method) {
  static constexpr std::array<std::string_view, 5> methods = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

// The time limit of a wait. A client that can be stopped checks from time to time.
class Patience {
 public:
  Patience(Clock::time_point until, std::stop_token stop) : until_(until), stop_(std::move(stop)) {}

  // False if the time ends before the socket is ready.
  bool wait_for(int socket, short events) const {
    pollfd waiting{socket, events, 0};
    while (true) {
      const int ready = poll(&waiting, 1, milliseconds_to_wait());
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
      if (stop_.stop_requested() || Clock::now() >= until_) return false;
    }
  }

 private:
  int milliseconds_to_wait() const {
    constexpr std::int64_t look_up_ms = 50;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, stop_.stop_possible() ? look_up_ms : 1'000'000'000));
  }

  Clock::time_point until_;
  std::stop_token stop_;
};

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

// Connects to one of the host's addresses; the socket is non-blocking. `reason` has the errno if none answers.
FileDescriptor connect_to(const addrinfo& address, const Patience& patience, int& reason) {
  FileDescriptor socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  reason = errno;
  if (socket.get() < 0) return socket;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    reason = errno;
    if (reason != EINPROGRESS) return FileDescriptor();
    reason = ETIMEDOUT;
    if (!patience.wait_for(socket.get(), POLLOUT)) return FileDescriptor();
    socklen_t size = sizeof reason;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &size);
    if (reason != 0) return FileDescriptor();
  }
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

class HttpClient::Impl {
 public:
  Impl(ClientOptions options, Place place, std::shared_ptr<const TlsContext> tls)
      : options_(std::move(options)), place_(std::move(place)), tls_(std::move(tls)), scratch_(read_bytes) {}

  Result<Response> run(const ClientRequest& request, const OnData* on_data);
  void disconnect() {
    channel_.reset();
    socket_ = FileDescriptor();
    input_.clear();
  }
  bool connected() const { return channel_ != nullptr; }

 private:
  struct Reading {
    const ClientRequest& request;
    const OnData* on_data;  // null: the body is collected
    Patience patience;
  };

  Patience patience_for(std::chrono::milliseconds time) const { return {Clock::now() + time, options_.stop}; }
  Result<void> connect();
  Result<void> shake_hands(const Patience& patience);
  bool is_stale();
  Result<Response> attempt(const ClientRequest& request, const std::string& bytes, const OnData* on_data);
  Result<void> send(std::string_view bytes, const Patience& patience);
  Result<bool> receive(const Patience& patience);  // false: the server will send no more
  Result<ResponseHead> read_head(const Reading& reading);
  Result<void> read_body(Reading& reading, const ResponseHead& head, Response& response);
  Result<bool> hand_out(const Reading& reading, std::string& body);

  ClientOptions options_;
  Place place_;
  std::shared_ptr<const TlsContext> tls_;
  FileDescriptor socket_;
  std::unique_ptr<Channel> channel_;
  std::vector<char> scratch_;
  std::string input_;   // received and not yet taken
  bool heard_ = false;  // a part of the current response
};

Result<void> HttpClient::Impl::connect() {
  const Patience patience = patience_for(options_.connect_timeout);
  const std::string where = place_.host + " port " + place_.port;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int failure = getaddrinfo(place_.host.c_str(), place_.port.c_str(), &hints, &list); failure != 0) {
    return fail(Errc::unavailable, "cannot resolve " + where + ": " + gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  int reason = 0;
  for (const addrinfo* address = list; address != nullptr && socket_.get() < 0; address = address->ai_next) {
    socket_ = connect_to(*address, patience, reason);
  }
  if (socket_.get() < 0) {
    return fail(Errc::unavailable, "cannot connect to " + where + ": " + std::generic_category().message(reason));
  }
  channel_ = std::make_unique<Channel>();
  if (!tls_) {
    channel_->open_plain(socket_.get());
    return {};
  }
  if (!channel_->open_client(socket_.get(), *tls_, place_.host, options_.verify)) {
    return fail(Errc::internal, "cannot set up TLS: " + tls_failure());
  }
  return shake_hands(patience);
}

Result<void> HttpClient::Impl::shake_hands(const Patience& patience) {
  while (true) {
    const Channel::Outcome outcome = channel_->handshake();
    if (outcome.status == Channel::Status::done) return {};
    const std::string where = place_.host + " port " + place_.port;
    if (!outcome.must_wait()) {
      return fail(Errc::unavailable, "cannot establish a TLS connection with " + where + ": " + channel_->failure());
    }
    const short events = outcome.status == Channel::Status::want_read ? POLLIN : POLLOUT;
    if (!patience.wait_for(socket_.get(), events)) {
      return fail(Errc::unavailable, "cannot establish a TLS connection with " + where + " within the time limit");
    }
  }
}

// A kept connection with unread bytes is useless: the server has closed it, or sent an unrequested response.
bool HttpClient::Impl::is_stale() {
  if (!input_.empty()) return true;
  char scratch[1];
  const Channel::Outcome outcome = channel_->read(scratch, sizeof scratch);
  return !outcome.must_wait();
}

Result<Response> HttpClient::Impl::run(const ClientRequest& request, const OnData* on_data) {
  FF_TRY(bytes, encode(request, place_.authority));
  if (connected() && is_stale()) disconnect();
  const bool kept = connected();
  auto response = attempt(request, bytes, on_data);
  // The server may have closed the kept connection just before it was used.
  const bool again =
      !response && kept && !heard_ && may_be_repeated(request.method) && response.error().code == Errc::outcome_unknown;
  return again ? attempt(request, bytes, on_data) : response;
}

Result<Response> HttpClient::Impl::attempt(const ClientRequest& request, const std::string& bytes,
                                           const OnData* on_data) {
  heard_ = false;
  const auto run = [&]() -> Result<Response> {
    if (!connected()) FF_TRY_VOID(connect());
    Reading reading{request, on_data, patience_for(request.timeout)};
    // A server that refuses a large body answers before it has read it and then closes the connection. Its response is
    // more useful than the error that not everything could be sent.
    const auto sent = send(bytes, reading.patience);
    if (!sent && sent.error().code == Errc::timed_out) return Unexpected(sent.error());
    auto head = read_head(reading);
    if (!head) return Unexpected(sent ? head.error() : sent.error());
    Response response{.status = head->status, .headers = head->headers};
    response.content_type = std::string(head->headers.find("Content-Type").value_or(""));
    FF_TRY_VOID(read_body(reading, *head, response));
    if (!sent || !head->keep_alive) disconnect();
    return response;
  };
  auto response = run();
  if (!response) disconnect();
  return response;
}

Result<void> HttpClient::Impl::send(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    const Channel::Outcome outcome = channel_->write(bytes);
    if (outcome.status == Channel::Status::done) {
      bytes.remove_prefix(outcome.bytes);
    } else if (!outcome.must_wait()) {
      return fail(Errc::outcome_unknown, "the connection was lost while the request was sent: " + channel_->failure());
    } else if (!patience.wait_for(socket_.get(), outcome.status == Channel::Status::want_read ? POLLIN : POLLOUT)) {
      return fail(Errc::timed_out, "the request could not be sent within the time limit");
    }
  }
  return {};
}

Result<bool> HttpClient::Impl::receive(const Patience& patience) {
  while (true) {
    const Channel::Outcome outcome = channel_->read(scratch_.data(), scratch_.size());
    switch (outcome.status) {
      case Channel::Status::done:
        heard_ = true;
        input_.append(scratch_.data(), outcome.bytes);
        return true;
      case Channel::Status::closed: return false;
      case Channel::Status::failed:
        return fail(Errc::outcome_unknown, "the connection was lost: " + channel_->failure());
      case Channel::Status::want_read:
      case Channel::Status::want_write: break;
    }
    const short events = outcome.status == Channel::Status::want_read ? POLLIN : POLLOUT;
    if (!patience.wait_for(socket_.get(), events)) return fail(Errc::timed_out, "no response within the time limit");
  }
}

Result<ResponseHead> HttpClient::Impl::read_head(const Reading& reading) {
  HeadScanner scanner;
  while (true) {
    const HeadScanner::Verdict verdict = scanner.scan(input_);
    if (verdict == HeadScanner::Verdict::malformed || scanner.end() > max_head_bytes) {
      return fail(Errc::outcome_unknown, "the response is not HTTP");
    }
    if (verdict == HeadScanner::Verdict::incomplete) {
      FF_TRY(more, receive(reading.patience));
      if (!more) return fail(Errc::outcome_unknown, "the server closed the connection without a response");
      continue;
    }
    auto head =
        parse_response_head(std::string_view(input_).substr(0, scanner.end()), reading.request.method == "HEAD");
    input_.erase(0, scanner.end());
    scanner = {};
    if (head && head->status / 100 == 1) continue;  // 100 Continue: the response follows
    return head;
  }
}

// Returns false if the caller wants no more.
Result<bool> HttpClient::Impl::hand_out(const Reading& reading, std::string& body) {
  if (reading.on_data == nullptr || body.empty()) return true;
  const bool go_on = (*reading.on_data)(body);
  body.clear();
  return go_on;
}

Result<void> HttpClient::Impl::read_body(Reading& reading, const ResponseHead& head, Response& response) {
  const std::uint64_t limit = reading.on_data != nullptr ? UINT64_MAX : options_.max_response_bytes;
  BodyReader reader(head.framing, limit);
  while (true) {
    std::string_view bytes = input_;
    BodyReader::State state = reader.take(bytes, response.body);
    input_.erase(0, input_.size() - bytes.size());
    FF_TRY(go_on, hand_out(reading, response.body));
    if (!go_on) {
      disconnect();
      return {};
    }
    if (state == BodyReader::State::reading) {
      if (reading.on_data != nullptr) reading.patience = patience_for(reading.request.timeout);
      FF_TRY(more, receive(reading.patience));
      if (more) continue;
      state = reader.finish();
    }
    if (state == BodyReader::State::done) return {};
    if (state == BodyReader::State::too_large) {
      return fail(Errc::payload_too_large, "the response is longer than " + std::to_string(limit));
    }
    return fail(Errc::outcome_unknown, "the response is incomplete");
  }
}

Result<HttpClient> HttpClient::create(ClientOptions options) {
  FF_TRY(place, parse_url(options.url));
  std::shared_ptr<const TlsContext> tls;
  if (place.secure) {
    FF_TRY(context, TlsContext::for_client(options.ca_file, options.verify));
    tls = std::move(context);
  }
  return HttpClient(std::make_unique<Impl>(std::move(options), std::move(place), std::move(tls)));
}

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<Response> HttpClient::request(const ClientRequest& request) { return impl_->run(request, nullptr); }
Result<Response> HttpClient::stream(const ClientRequest& request, const OnData& on_data) {
  return impl_->run(request, &on_data);
}
void HttpClient::disconnect() { impl_->disconnect(); }
bool HttpClient::connected() const { return impl_->connected(); }

}  // namespace flowfabric::net
