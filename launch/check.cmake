# check.cmake - ck_check_again: what was missing is looked for again
#
# SPDX-License-Identifier: Apache-2.0
#
# CMake keeps the answer of check_include_file() and check_c_source_compiles()
# for as long as the build folder exists, a "no" too: a package that is installed
# between two configures (launch/quickstart, then tests/run) would stay unseen.

# ck_check_again(VARIABLE): after a check; a "no" holds for this configure alone.
function(ck_check_again variable)
  if(NOT ${variable})
    unset(${variable} CACHE)
  endif()
endfunction()
