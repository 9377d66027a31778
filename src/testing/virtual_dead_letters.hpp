// The calls about dead letters on virtual time.
#pragma once

#include <mutex>

#include "sdk/dead_letter_calls.hpp"
#include "testing/virtual_engine.hpp"

namespace flowfabric::testing {

class VirtualDeadLetters final : public sdk::DeadLetterCalls {
 public:
  // Both must outlive it; the mutex guards the engine.
  VirtualDeadLetters(VirtualEngine& engine, std::mutex& mutex) : engine_(engine), mutex_(mutex) {}

  Result<ListDeadLettersReply> list(const ListDeadLettersRequest& request) override;
  Result<DeadLetterDetails> get(const GetDeadLettersRequest& request) override;
  Result<RedriveInfo> create_redrive(RedriveRequest request, const Operator& by) override;
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, const Operator& by) override;
  Result<RedriveInfo> get_redrive(const std::string& redrive_id) override;
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request) override;

 private:
  VirtualEngine& engine_;
  std::mutex& mutex_;
};

}  // namespace flowfabric::testing
