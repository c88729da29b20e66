# Which compilers may build Reef, and with which flags.

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(reef_compiler_min 16)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(reef_compiler_min 13.3)
else()
  set(reef_compiler_min 999)
endif()
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS reef_compiler_min)
  message(FATAL_ERROR
    "Reef needs clang >= 16 (Debian package clang-16) or g++ >= 13.3; this is "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Older g++ miscompiles C++20 "
    "coroutines without a warning (double frees, illegal instructions), so it is refused. "
    "Use a preset: cmake --preset dev")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Dev: quick to build, good backtraces. Release: what ships.
set(CMAKE_CXX_FLAGS_DEV "-O0 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough -Werror
  -fno-omit-frame-pointer)

set(REEF_SANITIZE "" CACHE STRING "Sanitizers for everything, as for -fsanitize=")
if(REEF_SANITIZE)
  add_compile_options(-fsanitize=${REEF_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${REEF_SANITIZE})
endif()

find_program(reef_lld NAMES ld.lld-16)
if(reef_lld)
  add_link_options(--ld-path=${reef_lld})
endif()

# A program loads what it uses, not what its libraries could.
add_link_options(-Wl,--as-needed)

find_program(reef_ccache NAMES ccache)
if(reef_ccache)
  # PCH needs the two sloppiness settings; without them every file would miss.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${reef_ccache})
  add_compile_options(-Xclang -fno-pch-timestamp)
endif()
