// Whether two values of a shape are equal, field by field. Unlike a comparison of the written text, it includes fields
// that the writer leaves out.
#pragma once

#include <type_traits>

#include <flowfabric/flows.hpp>

#include "wire/shape.hpp"

namespace flowfabric::fuzz {

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same<T>(a[i], b[i])) return false;
  }
  return true;
}

template <class Object, class Member, class Whole>
bool same_field(const wire::Field<Object, Member>& field, const Whole& a, const Whole& b) {
  return same(a.*(field.member), b.*(field.member));
}

template <class Functions, class Whole>
bool same_field(const wire::Special<Functions>&, const Whole& a, const Whole& b) {
  if (Functions::present(a) != Functions::present(b)) return false;
  if (!Functions::present(a)) return true;
  wire::Writer left;
  wire::Writer right;
  Functions::write(left, a);
  Functions::write(right, b);
  return left.take() == right.take();
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (wire::Shaped<T>) {
    return std::apply([&](const auto&... fields) { return (same_field(fields, a, b) && ...); }, wire::Shape<T>::fields);
  } else if constexpr (std::is_same_v<T, FlowNode>) {
    return a.name == b.name && same(a.request, b.request);
  } else {
    return a == b;
  }
}

}  // namespace flowfabric::fuzz
