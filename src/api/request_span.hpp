// The span of one request. docs/operating.md describes it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.hpp"
#include "observe/tracer.hpp"

namespace flowfabric::api {

// Begins with its construction. Belongs to one thread at a time.
class RequestSpan {
 public:
  RequestSpan(std::shared_ptr<observe::Tracer> tracer, const net::Request& request);

  struct End {
    std::string_view method;
    std::string_view route;  // empty: none
    int status = 0;
    std::string_view request_id;
    std::int64_t took_ns = 0;
  };
  // Records it, if its trace is sampled. Once.
  void end(const End& end);

 private:
  const std::shared_ptr<observe::Tracer> tracer_;
  bool sampled_ = false;
  observe::Span span_;
};

}  // namespace flowfabric::api
