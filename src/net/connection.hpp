// One client connection, from accept to close. Lives on one I/O thread.
//
// It is a state machine over a Channel that never blocks: step() does one thing of the current phase and says whether
// something moved; when nothing can move any more, arm() asks to be told when the socket is ready. There is no buffer
// while it waits between requests.
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
  // A refused connection is told 503 and closed.
  Connection(std::shared_ptr<Loop> loop, Socket socket, bool refused);

  void start();
  void on_deadline();
  void close_if_idle();
  // Ends it now, whatever it does.
  void cut();

  void deliver(Answer answer) override;
  void stream_has_data(std::shared_ptr<PendingStream> stream) override;
  void time_stream(std::shared_ptr<PendingStream> stream, std::chrono::milliseconds patience) override;
  void cut_from_anywhere() override;

 private:
  enum class Phase {
    handshake,  // of TLS
    idle,       // no byte of a request is here
    head,       // a part of a head is here
    body,       // the head was good, its body is coming
    working,    // the handler has it
    sending,    // the answer is on its way
    streaming,  // its head is; more comes from a ResponseStream
    lingering,  // all is said, the client is given time to read it
    closed,
  };

  // The request that is being received.
  struct Incoming {
    RequestHead head;
    BodyReader reader;
    BodyCharge charge;
  };

  // Pumping: all return whether something moved.
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
  bool flush();  // false when the connection is gone
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
  bool readable_ = true;      // a read may bring something
  bool writable_ = true;
  bool read_waits_to_write_ = false;  // TLS may have to write before it can read, and the other way round
  bool write_waits_to_read_ = false;
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
  bool stream_ended_ = false;
  RequestTraits traits_{};
  HeadScanner scanner_;
  std::string remote_address_;
  std::string input_;  // received and not yet taken
  std::unique_ptr<Incoming> incoming_;
  std::weak_ptr<PendingExchange> exchange_;
  std::weak_ptr<PendingStream> stream_;
  std::unique_ptr<Answer> answer_;  // given, but not begun
  DeliveryReport report_;           // of the answer that is on its way
  std::vector<std::string> out_;
  std::size_t out_next_ = 0;                               // in out_
  std::size_t out_offset_ = 0;                             // in out_[out_next_]
  Clock::time_point silence_ends_{};                       // when a client that takes nothing is cut
  Clock::time_point drain_by_ = Clock::time_point::max();  // when the writer of the stream loses its patience
};

}  // namespace flowfabric::net
