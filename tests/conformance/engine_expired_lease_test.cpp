// list_expired_leases.
#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineExpiredLeases : public FleetSuite {
 protected:
  using Leases = std::vector<ExpiredLease>;

  Leases listed(const ListExpiredLeasesRequest& request = {}) {
    return value_of(engine().list_expired_leases(request)).leases;
  }
  Leases listed_as_of(TimestampMs as_of) {
    ListExpiredLeasesRequest request;
    request.as_of = as_of;
    return listed(request);
  }
  // All pages; `meanwhile` runs between two of them.
  Leases paged(ListExpiredLeasesRequest request, const std::function<void()>& meanwhile = [] {}) {
    Leases all;
    do {
      const auto page = value_of(engine().list_expired_leases(request));
      EXPECT_LE(page.leases.size(), request.limit);
      all.insert(all.end(), page.leases.begin(), page.leases.end());
      request.cursor = page.next_cursor;
      if (!request.cursor.empty()) meanwhile();
    } while (!request.cursor.empty());
    return all;
  }
  static std::set<ExecutionId> ids(const Leases& leases) {
    std::set<ExecutionId> all;
    for (const ExpiredLease& lease : leases) all.insert(lease.execution_id);
    return all;
  }
  // Strictly ascending: no repeats either.
  static bool in_order(const Leases& leases) {
    return std::adjacent_find(leases.begin(), leases.end(), [](const ExpiredLease& a, const ExpiredLease& b) {
             return std::tie(a.expires_at, a.execution_id.uuid, a.execution_id.partition) >=
                    std::tie(b.expires_at, b.execution_id.uuid, b.execution_id.partition);
           }) == leases.end();
  }
  // All data in which a change would be visible.
  struct Snapshot {
    std::vector<Facts> facts;
    std::size_t events = 0;
    std::uint64_t batches = 0;

    friend bool operator==(const Snapshot&, const Snapshot&) = default;
  };
  Snapshot snapshot(const std::vector<ExecutionId>& executions) {
    Snapshot now_seen;
    for (const ExecutionId& id : executions) now_seen.facts.push_back(facts(id));
    now_seen.events = events_from(start_cursor("earliest")).size();
    now_seen.batches = engine().runtime().statistics().batches;
    return now_seen;
  }
};
ON_EVERY_STORE(EngineExpiredLeases);

TEST_P(EngineExpiredLeases, a_row_tells_whose_lease_it_was_and_reading_changes_nothing) {
  CreateRequest request = manual_job();
  request.name_space = "tenant";
  const ExecutionId id = make(request);
  const ClaimedExecution claimed = engine().take("default", 1000, "w-7");
  clock_.advance_ms(999);
  EXPECT_TRUE(listed().empty());
  clock_.advance_ms(1);
  ExpiredLease expected;
  expected.execution_id = id;
  expected.name_space = "tenant";
  expected.lease_id = claimed.lease.lease_id;
  expected.lease_epoch = claimed.lease.lease_epoch;
  expected.worker_id = "worker";
  expected.worker_instance_id = "w-7";
  expected.attempt_index = 0;
  expected.expires_at = now();
  const Snapshot before = snapshot({id});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(listed(), Leases{expected}) << "the clock has not come by";
  EXPECT_EQ(value_of(second().list_expired_leases()).leases, Leases{expected});
  EXPECT_EQ(snapshot({id}), before);
  engine().settle();
  expected.cause = LeaseLoss::expired;
  EXPECT_EQ(listed(), Leases{expected}) << "the same place, the same lease, now with its cause";
}

