#!/bin/sh
# opencl_cost.sh BUILD [ROUNDS] [LAUNCHES] - what ck adds to OpenCL launches
#
# SPDX-License-Identifier: Apache-2.0
#
# A program that only launches, in turn plain, with what every tool does that
# times commands (opencl_cost.c), and with ck; the median counts. What the bare
# loop adds is the driver's own part, which no tool can be below. The goal is 1.10
# times plain. Exit 77 where the program was not built.
set -u
build=$1
rounds=${2:-7}
launches=${3:-200000}
program=$build/tests/opencl_cost
[ -x "$program" ] || { echo "opencl_cost: skipped, needs OpenCL"; exit 77; }
work=$(mktemp -d)
# shellcheck source=tests/rings.sh
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
for round in $(seq "$rounds"); do
    for mode in plain stamps callbacks; do
        echo "$mode $("$program" "$mode" "$launches")"
    done
    echo "ck $("$build/bin/ckagent" --report none --dir "$work/$round" -- \
        "$program" plain "$launches")"
    rm -rf "$work/$round"
done >"$work/lines"
# time_of MODE: the median, ns a launch.
time_of() {
    sed -n "s/^$1 //p" "$work/lines" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR > 0) print v[int((NR + 1) / 2)] }'
}
awk -v plain="$(time_of plain)" -v stamps="$(time_of stamps)" \
    -v callbacks="$(time_of callbacks)" -v ck="$(time_of ck)" 'BEGIN {
        if (!(plain > 0) || !(stamps > 0) || !(callbacks > 0) || !(ck > 0)) {
            print "opencl_cost: a program failed, nothing to compare"
            exit 2
        }
        printf "a launch: plain %.0f ns; its stamps read %.0f ns (%.2f times)",
               plain, stamps, stamps / plain
        printf ", in callbacks %.0f ns (%.2f); with ck %.0f ns (%.2f)\n",
               callbacks, callbacks / plain, ck, ck / plain
        printf "ck / stamps read %.2f\n", ck / stamps
    }'
