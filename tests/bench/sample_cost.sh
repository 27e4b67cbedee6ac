#!/bin/sh
# sample_cost.sh BUILD [ROUNDS] - what CPU samples and switches cost
#
# SPDX-License-Identifier: Apache-2.0
#
# The CPU time of a fixed piece of work without samples, with 99 and with 999
# a second, in turn, least of ROUNDS; and of the collector in the same runs.
# Exit 1 when 99 a second cost the program more than 2 %, 77 when perf_event is
# not permitted.
set -u
build=$1
rounds=${2:-5}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
for round in $(seq "$rounds"); do
    for rate in off 99 999; do
        "$build/bin/ckagent" --report none --sample "$rate" \
            --dir "$work/$rate.$round" -- "$build/tests/posix_cost" spin |
            sed "s/^/$rate /"
    done
done >"$work/lines"
for rate in off 99 999; do
    for round in $(seq "$rounds"); do
        sed -n "s/.*\"cpu_ns\": \([0-9]*\).*/$rate own \1/p" \
            "$work/$rate.$round/manifest.json"
    done
done >>"$work/lines"
cat "$work"/99.*/report.txt 2>/dev/null | grep -q 'no CPU samples' && exit 77
awk '
    !(($1, $2) in least) || $3 < least[$1, $2] { least[$1, $2] = $3 }
    END {
        base = least["off", "spin"]
        for (rate = 99; rate <= 999; rate += 900)
            printf "%d a second: program %+.2f %%, collector %.0f ms more in " \
                   "%.0f ms\n", rate, 100 * (least[rate, "spin"] / base - 1),
                   (least[rate, "own"] - least["off", "own"]) / 1e6, base / 1e6
        exit !(base > 0) || least["99", "spin"] > 1.02 * base
    }' "$work/lines"
