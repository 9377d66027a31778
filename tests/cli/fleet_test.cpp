// Workers, leases, keys and retention, by the real program on real stores.
#include <chrono>
#include <thread>

#include "cli/fixture.hpp"
#include "support/http_server.hpp"

namespace flowfabric::cli_test {
namespace {

class Fleet : public OnAStore {
 protected:
  void register_workers() const {
    const auto engine = open_engine();
    for (const char* instance : {"w-1", "w-2"}) {
      WorkerRegistration registration;
      registration.worker_id = "w";
      registration.worker_instance_id = instance;
      registration.lanes = {"work"};
      registration.liveness_ttl_ms = 3600 * 1000;
      if (std::string(instance) == "w-2") registration.capabilities = {"gpu"};
      ASSERT_TRUE(engine->register_worker(registration));
    }
  }

  // An execution whose lease has expired: without an engine that could process it, or with one that must not requeue
  // it.
  std::string abandon() const {
    const auto engine = open_engine();
    CreateRequest lost{.lane = "lost", .kind = "count"};
    if (served()) lost.policy.on_lease_lost = OnLeaseLost::manual;
    const auto created = engine->create(lost);
    ClaimRequest request;
    request.worker_id = "w";
    request.worker_instance_id = "w-9";
    request.lanes = {"lost"};
    request.lease_ttl_ms = 300;
    EXPECT_EQ(engine->claim(request)->size(), 1u);
    return to_string(created->execution_id);
  }
};
INSTANTIATE_TEST_SUITE_P(, Fleet, testing::ValuesIn(all_ways()), way_name);

TEST_P(Fleet, WorkersAreListedByWhatTheyOffer) {
  EXPECT_TRUE(contains(run({"workers", "list"}).out, "no worker is registered"));
  register_workers();
  const Finished table = run({"workers", "list"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(lines(table.out), 3u) << table.out;
  EXPECT_EQ(lines(run({"workers", "list", "--capability", "gpu"}).out), 2u);
  EXPECT_EQ(lines(run({"workers", "list", "--lane", "work", "--namespace", "default"}).out), 3u);
  EXPECT_TRUE(contains(run({"workers", "list", "--lane", "mail"}).out, "no worker"));
  const auto first = run_json({"workers", "list", "--limit", "1"});
  EXPECT_EQ(text(first.at("workers").at(0).at("worker_instance_id")), "w-1");
  EXPECT_EQ(text(first.at("workers").at(0).at("state")), "live");
  const auto rest = run_json({"workers", "list", "--cursor", text(first.at("next_cursor"))});
  EXPECT_EQ(text(rest.at("workers").at(0).at("capabilities").at(0)), "gpu");
  EXPECT_EQ(text(rest.at("next_cursor")), "");
}

TEST_P(Fleet, ADeadWorkerGivesItsLeasesBack) {
  register_workers();
  populate();
  const Finished refused = run({"workers", "mark-dead", "w-1"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "--yes")) << refused.err;
  EXPECT_EQ(states_of({people.active}), (std::set<std::string>{"active"}));
  const Finished dead = run(Words{"workers", "mark-dead", "w-1", "--yes", "--reason", "fire"} + by("ada"));
  EXPECT_EQ(dead.code, 0) << dead.err;
  EXPECT_TRUE(contains(dead.out, "worker instance w-1 is marked dead; ")) << dead.out;
  EXPECT_EQ(contains(dead.out, "its leases are released\n"), !served()) << dead.out;
  // A server's engine releases them, asynchronously.
  ASSERT_TRUE(test::eventually([&] { return states_of({people.active}) == std::set<std::string>{"waiting"}; }));
  EXPECT_EQ(run({"workers", "mark-dead", "w-1", "--yes"}).code, 3);
  EXPECT_EQ(run_json({"workers", "list"}).at("workers").as_array().size(), 1u);
  const auto gone = run_json({"workers", "list", "--all"}).at("workers").at(0);
  EXPECT_EQ(text(gone.at("state")), "marked_dead");
  EXPECT_EQ(text(gone.at("ended_by")), actor("ada"));
  EXPECT_EQ(text(gone.at("reason")), "fire");
}

TEST_P(Fleet, AWorkerIsDrained) {
  register_workers();
  EXPECT_EQ(text(run_json({"workers", "drain", "w-2"}).at("outcome")), "draining");
  EXPECT_TRUE(contains(run({"workers", "list", "--capability", "gpu"}).out, "draining"));
  const Finished unknown = run({"workers", "drain", "w-3", "--namespace", "default"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_EQ(unknown.err,
            "flowfabric workers drain: no live worker instance \"w-3\" is registered in namespace \"default\"\n");
}

TEST_P(Fleet, LookingAtExpiredLeasesDoesNotTakeThemBack) {
  EXPECT_EQ(run({"leases", "expired"}).out, "no expired leases\n");
  const std::string id = abandon();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (run_json({"leases", "expired"}).at("leases").as_array().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (served()) {
    // There an engine processes it.
    ASSERT_TRUE(test::eventually([&] {
      const auto leases = run_json({"leases", "expired"}).at("leases").as_array();
      return leases.size() == 1 && text(leases[0].at("cause")) == "expired";
    }));
    return;
  }
  for (int i = 0; i < 2; ++i) {
    const auto lease = run_json({"leases", "expired"}).at("leases").at(0);
    EXPECT_EQ(text(lease.at("execution_id")), id);
    EXPECT_EQ(text(lease.at("cause")), "none") << "no clock has come by";
    EXPECT_EQ(text(lease.at("worker_instance_id")), "w-9");
  }
  EXPECT_TRUE(contains(run({"leases", "expired"}).out, "not processed yet"));
  EXPECT_TRUE(contains(run({"executions", "explain", id}).out, "expired at"));
  EXPECT_TRUE(run_json({"leases", "expired", "--as-of", "2020-01-01T00:00:00Z"}).at("leases").as_array().empty());
  EXPECT_TRUE(run_json({"leases", "expired", "--namespace", "elsewhere"}).at("leases").as_array().empty());
}

TEST_P(Fleet, KeysAreRotatedAfterAsking) {
  EXPECT_EQ(contains(run({"keys", "list"}).out, "no keys yet"), !served());
  populate();
  const auto before = run_json({"keys", "list"}).at("keys").as_array();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_FALSE(before[0].as_object().contains("expires_at")) << "it signs";
  EXPECT_EQ(run({"keys", "rotate", "--grace", "2h"}).code, 2);
  EXPECT_EQ(run_json({"keys", "list"}).at("keys").as_array(), before);
  const Finished rotated = run({"keys", "rotate", "--grace", "2h", "--yes"});
  EXPECT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_TRUE(contains(rotated.out, "is now the signing key")) << rotated.out;
  const auto after = run_json({"keys", "list"}).at("keys").as_array();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].at("expires_at").as_int64() - after[1].at("created_at").as_int64(), 2 * 3600 * 1000);
  const auto again = run_json({"keys", "rotate", "--yes"});
  EXPECT_EQ(again.at("keys").as_array().size(), 3u);
}

TEST_P(Fleet, RetentionRemovesAfterAsking) {
  populate();
  EXPECT_EQ(run({"retention", "run", "--older-than", "0s"}).code, 2);
  EXPECT_EQ(run_json({"executions", "list"}).at("executions").as_array().size(), 7u);
  EXPECT_EQ(run({"retention", "run", "--yes"}).out, "0 executions removed\n") << "their retention is not over";
  EXPECT_EQ(run({"retention", "run", "--older-than", "1d", "--yes"}).out, "0 executions removed\n");
  EXPECT_EQ(run({"retention", "run", "--older-than", "0s", "--tag", "no.such=tag", "--yes"}).out,
            "0 executions removed\n");
  EXPECT_EQ(run_json({"retention", "run", "--older-than", "0s", "--lane", "mail", "--yes"}).at("removed").as_int64(),
            0);
  EXPECT_EQ(run({"retention", "run", "--older-than", "0s", "--yes"}).out, "2 executions removed\n");
  EXPECT_EQ(run({"executions", "show", people.failed}).code, 3);
  EXPECT_EQ(run({"integrity", url()}).out, "no problems found\n");
}

TEST_P(Fleet, MistakesAreOneLine) {
  const std::vector<std::pair<Words, int>> mistakes = {{{"workers", "mark-dead", "--yes"}, 2},
                                                       {{"workers", "mark-dead", "two words", "--yes"}, 2},
                                                       {{"workers", "list", "--cursor", "x"}, 2},
                                                       {{"leases", "expired", "--limit", "0"}, 2},
                                                       {{"leases", "expired", "--cursor", "x"}, 2},
                                                       {{"keys", "rotate", "--grace", "99999d", "--yes"}, 2},
                                                       {{"retention", "run", "--tag", "no-value", "--yes"}, 2},
                                                       {{"retention", "run", "--lane", "", "--yes"}, 2}};
  for (const auto& [words, code] : mistakes) {
    const Finished plain = run(words);
    EXPECT_EQ(plain.code, code) << words[1] << plain.err;
    EXPECT_EQ(plain.out, "");
    EXPECT_EQ(lines(plain.err), 1u) << plain.err;
  }
}

}  // namespace
}  // namespace flowfabric::cli_test
