#include "testing/virtual_dead_letters.hpp"

#include "base/check.hpp"
#include "core/dead_letter_ingress.hpp"
#include "core/ingress.hpp"
#include "engine/dead_letter_reads.hpp"

namespace flowfabric::testing {

Result<ListDeadLettersReply> VirtualDeadLetters::list(const ListDeadLettersRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::dead_letters(engine_.store(), request);
}

Result<DeadLetterDetails> VirtualDeadLetters::get(const GetDeadLettersRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::dead_letter_group(engine_.store(), request);
}

Result<RedriveInfo> VirtualDeadLetters::create_redrive(RedriveRequest request, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(by));
  FF_TRY(command, reads::redrive_command(engine_.store(), std::move(request), by, engine_.runtime().new_uuid()));
  FF_TRY(reply, engine_.call(std::move(command)));
  return std::get<RedriveInfo>(reply);
}

Result<RedriveInfo> VirtualDeadLetters::change_redrive(const std::string& redrive_id, RedriveAction action,
                                                       const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY(id, parse_redrive_id(redrive_id));
  FF_TRY_VOID(admit(by));
  FF_TRY(reply, engine_.call(RedriveActionCommand{id, action, by}));
  return reads::with_failed_again(engine_.store(), std::get<RedriveInfo>(reply));
}

Result<RedriveInfo> VirtualDeadLetters::get_redrive(const std::string& redrive_id) {
  const std::lock_guard lock(mutex_);
  FF_TRY(id, parse_redrive_id(redrive_id));
  return reads::redrive(engine_.store(), id);
}

Result<ListRedrivesReply> VirtualDeadLetters::list_redrives(const ListRedrivesRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::redrives(engine_.store(), request);
}

}  // namespace flowfabric::testing
