#!/usr/bin/env bash
# where.sh - `ckagg --where` shows of a job that hangs which rank misses which
#
# SPDX-License-Identifier: Apache-2.0
#
# Real jobs that hang, each in its own way (tests/targets/mpi/where.c): class,
# rank, function and line must be right while it hangs, no thread may be
# stopped or get a signal, and the report of the job that is ended then must be
# the same.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
program=$tests/where.openmpi
source=$here/../targets/mpi/where.c
[ -x "$program" ] || skip "where was not built"
ranks=4

# line TEXT: where it is in the source, the first time.
line() {
    grep -n -F "$1" "$source" | head -n 1 | cut -d : -f 1
}

# begin SHAPE [WORD]: run it until its ranks are there. begin_program NAME
# COMMAND WORD...: the same of another program.
begin() {
    begin_program "$1" "$program" "$@"
}

begin_program() {
    local _
    run=$work/$1
    shift
    timeout -k 5 120 mpirun -n $ranks "$bin/ckagent" --dir "$run" -- \
        "$@" >"$run.out" 2>"$run.err" </dev/null &
    launcher=$!
    for _ in $(seq 1200); do
        [ "$(grep -c 'is there$' "$run.out")" != $ranks ] || break
        sleep 0.05
    done
    sleep 0.5 # calls are open for 20 ms before they are shown
}

# where NAME: ask, until the answer has every rank's calls.
where() {
    local _
    for _ in 1 2 3 4 5; do
        "$bin/ckagg" --where "$run" >"$run.where" || fail "$1: no answer"
        tr '\n' ' ' <"$run.where" | tr -s ' ' >"$run.line"
        ! grep -q "$2" "$run.line" || return 0
        sleep 0.5
    done
    cat "$run.where" >&2
    fail "$1: no \"$2\""
}

says() {
    grep -q "$2" "$run.line" || {
        cat "$run.where" >&2
        fail "$1: no \"$2\""
    }
    echo "ok: $1: $2"
}

# alike NAME: by the index of frames that ckagg would make, and by a walk over all
# headers, the answer is the same.
alike() {
    local copy=$work/alike
    rm -rf "$copy"
    mkdir "$copy"
    cp "$run"/seg-*.ck "$run/manifest.json" "$copy"
    "$tests/runindex" "$copy" "$work/index" || fail "$1: no index"
    asked "$copy" >"$work/walked"
    asked --frames "$work/index" "$copy" >"$work/listed"
    grep -q "rank 1" "$work/walked" || fail "$1: no answer of a copy"
    cmp "$work/walked" "$work/listed" || {
        diff "$work/walked" "$work/listed" >&2 || true
        fail "$1: other by an index of frames"
    }
    echo "ok: $1: by an index the answer is the same"
}

# asked WORD...: 3 = something of the run is not there yet.
asked() {
    local status=0
    "$bin/ckmerge" --live --quiet --no-page --output where "$@" 2>&1 || status=$?
    [ $status = 0 ] || [ $status = 3 ] || fail "ckmerge $*: status $status"
}

# end NAME: end the job; its report.
end() {
    local _
    alike "$1"
    kill -INT $launcher
    wait $launcher && fail "mpirun said nothing of the signal"
    for _ in $(seq 300); do
        [ ! -s "$run/report.json" ] || ! grep -q '"state": "done"' \
            "$run/manifest.json" || break
        sleep 0.1
    done
    [ -s "$run/report.json" ] || fail "$1: no report"
}

missing="3 of 4 ranks had waited in MPI_Barrier (where.c:[0-9]*), collective [0-9]* on MPI_COMM_WORLD, which rank 1 had not entered"

