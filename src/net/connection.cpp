#include "net/connection.hpp"

#include <netinet/tcp.h>

#include <algorithm>
#include <tuple>

#include "base/log.hpp"
#include "net/gzip.hpp"
#include "net/wire.hpp"

namespace flowfabric::net {
namespace {

// A busy connection lets the others continue after this many steps.
constexpr int steps_per_turn = 32;
// How long a client may take to read the error before its connection is closed.
constexpr std::chrono::milliseconds linger_timeout{1000};
// Below this size, a body is copied behind its header to be sent in one segment; above, the copy costs more than a
// second write.
constexpr std::size_t joined_body_bytes = std::size_t{16} * 1024;
constexpr std::size_t body_reserve_bytes = std::size_t{64} * 1024;

constexpr int keepalive_idle_s = 60;
constexpr int keepalive_interval_s = 15;
constexpr int keepalive_probes = 4;

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);  // best effort: the connection works without it
}

// Parked requests and idle streams send nothing, so only the kernel can detect a client whose machine is gone.
void set_socket_options(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
}

// Frees the memory, which assigning an empty value does not.
template <class T>
void release(T& value) {
  T().swap(value);
}

Fault bad_request(std::string message) { return {400, Error{Errc::invalid_argument, std::move(message), {}, {}}}; }

Fault too_large(std::string message) { return {413, Error{Errc::payload_too_large, std::move(message), {}, {}}}; }

Fault broken_handler() { return {500, Error{Errc::internal, "the request could not be handled", {}, {}}}; }

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, Socket socket, bool refused)
    : loop_(std::move(loop)), socket_(std::move(socket)), refused_(refused) {}

void Connection::start() {
  boost::system::error_code failure;
  const auto peer = socket_.remote_endpoint(failure);
  if (failure) return cut();  // the client disconnected before
  remote_address_ = peer.address().to_string(failure);
  std::ignore = socket_.native_non_blocking(true, failure);
  if (failure) return cut();
  set_socket_options(socket_.native_handle());
  if (const auto tls = loop_->state().tls()) {
    if (!channel_.open_server(socket_.native_handle(), *tls)) return cut();
  } else {
    channel_.open_plain(socket_.native_handle());
  }
  set_timeout(options().handshake_timeout);
  pump();
}

void Connection::set_timeout(std::chrono::milliseconds timeout) { loop_->set_deadline(*this, Clock::now() + timeout); }

// ---------------------------------------------------------------- pumping

void Connection::pump() {
  if (pumping_ || phase_ == Phase::closed) return;
  pumping_ = true;
  bool moved = true;
  for (int left = steps_per_turn; moved && left > 0 && phase_ != Phase::closed; --left) moved = step();
  pumping_ = false;
  if (phase_ == Phase::closed) return;
  if (moved) {
    loop_->post([self = shared_from_this()] { self->pump(); });
  } else {
    arm();
  }
}

bool Connection::step() {
  switch (phase_) {
    case Phase::handshake: return step_handshake();
    case Phase::idle:
    case Phase::head:
    case Phase::body: return step_input();
    case Phase::working: return step_working();
    case Phase::sending: return step_sending();
    case Phase::streaming: return step_streaming();
    case Phase::lingering: return step_lingering();
    case Phase::closed: return false;
  }
  return false;
}

bool Connection::step_handshake() {
  if (!readable_) return false;
  const Channel::Outcome outcome = channel_.handshake();
  if (outcome.must_wait()) {
    readable_ = false;
    read_waits_to_write_ = outcome.status == Channel::Status::want_write;
    return false;
  }
  if (outcome.status != Channel::Status::done) {
    log(LogLevel::debug, "TLS handshake failed", {{"client", remote_address_}, {"reason", channel_.failure()}});
    cut();
    return false;
  }
  if (refused_) {
    refuse({503, Error{Errc::overloaded, "the server has too many connections", {}, {}}});
  } else {
    become_idle();
  }
  return true;
}

// Waits only for what the phase needs: a socket that is always ready for something else would cause a busy loop.
void Connection::arm() {
  const bool reads = phase_ != Phase::sending && !input_ended_ && !readable_;
  const bool writes = output_pending() && !writable_;
  if ((reads && !read_waits_to_write_) || (writes && write_waits_to_read_)) wait_readable();
  if ((writes && !write_waits_to_read_) || (reads && read_waits_to_write_)) wait_writable();
}

