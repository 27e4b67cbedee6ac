#!/usr/bin/env bash
# clocks.sh - how well clocks are known: figure | measured | target | verdict
#
# SPDX-License-Identifier: Apache-2.0
#
# 1 to 3: bench_clock, real probes between time namespaces. 4, 5, 7, 9 and the
# lookups of 10: bench_clocks, simulated worlds whose truth is known. 6: a real
# MPI program whose ranks have a clock each, without use of probes. 8: both
# bench_clocks and, on a real ckagg, bench_clockcrowd. Each line that is a
# figure is repeated in the table at the end.
set -uo pipefail

usage() {
    cat <<'END'
Usage: tests/bench/clocks.sh [BUILD] [NUMBER]...

Prints how well clocks are known beside what is wanted, all ten figures or
those of these numbers. About 3 minutes on a quiet machine.
CK_BENCH_BURSTS: bursts of figures 1 to 3 (500). CK_BENCH_JOBS: jobs of
figure 6 (20). CK_BENCH_BIND=none: its ranks are not bound to cores in turn.
CK_BENCH_WAY=ring: its messages go one way round only.
END
}

case ${1:-} in
-h | --help)
    usage
    exit 0
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
[ $# -gt 0 ] && shift
wanted=" $* "
[ -x "$build/tests/bench_clocks" ] || {
    echo "clocks.sh: no bench_clocks in $build: build first (cmake, ninja)" >&2
    exit 2
}
bursts=${CK_BENCH_BURSTS:-500}
jobs=${CK_BENCH_JOBS:-20}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PYTHONDONTWRITEBYTECODE=1

is_wanted() {
    [ "$wanted" = "  " ] && return 0
    local number
    for number in "$@"; do
        case $wanted in *" $number "*) return 0 ;; esac
    done
    return 1
}

# job NUMBER: one run of the MPI program, merged. Ranks are bound, as launchers
# of clusters do: left alone, a busy machine may put all on one core.
job() {
    local dir=$work/run$1
    local bind="--map-by core --bind-to core:overload-allowed"
    [ "${CK_BENCH_BIND:-core}" = none ] && bind=
    # shellcheck disable=SC2086
    timeout -k 5 120 mpirun -n 4 $bind "$work/rank" "$build/bin/ckagent" \
        --dir "$dir" -- "$build/tests/bench_halo_mpi" 5000 \
        ${CK_BENCH_WAY:-} </dev/null >"$work/out" 2>&1 ||
        { tail -5 "$work/out" && return 1; }
    "$build/bin/ckmerge" --quiet --clock-facts=messages \
        --output json="$work/report$1.json" "$dir"
    rm -rf "$dir"
}

messages() {
    if ! unshare --time --monotonic 1 true 2>/dev/null ||
        [ ! -x "$build/tests/bench_halo_mpi" ]; then
        echo "6  left out: unshare --time is refused, or MPI is missing"
        return
    fi
    cat >"$work/rank" <<'SH'
#!/bin/sh
exec unshare --time --monotonic $((OMPI_COMM_WORLD_RANK * 1000)) "$@"
SH
    chmod +x "$work/rank"
    local i
    for i in $(seq "$jobs"); do
        job "$i" || return
    done
    /usr/bin/python3 - "$work"/report*.json <<'PY'
import json, statistics, sys
errors, bounds, most, wrong = [], [], [], 0
outside = 0
for path in sys.argv[1:]:
    report = json.load(open(path))
    clocks = report["clocks"]
    off = [abs(c["offset_ns"] + i * 10**12) for i, c in enumerate(clocks)]
    errors.append(max(off) / 1e3)
    bounds.append(max(c["bound_median_ns"] for c in clocks) / 1e3)
    most.append(max(c["bound_max_ns"] for c in clocks) / 1e3)
    outside += sum(o > c["bound_max_ns"] for o, c in zip(off, clocks))
    wrong += sum(report["causality"][k] for k in ("messages_after",
                                                  "collectives_after"))
for name, values in ("errors", errors), ("bounds", bounds):
    print("   %s of the jobs, us: %s" % (name, " ".join(
        "%.2f" % value for value in sorted(values))))
for name, value, target, unit in (
        ("6  4 ranks, 4 time namespaces: error, median of %d jobs" %
         len(errors), statistics.median(errors), 0.5, "us"),
        ("6  the same: error, largest of all jobs", max(errors), 0.5, "us"),
        ("6  the same: bound, median of the jobs' medians",
         statistics.median(bounds), 2, "us"),
        ("6  the same: bound, largest in any job", max(most), 2, "us"),
        ("6  the same: truth outside the bound", outside, 0, ""),
        ("6  the same: messages, collectives backwards", wrong, 0, "")):
    print("%-58s | %9.4g %-3s | <= %5g %-3s | %s" % (
        name, value, unit, target, unit,
        "met" if value <= target else "MISSED"))
PY
}

# bench "NUMBER..." COMMAND...
bench() {
    local numbers=$1
    shift
    # shellcheck disable=SC2086
    is_wanted $numbers || return 0
    "$@" 2>&1 | tee -a "$work/table"
}

# Simulated worlds by the numbers that were asked for.
worlds() {
    local number numbers=()
    for number in 4 5 7 8 9 10; do
        is_wanted "$number" && numbers+=("$number")
    done
    "$build/tests/bench_clocks" "${numbers[@]}"
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
bench "1 10" timeout 300 "$build/tests/bench_clock" idle "$bursts"
bench 2 timeout 300 "$build/tests/bench_clock" busy "$bursts"
bench 3 timeout 300 "$build/tests/bench_clock" flood "$bursts"
bench "4 5 7 8 9 10" worlds
bench 6 messages
bench 8 timeout 120 "$build/bin/bench_clockcrowd"
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"

echo
printf '%-58s | %13s | %12s | %s\n' "#  figure" measured target verdict
grep -E '^[0-9]+ .*\|.*\|.*\|' "$work/table" | sort -s -n -k1,1
