// Which commit this program was built from. cmake/BuildHash.cmake writes the definition, so that a new commit compiles
// one small file.
#pragma once

namespace flowfabric::cli {

// Twelve digits, with a + when files had been changed; "unknown" without git.
const char* build_hash();

}  // namespace flowfabric::cli
