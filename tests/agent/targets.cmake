# SPDX-License-Identifier: Apache-2.0
# Programs that the cases of agent/ look at, and what the cases share.
foreach(name clockprobe counters resident sampler switches symbols unowned)
  target_sources(test_agent_${name} PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/agent/said.c)
endforeach()

foreach(name pythonplace pythonwalk)
  target_sources(test_agent_${name} PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/agent/python/image.c)
endforeach()

# One program in several builds: as it is found by address, and a library.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=lld)
check_c_source_compiles("int main(void) { return 0; }" CK_HAS_LLD)
ck_check_again(CK_HAS_LLD)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
set(place ${CMAKE_SOURCE_DIR}/tests/agent)
set(symbols_builds pie fixed stripped apart)
if(CK_HAS_LLD)
  list(APPEND symbols_builds lld)
  target_compile_definitions(test_agent_symbols PRIVATE CK_TEST_HAS_LLD)
endif()
add_library(symbols_library SHARED ${place}/symbols_library.c)
foreach(build IN LISTS symbols_builds)
  add_executable(symbols_${build} ${place}/symbols_target.c)
  target_link_libraries(symbols_${build} PRIVATE symbols_library)
endforeach()
list(TRANSFORM symbols_builds PREPEND symbols_ OUTPUT_VARIABLE symbols_targets)
foreach(target symbols_library ${symbols_targets})
  target_compile_options(${target} PRIVATE -O1 -g)
  target_link_options(${target} PRIVATE -Wl,--build-id)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(test_agent_symbols ${target})
endforeach()
if(CK_HAS_LLD)
  target_link_options(symbols_lld PRIVATE -fuse-ld=lld)
endif()
target_compile_options(symbols_pie PRIVATE -fPIE)
target_link_options(symbols_pie PRIVATE -pie)
target_compile_options(symbols_fixed PRIVATE -fno-pie)
target_link_options(symbols_fixed PRIVATE -no-pie)
target_link_options(symbols_stripped PRIVATE -s)
add_custom_command(TARGET symbols_apart POST_BUILD VERBATIM
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:symbols_apart>
    $<TARGET_FILE:symbols_apart>.debug
  COMMAND ${CMAKE_OBJCOPY} --strip-debug
    --add-gnu-debuglink=$<TARGET_FILE:symbols_apart>.debug
    $<TARGET_FILE:symbols_apart>)
target_compile_definitions(test_agent_symbols PRIVATE
  CK_TEST_DIR="${CMAKE_BINARY_DIR}/tests")