TEST_P(EngineExpiredLeases, what_is_followed_is_no_longer_listed) {
  const ExecutionId requeued = engine().make();
  engine().take("default", 1000);
  CreateRequest graced = job();
  graced.policy.reclaim_grace_ms = 5000;
  const ExecutionId in_grace = make(graced);
  engine().take("default", 1000);
  const ExecutionId manual = make(manual_job());
  engine().take("default", 1000);
  const ExecutionId revoked = make(manual_job());
  engine().take("default", 60000);
  const ExecutionId cancelled = make(manual_job());
  engine().take("default", 1000);
  clock_.advance_ms(1000);
  EXPECT_EQ(ids(listed()), (std::set<ExecutionId>{requeued, in_grace, manual, cancelled}));
  engine().settle();
  call<RevokeReply>(RevokeCommand{revoked, {}, {"ops", "stuck"}});
  call<CancelReply>(CancelCommand{cancelled, {}});
  EXPECT_EQ(ids(listed()), (std::set<ExecutionId>{in_grace, manual, revoked}))
      << "what was requeued waits for the next claim like anything else";
  engine().advance(5000);
  EXPECT_EQ(ids(listed()), (std::set<ExecutionId>{manual, revoked})) << "the grace is over";
  for (const ExpiredLease& lease : listed()) {
    EXPECT_EQ(lease.cause, lease.execution_id == revoked ? LeaseLoss::revoked : LeaseLoss::expired);
  }
  const auto granted = std::get<Granted>(value_of(engine().issue_reclaim_grant(grant_for(manual))));
  EXPECT_EQ(ids(listed()), (std::set<ExecutionId>{manual, revoked})) << "a grant alone follows nothing";
  value_of(engine().reclaim(redeem(granted.grant)));
  EXPECT_EQ(ids(listed()), std::set<ExecutionId>{revoked});
}

TEST_P(EngineExpiredLeases, a_renewed_lease_is_not_listed) {
  engine().make();
  const ClaimedExecution claimed = engine().take("default", 1000);
  engine().advance(900);
  value_of(engine().renew(claimed));
  clock_.advance_ms(900);
  EXPECT_TRUE(listed().empty()) << "its entry is due, its lease is not";
  clock_.advance_ms(100);
  EXPECT_EQ(listed().size(), 1u);
}

TEST_P(EngineExpiredLeases, as_of_looks_back_and_ahead) {
  std::vector<ExecutionId> made;
  const TimestampMs start = now();
  for (std::uint32_t i = 1; i <= 4; ++i) {
    made.push_back(make(manual_job()));
    engine().take("default", i * 1000);
  }
  engine().advance(2500);
  EXPECT_EQ(ids(listed()), (std::set<ExecutionId>{made[0], made[1]}));
  EXPECT_EQ(ids(listed_as_of(start + 1000)), std::set<ExecutionId>{made[0]});
  EXPECT_TRUE(listed_as_of(start + 999).empty());
  EXPECT_EQ(ids(listed_as_of(start + 3000)), (std::set<ExecutionId>{made[0], made[1], made[2]}));
  EXPECT_EQ(listed_as_of(start + 100000).size(), 4u);
  EXPECT_TRUE(in_order(listed_as_of(start + 100000)));
}

TEST_P(EngineExpiredLeases, C15_pages_have_no_gaps_or_repeats_under_equal_expiries) {
  constexpr std::size_t leases = 1300;
  std::vector<CreateRequest> requests;
  for (std::size_t i = 0; i < leases; ++i) {
    requests.push_back(manual_job());
    requests.back().name_space = i % 3 == 0 ? "third" : "rest";
  }
  const std::vector<ExecutionId> made = make_many(requests);
  ASSERT_EQ(claim_all("default", 1000).size(), leases);
  clock_.advance_ms(1000);
  for (const bool swept : {false, true}) {
    if (swept) engine().settle();
    for (const std::uint32_t limit : {100u, 499u, 1300u, 1301u, 10000u}) {
      ListExpiredLeasesRequest request;
      request.limit = limit;
      const Leases all = paged(request);
      EXPECT_EQ(all.size(), leases) << "limit " << limit << ", swept " << swept;
      EXPECT_EQ(ids(all), std::set<ExecutionId>(made.begin(), made.end()));
      EXPECT_TRUE(in_order(all));
      request.name_space = "third";
      EXPECT_EQ(paged(request).size(), (leases + 2) / 3) << "limit " << limit;
    }
    EXPECT_EQ(listed().size(), 1000u) << "the default";
  }
}

