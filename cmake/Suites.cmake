# Tests, examples and the benchmark. ./dev test decides what runs; this only builds.

find_package(GTest)
find_package(rapidcheck CONFIG QUIET)

# Tests also check internals, so they may call databases, OpenSSL and zlib directly. Those of the engine do not wait for
# the program to be compiled.
set(FF_ENGINE_ON_STORES ff_engine ff_net ff_store_memory ff_store_sqlite ff_store_postgres
  SQLite::SQLite3 PostgreSQL::PostgreSQL OpenSSL::SSL ZLIB::ZLIB)
set(FF_EVERYTHING ff_cli ff_testing ff_sdk ff_open ${FF_ENGINE_ON_STORES})

if(GTest_FOUND)
  file(GLOB support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
  if(support)
    ff_unity(support ff_test_support ${support})
    add_library(ff_test_support STATIC ${support})
    target_include_directories(ff_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(ff_test_support PUBLIC ${FF_ENGINE_ON_STORES} GTest::gmock GTest::gtest)
  else()
    add_library(ff_test_support INTERFACE)
    target_include_directories(ff_test_support INTERFACE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(ff_test_support INTERFACE ${FF_ENGINE_ON_STORES} GTest::gmock GTest::gtest)
  endif()

  ff_program(simulate SOURCES tests/simulation/*.cpp tests/model/wait_evaluator.cpp LINK ff_test_support)
  # Benchmarks start their own PostgreSQL, so they use the test support too.
  ff_program(bench SOURCES bench/*.cpp LINK ff_test_support ${FF_EVERYTHING})
  ff_use_allocator(bench)
  target_compile_definitions(bench PRIVATE "FF_ALLOCATOR=\"${FF_ALLOCATOR}\"")

  # The other tests spend their time in the modules, and run once: optimizing them costs more than it saves.
  # The sanitizers also target the modules; tests without UBSan still detect every bad access.
  add_compile_options(-O0)
  if(FF_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=undefined)
  endif()

  # gtest_main is an archive: a suite that defines its own main() simply does not pull it in.
  set(suite_links ff_test_support GTest::gtest_main)

  file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.cpp")
  ff_program(unit_tests SOURCES ${unit_sources} LINK ${suite_links} ${FF_EVERYTHING})
  ff_program(conformance_tests SOURCES tests/conformance/*.cpp LINK ${suite_links})
  ff_program(sdk_tests SOURCES tests/sdk/*.cpp LINK ${suite_links} ${FF_EVERYTHING})
  ff_program(crash_tests SOURCES tests/crash/*.cpp LINK ${suite_links} ff_open)
  ff_program(cli_tests SOURCES tests/cli/*.cpp LINK ${suite_links} ${FF_EVERYTHING})
  ff_program(e2e_tests SOURCES tests/e2e/*.cpp tests/e2e/support/*.cpp LINK ${suite_links} ${FF_EVERYTHING})
  ff_program(chaos_tests SOURCES tests/e2e/chaos/*.cpp tests/model/flow_evaluator.cpp tests/model/flow_graph.cpp
    LINK ${suite_links} ${FF_EVERYTHING})
  # The location of the program that they run, and of the documents that they compare with it.
  foreach(suite IN ITEMS cli_tests e2e_tests chaos_tests bench)
    if(TARGET ${suite})
      target_compile_definitions(${suite} PRIVATE FF_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
        FF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
      add_dependencies(${suite} flowfabric_program)
    endif()
  endforeach()
  if(TARGET rapidcheck)
    ff_program(model_tests SOURCES tests/model/*.cpp
      LINK ${suite_links} rapidcheck_gtest rapidcheck)
  endif()
endif()

# Examples are written like user programs: they use only the public library and headers.
if(TARGET flowfabric)
  file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
  foreach(example IN LISTS examples)
    cmake_path(GET example STEM name)
    ff_program(example_${name} SOURCES "${example}" LINK flowfabric::flowfabric)
  endforeach()
endif()
