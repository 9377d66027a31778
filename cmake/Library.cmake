# The public library: one static archive of the objects of all library modules, installable, with
# a package file for find_package(flowfabric). Users see only include/.

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
  PUBLIC Threads::Threads
  PRIVATE fmt::fmt Cctz::Cctz OpenSSL::Crypto OpenSSL::SSL ZLIB::ZLIB
    $<$<BOOL:${FF_SQLITE}>:SQLite::SQLite3> $<$<BOOL:${FF_POSTGRES}>:PostgreSQL::PostgreSQL>)

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

# For builds without CMake. The archive is static, so what it was built on is named among what its users link.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "/${pkgconfig_dir}" "/")
set(pc_requires "fmt openssl zlib")
if(FF_SQLITE)
  string(APPEND pc_requires " sqlite3")
endif()
if(FF_POSTGRES)
  string(APPEND pc_requires " libpq")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/flowfabric.pc.in" "${PROJECT_BINARY_DIR}/flowfabric.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/flowfabric.pc" DESTINATION ${pkgconfig_dir})
install(FILES
  "${PROJECT_BINARY_DIR}/flowfabricConfig.cmake"
  "${PROJECT_BINARY_DIR}/flowfabricConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindCctz.cmake"
  DESTINATION ${package_dir})
