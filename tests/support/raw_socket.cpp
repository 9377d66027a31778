#include "support/raw_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"

namespace flowfabric::test {
namespace {

constexpr int patience_ms = 60'000;

std::size_t announced_length(std::string_view head) {
  const std::string_view name = "Content-Length: ";
  const std::size_t start = head.find(name);
  return start == std::string_view::npos ? 0 : std::strtoul(head.data() + start + name.size(), nullptr, 10);
}

}  // namespace

RawSocket::RawSocket(std::uint16_t port, int receive_buffer_bytes) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FF_CHECK(socket_ >= 0);
  if (receive_buffer_bytes > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  FF_CHECK(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  if (const int socket = std::exchange(socket_, -1); socket >= 0) ::close(socket);
}

void RawSocket::reset() {
  const linger at_once{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawSocket::finish_sending() { shutdown(socket_, SHUT_WR); }

bool RawSocket::receive() {
  pollfd waiting{socket_, POLLIN, 0};
  FF_CHECK(poll(&waiting, 1, patience_ms) == 1);  // a test that waits longer hangs
  char bytes[65536];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  at_end_ = count <= 0;
  if (!at_end_) input_.append(bytes, static_cast<std::size_t>(count));
  return !at_end_;
}

std::string RawSocket::read_until(std::string_view mark) {
  std::size_t found = 0, seen = 0;  // the part already searched is not searched again: it may be many megabytes
  while ((found = input_.find(mark, seen)) == std::string::npos) {
    seen = input_.size() - std::min(input_.size(), mark.size() - 1);
    if (!receive()) return std::exchange(input_, {});
  }
  std::string text = input_.substr(0, found + mark.size());
  input_.erase(0, found + mark.size());
  return text;
}

std::string RawSocket::read_all() {
  while (receive()) {
  }
  return std::exchange(input_, {});
}

std::string RawSocket::read_response(bool bodiless) {
  std::string text = read_until("\r\n\r\n");
  const std::size_t length = bodiless ? 0 : announced_length(text);
  while (input_.size() < length) {
    if (!receive()) break;
  }
  text += input_.substr(0, length);
  input_.erase(0, length);
  input_.shrink_to_fit();  // keeps no memory that a test would count as the server's
  return text;
}

}  // namespace flowfabric::test
