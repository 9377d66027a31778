// A store with a few executions in every state, and the program pointed at it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <flowfabric/engine.hpp>

#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "support/stores.hpp"

namespace flowfabric::cli_test {

// The stores that outlive a process.
std::vector<test::StoreKind> persistent_stores();
std::string store_name(const testing::TestParamInfo<test::StoreKind>& info);

bool contains(const std::string& text, const std::string& part);
std::size_t lines(const std::string& text);
std::string text(const boost::json::value& value);

// The ids of what populate() makes.
struct People {
  std::vector<std::string> waiting{};  // three on lane mail; the first has the tag app.team=billing
  std::string failed{};                // the others are on lane work
  std::string completed{};             // its payload is no text
  std::string active{};                // held by w-1 for an hour
  std::string delayed{};
};

class OnAStore : public testing::TestWithParam<test::StoreKind> {
 protected:
  OnAStore();

  std::string url() const { return database_->url(); }
  // An engine of this process; close it before the program runs, so that there is one actor at a time.
  std::unique_ptr<Engine> open_engine() const;
  void populate();
  void create_many(const std::string& lane, std::size_t count) const;

  // Runs the program on the store.
  Finished run(const Words& words) const;
  // The same with --json; checks that all went well.
  boost::json::value run_json(Words words) const;
  std::set<std::string> states_of(const std::vector<std::string>& ids) const;

  People people;

 private:
  std::unique_ptr<test::TestDatabase> database_;
};

}  // namespace flowfabric::cli_test
