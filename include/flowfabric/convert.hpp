// How values become bytes and bytes become values: payloads, results, recorded steps.
//
// Everything that a client or a worker stores passes through `Convert<T>`. Three ways to teach it a type, simplest first:
//
//   1. A macro for plain structs, written in the namespace of the struct:
//        struct Invoice { std::string id; int cents = 0; };
//        FLOWFABRIC_JSON(Invoice, id, cents)
//   2. Two functions beside the type:
//        void to_json(flowfabric::Json& json, const Invoice& invoice);
//        void from_json(const flowfabric::Json& json, Invoice& invoice);
//   3. A specialization of flowfabric::Convert, for types that another library encodes (nlohmann, Boost.JSON, protobuf):
//        template <> struct flowfabric::Convert<Order> {
//          static constexpr std::string_view encoding = "protobuf";
//          static std::string to_bytes(const Order& order) { return order.SerializeAsString(); }
//          static Order from_bytes(std::string_view bytes);   // throws what std::exception describes
//        };
//
// Known already: Json, booleans, numbers, std::string inside JSON, std::vector, std::optional, std::map with string keys,
// and `Bytes`, which are stored as they are.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <flowfabric/json.hpp>

namespace flowfabric {

// Bytes that are no JSON: stored and returned untouched.
struct Bytes {
  std::string bytes{};
  std::string encoding{};  // a label for readers, for example a media type

  friend bool operator==(const Bytes&, const Bytes&) = default;
};

// ---- JSON of the usual types. Overload these for your own types, in their namespace.

inline void to_json(Json& json, const Json& value) { json = value; }
inline void from_json(const Json& json, Json& value) { value = json; }

template <class T>
  requires std::is_arithmetic_v<T>
void to_json(Json& json, T value) {
  json = Json(value);
}
inline void from_json(const Json& json, bool& value) { value = json.as_boolean(); }
template <std::floating_point T>
void from_json(const Json& json, T& value) {
  value = static_cast<T>(json.as_number());
}
template <std::integral T>
  requires(!std::same_as<T, bool>)
void from_json(const Json& json, T& value) {
  const std::int64_t number = json.as_integer();
  if (!std::in_range<T>(number)) throw JsonError("the number " + std::to_string(number) + " does not fit the type");
  value = static_cast<T>(number);
}
inline void to_json(Json& json, const std::string& value) { json = value; }
inline void from_json(const Json& json, std::string& value) { value = json.as_text(); }

template <class T>
void to_json(Json& json, const std::vector<T>& values) {
  json = Json::array();
  for (const T& value : values) {
    Json element;
    to_json(element, value);
    json.push_back(std::move(element));
  }
}
template <class T>
void from_json(const Json& json, std::vector<T>& values) {
  values.clear();
  for (const Json& element : json.as_array()) from_json(element, values.emplace_back());
}
template <class T>
void to_json(Json& json, const std::optional<T>& value) {
  json = Json();
  if (value) to_json(json, *value);
}
template <class T>
void from_json(const Json& json, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) from_json(json, value.emplace());
}
template <class T>
void to_json(Json& json, const std::map<std::string, T>& values) {
  json = Json::object();
  for (const auto& [name, value] : values) to_json(json[name], value);
}
template <class T>
void from_json(const Json& json, std::map<std::string, T>& values) {
  values.clear();
  for (const auto& [name, member] : json.as_object()) from_json(member, values[name]);
}

namespace detail {

// Calls the overload that belongs to the type.
template <class T>
Json json_of(const T& value) {
  Json json;
  to_json(json, value);
  return json;
}
template <class T>
void take_member(const Json& json, const char* name, T& value) {
  const Json* member = json.find(name);
  if (member == nullptr) return;  // absent members keep their default
  try {
    from_json(*member, value);
  } catch (const JsonError& error) {
    throw JsonError(std::string(name) + ": " + error.what());
  }
}
// One JSON text; throws JsonError with the reason if it is none.
Json parse_or_throw(std::string_view bytes);

}  // namespace detail

// ---- The conversion point

template <class T>
struct Convert {
  static constexpr std::string_view encoding = "json";
  static std::string to_bytes(const T& value) { return detail::json_of(value).dump(); }
  static T from_bytes(std::string_view bytes) {
    T value{};
    from_json(detail::parse_or_throw(bytes), value);
    return value;
  }
};