// Each kind of entry is in another index; a page must not show the boundary.
TEST_P(EngineExpiredLeases, C15_pages_go_across_swept_and_unswept_leases_and_time) {
  std::set<ExecutionId> expected;
  for (int wave = 0; wave < 6; ++wave) {
    for (const ExecutionId& id : make_many(std::vector<CreateRequest>(25, manual_job()))) expected.insert(id);
    claim_all("default", 1000);
    clock_.advance_ms(wave % 2 == 0 ? 1000 : 500);
    if (wave == 2 || wave == 3) engine().settle();
  }
  clock_.advance_ms(1000);
  ListExpiredLeasesRequest request;
  request.limit = 7;
  const Leases unswept = paged(request);
  EXPECT_EQ(ids(unswept), expected);
  EXPECT_EQ(unswept.size(), expected.size());
  EXPECT_TRUE(in_order(unswept));
  int pages = 0;
  const Leases all = paged(request, [&] {
    if (++pages % 3 == 0) engine().settle();
  });
  EXPECT_EQ(ids(all), expected) << "also when the clock comes by in between";
  EXPECT_EQ(all.size(), expected.size());
  EXPECT_TRUE(in_order(all));
}

TEST_P(EngineExpiredLeases, C15_pages_stay_whole_while_others_are_reclaimed_and_lost) {
  make_many(std::vector<CreateRequest>(60, manual_job()));
  claim_all("default", 1000);
  engine().advance(1000);
  const Leases before = listed();
  std::size_t next = 0;
  ListExpiredLeasesRequest request;
  request.limit = 10;
  std::set<ExecutionId> gone;
  const Leases all = paged(request, [&] {
    // One that was listed and one that was not are cancelled, and a new lease is lost.
    for (const std::size_t i : {next, 59 - next}) {
      gone.insert(before[i].execution_id);
      call<CancelReply>(CancelCommand{before[i].execution_id, {}});
    }
    ++next;
    make(manual_job("other"));
    engine().take("other", 100);
    engine().advance(100);
  });
  EXPECT_TRUE(in_order(all));
  const auto seen = ids(all);
  EXPECT_EQ(seen.size(), all.size());
  for (const ExpiredLease& lease : before) {
    if (!gone.contains(lease.execution_id)) {
      EXPECT_TRUE(seen.contains(lease.execution_id));
    }
  }
}

TEST_P(EngineExpiredLeases, limits_and_cursors_are_checked) {
  for (const std::uint32_t limit : {0u, 10001u}) {
    ListExpiredLeasesRequest request;
    request.limit = limit;
    EXPECT_EQ(error_of(engine().list_expired_leases(request)).field, "limit");
  }
  ListExpiredLeasesRequest request;
  request.as_of = -1;
  EXPECT_EQ(error_of(engine().list_expired_leases(request)).field, "as_of");
  request = {};
  request.name_space = "";
  EXPECT_EQ(error_of(engine().list_expired_leases(request)).field, "namespace");
  make_many(std::vector<CreateRequest>(3, manual_job()));
  claim_all("default", 1000);
  engine().advance(1000);
  enlist(worker("a"));
  enlist(worker("b"));
  request = {};
  request.limit = 1;
  const std::string cursor = value_of(engine().list_expired_leases(request)).next_cursor;
  ASSERT_FALSE(cursor.empty());
  ListWorkersRequest fleet;
  fleet.limit = 1;
  const std::string of_another_call = value_of(engine().list_workers(fleet)).next_cursor;
  ASSERT_FALSE(of_another_call.empty());
  for (const std::string& bad : {std::string("x"), std::string("!"), cursor.substr(0, cursor.size() - 3),
                                 cursor + "AAAA", of_another_call, std::string(2000, 'A')}) {
    request.cursor = bad;
    EXPECT_EQ(error_of(engine().list_expired_leases(request)).field, "cursor") << bad;
  }
}

TEST_P(EngineExpiredLeases, as_of_0_means_0) {
  engine().make();
  engine().take("default", 1000);
  clock_.advance_ms(1000);
  EXPECT_EQ(value_of(engine().list_expired_leases()).leases.size(), 1u);
  EXPECT_TRUE(listed_as_of(0).empty());
}

}  // namespace
}  // namespace flowfabric::test
