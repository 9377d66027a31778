#include <set>

#include <gtest/gtest.h>

#include <flowfabric/result.hpp>

#include "base/check.hpp"

namespace flowfabric {
namespace {

TEST(Errors, EveryCodeHasARow) {
  std::set<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(Errc::internal); ++i) {
    const auto code = static_cast<Errc>(i);
    const ErrcInfo& info = describe(code);
    EXPECT_EQ(info.code, code);
    EXPECT_FALSE(info.text.empty());
    EXPECT_EQ(to_string(code), info.text);
    EXPECT_TRUE(texts.insert(info.text).second) << info.text << " stands there twice";
    EXPECT_GE(info.http_status, 400);
    EXPECT_LT(info.http_status, 600);
    EXPECT_GT(info.exit_code, 0);
    EXPECT_LT(info.exit_code, 126) << "the shell has its own meaning for higher ones";
  }
  EXPECT_EQ(texts.size(), 38u);
}

TEST(Errors, WhatMayBeRepeatedSaysSo) {
  const std::set<Errc> repeatable = {Errc::contended, Errc::overloaded,  Errc::throttled,      Errc::shutting_down,
                                     Errc::timed_out, Errc::unavailable, Errc::outcome_unknown};
  for (int i = 0; i <= static_cast<int>(Errc::internal); ++i) {
    const auto code = static_cast<Errc>(i);
    EXPECT_EQ(describe(code).retryable, repeatable.contains(code)) << to_string(code);
  }
}

TEST(Errors, AFailureCarriesItsParts) {
  const Result<int> result = fail(Errc::not_found, "no such lane", "lane");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{Errc::not_found, "no such lane", "lane", {}}));
}

Result<int> half(Result<int> value) {
  FF_TRY(whole, std::move(value));
  return whole / 2;
}

Result<int> seven_if(const Result<void>& status) {
  FF_TRY_VOID(status);
  return 7;
}

TEST(Errors, TryUnwrapsOrReturnsTheError) {
  EXPECT_EQ(half(8), 4);
  EXPECT_EQ(half(fail(Errc::conflict, "taken")).error().code, Errc::conflict);
  EXPECT_EQ(seven_if({}), 7);
  EXPECT_EQ(seven_if(fail(Errc::timed_out, "late")).error().code, Errc::timed_out);
}

TEST(ErrorsDeathTest, ABrokenInvariantEndsTheProcessWithOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(FF_CHECK(1 + 1 == 3), "broken invariant: 1 \\+ 1 == 3");
  FF_CHECK(1 + 1 == 2);
}

}  // namespace
}  // namespace flowfabric
