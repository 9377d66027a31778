// Sequences, for every store: order, numbers, guards, drops, ranges, several sessions.

#include "conformance/store_contract.hpp"

#include <atomic>
#include <future>
#include <set>

namespace flowfabric::test {
namespace {

using Entries = std::vector<SequenceEntry>;
using Numbers = std::vector<std::uint64_t>;

constexpr std::uint8_t inbox_kind = 1;
constexpr std::uint8_t stream_kind = 2;
constexpr std::uint32_t every_entry = 1'000'000;

class StoreSequences : public StoreContract {
 protected:
  static ChangeSet appending(const Key& root, std::vector<std::string> entries, std::uint8_t kind = inbox_kind) {
    ChangeSet set;
    for (std::string& body : entries) set.appends.push_back({{root, kind}, std::move(body)});
    return set;
  }
  static ChangeSet dropping(const Key& root, std::uint64_t below, std::uint8_t kind = inbox_kind) {
    ChangeSet set;
    set.sequence_drops.push_back({{root, kind}, below});
    return set;
  }
  Entries entries(const Key& root, std::uint8_t kind = inbox_kind, std::uint64_t from = 0,
                  std::uint32_t limit = every_entry) {
    auto outside = must(store_->load_sequence({root, kind}, from, limit));
    EXPECT_EQ(must(session_->read_sequence({root, kind}, from, limit)), outside);
    session_->release();
    return outside;
  }
  Numbers numbers() { return session_->appended(); }

