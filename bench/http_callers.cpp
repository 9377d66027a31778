#include "http_callers.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fmt/core.h>

namespace flowfabric::bench {
namespace {

constexpr std::size_t scratch_bytes = std::size_t{256} * 1024;
constexpr int events_at_once = 256;
constexpr int patience_ms = 90'000;  // longer than a claim may be parked

int connect_to(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (made < 0 || connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up(fmt::format("cannot connect to port {}: {}", port, std::strerror(errno)));
  }
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

std::size_t number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  std::size_t number = 0;
  if (at == std::string_view::npos) return 0;
  std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
  return number;
}

struct Answer {
  int status = 0;
  std::string_view body{};
};

// Nothing while a part of it is missing.
std::optional<Answer> whole_answer(std::string_view input) {
  const std::size_t end = input.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = input.substr(0, end + 2);
  const std::string_view rest = input.substr(end + 4);
  const std::size_t length = number_after(head, "\r\nContent-Length: ");
  if (rest.size() < length) return std::nullopt;
  return Answer{static_cast<int>(number_after(head, "HTTP/1.1 ")), rest.substr(0, length)};
}

}  // namespace

HttpCallers::HttpCallers(std::uint16_t port, int callers)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), callers_(static_cast<std::size_t>(callers)), scratch_(scratch_bytes) {
  for (int i = 0; i < callers; ++i) {
    const int made = connect_to(port);
    callers_[static_cast<std::size_t>(i)].socket = made;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = i;  // the number of the caller: epoll only returns it
    epoll_ctl(epoll_, EPOLL_CTL_ADD, made, &event);
  }
}

HttpCallers::~HttpCallers() {
  for (const Caller& caller : callers_) close(caller.socket);
  close(epoll_);
}

void HttpCallers::ask(int caller, const Next& next) {
  const std::string request = next(caller);
  if (request.empty()) return;
  Caller& self = callers_[static_cast<std::size_t>(caller)];
  self.sent = Clock::now();
  for (std::string_view left = request; !left.empty();) {
    const ssize_t count = send(self.socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (count <= 0) give_up(fmt::format("a request cannot be sent: {}", std::strerror(errno)));
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  ++out_;
}

void HttpCallers::begin(const Next& next) {
  for (int i = 0; i < static_cast<int>(callers_.size()); ++i) ask(i, next);
}

void HttpCallers::finish(const Next& next, const Answered& answered) {
  epoll_event events[events_at_once];
  while (out_ > 0) {
    const int ready = epoll_wait(epoll_, events, events_at_once, patience_ms);
    if (ready == 0) give_up(fmt::format("{} requests are not answered", out_));
    for (int i = 0; i < ready; ++i) receive(events[i].data.fd, next, answered);
  }
}

void HttpCallers::receive(int caller, const Next& next, const Answered& answered) {
  Caller& self = callers_[static_cast<std::size_t>(caller)];
  const ssize_t count = recv(self.socket, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  if (count <= 0) give_up("the server has closed a connection");
  std::string_view input(scratch_.data(), static_cast<std::size_t>(count));
  // Most responses come in one piece and are read in place.
  if (!self.input.empty()) input = self.input.append(input);
  const auto answer = whole_answer(input);
  if (!answer) {
    if (self.input.empty()) self.input = input;
    return;
  }
  --out_;
  answered(caller, answer->status, answer->body, seconds_since(self.sent) * 1000);
  self.input.clear();
  ask(caller, next);
}

}  // namespace flowfabric::bench