begin loop
where loop "rank 1 runs, in spin"
says loop "$missing"
at=$(line 'sink = sink')
says loop "rank 1 runs, in spin (where.c:\($((at - 1))\|$at\))"
says loop "rank 1: main (where.c:[0-9]*) > stay (where.c:[0-9]*) > solve (where.c:[0-9]*) > spin (where.c:[0-9]*)"
says loop "ranks 0, 2 and 3: main (where.c:[0-9]*) > MPI_Barrier"
says loop "nothing was stopped, no signal was sent"
end loop
same "the report has the stack of the loop" True "$(json "$run/report.json" \
    "[f['function'] for s in j['standings'] if s['rank'] == 1 and s['first']
      for f in s['frames']][:3] in (['spin', 'solve', 'stay'],)")"

begin pause
where pause "rank 1 waits in pause"
says pause "rank 1 waits in pause, in rest (where.c:$(line 'pause();'))"
frames=$( ("$bin/ckmerge" --live --quiet --output json "$run" || true) | /usr/bin/python3 -c \
    'import json, sys
j = json.load(sys.stdin)
print(" ".join(f["function"] for s in j["standings"]
               if s["rank"] == 1 and s["first"] for f in s["frames"]))')
if command -v gdb >/dev/null; then
    pid=
    for one in $(pgrep -f "^$program pause"); do
        ! grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$one/environ" || pid=$one
    done
    truth=$(gdb -p "$pid" -batch -ex bt 2>/dev/null |
        sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\?\([A-Za-z_0-9]*\) .*/\2/p' |
        tr '\n' ' ')
    echo "gdb: $truth"
    for function in rest stay main; do
        grep -qw $function <<<"$truth" || fail "gdb has no $function"
        grep -qw $function <<<"$frames" || fail "ck has no $function: $frames"
    done
fi
end pause

begin stop
where stop "rank 1 is stopped"
says stop "rank 1 is stopped, in stay (where.c:$(line 'raise(SIGSTOP)'))"
says stop "$missing"
end stop

begin mismatch
where mismatch "a mismatch"
says mismatch "4 of 4 ranks had waited in MPI_Barrier (where.c:[0-9]*), collective [0-9]* on MPI_COMM_WORLD, but rank 1 is in MPI_Bcast (where.c:$(line 'MPI_Bcast(&value')) in its place: a mismatch"
end mismatch
grep -q "but rank 1 is in MPI_Bcast" "$run/report.txt" ||
    tr '\n' ' ' <"$run/report.txt" | tr -s ' ' |
    grep -q "but rank 1 is in MPI_Bcast" || fail "not in the report"

begin circle
where circle "waited for each other in a circle"
says circle "ranks 0-3 had waited for each other in a circle"
end circle

begin locks
where locks "a deadlock"
says locks "rank 1: thread [0-9]* in take_[a-z]* (where.c:[0-9]*) and thread [0-9]* in take_[a-z]* (where.c:[0-9]*) wait for locks that the other holds: a deadlock"
says locks "take_first (where.c:$(line 'pthread_mutex_lock(&second);'))"
end locks

mkfifo "$work/pipe"
begin read "$work/pipe"
where read "rank 1 waits in read"
says read "rank 1 waits in read of $work/pipe, in load (where.c:$(line 'read(fd'))"
end read

begin row
where row "which rank 1 had not entered"
says row "1 of 2 ranks had waited in MPI_Barrier (where.c:$(line 'MPI_Barrier(row)'))"
says row "rank 1 runs, in spin"
end row

python=/usr/bin/python3
if ! $python -c 'import mpi4py' 2>/dev/null; then
    echo "mpi4py is missing (package python3-mpi4py): no Python loop"
    exit 0
fi
cat >"$work/loop.py" <<'PY'
from mpi4py import MPI
comm = MPI.COMM_WORLD


def wait_for_data():
    total = 0
    while True:
        total += 1


def work():
    wait_for_data()


for _ in range(5):
    comm.allreduce(1)
print("rank %d is there" % comm.rank, flush=True)
if comm.rank == 1:
    work()
comm.Barrier()
PY
begin_program python $python "$work/loop.py"
where python "rank 1 runs, in wait_for_data"
says python "rank 1: <module> (loop.py:19) > work (loop.py:12) > wait_for_data (loop.py:[78])"
says python "3 of 4 ranks had waited in MPI_Barrier (loop.py:20)"
end python
