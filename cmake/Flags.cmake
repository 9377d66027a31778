# Compiler and linker settings of the whole tree.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

set(FF_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")
# Most compile time is spent on headers that other files of the target include too. Therefore several files of a target are
# compiled as one (ff_unity). Names in unnamed namespaces are then visible to the other files, so they must be unique
# within a module. `./dev lint --tidy` compiles files separately, and so finds missing includes.
option(FF_UNITY "Compile several files of a target as one" ${PROJECT_IS_TOP_LEVEL})
# The code around the library is large and mostly waits; for tests, optimizing it takes longer than it saves.
option(FF_QUICK_BUILD "Optimize the rooms of the library only" OFF)
# A batch frees at once what sixty callers have allocated, which is slow with glibc's allocator. A program that
# embeds the library chooses its own.
set(FF_ALLOCATOR "system" CACHE STRING "The allocator of our programs: system or mimalloc")
set_property(CACHE FF_ALLOCATOR PROPERTY STRINGS system mimalloc)
option(FF_FUZZ "Build the fuzz targets, and only them; needs clang" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_compile_options(-fno-omit-frame-pointer)

# A project that includes this tree keeps its own warning settings.
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
  if(FF_UNITY)
    add_compile_options(-Wno-shadow)  # a local name may be one that a neighbour has at the top of its file
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND FF_UNITY)
    add_compile_options(-Wno-subobject-linkage)  # it takes the included files for headers
    add_compile_options(-Wshadow=local)  # it can tell a local name from one at the top of a file; clang cannot
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these inside libstdc++'s own std::string and std::variant code.
    add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
  endif()
endif()

if(FF_SANITIZE)
  add_compile_options(-fsanitize=${FF_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FF_SANITIZE})
endif()

find_program(FF_CCACHE ccache)
mark_as_advanced(FF_CCACHE)
if(FF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${FF_CCACHE}")
endif()

find_program(FF_MOLD mold)
mark_as_advanced(FF_MOLD)
if(FF_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
