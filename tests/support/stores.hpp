// Every kind of store, for tests that must hold on all of them.
//
// A TestDatabase is fresh and empty; any number of handles can be opened on it, like several processes. Close them
// before it is destroyed: its data is deleted. Failures throw std::runtime_error. Thread-safe.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace flowfabric::test {

enum class StoreKindId { memory, sqlite, postgres };

struct StoreKind {
  StoreKindId id = StoreKindId::memory;
  std::string name;
  bool announces = false;    // `announce` reaches the listeners of other handles
  bool takes_turns = false;  // a batch makes other sessions wait for its end instead of skipping its candidates
};

// The order of the table is the order of the tests.
const std::vector<StoreKind>& store_kinds();

// Makes failure messages name the store.
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class TestDatabase {
 public:
  TestDatabase() = default;
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;
  virtual ~TestDatabase() = default;

  // Opens a handle; missing migrations are always applied.
  virtual std::unique_ptr<Store> open(StoreOptions options) = 0;
  std::unique_ptr<Store> open() { return open(StoreOptions{}); }
  virtual std::string url() const = 0;
};

std::unique_ptr<TestDatabase> make_database(StoreKindId kind);

}  // namespace flowfabric::test
