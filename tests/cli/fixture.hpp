// A store with a few executions in every state, and the program with this target: the store directly, or a server on
// it.
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

struct Way {
  test::StoreKind store{};
  bool served = false;  // the program uses a server
};
// Both ways for every store that outlives a process.
std::vector<Way> all_ways();
std::string way_name(const testing::TestParamInfo<Way>& info);
inline void PrintTo(const Way& way, std::ostream* out) { *out << way.store.name << (way.served ? "_served" : ""); }

Words operator+(Words words, const Words& more);
bool contains(const std::string& text, const std::string& part);
std::size_t lines(const std::string& text);
std::string text(const boost::json::value& value);

// The ids of the executions of populate().
struct People {
  std::vector<std::string> waiting{};  // three on lane mail; the first has the tag app.team=billing
  std::string failed{};                // the others are on lane work
  std::string completed{};             // its payload is not text
  std::string active{};                // held by w-1 for an hour
  std::string delayed{};
};

class OnAStore : public testing::TestWithParam<Way> {
 protected:
  OnAStore();

  // Of the store, and of the program's target.
  std::string url() const { return database_->url(); }
  std::string place() const { return server_ ? server_->url() : url(); }
  bool served() const { return GetParam().served; }
  // A server has its own name for the actor, so a client cannot use another.
  Words by(const std::string& name) const { return served() ? Words{} : Words{"--by", name}; }
  std::string actor(const std::string& name) const { return served() ? "local" : name; }
  // An engine of this process; close it before the program runs, so that there is one actor at a time.
  std::unique_ptr<Engine> open_engine() const;
  void populate();
  void create_many(const std::string& lane, std::size_t count) const;

  // Runs the program there.
  Finished run(const Words& words) const;
  // The same with --json; checks for success.
  boost::json::value run_json(Words words) const;
  std::set<std::string> states_of(const std::vector<std::string>& ids) const;

  People people;

 private:
  std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<RunningServer> server_;
};

}  // namespace flowfabric::cli_test
