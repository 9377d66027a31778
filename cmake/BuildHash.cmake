# Writes OUTPUT with the commit of SOURCE_DIR. Run by every build; the file changes only when the commit does.
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(hash "unknown")
else()
  execute_process(COMMAND git -C "${SOURCE_DIR}" diff-index --quiet HEAD -- RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND hash "+")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
"#include \"cli/build_hash.hpp\"

const char* flowfabric::cli::build_hash() { return \"${hash}\"; }
")
