#include "store/postgres/wakeup.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/log.hpp"
#include "store/postgres/backoff.hpp"

namespace flowfabric::postgres {
namespace {

constexpr auto send_interval = std::chrono::milliseconds(5);
constexpr std::size_t max_payload_bytes = 7900;  // PostgreSQL accepts less than 8000
constexpr TimestampMs never = std::numeric_limits<TimestampMs>::max();

// Result: nothing. The channel's name is a parameter, so it needs no quoting.
constexpr Statement notify = {"notify", "SELECT pg_notify($1::text, $2::text)"};

std::string channel_of(const Address& address) { return "flowfabric_" + address.schema; }

template <class T>
void merge_into(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

void merge(Wakeup& all, const Wakeup& more) {
  merge_ready(all.ready, more.ready);
  merge_into(all.lanes_changed, more.lanes_changed);
  all.appended.insert(more.appended.begin(), more.appended.end());
  all.earliest_due = std::min(all.earliest_due, more.earliest_due);
  all.log_advanced = all.log_advanced || more.log_advanced;
  all.everything = all.everything || more.everything;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// <route>:<namespace in hex>*<count>; without a count from programs that do not tell it
bool parse_line(std::string_view text, std::map<ReadyLine, std::uint32_t>& ready) {
  std::uint32_t count = 0;
  const auto star = std::min(text.find('*'), text.size());
  if (star < text.size() && !parse_number(text.substr(star + 1), count)) return false;
  text = text.substr(0, star);
  const auto colon = std::min(text.find(':'), text.size());
  auto name_space = from_hex(text.substr(std::min(colon + 1, text.size())));
  ReadyLine line;
  if (!name_space || colon == text.size() || !parse_number(text.substr(0, colon), line.route)) return false;
  line.name_space = std::move(*name_space);
  ready[std::move(line)] = count;
  return true;
}

// The words after the sender: d<due> and g, e as flags, r<route>:<namespace in hex>*<count>,..., l<lane in hex>,...,
// a<key in hex>,...
bool parse_word(std::string_view word, Wakeup& wakeup) {
  const std::string_view rest = word.substr(1);
  switch (word.front()) {
    case 'd': return parse_number(rest, wakeup.earliest_due);
    case 'g': wakeup.log_advanced = true; return rest.empty();
    case 'e': wakeup.everything = true; return rest.empty();
    case 'r':
      for (const auto item : split(rest, ',')) {
        if (!parse_line(item, wakeup.ready)) return false;
      }
      return true;
    case 'l':
      for (const auto item : split(rest, ',')) {
        auto lane = from_hex(item);
        if (!lane || lane->empty()) return false;  // no lane has an empty name
        wakeup.lanes_changed.push_back(std::move(*lane));
      }
      return true;
    case 'a':
      for (const auto item : split(rest, ',')) {
        auto key = from_hex(item);
        if (!key || key->size() < 3) return false;  // no key is shorter
        wakeup.appended.insert(Key{std::move(*key)});
      }
      return true;
    default: return false;
  }
}

}  // namespace

std::string encode_wakeup(const Wakeup& wakeup, const std::string& sender) {
  std::string out = sender;
  if (wakeup.earliest_due != never) out += " d" + std::to_string(wakeup.earliest_due);
  if (wakeup.log_advanced) out += " g";
  if (wakeup.everything) out += " e";
  char separator = ' ';
  for (const auto& [line, count] : wakeup.ready) {
    out += (separator == ' ' ? " r" : ",") + std::to_string(line.route) + ":" + to_hex(line.name_space);
    if (count != 0) out += "*" + std::to_string(count);
    separator = ',';
  }
  separator = ' ';
  for (const auto& lane : wakeup.lanes_changed) {
    out += (separator == ' ' ? " l" : ",") + to_hex(lane);
    separator = ',';
  }
  separator = ' ';
  for (const Key& key : wakeup.appended) {
    out += (separator == ' ' ? " a" : ",") + to_hex(key.bytes);
    separator = ',';
  }
  return out.size() <= max_payload_bytes ? out : sender + " e";
}

std::optional<Wakeup> decode_wakeup(std::string_view text, std::string_view sender) {
  const auto words = split(text, ' ');
  if (!words.empty() && words.front() == sender) return std::nullopt;
  Wakeup wakeup;
  bool understood = !words.empty();
  for (std::size_t i = 1; i < words.size() && understood; ++i) {
    understood = !words[i].empty() && parse_word(words[i], wakeup);
  }
  if (understood) return wakeup;
  Wakeup everything;
  everything.everything = true;
  return everything;
}

Notifier::~Notifier() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Notifier::announce(const Wakeup& wakeup) {
  const std::lock_guard lock(mutex_);
  if (!pending_) pending_.emplace();
  merge(*pending_, wakeup);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

// Notifications that could not be sent for a while are sent as `everything`: by then the details are outdated.
void Notifier::run() {
  Backoff backoff;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return pending_.has_value() || stopping_; });
    if (!pending_) return;
    const std::string payload = encode_wakeup(*pending_, sender_);
    pending_.reset();
    lock.unlock();
    const bool sent = send(payload);
    lock.lock();
    if (sent) backoff.reset();
    if (!sent && !stopping_) {
      if (!pending_) pending_.emplace();
      pending_->everything = true;
    }
    changed_.wait_for(lock, sent ? send_interval : backoff.next(), [this] { return stopping_; });
    if (stopping_ && !sent) return;
  }
}

bool Notifier::send(const std::string& payload) {
  if (connection_ == nullptr || connection_->broken()) {
    auto opened = Connection::open(address_, "SET synchronous_commit = off");
    if (!opened) {
      log(LogLevel::warn, "cannot notify other processes", {{"cause", opened.error().message}});
      return false;
    }
    connection_ = std::move(*opened);
  }
  Params params;
  params.bytes(channel_of(address_)).bytes(payload);
  return connection_->run(notify, params).has_value();
}

Listener::Listener(Address address, std::string sender, std::function<void(const Wakeup&)> listener)
    : address_(std::move(address)),
      sender_(std::move(sender)),
      listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  FF_CHECK(stop_ >= 0);
  (void)connect();  // so that no later notification is missed; the thread tries again if it fails
  thread_ = std::thread([this] { run(); });
}

