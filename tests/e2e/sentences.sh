#!/usr/bin/env bash
# sentences.sh - the first sentences of reports, against what the ranks noted
#
# SPDX-License-Identifier: Apache-2.0
#
# Short programs of known shapes (targets/mpi/diary.c, crew.c) write a diary
# of all that they do into a mapped file. From it follow all figures that the
# first sentences of the report have, and those about the first late rank, however
# little CPU the ranks get: nothing here depends on how much of it others take
# (sentences.py). All is bound to two CPUs.
#
#     sentences.sh [CASE...]
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need taskset util-linux
need pgrep procps
program=$tests/diary.openmpi
[ -x "$program" ] || skip "diary was not built"
read -ra cpus <<<"$(/usr/bin/python3 -c \
    'import os; print(*sorted(os.sched_getaffinity(0))[:2])')"
[ ${#cpus[@]} = 2 ] || skip "this needs two CPUs"
both=${cpus[0]},${cpus[1]}
loops=()

loops_end() {
    [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
    wait "${loops[@]}" 2>/dev/null || true
    loops=()
}
trap 'loops_end; cleanup' EXIT

loops_begin() {
    local cpu
    # A case that fails in a shell of its own ends them, too.
    [ $BASH_SUBSHELL = 0 ] || trap loops_end EXIT
    for cpu in "${cpus[@]}"; do
        taskset -c "$cpu" sh -c 'while :; do :; done' &
        loops+=($!)
    done
}

raw_now() {
    /usr/bin/python3 -c \
        'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))'
}

# job NAME SHAPE RANKS CPU...: it ends by itself.
job() {
    local name=$1 shape=$2 ranks=$3 list
    shift 3
    list=$(tr ' ' , <<<"$*")
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/notes"
    taskset -c "$list" timeout 60 mpirun --bind-to none -n "$ranks" \
        "$bin/ckagent" --report none --dir "$work/$name/run" -- \
        "$program" "$shape" "$work/$name/notes" >"$work/$name/out" \
        2>"$work/$name/err" </dev/null ||
        { cat "$work/$name/err"; fail "mpirun"; }
    printf '{"cpus": %d}' $# >"$work/$name/context"
    wait_done "$work/$name/run"
}

judge() {
    /usr/bin/python3 "$here/sentences.py" "$1" "$work/$1/run" \
        "$work/$1/notes" "$work/$1/context" && return
    sed -n '1,/^ TRUST/p' "$work/$1/run/report.txt"
    fail "a sentence about $1"
}

# shape NAME RANKS
shape() {
    job "$1" "$1" "$2" "${cpus[@]}"
    judge "$1"
}

others() {
    loops_begin
    job others spin 2 "${cpus[@]}"
    loops_end
    judge others
}

own() {
    job own spin 3 "${cpus[0]}"
    judge own
}

# alive NAME: how many ranks.
alive() {
    pgrep -cf "^$program $1 $work/$1/notes" || :
}

# ended_at NAME: when all ranks were there last, and when none was.
ended_at() {
    local began here_last
    here_last=$(raw_now)
    for _ in $(seq 400); do
        began=$(raw_now)
        case $(alive "$1") in
            3) here_last=$began ;;
            0) break ;;
        esac
        sleep 0.01
    done
    echo "$here_last, $(raw_now)"
}

# ended SHAPE SECONDS: interrupted so long after all ranks are there.
ended() {
    local name=$1 launcher _
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/notes"
    taskset -c "$both" timeout -k 5 60 mpirun --bind-to none -n 3 \
        "$bin/ckagent" --dir "$work/$name/run" -- "$program" "$name" \
        "$work/$name/notes" >"$work/$name/out" 2>"$work/$name/err" \
        </dev/null &
    launcher=$!
    for _ in $(seq 400); do
        [ "$(grep -c 'is there$' "$work/$name/out")" != 3 ] || break
        sleep 0.05
    done
    sleep "$2"
    kill -INT $launcher
    printf '{"cpus": 2, "ended": [%s]}' "$(ended_at "$name")" \
        >"$work/$name/context"
    wait $launcher && fail "mpirun said nothing of the signal"
    for _ in $(seq 300); do
        [ ! -s "$work/$name/run/report.json" ] || ! grep -q \
            '"state": "done"' "$work/$name/run/manifest.json" || break
        sleep 0.1
    done
    judge "$name"
}

# Ranks below one ckagent that wait on sockets for each other: each one's cause is
# its own.
crew() {
    [ -x "$work/late" ] || gcc -g -O1 -fno-inline -fno-omit-frame-pointer \
        -fno-optimize-sibling-calls "$here/crew.c" -o "$work/late"
    rm -rf "${work:?}/crew"
    mkdir -p "$work/crew/notes"
    began=$(raw_now)
    taskset -c "$both" timeout 60 "$bin/ckagent" --report none --dir \
        "$work/crew/run" -- "$work/late" "$work/crew/notes"
    wait_done "$work/crew/run"
    /usr/bin/python3 "$here/crew.py" "$work/crew/run" \
        "$work/crew/notes" "$(($(raw_now) - began))" && return
    sed -n '1,/^ TRUST/p' "$work/crew/run/report.txt"
    fail "a sentence about crew"
}

cases=("$@")
[ $# != 0 ] || cases=(crew "shape uneven 3" "shape turns 3" others own
    "shape parts 2" "shape before 2" "shape several 2" "shape setup 2" "shape rows 3"
    "shape window 2" "ended circle 1.2" "ended healthy 0.6")
for case in "${cases[@]}"; do
    # shellcheck disable=SC2086 # a function and its words
    fair $case
done
