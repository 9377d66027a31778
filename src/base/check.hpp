// FF_CHECK checks an invariant in every build. A violation ends the process with one line that names the place: a
// durable engine restarts safely, while continuing in a wrong state could lose work. FF_TRY unwraps a Result or returns
// its error.
#pragma once

#include <utility>

namespace flowfabric {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace flowfabric

#define FF_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::flowfabric::check_failed(#condition, __FILE__, __LINE__))

#define FF_CONCAT_INNER(a, b) a##b
#define FF_CONCAT(a, b) FF_CONCAT_INNER(a, b)

// FF_TRY(name, expression): declares `name` with the value of the expression, or returns its error.
#define FF_TRY(name, ...)                                                                \
  auto FF_CONCAT(ff_result_, __LINE__) = (__VA_ARGS__);                                  \
  if (!FF_CONCAT(ff_result_, __LINE__)) {                                                \
    return ::flowfabric::Unexpected(std::move(FF_CONCAT(ff_result_, __LINE__)).error()); \
  }                                                                                      \
  auto name = std::move(*FF_CONCAT(ff_result_, __LINE__))

// FF_TRY_VOID(expression): the same for Result<void>.
#define FF_TRY_VOID(...)                                             \
  do {                                                               \
    if (auto ff_status = (__VA_ARGS__); !ff_status) {                \
      return ::flowfabric::Unexpected(std::move(ff_status).error()); \
    }                                                                \
  } while (false)
