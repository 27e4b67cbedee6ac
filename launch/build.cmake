# build.cmake - the object ck_build: what --version prints after the version
#
# SPDX-License-Identifier: Apache-2.0
#
# Included at the end of the first CMakeLists.txt, it writes all but the commit
# when the build is configured. The commit is asked for at each build: then this
# file runs as a script (CK_BUILD_FROM, CK_BUILD_TO, CK_BUILD_SOURCE set), and
# writes the source only where it changes.

# The commit of a clone, and whether its files differ; of an unpacked archive
# what `git archive` wrote into commit.txt.
function(ck_commit source result)
  set(${result} "unknown" PARENT_SCOPE)
  file(STRINGS ${source}/launch/commit.txt line LIMIT_COUNT 1)
  if(line MATCHES "^([0-9a-f]+)$")
    string(SUBSTRING ${line} 0 12 line)
    set(${result} ${line} PARENT_SCOPE)
    return()
  endif()
  find_program(CK_GIT git)
  # Not of a repository that merely contains this folder.
  if(NOT CK_GIT OR NOT EXISTS ${source}/.git)
    return()
  endif()
  # A clone of another user (a container's) is asked all the same.
  set(git ${CK_GIT} -c safe.directory=* -C ${source} --no-optional-locks)
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    return()
  endif()
  execute_process(COMMAND ${git} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit ", with changes that are not committed")
  endif()
  set(${result} ${commit} PARENT_SCOPE)
endfunction()

if(CK_BUILD_TO)
  ck_commit(${CK_BUILD_SOURCE} CK_COMMIT_TEXT)
  if(CK_COMMIT)
    set(CK_COMMIT_TEXT ${CK_COMMIT})
  endif()
  configure_file(${CK_BUILD_FROM} ${CK_BUILD_TO} @ONLY)
  return()
endif()

set(CK_COMMIT "" CACHE STRING
  "Commit that --version prints; empty: ask git or the archive")
find_program(CK_LDD ldd)
set(libc)
if(CK_LDD AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${CK_LDD} --version OUTPUT_VARIABLE libc ERROR_QUIET)
  if(libc MATCHES "([0-9]+\\.[0-9]+)[ \t\r]*\n")
    set(libc ", glibc ${CMAKE_MATCH_1}")
  else()
    set(libc)
  endif()
endif()
set(sanitized)
if(CK_SANITIZE)
  set(sanitized ", sanitizers ${CK_SANITIZE}")
endif()
get_property(ck_lines GLOBAL PROPERTY CK_SUMMARY)
list(PREPEND ck_lines
  "built for ${CMAKE_SYSTEM_PROCESSOR} by ${CMAKE_C_COMPILER_ID} \
${CMAKE_C_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}${libc}${sanitized}"
  "libzmq ${ZMQ_VERSION}" "libdw ${LIBDW_libdw_VERSION}")
set(CK_BUILD_LINES)
foreach(line IN LISTS ck_lines)
  string(APPEND CK_BUILD_LINES "    \"${line}\",\n")
endforeach()
set(CK_COMMIT_TEXT "@CK_COMMIT_TEXT@") # for the second time
configure_file(launch/buildfacts.c.in ${CMAKE_BINARY_DIR}/buildfacts.c.in @ONLY)
add_custom_target(ck_build_ask
  COMMAND ${CMAKE_COMMAND} -DCK_BUILD_SOURCE=${CMAKE_SOURCE_DIR}
    -DCK_BUILD_FROM=${CMAKE_BINARY_DIR}/buildfacts.c.in
    -DCK_BUILD_TO=${CMAKE_BINARY_DIR}/buildfacts.c "-DCK_COMMIT=${CK_COMMIT}"
    -P ${CMAKE_SOURCE_DIR}/launch/build.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/buildfacts.c VERBATIM)
add_library(ck_build OBJECT ${CMAKE_BINARY_DIR}/buildfacts.c)
target_link_libraries(ck_build PRIVATE ck_flags)
add_dependencies(ck_build ck_build_ask)
foreach(program ckagent ckagg ckmerge cklaunch)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:ck_build>)
endforeach()
