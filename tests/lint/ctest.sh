#!/usr/bin/env bash
# ctest.sh - tests/ctest.sh counts what passed, failed, and passed once alone
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# folder NAME COMMAND...: a build folder with a test n1, n2 ... of each command.
folder() {
    local name=$1 number=0 command
    shift
    mkdir "$work/$name"
    for command; do
        number=$((number + 1))
        printf 'add_test(n/%s bash -c "%s")\nset_tests_properties(n/%s PROPERTIES SKIP_RETURN_CODE 77)\n' \
            "$number" "$command" "$number"
    done >"$work/$name/CTestTestfile.cmake"
}

# expect NAME STATUS PATTERN...: the closing lines of a run of it.
expect() {
    local name=$1 wanted=$2 got=0 pattern
    shift 2
    (
        # shellcheck source=tests/ctest.sh
        . "$here/ctest.sh"
        run_tests "$work/$name" "$work/log" >"$work/shown"
        counts_print
    ) >"$work/out" || got=$?
    [ "$got" = "$wanted" ] || {
        echo "$name: status $got, not $wanted"
        status=1
    }
    for pattern; do
        grep -qE "$pattern" "$work/out" || {
            echo "$name: no line \"$pattern\" in:"
            cat "$work/out"
            status=1
        }
    done
}

once='test -e once || { touch once; exit 1; }'
folder well true 'exit 77' true
expect well 0 '^2 passed, 0 failed, 1 skipped$'
folder reasons 'echo first; echo skipped: no clang \&\& no \<gcc\>; exit 77' \
    'echo SKIPPED: nothing here; echo; exit 77' 'echo one; echo two; exit 77' \
    'exit 77' 'echo skipped: is none'
expect reasons 0 '^skipped: n/1: no clang && no <gcc>$' \
    '^skipped: n/2: nothing here$' '^skipped: n/3: two$' \
    '^skipped: n/4: no reason given$' '^1 passed, 0 failed, 4 skipped$'
folder unsteady true "$once" true
expect unsteady 0 '^unsteady: n/2 failed once' '^3 passed, 0 failed, 0 skipped$'
folder twice true false
expect twice 1 "again by: .*n/2" '^1 passed, 1 failed, 0 skipped$'
# A test that finds a reason to be left out the second time did not pass.
folder left 'test -e once && exit 77; touch once; exit 1'
expect left 1 '^0 passed, 1 failed, 0 skipped$'
folder many "${once//once/a}" "${once//once/b}" "${once//once/c}" \
    "${once//once/d}" true
expect many 1 '^1 passed, 4 failed, 0 skipped$'
# Parts of a run have each test once.
(
    # shellcheck source=tests/ctest.sh
    . "$here/ctest.sh"
    for part in 1 2 3; do
        run_tests "$work/reasons" "$work/log" -I $part,,3 >"$work/shown"
    done
    counts_print
) >"$work/out"
grep -q '^1 passed, 0 failed, 4 skipped$' "$work/out" || {
    echo "parts: $(cat "$work/out")"
    status=1
}
for part in 3/2 0/2 1/9 2 ''; do
    "$here/run" --part "$part" >"$work/out" 2>&1
    [ $? = 2 ] || {
        echo "tests/run --part '$part': $(cat "$work/out")"
        status=1
    }
done
mkdir "$work/none"
expect none 1 '^0 passed, 1 failed, 0 skipped$'
exit $status
