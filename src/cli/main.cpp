#include <cstdio>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/complaint.hpp"

namespace {

// Output that could not be written must not look like success.
int output_lost() {
  return flowfabric::cli::complain("flowfabric",
                                   {flowfabric::Errc::unavailable, "the output could not be written", {}, {}}, false);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = flowfabric::cli::run({argv + 1, argv + argc});
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? code : output_lost();
  } catch (const std::system_error&) {  // thrown by fmt::print when a write fails
    return output_lost();
  }
}
