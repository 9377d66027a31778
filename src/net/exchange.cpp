#include "net/exchange.hpp"

#include <algorithm>
#include <cstdio>

#include "net/gzip.hpp"

namespace flowfabric::net {
namespace {

void append_chunk(std::string& out, std::string_view bytes) {
  char size[20];
  const int digits = std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  out.append(size, static_cast<std::size_t>(digits));
  out.append(bytes);
  out += "\r\n";
}

}  // namespace

Response fault_response(const ServerOptions& options, const Fault& fault) {
  Response response{.status = fault.status};
  response.body = options.error_body ? options.error_body(fault.status, fault.error) : default_error_body(fault.error);
  if (fault.status == 503) response.headers.add("Retry-After", "1");
  return response;
}

Answer::~Answer() {
  if (stream) stream->close();
}

// ---------------------------------------------------------------- streams

PendingStream::PendingStream(std::shared_ptr<ExchangeHost> host, std::size_t max_buffered_bytes, bool chunked)
    : host_(std::move(host)), max_buffered_bytes_(max_buffered_bytes), chunked_(chunked) {}

PendingStream::~PendingStream() {
  if (state_ == State::open) host_->cut_from_anywhere();
}

void PendingStream::schedule(std::unique_lock<std::mutex>& lock) {
  const bool first = !std::exchange(scheduled_, true);
  lock.unlock();
  if (first) host_->stream_has_data(shared_from_this());
}

bool PendingStream::write(std::string bytes) {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) return false;
  if (bytes.empty()) return true;  // an empty chunk would end the body
  const std::size_t before = pending_.size();
  if (chunked_) {
    append_chunk(pending_, bytes);
  } else {
    pending_ += bytes;
  }
  buffered_ += pending_.size() - before;
  const bool fits = buffered_ <= max_buffered_bytes_;
  if (!fits) {
    state_ = State::overflown;  // on_closed is called by the I/O thread: the caller may hold locks
    pending_ = {};
  }
  schedule(lock);
  return fits;
}

void PendingStream::end() {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) return;
  state_ = State::ended;
  const auto closed = std::exchange(on_closed_, nullptr);  // destroyed after the lock is released
  const auto drained = std::exchange(on_drained_, nullptr);
  if (chunked_) pending_ += "0\r\n\r\n";
  schedule(lock);
}

void PendingStream::on_closed(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::ended) return;
    if (state_ != State::closed) {
      on_closed_ = std::move(callback);
      return;
    }
  }
  callback();
}

void PendingStream::on_drained(std::chrono::milliseconds patience, std::function<void(bool)> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) return;
    if (buffered_ > 0) on_drained_ = std::exchange(callback, nullptr);
  }
  callback ? callback(true) : host_->time_stream(shared_from_this(), patience);
}

void PendingStream::drained(bool in_time) {
  std::function<void(bool)> callback;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::open) callback = std::exchange(on_drained_, nullptr);
  }
  if (callback) callback(in_time);
}

void PendingStream::patience_is_over() { drained(false); }

PendingStream::Data PendingStream::take() {
  const std::lock_guard lock(mutex_);
  scheduled_ = false;
  return {std::exchange(pending_, {}), state_ == State::ended, state_ == State::overflown};
}

void PendingStream::sent(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    buffered_ -= std::min(buffered_, bytes);
    if (buffered_ > 0) return;
  }
  drained(true);
}

void PendingStream::close() {
  std::function<void()> callback;
  std::function<void(bool)> unused;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::ended || state_ == State::closed) return;
    state_ = State::closed;
    pending_ = {};
    callback = std::exchange(on_closed_, nullptr);
    unused = std::exchange(on_drained_, nullptr);
  }
  if (callback) callback();
}

// ---------------------------------------------------------------- exchanges

PendingExchange::PendingExchange(std::shared_ptr<ExchangeHost> host, std::shared_ptr<ServerState> server,
                                 Request request, RequestTraits traits, BodyCharge charge)
    : host_(std::move(host)),
      server_(std::move(server)),
      request_(std::move(request)),
      traits_(traits),
      charge_(std::move(charge)) {}

PendingExchange::~PendingExchange() {
  fail(Fault{500, Error{Errc::internal, "the request was dropped without a response", {}, {}}});
}

bool PendingExchange::claim_answer() {
  std::function<void()> callback;  // may own this exchange, so it is destroyed outside of the lock
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) return false;
  state_ = State::answered;
  callback.swap(on_abandoned_);
  return true;
}

void PendingExchange::compress(Response& response) const {
  const std::size_t smallest = server_->options.gzip_min_bytes;
  if (smallest == 0 || response.body.size() < smallest || !is_compressible(response.content_type)) return;
  if (response.headers.find("Content-Encoding")) return;
  response.headers.add("Vary", "Accept-Encoding");
  if (!traits_.accepts_gzip) return;
  auto compressed = gzip(response.body);
  if (!compressed || compressed->size() >= response.body.size()) return;
  response.body = std::move(*compressed);
  response.headers.add("Content-Encoding", "gzip");
}

bool PendingExchange::respond(Response response) {
  if (!claim_answer()) return false;
  compress(response);
  host_->deliver(Answer(std::move(response)));
  return true;
}

void PendingExchange::respond_and_report(Response response, std::function<void(bool)> report) {
  DeliveryReport owned(std::move(report));
  if (!claim_answer()) return;
  compress(response);
  Answer answer(std::move(response));
  answer.report = std::move(owned);
  host_->deliver(std::move(answer));
}

bool PendingExchange::is_abandoned() {
  const std::lock_guard lock(mutex_);
  return client_left_;
}

bool PendingExchange::fail(const Fault& fault) {
  if (!claim_answer()) return false;
  host_->deliver(Answer(fault_response(server_->options, fault), true));
  return true;
}

std::shared_ptr<ResponseStream> PendingExchange::begin_stream(Response head) {
  if (!claim_answer()) return nullptr;
  const bool chunked = traits_.minor_version >= 1;
  auto stream = std::make_shared<PendingStream>(host_, server_->options.max_stream_buffer_bytes, chunked);
  head.body.clear();
  host_->deliver(Answer(std::move(head), stream));
  return stream;
}

void PendingExchange::on_abandoned(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::answered) return;
    if (state_ == State::open && !client_left_) {
      on_abandoned_ = std::move(callback);
      return;
    }
  }
  callback();
}

void PendingExchange::leave(State state) {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) return;
    state_ = state;
    client_left_ = true;
    callback = std::exchange(on_abandoned_, nullptr);
  }
  if (callback) callback();
}

void PendingExchange::client_left() { leave(State::open); }

void PendingExchange::connection_is_gone() { leave(State::gone); }

}  // namespace flowfabric::net
