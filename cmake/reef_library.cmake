# One library per folder under src/, made by one function, so that all are built alike.
#
#   reef_library(session DEPS base SOURCES entry.cpp ... LIBS Boost::json)
#
# DEPS are other Reef libraries; scripts/check_layers.py holds the includes to the same order.

add_library(reef_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_precompile_headers(reef_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
target_link_libraries(reef_pch PRIVATE reef_settings)

function(reef_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(reef_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND reef_)
  target_link_libraries(reef_${name} PUBLIC reef_settings ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(reef_${name} REUSE_FROM reef_pch)
endfunction()

function(reef_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND reef_)
  target_link_libraries(${name} PRIVATE reef_settings ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(${name} REUSE_FROM reef_pch)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()
