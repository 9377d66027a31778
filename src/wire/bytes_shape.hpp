// Bytes of users in JSON: payloads, results, details of failures.
//
// One rule for all bytes: JSON is in `name`, byte for byte as it was written; all other bytes are in `name_base64`.
// With the label `json`, JSON text is JSON; a detail has no label, so the text itself decides. Reading gives exactly
// the bytes that were written, so JSON with surrounding space is sent as base64.
#pragma once

#include <string>
#include <string_view>

#include "base/hashing.hpp"
#include "wire/shape.hpp"

namespace flowfabric::wire {

inline bool is_one_json_text(const std::string& bytes) {
  const auto document = parse_document(bytes, max_user_depth);
  return document && document->raw().size() == bytes.size();
}

template <auto bytes>
struct Unlabelled {
  template <class Object>
  static bool is_json(const Object& object) {
    return is_one_json_text(object.*bytes);
  }
  template <class Object>
  static void took_json(Object&) {}
};

template <auto bytes, auto label>
struct Labelled {
  template <class Object>
  static bool is_json(const Object& object) {
    return object.*label == "json" && is_one_json_text(object.*bytes);
  }
  template <class Object>
  static void took_json(Object& object) {
    if ((object.*label).empty()) object.*label = "json";
  }
};

inline Unexpected<Error> given_twice(const At& at) {
  return refuse(at, "is given both as JSON and as base64; use one of them");
}

template <auto bytes, class Rule>
struct JsonBytes {
  template <class Object>
  static Result<void> read(const Value& value, const At& at, Object& out) {
    if (!(out.*bytes).empty()) return given_twice(at);
    if (const std::size_t depth = value.depth(); depth > max_user_depth) {
      return refuse(at, "is nested " + std::to_string(depth) + " levels deep; allowed: at most " +
                            std::to_string(max_user_depth));
    }
    out.*bytes = value.raw();
    Rule::took_json(out);
    return {};
  }
  template <class Object>
  static bool present(const Object& object) {
    return Rule::is_json(object);
  }
  template <class Object>
  static void write(Writer& writer, const Object& object) {
    writer.raw(object.*bytes);
  }
  static std::string schema(Schemas&) { return "{}"; }
};

template <auto bytes, class Rule>
struct Base64Bytes {
  template <class Object>
  static Result<void> read(const Value& value, const At& at, Object& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    if (!(out.*bytes).empty()) return given_twice(at);
    auto decoded = from_base64(value.text());
    if (!decoded) return refuse(at, "is not base64");
    out.*bytes = std::move(*decoded);
    return {};
  }
  template <class Object>
  static bool present(const Object& object) {
    return !(object.*bytes).empty() && !Rule::is_json(object);
  }
  template <class Object>
  static void write(Writer& writer, const Object& object) {
    writer.text(to_base64(object.*bytes));
  }
  static std::string schema(Schemas&) { return R"({"type":"string","contentEncoding":"base64"})"; }
};

inline constexpr std::string_view about_json_in =
    "Any JSON, up to 500 levels deep; kept byte for byte. Its label becomes `json`.";
inline constexpr std::string_view about_base64_in = "Any bytes, instead of the JSON.";
inline constexpr std::string_view about_json_out = "Present if the label is `json` and the bytes are JSON.";
inline constexpr std::string_view about_base64_out = "Present otherwise.";

template <auto bytes, auto label>
using LabelledJson = Special<JsonBytes<bytes, Labelled<bytes, label>>>;
template <auto bytes, auto label>
using LabelledBase64 = Special<Base64Bytes<bytes, Labelled<bytes, label>>>;
template <auto bytes>
using PlainJson = Special<JsonBytes<bytes, Unlabelled<bytes>>>;
template <auto bytes>
using PlainBase64 = Special<Base64Bytes<bytes, Unlabelled<bytes>>>;

}  // namespace flowfabric::wire
