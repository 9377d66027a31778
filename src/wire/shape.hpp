// The JSON form of a C++ struct, defined once: reading, writing and the OpenAPI schema all use the same list.
//
//   template <>
//   struct Shape<Thing> {
//     static constexpr std::string_view name = "Thing";
//     static constexpr auto fields = std::tuple{required("lane", &Thing::lane, "Where it waits."), ...};
//   };
//
// Reading refuses what is not in the list, what comes twice, what is missing and what has the wrong type, by its name.
// What is not set is left out when written: empty optionals, times that are 0, and what is declared with `if_set`.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <flowfabric/ids.hpp>
#include <flowfabric/types.hpp>

#include "base/check.hpp"
#include "wire/document.hpp"
#include "wire/writer.hpp"

namespace flowfabric::wire {

// ---- Where in a document something stands: "policy.retry.max_retries", "executions[3].lane"

struct At {
  const At* up = nullptr;
  std::string_view name{};  // null in an array: a name may be empty
  std::size_t index = 0;
  bool newer = false;  // of the whole document: it may come from a newer program with more fields
};
std::string path_of(const At& at);
bool may_be_newer(const At& at);
Unexpected<Error> refuse(const At& at, const std::string& message);
Unexpected<Error> wrong_type(const At& at, std::string_view wanted, const Value& found);

// ---- Schemas that have a name, as they are met

struct Schemas {
  std::map<std::string, std::string> named{};
  // Required fields of a request are those that reading requires; required fields of a reply are those that are always
  // written.
  bool of_replies = false;
};
std::string schema_reference(std::string_view name);

// ---- Codecs

template <class T>
struct Codec;

template <class T>
struct Shape;
template <class T>
concept Shaped = requires { Shape<T>::fields; };

// The first and the last value of an enum whose values all have names.
template <class Enum>
struct EnumRange;
template <class T>
concept Named = requires { EnumRange<T>::last; };

// The value with that name, if there is one.
template <Named T>
std::optional<T> named(std::string_view name) {
  for (int i = static_cast<int>(EnumRange<T>::first); i <= static_cast<int>(EnumRange<T>::last); ++i) {
    if (EnumRange<T>::name(static_cast<T>(i)) == name) return static_cast<T>(i);
  }
  return std::nullopt;
}
template <Named T>
std::string allowed_names() {
  std::string names;
  for (int i = static_cast<int>(EnumRange<T>::first); i <= static_cast<int>(EnumRange<T>::last); ++i) {
    names += (names.empty() ? "" : ", ") + std::string(EnumRange<T>::name(static_cast<T>(i)));
  }
  return names;
}

// What a number may be, how many bytes a text may have, or how many entries an array or an object.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = -1;

  constexpr bool given() const { return max >= min; }
};
Unexpected<Error> out_of_bounds(const Value& number, const At& at, const Bounds& bounds);

template <class Object, class Member>
struct Field {
  std::string_view name;
  Member Object::* member;
  std::string_view about;
  bool required = false;
  bool omit_unset = false;  // a number that is 0, a text that is empty
  Bounds bounds{};
  std::int64_t longest_entry = 0;  // of an array of texts, in bytes; 0: nothing is said

  // The same field with its bounds, which the schema shows, and so does the error about a number that the type cannot
  // hold. The bounds themselves are checked by core/ingress.
  constexpr Field within(std::int64_t min, std::int64_t max) const {
    Field bounded = *this;
    bounded.bounds = {min, max};
    return bounded;
  }
  constexpr Field up_to(std::int64_t max) const { return within(0, max); }
  constexpr Field each_up_to(std::int64_t bytes) const {
    Field bounded = *this;
    bounded.longest_entry = bytes;
    return bounded;
  }
};

template <class Object, class Member>
constexpr Field<Object, Member> field(std::string_view name, Member Object::* member, std::string_view about) {
  return {name, member, about};
}
template <class Object, class Member>
constexpr Field<Object, Member> required(std::string_view name, Member Object::* member, std::string_view about) {
  return {name, member, about, true};
}
// Milliseconds since the epoch; 0 is "not set".
template <class Object>
constexpr Field<Object, TimestampMs> moment(std::string_view name, TimestampMs Object::* member,
                                            std::string_view about) {
  return {name, member, about, false, true};
}

// A number or text that is left out when it is 0 or empty.
template <class Object, class Member>
constexpr Field<Object, Member> if_set(std::string_view name, Member Object::* member, std::string_view about) {
  return {name, member, about, false, true};
}

