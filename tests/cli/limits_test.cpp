// The commands for limits, on a store and through a server.
#include <fstream>
#include <map>
#include <stdexcept>

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "core/limit_records.hpp"
#include "open/open.hpp"
#include "store/sqlite/database.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

constexpr std::uint32_t limits_lease_ms = 3600 * 1000;

class LimitCommands : public OnAStore {
 protected:
  void SetUp() override { open_engine(); }  // the schema

  // Creates executions of a customer and claims what may start.
  std::vector<std::string> start(const std::string& customer, int count) const {
    const auto engine = open_engine();
    for (int i = 0; i < count; ++i) {
      CreateRequest request{.kind = "call"};
      request.tags["app.customer"] = customer;
      if (!engine->create(std::move(request))) throw std::runtime_error("not created");
    }
    const auto claimed = engine->claim({.worker_id = "w",
                                        .worker_instance_id = "w-1",
                                        .lanes = {"default"},
                                        .max_executions = 100,
                                        .lease_ttl_ms = limits_lease_ms});
    std::vector<std::string> ids;
    for (const ClaimedExecution& one : claimed.value()) ids.push_back(to_string(one.execution_id));
    return ids;
  }
  void says(const Words& words, const std::string& line) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.out, line + "\n");
  }
  void refuses(const Words& words, int code, const std::string& part) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_TRUE(contains(finished.err, part)) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  std::string file(const std::string& content) {
    const std::string path = folder_.file("limits.toml");
    std::ofstream(path) << content;
    return path;
  }

  test::TempDir folder_;
};

INSTANTIATE_TEST_SUITE_P(, LimitCommands, testing::ValuesIn(all_ways()), way_name);

TEST_P(LimitCommands, ALimitIsSetChangedAndRemoved) {
  says({"limits", "list"}, "no limits");
  const Words set = {"limits", "set", "customers", "--per", "tags.app.customer,kind"};
  says(set + Words{"--concurrency", "3"}, "limit customers was created");
  says(set + Words{"--concurrency", "3"}, "limit customers was like this already");
  says(set + Words{"--concurrency", "5", "--rate", "100/1m", "--burst", "7", "--expected-revision", "1"} + by("ann"),
       "limit customers was changed");
  const auto shown = run_json({"limits", "show", "customers"}).at("info");
  EXPECT_EQ(shown.at("concurrency"), 5);
  EXPECT_EQ(shown.at("rate").at("period_ms"), 60000);
  EXPECT_EQ(shown.at("rate").at("burst"), 7);
  EXPECT_EQ(shown.at("per").as_array().size(), 2U);
  EXPECT_EQ(text(shown.at("changed_by")), actor("ann"));
  const Finished listed = run({"limits", "list"});
  EXPECT_TRUE(contains(listed.out, "100/1m, burst 7")) << listed.out;
  says({"limits", "set", "customers", "--namespace", "shop", "--concurrency", "1"}, "limit shop/customers was created");
  says(Words{"limits", "remove", "customers", "--yes"} + by("ann"), "limit customers was removed");
  EXPECT_EQ(run_json({"limits", "list"}).at("limits").as_array().size(), 1U);
  const auto events =
      run_json({"events", "--cursor", "earliest", "--type", "limit_created,limit_changed,limit_removed"});
  EXPECT_EQ(events.at("events").as_array().size(), 4U) << boost::json::serialize(events);
}

TEST_P(LimitCommands, AShareHasWeights) {
  const Words set = {"limits", "set", "turns", "--lane", "default", "--per", "tags.app.customer", "--share"};
  says(set, "limit turns was created");
  says(set + Words{"--weight", "acme=5", "--weight", "=2"}, "limit turns was changed");
  const auto weights = run_json({"limits", "show", "turns"}).at("info").at("share").at("weights");
  EXPECT_EQ(boost::json::serialize(weights), R"({"":2,"acme":5})");
  EXPECT_TRUE(contains(run({"limits", "list"}).out, "\"\"=2, acme=5"));
  start("acme", 2);
  const Finished shown = run({"limits", "show", "turns"});
  EXPECT_TRUE(contains(shown.out, "WEIGHT") && contains(shown.out, "acme")) << shown.out;
  const Finished checked = run({"limits", "check", "--tag", "app.customer=acme"});
  EXPECT_TRUE(contains(checked.out, "give it a turn by weight 5")) << checked.out;
  EXPECT_TRUE(contains(checked.out, "it could start now")) << checked.out;
  refuses(set + Words{"--weight", "acme"}, 2, "--weight: must be a key and its weight");
  refuses(set + Words{"--weight", "a=1", "--weight", "a=2"}, 2, "--weight: names \"a\" twice");
  refuses(set + Words{"--weight", "a=0"}, 2, "share.weights.a: is 0; allowed: 1 to 1000");
  refuses(set + Words{"--concurrency", "3"}, 2, "share: cannot be in one limit with a concurrency");
  refuses({"limits", "set", "t", "--concurrency", "1", "--weight", "a=1"}, 2, "--weight: is for a limit with --share");
  refuses({"limits", "set", "t", "--lane", "default", "--per", "kind", "--share"}, 4,
          "lane: \"default\" has the share \"turns\" already");
  refuses({"limits", "set", "turns", "--lane", "default", "--per", "tags.app.customer", "--concurrency", "1"}, 4,
          "share: cannot be changed");
}

