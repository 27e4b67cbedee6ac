#!/bin/sh
# opencl_cost.sh BUILD [ROUNDS] [LAUNCHES] - what ck adds to OpenCL launches
#
# SPDX-License-Identifier: Apache-2.0
#
# A program that only launches, in turn plain, with what every tool does that
# times commands and records them (opencl_cost.c), and with ck; medians count.
# What the bare loops add no such tool can be below. CPU time is that of the
# program's threads: on a virtual machine whose cores are taken away the time of
# day moves more than what is measured. Last come the ratios of one round's two
# runs, which the machine's slower changes do not move, as a median with its 95 %
# interval: the goal is 1.10 times plain at the upper end, or that of the bare loop that
# records. Exit 77 where the program was not built.
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
    for mode in plain stamps records callbacks; do
        echo "$mode $("$program" "$mode" "$launches")"
    done
    echo "waiting $("$program" waiting "$launches")"
    echo "ck-waiting $("$build/bin/ckagent" --report none --sample off \
        --dir "$work/$round.waiting" -- "$program" waiting "$launches" \
        2>/dev/null)"
    echo "ck $("$build/bin/ckagent" --report none --dir "$work/$round" -- \
        "$program" plain "$launches")"
    rm -rf "$work/$round" "$work/$round.waiting"
done >"$work/lines"
# median_of MODE FIELD: of the fields that opencl_cost prints.
median_of() {
    sed -n "s/^$1 //p" "$work/lines" | awk -v n="$2" '{ print $n }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR > 0) print v[int((NR + 1) / 2)] }'
}
plain=$(median_of plain 1)
plain_cpu=$(median_of plain 2)
for mode in plain stamps records callbacks ck; do
    awk -v mode="$mode" -v time="$(median_of $mode 1)" \
        -v cpu="$(median_of $mode 2)" -v switches="$(median_of $mode 3)" \
        -v pages="$(median_of $mode 4)" -v plain="$plain" \
        -v plain_cpu="$plain_cpu" 'BEGIN {
            if (!(time > 0) || !(plain > 0)) {
                print "opencl_cost: a program failed, nothing to compare"
                exit 2
            }
            printf "%-9s %6.0f ns a launch (%.2f times plain), CPU %6.0f ns " \
                   "(%.2f), of 1,000: %.0f switches, %.0f pages touched first\n",
                   mode, time, time / plain, cpu, cpu / plain_cpu,
                   switches, pages
        }' || exit
done
awk -v records="$(median_of records 1)" -v ck="$(median_of ck 1)" \
    -v records_cpu="$(median_of records 2)" -v ck_cpu="$(median_of ck 2)" \
    'BEGIN {
        printf "ck / a bare loop that records: %.2f, CPU %.2f\n", ck / records,
               ck_cpu / records_cpu
    }'
awk -v bare="$(median_of waiting 1)" -v ck="$(median_of ck-waiting 1)" \
    'BEGIN {
        printf "the launching thread alone, all commands waiting: CPU %.0f ns " \
               "plain, %.0f with ck (%.2f)\n", bare, ck, ck / bare
    }'
PYTHONDONTWRITEBYTECODE=1 python3 - "$(dirname "$0")" "$work/lines" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
from turns import bootstrap

LIMIT = 1.10
times = {}
for line in open(sys.argv[2]):
    mode, *fields = line.split()
    times.setdefault(mode, []).append(float(fields[0]))
for mode, other in (("records", "plain"), ("ck", "plain"), ("ck", "records")):
    low, middle, high = bootstrap(
        [a / b for a, b in zip(times[mode], times[other])])
    verdict = "met" if high <= LIMIT else \
        "MISSED" if low > LIMIT else "not decided"
    print("rounds: %s / %s %.3f (%.3f to %.3f)%s" % (
        mode, other, middle, low, high,
        ", at most %.2f: %s" % (LIMIT, verdict) if other == "plain" and
        mode == "ck" else ""))
END
