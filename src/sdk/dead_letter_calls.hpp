// The calls about dead letters, on a server or on an engine in this process. The client and the command line share them.
#pragma once

#include <memory>

#include <flowfabric/dead_letters.hpp>
#include <flowfabric/engine.hpp>

#include "sdk/http_caller.hpp"

namespace flowfabric::sdk {

class DeadLetterCalls {
 public:
  DeadLetterCalls() = default;
  DeadLetterCalls(const DeadLetterCalls&) = delete;
  DeadLetterCalls& operator=(const DeadLetterCalls&) = delete;
  virtual ~DeadLetterCalls() = default;

  virtual Result<ListDeadLettersReply> list(const ListDeadLettersRequest& request) = 0;
  virtual Result<DeadLetterDetails> get(const GetDeadLettersRequest& request) = 0;
  virtual Result<RedriveInfo> create_redrive(RedriveRequest request, const Operator& by) = 0;
  virtual Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action,
                                             const Operator& by) = 0;
  virtual Result<RedriveInfo> get_redrive(const std::string& redrive_id) = 0;
  virtual Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request) = 0;
};

// The caller and the engine must outlive it.
std::unique_ptr<DeadLetterCalls> dead_letter_calls(HttpCaller& caller);
std::unique_ptr<DeadLetterCalls> dead_letter_calls(Engine& engine);

}  // namespace flowfabric::sdk
