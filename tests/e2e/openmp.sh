#!/usr/bin/env bash
# openmp.sh - teams of threads: who waited how long, for whom, at which line
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs (targets/openmp/teams.c) whose threads wait for known reasons. By
# their own clocks they print how long each thread waited; the report must
# have the same within 1 %, of gcc's runtime as of LLVM's. The machine may take a
# CPU away between a thread's stamp and ck's, or more than was planted: then there
# is another run.
. "$(dirname "$0")/lib.sh"
source=$here/../targets/openmp/teams.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

options=()

# record DIR PROGRAM WORD...
record() {
    rm -rf "${work:?}/$1"
    timeout 100 "$bin/ckagent" "${options[@]}" --dir "$work/$1" -- "$tests/$2" "${@:3}" \
        >"$work/$1.out" 2>"$work/$1.err" </dev/null ||
        { cat "$work/$1.err"; fail "$1: ckagent"; }
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
}

# sentence DIR TEXT: a sentence of the report has that text, whatever the lines.
sentence() {
    tr -s ' \n' ' ' <"$work/$1/report.txt" | grep -qF "$2" ||
        { cat "$work/$1/report.txt"; fail "$1: no sentence has: $2"; }
}

# expect DIR MUST MAY: expressions over the report r, its openmp o, and truth:
# {what: {(rank, thread): ns}}. MAY is of times and samples, which a loaded machine
# can take another way: status 3.
expect() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.out" "$2" "$3" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
o, truth = r["openmp"], {}
for line in open(sys.argv[2]):
    what, rank, thread, ns = line.split()
    truth.setdefault(what, {})[int(rank), int(thread)] = int(ns)


def near(seen, true, more=100000):
    """Within 1 %, and 2.5 us for each of 40 times."""
    print("%.3f ms seen, %.3f ms by the program" % (seen / 1e6, true / 1e6))
    return abs(seen - true) <= 0.01 * true + more


def wait(line, what):
    return [w for w in o["waits"] if w["line"] == line and w["what"] == what][0]


def region(line):
    return [x for x in o["regions"] if x["line"] == line][0]


def thread(number, rank=0):
    return [t for t in r["threads"]
            if t.get("number") == number and t["rank"] == rank][0]


# The identity of the efficiencies, in integers.
for row in o["ranks"]:
    states = row["states"]
    assert row["threads"] * row["outside_mpi_ns"] == row["useful_ns"] + \
        row["serial_ns"] + row["idle_ns"] + sum(states.values()) - \
        states["work_ns"], "the losses of rank %d do not close" % row["rank"]
    assert states["unknown_ns"] == 0
e = o["efficiency"]
assert abs(e["parallel"] - e["mpi"] * e["openmp"]) < 1e-9
assert o["records_without_region"] == 0
assert eval("(" + sys.argv[3] + ")"), sys.argv[3]
sys.exit(0 if eval("(" + sys.argv[4] + ")") else 3)
PY
}

imbalance() {
    local at
    at=$(line imbalance)
    record imbalance "teams_$1" imbalance "$2"
    expect imbalance "region($at)['count'] == 40 and
        region($at)['threads'] == 2 and region($at)['last']['of'] == 40 and
        region($at)['function'] == 'imbalance'" \
        "region($at)['last']['thread'] == 1 and
        near(thread(0)['team_wait_ns'], truth['end'][0, 0]) and
        region($at)['last_was_in']['function'] == 'own_work'"
}

barrier() {
    local at
    at=$(line barrier)
    record barrier "teams_$1" barrier 5
    expect barrier "wait($at, 'barrier')['count'] == 80 and
        wait($at, 'barrier')['function'] == 'barrier' and
        wait($at, 'barrier')['last']['of'] == 40" \
        "wait($at, 'barrier')['last']['thread'] == 1 and
        near(wait($at, 'barrier')['last']['caused_ns'],
             truth['barrier'][0, 0]) and
        wait($at, 'barrier')['awaited_were_in']['function'] == 'own_work'"
}

critical() {
    local at
    at=$(line critical)
    record critical "teams_$1" critical 3
    expect critical "r['lock_waits'][0]['call'] == 'critical' and
        r['lock_waits'][0]['line'] == $at and
        r['lock_waits'][0]['threads'] == 2 and
        wait($at, 'critical')['count'] >= 36" \
        "near(wait($at, 'critical')['ns'], sum(truth['critical'].values()),
            300000) and r['lock_waits'][0]['serial_ns'] > 0.12 * (
            r['region']['end_rel_ns'] - r['region']['start_rel_ns'])" || return
    sentence critical "one lock waited for it: critical at"
}

serial() {
    record serial "teams_$1" serial 5
    expect serial "o['ranks'][0]['regions'] == 40" \
        "near(o['ranks'][0]['serial_ns'] - o['ranks'][0]['outside_mpi_ns'] +
            truth['span'][0, 0], truth['serial'][0, 0], 2000000) and
        o['ranks'][0]['serial_was_in']['function'] == 'own_work'" || return
    sentence serial "one thread alone ran outside of parallel regions"
}

