// The calls of a client about dead letters.
#include <flowfabric/client.hpp>

#include "sdk/dead_letter_calls.hpp"
#include "sdk/gateway.hpp"

namespace flowfabric {
namespace {

Operator operator_with(std::string reason) { return {"client", std::move(reason)}; }

}  // namespace

Result<ListDeadLettersReply> Client::list_dead_letters(const ListDeadLettersRequest& request) {
  return gateway_->dead_letters().list(request);
}
Result<DeadLetterDetails> Client::get_dead_letters(const GetDeadLettersRequest& request) {
  return gateway_->dead_letters().get(request);
}
Result<RedriveInfo> Client::create_redrive(RedriveRequest request, std::string reason) {
  return gateway_->dead_letters().create_redrive(std::move(request), operator_with(std::move(reason)));
}
Result<RedriveInfo> Client::change_redrive(const std::string& redrive_id, RedriveAction action, std::string reason) {
  return gateway_->dead_letters().change_redrive(redrive_id, action, operator_with(std::move(reason)));
}
Result<RedriveInfo> Client::get_redrive(const std::string& redrive_id) {
  return gateway_->dead_letters().get_redrive(redrive_id);
}
Result<ListRedrivesReply> Client::list_redrives(const ListRedrivesRequest& request) {
  return gateway_->dead_letters().list_redrives(request);
}

}  // namespace flowfabric
