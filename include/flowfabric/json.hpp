// A JSON value, for handlers and clients that want one without choosing a JSON library.
//
//   Json order = {{"id", 17}, {"lines", Json::array({"a", "b"})}};
//   order["total"] = 12.5;
//   std::string text = order.dump();
//
// Programs that use a JSON library of their own do not need this type: see flowfabric/convert.hpp.
//
// Values are plain data and belong to one thread at a time. Wrong use (`as_text()` of a number, a missing member through
// the constant `at`) throws JsonError.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric {

class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order in which members were added or read

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point T>
  Json(T value) : value_(static_cast<double>(value)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(Array elements) : value_(std::move(elements)) {}
  Json(Object members) : value_(std::move(members)) {}
  Json(std::initializer_list<Member> members) : value_(Object(members)) {}
  static Json array(std::initializer_list<Json> elements = {}) { return Json(Array(elements)); }
  static Json object() { return Json(Object{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  bool as_boolean() const;
  std::int64_t as_integer() const;  // also of a number such as 3.0
  double as_number() const;
  // Of a temporary value these return a copy, so that a loop over them is safe.
  const std::string& as_text() const&;
  std::string as_text() &&;
  const Array& as_array() const&;
  Array& as_array() &;
  Array as_array() &&;
  const Object& as_object() const&;
  Object& as_object() &;
  Object as_object() &&;

  // Elements of an array, members of an object; 0 for everything else.
  std::size_t size() const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Json* find(std::string_view name) const;
  const Json& at(std::string_view name) const;
  const Json& at(std::size_t index) const;
  // Adds the member if there is none; null becomes an object.
  Json& operator[](std::string_view name);
  const Json& operator[](std::string_view name) const { return at(name); }
  // Appends to an array; null becomes an array.
  void push_back(Json element);

  // Compact, members in their order. Text must be UTF-8.
  std::string dump() const;
  // One JSON text and nothing else; `invalid_argument` says what is wrong.
  static Result<Json> parse(std::string_view text);

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace flowfabric
