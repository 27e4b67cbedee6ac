#!/usr/bin/env bash
# omp_cost.sh BUILD - what ck adds to an OpenMP region: by pairs of runs
#
# SPDX-License-Identifier: Apache-2.0
#
# For gcc's runtime and LLVM's, a team of one and of two threads that have
# nothing to do: ns without ck, with it, and the median difference of five pairs.
set -euo pipefail
build=${1:?build folder}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$(cd "$(dirname "$0")" && pwd)/omp_cost.c
for compiler in gcc clang; do
    "$compiler" -O2 -fopenmp -o "$work/cost" "$source" 2>/dev/null || continue
    for threads in 1 2; do
        for _ in 1 2 3 4 5; do
            plain=$("$work/cost" "$threads" 5)
            seen=$("$build/bin/ckagent" --report none --sample off \
                --dir "$work/run" -- "$work/cost" "$threads" 5 2>/dev/null)
            rm -rf "$work"/run*
            echo "$plain $seen"
        done | awk -v what="$compiler, $threads threads" '{
            plain[NR] = $1; seen[NR] = $2; more[NR] = $2 - $1
        } END {
            for (i = 1; i <= NR; i++)
                for (j = i + 1; j <= NR; j++)
                    if (more[j] < more[i]) {
                        t = more[i]; more[i] = more[j]; more[j] = t
                        t = plain[i]; plain[i] = plain[j]; plain[j] = t
                    }
            m = int((NR + 1) / 2)
            printf "%s: region %.0f ns, with ck %+.0f ns\n", what, plain[m], more[m]
        }'
    done
done
