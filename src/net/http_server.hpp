// An HTTP/1.1 server, plain or with TLS. It handles requests and responses without interpreting them.
//
// A connection belongs to one I/O thread. The handler is called there and must not block; a handler that has to wait
// keeps the Exchange and answers later, from any thread. Requests of one connection are handled one after the other, so
// pipelined requests are answered in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <flowfabric/result.hpp>

#include "net/http.hpp"

namespace flowfabric::net {

// A response whose body is written in parts, for example server-sent events. All functions from any thread. A stream
// that is dropped without end() closes its connection, so that the client can distinguish an incomplete response from a
// complete one.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  // False if the stream is over: ended, client disconnected, or the client reads so slowly that more than
  // max_stream_buffer_bytes are waiting; then the connection is closed.
  virtual bool write(std::string bytes) = 0;
  virtual void end() = 0;
  // Called once, on an I/O thread, when the client disconnects before end(); at once if it already has.
  virtual void on_closed(std::function<void()> callback) = 0;
  // For writers that adapt to the speed of the client: called once, on an I/O thread, when everything written has been
  // sent (true) or `patience` has passed (false). Never after end() or when the client is gone. One at a time.
  virtual void on_drained(std::chrono::milliseconds patience, std::function<void(bool in_time)> callback) = 0;
};

// One request and the means to answer it, once. Dropping it unanswered answers 500. May outlive the server. All
// functions from any thread, but request() belongs to one thread at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // The handler may move parts out of it, for example the body.
  virtual Request& request() = 0;
  // False if it is already answered or the connection is closed. May compress, on the calling thread.
  virtual bool respond(Response response) = 0;
  // The same for an answer that must not get lost silently. `report` is called once, from any thread: with true when all
  // of the answer was handed to the connection of a client that was still there, else with false. A client that has
  // closed its side of the connection counts as gone.
  virtual void respond_and_report(Response response, std::function<void(bool delivered)> report) = 0;
  // Whether the client has gone already, as far as one can tell. See on_abandoned.
  virtual bool is_abandoned() = 0;
  // Sends status and headers at once; the body of `head` is not used. Null if respond() would return false.
  virtual std::shared_ptr<ResponseStream> begin_stream(Response head) = 0;
  // Called at most once, on an I/O thread, when the client disconnects before the response; at once if it already has.
  // A client that only shuts down its output looks the same. It still gets the response, so respond() is always
  // allowed.
  virtual void on_abandoned(std::function<void()> callback) = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any free port
  std::size_t threads = 1;
  std::size_t max_connections = 10000;  // further connections are answered 503

  std::size_t max_header_bytes = std::size_t{16} * 1024;
  std::size_t max_body_bytes = std::size_t{8} * 1024 * 1024;
  // If set, called instead of using max_body_bytes, with a request that has no body yet. On an I/O thread.
  std::function<std::size_t(const Request& head)> body_limit{};
  std::size_t max_total_body_bytes =
      std::size_t{256} * 1024 * 1024;  // of all requests that are being received or not yet answered
  std::size_t max_stream_buffer_bytes = std::size_t{1024} * 1024;

  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds header_timeout{10'000};  // from the first byte of a request to the end of its header
  std::chrono::milliseconds body_timeout{60'000};    // from there to the end of its body
  std::chrono::milliseconds idle_timeout{75'000};    // between requests
  std::chrono::milliseconds write_timeout{30'000};   // while the client receives nothing

  // Both or none. PEM.
  std::string certificate_file{};
  std::string private_key_file{};

  std::size_t gzip_min_bytes = 1400;  // smaller responses are not compressed; 0: none is
  // The JSON body of an error response of this module. Must not throw. Unset: default_error_body.
  std::function<std::string(int status, const Error& error)> error_body{};
};

struct ServerStatistics {
  std::uint64_t open_connections = 0;
  std::uint64_t accepted_connections = 0;
  std::uint64_t refused_connections = 0;  // over max_connections
  std::uint64_t requests = 0;             // passed to the handler
  std::uint64_t faults = 0;               // answered by this module
  std::uint64_t received_bytes = 0;       // of HTTP, without TLS
  std::uint64_t sent_bytes = 0;
};

// All functions from any thread, except that drain(), stop() and the destructor wait for the I/O threads and must not
// be called by the handler.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  const std::string& address() const;
  // Reloads the certificate. New connections use it; if it is invalid, the old one stays in use.
  Result<void> reload_tls();
  // Stops accepting, closes idle connections, lets running exchanges finish, then closes the others and stops.
  void drain(std::chrono::milliseconds patience);
  void stop();
  ServerStatistics statistics() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace flowfabric::net
