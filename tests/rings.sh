# rings.sh - ring files of a test apart from those of other jobs
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced when $work is there. Gives: rings, a directory that ckagent
# makes its ring files in; the script discards it at its end. In /dev/shm, where
# ring files are, if it may be written to. What killed tests left there is
# removed: the name has the PID of the test.

for rings in /dev/shm/ck-test.*; do
    left=${rings#/dev/shm/ck-test.}
    [ ! -O "$rings" ] || [ -e "/proc/${left%%.*}" ] || rm -rf "$rings"
done
rings=$(mktemp -d "/dev/shm/ck-test.$$.XXXXXX" 2>/dev/null) ||
    rings=$(mktemp -d "$work/rings.XXXXXX")
export CK_TEST_RINGS=$rings
