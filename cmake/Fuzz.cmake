# Fuzz targets: one program for each tests/fuzz/*_fuzz.cpp, with libFuzzer and sanitizers. The preset `fuzz`
# builds only these, so each names the few files that it needs instead of whole modules.

add_compile_options(-fsanitize=fuzzer-no-link)

# ff_fuzz(<name> SOURCES file... LINK target...): the target fuzz_<name>.
function(ff_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  ff_program(fuzz_${name} SOURCES tests/fuzz/${name}_fuzz.cpp ${arg_SOURCES} LINK ${arg_LINK})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set(FF_PROGRAMS "${FF_PROGRAMS}" PARENT_SCOPE)
endfunction()