// A field that is not simply a member. `Functions` has read(Value, At, Object&), write(Writer&, Object),
// present(Object) and schema(Schemas&), and a constant `always_written` if present() is always true.
template <class Functions>
struct Special {
  std::string_view name;
  std::string_view about;
  bool required = false;
};

// The fields of a member as fields of the object around it. `Inner` is a field of the member.
template <auto outer, class Inner>
struct Inside {
  std::string_view name;
  std::string_view about;
  bool required;
  Inner field;
};
template <auto outer, class... Fields>
constexpr auto inside(const std::tuple<Fields...>& fields) {
  return std::apply(
      [](const auto&... each) {
        return std::tuple{Inside<outer, Fields>{each.name, each.about, each.required, each}...};
      },
      fields);
}

template <>
struct Codec<bool> {
  static Result<void> read(const Value& value, const At& at, bool& out) {
    if (value.kind() != Value::Kind::boolean) return wrong_type(at, "true or false", value);
    out = value.boolean();
    return {};
  }
  static void write(Writer& writer, bool value) { writer.boolean(value); }
  static std::string schema(Schemas&) { return R"({"type":"boolean"})"; }
};

template <std::integral T>
  requires(!std::same_as<T, bool>)
struct Codec<T> {
  static Result<void> read(const Value& value, const At& at, T& out) {
    if (value.kind() != Value::Kind::number) return wrong_type(at, "a whole number", value);
    const auto number = value.whole_number();
    if (!number) return refuse(at, "must be a whole number within 64 bits");
    if (!std::in_range<T>(*number)) {
      return refuse(at, "is " + std::to_string(*number) +
                            "; allowed: " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                            std::to_string(std::numeric_limits<T>::max()));
    }
    out = static_cast<T>(*number);
    return {};
  }
  static void write(Writer& writer, T value) {
    if constexpr (std::is_signed_v<T>) {
      writer.number(value);
    } else {
      writer.unsigned_number(value);
    }
  }
  static std::string schema(Schemas&) {
    if constexpr (std::is_signed_v<T>) return R"({"type":"integer","format":"int64"})";
    return R"({"type":"integer","format":"int64","minimum":0})";
  }
};

template <>
struct Codec<std::string> {
  static Result<void> read(const Value& value, const At& at, std::string& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    out = value.text();
    return {};
  }
  static void write(Writer& writer, const std::string& value) { writer.text(value); }
  static std::string schema(Schemas&) { return R"({"type":"string"})"; }
};

template <>
struct Codec<Uuid> {
  static Result<void> read(const Value& value, const At& at, Uuid& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    const auto uuid = parse_uuid(value.text());
    if (!uuid) return refuse(at, uuid.error().message);
    out = *uuid;
    return {};
  }
  static void write(Writer& writer, const Uuid& value) { writer.text(to_string(value)); }
  static std::string schema(Schemas&) { return R"({"type":"string","format":"uuid"})"; }
};

