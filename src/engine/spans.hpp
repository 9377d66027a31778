// The effects of a committed record as spans: one for each lease period of a worker and one for each run of the
// execution. docs/operating.md describes them.
#pragma once

#include "core/workspace.hpp"
#include "observe/tracer.hpp"

namespace flowfabric {

void record_spans(const Slot& slot, observe::Tracer& tracer);

}  // namespace flowfabric
