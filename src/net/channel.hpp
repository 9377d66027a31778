// Bytes over a connected non-blocking socket, plain or with TLS: one code path for both.
//
// Every call does what is possible now and returns what to wait for, so the caller waits for readiness and needs no
// buffer while waiting. TLS works directly on the socket (asio::ssl::stream keeps about 70 kB of buffers per
// connection, idle or not). Does not own the socket. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls.hpp"

namespace flowfabric::net {

class Channel {
 public:
  enum class Status { done, want_read, want_write, closed, failed };
  struct Outcome {
    Status status = Status::failed;
    std::size_t bytes = 0;  // with done: at least one

    bool must_wait() const { return status == Status::want_read || status == Status::want_write; }
  };

  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void open_plain(int socket);
  // False if OpenSSL has no memory.
  bool open_server(int socket, const TlsContext& context);
  // `host` is the name or address that the certificate must have; empty: no check.
  bool open_client(int socket, const TlsContext& context, const std::string& host, bool verify);

  bool secure() const { return tls_ != nullptr; }
  Outcome handshake();  // done at once without TLS
  Outcome read(char* into, std::size_t capacity);
  Outcome write(std::string_view bytes);
  // Reads arriving bytes and discards them, without decryption.
  Outcome discard(char* scratch, std::size_t capacity);
  // Signals the end of the output. Best effort.
  void finish_writing();
  // Why the last call failed.
  std::string failure() const;

 private:
  struct Tls;

  bool open_tls(int socket, const TlsContext& context);
  Outcome outcome_of(int result);

  int socket_ = -1;
  int last_errno_ = 0;
  std::unique_ptr<Tls> tls_;
};

}  // namespace flowfabric::net