void Connection::wait_readable() {
  if (std::exchange(waiting_readable_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const boost::system::error_code& failure) {
    self->waiting_readable_ = false;
    if (failure) return self->cut();
    self->readable_ = true;
    if (self->write_waits_to_read_) self->writable_ = true;
    self->pump();
  });
}

void Connection::wait_writable() {
  if (std::exchange(waiting_writable_, true)) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const boost::system::error_code& failure) {
    self->waiting_writable_ = false;
    if (failure) return self->cut();
    self->writable_ = true;
    if (self->read_waits_to_write_) self->readable_ = true;
    self->pump();
  });
}

// ---------------------------------------------------------------- input

Connection::Received Connection::receive(std::string_view& bytes) {
  if (!readable_ || input_ended_) return Received::nothing;
  // A header is erased from the front of the input, so the bytes after it should be few.
  const std::size_t wanted = phase_ == Phase::body ? loop_->scratch_bytes() : options().max_header_bytes;
  const std::size_t capacity = std::min(wanted, loop_->scratch_bytes());
  const Channel::Outcome outcome = channel_.read(loop_->scratch(), capacity);
  read_waits_to_write_ = outcome.status == Channel::Status::want_write;
  switch (outcome.status) {
    case Channel::Status::done:
      // A plain read that did not fill the buffer took everything; another read would only cost a system call.
      if (!channel_.secure() && outcome.bytes < capacity) readable_ = false;
      loop_->state().received_bytes.fetch_add(outcome.bytes, std::memory_order_relaxed);
      bytes = {loop_->scratch(), outcome.bytes};
      return Received::bytes;
    case Channel::Status::want_read:
    case Channel::Status::want_write: readable_ = false; return Received::nothing;
    case Channel::Status::closed: input_ended_ = true; return Received::end;
    case Channel::Status::failed: break;
  }
  return Received::broken;
}

bool Connection::step_input() {
  if (output_pending() && !flush()) return false;  // 100 Continue
  if (phase_ == Phase::body) {
    std::string_view held = input_;
    if (!held.empty()) {
      const bool over = take_body(held);
      input_.erase(0, input_.size() - held.size());
      if (over) return true;
    }
  } else if (!input_.empty() && parse_head()) {
    return true;
  }
  if (input_ended_) return handle_input_end();
  std::string_view fresh;
  switch (receive(fresh)) {
    case Received::nothing: return false;
    case Received::end: return true;
    case Received::broken: cut(); return false;
    case Received::bytes: break;
  }
  if (phase_ == Phase::body) take_body(fresh);  // directly from the scratch buffer
  input_.append(fresh);
  return true;
}

// The client sends no more, and the request is incomplete.
bool Connection::handle_input_end() {
  if (phase_ == Phase::idle && input_.empty()) {
    channel_.finish_writing();
    cut();
  } else {
    refuse(bad_request("the request is incomplete"));
  }
  return true;
}

// Returns true if the phase has changed.
bool Connection::parse_head() {
  if (phase_ == Phase::idle) {
    // Some clients send a line end after a body that is not part of its length; RFC 9112 recommends ignoring it.
    std::size_t blank = 0;
    while (input_.compare(blank, 2, "\r\n") == 0) blank += 2;
    input_.erase(0, blank);
    if (input_.empty() || input_ == "\r") return false;
    phase_ = Phase::head;
  }
  const std::size_t limit = options().max_header_bytes;
  const bool first_look = scanner_.end() == 0;
  const HeadScanner::Verdict verdict = scanner_.scan(input_);
  if (verdict == HeadScanner::Verdict::malformed) {
    refuse(bad_request("the request is not HTTP"));
    return true;
  }
  if (scanner_.end() > limit) {
    refuse({scanner_.first_line() > limit ? 414 : 431,
            Error{Errc::invalid_argument, "the request header is longer than " + std::to_string(limit), {}, {}}});
    return true;
  }
  if (verdict == HeadScanner::Verdict::incomplete) {
    if (first_look) set_timeout(options().header_timeout);  // for the whole header: single bytes do not extend it
    return false;
  }
  auto head = parse_request_head(std::string_view(input_).substr(0, scanner_.end()));
  input_.erase(0, scanner_.end());
  scanner_ = {};
  if (head) {
    accept_head(std::move(*head));
  } else {
    refuse(head.error());
  }
  return true;
}

std::size_t Connection::body_limit_of(const Request& head) {
  return options().body_limit ? options().body_limit(head) : options().max_body_bytes;
}

