# ff_room and ff_program: how a directory becomes a target.
#
# Both accept an empty or missing directory, so the tree can always be configured.

set(FF_LIBRARY_ROOMS "")  # rooms with objects that belong into the installed archive
set(FF_PROGRAMS "")       # names under <build>/bin, written to <build>/programs.txt

set(FF_UNITY_FILES 8)

# Writes the file that includes those in `some`, and begins a new group.
macro(ff_unity_group)
  set(text "")
  foreach(member IN LISTS some)
    cmake_path(RELATIVE_PATH member BASE_DIRECTORY "${place}")
    string(APPEND text "#include \"${member}\"\n")
  endforeach()
  list(LENGTH gathered number)
  file(CONFIGURE OUTPUT "${place}/${target}_${number}.cpp" CONTENT "${text}" @ONLY)
  list(APPEND gathered "${place}/${target}_${number}.cpp")
  set(some "")
endmacro()

# ff_unity(<variable> <target> <source>...): the sources to compile instead of these. They include by relative paths, so
# that ccache can reuse them in another clone.
function(ff_unity variable target)
  if(NOT FF_UNITY)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(place "${PROJECT_BINARY_DIR}/unity")
  set(gathered "")
  set(some "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH room)
    list(LENGTH some count)
    if(some AND (count EQUAL FF_UNITY_FILES OR NOT room STREQUAL room_of_some))
      ff_unity_group()
    endif()
    set(room_of_some "${room}")
    list(APPEND some "${file}")
  endforeach()
  ff_unity_group()
  set(${variable} ${gathered} PARENT_SCOPE)
endfunction()

# ff_room(<directory under src> [NOT_IN_LIBRARY] [PUBLIC target...] [PRIVATE target...])
#
# Creates the static library ff_<room>, with every / as _, of all its *.cpp except *_test.cpp and
# main.cpp. Subdirectories are separate modules. Without sources it is an interface library.
function(ff_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_IN_LIBRARY" "" "PUBLIC;PRIVATE")
  string(REPLACE "/" "_" target "ff_${room}")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  if(sources)
    ff_unity(sources ${target} ${sources})
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC
      "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    if(arg_NOT_IN_LIBRARY AND FF_QUICK_BUILD)
      target_compile_options(${target} PRIVATE -O0)
    endif()
    if(NOT arg_NOT_IN_LIBRARY)
      list(APPEND FF_LIBRARY_ROOMS ${target})
      set(FF_LIBRARY_ROOMS "${FF_LIBRARY_ROOMS}" PARENT_SCOPE)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE
      "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC} ${arg_PRIVATE})
  endif()
endfunction()

# ff_program(<target> [OUTPUT_NAME name] SOURCES file... LINK target...)
#
# Creates a program in <build>/bin. Does nothing if none of its sources exists.
function(ff_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_NAME" "SOURCES;LINK")
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # A glob, unlike if(EXISTS), is evaluated again by every build.
    file(GLOB found CONFIGURE_DEPENDS "${source}")
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    return()
  endif()
  ff_unity(sources ${target} ${sources})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  if(arg_OUTPUT_NAME)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME})
  endif()
  list(APPEND FF_PROGRAMS ${target})
  set(FF_PROGRAMS "${FF_PROGRAMS}" PARENT_SCOPE)
endfunction()

# ff_use_allocator(<program>)
#
# Links it with the chosen allocator (FF_ALLOCATOR). A shared library that defines malloc replaces it for the whole
# process, including the libraries.
function(ff_use_allocator target)
  if(FF_ALLOCATOR STREQUAL "mimalloc")
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()

# Tells ./dev which targets exist, so that it never runs a stale binary.
function(ff_write_program_list)
  list(JOIN FF_PROGRAMS "\n" text)
  file(WRITE "${PROJECT_BINARY_DIR}/programs.txt" "${text}\n")
endfunction()
