#!/usr/bin/env bash
# deaths.sh - what ranks wait for one that died is blamed on its end, and on
# nothing that it did before
#
# SPDX-License-Identifier: Apache-2.0
#
# Rank 1 dies half-way through a step, in several ways, while others wait for it
# in several ways (tests/targets/mpi/deaths.c); each rank below a ckagent of its
# own, or all below one. And it is stopped for 2 s, which is no end.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/deaths.openmpi" ] || skip "deaths was not built"

# start NAME WORD...: run it.
start() {
    run=$work/$1
    timeout -k 5 120 "${@:2}" >"$run.out" 2>"$run.err" </dev/null || :
    wait_report "$run"
}

wait_report() {
    local _
    for _ in $(seq 600); do
        if [ -s "$1/report.json" ] &&
            ! grep -q '"state": "running"' "$1/manifest.json"; then
            return
        fi
        sleep 0.1
    done
    cat "$1.err"
    fail "no report in $1"
}

launch=(mpirun --mca odls_base_sigkill_timeout 1 -n 3)
each() { start "$1.$2" "${launch[@]}" "$bin/ckagent" --dir "$work/$1.$2" -- \
    "$tests/deaths.openmpi" "$1" "$2"; }
below_one() { start "one.$1.$2" "$bin/ckagent" --dir "$work/one.$1.$2" -- \
    "${launch[@]}" "$tests/deaths.openmpi" "$1" "$2"; }

# What every report of a death has, in figures and in words.
check() {
    /usr/bin/python3 - "$run" <<'PY'
import json, re, sys
run = sys.argv[1]
report = json.load(open(run + "/report.json"))
text = " ".join(open(run + "/report.txt").read().split())
output = open(run + ".out").read()
died = int(re.search(r"died 1 (\d+)", output)[1])
asks = {int(r): int(ns) for r, ns in re.findall(r"asks (\d+) (\d+)", output)}
rank = report["ranks"][1]
late = next(row for row in report["stragglers"] if row["rank"] == 1)
# As long as they waited for it and lived on, by their own stamps.
after = sum(max(0, (r["end_time_ns"] or 0) - max(
    rank["end_time_ns"], asks.get(r["rank"], 0)))
            for r in report["ranks"] if r["rank"] != 1)
print(rank["end"], rank["end_time_ns"] - died, late["caused_ns"],
      late["ended_ns"], after, rank["gone_ns"])
assert -1e6 < rank["end_time_ns"] - died < 0.5e9
assert after > 0.5e9, "no rank lived on"
# They poll for one another: of a poll it is known only if it was the last.
if "poll" not in run:
    assert abs(late["ended_ns"] - after) < 0.02 * after + 0.02e9
assert late["ended_ns"] > 0.6 * late["caused_ns"]
assert rank["gone_ns"] > 0.4 * after
outside = rank["useful_ns"]
assert outside < rank["end_time_ns"] - report["region"]["start_ns"] + 1e6
waits = [w for w in report["waits"] if w.get("blamed_rank") == 1]
assert sum(w["ended_ns"] for w in waits) == late["ended_ns"]
assert re.search(r"For [\d.]+ % of it rank 1 had ended\.", text), "no sentence"
# What it did before is no reason of that, nor is there advice on it.
words = text[text.index("for rank 1."):]
words = words[:words.index(" WAITED ")].split(" Others waited ")[0]
assert "Try:" not in words, words
PY
}

# died each|below_one HOW CALL
died() {
    "$@"
    check || fail "$*"
}

# It lives: it was blocked for 2 s, and that is its delay.
stopped() {
    each stop allreduce
    /usr/bin/python3 - "$run" <<'PY'
import json, sys
report = json.load(open(sys.argv[1] + "/report.json"))
late = report["stragglers"][0]
did = late["delays"]["items"][0]
print(late["rank"], late["caused_ns"], late["ended_ns"], did["cause"], did["ns"])
assert late["rank"] == 1 and late["ended_ns"] == 0
assert did["cause"] == "offcpu_blocked" and did["rank"] == 1
assert 3.5e9 < did["ns"] < 4.5e9
assert [r["gone_ns"] for r in report["ranks"]] == [0, 0, 0]
PY
}

for how in kill abort exit agent; do
    once died each $how allreduce
done
once died each kill recv
once died each exit poll
once died below_one kill allreduce
once died below_one exit recv
once stopped
