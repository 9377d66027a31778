// OTLP/HTTP in JSON: what is sent and what comes back. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/span.hpp"

namespace flowfabric::otlp {

// Who sends.
struct Resource {
  std::string service_name{};
  std::string service_version{};
  std::string service_instance_id{};
};

// An ExportTraceServiceRequest.
std::string encode(const Resource& resource, const std::vector<observe::Span>& spans);

// Of the answer to it: how many spans the collector took note of and threw away, and why.
struct Rejected {
  std::uint64_t spans = 0;
  std::string message{};
};
// An answer that cannot be read rejects nothing.
Rejected read_answer(std::string_view json);

}  // namespace flowfabric::otlp
