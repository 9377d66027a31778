// Reads of dead letters and redrives, as functions of a store.
#pragma once

#include <map>

#include <flowfabric/dead_letters.hpp>

#include "core/commands.hpp"
#include "store/store.hpp"

namespace flowfabric::reads {

Result<ListDeadLettersReply> dead_letters(Store& store, const ListDeadLettersRequest& request);
Result<DeadLetterDetails> dead_letter_group(Store& store, const GetDeadLettersRequest& request);
// By kind of execution; older failures, whose kinds nobody has counted, have the kind "".
Result<std::map<std::string, std::uint64_t>> dead_letters_by_kind(Store& store);

// The groups that the redrive goes through are those that there are now.
Result<CreateRedriveCommand> redrive_command(Store& store, RedriveRequest request, Operator by, const Uuid& new_id);
Result<RedriveInfo> redrive(Store& store, const Uuid& id);
Result<ListRedrivesReply> redrives(Store& store, const ListRedrivesRequest& request);
// With what changes without the record.
Result<RedriveInfo> with_failed_again(Store& store, RedriveInfo info);

}  // namespace flowfabric::reads
