#!/bin/sh
# omp_cost.sh BUILD [ROUNDS] - what ck adds to a region of OpenMP
#
# SPDX-License-Identifier: Apache-2.0
#
# For gcc's runtime and LLVM's, regions of one and of two threads that have
# nothing to do, in turn plain and with ckagent; the least time counts. A slot
# has room for all regions of a round, so that the collector empties it in the
# pause behind one. The goal is 100 ns.
set -u
build=$1
rounds=${2:-5}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
for compiler in gcc clang; do
    "$compiler" -O2 -fopenmp -o "$work/cost" "$(dirname "$0")/omp_cost.c" \
        2>/dev/null || continue
    for threads in 1 2; do
        for round in $(seq "$rounds"); do
            echo "plain $("$work/cost" "$threads" 5)"
            rm -rf "$work/run"
            echo "ck $("$build/bin/ckagent" --report none --no-page \
                --slot-bytes 8M --ring-bytes 512M --dir "$work/run" -- \
                "$work/cost" "$threads" 5)"
            until grep -q '"state": "done"' "$work/run/manifest.json"; do
                sleep 0.1
            done
        done | awk -v what="$compiler, threads: $threads" '
            !($1 in least) || $2 < least[$1] { least[$1] = $2 }
            END { printf "%s: a region %.0f ns plain, %.0f ns with ck: %+.0f ns\n",
                  what, least["plain"], least["ck"],
                  least["ck"] - least["plain"] }'
    done
done
