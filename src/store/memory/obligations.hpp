// The obligations of callers. Other stores may rely on them; the reference model checks them with FF_CHECK.
#pragma once

#include <vector>

#include "store/store.hpp"

namespace flowfabric {

void check_sets(const std::vector<ChangeSet>& sets);
void check_request(const ReadRequest& request);

}  // namespace flowfabric
