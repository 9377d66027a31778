#include "api/event_stream.hpp"

#include "wire/shapes.hpp"
#include "wire/writer.hpp"

namespace flowfabric::api {
namespace {

constexpr std::uint32_t events_at_once = 100;
constexpr std::string_view opening = "retry: 1000\n\n";  // milliseconds until a disconnected client reconnects

void append(std::string& out, std::string_view id, std::string_view event, std::string_view data) {
  out.append("id: ").append(id).append("\nevent: ").append(event).append("\ndata: ").append(data).append("\n\n");
}

// One of the limited number of streams of the server, released once.
class Place {
 public:
  explicit Place(std::shared_ptr<EventStreams> streams) : streams_(std::move(streams)) {}
  ~Place() { give_back(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void give_back() {
    if (!given_back_.exchange(true)) streams_->leave();
  }
  const StreamSettings& settings() const { return streams_->settings(); }

 private:
  const std::shared_ptr<EventStreams> streams_;
  std::atomic<bool> given_back_{false};
};

// Exists while a read of the engine or an unsent page refers to it.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(Call& call, EventFilter filter, std::string cursor, std::shared_ptr<EventStreams> streams)
      : home_(call.home()),
        credentials_(credentials_of(call.request())),
        filter_(std::move(filter)),
        cursor_(std::move(cursor)),
        place_(std::move(streams)) {}

  // The first read shows whether a stream is possible.
  void open(const std::shared_ptr<Call>& call) {
    read(std::chrono::milliseconds(0), [self = shared_from_this(), call](Result<EventPage> page) {
      if (!page && page.error().code != Errc::cursor_expired) return call->refuse(page.error());
      if (self->begin(*call)) self->send(std::string(opening), std::move(page));
    });
  }

 private:
  bool begin(Call& call) {
    net::Response head;
    head.content_type = "text/event-stream";
    head.headers.add("Cache-Control", "no-store");
    head.headers.add("X-Accel-Buffering", "no");  // proxies must not buffer events
    stream_ = call.begin_stream(std::move(head));
    if (stream_ == nullptr) return false;
    stream_->on_closed([stream = weak_from_this()] {
      if (const auto self = stream.lock()) self->place_.give_back();
    });
    return true;
  }

  void read(std::chrono::milliseconds wait, Engine::Done<EventPage> done) {
    home_.engine.read_events_async(filter_, cursor_, events_at_once, static_cast<std::uint32_t>(wait.count()),
                                   std::move(done));
  }

  void send(std::string text, Result<EventPage> page) {
    if (!page) return cut(std::move(text), page.error());
    for (const Event& event : page->events) append(text, event.cursor, to_string(event.type), wire::to_json(event));
    cursor_ = std::move(page->next_cursor);
    // The cursor moves past events that the filter excludes; an id without data tells the client.
    if (page->events.empty()) text.append(": heartbeat\nid: ").append(cursor_).append("\n\n");
    if (!stream_->write(std::move(text))) return;
    stream_->on_drained(place_.settings().patience, [self = shared_from_this()](bool in_time) {
      in_time ? self->go_on() : self->cut({}, Error{Errc::overloaded, "the client reads too slowly", {}, {}});
    });
  }

  void go_on() {
    read(place_.settings().heartbeat, [self = shared_from_this()](Result<EventPage> page) {
      if (const auto caller = self->home_.gatekeeper->recall(self->credentials_)) {
        return self->send_if_allowed(*caller, std::move(page));
      }
      const bool taken = self->home_.pool->submit(
          [self, page] { self->send_if_allowed(self->home_.gatekeeper->ask(self->credentials_), page); });
      if (!taken) self->cut({}, too_many_waiting());
    });
  }

  // A key that was revoked or has expired gets no more events. If the store does not answer, the key stays valid.
  void send_if_allowed(const Result<Caller>& caller, Result<EventPage> page) {
    if (!caller && caller.error().code == Errc::unauthenticated) return cut({}, caller.error());
    send({}, std::move(page));
  }

  // The last event has the reason and the cursor to continue with. It follows the data that was not sent yet.
  void cut(std::string text, const Error& error) {
    for (const auto& [name, value] : error.details) {
      if (error.code == Errc::cursor_expired && name == "earliest") cursor_ = value;
    }
    wire::Writer writer;
    writer.begin_object();
    writer.key("reason");
    writer.text(to_string(error.code));
    writer.key("message");
    writer.text(error.message);
    writer.key("cursor");
    writer.text(cursor_);
    writer.end_object();
    append(text, cursor_, "cut", writer.take());
    stream_->write(std::move(text));
    stream_->end();
    place_.give_back();
  }

  const Call::Home home_;
  const net::Request credentials_;  // of the reader
  const EventFilter filter_;
  std::string cursor_;
  Place place_;
  std::shared_ptr<net::ResponseStream> stream_;
};

}  // namespace

bool EventStreams::enter() {
  if (open_.fetch_add(1) < settings_.max_streams) return true;
  leave();
  return false;
}

void stream_events(const std::shared_ptr<EventStreams>& streams, const std::shared_ptr<Call>& call, EventFilter filter,
                   std::string cursor) {
  if (!streams->enter()) {
    return call->refuse(Error{Errc::overloaded,
                              "there are " + std::to_string(streams->settings().max_streams) +
                                  " event streams, which is the limit; close one or try again later",
                              {},
                              {}});
  }
  std::make_shared<EventStream>(*call, std::move(filter), std::move(cursor), streams)->open(call);
}

}  // namespace flowfabric::api
