#!/bin/sh
# omp_cost.sh BUILD [TURNS] - what ck adds to a region of OpenMP
#
# SPDX-License-Identifier: Apache-2.0
#
# For gcc's runtime and LLVM's, regions of one and of two threads that have
# nothing to do: in turn plain, with the bare loop that does the same as ck
# (omp_cost.c), and with ckagent, by either clock and by the default. A round is apart from the
# next one by a pause in which the ring is emptied. In the first rounds memory of
# the ring is touched first; those from the sixth on are in a later lap
# ("steady"). Prints ns a region, by the median of the rounds and by the least,
# and the program's CPU time beside it. The goal is 100 ns more than plain; where
# the bare loop takes more than that, it is the bound of the machine.
set -u
build=$1
turns=${2:-3}
rounds=12
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT

# ck CLOCK WORD...: 4 MiB a thread are four rounds of its records and more.
ck() {
    clock=$1
    shift
    rm -rf "$work/run"
    "$build/bin/ckagent" --report none --no-page --clock "$clock" \
        --slot-bytes 4M --ring-bytes 256M --dir "$work/run" -- "$@" \
        2>"$work/err" || cat "$work/err" >&2
    until grep -q '"state": "done"' "$work/run/manifest.json"; do
        sleep 0.1
    done
    grep -q '"lost": [1-9]' "$work/run/manifest.json" &&
        echo "records were lost" >&2
}

turn() {
    for clock in raw tsc; do
        "$@" "$rounds" | sed 's/^/plain any /'
        "$@" "$rounds" $clock | sed "s/^/bare $clock /"
        ck $clock "$@" "$rounds" | sed "s/^/ck $clock /"
    done
    ck auto "$@" "$rounds" | sed "s/^/ck auto /"
}

for compiler in gcc clang; do
    "$compiler" -O2 -fopenmp -o "$work/cost" "$(dirname "$0")/omp_cost.c" \
        2>/dev/null || continue
    for threads in 1 2; do
        for _ in $(seq "$turns"); do
            turn "$work/cost" "$threads"
        done | awk -v what="$compiler, threads: $threads" '
            function keep(key, value) { all[key, ++count[key]] = value }
            function sort(key, i, k, t) {
                for (i = 2; i <= count[key]; i++)
                    for (k = i; k > 1 && all[key, k] < all[key, k - 1]; k--) {
                        t = all[key, k]
                        all[key, k] = all[key, k - 1]
                        all[key, k - 1] = t
                    }
            }
            function middle(key) { return all[key, int((count[key] + 1) / 2)] }
            function more(key, base) {
                return sprintf("%+5.0f (least %+5.0f, CPU %+5.0f)",
                               middle(key) - middle(base),
                               all[key, 1] - all[base, 1],
                               middle(key " cpu") - middle(base " cpu"))
            }
            {
                n = $3
                lap = n <= 3 ? "first" : n >= 6 ? "steady" : "between"
                keep($1 " " $2 " " lap, $4)
                keep($1 " " $2 " " lap " cpu", $5)
            }
            END {
                for (key in count) sort(key)
                split("first steady", laps)
                split("raw tsc", clocks)
                for (l = 1; l <= 2; l++) {
                    base = "plain any " laps[l]
                    printf "%s, %s lap: %.0f ns plain (least %.0f, CPU %.0f)\n",
                           what, laps[l], middle(base), all[base, 1],
                           middle(base " cpu")
                    for (c = 1; c <= 2; c++)
                        printf "  %s: ck %s, bare loop %s\n", clocks[c],
                            more("ck " clocks[c] " " laps[l], base),
                            more("bare " clocks[c] " " laps[l], base)
                    printf "  default: ck %s\n",
                        more("ck auto " laps[l], base)
                }
            }'
    done
done
