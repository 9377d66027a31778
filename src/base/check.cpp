#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace flowfabric {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "flowfabric: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace flowfabric
