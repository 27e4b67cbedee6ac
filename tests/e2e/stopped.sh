#!/usr/bin/env bash
# stopped.sh - a job, or one rank of it, that is stopped for a while
#
# SPDX-License-Identifier: Apache-2.0
#
# SIGSTOP to all processes of a job (programs, agents, ckagg), then to all of
# one of two ranks that have a clock each: 3 s later they go on. That time is a
# row of its own in the ledger, and no fault of any clock.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/train" ] || skip "train was not built"
seconds=3

cat >"$work/start" <<'SH'
#!/bin/sh
export CK_E2E_MARK="$CK_E2E_WORK rank $OMPI_COMM_WORLD_RANK."
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || [ -z "${CK_E2E_CLOCK:-}" ] ||
    export CK_TEST_CLOCK=$CK_E2E_CLOCK
exec "$@"
SH
chmod +x "$work/start"
export CK_E2E_WORK=$work

# marked TEXT: the processes whose environment has the mark.
marked() {
    /usr/bin/python3 - "CK_E2E_MARK=$work $1" <<'PY'
import os, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open("/proc/%s/environ" % pid, "rb") as file:
            lines = file.read().split(b"\0")
    except OSError:
        continue
    if any(line.startswith(sys.argv[1].encode()) for line in lines):
        print(pid)
PY
}

# stopped NAME MARK ARGUMENTS...: train on two ranks; after its first
# steps the marked ones are stopped.
stopped() {
    local name=$1 mark=$2 job pids
    shift 2
    timeout -k 5 500 mpirun -n 2 "$work/start" "$bin/ckagent" "$@" \
        --dir "$work/$name" -- "$tests/train" --steps 120 --inject late:1:20 \
        </dev/null >"$work/$name.out" 2>"$work/$name.err" &
    job=$!
    for ((i = 0; i < 20000; i++)); do
        ! grep -q '^step' "$work/$name.out" || break
        read -rt 0.02 <> <(:) || :
    done
    pids=$(marked "$mark")
    [ -n "$pids" ] || fail "nobody to stop in $name"
    # shellcheck disable=SC2086 # numbers
    kill -STOP $pids
    # No event ends this: it is the length of the stop.
    read -rt $seconds <> <(:) || :
    # Agents first: none of them stops again with its program.
    # shellcheck disable=SC2086
    kill -CONT $pids
    wait $job || { status=$?; tail -3 "$work/$name.err"; fail "$name: status $status"; }
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$work/$name"
    "$bin/ckmerge" --verify "$work/$name" >"$work/verify" ||
        { cat "$work/verify"; fail "--verify of $name"; }
}
j() { json "$work/report.json" "$1"; }

# row RANK: seconds in which the rank's devices were idle as it was stopped.
row() {
    j "round(sum(d['ledger']['host_stopped'] for d in j['devices']
        if d['ranks'] == [$1]) / 1e9, 3)"
}
# about WHAT SECONDS: the length of the stop, less what a busy machine and
# the first and last record take.
about() {
    echo "$1: $2 s of $seconds s"
    /usr/bin/python3 -c "import sys
sys.exit(not $seconds - 0.7 <= $2 <= $seconds + 0.7)" || fail "$1"
}

# A kernel that was in its middle then is busy time: that is another job.
is_in_kernel() {
    j "any(d['ledger']['compute'] > 2e9 for d in j['devices'])"
}

# Where each thread had just begun a call, a stop looks like that call's wait:
# it is not claimed then (docs/analysis.md, host_stopped).
is_unproven() { [ "$(row 1)" = 0.0 ]; }

# once NAME ARGUMENTS...: stopped, in no kernel and not in calls alone.
once() {
    local try
    for ((try = 0; try < 4; try++)); do
        rm -rf "${work:?}/$1"
        stopped "$@"
        if [ "$(is_in_kernel)" = True ]; then
            echo "a kernel was stopped in its middle: once more"
        elif is_unproven; then
            echo "all threads had just begun a call: once more"
        else
            break
        fi
    done
}

whole_job() {
    once job "rank"
    about "whole job, rank 0" "$(row 0)"
    about "whole job, rank 1" "$(row 1)"
    same "one clock" 1 "$(j "len(j['clocks'])")"
    same "no fault of it" 0 "$(j "len(j['clocks'][0]['faults'])")"
    same "its pause is told" True "$(j "any(e['kind'] == 'pause'
        for e in j['clocks'][0]['host_events'])")"
    same "the ledger closes" True "$(j "j['trust']['ledger_closed']")"
}

one_rank() {
    local error bound
    CK_E2E_CLOCK=off=123456789 once rank "rank 1" --clock-shortcut=off
    same "clocks" 2 "$(j "len(j['clocks'])")"
    same "calibrated" True "$(j "all('offset_ns' in c for c in j['clocks'])")"
    same "no fault of any" 0 "$(j "sum(len(c['faults']) for c in j['clocks'])")"
    same "no contradiction" 0 "$(j "len(j['clock_conflicts'])")"
    same "whose pause it was" "[False, True]" "$(j "[any(
        e['kind'] == 'pause' and e['ns'] > 2e9 for e in c['host_events'])
        for c in j['clocks']]")"
    about "one rank, that one" "$(row 1)"
    same "the other one was not stopped" 0.0 "$(row 0)"
    error=$(j "abs(j['clocks'][1]['offset_ns'] - j['clocks'][0]['offset_ns'] +
        123456789)")
    bound=$(j "j['clock_worst_pair']['bound_max_ns']")
    echo "its clock: off by $error ns, bound +- $bound ns"
    [ "$error" -le "$bound" ] || fail "the stop moved its clock"
    same "backwards in time" 0 "$(j "sum(j['causality'][k] for k in (
        'messages_after', 'collectives_after'))")"
}

fair whole_job
fair one_rank
