// Errors as JSON. A part of shapes.hpp, which has the names of the enums; include that one.
#pragma once

#include <flowfabric/result.hpp>

#include "wire/shape.hpp"

namespace flowfabric::wire {

template <>
struct Shape<Error> {
  static constexpr std::string_view name = "ErrorDetail";
  struct Retryable {
    static constexpr bool always_written = true;
    // It is determined by the code.
    static Result<void> read(const Value&, const At&, Error&) { return {}; }
    static bool present(const Error&) { return true; }
    static void write(Writer& writer, const Error& error) { writer.boolean(describe(error.code).retryable); }
    static std::string schema(Schemas& schemas) { return Codec<bool>::schema(schemas); }
  };
  struct FieldName {
    static Result<void> read(const Value& value, const At& at, Error& out) {
      return Codec<std::string>::read(value, at, out.field);
    }
    static bool present(const Error& error) { return !error.field.empty(); }
    static void write(Writer& writer, const Error& error) { writer.text(error.field); }
    static std::string schema(Schemas& schemas) { return Codec<std::string>::schema(schemas); }
  };
  struct Details {
    static Result<void> read(const Value& value, const At& at, Error& out) {
      Tags pairs;
      FF_TRY_VOID(Codec<Tags>::read(value, at, pairs));
      out.details.assign(pairs.begin(), pairs.end());
      return {};
    }
    static bool present(const Error& error) { return !error.details.empty(); }
    static void write(Writer& writer, const Error& error) {
      Codec<Tags>::write(writer, Tags(error.details.begin(), error.details.end()));
    }
    static std::string schema(Schemas& schemas) { return Codec<Tags>::schema(schemas); }
  };
  static constexpr auto fields = std::tuple{
      required("code", &Error::code, "The error code; stable."),
      required("message", &Error::message, "What was wrong and what is allowed; may change."),
      Special<FieldName>{"field", "The name of the invalid input, if any."},
      Special<Retryable>{"retryable", "Whether the same request may succeed if it is repeated."},
      Special<Details>{"details", "More data, depending on the code."},
  };
};

// The body of every error response.
struct ErrorBody {
  Error error{};
};
template <>
struct Shape<ErrorBody> {
  static constexpr std::string_view name = "Error";
  static constexpr auto fields = std::tuple{required("error", &ErrorBody::error, "The error.")};
};

}  // namespace flowfabric::wire
