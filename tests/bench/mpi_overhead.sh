#!/bin/sh
# mpi_overhead.sh BUILD [ROUNDS] - what ckmpi adds to a call, against eztrace
#
# SPDX-License-Identifier: Apache-2.0
#
# Runs mpi_overhead (2 ranks, bound to cores, shared memory) in turn plain,
# with ckmpi on the TSC, with ckmpi on the RAW clock and with eztrace, and
# prints the smallest added time of each and the ratios to eztrace's. Exit 1
# when a ratio is above its target, 77 when eztrace or mpirun is missing.
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
        env LD_PRELOAD="$build/lib/ck/libckmpi.so" "$program"
}
for round in $(seq "$rounds"); do
    echo "plain $(job "$program")"
    echo "tsc $(with_ck --tsc)"
    echo "raw $(with_ck)"
    echo "eztrace $(job eztrace -t openmpi -o "$work/trace" "$program")"
done | tee "$work/lines"
awk '
    NF < 2 { next } # a job that failed
    !($1 in added) || $NF < added[$1] { added[$1] = $NF }
    END {
        if (!(added["eztrace"] > 0) || !("tsc" in added) || !("raw" in added)) {
            print "mpi_overhead: jobs failed, nothing to compare"
            exit 2
        }
        tsc = added["tsc"] / added["eztrace"]
        raw = added["raw"] / added["eztrace"]
        printf "added ns a call: tsc %.1f, raw %.1f, eztrace %.1f\n",
               added["tsc"], added["raw"], added["eztrace"]
        printf "ratio tsc %.3f (target 0.15), raw %.3f (target 0.35)\n", tsc, raw
        exit tsc > 0.15 || raw > 0.35
    }' "$work/lines"
