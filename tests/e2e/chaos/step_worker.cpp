#include "e2e/chaos/step_worker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <flowfabric/worker.hpp>

namespace flowfabric::chaos {
namespace {

using namespace std::chrono_literals;

const std::string marker = "--chaos-step-worker";

class StepWorker {
 public:
  explicit StepWorker(const StepWorkerOptions& options)
      : options_(options),
        random_(options.seed),
        ledger_(open(options.ledger.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}

  int run() {
    if (ledger_ < 0) return std::perror("ledger"), 1;
    auto client = open_client();
    Worker worker(std::move(client),
                  {.worker_id = "steps", .worker_instance_id = options_.name, .concurrency = 8, .lease_ttl = 1s});
    worker.on(five_steps, [this](Task& task) { return take_steps(task); },
              {.steps = std::vector<std::string>{"step*", "nap?", "step*"}});
    worker.on(outlived, [this](Task& task) { return outlive(task); });
    start(worker);
    const auto ended = worker.join();
    std::fprintf(stderr, "the worker ended: %s\n", ended ? "without an error" : ended.error().message.c_str());
    return 1;  // it is killed, it does not end
  }

 private:
  // The store or the server may be down at this moment.
  Client open_client() {
    for (;;) {
      auto client = Client::open(options_.url);
      if (client) return std::move(*client);
      std::fprintf(stderr, "%s\n", client.error().message.c_str());
      std::this_thread::sleep_for(20ms);
    }
  }
  void start(Worker& worker) {
    for (;;) {
      const auto started = worker.start();
      if (started) return;
      std::fprintf(stderr, "%s\n", started.error().message.c_str());
      std::this_thread::sleep_for(20ms);
    }
  }

  std::uint64_t chance() {
    const std::lock_guard lock(mutex_);
    return random_();
  }
  void maybe_die() {
    if (options_.may_die && chance() % 1500 == 0) std::raise(SIGKILL);
  }
  // In the file when it returns.
  void write(const std::string& what, const Task& task, const std::string& name, const std::string& value) {
    const std::string line = what + " " + to_string(task.id()) + " " + name + " " + value + "\n";
    if (::write(ledger_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
    std::perror("the ledger cannot be written");
    std::exit(1);
  }

  std::string take_steps(Task& task) {
    std::string all;
    for (int i = 1; i <= steps_of_an_execution; ++i) {
      const std::string name = i == 1 ? "step" : "step#" + std::to_string(i);
      if (i == 3 && task.id().uuid.bytes[15] % 8 == 0) task.sleep("nap", 20ms);
      maybe_die();
      const auto value = task.step("step", [&] {
        const std::string made = options_.name + "-" + std::to_string(++made_);
        std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 10));
        write("made", task, name, made);
        maybe_die();
        return made;
      });
      maybe_die();
      write("seen", task, name, value);
      all += (all.empty() ? "" : " ") + value;
    }
    maybe_die();
    return all;
  }

  std::string outlive(Task& task) {
    if (task.attempt_index() > 0) return "later";
    write("made", task, "begin", options_.name);
    while (!task.cancelled()) std::this_thread::sleep_for(1ms);
    write("seen", task, "tripped", "yes");
    const auto tell = [&](const std::string& name, auto call) {
      try {
        call();
        write("seen", task, name, "allowed");
      } catch (const TaskStopped&) {
        write("seen", task, name, "refused");
      }
    };
    tell("progress", [&] { task.progress(50); });
    tell("step", [&] { task.step("late", [] {}); });
    tell("checkpoint", [&] { task.checkpoint(1); });
    tell("end", [] { throw TaskStopped(""); });
    return "too late";
  }

  const StepWorkerOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<std::uint64_t> made_{0};
  int ledger_;
};

}  // namespace

std::vector<std::string> step_worker_words(const StepWorkerOptions& options) {
  return {"/proc/self/exe",
          marker,
          options.name,
          options.ledger,
          options.url,
          std::to_string(options.seed),
          options.may_die ? "mortal" : "immortal"};
}

bool is_step_worker(int argc, char** argv) { return argc == 7 && argv[1] == marker; }

int run_step_worker(int, char** argv) {
  const StepWorkerOptions options{argv[2], argv[3], argv[4], std::strtoull(argv[5], nullptr, 10),
                                  argv[6] == std::string("mortal")};
  return StepWorker(options).run();
}

Ledger read_ledgers(const std::filesystem::path& folder) {
  Ledger ledger;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".ledger") continue;
    std::ifstream in(entry.path());
    // A last line that is not whole does not count: its writer died before it could go on.
    for (std::string line; std::getline(in, line) && !in.eof();) {
      std::istringstream words(line);
      std::string what, id, step, value;
      words >> what >> id >> step >> value;
      LedgerOfStep& of_step = ledger[id][step];
      (what == "made" ? of_step.made : of_step.seen).insert(value);
    }
  }
  return ledger;
}

}  // namespace flowfabric::chaos
