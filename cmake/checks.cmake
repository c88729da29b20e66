# `check`: format, layering, and every header compiling by itself. The first two are tests as well.

find_package(Python3 COMPONENTS Interpreter)
find_program(reef_clang_format NAMES clang-format-16)

add_custom_target(check)
if(reef_clang_format)
  add_custom_target(check_format
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/check_format USES_TERMINAL VERBATIM)
  add_dependencies(check check_format)
endif()
if(Python3_FOUND)
  add_custom_target(check_layers
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/check_layers.py ${CMAKE_SOURCE_DIR}
    USES_TERMINAL VERBATIM)
  add_dependencies(check check_layers)
endif()

# Include hygiene: a header says what it needs. Only what changed is compiled again.
file(GLOB_RECURSE reef_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.h)
set(reef_header_stamps)
foreach(header IN LISTS reef_headers)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${header})
  string(REPLACE "/" "_" stamp ${name})
  set(stamp ${CMAKE_BINARY_DIR}/headers/${stamp}.ok)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/headers
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -x c++ -Wno-pragma-once-outside-header
      -DREEF_VERSION="0" -DBOOST_ASIO_SEPARATE_COMPILATION -DBOOST_ASIO_NO_DEPRECATED -DFMT_SHARED
      -I${CMAKE_SOURCE_DIR}/src -isystem ${CMAKE_BINARY_DIR}/generated
      -MD -MF ${stamp}.d -MT ${stamp} ${header}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${header} DEPFILE ${stamp}.d
    COMMENT "Header by itself: ${name}" VERBATIM)
  list(APPEND reef_header_stamps ${stamp})
endforeach()
add_custom_target(check_headers DEPENDS ${reef_header_stamps})
add_dependencies(check_headers reef_protocol_generated)
add_dependencies(check check_headers)
