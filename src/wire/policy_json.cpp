// The public functions that read and write a policy as JSON, in the form of the HTTP API.
#include <flowfabric/types.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/ingress.hpp"
#include "wire/shapes.hpp"

namespace flowfabric {
namespace {

// The policy itself needs three levels; deeper nesting is refused early.
constexpr std::size_t max_policy_depth = 8;

}  // namespace

Result<Policy> parse_policy_json(std::string_view text) {
  const wire::At top{};
  const wire::At at{&top, "policy"};
  if (text.size() > limits::max_policy_json_bytes) {
    return wire::refuse(at, "has " + std::to_string(text.size()) + " bytes of JSON; allowed: at most " +
                                std::to_string(limits::max_policy_json_bytes));
  }
  auto document = wire::parse_document(text, max_policy_depth, "it");
  if (!document) return wire::refuse(at, document.error().message);
  Policy policy;
  FF_TRY_VOID(wire::Codec<Policy>::read(*document, at, policy));
  FF_TRY_VOID(admit(policy));
  return policy;
}

std::string policy_to_json(const Policy& policy) { return wire::to_json(policy); }

}  // namespace flowfabric