void Connection::accept_head(RequestHead head) {
  head.request.remote_address = remote_address_;
  head.request.secure = channel_.secure();
  traits_ = {.is_head = head.request.method == "HEAD",
             .accepts_gzip = accepts_gzip(head.request.headers),
             .keep_alive = head.keep_alive,
             .minor_version = head.request.minor_version};
  std::size_t limit = 0;
  try {
    limit = body_limit_of(head.request);
  } catch (const std::exception& failure) {
    log(LogLevel::error, "body_limit threw an exception",
        {{"target", head.request.target}, {"reason", failure.what()}});
    return refuse(broken_handler());
  }
  BodyReader reader(head.framing, limit);
  if (reader.state() == BodyReader::State::too_large) {
    return refuse(too_large("the body is longer than " + std::to_string(limit)));
  }
  const bool has_body = reader.state() == BodyReader::State::reading;
  const std::size_t announced = static_cast<std::size_t>(head.framing.length);
  const bool invite = head.expects_continue && has_body && input_.empty();
  incoming_ = std::make_unique<Incoming>(Incoming{std::move(head), reader, BodyCharge(loop_->shared_state())});
  if (!has_body) return dispatch();
  phase_ = Phase::body;
  set_timeout(options().body_timeout);
  // Not all at once: a client can announce a large body at no cost.
  incoming_->head.request.body.reserve(std::min(announced, body_reserve_bytes));
  if (invite) send("HTTP/1.1 100 Continue\r\n\r\n");
}

// Returns true if the body is complete or was refused.
bool Connection::take_body(std::string_view& bytes) {
  std::string& body = incoming_->head.request.body;
  const std::size_t before = body.size();
  const BodyReader::State state = incoming_->reader.take(bytes, body);
  if (!incoming_->charge.add(body.size() - before)) {
    refuse({503, Error{Errc::overloaded, "the server has too many request bodies in memory", {}, {}}});
    return true;
  }
  switch (state) {
    case BodyReader::State::reading: return false;
    case BodyReader::State::done: dispatch(); return true;
    case BodyReader::State::malformed: refuse(bad_request("the chunks of the body are malformed")); return true;
    case BodyReader::State::too_large: refuse(too_large("the body is longer than allowed")); return true;
  }
  return false;
}

void Connection::dispatch() {
  const auto incoming = std::move(incoming_);
  phase_ = Phase::working;
  clear_deadline();
  loop_->state().requests.fetch_add(1, std::memory_order_relaxed);
  const auto exchange =
      std::make_shared<PendingExchange>(shared_from_this(), loop_->shared_state(), std::move(incoming->head.request),
                                        traits_, std::move(incoming->charge));
  exchange_ = exchange;
  if (input_ended_) exchange->client_left();
  in_handler_ = true;
  run_handler(exchange);
  in_handler_ = false;
}

void Connection::run_handler(const std::shared_ptr<PendingExchange>& exchange) {
  std::string reason;
  try {
    loop_->state().handler(exchange);
    return;
  } catch (const std::exception& failure) {
    reason = failure.what();
  } catch (...) {
    reason = "not a std::exception";
  }
  log(LogLevel::error, "an HTTP handler threw an exception", {{"path", exchange->request().path}, {"reason", reason}});
  exchange->fail(broken_handler());
}

// While a request is handled, the connection only detects that the client disconnects. Bytes that arrive belong to the
// next request; up to the size of a header is kept, and then nothing is read until it is processed.
bool Connection::read_ahead() {
  if (input_.size() >= options().max_header_bytes) {
    readable_ = true;  // do not wait
    return false;
  }
  std::string_view fresh;
  switch (receive(fresh)) {
    case Received::nothing: return false;
    case Received::bytes: input_.append(fresh); return true;
    case Received::end:
      if (const auto exchange = exchange_.lock()) exchange->client_left();
      return true;
    case Received::broken: cut(); return false;
  }
  return false;
}

bool Connection::step_working() {
  if (!answer_) return read_ahead();
  if (answer_->report.is_wanted() && !client_is_there()) {
    cut();
    return false;
  }
  begin_answer();
  return true;
}

// Looks at the socket itself: that the client has closed may have arrived and not been noticed yet.
bool Connection::client_is_there() {
  readable_ = true;
  while (phase_ == Phase::working && !input_ended_ && read_ahead()) {
  }
  return phase_ == Phase::working && !input_ended_;
}

// ---------------------------------------------------------------- output