template <>
struct Codec<ExecutionId> {
  static Result<void> read(const Value& value, const At& at, ExecutionId& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    const auto id = parse_execution_id(value.text());
    if (!id) return refuse(at, id.error().message);
    out = *id;
    return {};
  }
  static void write(Writer& writer, const ExecutionId& value) { writer.text(to_string(value)); }
  static std::string schema(Schemas&) {
    return R"({"type":"string","examples":["fp17-0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41"]})";
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static Result<void> read(const Value& value, const At& at, std::optional<T>& out) {
    // Null is no value: a filter or a guard that was meant to be set would be dropped silently.
    return Codec<T>::read(value, at, out.emplace());
  }
  static void write(Writer& writer, const std::optional<T>& value) { Codec<T>::write(writer, *value); }
  static std::string schema(Schemas& schemas) { return Codec<T>::schema(schemas); }
};

template <class T>
struct Codec<std::vector<T>> {
  static Result<void> read(const Value& value, const At& at, std::vector<T>& out) {
    if (value.kind() != Value::Kind::array) return wrong_type(at, "an array", value);
    out.clear();
    for (const Value& element : value.elements()) {
      const At here{&at, {}, out.size()};
      FF_TRY_VOID(Codec<T>::read(element, here, out.emplace_back()));
    }
    return {};
  }
  static void write(Writer& writer, const std::vector<T>& value) {
    writer.begin_array();
    for (const T& element : value) Codec<T>::write(writer, element);
    writer.end_array();
  }
  static std::string schema(Schemas& schemas) {
    return R"({"type":"array","items":)" + Codec<T>::schema(schemas) + "}";
  }
};

template <>
struct Codec<Tags> {
  static Result<void> read(const Value& value, const At& at, Tags& out) {
    if (value.kind() != Value::Kind::object) return wrong_type(at, "an object", value);
    out.clear();
    for (const Value::Member& member : value.members()) {
      const At here{&at, member.key, 0};
      std::string text;
      FF_TRY_VOID(Codec<std::string>::read(member.value, here, text));
      if (!out.emplace(member.key, std::move(text)).second) return refuse(here, "appears twice");
    }
    return {};
  }
  static void write(Writer& writer, const Tags& value) {
    writer.begin_object();
    for (const auto& [key, text] : value) {
      writer.key(key);
      writer.text(text);
    }
    writer.end_object();
  }
  static std::string schema(Schemas&) { return R"({"type":"object","additionalProperties":{"type":"string"}})"; }
};

template <class Number>
struct Codec<std::map<std::string, Number>> {
  using Numbers = std::map<std::string, Number>;
  static Result<void> read(const Value& value, const At& at, Numbers& out) {
    if (value.kind() != Value::Kind::object) return wrong_type(at, "an object", value);
    out.clear();
    for (const Value::Member& member : value.members()) {
      const At here{&at, member.key, 0};
      Number amount = 0;
      FF_TRY_VOID(Codec<Number>::read(member.value, here, amount));
      if (!out.emplace(member.key, amount).second) return refuse(here, "appears twice");
    }
    return {};
  }
  static void write(Writer& writer, const Numbers& value) {
    writer.begin_object();
    for (const auto& [key, amount] : value) {
      writer.key(key);
      Codec<Number>::write(writer, amount);
    }
    writer.end_object();
  }
  static std::string schema(Schemas& schemas) {
    return R"({"type":"object","additionalProperties":)" + Codec<Number>::schema(schemas) + "}";
  }
};

// A count for each key.
template <Named Key>
struct Codec<std::map<Key, std::uint64_t>> {
  using Counts = std::map<Key, std::uint64_t>;
  static Result<void> read(const Value& value, const At& at, Counts& out) {
    if (value.kind() != Value::Kind::object) return wrong_type(at, "an object", value);
    out.clear();
    for (const Value::Member& member : value.members()) {
      const At here{&at, member.key, 0};
      const auto key = named<Key>(member.key);
      if (!key) return refuse(here, "unknown field");
      if (out.contains(*key)) return refuse(here, "appears twice");
      FF_TRY_VOID(Codec<std::uint64_t>::read(member.value, here, out[*key]));
    }
    return {};
  }
  static void write(Writer& writer, const Counts& value) {
    writer.begin_object();
    for (const auto& [key, count] : value) {
      writer.key(EnumRange<Key>::name(key));
      writer.unsigned_number(count);
    }
    writer.end_object();
  }
  static std::string schema(Schemas& schemas) {
    return R"({"type":"object","additionalProperties":)" + Codec<std::uint64_t>::schema(schemas) + "}";
  }
};

template <Named T>
struct Codec<T> {
  static Result<void> read(const Value& value, const At& at, T& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    const std::string text = value.text();
    const auto found = named<T>(text);
    if (!found) return refuse(at, "unknown value \"" + text + "\"; allowed: " + allowed_names<T>());
    out = *found;
    return {};
  }
  static void write(Writer& writer, T value) { writer.text(EnumRange<T>::name(value)); }
  static std::string schema(Schemas&) {
    Writer writer;
    writer.begin_object();
    writer.key("type");
    writer.text("string");
    writer.key("enum");
    writer.begin_array();
    for (int i = static_cast<int>(EnumRange<T>::first); i <= static_cast<int>(EnumRange<T>::last); ++i) {
      writer.text(EnumRange<T>::name(static_cast<T>(i)));
    }
    writer.end_array();
    writer.end_object();
    return writer.take();
  }
};

// ---- Objects

namespace detail {

template <class T>
constexpr bool is_number = std::integral<T> && !std::same_as<T, bool>;
template <class T>
constexpr bool is_number<std::optional<T>> = is_number<T>;
template <class T>
constexpr bool is_text = std::same_as<T, std::string> || std::same_as<T, std::optional<std::string>>;
template <class T>
constexpr bool is_array = false;
template <class T>
constexpr bool is_array<std::vector<T>> = true;
template <class T>
constexpr bool is_array<std::optional<std::vector<T>>> = true;

// Whether the type has room for a number. What is no whole number is left to its codec.
template <class T>
bool fits(const Value& value) {
  if (value.kind() != Value::Kind::number) return true;
  const auto number = value.whole_number();
  if constexpr (requires { typename T::value_type; })
    return !number || std::in_range<typename T::value_type>(*number);
  else
    return !number || std::in_range<T>(*number);
}

// `Whole` may be derived from the struct in which the field was declared.
template <class Object, class Member, class Whole>
Result<void> read_field(const Field<Object, Member>& field, const Value& value, const At& at, Whole& out) {
  // Only what the type cannot hold is refused here: of many items in one body the others may be good.
  if constexpr (is_number<Member>) {
    if (field.bounds.given() && !fits<Member>(value)) return out_of_bounds(value, at, field.bounds);
  }
  return Codec<Member>::read(value, at, out.*(field.member));
}
template <class Functions, class Object>
Result<void> read_field(const Special<Functions>&, const Value& value, const At& at, Object& out) {
  return Functions::read(value, at, out);
}

template <auto outer, class Inner, class Whole>
Result<void> read_field(const Inside<outer, Inner>& inside, const Value& value, const At& at, Whole& out) {
  return read_field(inside.field, value, at, out.*outer);
}

template <class Object, class Member>
bool is_always_written(const Field<Object, Member>& field) {
  return !field.omit_unset && !requires(Member value) { value.has_value(); };
}
template <class Functions>
bool is_always_written(const Special<Functions>&) {
  return requires { Functions::always_written; };
}

template <auto outer, class Inner>
bool is_always_written(const Inside<outer, Inner>& inside) {
  return is_always_written(inside.field);
}

template <class Object, class Member, class Whole>
bool is_present(const Field<Object, Member>& field, const Whole& object) {
  const Member& value = object.*(field.member);
  if constexpr (requires { value.has_value(); }) return value.has_value();
  if constexpr (std::integral<Member>) return !field.omit_unset || value != 0;
  if constexpr (std::same_as<Member, std::string> || requires { typename Member::mapped_type; }) {
    return !field.omit_unset || !value.empty();
  }
  return true;
}
template <class Functions, class Object>
bool is_present(const Special<Functions>&, const Object& object) {
  return Functions::present(object);
}

template <auto outer, class Inner, class Whole>
bool is_present(const Inside<outer, Inner>& inside, const Whole& object) {
  return is_present(inside.field, object.*outer);
}

template <class Object, class Member, class Whole>
void write_field(Writer& writer, const Field<Object, Member>& field, const Whole& object) {
  Codec<Member>::write(writer, object.*(field.member));
}
template <class Functions, class Object>
void write_field(Writer& writer, const Special<Functions>&, const Object& object) {
  Functions::write(writer, object);
}

template <auto outer, class Inner, class Whole>
void write_field(Writer& writer, const Inside<outer, Inner>& inside, const Whole& object) {
  write_field(writer, inside.field, object.*outer);
}

// The schemas of what has bounds.
std::string number_schema(const Bounds& bounds);
std::string text_schema(const Bounds& bounds);
std::string with_bounds(std::string schema, const Bounds& bounds, const char* min_name, const char* max_name);

template <class Object, class Member>
std::string field_schema(const Field<Object, Member>& field, Schemas& schemas) {
  if (field.longest_entry > 0) {
    const std::string entries = R"({"type":"array","items":)" + text_schema({1, field.longest_entry}) + "}";
    return with_bounds(entries, field.bounds, "minItems", "maxItems");
  }
  if (field.bounds.given()) {
    if constexpr (is_number<Member>) return number_schema(field.bounds);
    if constexpr (is_text<Member>) return text_schema(field.bounds);
    const bool array = is_array<Member>;
    return with_bounds(Codec<Member>::schema(schemas), field.bounds, array ? "minItems" : "minProperties",
                       array ? "maxItems" : "maxProperties");
  }
  return Codec<Member>::schema(schemas);
}
template <class Functions>
std::string field_schema(const Special<Functions>&, Schemas& schemas) {
  return Functions::schema(schemas);
}

template <auto outer, class Inner>
std::string field_schema(const Inside<outer, Inner>& inside, Schemas& schemas) {
  return field_schema(inside.field, schemas);
}

// A schema with a description.
std::string described(const std::string& schema, std::string_view about);

}  // namespace detail

template <Shaped T>
struct Codec<T> {
  static Result<void> read(const Value& value, const At& at, T& out) {
    if (value.kind() != Value::Kind::object) return wrong_type(at, "an object", value);
    std::vector<std::string_view> seen;
    const auto members = value.members();
    for (const Value::Member& member : members) {
      const At here{&at, member.key, 0};
      for (const std::string_view before : seen) {
        if (before == member.key) return refuse(here, "appears twice");
      }
      FF_TRY_VOID(read_member(member, here, out));
      seen.push_back(member.key);
    }
    FF_TRY_VOID(check_required(seen, at));
    return {};
  }

