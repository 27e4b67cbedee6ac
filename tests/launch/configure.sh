#!/usr/bin/env bash
# configure.sh CMAKE - a header that is installed after the first configure is
# found by the second, and each check of ck's asks again
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cmake=${1:?path of cmake}
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-configure.XXXXXX")
trap 'rm -rf "$work"' EXIT
bad=0
mkdir "$work/headers" || exit 1
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(again LANGUAGES C)
include($top/launch/check.cmake)
include(CheckIncludeFile)
set(CMAKE_REQUIRED_INCLUDES $work/headers)
check_include_file(late.h HAS_LATE)
ck_check_again(HAS_LATE)
check_include_file(stdio.h HAS_STDIO)
ck_check_again(HAS_STDIO)
if(HAS_LATE)
  message(STATUS "late: found")
else()
  message(STATUS "late: missing")
endif()
END

# configure TEXT: it prints that.
configure() {
    "$cmake" -S "$work" -B "$work/build" >"$work/log" 2>&1 &&
        grep -q -- "-- $1\$" "$work/log" || {
        echo "no '$1' here:"
        cat "$work/log"
        bad=1
    }
}
configure 'late: missing'
: >"$work/headers/late.h"
configure 'late: found'
if grep -q 'Looking for stdio.h' "$work/log"; then
    echo "what was found is looked for again"
    bad=1
fi

# Each check of ck's own files: its variable is handed to ck_check_again().
count=0
cd "$top" || exit 1
while read -r file variable; do
    count=$((count + 1))
    grep -q "^ *ck_check_again($variable)\$" "$file" || {
        echo "$file: no ck_check_again($variable) after its check"
        bad=1
    }
done < <(find . -path './build*' -prune -o \
    \( -name CMakeLists.txt -o -name '*.cmake' \) -print0 |
    xargs -0 perl -0777 -ne 'print "$ARGV $1\n"
        while /\bcheck_(?:c|cxx|include|symbol|library)\w*\(.*?\b(CK_HAS_\w+)\)/gs')
[ "$count" -ge 5 ] || {
    echo "only $count checks were found: the pattern does not fit any more"
    bad=1
}
[ "$bad" = 0 ] && echo "configured twice; $count checks ask again"
exit $bad
