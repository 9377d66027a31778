// Runs executions: plain functions, by kind, on threads.
//
//   flowfabric::Worker worker(*client, {.worker_id = "mailer", .concurrency = 8});
//   worker.on("send_mail", [](flowfabric::Task& task, Mail mail) { return deliver(mail); });
//   auto ended = worker.run();      // until SIGTERM or SIGINT; finishes what runs
//
// The worker claims as much as it has free slots, keeps the leases alive from a thread that handlers cannot block, and
// reports each result until the store has acknowledged it. A handler that returns completes its execution; one that throws
// fails the attempt (flowfabric/task.hpp). A handler may run more than once for one execution: when its worker dies after
// doing the work and before reporting it.
//
// Threads: `on` and `use` before `start`; `stop` from anywhere, also from handlers; the rest from one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flowfabric/batch.hpp>
#include <flowfabric/client.hpp>
#include <flowfabric/handler.hpp>

namespace flowfabric {

struct WorkerOptions {
  std::string worker_id = "worker";          // what instances of one program have in common
  std::string worker_instance_id{};          // empty: made of host, process and chance
  std::string worker_namespace = "default";  // where the instance is registered
  std::optional<std::string> name_space{};   // take only executions of this namespace; absent: of any
  std::vector<std::string> lanes = {"default"};
  // Of lanes that have work, so many executions are taken of each where one is taken of a lane without a weight. Empty: the
  // oldest of the highest priority is taken, whatever its lane.
  Weights lane_weights{};
  std::vector<std::string> capabilities{};
  std::uint32_t concurrency = 16;  // handlers that run at the same time, each on a thread of its own
  std::chrono::milliseconds lease_ttl{30'000};
  // After `stop`: how long running handlers may go on before their executions are handed back to other workers.
  std::chrono::milliseconds stop_grace{30'000};
};

class Worker {
 public:
  // Called around every handler, outermost first; calls `next` once, or throws.
  using Middleware = std::function<Bytes(Task&, const Handler& next)>;

  Worker(Client client, WorkerOptions options = {});
  ~Worker();  // stops, as `stop()` and `join()` do
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // See flowfabric/handler.hpp for what a handler may look like.
  template <class F>
  Worker& on(std::string kind, F handler, KindOptions options = {}) {
    return add(std::move(kind), make_handler(std::move(handler)), std::move(options));
  }
  // Takes up to `max_size` executions of the kind in one call. See flowfabric/batch.hpp for what a handler may look like.
  template <class F>
  Worker& on_batch(std::string kind, BatchOptions options, F handler) {
    return add_batch(std::move(kind), make_batch_handler(std::move(handler)), options);
  }
  // Around handlers of single executions; those of batches are called without it.
  Worker& use(Middleware middleware);
  // The steps that handlers declare (KindOptions::steps), as the document that `flowfabric check-deploy` reads. A program
  // prints it when it is asked to, before it is deployed.
  std::string declared_steps() const;

  // ---- Running
  // Registers the worker and begins to claim. Refused when an option is out of range or no handler was added.
  Result<void> start();
  // Claims no more. Running handlers may finish within `stop_grace`; then their stop tokens are requested and their
  // executions go to other workers at once. Returns immediately; a second call ends the grace.
  void stop();
  // Waits until everything has ended after `stop`. The error that ended the worker, if one did.
  Result<void> join();
  // All three, with SIGTERM and SIGINT for `stop`: the first one stops gracefully, the second one ends the grace.
  Result<void> run();

  struct Statistics {
    std::uint64_t claimed = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t handed_back = 0;
    std::uint64_t lost = 0;  // leases that were lost or cancelled while a handler ran
    std::uint32_t running = 0;
  };
  Statistics statistics() const;
  const std::string& worker_instance_id() const;

 private:
  class Impl;

  Worker& add(std::string kind, Handler handler, KindOptions options);
  Worker& add_batch(std::string kind, BatchHandler handler, const BatchOptions& options);

  std::unique_ptr<Impl> impl_;
};

}  // namespace flowfabric
