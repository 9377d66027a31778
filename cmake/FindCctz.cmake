# The library of time zones. Its Debian package has neither a CMake nor a pkg-config file.
find_path(CCTZ_INCLUDE_DIR cctz/time_zone.h)
find_library(CCTZ_LIBRARY cctz)
mark_as_advanced(CCTZ_INCLUDE_DIR CCTZ_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cctz REQUIRED_VARS CCTZ_LIBRARY CCTZ_INCLUDE_DIR)

if(Cctz_FOUND AND NOT TARGET Cctz::Cctz)
  add_library(Cctz::Cctz UNKNOWN IMPORTED)
  set_target_properties(Cctz::Cctz PROPERTIES
    IMPORTED_LOCATION "${CCTZ_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${CCTZ_INCLUDE_DIR}")
endif()