  static void write(Writer& writer, const T& value) {
    writer.begin_object();
    std::apply(
        [&](const auto&... fields) {
          const auto one = [&](const auto& field) {
            if (!detail::is_present(field, value)) return;
            writer.key(field.name);
            detail::write_field(writer, field, value);
          };
          (one(fields), ...);
        },
        Shape<T>::fields);
    writer.end_object();
  }

  static std::string schema(Schemas& schemas) {
    const std::string name(Shape<T>::name);
    if (!schemas.named.contains(name)) {
      schemas.named[name] = {};  // a type may contain itself
      schemas.named[name] = object_schema(schemas);
    }
    return schema_reference(name);
  }

 private:
  static Result<void> read_member(const Value::Member& member, const At& here, T& out) {
    std::optional<Result<void>> outcome;
    std::apply(
        [&](const auto&... fields) {
          const auto one = [&](const auto& field) {
            if (field.name == member.key) outcome = detail::read_field(field, member.value, here, out);
          };
          (one(fields), ...);
        },
        Shape<T>::fields);
    if (outcome) return std::move(*outcome);
    if (may_be_newer(here)) return {};
    return refuse(here, "unknown field; allowed: " + names_of_fields());
  }

  static std::string names_of_fields() {
    std::string names;
    std::apply([&](const auto&... fields) { ((names += (names.empty() ? "" : ", ") + std::string(fields.name)), ...); },
               Shape<T>::fields);
    return names;
  }