Listener::~Listener() {
  const std::uint64_t one = 1;
  FF_CHECK(write(stop_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(stop_);
}

bool Listener::connect() {
  auto opened = Connection::open(address_, "LISTEN \"" + channel_of(address_) + "\"");
  if (!opened) {
    log(LogLevel::warn, "cannot listen for notifications of other processes", {{"cause", opened.error().message}});
    return false;
  }
  connection_ = std::move(*opened);
  return true;
}

// True if something arrived or the time is over, false if the listener must stop.
bool Listener::wait(int timeout_ms) {
  pollfd sources[2] = {{stop_, POLLIN, 0}, {-1, POLLIN, 0}};
  if (connection_ != nullptr) sources[1].fd = PQsocket(connection_->handle());
  poll(sources, 2, timeout_ms);
  return (sources[0].revents & POLLIN) == 0;
}

void Listener::deliver() {
  PGconn* handle = connection_->handle();
  if (PQconsumeInput(handle) != 1) {
    connection_.reset();
    return;
  }
  while (PGnotify* note = PQnotifies(handle)) {
    const auto wakeup = decode_wakeup(note->extra, sender_);
    PQfreemem(note);
    if (wakeup) listener_(*wakeup);
  }
}

void Listener::run() {
  Backoff backoff;
  for (;;) {
    if (connection_ != nullptr) {
      deliver();  // first, because notifications may have come with the reply to LISTEN
      if (connection_ != nullptr && !wait(-1)) return;
      continue;
    }
    if (!wait(static_cast<int>(backoff.next().count()))) return;
    if (!connect()) continue;
    backoff.reset();
    Wakeup everything;
    everything.everything = true;
    listener_(everything);
  }
}

}  // namespace flowfabric::postgres
