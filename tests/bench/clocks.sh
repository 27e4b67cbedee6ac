#!/usr/bin/env bash
# clocks.sh - how well clocks are known: figure | measured | target | verdict
#
# SPDX-License-Identifier: Apache-2.0
#
# Usage: tests/bench/clocks.sh [BUILD]. Simulated worlds with a known truth
# (bench_clocks), and a real MPI program whose ranks have a clock each, with
# no use of probes (figure 6).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
[ -x "$build/tests/bench_clocks" ] || {
    echo "clocks.sh: no bench_clocks in $build: build first" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

"$build/tests/bench_clocks"

if ! unshare --time --monotonic 1 true 2>/dev/null ||
    [ ! -x "$build/tests/bench_ring_mpi" ]; then
    echo "6  left out: unshare --time is refused, or MPI is missing"
    exit 0
fi
cat >"$work/rank" <<'SH'
#!/bin/sh
exec unshare --time --monotonic $((OMPI_COMM_WORLD_RANK * 1000)) "$@"
SH
chmod +x "$work/rank"
timeout -k 5 120 mpirun -n 4 "$work/rank" "$build/bin/ckagent" \
    --dir "$work/run" -- "$build/tests/bench_ring_mpi" >"$work/out" 2>&1 ||
    { tail -5 "$work/out" && exit 1; }
"$build/bin/ckmerge" --quiet --clock-facts=messages \
    --output json="$work/report.json" "$work/run"
/usr/bin/python3 - "$work/report.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
clocks = report["clocks"]
error = max(abs(c["offset_ns"] + i * 10**12) for i, c in enumerate(clocks))
bound = max(c["bound_median_ns"] for c in clocks)
most = max(c["bound_max_ns"] for c in clocks)
wrong = sum(report["causality"][k] for k in ("messages_after",
                                             "collectives_after"))
for name, value, target, unit in (
        ("6  4 ranks, 4 time namespaces, messages only: error",
         error / 1e3, 0.5, "us"),
        ("6  the same: bound, median over the run", bound / 1e3, 2, "us"),
        ("6  the same: bound, largest", most / 1e3, 2, "us"),
        ("6  the same: backwards in time", wrong, 0, "")):
    print("%-58s | %9.4g %-3s | <= %5g %-3s | %s" % (
        name, value, unit, target, unit,
        "met" if value <= target else "MISSED"))
PY
