#!/usr/bin/env bash
# blame.sh - a rank that comes late is named, with the place it was late in
#
# SPDX-License-Identifier: Apache-2.0
#
# Rank 2 computes for 20 ms of CPU time before each MPI_Allreduce: the other
# three devices are idle that long and more where it shares a core. The truth
# is taken from the trace, by other code: for each call the other ranks' time
# from their enter to the last one's.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/train" ] || skip "train was not built"
steps=30 late_ms=20

run() {
    rm -rf "${work:?}/$1"
    timeout 600 mpirun -n 4 "$bin/ckagent" --dir "$work/$1" -- \
        "$tests/train" --steps $steps "${@:2}" >"$work/$1.out" \
        2>"$work/$1.err" </dev/null || { cat "$work/$1.err"; fail "mpirun"; }
    "$bin/ckmerge" --quiet --output json="$work/$1.json" \
        --output chrome="$work/$1.trace" "$work/$1"
    "$bin/ckmerge" --verify "$work/$1" || fail "--verify of $1"
}

# Waiting for rank 2 in MPI_Allreduce within the steps, ns, from the trace.
truth() {
    /usr/bin/python3 - "$1" <<'PY'
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
ns = lambda us: round(us * 1000)
steps = [e for e in events if e.get("cat") == "step"]
end = max(ns(e["ts"] + e["dur"]) for e in steps)
start = min(ns(e["ts"]) for e in steps)
calls = collections.defaultdict(list)
for e in events:
    if e.get("ph") == "X" and e["name"] == "MPI_Allreduce" and \
            start <= ns(e["ts"]) < end:
        calls[e["pid"]].append(ns(e["ts"]))
total = 0
for enters in zip(*(sorted(calls[pid]) for pid in sorted(calls))):
    if max(range(4), key=lambda rank: enters[rank]) == 2:
        total += sum(max(enters) - enter for enter in enters)
print(total)
PY
}

j() { json "$work/late.json" "$1"; }

late() {
    local truth_ns found_ns
    run late --inject late:2:$late_ms
    same "the first cause" "('mpi_wait', 2, 'MPI_Allreduce', 'train.c', 3)" \
        "$(j "next((c['cause'], c['blamed_rank'], c['host']['call'],
            c['host']['file'].split('/')[-1], c['ranks']) for c in j['causes'])")"
    same "what rank 2 did" "('backward', 'MPI_Allreduce', None)" \
        "$(j "(lambda b: (b['range'], b['before']['call'], b['call']))(
            j['causes'][0]['blamed'])")"
    truth_ns=$(truth "$work/late.trace")
    # The first step's part of it is listed for itself.
    found_ns=$(j "sum(c['ns'] for c in j['causes'] if c['cause'] == 'mpi_wait' and
        c['blamed_rank'] == 2 and c['host']['call'] == 'MPI_Allreduce')")
    same "its time ($truth_ns ns) within 3 %" True \
        "$(j "abs($found_ns - $truth_ns) <= 0.03 * $truth_ns")"
    same "at least the time planted" True \
        "$(j "$found_ns >= 0.95 * 3 * $steps * $late_ms * 1e6")"
    same "causes add up" True \
        "$(j "all(sum(d['ledger'].values()) == j['region']['ns']
            for d in j['devices'])")"
    grep -q "waiting for rank 2" "$work/late/report.txt" || fail "no sentence"
}

# Without the fault no rank is waited for as long by a half of it.
healthy() {
    run healthy
    same "a healthy run blames nobody for that long" 0 \
        "$(json "$work/healthy.json" "sum(c['cause'] == 'mpi_wait' and
            c['ns'] > 1.5 * $steps * $late_ms * 1e6 for c in j['causes'])")"
}

fair late
fair healthy
