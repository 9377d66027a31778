// Many callers over HTTP in one thread: each has an open connection, and sends a request when the previous one is
// answered.
//
// Owned by one thread. Sockets are written blockingly, because requests are small, and read when epoll reports them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "figures.hpp"

namespace flowfabric::bench {

class HttpCallers {
 public:
  // The next request of a caller, complete; empty: there are no more.
  using Next = std::function<std::string(int caller)>;
  using Answered = std::function<void(int caller, int status, std::string_view body, double ms)>;

  // Connects all of them to 127.0.0.1.
  HttpCallers(std::uint16_t port, int callers);
  ~HttpCallers();
  HttpCallers(const HttpCallers&) = delete;
  HttpCallers& operator=(const HttpCallers&) = delete;

  // One request from each.
  void begin(const Next& next);
  // Continues until no caller waits for a response.
  void finish(const Next& next, const Answered& answered);

 private:
  struct Caller {
    int socket = -1;
    Clock::time_point sent{};
    std::string input{};  // a part of a response
  };

  void ask(int caller, const Next& next);
  void receive(int caller, const Next& next, const Answered& answered);

  int epoll_ = -1;
  std::vector<Caller> callers_;
  std::vector<char> scratch_;
  int out_ = 0;  // requests without a response
};

}  // namespace flowfabric::bench
