#!/usr/bin/env bash
# delays.sh - the line that made a rank late, not the line it was seen in
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs (targets/mpi/delays.c) whose late rank loses its time before, around
# or far from the wait. What must be true is written down before each run: who
# and which line or function the ranks waited for, and for how much of it. Where
# the machine lets ranks lose time elsewhere, by what they print of themselves,
# less must hold.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
program=$tests/delays.openmpi
[ -x "$program" ] || skip "delays was not built"
source=$here/../targets/mpi/delays.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# run NAME RANKS
run() {
    rm -rf "${work:?}/$1" "$work/$1".out*
    timeout 60 mpirun -n "$2" "${apart[@]}" "$work/$1.out" \
        "$bin/ckagent" --dir "$work/$1" -- \
        "$program" "$1" 2>"$work/$1.err" </dev/null ||
        { cat "$work/$1.err"; fail "mpirun"; }
    cat "$work/$1".out.* >"$work/$1.out"
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
}

# check NAME RANK PERCENT TEXT...: the ranks waited for each other because of that
# rank more than because of any other, and at least so much of that has a TEXT as
# its line or as the function that was sampled; each TEXT about its part, of one
# written A|B in either. Status
# 3: ranks lost more than that elsewhere, so no more is known than the rank, if it
# lost far more than all others.
check() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.out" "${@:2}" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
did = [[int(word) for word in line.split()[1:]] for line in open(sys.argv[2])]
rank, percent, places = int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:]
# What the late rank lost before and after, and what any rank lost in the work
# of all; in a chain, where that is in pieces, beyond what is planned.
own = [sum(row[part] for row in did) for part in (2, 4)]
size = 1 + max(row[0] for row in did)
times = {(row[0], row[1]): row[3] for row in did}
steps = sorted({row[1] for row in did})
plan = {r: min(times[r, step] for step in steps) if size > 2 else 0
        for r in range(size)}
lost = sum(times[r, step] - (plan[r] if size > 2 else min(
    times[k, step] for k in range(size)))
    for r in range(size) for step in steps)
is_shape = lost < 0.7 * (1 - percent / 100) * sum(own) and (
    len(places) < 2 or 0.6 < own[0] / own[1] < 1.6) and (
    places != ["?|wait_for_child"] or own[0] < own[1] / 2)
# A team that got no CPU while the first thread was blocked is sampled too seldom
# to be named: it computes for 20 ms a step.
if "team" in sys.argv[1].split("/"):
    is_shape = is_shape and sum(own) < 3 * 20e6 * len(steps)
print("by its stamps rank %d lost %s ms, all in the work of all %.1f ms" % (
    rank, [round(ns / 1e6, 1) for ns in own], lost / 1e6))
delays = report["delays"]
items = delays["items"]
whole = sum(r["waited_ns"] for r in report["ranks"])
assert sum(i["ns"] for i in items) + delays["others_ns"] + \
    delays["unexplained_ns"] == whole, "costs are not what was waited"


def name(did):
    if did["call"]:
        return str(did["line"])
    return did["sampled"]["function"] if did["sampled"] else "?"


# What MPI itself took, without a CPU, other programs have caused.
ranks, found = {}, {}
for item in items:
    if (item["did"]["call"] or "")[:4] == "MPI_":
        continue
    ranks[item["rank"]] = ranks.get(item["rank"], 0) + item["ns"]
    if item["rank"] == rank:
        key = name(item["did"])
        found[key] = found.get(key, 0) + item["ns"]
parts = [sum(found.get(one, 0) for one in place.split("|"))
         for place in places]
print("waited %.1f ms; because of ranks %s; of rank %d %s; unexplained %.1f ms" %
      (whole / 1e6, {k: round(v / 1e6, 1) for k, v in ranks.items()}, rank,
       {k: round(v / 1e6, 1) for k, v in found.items()},
       delays["unexplained_ns"] / 1e6))
first = max(ranks, key=ranks.get) == rank
assert first or sum(own) < 2 * lost, "another rank"
is_good = first and sum(parts) * 100 >= percent * ranks[rank] and \
    min(parts) * len(parts) * 2 > sum(parts)
if is_good and sum(own) > lost:
    sys.exit(0)
sys.exit(1 if is_shape and not is_good else 3)
PY
}

# first NAME TEXT: the first of the LATE RANKS has that text, of A|B either.
first() {
    awk '/ waited .* for rank / { n++ } /^$/ { on = 0 }
        on && n == 1 { print } / LATE RANKS/ { on = 1; n = 0 }' \
        "$work/$1/report.txt" | grep -qF "${2//|/$'\n'}" || { sed -n '/ LATE RANKS/,/^$/p' "$work/$1/report.txt"
        fail "$1: the first late rank is not told with $2"; }
    echo "ok: $1: $2"
}

slept() {
    run slept 2
    check slept 1 90 "$(line before)" || return
    first slept "nanosleep (delays.c:$(line before))"
}

early() {
    run early 2
    check early 1 80 own_before || return
    first early "own_before (delays.c"
}

half() {
    run half 2
    check half 1 80 own_before own_after || return
}

chained() {
    run chain 4
    check chain 0 80 "$(line before)" || return
    first chain "nanosleep (delays.c:$(line before))"
}

# Blocked outside any recorded call: no function that computed beside it is to be
# named for that. Where fork() is slow, or stacks of waits are permitted, what
# called it is.
child() {
    run child 2
    check child 1 80 "?|wait_for_child" || return
    first child "between two calls|called by wait_for_child"
    first child "blocked in the kernel"
}

# The rank's first thread waits for its team, blocked or spinning: what the other
# thread computes is to be named.
team() {
    run team 2
    check team 1 80 own_after || return
    first team "own_after (delays.c"
}

for shape in slept early half chained child team; do
    by_truth "$shape"
done
