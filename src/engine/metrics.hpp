// The counters of the engine. docs/operating.md describes each metric; names and labels are in metrics.cpp.
//
// Metrics never affect the behaviour of the engine. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include <flowfabric/limits.hpp>
#include <flowfabric/result.hpp>

#include "core/commands.hpp"
#include "core/workspace.hpp"
#include "observe/metrics.hpp"

namespace flowfabric {

class EngineMetrics {
 public:
  EngineMetrics();

  // A call has ended, with an error or (null) without.
  void operation_ended(std::string_view operation, const Error* error, std::int64_t nanoseconds);
  // A batch has ended: "committed", "unchanged" or an error code. `pieces` is the number of commands and claims in it.
  void batch_ended(bool sweep, std::string_view outcome, std::size_t pieces, std::int64_t nanoseconds);
  // A signal or a decision was delivered.
  void signal_answered(const SignalReply& reply);
  // A create under a key at submission was answered.
  void create_answered(const CreateRequest& request, const Result<Reply>& reply);
  // A limit has held back an execution.
  void held_back(const LimitName& limit);
  // Counts the effects of a committed record, at `now` by the store's clock. `shared`: of an execution under a share.
  void committed(const Slot& slot, TimestampMs now, bool shared);

  observe::Registry registry;
  observe::Histogram& commit_duration;
  observe::Counter& requeued;  // commands and claims that lost a race and are repeated

 private:
  void count(const Event& event, const Slot& slot);
  void count_end(const Event& event, const Spec& spec);
  void count_flow_end(const Event& event, const FlowSpec& spec);
  void count_start(const Slot& slot, TimestampMs now, bool shared);

  observe::Family<observe::Counter>& operations_;
  observe::Family<observe::Histogram>& operation_duration_;
  observe::Family<observe::Counter>& batches_;
  observe::Histogram& batch_commands_;
  observe::Family<observe::Histogram>& batch_duration_;
  observe::Histogram& due_lag_;
  observe::Family<observe::Counter>& events_;
  observe::Family<observe::Counter>& created_;
  observe::Family<observe::Counter>& finished_;
  observe::Family<observe::Histogram>& lifetime_;
  observe::Histogram& start_delay_;
  observe::Family<observe::Counter>& retries_;
  observe::Family<observe::Counter>& flows_submitted_;
  observe::Family<observe::Counter>& flows_finished_;
  observe::Family<observe::Histogram>& flow_lifetime_;
  observe::Family<observe::Counter>& signals_;
  observe::Family<observe::Counter>& waits_ended_;
  observe::Family<observe::Counter>& creates_under_keys_;
  observe::Family<observe::Counter>& firings_;
  observe::Family<observe::Counter>& held_back_;
  observe::Counter& redriven_;
  observe::Family<observe::Counter>& lease_losses_;
  observe::Family<observe::Counter>& worker_deaths_;
};

// Counts one call of the public interface, from here to ended().
class OperationTimer {
 public:
  // `operation` must be a literal.
  OperationTimer(EngineMetrics& metrics, std::string_view operation) : metrics_(&metrics), operation_(operation) {}
  template <class T>
  void ended(const Result<T>& reply) const {
    metrics_->operation_ended(operation_, reply ? nullptr : &reply.error(), watch_.nanoseconds());
  }

 private:
  EngineMetrics* metrics_;
  std::string_view operation_;
  observe::Stopwatch watch_{};
};

}  // namespace flowfabric
