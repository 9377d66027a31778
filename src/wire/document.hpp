// JSON from outside: checked once as a whole, then read in place.
//
// A Value is a part of the checked text, so a user's payload can be stored byte for byte as it was written. Values are
// cheap to copy; the text must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric::wire {

class Value {
 public:
  enum class Kind : std::uint8_t { object, array, text, number, boolean, null };
  struct Member;

  Kind kind() const;
  std::string_view raw() const { return raw_; }

  // In the order of the text. A key may appear twice; the reader of an object refuses that.
  std::vector<Member> members() const;
  std::vector<Value> elements() const;
  std::string text() const;  // unescaped
  bool boolean() const { return raw_.front() == 't'; }
  // How many objects and arrays lie within each other; 0 for a text, a number and the like.
  std::size_t depth() const;
  // Nothing if it has a fraction or an exponent, or does not fit.
  std::optional<std::int64_t> whole_number() const;

 private:
  friend Result<Value> parse_document(std::string_view text, std::size_t max_depth, std::string_view what);
  friend class Scanner;
  explicit Value(std::string_view raw) : raw_(raw) {}

  std::string_view raw_;  // without space around it
};

struct Value::Member {
  std::string key;
  Value value;
};

std::string_view to_string(Value::Kind kind);

// How many objects and arrays may lie within each other in the JSON of a user: payloads, results, details of failures.
inline constexpr std::size_t max_user_depth = 500;
// Requests and replies wrap it in a few more levels.
inline constexpr std::size_t max_document_depth = max_user_depth + 12;

// Refuses text that is not one JSON value in valid UTF-8 or that is nested deeper. `what` begins the error message.
Result<Value> parse_document(std::string_view text, std::size_t max_depth = max_document_depth,
                             std::string_view what = "the body");

}  // namespace flowfabric::wire
