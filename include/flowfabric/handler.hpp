// What a handler may look like.
//
//   Receipt charge(Task& task, Invoice invoice);      // with the task: steps, progress, cancellation
//   Receipt charge(Invoice invoice);                  // only the input
//   Json charge(Task& task);                          // reads the input itself: task.input<Invoice>()
//
// The result is void, Bytes, or a type that Convert knows (flowfabric/convert.hpp), and so is the input. Functions, lambdas
// and function objects all do, unless they are overloaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <flowfabric/task.hpp>

namespace flowfabric {

struct KindOptions {
  std::uint32_t concurrency = 0;  // at most so many of this kind at once in this worker; 0: as many as the worker runs
  // The steps of the handler in their order: "name", "name?" for one that may be left out, "name*" for one that may come any
  // number of times. A handler that comes to another step fails as `handler_changed`, and `flowfabric check-deploy` compares
  // the list with what unfinished executions have recorded. Absent: the handler declares nothing.
  std::optional<std::vector<std::string>> steps{};
};

// A handler in its one stored form: what it returns is what is stored.
using Handler = std::function<Bytes(Task&)>;

namespace detail {

// The parameters and the result of a callable.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
  using Result = R;
  template <std::size_t i>
  using Parameter = std::tuple_element_t<i, std::tuple<A...>>;
  static constexpr std::size_t count = sizeof...(A);
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};

template <class R, class Call>
Bytes bytes_returned(Call&& call) {
  if constexpr (std::is_void_v<R>) {
    call();
    return {};
  } else {
    return encode_value<std::decay_t<R>>(call());
  }
}

}  // namespace detail

template <class F>
Handler make_handler(F handler) {
  using Signature = detail::Signature<std::decay_t<F>>;
  using R = typename Signature::Result;
  static_assert(Signature::count == 1 || Signature::count == 2, "a handler takes (Task&), (Task&, Input) or (Input)");
  using First = typename Signature::template Parameter<0>;
  if constexpr (Signature::count == 2) {
    static_assert(std::is_same_v<std::remove_reference_t<First>, Task>, "the first of two parameters is Task&");
    using Input = std::decay_t<typename Signature::template Parameter<1>>;
    return [handler = std::move(handler)](Task& task) mutable {
      auto input = task.input<Input>();
      return detail::bytes_returned<R>([&]() -> R { return handler(task, std::move(input)); });
    };
  } else if constexpr (std::is_same_v<std::remove_reference_t<First>, Task>) {
    return [handler = std::move(handler)](Task& task) mutable {
      return detail::bytes_returned<R>([&]() -> R { return handler(task); });
    };
  } else {
    return [handler = std::move(handler)](Task& task) mutable {
      auto input = task.input<std::decay_t<First>>();
      return detail::bytes_returned<R>([&]() -> R { return handler(std::move(input)); });
    };
  }
}

}  // namespace flowfabric
