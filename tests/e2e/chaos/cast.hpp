// All the processes of one run: servers, workers, a submitter and, if there is one, the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/postgres_server.hpp"
#include "support/process.hpp"

namespace flowfabric::chaos {

using test::Process;
using test::Words;

// A role that is filled by one process after the other. Each run has its own log, and its number in its name.
class Role {
 public:
  using WordsOf = std::function<Words(const std::string& life)>;
  // Whether a run may exit in this way.
  using Judge = std::function<bool(int status, const std::string& log)>;

  Role(std::filesystem::path folder, std::string name, WordsOf words, Judge may_end);

  void start_at(std::chrono::steady_clock::time_point when);
  void kill_now();
  // Starts the next run if there is none and it is time. A run that exited in a forbidden way is a test failure.
  void look_after();
  bool is_alive();
  std::string log() const;  // the output of this run
  int lives() const { return lives_; }
  pid_t pid() const { return process_->pid(); }

 private:
  std::string log_file() const;

  std::filesystem::path folder_;
  std::string name_;
  WordsOf words_;
  Judge may_end_;
  int lives_ = 0;
  std::chrono::steady_clock::time_point next_start_{};
  std::unique_ptr<Process> process_;
};

// `flowfabric serve` on the store.
Role make_server(const std::filesystem::path& folder, int number, const std::string& store_url,
                 const std::string& address);
bool is_serving(const std::string& log);
// Workers die by their own hand.
bool worker_may_end(int status, const std::string& log);

enum class StoreChoice : std::uint8_t { sqlite, postgres };

struct Kills {
  int workers = 0;
  int servers = 0;
  int databases = 0;
};

class Cast {
 public:
  Cast(std::filesystem::path folder, StoreChoice store, std::uint64_t executions, std::uint64_t seconds,
       std::uint64_t seed, const std::function<void(const std::string& store_url)>& prepare = {});

  // Kills at random for this time, and until each kind has been killed at least once.
  Kills rage();
  // Waits until everything submitted has ended. False if there is no progress.
  bool settle();
  // Kills everything, and starts what is needed to examine the result.
  void start_over_for_reading();

  // Nobody but the database runs any more.
  void kill_clients_and_servers();

  const std::string& store_url() const { return store_url_; }
  const std::vector<std::string>& urls() const { return urls_; }
  int worker_lives() const;
  // A sanitizer that only warns does not end its process; here its output is a test failure.
  void verify_logs() const;
  void keep_database_log() const;

 private:
  void add_servers();
  void add_workers();
  void look_after_all();
  std::uint64_t ended();  // executions, as counted by a server; 0 if it does not answer
  bool kill_a_server();   // false: there is none to kill
  std::chrono::milliseconds between(int from_ms, int to_ms);

  const std::filesystem::path folder_;
  const std::uint64_t executions_;
  const std::uint64_t seconds_;
  std::mt19937_64 random_;
  std::optional<test::PostgresServer> postgres_;
  std::string store_url_;
  std::vector<std::string> urls_;
  std::vector<Role> servers_;
  std::vector<Role> workers_;
  std::unique_ptr<Process> submitter_;
};

}  // namespace flowfabric::chaos