  static Result<void> check_required(const std::vector<std::string_view>& seen, const At& at) {
    std::string_view missing;
    std::apply(
        [&](const auto&... fields) {
          const auto one = [&](const auto& field) {
            if (!field.required || !missing.empty()) return;
            for (const std::string_view name : seen) {
              if (name == field.name) return;
            }
            missing = field.name;
          };
          (one(fields), ...);
        },
        Shape<T>::fields);
    if (missing.empty()) return {};
    return refuse(At{&at, missing, 0}, "is missing");
  }

  static std::string object_schema(Schemas& schemas) {
    Writer properties;
    Writer required;
    bool any_required = false;
    properties.begin_object();
    required.begin_array();
    std::apply(
        [&](const auto&... fields) {
          const auto one = [&](const auto& field) {
            properties.key(field.name);
            properties.raw(detail::described(detail::field_schema(field, schemas), field.about));
            if (schemas.of_replies ? !detail::is_always_written(field) : !field.required) return;
            required.text(field.name);
            any_required = true;
          };
          (one(fields), ...);
        },
        Shape<T>::fields);
    properties.end_object();
    required.end_array();
    Writer writer;
    writer.begin_object();
    writer.key("type");
    writer.text("object");
    writer.key("additionalProperties");
    writer.boolean(false);
    writer.key("properties");
    writer.raw(properties.take());
    if (any_required) {
      writer.key("required");
      writer.raw(required.take());
    }
    writer.end_object();
    return writer.take();
  }
};

// ---- Whole documents

// Fields that are absent in the document keep their values.
template <class T>
Result<void> read_json(std::string_view text, T& value) {
  FF_TRY(document, parse_document(text));
  return Codec<T>::read(document, At{}, value);
}

template <class T>
Result<T> from_json(std::string_view text) {
  T value{};
  FF_TRY_VOID(read_json(text, value));
  return value;
}

// For clients: the reply of a newer server may have unknown fields.
template <class T>
Result<T> from_reply(std::string_view text) {
  FF_TRY(document, parse_document(text));
  T value{};
  FF_TRY_VOID(Codec<T>::read(document, At{nullptr, {}, 0, true}, value));
  return value;
}

template <class T>
std::string to_json(const T& value) {
  Writer writer;
  Codec<T>::write(writer, value);
  return writer.take();
}

}  // namespace flowfabric::wire
