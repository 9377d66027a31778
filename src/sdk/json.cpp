#include <flowfabric/json.hpp>

#include <charconv>
#include <cmath>

#include <flowfabric/convert.hpp>

#include "base/check.hpp"
#include "wire/document.hpp"
#include "wire/writer.hpp"

namespace flowfabric {
namespace {

// Nested deeper than any request that the engine takes, so that every stored JSON can be read.
constexpr std::size_t max_depth = 512;

const char* type_name(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_boolean()) return "a boolean";
  if (json.is_number()) return "a number";
  if (json.is_text()) return "a text";
  return json.is_array() ? "an array" : "an object";
}

[[noreturn]] void wrong_type(const Json& json, const char* wanted) {
  throw JsonError(std::string("expected ") + wanted + ", found " + type_name(json));
}

Json number_of(const wire::Value& value) {
  if (const auto whole = value.whole_number()) return Json(*whole);
  const std::string_view raw = value.raw();
  double number = 0;
  std::from_chars(raw.data(), raw.data() + raw.size(), number);
  return Json(number);
}

Json json_of_value(const wire::Value& value) {
  switch (value.kind()) {
    case wire::Value::Kind::object: {
      Json::Object members;
      for (auto& member : value.members()) members.emplace_back(std::move(member.key), json_of_value(member.value));
      return Json(std::move(members));
    }
    case wire::Value::Kind::array: {
      Json::Array elements;
      for (const auto& element : value.elements()) elements.push_back(json_of_value(element));
      return Json(std::move(elements));
    }
    case wire::Value::Kind::text: return Json(value.text());
    case wire::Value::Kind::number: return number_of(value);
    case wire::Value::Kind::boolean: return Json(value.boolean());
    case wire::Value::Kind::null: return Json();
  }
  return Json();
}

// The shortest text that reads back as the same number. JSON has no words for infinity and not-a-number.
std::string text_of(double number) {
  if (!std::isfinite(number)) throw JsonError("JSON has no infinity and no not-a-number");
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  std::string out(text, end.ptr);
  if (out.find_first_of(".eE") == std::string::npos) out += ".0";
  return out;
}

void write(wire::Writer& writer, const Json& json) {
  if (json.is_null()) return writer.null();
  if (json.is_boolean()) return writer.boolean(json.as_boolean());
  if (json.is_integer()) return writer.number(json.as_integer());
  if (json.is_number()) return writer.raw(text_of(json.as_number()));
  if (json.is_text()) return writer.text(json.as_text());
  if (json.is_array()) {
    writer.begin_array();
    for (const Json& element : json.as_array()) write(writer, element);
    return writer.end_array();
  }
  writer.begin_object();
  for (const auto& [name, member] : json.as_object()) {
    writer.key(name);
    write(writer, member);
  }
  writer.end_object();
}

template <class T, class Variant>
auto& held(Variant& value, const Json& json, const char* wanted) {
  auto* found = std::get_if<T>(&value);
  if (found == nullptr) wrong_type(json, wanted);
  return *found;
}

}  // namespace

bool Json::as_boolean() const { return held<bool>(value_, *this, "a boolean"); }

std::int64_t Json::as_integer() const {
  if (const auto* number = std::get_if<double>(&value_)) {
    constexpr double limit = 9007199254740992.0;  // beyond it not every whole number has a double of its own
    if (std::trunc(*number) == *number && std::abs(*number) <= limit) return static_cast<std::int64_t>(*number);
    throw JsonError("expected a whole number, found " + text_of(*number));
  }
  return held<std::int64_t>(value_, *this, "a whole number");
}

double Json::as_number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  return held<double>(value_, *this, "a number");
}

const std::string& Json::as_text() const& { return held<std::string>(value_, *this, "a text"); }
std::string Json::as_text() && { return std::move(held<std::string>(value_, *this, "a text")); }
const Json::Array& Json::as_array() const& { return held<Array>(value_, *this, "an array"); }
Json::Array& Json::as_array() & { return held<Array>(value_, *this, "an array"); }
Json::Array Json::as_array() && { return std::move(held<Array>(value_, *this, "an array")); }
const Json::Object& Json::as_object() const& { return held<Object>(value_, *this, "an object"); }
Json::Object& Json::as_object() & { return held<Object>(value_, *this, "an object"); }
Json::Object Json::as_object() && { return std::move(held<Object>(value_, *this, "an object")); }

std::size_t Json::size() const {
  if (is_array()) return as_array().size();
  return is_object() ? as_object().size() : 0;
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (const auto& [key, member] : as_object()) {
    if (key == name) return &member;
  }
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  static_cast<void>(as_object());
  if (const Json* found = find(name)) return *found;
  throw JsonError("there is no member \"" + std::string(name) + "\"");
}

const Json& Json::at(std::size_t index) const {
  const Array& elements = as_array();
  if (index < elements.size()) return elements[index];
  throw JsonError("there is no element " + std::to_string(index) + " in an array of " +
                  std::to_string(elements.size()));
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object{};
  if (const Json* found = find(name)) return const_cast<Json&>(*found);
  return as_object().emplace_back(std::string(name), Json()).second;
}

void Json::push_back(Json element) {
  if (is_null()) value_ = Array{};
  as_array().push_back(std::move(element));
}

std::string Json::dump() const {
  wire::Writer writer;
  write(writer, *this);
  return writer.take();
}

Result<Json> Json::parse(std::string_view text) {
  FF_TRY(document, wire::parse_document(text, max_depth));
  return json_of_value(document);
}

Json detail::parse_or_throw(std::string_view bytes) {
  auto json = Json::parse(bytes);
  if (!json) throw JsonError(json.error().message);
  return std::move(*json);
}

}  // namespace flowfabric
