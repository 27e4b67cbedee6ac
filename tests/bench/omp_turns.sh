#!/bin/sh
# omp_turns.sh BUILD [RUNS] - what ck adds to a region, in turn in one process
#
# SPDX-License-Identifier: Apache-2.0
#
# omp_turns.c RUNS (3) times below ckagent by each clock, in turn. Of each run's
# 40 rounds those from the sixth on count: the ring is in a later lap then.
# Prints the median and the quartiles of the rounds, in ns more than plain. The
# goal is 100 ns.
set -eu
build=$1
runs=${2:-3}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT

gcc -O2 -o "$work/turns" "$(dirname "$0")/omp_turns.c" -lgomp
for _ in $(seq "$runs"); do
    for clock in auto raw tsc; do
        rm -rf "$work/run"
        "$build/bin/ckagent" --report none --no-page --clock $clock \
            --slot-bytes 4M --dir "$work/run" -- "$work/turns" 40 |
            sed -n "6,\$s/^/$clock /p"
    done
done | awk '{ print $1, $3 - $2, $2 }' | sort -k1,1 -k2,2g | awk '
    function show() {
        if (count)
            printf "%-5s %+6.0f (%+.0f to %+.0f) ns, %d rounds, plain %.0f\n",
                clock, all[int((count + 1) / 2)], all[int((count + 3) / 4)],
                all[int((3 * count + 3) / 4)], count, plain / count
    }
    $1 != clock { show(); clock = $1; count = 0; plain = 0 }
    { all[++count] = $2; plain += $3 }
    END { show() }'
