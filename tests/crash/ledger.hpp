// The acknowledgements, kept outside the processes that are killed, and the comparison with the content of a store.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <flowfabric/engine.hpp>

namespace flowfabric::crash {

// Thread-safe. Lines are those of a Witness.
class Ledger {
 public:
  void note(const std::string& line);

  // Waits until that many have been noted in total; false after a minute.
  bool wait_for_acknowledgements(std::size_t count);
  bool wait_for_held(std::size_t count);
  bool wait_until_completed(const std::set<std::string>& ids);

  std::size_t acknowledgements() const;
  std::set<std::string> held() const;
  bool is_completed(const std::string& id) const;
  // Adds all notes to `other`, which must not be written to meanwhile.
  void hand_over_to(Ledger& other) const;

  // Ends all running executions and compares; differences become test failures.
  void settle_and_verify(Engine& engine);

 private:
  using Listing = std::map<std::string, ExecutionSummary>;

  bool wait(const std::function<bool()>& condition);
  Listing list_everything(Engine& engine) const;
  void verify_listing(const Listing& listing) const;
  void verify_results(Engine& engine) const;
  void verify_events(Engine& engine, const Listing& listing) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> created_;    // id to key
  std::map<std::string, std::string> completed_;  // id to result
  std::set<std::string> held_;
  std::size_t lines_ = 0;
};

}  // namespace flowfabric::crash