  const Key root_ = execution("a");
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreSequences, testing::ValuesIn(store_kinds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(StoreSequences, EntriesAreNumberedInTheirOrderAndTheRecordIsNotTouched) {
  write(set_of({put(root_, 0, "body")}));
  EXPECT_EQ(entries(root_), Entries{});
  write(appending(root_, {"one", "two"}));
  EXPECT_EQ(numbers(), (Numbers{1, 2}));
  write(appending(root_, {"three"}));
  EXPECT_EQ(numbers(), Numbers{3});
  EXPECT_EQ(entries(root_), (Entries{{1, "one"}, {2, "two"}, {3, "three"}}));
  EXPECT_EQ(version_of(root_), 1u);
  EXPECT_EQ(load(root_)->body, "body");
  EXPECT_TRUE(whole_log().empty());
  write(set_of({put(root_, 1, "changed")}));
  EXPECT_EQ(numbers(), Numbers{}) << "a commit without appends";
  EXPECT_EQ(entries(root_).size(), 3u);
}

TEST_P(StoreSequences, SequencesOfOtherKindsAndRecordsAreApart) {
  const Key other = execution("b");
  write(set_of({put(root_, 0), put(other, 0)}));
  ChangeSet set = appending(root_, {"a inbox 1"});
  for (const auto& more : {appending(other, {"b inbox 1"}), appending(root_, {"a stream 1"}, stream_kind),
                           appending(root_, {"a inbox 2"}), appending(other, {"b inbox 2"})}) {
    set.appends.insert(set.appends.end(), more.appends.begin(), more.appends.end());
  }
  write(set);
  EXPECT_EQ(numbers(), (Numbers{1, 1, 1, 2, 2}));
  EXPECT_EQ(entries(root_), (Entries{{1, "a inbox 1"}, {2, "a inbox 2"}}));
  EXPECT_EQ(entries(root_, stream_kind), (Entries{{1, "a stream 1"}}));
  EXPECT_EQ(entries(other), (Entries{{1, "b inbox 1"}, {2, "b inbox 2"}}));
  EXPECT_EQ(entries(other, stream_kind), Entries{});
}

TEST_P(StoreSequences, ARecordAndItsFirstEntriesAreCreatedTogether) {
  ChangeSet set = set_of({put(root_, 0)});
  set.appends = appending(root_, {"first", "second"}).appends;
  write(set);
  EXPECT_EQ(numbers(), (Numbers{1, 2}));
  EXPECT_EQ(entries(root_), (Entries{{1, "first"}, {2, "second"}}));
}

TEST_P(StoreSequences, AnAppendWithoutItsRecordIsStaleAndItsNeighboursCommit) {
  const Key missing = execution("missing");
  write(set_of({put(root_, 0)}));
  ChangeSet mixed = appending(root_, {"not alone"});
  mixed.appends.push_back({{missing, inbox_kind}, "lost"});
  EXPECT_EQ(commit({appending(root_, {"before"}), mixed, appending(root_, {"after"})}),
            (Verdicts{Verdict::committed, Verdict::stale, Verdict::committed}));
  EXPECT_EQ(numbers(), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(entries(root_), (Entries{{1, "before"}, {2, "after"}}));
  EXPECT_EQ(entries(missing), Entries{});
}

TEST_P(StoreSequences, AStaleSetAppendsAndDropsNothing) {
  write(set_of({put(root_, 0)}));
  write(appending(root_, {"one"}));
  ChangeSet set = set_of({put(root_, 7)});
  set.appends = appending(root_, {"lost"}).appends;
  set.sequence_drops = dropping(root_, 2).sequence_drops;
  EXPECT_EQ(commit_one(set), Verdict::stale);
  EXPECT_EQ(numbers(), Numbers{0});
  EXPECT_EQ(entries(root_), (Entries{{1, "one"}}));
  write(appending(root_, {"two"}));
  EXPECT_EQ(numbers(), Numbers{2});
}

// How a worker whose lease is lost is kept from appending: the set checks the version on which it was decided.
TEST_P(StoreSequences, ACheckOfTheRecordGuardsAnAppend) {
  write(set_of({put(root_, 0)}));
  const auto guarded = [&](std::uint64_t version, const std::string& body) {
    ChangeSet set = set_of({check(root_, version)});
    set.appends = appending(root_, {body}).appends;
    return set;
  };
  EXPECT_EQ(commit_one(guarded(1, "by the holder")), Verdict::committed);
  EXPECT_EQ(commit_one(guarded(1, "again")), Verdict::committed) << "an append does not raise the version";
  write(set_of({put(root_, 1, "lease lost")}));
  EXPECT_EQ(commit_one(guarded(1, "by a zombie")), Verdict::stale);
  EXPECT_EQ(entries(root_), (Entries{{1, "by the holder"}, {2, "again"}}));
}

TEST_P(StoreSequences, SetsOfOneCommitContinueEachOthersNumbers) {
  write(set_of({put(root_, 0)}));
  EXPECT_EQ(commit({appending(root_, {"a", "b"}), appending(root_, {"c"}), appending(root_, {"d"})}),
            (Verdicts{Verdict::committed, Verdict::committed, Verdict::committed}));
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(entries(root_), (Entries{{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}}));
}

TEST_P(StoreSequences, DroppedNumbersAreNeverUsedAgain) {
  write(set_of({put(root_, 0)}));
  write(appending(root_, {"1", "2", "3", "4", "5"}));
  write(appending(root_, {"s"}, stream_kind));
  write(dropping(root_, 3));
  EXPECT_EQ(entries(root_), (Entries{{3, "3"}, {4, "4"}, {5, "5"}}));
  write(dropping(root_, 3));
  write(dropping(root_, 0));
  EXPECT_EQ(entries(root_).size(), 3u);
  write(dropping(root_, 1000));
  EXPECT_EQ(entries(root_), Entries{});
  reopen();
  write(dropping(root_, 2000));
  write(appending(root_, {"6"}));
  EXPECT_EQ(numbers(), Numbers{6});
  write(dropping(root_, 6));
  EXPECT_EQ(entries(root_), (Entries{{6, "6"}}));
  write(dropping(root_, 7));
  write(dropping(root_, 7));
  write(appending(root_, {"7", "8"}));
  EXPECT_EQ(entries(root_), (Entries{{7, "7"}, {8, "8"}}));
  EXPECT_EQ(entries(root_, stream_kind), (Entries{{1, "s"}}));
}

TEST_P(StoreSequences, ASetDropsBeforeItAppends) {
  write(set_of({put(root_, 0)}));
  write(appending(root_, {"1", "2"}));
  ChangeSet set = dropping(root_, 100);
  set.appends = appending(root_, {"3"}).appends;
  write(set);
  EXPECT_EQ(numbers(), Numbers{3});
  EXPECT_EQ(entries(root_), (Entries{{3, "3"}}));
  set = dropping(root_, 3);
  set.appends = appending(root_, {"4"}).appends;
  write(set);
  EXPECT_EQ(entries(root_), (Entries{{3, "3"}, {4, "4"}}));
}

TEST_P(StoreSequences, DroppingWhatIsNotThereIsNoError) {
  write(dropping(execution("missing"), 10));
  write(set_of({put(root_, 0)}));
  write(dropping(root_, 10));
  write(appending(root_, {"first"}));
  EXPECT_EQ(numbers(), Numbers{1});
}

TEST_P(StoreSequences, TheyGoWithTheirRecord) {
  const Key other = execution("b");
  write(set_of({put(root_, 0), put(other, 0)}));
  write(appending(root_, {"1", "2"}));
  write(appending(root_, {"1"}, stream_kind));
  write(dropping(root_, 100, stream_kind));
  write(appending(other, {"stays"}));
  write(set_of({erase(root_, 1)}));
  EXPECT_EQ(entries(root_), Entries{});
  EXPECT_EQ(entries(other), (Entries{{1, "stays"}}));
  RootChange again = put(root_, 0);
  again.first_version = 50;
  write(set_of({again}));
  EXPECT_EQ(entries(root_), Entries{});
  write(appending(root_, {"of the new record"}, stream_kind));
  EXPECT_EQ(numbers(), Numbers{1}) << "the numbers belong to the record";
}

TEST_P(StoreSequences, RangesHaveABeginningAndALimit) {
  write(set_of({put(root_, 0)}));
  write(appending(root_, {"1", "2", "3", "4", "5"}));
  write(dropping(root_, 2));
  EXPECT_EQ(entries(root_, inbox_kind, 0, 2), (Entries{{2, "2"}, {3, "3"}}));
  EXPECT_EQ(entries(root_, inbox_kind, 1, 1), (Entries{{2, "2"}}));
  EXPECT_EQ(entries(root_, inbox_kind, 4, 100), (Entries{{4, "4"}, {5, "5"}}));
  EXPECT_EQ(entries(root_, inbox_kind, 6, 100), Entries{});
  EXPECT_EQ(entries(root_, inbox_kind, UINT64_MAX, 100), Entries{});
  EXPECT_EQ(entries(root_, inbox_kind, 2, 0), Entries{});
}

TEST_P(StoreSequences, EntriesAreAnyBytesOfAnySize) {
  write(set_of({put(root_, 0)}));
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  const std::string large(20u << 20, 'x');
  write(appending(root_, {"", bytes, large, large, "end"}));
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(entries(root_), (Entries{{1, ""}, {2, bytes}, {3, large}, {4, large}, {5, "end"}}));
}

TEST_P(StoreSequences, ManyEntriesInOneSet) {
  constexpr std::uint64_t number_of_entries = 10'000;
  write(set_of({put(root_, 0)}));
  ChangeSet set;
  for (std::uint64_t i = 1; i <= number_of_entries; ++i)
    set.appends.push_back({{root_, inbox_kind}, std::to_string(i)});
  write(set);
  const Entries found = entries(root_);
  ASSERT_EQ(found.size(), number_of_entries);
  for (std::uint64_t i = 0; i < number_of_entries; ++i)
    ASSERT_EQ(found[i], (SequenceEntry{i + 1, std::to_string(i + 1)}));
  write(dropping(root_, number_of_entries));
  EXPECT_EQ(entries(root_), (Entries{{number_of_entries, std::to_string(number_of_entries)}}));
}

TEST_P(StoreSequences, TheySurviveARestart) {
  write(set_of({put(root_, 0)}));
  write(appending(root_, {"1", "2"}));
  reopen();
  EXPECT_EQ(entries(root_), (Entries{{1, "1"}, {2, "2"}}));
  write(appending(root_, {"3"}));
  EXPECT_EQ(numbers(), Numbers{3});
}

// Every number is given once, and a reader who has seen a number finds nothing new before it.
TEST_P(StoreSequences, RacingSessionsNeverShareANumberAndNoEntryComesLate) {
  constexpr int threads = 3, rounds = 30;
  write(set_of({put(root_, 0)}));
  std::atomic<int> running{threads};
  std::vector<std::future<Numbers>> writers;
  for (int t = 0; t < threads; ++t) {
    writers.push_back(std::async(std::launch::async, [&] {
      Numbers mine;
      const auto session = must(store_->open_session());
      for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(must(session->commit({appending(root_, {"x", "y"})})), Verdicts{Verdict::committed});
        mine.insert(mine.end(), session->appended().begin(), session->appended().end());
      }
      --running;
      return mine;
    }));
  }
  std::uint64_t seen = 0;
  for (bool last_look = false; !last_look;) {
    last_look = running == 0;
    for (const SequenceEntry& entry : must(store_->load_sequence({root_, inbox_kind}, seen + 1, every_entry))) {
      ASSERT_EQ(entry.n, ++seen) << "a number was skipped, so its entry came late";
    }
  }
  std::set<std::uint64_t> given;
  for (auto& writer : writers) {
    const Numbers mine = writer.get();
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    given.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(seen, std::uint64_t{threads} * rounds * 2);
  EXPECT_EQ(given.size(), seen);
}

// Appends never make a change of the record stale, nor does the change stop them.
TEST_P(StoreSequences, AppendsAndChangesOfTheRecordDoNotConflict) {
  constexpr int rounds = 40;
  write(set_of({put(root_, 0)}));
  auto appends = std::async(std::launch::async, [&] {
    const auto session = must(store_->open_session());
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(must(session->commit({appending(root_, {"x"})})), Verdicts{Verdict::committed});
    }
  });
  for (std::uint64_t version = 1; version <= rounds; ++version) {
    EXPECT_EQ(commit_one(set_of({put(root_, version)})), Verdict::committed);
  }
  appends.get();
  EXPECT_EQ(entries(root_).size(), std::size_t{rounds});
}

TEST_P(StoreSequences, ARecordThatIsErasedMeanwhileLeavesNoEntries) {
  for (int round = 0; round < 10; ++round) {
    const Key key = execution("round" + std::to_string(round));
    write(set_of({put(key, 0)}));
    auto appends = std::async(std::launch::async, [&] {
      const auto session = must(store_->open_session());
      while (must(session->commit({appending(key, {"x"})})).at(0) == Verdict::committed) {
      }
    });
    while (commit_one(set_of({erase(key, 1)})) != Verdict::committed) {
    }
    appends.get();
    EXPECT_EQ(entries(key), Entries{});
  }
}

}  // namespace
}  // namespace flowfabric::test