void Connection::send(std::string bytes) {
  if (bytes.empty()) return;
  // Sent bytes are removed, also from a stream that always has output.
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_next_));
  out_next_ = 0;
  out_.push_back(std::move(bytes));
}

bool Connection::flush() {
  std::size_t written = 0;
  while (output_pending() && writable_) {
    const std::string& part = out_[out_next_];
    const Channel::Outcome outcome = channel_.write(std::string_view(part).substr(out_offset_));
    write_waits_to_read_ = outcome.status == Channel::Status::want_read;
    if (outcome.must_wait()) {
      writable_ = false;
      if (!linked()) time_output();
    } else if (outcome.status != Channel::Status::done) {
      cut();
      return false;
    }
    written += outcome.bytes;
    out_offset_ += outcome.bytes;
    if (out_offset_ < part.size()) continue;
    release(out_[out_next_++]);
    out_offset_ = 0;
  }
  if (!output_pending()) {
    release(out_);
    out_next_ = 0;
  }
  if (written == 0) return true;
  loop_->state().sent_bytes.fetch_add(written, std::memory_order_relaxed);
  if (const auto stream = stream_.lock()) stream->sent(written);
  if (phase_ == Phase::sending || phase_ == Phase::streaming) time_output();
  return true;
}

// Whichever comes first: the client has received nothing for too long, or the writer has waited for too long.
void Connection::time_output() {
  if (!output_pending()) {
    drain_by_ = Clock::time_point::max();
    return clear_deadline();
  }
  silence_ends_ = Clock::now() + options().write_timeout;
  loop_->set_deadline(*this, std::min(silence_ends_, drain_by_));
}

void Connection::deliver(Answer answer) {
  // A handler that answers at once is followed by step_working(); there is no recursion with any number of pipelined
  // requests.
  if (loop_->on_thread() && in_handler_) {
    answer_ = std::make_unique<Answer>(std::move(answer));
    return;
  }
  loop_->post([self = shared_from_this(), moved = std::make_shared<Answer>(std::move(answer))] {
    if (self->phase_ != Phase::working) return;
    self->answer_ = std::make_unique<Answer>(std::move(*moved));
    self->pump();
  });
}

void Connection::begin_answer() {
  const auto answer = std::move(answer_);
  Response& response = answer->response;
  if (!has_safe_headers(response) || response.status < 200 || response.status > 599) {
    log(LogLevel::error, "a response has an invalid status or header", {{"status", std::to_string(response.status)}});
    return refuse(broken_handler());
  }
  if (answer->is_fault) loop_->state().faults.fetch_add(1, std::memory_order_relaxed);
  const bool bodiless = traits_.is_head || !may_have_body(response.status);
  const bool endless = answer->stream && traits_.minor_version == 0;
  traits_.keep_alive = traits_.keep_alive && !answer->is_fault && !endless && !loop_->state().draining &&
                       !response.headers.has_token("Connection", "close");
  HeadFraming framing{.keep_alive = traits_.keep_alive, .minor_version = traits_.minor_version, .date = loop_->date()};
  if (!may_have_body(response.status)) framing.body = HeadFraming::Body::none;
  if (answer->stream && may_have_body(response.status)) {
    framing.body = endless ? HeadFraming::Body::until_close : HeadFraming::Body::chunked;
  }
  std::string head = response_head(response, framing);
  phase_ = Phase::sending;
  report_ = std::move(answer->report);
  if (answer->stream && !bodiless) {
    phase_ = Phase::streaming;
    stream_ended_ = false;
    stream_ = std::exchange(answer->stream, nullptr);
    send(std::move(head));
  } else if (bodiless) {
    send(std::move(head));
  } else if (response.body.size() <= joined_body_bytes) {
    send(head + response.body);
  } else {
    send(std::move(head));
    send(std::move(response.body));
  }
}

// Answers without the handler and closes the connection: after a fault the start of the next request is unknown.
void Connection::refuse(const Fault& fault) {
  loop_->state().faults.fetch_add(1, std::memory_order_relaxed);
  incoming_.reset();
  input_.clear();
  traits_.keep_alive = false;
  const Response response = fault_response(options(), fault);
  std::string bytes =
      response_head(response, {.keep_alive = false, .minor_version = traits_.minor_version, .date = loop_->date()});
  if (!traits_.is_head) bytes += response.body;
  send(std::move(bytes));
  phase_ = Phase::sending;
  clear_deadline();
}

bool Connection::step_sending() {
  if (!flush()) return false;
  if (output_pending()) return false;
  finish_answer();
  return true;
}

