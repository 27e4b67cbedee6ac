#!/bin/sh
# stack_cost.sh BUILD [ROUNDS] - what stacks of samples cost 8 threads
#
# SPDX-License-Identifier: Apache-2.0
#
# CPU time of the program and of its collector without samples, and with 99 a
# second that come with 16 KiB of the stack, in turn: the least and the median
# of ROUNDS.
set -eu
build=$1
rounds=${2:-5}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
for round in $(seq "$rounds"); do
    for mode in off 99; do
        run=$work/$mode.$round
        "$build/bin/ckagent" --report none --sample "$mode" --dir "$run" -- \
            "$build/tests/bench_stack_cost" | sed "s/^/$mode program /"
        until grep -q '"state": "done"' "$run/manifest.json" 2>/dev/null; do
            sleep 0.1
        done
        sed -n 's/.*"cpu_ns": \([0-9]*\).*/\1/p' "$run/manifest.json" |
            awk -v mode="$mode" '{ print mode, "collector", $1 / 1e6 }'
    done
done | sort -k1,2 -k3n | awk '
    { key = $1 " " $2; value[key, ++count[key]] = $3 }
    END {
        for (key in count)
            printf "%s: least %.1f ms, median %.1f ms\n", key, value[key, 1],
                   value[key, int((count[key] + 1) / 2)]
    }' | sort
