// JSON from outside. The first line of an input selects the type of the rest: the shape of a request, `policy`, or
// anything else for a document without a shape. Accepted values must be unchanged after writing and reading them again.
#include <flowfabric/types.hpp>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/waits.hpp"
#include "fuzz/request_shapes.hpp"
#include "fuzz/same.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::fuzz {
namespace {

void rewrite(const wire::Value& value, wire::Writer& writer, std::size_t depth) {
  FF_CHECK(depth <= wire::max_document_depth);
  switch (value.kind()) {
    case wire::Value::Kind::object:
      writer.begin_object();
      for (const wire::Value::Member& member : value.members()) {
        FF_CHECK(is_valid_utf8(member.key));
        writer.key(member.key);
        rewrite(member.value, writer, depth + 1);
      }
      return writer.end_object();
    case wire::Value::Kind::array:
      writer.begin_array();
      for (const wire::Value& element : value.elements()) rewrite(element, writer, depth + 1);
      return writer.end_array();
    case wire::Value::Kind::text: FF_CHECK(is_valid_utf8(value.text())); return writer.text(value.text());
    case wire::Value::Kind::boolean: return writer.boolean(value.boolean());
    case wire::Value::Kind::null: return writer.null();
    case wire::Value::Kind::number:
      if (const auto whole = value.whole_number()) return writer.number(*whole);
      return writer.raw(value.raw());
  }
}

// Strings lose their escapes and objects their space; after that nothing changes.
void check_document(std::string_view text) {
  const auto document = wire::parse_document(text);
  if (!document) return FF_CHECK(!document.error().message.empty());
  FF_CHECK(is_valid_utf8(text));
  wire::Writer first;
  rewrite(*document, first, 0);
  const std::string written = first.take();
  const auto again = wire::parse_document(written);
  FF_CHECK(again);
  wire::Writer second;
  rewrite(*again, second, 0);
  FF_CHECK(second.take() == written);
}

void check_refusal(const Error& error) {
  FF_CHECK(error.code == Errc::invalid_argument);
  FF_CHECK(!error.field.empty());
  FF_CHECK(is_valid_utf8(error.message));
  FF_CHECK(wire::parse_document(wire::to_json(wire::ErrorBody{error})));
}

template <class T>
void check_shape(std::string_view text) {
  const auto value = wire::from_json<T>(text);
  if (!value) return check_refusal(value.error());
  const std::string written = wire::to_json(*value);
  const auto again = wire::from_json<T>(written);
  FF_CHECK(again);
  FF_CHECK(same(*value, *again));
  FF_CHECK(wire::to_json(*again) == written);
}

void check_policy(std::string_view text) {
  const auto policy = parse_policy_json(text);
  if (!policy) return check_refusal(policy.error());
  const auto again = parse_policy_json(policy_to_json(*policy));
  FF_CHECK(again);
  FF_CHECK(same(*policy, *again));
}

// What is admitted can be stored, and is admitted again as it is then.
void check_wait(std::string_view text) {
  auto body = wire::from_json<bodies::SuspendBody>(text);
  if (!body) return;
  SuspendRequest& request = *body;
  if (const auto admitted = admit(request); !admitted) return check_refusal(admitted.error());
  fill_in_defaults(request);
  FF_CHECK(request.condition.has_value());
  FF_CHECK(admit(request).has_value());
  WaitFacts waits;
  Wait& wait = waits.wait.emplace();
  wait.condition = *request.condition;
  wait.veto = request.veto;
  Encoder out;
  encode_into(out, waits);
  const std::string bytes = out.take();
  Decoder in(bytes);
  FF_CHECK(decode_waits(in) == waits);
  FF_CHECK(in.at_end());
  FF_CHECK(!cause_of_end(waits));  // without any signal
  FF_CHECK(!missing(*request.condition, {}).empty());
}

void check(std::string_view input) {
  const std::size_t line = input.find('\n');
  const std::string_view name = input.substr(0, line);
  const std::string_view text = line == std::string_view::npos ? std::string_view{} : input.substr(line + 1);
  check_document(text);
  if (name == "policy") return check_policy(text);
  if (name == "SuspendBody") {
    check_shape<bodies::SuspendBody>(text);
    return check_wait(text);
  }
  for_each_request_shape([&](const auto& shape) {
    using T = std::decay_t<decltype(shape)>;
    if (name == wire::Shape<T>::name) check_shape<T>(text);
  });
}

}  // namespace
}  // namespace flowfabric::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flowfabric::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