template <>
struct Convert<Bytes> {
  static constexpr std::string_view encoding = "";
  static std::string to_bytes(const Bytes& value) { return value.bytes; }
  static Bytes from_bytes(std::string_view bytes) { return {std::string(bytes), {}}; }
};

// What a value is stored as.
template <class T>
Bytes encode_value(const T& value) {
  Bytes out{Convert<T>::to_bytes(value), std::string(Convert<T>::encoding)};
  if constexpr (std::is_same_v<T, Bytes>) out.encoding = value.encoding;
  return out;
}

}  // namespace flowfabric

// Members by name, up to 16. Absent members keep their default when read.
#define FLOWFABRIC_JSON(Type, ...)                                     \
  inline void to_json(::flowfabric::Json& json, const Type& value) {   \
    json = ::flowfabric::Json::object();                               \
    FLOWFABRIC_EACH(FLOWFABRIC_PUT_MEMBER, __VA_ARGS__)                \
  }                                                                    \
  inline void from_json(const ::flowfabric::Json& json, Type& value) { \
    static_cast<void>(json.as_object());                               \
    FLOWFABRIC_EACH(FLOWFABRIC_TAKE_MEMBER, __VA_ARGS__)               \
  }                                                                    \
  static_assert(true, "a semicolon may follow")

#define FLOWFABRIC_PUT_MEMBER(name) json[#name] = ::flowfabric::detail::json_of(value.name);
#define FLOWFABRIC_TAKE_MEMBER(name) ::flowfabric::detail::take_member(json, #name, value.name);

#define FLOWFABRIC_EACH(do, ...)                                                                               \
  FLOWFABRIC_PICK(__VA_ARGS__, FLOWFABRIC_E16, FLOWFABRIC_E15, FLOWFABRIC_E14, FLOWFABRIC_E13, FLOWFABRIC_E12, \
                  FLOWFABRIC_E11, FLOWFABRIC_E10, FLOWFABRIC_E9, FLOWFABRIC_E8, FLOWFABRIC_E7, FLOWFABRIC_E6,  \
                  FLOWFABRIC_E5, FLOWFABRIC_E4, FLOWFABRIC_E3, FLOWFABRIC_E2, FLOWFABRIC_E1, unused)           \
  (do, __VA_ARGS__)
#define FLOWFABRIC_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, chosen, ...) chosen
#define FLOWFABRIC_E1(do, a) \
  do (a)
#define FLOWFABRIC_E2(do, a, ...) \
  do (a) FLOWFABRIC_E1(do, __VA_ARGS__)
#define FLOWFABRIC_E3(do, a, ...) \
  do (a) FLOWFABRIC_E2(do, __VA_ARGS__)
#define FLOWFABRIC_E4(do, a, ...) \
  do (a) FLOWFABRIC_E3(do, __VA_ARGS__)
#define FLOWFABRIC_E5(do, a, ...) \
  do (a) FLOWFABRIC_E4(do, __VA_ARGS__)
#define FLOWFABRIC_E6(do, a, ...) \
  do (a) FLOWFABRIC_E5(do, __VA_ARGS__)
#define FLOWFABRIC_E7(do, a, ...) \
  do (a) FLOWFABRIC_E6(do, __VA_ARGS__)
#define FLOWFABRIC_E8(do, a, ...) \
  do (a) FLOWFABRIC_E7(do, __VA_ARGS__)
#define FLOWFABRIC_E9(do, a, ...) \
  do (a) FLOWFABRIC_E8(do, __VA_ARGS__)
#define FLOWFABRIC_E10(do, a, ...) \
  do (a) FLOWFABRIC_E9(do, __VA_ARGS__)
#define FLOWFABRIC_E11(do, a, ...) \
  do (a) FLOWFABRIC_E10(do, __VA_ARGS__)
#define FLOWFABRIC_E12(do, a, ...) \
  do (a) FLOWFABRIC_E11(do, __VA_ARGS__)
#define FLOWFABRIC_E13(do, a, ...) \
  do (a) FLOWFABRIC_E12(do, __VA_ARGS__)
#define FLOWFABRIC_E14(do, a, ...) \
  do (a) FLOWFABRIC_E13(do, __VA_ARGS__)
#define FLOWFABRIC_E15(do, a, ...) \
  do (a) FLOWFABRIC_E14(do, __VA_ARGS__)
#define FLOWFABRIC_E16(do, a, ...) \
  do (a) FLOWFABRIC_E15(do, __VA_ARGS__)
