// OTLP/HTTP in JSON: requests and responses. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/span.hpp"

namespace flowfabric::otlp {

// The sender.
struct Resource {
  std::string service_name{};
  std::string service_version{};
  std::string service_instance_id{};
};

// An ExportTraceServiceRequest.
std::string encode(const Resource& resource, const std::vector<observe::Span>& spans);

// Part of the response: the number of spans that the collector rejected, and why.
struct Rejected {
  std::uint64_t spans = 0;
  std::string message{};
};
// An invalid response rejects nothing.
Rejected read_answer(std::string_view json);

}  // namespace flowfabric::otlp
