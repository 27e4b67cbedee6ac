#!/bin/sh
# mpi_overhead.sh BUILD [ROUNDS] - what ck adds to a call of MPI, against eztrace
#
# SPDX-License-Identifier: Apache-2.0
#
# Runs mpi_overhead (2 ranks, bound to cores, shared memory) in turn plain,
# with libck.so, as ckagent preloads it, on the TSC and on the RAW clock, and
# with eztrace. Prints the median of what each adds, and the ratios to what
# eztrace adds. Exit 1 when one is above its target, 77 when eztrace or mpirun is
# missing.
set -u
build=$1
rounds=${2:-3}
program=$build/tests/mpi_overhead.openmpi
command -v eztrace >/dev/null && [ -x "$program" ] ||
    { echo "mpi_overhead: skipped, needs eztrace and Open MPI"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_MCA_btl=self,vader
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

job() {
    timeout 120 mpirun -n 2 --bind-to core "$@" 2>/dev/null | grep '^pairs'
}
with_ck() {
    job sh -c 'exec "$@"' sh "$build/tests/ringrun" /dev/null "$@" -- \
        env LD_PRELOAD="$build/lib/ck/libck.so" "$program"
}
for round in $(seq "$rounds"); do
    echo "plain $(job "$program")"
    echo "tsc $(with_ck --tsc)"
    echo "raw $(with_ck)"
    echo "eztrace $(job eztrace -t openmpi -o "$work/trace" "$program")"
done | tee "$work/lines"
# median_of TOOL: of the rounds whose job did not fail; a difference has noise
# both ways, so the smallest one would be too small.
median_of() {
    sed -n "s/^$1 pairs .* added //p" "$work/lines" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR > 0) print v[int((NR + 1) / 2)] }'
}
awk -v tsc="$(median_of tsc)" -v raw="$(median_of raw)" \
    -v eztrace="$(median_of eztrace)" 'BEGIN {
        if (!(eztrace > 0) || tsc == "" || raw == "") {
            print "mpi_overhead: jobs failed, nothing to compare"
            exit 2
        }
        printf "added ns a call: tsc %.1f, raw %.1f, eztrace %.1f\n",
               tsc, raw, eztrace
        printf "ratio tsc %.3f (target 0.15), raw %.3f (target 0.35)\n",
               tsc / eztrace, raw / eztrace
        exit tsc / eztrace > 0.15 || raw / eztrace > 0.35
    }'
