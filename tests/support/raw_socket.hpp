// A plain TCP client on loopback that sends exactly the given bytes, for tests of malformed requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flowfabric::test {

class RawSocket {
 public:
  // Connects to 127.0.0.1. Aborts if it cannot. A small receive buffer makes a slow reader.
  explicit RawSocket(std::uint16_t port, int receive_buffer_bytes = 0);
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // False if the other side is gone.
  bool send(std::string_view bytes);
  void finish_sending();  // half-closes
  void close();
  void reset();  // closes so that the other side sees an error
  // Reads until `mark` is found or the other side closes. Gives up after a minute.
  std::string read_until(std::string_view mark);
  // Reads until the other side closes.
  std::string read_all();
  // One response with a Content-Length, header and body. `bodiless` for the response to HEAD.
  std::string read_response(bool bodiless = false);
  // True if the last read ended because the other side has closed.
  bool at_end() const { return at_end_; }

 private:
  bool receive();

  int socket_ = -1;
  bool at_end_ = false;
  std::string input_;
};

}  // namespace flowfabric::test