# Tasks that threads run while they wait are work.
tasks() {
    record tasks "teams_$1" tasks 1
    expect tasks "o['tasks'] == 320 and
        o['ranks'][0]['states']['work_ns'] >= 320e6" True
}

nested() {
    local at
    at=$(line nested)
    record nested "teams_$1" nested 2
    expect nested "o['nested_regions'] == 80 and
        region($at)['level'] == 1 and region($at)['count'] == 80 and
        region($at)['last']['of'] == 80" \
        "region($at)['states']['imbalance_ns'] > 0.5 * 80 * 2e6"
}

# The rank's slow thread, its line and region, for ranks that wait in MPI.
hybrid() {
    local at
    at=$(line imbalance)
    rm -rf "${work:?}/hybrid" "$work"/hybrid.out*
    timeout 100 mpirun -n 2 "${apart[@]}" "$work/hybrid.out" \
        "$bin/ckagent" --dir "$work/hybrid" -- "$tests/teams_mpi" imbalance 15 \
        2>"$work/hybrid.err" </dev/null || fail "mpirun"
    cat "$work"/hybrid.out.* >"$work/hybrid.out"
    expect hybrid "e['ranks'] == 2 and e['threads'] == 4 and
        region($at)['ranks'] == 2 and
        abs(e['mpi'] - r['efficiency']['parallel']) < 1e-6" \
        "region($at)['last']['rank'] == 1 and
        region($at)['last']['thread'] == 1 and
        region($at)['awaited_ns'] > 0.5 * truth['end'][1, 0] and
        near(thread(0, 1)['team_wait_ns'], truth['end'][1, 0])" || return
    sentence hybrid "most for thread 1 of rank 1"
}

# Where libc is not recorded, OpenMP has a library of its own.
without_libc() {
    local options=(--posix=off)
    imbalance "$1" 5
}

# Switched off, or another tool's.
off() {
    rm -rf "${work:?}/off"
    "$bin/ckagent" --openmp=off --dir "$work/off" -- "$tests/teams_$1" even 1 \
        >/dev/null 2>&1 </dev/null || fail "off"
    same "regions with --openmp=off" 0 \
        "$(json "$work/off/report.json" "len(j['openmp']['regions'])")"
}

# A team of one thread has no other to wait for: all of its region is work.
alone() {
    THREADS=1 record alone "teams_$1" even 1
    expect alone "[(x['count'], x['threads']) for x in o['regions']] == [(40, 1)]
        and o['regions'][0]['states']['work_ns'] >= 40e6 and
        sum(o['regions'][0]['states'].values()) ==
            o['regions'][0]['states']['work_ns']" True
}

# A runtime that goes with the plugin that it came with: the program ends well,
# and each of the regions is there.
reopened() {
    record reopen reopen "$tests/reopen_plugin.so"
    same "output with a plugin opened again" "3 times" "$(cat "$work/reopen.out")"
    same "its regions" 6 "$(json "$work/reopen/report.json" \
        "sum(x['count'] for x in j['openmp']['regions'])")"
}

# A region that the program ended in has no record; its threads had work.
ended() {
    record ends ends
    same "a region that was over" 1 "$(json "$work/ends/report.json" \
        "sum(x['count'] for x in j['openmp']['regions'])")"
    if grep -q "threads had no work" "$work/ends/report.txt"; then
        cat "$work/ends/report.txt"
        fail "ends: both threads computed for a second"
    fi
    same "no record of the most of its time" True \
        "$(json "$work/ends/report.json" "j['openmp']['ranks'][0]['states'][
            'unknown_ns'] > 4 * j['openmp']['ranks'][0]['serial_ns']")"
}

# Tasks of a taskloop have no record: who runs them does not wait.
taskloop() {
    record taskloop taskloop
    if grep -q "OpenMP threads waited" "$work/taskloop/report.txt"; then
        cat "$work/taskloop/report.txt"
        fail "taskloop: both threads ran tasks"
    fi
    same "work within a wait" True "$(json "$work/taskloop/report.json" \
        "sum(w['worked_ns'] for w in j['openmp']['waits']) > 1e8")"
}

if [ -x "$tests/taskloop" ]; then
    taskloop
    echo "ok: a loop of tasks"
fi
if [ -x "$tests/ends" ]; then
    ended
    echo "ok: a program that ends in a region"
fi
if [ -f "$tests/reopen_plugin.so" ]; then
    reopened
    echo "ok: a plugin opened again"
fi
for compiler in gcc clang; do
    [ -x "$tests/teams_$compiler" ] || { echo "no teams_$compiler"; continue; }
    by_truth imbalance $compiler 5
    by_truth imbalance $compiler 15
    for shape in barrier critical serial tasks nested; do
        by_truth $shape $compiler
    done
    by_truth without_libc $compiler
    by_truth alone $compiler
    off $compiler
    echo "ok: $compiler"
done
if [ -x "$tests/teams_mpi" ]; then
    by_truth hybrid
fi
