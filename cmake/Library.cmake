# The public library: one static archive of the objects of all library rooms, installable, with
# a package file for find_package(flowfabric). Users see include/ and nothing else.

include(CMakePackageConfigHelpers)

if(NOT FF_LIBRARY_ROOMS)
  return()
endif()

set(objects "")
foreach(room IN LISTS FF_LIBRARY_ROOMS)
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()

add_library(flowfabric STATIC ${objects})
add_library(flowfabric::flowfabric ALIAS flowfabric)
set_target_properties(flowfabric PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(flowfabric INTERFACE cxx_std_20)
target_include_directories(flowfabric INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(flowfabric
  PUBLIC tl::expected Threads::Threads
  PRIVATE fmt::fmt OpenSSL::Crypto OpenSSL::SSL ZLIB::ZLIB SQLite::SQLite3 PostgreSQL::PostgreSQL)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/flowfabric")
install(TARGETS flowfabric EXPORT flowfabricTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/flowfabric"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT flowfabricTargets NAMESPACE flowfabric:: DESTINATION ${package_dir})
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/flowfabricConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/flowfabricConfig.cmake" INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/flowfabricConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/flowfabricConfig.cmake"
  "${PROJECT_BINARY_DIR}/flowfabricConfigVersion.cmake"
  DESTINATION ${package_dir})
