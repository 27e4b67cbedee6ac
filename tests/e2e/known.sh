#!/usr/bin/env bash
# known.sh - programs of known efficiency have it in the default report
#
# SPDX-License-Identifier: Apache-2.0
#
# No step is marked, so the region is the one that ckmerge finds: from the first
# return of MPI_Init to the last call of MPI_Finalize. Each shape is run with
# sleep or with a busy loop as its work, and with its last wait in a barrier or
# in MPI_Finalize. In each run the report is within 0.01 of the program's own
# stamps; and where these are within 0.01 (and 2 %) of what is known of the
# shape, all of the report is within 0.02 of that. Beside other programs ranks get
# no CPU for a while and no run may be of its shape. CK_ALL=1: all of each.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/known.openmpi" ] || skip "known was not built"

fit() {
    /usr/bin/python3 - "$work/run/report.json" "$work/out" "$@" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
e, region = j["efficiency"], j["region"]
rows = [[int(n) for n in l.split()[2:]] for l in open(sys.argv[2])
        if l.startswith("rank ")]
T = max(r[1] for r in rows) - min(r[0] for r in rows)
U = [last - back - inside for back, last, inside in rows]
known = {"parallel": sum(U) / len(U) / T, "load_balance":
         sum(U) / len(U) / max(U), "communication": max(U) / T}
assert region["kind"] == "mpi", region
assert sum(r["waited_ns"] for r in j["ranks"]) == \
    sum(r["caused_ns"] for r in j["ranks"])
at_end = lambda of: sum(w["ns"] for w in j[of]
                        if w["wait"] == "wait_at_finalize")
assert at_end("waits") == at_end("edge_waits")
counts = {c["name"]: c["calls"] for c in j["calls"] if c["kind"] == "mpi"}
assert counts["MPI_Init"] == counts["MPI_Finalize"] == len(U), counts
# Of so short a run the load of others may not be known: then what the ranks
# themselves had no CPU for.
no_cpu = sum(r["outside"]["ready_ns"] for r in j["ranks"])
is_crowded = j["load"]["other_cpus"] > 0.5 if "other_cpus" in j["load"] else \
    no_cpu > 0.1 * sum(r["useful_ns"] for r in j["ranks"])
for name, value in known.items():
    off = f"{name} is {e[name]:.3f}, by the program's stamps {value:.3f}"
    if 0.01 < abs(e[name] - value) <= 0.04 and is_crowded:
        # A rank had no CPU between its stamp and the recorder's.
        print(off)
        sys.exit(3)
    assert abs(e[name] - value) <= 0.01, off
ideal = dict(zip(("parallel", "load_balance", "serialisation"),
                 map(float, sys.argv[3:])))
# A wait for no rank, of at most 2 % by what is allowed below, may make the run
# longer by as much: .244 is near .25, but 2.4 % longer.
if abs(known["parallel"] - ideal["parallel"]) > \
        min(0.01, 0.02 * ideal["parallel"]) or \
        abs(known["load_balance"] - ideal["load_balance"]) > 0.01:
    print("not of its shape: " + " ".join(f"{v:.3f}" for v in known.values()))
    sys.exit(3)
for name, value in ideal.items():
    assert abs(e[name] - value) <= 0.02, \
        f"{name} is {e[name]:.3f}, of this shape {value}"
assert e["transfer"] >= 0.97, f"transfer is {e['transfer']:.3f}"
# All that is lost is waited for some rank.
waited = sum(r["waited_ns"] for r in j["ranks"])
lost = e["region_ns"] * len(U) - e["useful_ns"] - e["startup_ns"]
assert abs(lost - waited) <= 0.02 * e["region_ns"] * len(U), \
    f"{lost} ns lost, {waited} ns waited"
print(" ".join(f"{e[n]:.3f}" for n in ("parallel", "load_balance",
                                       "serialisation", "transfer")))
PY
}

# known RANKS SHAPE MS WORK END PARALLEL BALANCE SERIALISATION
known() {
    local try rc
    for try in $(seq "$(tries 3)"); do
        rm -rf "$work/run"
        timeout 60 mpirun -n "$1" "$bin/ckagent" --report none --dir \
            "$work/run" -- "$tests/known.openmpi" "${@:2:4}" >"$work/out" \
            2>"$work/err" </dev/null || { cat "$work/err"; fail "mpirun"; }
        wait_done "$work/run"
        rc=0
        fit "${@:6}" >"$work/seen" 2>"$work/why" || rc=$?
        echo "$1 ranks, ${*:2:4}: $(cat "$work/seen")$(tail -n 1 "$work/why")"
        [ $rc -ne 0 ] || return 0
    done
    [ $rc -eq 3 ] || { cat "$work/run/report.txt" && fail "no run fits"; }
    [ -z "${CK_SERIES:-}" ] || return 3
}

all() {
    local work end
    for work in sleep spin; do
        for end in barrier finalize; do
            once known 2 imbalance 100 $work $end .667 .667 1
            once known 4 imbalance 40 $work $end .571 .571 1
            once known 2 serial 120 $work $end .500 1 .500
            once known 4 serial 80 $work $end .250 1 .250
            once known 2 broadcast 120 $work $end .500 1 .500
            once known 2 late 120 $work $end .500 1 .500
            once known 4 late 80 $work $end .250 1 .250
            once known 2 balanced 70 $work $end 1 1 1
        done
    done
}

if [ -n "${CK_ALL:-}" ]; then
    all
else
    once known 4 imbalance 40 sleep finalize .571 .571 1
    once known 2 imbalance 100 spin finalize .667 .667 1
    once known 4 serial 80 spin barrier .250 1 .250
    once known 2 serial 120 sleep finalize .500 1 .500
    once known 2 broadcast 120 spin finalize .500 1 .500
    once known 4 late 80 sleep finalize .250 1 .250
    once known 2 late 120 spin barrier .500 1 .500
    once known 2 balanced 70 spin finalize 1 1 1
fi
grep -q "CALLS (host, whole run)" "$work/run/report.txt" ||
    fail "the text does not say what calls are counted in"
