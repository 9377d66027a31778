// Tells operators that events are held back, or that removed rows pile up.
//
// Not thread-safe; the thread that looks has one.
#pragma once

#include "store/store.hpp"

namespace flowfabric {

class LogHealthReport {
 public:
  // Logs a warning when a trouble begins, and again when it has lasted ten times as long; and a line when it is over.
  void tell(const LogHealth& health);

 private:
  std::int64_t held_back_from_ms_ = 0;  // warn from here on; 0: no warning is out
  std::int64_t uncleared_from_ms_ = 0;
};

}  // namespace flowfabric
