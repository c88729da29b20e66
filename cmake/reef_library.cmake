# One library per folder under src/, made by one function, so that all are built alike.
#
#   reef_library(session DEPS base SOURCES entry.cpp ... LIBS Boost::json)
#
# DEPS are other Reef libraries; scripts/check_layers.py holds the includes to the same order. PCH names the target whose
# precompiled header is used, where that of nearly all is not enough: parsing reef.pb.h takes longer than most files.

add_library(reef_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_precompile_headers(reef_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
target_link_libraries(reef_pch PRIVATE reef_settings)

function(reef_library name)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH reef_pch)
  endif()
  add_library(reef_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND reef_)
  target_link_libraries(reef_${name} PUBLIC reef_settings ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(reef_${name} REUSE_FROM ${ARG_PCH})
endfunction()

function(reef_program name)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH reef_pch)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND reef_)
  target_link_libraries(${name} PRIVATE reef_settings ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(${name} REUSE_FROM ${ARG_PCH})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()
