#include "e2e/chaos/caller.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace flowfabric::chaos {
namespace {

// Longer than any claim is parked, and than a server takes on a busy machine.
constexpr std::chrono::milliseconds answer_limit{20'000};
constexpr std::chrono::milliseconds repeat_pause{30};

}  // namespace

Caller::Caller(const std::vector<std::string>& urls, std::uint64_t seed) : random_(seed) {
  for (const std::string& url : urls) {
    auto client = net::HttpClient::create({.url = url});
    if (!client) throw std::runtime_error(client.error().message);
    servers_.push_back(std::move(*client));
  }
}

Result<net::Response> Caller::send(const std::string& method, const std::string& target, const std::string& body) {
  net::ClientRequest request;
  request.method = method;
  request.target = target;
  request.timeout = answer_limit;
  request.body = body;
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  return servers_[random_() % servers_.size()].request(request);
}

Error Caller::error_of(const net::Response& response) {
  if (auto body = wire::from_reply<wire::ErrorBody>(response.body)) return std::move(body->error);
  return {Errc::internal, "status " + std::to_string(response.status) + " with " + response.body, {}, {}};
}

bool is_worth_repeating(const Error& error) { return describe(error.code).retryable; }

void pause_before_repeating() { std::this_thread::sleep_for(repeat_pause); }

void give_up(const std::string& doing, const Error& error) {
  std::fprintf(stderr, "%s: %s: %s\n", doing.c_str(), std::string(to_string(error.code)).c_str(),
               error.message.c_str());
  std::exit(1);
}

}  // namespace flowfabric::chaos
