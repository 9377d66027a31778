// The public interface for dead letters and redrives.
#include "base/check.hpp"
#include "core/dead_letter_ingress.hpp"
#include "core/ingress.hpp"
#include "engine/calls.hpp"
#include "engine/dead_letter_reads.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric {

Result<ListDeadLettersReply> Engine::list_dead_letters(const ListDeadLettersRequest& request) {
  return impl_->counted("list_dead_letters", [&] { return reads::dead_letters(impl_->runtime->store(), request); });
}

Result<DeadLetterDetails> Engine::get_dead_letters(const GetDeadLettersRequest& request) {
  return impl_->counted("get_dead_letters", [&] { return reads::dead_letter_group(impl_->runtime->store(), request); });
}

Result<RedriveInfo> Engine::create_redrive(RedriveRequest request, Operator by) {
  return impl_->counted("create_redrive", [&]() -> Result<RedriveInfo> {
    Runtime& runtime = *impl_->runtime;
    FF_TRY_VOID(admit(by));
    FF_TRY(command, reads::redrive_command(runtime.store(), std::move(request), std::move(by), runtime.new_uuid()));
    return call_as<RedriveInfo>(runtime, std::move(command));
  });
}

Result<RedriveInfo> Engine::change_redrive(const std::string& redrive_id, RedriveAction action, Operator by) {
  return impl_->counted("change_redrive", [&]() -> Result<RedriveInfo> {
    Runtime& runtime = *impl_->runtime;
    FF_TRY(id, parse_redrive_id(redrive_id));
    FF_TRY_VOID(admit(by));
    FF_TRY(info, call_as<RedriveInfo>(runtime, RedriveActionCommand{id, action, std::move(by)}));
    return reads::with_failed_again(runtime.store(), std::move(info));
  });
}

Result<RedriveInfo> Engine::get_redrive(const std::string& redrive_id) {
  return impl_->counted("get_redrive", [&]() -> Result<RedriveInfo> {
    FF_TRY(id, parse_redrive_id(redrive_id));
    return reads::redrive(impl_->runtime->store(), id);
  });
}

Result<ListRedrivesReply> Engine::list_redrives(const ListRedrivesRequest& request) {
  return impl_->counted("list_redrives", [&] { return reads::redrives(impl_->runtime->store(), request); });
}

}  // namespace flowfabric