void Connection::finish_answer() {
  report_.tell(true);
  exchange_.reset();
  stream_.reset();
  if (traits_.keep_alive && !loop_->state().draining) {
    become_idle();
  } else {
    begin_linger();
  }
}

void Connection::become_idle() {
  phase_ = Phase::idle;
  traits_ = {};
  scanner_ = {};
  if (input_.empty()) release(input_);
  set_timeout(options().idle_timeout);
}

// Closing with unread input makes the kernel send a reset, which can overtake the response. Therefore: shut down the
// output, and read until the client has closed too, for a limited time.
void Connection::begin_linger() {
  channel_.finish_writing();
  if (input_ended_) return cut();
  phase_ = Phase::lingering;
  release(input_);
  readable_ = true;
  read_waits_to_write_ = false;
  set_timeout(linger_timeout);
}

bool Connection::step_lingering() {
  if (!readable_) return false;
  const Channel::Outcome outcome = channel_.discard(loop_->scratch(), loop_->scratch_bytes());
  if (outcome.status == Channel::Status::done) return true;
  readable_ = false;
  if (!outcome.must_wait()) cut();
  return false;
}

// ---------------------------------------------------------------- streams

void Connection::stream_has_data(std::shared_ptr<PendingStream> stream) {
  loop_->post([self = shared_from_this(), stream = std::move(stream)] { self->accept_stream_data(*stream); });
}

void Connection::accept_stream_data(PendingStream& stream) {
  PendingStream::Data data = stream.take();
  if (phase_ == Phase::working && answer_) begin_answer();  // its turn may not have come yet
  if (phase_ != Phase::streaming) return;
  if (data.overflown) return cut();
  send(std::move(data.bytes));
  stream_ended_ = data.ended;
  pump();
}

void Connection::time_stream(std::shared_ptr<PendingStream> stream, std::chrono::milliseconds patience) {
  loop_->post([self = shared_from_this(), stream = std::move(stream), patience] {
    if (self->phase_ != Phase::streaming || !self->output_pending()) return;  // it has drained in the meantime
    self->drain_by_ = Clock::now() + patience;
    self->loop_->set_deadline(*self, std::min(self->silence_ends_, self->drain_by_));
  });
}

// False if no writer has timed out.
bool Connection::tell_impatient_writer() {
  if (Clock::now() < drain_by_ || Clock::now() >= silence_ends_) return false;
  drain_by_ = Clock::time_point::max();
  loop_->set_deadline(*this, silence_ends_);
  if (const auto stream = stream_.lock()) stream->patience_is_over();
  return true;
}

// For a stream, a client that shuts down its output counts as disconnected: most of them have closed, and otherwise
// only the next event would show it.
bool Connection::step_streaming() {
  if (!flush()) return false;
  if (stream_ended_ && !output_pending()) {
    finish_answer();
    return true;
  }
  const bool moved = phase_ == Phase::streaming && read_ahead();
  if (input_ended_ && phase_ == Phase::streaming) cut();
  return moved;
}

// ---------------------------------------------------------------- endings

void Connection::on_deadline() {
  const auto self = shared_from_this();
  switch (phase_) {
    case Phase::head:
    case Phase::body:
      refuse({408, Error{Errc::timed_out, "the request did not arrive within the time limit", {}, {}}});
      return pump();
    case Phase::idle: channel_.finish_writing(); return cut();
    case Phase::streaming:
      if (!tell_impatient_writer()) cut();
      return;
    case Phase::handshake:
    case Phase::sending:
    case Phase::lingering: return cut();
    case Phase::working:
    case Phase::closed: return;
  }
}

void Connection::close_if_idle() {
  if (phase_ != Phase::idle && phase_ != Phase::handshake) return;
  channel_.finish_writing();
  cut();
}

void Connection::cut_from_anywhere() {
  loop_->post([self = shared_from_this()] { self->cut(); });
}

void Connection::cut() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();  // the loop's reference may be the last one
  const DeliveryReport undelivered = std::move(report_);
  phase_ = Phase::closed;
  clear_deadline();
  boost::system::error_code ignored;
  std::ignore = socket_.close(ignored);
  release(out_);
  release(input_);
  incoming_.reset();
  answer_.reset();
  loop_->forget(self);
  if (const auto stream = stream_.lock()) stream->close();
  if (const auto exchange = exchange_.lock()) exchange->connection_is_gone();
}

}  // namespace flowfabric::net
