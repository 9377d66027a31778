// What conditions of waits mean, written from their description in flowfabric/signals.hpp and not from the code in core/.
// The model test and the simulator compare the two.
#pragma once

#include <optional>
#include <vector>

#include <flowfabric/signals.hpp>

namespace flowfabric::test {

// Whether these signals fulfil it.
bool fulfils(const WaitCondition& condition, const std::vector<Signal>& signals);

// Why the wait is over after these signals; nothing if it goes on. A veto is stronger.
std::optional<WaitCause> end_of_wait(const WaitCondition& condition, const std::optional<WaitCondition>& veto,
                                     const std::vector<Signal>& signals);

// Of signals at an approval only decisions count: `approve` or `reject`, from a person who may decide, once from each.
std::vector<Signal> decisions_among(const ApprovalRequest& approval, const std::vector<Signal>& signals);

}  // namespace flowfabric::test
