// Calls one of several servers of a store, a different one each time, as behind a load balancer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "net/http_client.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::chaos {

// One thread. Unanswered requests, and retryable responses, are errors with a retryable code.
class Caller {
 public:
  Caller(const std::vector<std::string>& urls, std::uint64_t seed);

  template <class Reply>
  Result<Reply> get(const std::string& target) {
    return read<Reply>(send("GET", target, {}));
  }
  template <class Reply, class Body>
  Result<Reply> post(const std::string& target, const Body& body) {
    return read<Reply>(send("POST", target, wire::to_json(body)));
  }

 private:
  Result<net::Response> send(const std::string& method, const std::string& target, const std::string& body);
  static Error error_of(const net::Response& response);

  template <class Reply>
  static Result<Reply> read(const Result<net::Response>& response) {
    if (!response) return Unexpected(response.error());
    // A repeated create is answered with 200 instead of 201.
    if (response->status / 100 != 2) return Unexpected(error_of(*response));
    return wire::from_reply<Reply>(response->body);
  }

  std::vector<net::HttpClient> servers_;
  std::mt19937_64 random_;
};

bool is_worth_repeating(const Error& error);
// A short pause, so that repeated requests do not overload the machine.
void pause_before_repeating();
// Ends the process after a response that must never occur. The parent process counts that as a failure.
[[noreturn]] void give_up(const std::string& doing, const Error& error);

// Until there is a final response.
template <class Call>
auto persist(const Call& call) {
  for (;;) {
    auto reply = call();
    if (reply || !is_worth_repeating(reply.error())) return reply;
    pause_before_repeating();
  }
}

}  // namespace flowfabric::chaos
