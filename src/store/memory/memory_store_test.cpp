// The checks of the reference model. Its behaviour is tested in tests/conformance, with the other stores.
#include "store/memory/memory_store.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

constexpr std::uint64_t too_high = std::uint64_t{1} << 63;

class MemoryStoreChecks : public ::testing::Test {
 protected:
  // Puts the record, with any previous content, with an entry.
  ChangeSet putting(const DueEntry& entry, std::uint64_t version) {
    ChangeSet set;
    set.roots.push_back(RootChange{entry.key, version, RootChange::Action::put, "fixed", "body", std::nullopt});
    set.due_put = {entry};
    return set;
  }
  void commit(const ChangeSet& set) { EXPECT_EQ(session_->commit({set}).value().at(0), Verdict::committed); }
  void read_groups(const std::vector<std::uint64_t>& groups) {
    ReadRequest request;
    for (const std::uint64_t group : groups) request.groups.push_back({group, 10});
    request.group_limit = 10;
    EXPECT_TRUE(session_->read(request));
  }

  const Key key_ = make_key(RecordKind::execution, "a", 7);
  const std::unique_ptr<Store> store_ = open_memory_store(make_memory_database(), {});
  const std::unique_ptr<Session> session_ = std::move(*store_->open_session());
};

TEST_F(MemoryStoreChecks, AGroupIsANumberBelowTwoToThe63) {
  commit(putting({1, key_, too_high - 1, 0}, 0));
  read_groups({1, too_high - 1});
  EXPECT_DEATH(commit(putting({1, key_, too_high, 0}, 1)), "broken invariant");
  EXPECT_DEATH(read_groups({too_high}), "broken invariant");
  EXPECT_DEATH(read_groups({0}), "broken invariant");
  EXPECT_DEATH(read_groups({4, 5, 4}), "broken invariant");
}

TEST_F(MemoryStoreChecks, ARecordHasOneDueEntry) {
  commit(putting({50, key_, 4, 1}, 0));
  commit(putting({50, key_, 4, 1}, 1));
  EXPECT_DEATH(commit(putting({51, key_, 4, 1}, 2)), "broken invariant");
  EXPECT_DEATH(commit(putting({50, key_, 5, 1}, 2)), "broken invariant");
  EXPECT_DEATH(commit(putting({50, key_, 4, 2}, 2)), "broken invariant");
  ChangeSet move = putting({50, key_, 5, 1}, 2);
  move.due_drop = {{50, key_, 4, 1}};
  commit(move);
  EXPECT_EQ(store_->group_entries(5, {}, 10).value().size(), 1u);
}

}  // namespace
}  // namespace flowfabric
