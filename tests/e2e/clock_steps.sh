#!/usr/bin/env bash
# clock_steps.sh - a clock of two that jumps during a job: are marks in bounds?
#
# SPDX-License-Identifier: Apache-2.0
#
# Two ranks in a time namespace each, 1000 s apart; the RAW of one jumps by 5 ms
# ahead or back, in two of four jobs 0.7 s later by 3 ms the other way. Truth:
# marks carry CLOCK_REALTIME, which both share. Each two marks that are near each
# other have to be as far apart as that shows, within the bounds of both clocks
# there, and --max-clock-error must not pass what was off. CK_STEP_JOBS is how
# many jobs.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need unshare util-linux
[ -x "$tests/marks.openmpi" ] || skip "marks.openmpi was not built"
unshare --time --monotonic 1 true 2>/dev/null ||
    skip "unshare --time is not permitted"
jobs=${CK_STEP_JOBS:-2}

cat >"$work/rank" <<'SH'
#!/bin/sh
rank=$OMPI_COMM_WORLD_RANK
ahead=$((1000 + rank * 1000))
if [ "$rank" = "$STEP_RANK" ]; then
    at=$((STEP_ORIGIN + ahead * 1000000000))
    export CK_TEST_CLOCK=step=$STEP_AFTER:$STEP_NS$STEP_MORE,at=$at
fi
exec unshare --time --monotonic $ahead --boottime $ahead "$@"
SH
chmod +x "$work/rank"

cat >"$work/check.py" <<'PY'
import bisect
import json
import sys

marks = {0: [], 1: []}
bounds = {}
trace = json.load(open(sys.argv[1]))
names = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"]
         if e["ph"] == "M" and e["name"] == "process_name"}
rank_of = {pid: int(name.split()[1].rstrip(",:")) for pid, name in
           names.items() if name.startswith("rank ")}
ns = lambda e: round(e["ts"] * 1000)
for e in trace["traceEvents"]:
    if e["ph"] == "C" and e["name"].startswith("bound of clock "):
        number = int(e["name"].split()[3])
        bounds.setdefault(number, []).append((ns(e), e["args"]["value"]))
    elif e["ph"] == "i" and e["name"] in ("truth", "width"):
        marks[rank_of[e["pid"]]].append((e["name"], ns(e), e["args"]["value"]))


def pairs(rows):
    return [(a[1], a[2], b[2]) for a, b in zip(rows, rows[1:])
            if a[0] == "truth" and b[0] == "width" and b[2] < 5000]


def bound(number, time):
    """The largest from a stretch before it to one behind it."""
    rows = bounds.get(number, [(0, 0)])
    at = bisect.bisect_right([t for t, _ in rows], time)
    return max(v if v >= 0 else 10**12 for _, v in rows[max(at - 2, 0):at + 1])


mine, its = pairs(marks[0]), pairs(marks[1])
worst = outside = looked = 0
for time, truth, width in mine:
    for time2, truth2, width2 in its:
        if abs(truth - truth2) > 10000000:
            continue
        off = abs((time2 - time) - (truth2 - truth)) - width - width2 - 100
        looked += 1
        if off > bound(0, time) + bound(1, time2):
            outside += 1
            print("off by %d ns at %d, stated %d + %d" % (
                off, time, bound(0, time), bound(1, time2)), file=sys.stderr)
        worst = max(worst, off)
print(looked, outside, worst)
PY

# job MS: a job of so long, merged; the verdict of check.py.
job() {
    rm -rf "$dir"
    # RAW of this namespace, 0 s ahead of those above.
    STEP_ORIGIN=$(/usr/bin/python3 -c 'import time
print(time.clock_gettime_ns(4))')
    export STEP_ORIGIN
    timeout -k 5 300 mpirun -n 2 "$work/rank" "$bin/ckagent" --report none \
        --dir "$dir" -- "$tests/marks.openmpi" "$1" </dev/null \
        >"$work/out" 2>"$work/err" || { cat "$work/err"; fail "mpirun"; }
    "$bin/ckmerge" --quiet --output json="$work/report.json" \
        --output chrome="$work/trace.json" "$dir" || fail "ckmerge"
    read -r looked outside worst <<<"$(
        /usr/bin/python3 "$work/check.py" "$work/trace.json")"
}

for ((number = 0; number < jobs; number++)); do
    dir=$work/job
    export STEP_RANK=$((number % 2))
    export STEP_NS=$((number / 2 % 2 ? -5000000 : 5000000))
    STEP_AFTER=$((1 + number % 3)).$((number * 37 % 90 + 10))
    STEP_MORE=
    if [ $(((number + 1) / 2 % 2)) = 1 ]; then
        STEP_MORE=,step=$((1 + number % 3)).9:$((STEP_NS / -5 * 3))
        STEP_AFTER=$((1 + number % 3)).2
    fi
    export STEP_AFTER STEP_MORE
    # On a busy machine few marks are written at once.
    for ms in 3000 6000 12000 24000; do
        job "$ms"
        [ "$looked" -lt 20 ] || break
    done
    said=$(json "$work/report.json" "'{0} us, faults {1}'.format(
        j['clock_worst_pair']['bound_max_ns'] / 1e3,
        [[f['kind'] for f in c['faults']] for c in j['clocks']])")
    echo "rank $STEP_RANK, $STEP_NS ns after $STEP_AFTER s$STEP_MORE: $looked pairs of" \
        "marks, off by $worst ns at most; known to +- $said"
    same "faults at times of the run" True "$(json "$work/report.json" \
        "all(-1e9 < f[at] < j['whole']['ns'] + 1e9 for at in
             ('from_rel_ns', 'to_rel_ns') for c in j['clocks']
             for f in c['faults'])")"
    same "faults of the other clock" "[]" "$(json "$work/report.json" \
        "j['clocks'][$((1 - STEP_RANK))]['faults']")"
    [ "$looked" -ge 20 ] || fail "only $looked pairs of marks"
    same "outside of their bounds" 0 "$outside"
    status=0
    "$bin/ckmerge" --quiet --max-clock-error "$((worst > 1 ? worst - 1 : 1))ns" \
        "$dir" 2>"$work/gate" || status=$?
    same "the gate at what was off" 4 "$status"
done