TEST_P(LimitCommands, ShowAndExplainSayWhoHasTheSlots) {
  run({"limits", "set", "customers", "--per", "tags.app.customer", "--concurrency", "1"});
  const auto running = start("acme", 2);
  ASSERT_EQ(running.size(), 1U);
  const Finished shown = run({"limits", "show", "customers"});
  EXPECT_TRUE(contains(shown.out, "acme") && contains(shown.out, running[0])) << shown.out;
  const auto keys = run_json({"limits", "show", "customers"}).at("keys").as_array();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].at("held_back"), 1);
  const auto listed = run_json({"executions", "list", "--state", "waiting"}).at("executions").as_array();
  ASSERT_EQ(listed.size(), 1U);
  const Finished explained = run({"executions", "explain", text(listed[0].at("execution_id"))});
  EXPECT_TRUE(contains(explained.out, "Limit \"customers\" has held it back since")) << explained.out;
  EXPECT_TRUE(contains(explained.out, "its slots are held by " + running[0])) << explained.out;
}

TEST_P(LimitCommands, ACheckSaysWhatWouldHappen) {
  says({"limits", "check", "--kind", "call"}, "no limit is for it; it could start now");
  run({"limits", "set", "customers", "--per", "tags.app.customer", "--concurrency", "1"});
  start("acme", 1);
  const Finished held = run({"limits", "check", "--kind", "call", "--tag", "app.customer=acme"});
  EXPECT_EQ(held.code, 0);
  EXPECT_TRUE(contains(held.out, "it would wait until a slot is free")) << held.out;
  const Finished free = run({"limits", "check", "--kind", "call", "--tag", "app.customer=other"});
  EXPECT_TRUE(contains(free.out, "it could start now")) << free.out;
  EXPECT_FALSE(run_json({"limits", "check", "--tag", "app.customer=acme"}).at("could_start").as_bool());
}

TEST_P(LimitCommands, BadInputIsRefusedByName) {
  const Words set = {"limits", "set", "l"};
  refuses(set, 2, "concurrency: is missing; a limit has a concurrency, a rate, a budget, or several of them");
  refuses(set + Words{"--concurrency", "0"}, 2, "to stop a lane, pause it");
  refuses(set + Words{"--concurrency=-1"}, 2, "--concurrency");
  refuses(set + Words{"--rate", "0/1m"}, 2, "rate.count: is 0; allowed: 1 to 1000000");
  refuses(set + Words{"--rate", "fast"}, 2, "--rate: must be a number of starts");
  refuses(set + Words{"--concurrency", "1", "--burst", "5"}, 2, "--burst: is for a limit with --rate");
  refuses(set + Words{"--rate", "5/1m", "--burst", "0"}, 2, "--burst");
  refuses(set + Words{"--concurrency", "1", "--per", "customer"}, 2, "allowed: tags.NAME, namespace, lane");
  refuses({"limits", "show", "l"}, 3, "there is no limit \"l\" for all namespaces");
  refuses({"limits", "remove", "l", "--namespace", "shop", "--yes"}, 3,
          "there is no limit \"l\" of namespace \"shop\"");
  run(set + Words{"--concurrency", "1"});
  refuses(set + Words{"--concurrency", "1", "--lane", "mail"}, 4, "lane: cannot be changed");
  refuses(set + Words{"--concurrency", "2", "--expected-revision", "7"}, 4, "has revision 1");
  says({"limits", "set", "l", "--concurrency", "1"}, "limit l was like this already");
}

