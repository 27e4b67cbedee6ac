#!/usr/bin/env bash
# places.sh - the first cause of programs of many shapes: rank, thread, line, window
#
# SPDX-License-Identifier: Apache-2.0
#
# Each program (targets/mpi/places.c, places_mpi.py, places_ddp.py, train) has one
# cause that was planted, on a rank that changes from run to run. The first cause
# of the report must be that one: rank, thread where threads differ, function, line
# and steps. places.py judges.
#
# CK_SHAPES: which (all). CK_RUNS (1): how often each. With CK_SERIES=FILE each run
# adds a line to the file, a wrong one does not end the series but is kept beside
# it, runs that the file has are not done again, after CK_SECONDS no run begins,
# and at the end it is added up. CK_LOOPS busy loops run beside it all.
# CK_STORE=FOLDER keeps all runs there; those that it has are not run but merged and
# judged again, as after a change of ckmerge.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
# In a mount namespace of its own, with the kernel's tracepoints in their place:
# where a signal met a thread is known by one.
tracing='[ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing'
if [ -z "${CK_TEST_INNER:-}" ] && unshare -m sh -c "$tracing" 2>/dev/null; then
    trap - EXIT
    rm -rf "$work" "$rings"
    CK_TEST_INNER=1 exec unshare -m sh -c \
        "{ $tracing; } && exec \"\$0\" \"\$@\"" "$0" "$@"
fi
program=$tests/places.openmpi
[ -x "$program" ] || skip "places was not built"
python=/usr/bin/python3
source=$here/../targets/mpi/places.c
shapes=${CK_SHAPES:-team teams convoy faults missing circle endless pipeline window
    files fsync queue waitall crash sparse kernels mpi4py ddp}
loops=()
export OMP_WAIT_POLICY=passive PYTHONWARNINGS=ignore

loops_end() {
    [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
    cleanup
}
trap loops_end EXIT
for ((i = 0; i < ${CK_LOOPS:-0}; i++)); do
    bash -c 'while :; do :; done' &
    loops+=($!)
done

# Is what the shape needs here?
has() {
    case $1 in
    mpi4py) "$python" -c 'import mpi4py' 2>/dev/null ;;
    ddp) [ -d /usr/lib/python3/dist-packages/torch ] ;;
    kernels) [ -x "$tests/train" ] ;;
    crash) [ -r /sys/kernel/tracing/events/signal/signal_deliver/id ] ;;
    esac
}

port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# record NAME RANKS COMMAND...: what hangs is ended as a user ends it.
record() {
    local name=$1 ranks=$2 seconds=60
    shift 2
    case $name in missing* | circle* | endless*) seconds=3 ;; esac
    MASTER_PORT=$(port) OMP_NUM_THREADS=1 timeout -s INT -k 20 $seconds \
        mpirun -n "$ranks" "$bin/ckagent" --report none --no-page \
        --dir "$work/$name" -- "$@" >"$work/$name.out" 2>&1 </dev/null || true
    wait_done "$work/$name"
}

# run NAME RANKS COMMAND...: record, or take what is kept of it, and merge.
run() {
    local name=$1 kept=${CK_STORE:-}/$1
    if [ -n "${CK_STORE:-}" ] && [ -e "$kept" ]; then
        cp -r "$kept" "$work/$name"
    else
        record "$@"
        [ -z "${CK_STORE:-}" ] || { mkdir -p "$CK_STORE" && cp -r "$work/$name" "$kept"; }
    fi
    "$bin/ckmerge" --quiet --no-page --output json="$work/$name/report.json" \
        --output text="$work/$name/report.txt" "$work/$name" ||
        [ $? = 3 ] || fail "ckmerge of $name"
    [ -z "${CK_STORE:-}" ] || cp "$work/$name"/report.* "$kept"
}

# shape NAME SHAPE RANK: run it and judge.
shape() {
    local name=$1 shape=$2 rank=$3 file=$source ranks=3
    rm -rf "${work:?}/$name"
    case $shape in
    team | teams)
        ranks=2
        run "$name" 2 "$program" "$shape" "$rank"
        ;;
    kernels)
        ranks=2 file=$here/../targets/train/device_opencl.c
        run "$name" 2 "$tests/train" --steps 30 --inject "sync:$rank:300"
        ;;
    mpi4py)
        file=$here/places_mpi.py
        run "$name" 3 "$python" "$file" "$rank"
        ;;
    ddp)
        ranks=2 file=$here/places_ddp.py
        run "$name" 2 "$python" "$file" "$rank"
        ;;
    *) run "$name" 3 "$program" "$shape" "$rank" "$work" ;;
    esac
    "$python" "$here/places.py" "$work/$name" "$shape" "$rank" "$ranks" "$file"
}

# Ranks of the smaller jobs are 0 and 1.
rank_of() {
    case $1 in
    team | teams | kernels | ddp) echo $(($2 % 2)) ;;
    *) echo $(($2 % 3)) ;;
    esac
}

# With a series, only what it lacks.
run_once() {
    local name=$1$2 rank line status=0
    rank=$(rank_of "$1" "$2")
    if [ -z "${CK_SERIES:-}" ]; then
        fair shape "$name" "$1" "$rank"
        return
    fi
    [ $SECONDS -lt "${CK_SECONDS:-1000000}" ] || return 0
    ! grep -qs "^$name " "$CK_SERIES" || return 0
    line=$(shape "$name" "$1" "$rank" 2>&1) || status=$?
    [ $status = 0 ] || line="WRONG: $(tail -n 1 <<<"$line")"
    echo "$name ${line##*$'\n'}" | tee -a "$CK_SERIES"
    [ $status = 0 ] || cp -r "$work/$name" "$work/$name.out" \
        "$(dirname "$CK_SERIES")" 2>/dev/null || true
    discard "${work:?}/$name"
}

for run in $(seq "${CK_RUNS:-1}"); do
    for shape in $shapes; do
        if has "$shape"; then
            run_once "$shape" "$run"
        else
            echo "left out: $shape"
        fi
    done
done
[ -n "${CK_SERIES:-}" ] || exit 0
"$python" - "$CK_SERIES" <<'PY'
import collections, re, sys
seen = collections.defaultdict(collections.Counter)
for line in open(sys.argv[1]):
    name, verdict = line.split()[:2]
    seen[re.sub(r"\d+$", "", name)]["right" if verdict == "ok:" else
                                    "RANK" if "RANK" in line else "wrong"] += 1
for shape, counts in seen.items():
    print("%-9s %2d of %2d right%s" % (shape, counts["right"],
          sum(counts.values()), ", a wrong rank: %d" % counts["RANK"]
          if counts["RANK"] else ""))
total = sum(seen.values(), collections.Counter())
print("all: %d of %d right, %d with a wrong rank" % (
    total["right"], sum(total.values()), total["RANK"]))
sys.exit(total["right"] < 0.95 * sum(total.values()) or total["RANK"] > 0)
PY
