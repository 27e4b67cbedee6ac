#!/usr/bin/env bash
# turns.sh - ranks that are late in turn, in some steps, or by another thread:
# who, why, and for how long
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/turns.openmpi" ] || skip "turns was not built"

# run NAME: three ranks; the figures are compared with what they print.
run() {
    local run=$work/$1
    rm -rf "$run"
    timeout -k 5 120 mpirun -n 3 "$bin/ckagent" --dir "$run" -- \
        "$tests/turns.openmpi" "$1" >"$run.out" 2>"$run.err" </dev/null ||
        fail "$1 failed"
    /usr/bin/python3 - "$run" "$1" <<'PY'
import json, re, sys
run, how = sys.argv[1:]
report = json.load(open(run + "/report.json"))
late = {int(rank): int(ns) for rank, ns in
        re.findall(r"late (\d+) (\d+)", open(run + ".out").read())}
caused = {row["rank"]: row for row in report["stragglers"]}
worth = 0.05 * sum(row["caused_ns"] for row in caused.values())
reasons = {"wander": ("sleep", "nanosleep"), "seventh": ("sleep", "nanosleep"),
           "pairs": ("sleep", "nanosleep"), "lock": ("lock", "pthread_mutex_lock")}
for rank, ns in late.items():
    if ns == 0:
        assert rank not in caused or caused[rank]["caused_ns"] < 3 * worth, rank
        continue
    row = caused[rank]
    item = row["delays"]["items"][0]
    cause, call = reasons.get(how) or (
        ("sleep", "usleep") if rank == 2 else ("sleep", "nanosleep"))
    print(how, rank, row["caused_ns"], 2 * ns, item["cause"], item["did"]["call"])
    assert abs(row["caused_ns"] - 2 * ns) < 0.15 * 2 * ns + 10e6
    assert item["rank"] == rank and item["cause"] == cause
    assert item["did"]["call"] == call
    assert item["ns"] > 0.8 * row["caused_ns"]
    if how == "lock":
        assert item["did"]["holder"]["call"] == "nanosleep"
ranked = sorted(caused, key=lambda rank: -caused[rank]["caused_ns"])
assert late[ranked[0]] > 0
if how == "wander":
    useful = [rank["useful_ns"] for rank in report["ranks"]]
    assert min(useful) > 0.85 * max(useful), "this load is balanced"
PY
}

for how in wander two seventh lock pairs; do
    fair run $how
done
