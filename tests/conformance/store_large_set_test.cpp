// Sets of ten thousand records, and sets of many bytes, for every store.

#include "conformance/store_contract.hpp"

namespace flowfabric::test {
namespace {

constexpr std::size_t large_count = 10'000;
constexpr std::uint8_t large_payload = 1;

Key numbered(std::size_t i) { return execution("record" + std::to_string(1'000'000 + i)); }

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < large_count; ++i) keys.push_back(numbered(i));
  return keys;
}

// The log goes through the records in another order than the roots: first every second one from the end, then the rest.
std::vector<std::size_t> logged_order() {
  std::vector<std::size_t> order;
  for (std::size_t i = large_count; i-- > 0;) {
    if (i % 2 == 0) order.push_back(i);
  }
  for (std::size_t i = 0; i < large_count; ++i) {
    if (i % 2 == 1) order.push_back(i);
  }
  return order;
}

class LargeSet : public StoreContract {
 protected:
  void create_all() {
    route_ = intern("lane", {});
    ChangeSet set;
    for (std::size_t i = 0; i < large_count; ++i) {
      const Key key = numbered(i);
      set.roots.push_back(put(key, 0, std::to_string(i)));
      set.ready_put.push_back({route_, 0, i, key, "ns"});
      set.due_put.push_back({static_cast<TimestampMs>(1000 + i), key});
      set.satellites.push_back({{key, large_payload, 0}, "satellite " + std::to_string(i)});
    }
    for (const std::size_t i : logged_order()) set.log.push_back(event(numbered(i), "created " + std::to_string(i)));
    set.routes.push_back(routes_.at(route_));
    ASSERT_EQ(must(session_->commit({set})), Verdicts{Verdict::committed});
  }

  std::vector<Record> load_all() {
    auto records = must(store_->load(all_keys()));
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.key < b.key; });
    return records;
  }

  // Every record changes its body, leaves the ready index, moves in the due index, and gets another event.
  ChangeSet changes_of_all(const std::vector<Record>& records) {
    ChangeSet set;
    for (std::size_t i = 0; i < records.size(); ++i) {
      RootChange change = put(records[i].key, records[i].version, "changed");
      change.last_entry = records[i].last_entry;
      change.place = records[i].place;
      set.roots.push_back(std::move(change));
      set.ready_drop.push_back({route_, 0, i, records[i].key, "ns"});
      set.due_drop.push_back({static_cast<TimestampMs>(1000 + i), records[i].key});
      set.due_put.push_back({static_cast<TimestampMs>(5'000'000 - i), records[i].key});
      set.satellites.push_back({{records[i].key, large_payload, 0}, "changed " + std::to_string(i)});
    }
    for (const std::size_t i : logged_order()) set.log.push_back(event(records[i].key, "changed"));
    return set;
  }

  RouteNo route_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, LargeSet, testing::ValuesIn(store_kinds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(LargeSet, TenThousandRecordsAreCreatedChangedAndErasedInOneSetEach) {
  create_all();
  auto records = load_all();
  ASSERT_EQ(records.size(), large_count);
  EXPECT_EQ(ids(ready(*session_, route_, 3)), ids(std::vector<Record>(records.begin(), records.begin() + 3)));
  session_->release();
  EXPECT_EQ(bodies(must(store_->history(numbered(4), "", 10))), Ids{"created 4"});

  ASSERT_EQ(must(session_->commit({changes_of_all(records)})), Verdicts{Verdict::committed});
  records = load_all();
  ASSERT_EQ(records.size(), large_count);
  for (const Record& record : records) {
    ASSERT_EQ(record.version, 2u);
    ASSERT_EQ(record.body, "changed");
  }
  EXPECT_TRUE(ready(*session_, route_).empty());
  session_->release();
  EXPECT_EQ(must(store_->next_due()), static_cast<TimestampMs>(5'000'000 - (large_count - 1)));
  EXPECT_EQ(bodies(must(store_->history(numbered(large_count - 1), "", 10))),
            (Ids{"created " + std::to_string(large_count - 1), "changed"}));
  EXPECT_EQ(must(store_->load_satellites(numbered(77), large_payload, 0, 10)).at(0).body, "changed 77");

  ChangeSet set;
  for (std::size_t i = 0; i < large_count; ++i) {
    RootChange change = erase(records[i].key, 2);
    change.last_entry = records[i].last_entry;
    set.roots.push_back(std::move(change));
    set.due_drop.push_back({static_cast<TimestampMs>(5'000'000 - i), records[i].key});
  }
  ASSERT_EQ(must(session_->commit({set})), Verdicts{Verdict::committed});
  EXPECT_TRUE(load_all().empty());
  EXPECT_TRUE(whole_log().empty());
  EXPECT_EQ(must(store_->next_due()), std::nullopt);
  EXPECT_TRUE(must(store_->load_satellites(numbered(77), large_payload, 0, 10)).empty());
}

TEST_P(LargeSet, OneStaleRecordAmongTenThousandStopsTheSet) {
  create_all();
  auto records = load_all();
  write(set_of({put(numbered(5'000), 1, "by another")}));
  EXPECT_EQ(must(session_->commit({changes_of_all(records)})), Verdicts{Verdict::stale});
  records = load_all();
  ASSERT_EQ(records.size(), large_count);
  EXPECT_EQ(records[4'999].body, "4999");
  EXPECT_EQ(records[5'000].body, "by another");
  EXPECT_EQ(whole_log().size(), large_count);
}

// More bytes than a store sends in one statement.
TEST_P(LargeSet, RecordsAndSatellitesOfManyBytes) {
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  constexpr std::size_t count = 20;
  const auto filled = [](std::size_t i) { return std::string(2 * megabyte + i, static_cast<char>('a' + i)); };
  ChangeSet set;
  for (std::size_t i = 0; i < count; ++i) {
    set.roots.push_back(put(numbered(i), 0, filled(i)));
    set.satellites.push_back({{numbered(i), large_payload, 0}, filled(i)});
  }
  write(set);
  for (RootChange& change : set.roots) change.expected_version = 1;
  write(set);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(version_of(numbered(i)), 2u);
    EXPECT_EQ(load(numbered(i))->body, filled(i));
    EXPECT_EQ(must(store_->load_satellites(numbered(i), large_payload, 0, 1)).at(0).body, filled(i));
  }
}

}  // namespace
}  // namespace flowfabric::test
