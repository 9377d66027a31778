// The time zones of this machine: the files of the IANA database under /usr/share/zoneinfo, or where TZDIR says.
#pragma once

#include <memory>

#include "core/time_zone.hpp"

namespace flowfabric {

// A zone is read when it is asked for the first time, and kept.
std::shared_ptr<const TimeZones> system_time_zones();

}  // namespace flowfabric
