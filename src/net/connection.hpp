// One client connection, from accept to close. Stays on one I/O thread.
//
// A state machine over a Channel that never blocks: step() does one step of the current phase and returns whether
// anything changed; when nothing more can be done, arm() waits until the socket is ready. It has no buffer while it
// waits between requests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/body_reader.hpp"
#include "net/channel.hpp"
#include "net/exchange.hpp"
#include "net/head_parser.hpp"
#include "net/loop.hpp"

namespace flowfabric::net {

class Connection final : public ExchangeHost, public Deadline, public std::enable_shared_from_this<Connection> {
 public:
  // A refused connection is answered 503 and closed.
  Connection(std::shared_ptr<Loop> loop, Socket socket, bool refused);

  void start();
  void on_deadline();
  void close_if_idle();
  // Closes it now, in any phase.
  void cut();

  void deliver(Answer answer) override;
  void stream_has_data(std::shared_ptr<PendingStream> stream) override;
  void time_stream(std::shared_ptr<PendingStream> stream, std::chrono::milliseconds patience) override;
  void cut_from_anywhere() override;

 private:
  enum class Phase {
    handshake,  // of TLS
    idle,       // no byte of a request has arrived
    head,       // a part of a header has arrived
    body,       // the header is valid, the body is arriving
    working,    // the handler has the request
    sending,    // the response is being sent
    streaming,  // the header was sent; the body comes from a ResponseStream
    lingering,  // everything is sent, the client has time to read it
    closed,
  };

  // The request that is being received.
  struct Incoming {
    RequestHead head;
    BodyReader reader;
    BodyCharge charge;
  };

  // Steps: all return whether anything changed.
  void pump();
  bool step();
  bool step_handshake();
  bool step_input();
  bool step_working();
  bool step_sending();
  bool step_streaming();
  bool step_lingering();
  void arm();
  void wait_readable();
  void wait_writable();

  // Input.
  enum class Received { bytes, nothing, end, broken };
  Received receive(std::string_view& bytes);
  bool read_ahead();
  bool client_is_there();
  bool handle_input_end();
  bool parse_head();
  void accept_head(RequestHead head);
  std::size_t body_limit_of(const Request& head);
  bool take_body(std::string_view& bytes);
  void dispatch();
  void run_handler(const std::shared_ptr<PendingExchange>& exchange);

  // Output.
  void send(std::string bytes);
  bool flush();  // false if the connection is closed
  void time_output();
  bool output_pending() const { return out_next_ < out_.size(); }
  void begin_answer();
  void refuse(const Fault& fault);
  void finish_answer();
  void become_idle();
  void begin_linger();
  void accept_stream_data(PendingStream& stream);
  bool tell_impatient_writer();

  void set_timeout(std::chrono::milliseconds timeout);
  void clear_deadline() { DeadlineWheel::clear(*this); }
  const ServerOptions& options() const { return loop_->state().options; }

  const std::shared_ptr<Loop> loop_;
  Socket socket_;
  Channel channel_;
  Phase phase_ = Phase::handshake;
  const bool refused_;
  bool pumping_ = false;
  bool in_handler_ = false;
  bool input_ended_ = false;  // the client sends no more
  bool readable_ = true;      // a read may return bytes
  bool writable_ = true;
  bool read_waits_to_write_ = false;  // TLS may have to write before it can read, and vice versa
  bool write_waits_to_read_ = false;
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
  bool stream_ended_ = false;
  RequestTraits traits_{};
  HeadScanner scanner_;
  std::string remote_address_;
  std::string input_;  // received and not yet processed
  std::unique_ptr<Incoming> incoming_;
  std::weak_ptr<PendingExchange> exchange_;
  std::weak_ptr<PendingStream> stream_;
  std::unique_ptr<Answer> answer_;  // given, but not yet sent
  DeliveryReport report_;           // of the answer that is on its way
  std::vector<std::string> out_;
  std::size_t out_next_ = 0;                               // in out_
  std::size_t out_offset_ = 0;                             // in out_[out_next_]
  Clock::time_point silence_ends_{};                       // when a client that receives nothing is disconnected
  Clock::time_point drain_by_ = Clock::time_point::max();  // when the writer of the stream times out
};

}  // namespace flowfabric::net
