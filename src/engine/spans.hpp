// What a committed record brought about, as spans: one for each turn of a worker and one for each life of the execution.
// docs/operating.md says what they look like.
#pragma once

#include "core/workspace.hpp"
#include "observe/tracer.hpp"

namespace flowfabric {

void record_spans(const Slot& slot, observe::Tracer& tracer);

}  // namespace flowfabric