TEST_P(LimitCommands, AFileIsAppliedAsAWhole) {
  const std::string path = file(
      "[limits.customers]\nper = [\"tags.app.customer\"]\nconcurrency = 3\n[limits.mails]\nlane = \"mail\"\nrate = "
      "\"100/1m\"\n");
  run({"limits", "set", "old", "--concurrency", "9"});
  run({"limits", "set", "mails", "--lane", "mail", "--concurrency", "9"});
  says({"limits", "apply", path, "--prune", "--dry-run"},
       "removed    old\ncreated    customers\nchanged    mails\n"
       "1 created, 1 changed, 0 unchanged, 1 removed (dry run: nothing was changed)");
  EXPECT_EQ(run_json({"limits", "list"}).at("limits").as_array().size(), 2U);
  says({"limits", "apply", path},
       "created    customers\nchanged    mails\n1 created, 1 changed, 0 unchanged, 0 removed");
  const auto again = run_json({"limits", "apply", path});
  EXPECT_EQ(again.at("unchanged"), 2);
  EXPECT_EQ(again.at("changed"), 0);
  says({"limits", "apply", path, "--prune"},
       "removed    old\nunchanged  customers\nunchanged  mails\n0 created, 0 changed, 2 unchanged, 1 removed");
  EXPECT_EQ(run_json({"limits", "list"}).at("limits").as_array().size(), 2U);
}

TEST_P(LimitCommands, ABadFileChangesNothing) {
  const std::string good = "[limits.a]\nconcurrency = 1\n";
  refuses({"limits", "apply", file(good + "[limits.b]\nconcurrency = 0\n")}, 2, "line 4: limits.b.concurrency: is 0");
  refuses({"limits", "apply", file(good + "[limits.b]\nspeed = 1\n")}, 2, "line 4: limits.b.speed: unknown setting");
  refuses({"limits", "apply", file("# empty\n"), "--prune"}, 2, "has no limits, and --prune would remove all");
  refuses({"limits", "apply", folder_.file("missing.toml")}, 5, "missing.toml");
  run({"limits", "set", "b", "--lane", "x", "--concurrency", "1"});
  refuses({"limits", "apply", file(good + "[limits.b]\nconcurrency = 1\n")}, 4,
          "line 4: limits.b: lane: cannot be changed");
  EXPECT_EQ(run_json({"limits", "list"}).at("limits").as_array().size(), 1U);
}

TEST_P(LimitCommands, TheExampleFileCanBeApplied) {
  const Finished applied = run({"limits", "apply", FF_SOURCE_DIR "/deploy/limits.toml"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_TRUE(contains(applied.out, "5 created, 0 changed, 0 unchanged, 0 removed")) << applied.out;
}

// ---------------------------------------------------------------- a lost slot

Record pool_in(const std::string& url) {
  const auto store = open_store(url, {});
  const auto pools = store.value()->scan(RecordKind::limit_pool, "", 10);
  return pools.value().at(0);
}

std::map<ExecutionId, std::uint64_t> epochs_of(const Record& pool) {
  std::map<ExecutionId, std::uint64_t> epochs;
  const PoolRecord decoded = decode_pool(pool).value();
  for (const SlotHolder& holder : decoded.holders) epochs[holder.execution_id] = holder.lease_epoch;
  return epochs;
}

TEST(LostSlots, AreReportedAndCountedAnew) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("store.db");
  ASSERT_EQ(run_program({"migrate", url}).code, 0);
  ASSERT_EQ(run_program({"limits", "set", "l", "--concurrency", "2", "--store", url}).code, 0);
  {
    const auto engine = Engine::open(url).value();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine->create(CreateRequest{.kind = "call"}));
    ASSERT_EQ(engine
                  ->claim({.worker_id = "w",
                           .worker_instance_id = "w-1",
                           .lanes = {"default"},
                           .max_executions = 3,
                           .lease_ttl_ms = limits_lease_ms})
                  .value()
                  .size(),
              2U);
  }
  EXPECT_EQ(run_program({"integrity", url}).out, "no problems found\n");
  const Record before = pool_in(url);
  PoolRecord pool = decode_pool(before).value();
  pool.holders[0].lease_epoch += 1;  // a slot that no lease has, and a lease without a slot
  {
    auto database = sqlite::Database::open(folder.file("store.db")).value();
    auto update = database.prepare("UPDATE root SET body = ? WHERE key = ?").value();
    const std::string body = encode(pool);
    update.bind_blob(1, body);
    update.bind_blob(2, before.key.bytes);
    ASSERT_TRUE(update.run());
  }
  const Finished found = run_program({"integrity", url});
  EXPECT_EQ(found.code, 1);
  EXPECT_TRUE(contains(found.out,
                       "limit \"l\" counts 2 slots as taken; executions have 1 of them, and 1 that it does not count"))
      << found.out;
  EXPECT_TRUE(contains(found.out, "one problem found")) << found.out;
  const Finished repaired = run_program({"integrity", "--repair", url});
  EXPECT_TRUE(contains(repaired.out, "counted the slots anew")) << repaired.out;
  EXPECT_EQ(run_program({"integrity", url}).out, "no problems found\n");
  EXPECT_EQ(epochs_of(pool_in(url)), epochs_of(before));
}

}  // namespace
}  // namespace flowfabric::cli_test
