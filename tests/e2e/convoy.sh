#!/usr/bin/env bash
# convoy.sh - a lock that lets only one thread run is the headline
#
# SPDX-License-Identifier: Apache-2.0
#
# targets/openmp/pool.c: threads that convoy on one mutex, with and without MPI,
# and a producer with consumers, which is none.
. "$(dirname "$0")/lib.sh"
[ -x "$tests/pool" ] || skip "pool was not built"
source=$here/../targets/openmp/pool.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# record NAME COMMAND...
record() {
    rm -rf "${work:?}/$1"
    timeout 100 "${@:2}" >/dev/null 2>"$work/$1.err" </dev/null ||
        { cat "$work/$1.err"; fail "$1"; }
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
}

# The first sentence of the report behind its head.
headline() {
    grep -A3 "that use one lock waited for it" "$work/$1/report.txt" |
        tr -d '\n' | tr -s ' ' || true
}

check() {
    local text
    text=$(headline "$1")
    case $text in
    *"pthread_mutex_lock at $2"*"$3"*) echo "ok: $1: $text" ;;
    *) cat "$work/$1/report.txt"; fail "$1: $text" ;;
    esac
    json "$work/$1/report.json" "[row for row in j['lock_waits']
        if row['threads'] == 4 and row['serial_ns'] > 0.1 * row['wall_ns'] and
        row['line'] == $4 and row['rank'] == 0][0]['count']" ||
        fail "$1: lock_waits"
}

record convoy "$bin/ckagent" --dir "$work/convoy" -- "$tests/pool" convoy
check convoy "convoy (pool.c:$(line convoy))" "computed in update" \
    "$(line convoy)"
# Beside others its threads seldom want the lock at once.
asleep() {
    record asleep "$bin/ckagent" --dir "$work/asleep" -- "$tests/pool" asleep
    check asleep "asleep (pool.c" "was in nanosleep (pool.c:$(line asleep))" \
        "$(($(line asleep) - 1))"
}
fair asleep
if [ -x "$tests/pool_mpi" ]; then
    record mpi mpirun -n 2 "$bin/ckagent" --dir "$work/mpi" -- \
        "$tests/pool_mpi" convoy
    check mpi "convoy (pool.c:$(line convoy)) of rank 0" "update" \
        "$(line convoy)"
fi
# std::thread and std::mutex, inlined: the line is the program's own. By its own
# clock it has how long its workers waited for the lock and how long they had it.
workers() {
    local source=$here/../targets/openmp/workers.cpp
    rm -rf "${work:?}/workers"
    timeout 100 "$bin/ckagent" --dir "$work/workers" -- "$tests/workers" 60 \
        >"$work/workers.out" 2>"$work/workers.err" </dev/null || fail "workers"
    check workers "(anonymous)::Pool::work (workers.cpp:$(line workers))" \
        "merge_into_table" "$(line workers)"
    /usr/bin/python3 - "$work/workers" <<'PY'
import json, sys
truth = next(line.split() for line in open(sys.argv[1] + ".out")
             if line.startswith("truth"))
wall, held, waited = map(int, truth[1:])
row = json.load(open(sys.argv[1] + "/report.json"))["lock_waits"][0]
print("waited %.1f ms, %.1f by the program; alone %.1f of %.1f ms that the "
      "lock was held" % (row["ns"] / 1e6, waited / 1e6, row["serial_ns"] / 1e6,
                         held / 1e6))
assert abs(row["ns"] - waited) < 0.02 * waited, "waits"
# A worker that lost its CPU outside of the lock does not wait for it.
assert 0.3 * held < row["serial_ns"] < 1.02 * held, "serial"
PY
}
if [ -x "$tests/workers" ]; then
    fair workers
fi
record queue "$bin/ckagent" --dir "$work/queue" -- "$tests/pool" queue
[ -z "$(headline queue)" ] || fail "producer and consumers are no convoy"
echo "ok: producer and consumers are none"
