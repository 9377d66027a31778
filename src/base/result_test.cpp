#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "flowfabric/result.hpp"

namespace flowfabric {
namespace {

struct Animal {
  virtual ~Animal() = default;
  virtual int legs() const { return 0; }
};
struct Dog final : Animal {
  int legs() const override { return 4; }
};

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::invalid_argument, "odd", "number");
  return number / 2;
}

Result<std::string> quarter(int number) {
  FF_TRY(first, half(number));
  FF_TRY(second, half(first));
  return std::to_string(second);
}

Result<void> only_even(int number) {
  FF_TRY_VOID([&]() -> Result<void> {
    if (number % 2 != 0) return fail(Errc::invalid_argument, "odd");
    return {};
  }());
  return {};
}

TEST(Results, HoldAValueOrAnError) {
  const Result<int> good = half(4);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 2);
  EXPECT_EQ(good.value(), 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error(), (Error{Errc::invalid_argument, "odd", "number", {}}));
}

TEST(Results, PassErrorsOn) {
  EXPECT_EQ(quarter(8).value(), "2");
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(only_even(2));
  EXPECT_EQ(only_even(1).error().code, Errc::invalid_argument);
}

TEST(Results, ThrowTheMessageWhenThereIsNoValue) {
  try {
    static_cast<void>(half(1).value());
    FAIL() << "no exception";
  } catch (const BadResultAccess& failure) {
    EXPECT_STREQ(failure.what(), "odd");
  }
  EXPECT_THROW(only_even(1).value(), BadResultAccess);
  EXPECT_NO_THROW(only_even(2).value());
}

TEST(Results, HaveAnotherValueInstead) {
  EXPECT_EQ(half(4).value_or(7), 2);
  EXPECT_EQ(half(3).value_or(7), 7);
  Result<std::unique_ptr<int>> owned(std::make_unique<int>(5));
  EXPECT_EQ(*std::move(owned).value_or(nullptr), 5);
}

TEST(Results, ConvertAsTheirValuesDo) {
  Result<std::unique_ptr<Animal>> animal = Result<std::unique_ptr<Dog>>(std::make_unique<Dog>());
  ASSERT_TRUE(animal);
  EXPECT_EQ((*animal)->legs(), 4);
  const Result<std::unique_ptr<Animal>> none = Result<std::unique_ptr<Dog>>(fail(Errc::not_found, "no dog"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no dog");
  animal = fail(Errc::internal, "gone");
  EXPECT_EQ(animal.error().message, "gone");
  animal = std::make_unique<Dog>();
  EXPECT_EQ((*animal)->legs(), 4);
}

// A Result tests as true when it has a value. That must not become the value of a Result<bool>.
TEST(Results, OfBoolTakeTheValueOfAnother) {
  const Result<bool> is_zero(Result<int>(0));
  ASSERT_TRUE(is_zero);
  EXPECT_FALSE(*is_zero);
  const Result<bool> broken(half(1));
  EXPECT_FALSE(broken);
}

TEST(Results, MayHoldAnother) {
  using Outer = Result<Result<int>, std::string>;
  const Outer inside = half(1);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->error().message, "odd");
  const Outer outside = Unexpected(std::string("no connection"));
  EXPECT_EQ(outside.error(), "no connection");

  // Also if the errors are of the same type.
  const Result<Result<int>> whole = half(1);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->error().message, "odd");
  const Result<Result<int>> good = half(4);
  EXPECT_EQ(**good, 2);
  const Result<Result<int>> failed = fail(Errc::internal, "no connection");
  EXPECT_EQ(failed.error().message, "no connection");
}

TEST(Results, AreMovedOutOf) {
  Result<std::unique_ptr<int>> owned(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(owned);
  EXPECT_EQ(*taken, 5);
  Result<int> failed = half(1);
  const Error error = std::move(failed).error();
  EXPECT_EQ(error.message, "odd");
}

TEST(Results, Compare) {
  EXPECT_EQ(half(4), Result<int>(2));
  EXPECT_NE(half(4), Result<int>(3));
  EXPECT_EQ(half(1), half(3));
  EXPECT_NE(half(1), half(2));
  EXPECT_EQ(only_even(2), Result<void>());
}

// What does not convert does not compile, so callers can ask for it.
static_assert(!std::is_convertible_v<std::string, Result<int>>);
static_assert(!std::is_convertible_v<Result<std::string>, Result<int>>);
static_assert(!std::is_convertible_v<Result<int>, bool>);
static_assert(std::is_nothrow_move_constructible_v<Result<std::unique_ptr<int>>>);

}  // namespace
}  // namespace flowfabric
