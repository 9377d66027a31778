// The server's side of Exchange and ResponseStream: connects responses from any thread with a connection on its I/O
// thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/http_server.hpp"
#include "net/server_state.hpp"

namespace flowfabric::net {

class PendingStream;

// Says once whether an answer was delivered. One that is dropped, wherever its answer gets stuck, says that it was not.
class DeliveryReport {
 public:
  DeliveryReport() = default;
  explicit DeliveryReport(std::function<void(bool)> report) : report_(std::move(report)) {}
  DeliveryReport(DeliveryReport&& other) noexcept : report_(std::exchange(other.report_, nullptr)) {}
  DeliveryReport& operator=(DeliveryReport&& other) noexcept {
    tell(false);
    report_ = std::exchange(other.report_, nullptr);
    return *this;
  }
  ~DeliveryReport() { tell(false); }

  bool is_wanted() const { return report_ != nullptr; }
  void tell(bool delivered) {
    if (const auto report = std::exchange(report_, nullptr)) report(delivered);
  }

 private:
  std::function<void(bool)> report_;
};

// The response to a request: a whole one, or the header of one whose body comes through `stream`. A stream that no
// connection has started to send is closed with its answer; otherwise its writer would never learn that the client is
// gone.
class Answer {
 public:
  explicit Answer(Response whole, bool fault = false) : response(std::move(whole)), is_fault(fault) {}
  Answer(Response head, std::shared_ptr<PendingStream> body) : response(std::move(head)), stream(std::move(body)) {}
  Answer(Answer&&) = default;
  Answer& operator=(Answer&&) = delete;
  ~Answer();

  Response response;
  std::shared_ptr<PendingStream> stream{};
  bool is_fault = false;  // closes the connection
  DeliveryReport report{};
};

// The connection as exchanges see it. Functions from any thread; they do nothing if the connection is closed.
class ExchangeHost {
 public:
  virtual ~ExchangeHost() = default;
  virtual void deliver(Answer answer) = 0;
  // Requests a call of take() of the stream on the I/O thread.
  virtual void stream_has_data(std::shared_ptr<PendingStream> stream) = 0;
  // Requests a call of drained(false) of the stream on the I/O thread after that time.
  virtual void time_stream(std::shared_ptr<PendingStream> stream, std::chrono::milliseconds patience) = 0;
  virtual void cut_from_anywhere() = 0;
};

// The properties of a request that the response depends on, after the handler has moved parts out of it.
struct RequestTraits {
  bool is_head = false;
  bool accepts_gzip = false;
  bool keep_alive = false;
  int minor_version = 1;
};

class PendingStream final : public ResponseStream, public std::enable_shared_from_this<PendingStream> {
 public:
  PendingStream(std::shared_ptr<ExchangeHost> host, std::size_t max_buffered_bytes, bool chunked);
  ~PendingStream() override;

  bool write(std::string bytes) override;
  void end() override;
  void on_closed(std::function<void()> callback) override;
  void on_drained(std::chrono::milliseconds patience, std::function<void(bool)> callback) override;

  // For the connection, on its thread.
  struct Data {
    std::string bytes{};
    bool ended = false;
    bool overflown = false;  // the connection must be closed
  };
  Data take();
  void sent(std::size_t bytes);
  void patience_is_over();
  void close();

 private:
  enum class State { open, ended, overflown, closed };

  void schedule(std::unique_lock<std::mutex>& lock);
  void drained(bool in_time);

  const std::shared_ptr<ExchangeHost> host_;
  const std::size_t max_buffered_bytes_;
  const bool chunked_;
  std::mutex mutex_;
  State state_ = State::open;
  bool scheduled_ = false;
  std::string pending_;
  std::size_t buffered_ = 0;  // here and in the connection
  std::function<void()> on_closed_;
  std::function<void(bool)> on_drained_;
};

class PendingExchange final : public Exchange {
 public:
  PendingExchange(std::shared_ptr<ExchangeHost> host, std::shared_ptr<ServerState> server, Request request,
                  RequestTraits traits, BodyCharge charge);
  ~PendingExchange() override;

  Request& request() override { return request_; }
  bool respond(Response response) override;
  void respond_and_report(Response response, std::function<void(bool)> report) override;
  bool is_abandoned() override;
  std::shared_ptr<ResponseStream> begin_stream(Response head) override;
  void on_abandoned(std::function<void()> callback) override;

  // For the connection, on its thread.
  bool fail(const Fault& fault);  // false if it is already answered
  void client_left();             // it may still read a response
  void connection_is_gone();      // it cannot

 private:
  enum class State { open, answered, gone };

  bool claim_answer();
  void leave(State state);
  void compress(Response& response) const;

  const std::shared_ptr<ExchangeHost> host_;
  const std::shared_ptr<ServerState> server_;
  Request request_;
  const RequestTraits traits_;
  BodyCharge charge_;
  std::mutex mutex_;
  State state_ = State::open;
  bool client_left_ = false;
  std::function<void()> on_abandoned_;
};

// The response to a fault, with the body that the options define.
Response fault_response(const ServerOptions& options, const Fault& fault);

}  // namespace flowfabric::net
