// Notifications between processes by LISTEN and NOTIFY.
//
// A notification inside a commit would make commits wait for each other, so it is sent separately: on its own
// connection that does not wait for the disk, at most every few milliseconds, with everything that happened in between.
// Nothing here polls; without notifications no statement is sent.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/postgres/connection.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

std::string encode_wakeup(const Wakeup& wakeup, const std::string& sender);
// Nothing for notifications of `sender` itself. A text that cannot be parsed, as from a newer program, is `everything`.
std::optional<Wakeup> decode_wakeup(std::string_view text, std::string_view sender);

// Sends notifications. `announce` never blocks; the connection and the thread start with the first call. Thread-safe.
class Notifier {
 public:
  Notifier(Address address, std::string sender) : address_(std::move(address)), sender_(std::move(sender)) {}
  ~Notifier();

  void announce(const Wakeup& wakeup);

 private:
  void run();
  bool send(const std::string& payload);

  const Address address_;
  const std::string sender_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Wakeup> pending_;
  bool stopping_ = false;
  std::thread thread_;
  std::unique_ptr<Connection> connection_;  // used only by the thread
};

// Receives on a separate thread from the constructor to the destructor. After a lost connection it reports
// `everything`.
class Listener {
 public:
  Listener(Address address, std::string sender, std::function<void(const Wakeup&)> listener);
  ~Listener();

 private:
  bool connect();
  void run();
  bool wait(int timeout_ms);
  void deliver();

  const Address address_;
  const std::string sender_;
  const std::function<void(const Wakeup&)> listener_;
  const int stop_;  // an eventfd
  std::unique_ptr<Connection> connection_;
  std::thread thread_;
};

}  // namespace flowfabric::postgres
