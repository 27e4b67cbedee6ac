#!/usr/bin/env bash
# dead_rank.sh - the rank that dies takes nothing with it: the report of all
# ranks names it, its last call, and the collective that the others wait for
#
# SPDX-License-Identifier: Apache-2.0
#
# Rank 2 computes for 2 s of CPU time before each MPI_Allreduce and is
# killed with signal 9 in that time, when the others had the CPU time to come
# there, CK_COUNT times (2); then it crashes of itself, once it has made its
# first steps. mpirun ends the others.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need pgrep procps
[ -x "$tests/train" ] || skip "train was not built"
count=${CK_COUNT:-2}

# Process of a rank's program in this test.
program_of() {
    local pid lines
    for pid in $(pgrep -x train || true); do
        lines=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ") 2>/dev/null ||
            continue
        if grep -qx "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" <<<"$lines" &&
            grep -qx "OMPI_COMM_WORLD_RANK=$1" <<<"$lines"; then
            echo "$pid"
            return
        fi
    done
}

start() {
    timeout -k 5 600 mpirun -n 4 "$bin/ckagent" --dir "$1" -- "$tests/train" \
        --steps 1000 "${@:2}" >"$1.out" 2>"$1.err" </dev/null &
    launcher=$!
}

# The launcher fails, as it does without ck; the report comes in any case.
finish() {
    local rc=0 _
    wait $launcher || rc=$?
    [ $rc -ne 0 ] || fail "mpirun said nothing of the death"
    for _ in $(seq 3000); do
        if [ -s "$1/report.json" ] &&
            ! grep -q '"state": "running"' "$1/manifest.json"; then
            return
        fi
        sleep 0.1
    done
    cat "$1.err" "$1/ckagg.log"
    ls -l "$1"
    grep state "$1/manifest.json"
    fail "no report in $1 after 30 s"
}

# Collectives on MPI_COMM_WORLD that rank 2 was through, from the trace.
left_by_rank_2() {
    "$bin/ckmerge" --quiet --output chrome="$1.trace" "$1"
    /usr/bin/python3 - "$1.trace" <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
pids = sorted({e["pid"] for e in events if e.get("name") == "MPI_Init"})
print(sum(e.get("ph") == "X" and e["pid"] == pids[2] and
          e["name"] in ("MPI_Allreduce", "MPI_Comm_split_type")
          for e in events))
PY
}

# check DIR SIGNAL: what every such report has.
check() {
    local json=$1/report.json head
    sed -n '2,4p' "$1/report.txt"
    same "ranks in the report" 4 "$(json "$json" "j['ranks_present']")"
    same "ends that nobody knows" "[]" \
        "$(json "$json" "[r['rank'] for r in j['ranks']
            if r['end'] not in ('signal', 'killed')]")"
    same "how rank 2 ended" "('signal', $2)" \
        "$(json "$json" "(j['ranks'][2]['end'], j['ranks'][2]['code'])")"
    same "the first to end" 2 \
        "$(json "$json" "min(j['ranks'], key=lambda r: r['end_time_ns'])['rank']")"
    same "who waited in what for whom" \
        "('MPI_Allreduce', 'train.c', 'MPI_COMM_WORLD', 4, [0, 1, 3], [], [2], True)" \
        "$(json "$json" "[(s['call'], s['file'].split('/')[-1], s['comm'],
            s['comm_size'], s['waited'], s['died'], s['absent'], s['sure'])
            for s in j['impasses']][0]")"
    same "its number" "$(($(left_by_rank_2 "$1") + 1))" \
        "$(json "$json" "j['impasses'][0]['number']")"
    head=$(sed -n 2p "$1/report.txt")
    [[ $head == " rank 2 died of signal $2 "* ]] || fail "first: $head"
    same "its last call is one of a device" True "$(json "$json" \
        "j['ranks'][2]['last_call']['name'].startswith('cl')")"
    # Where the kernel's tracepoints may be used, a crash has its own place.
    sed -n 3p "$1/report.txt" |
        grep -qE '^   its last call was cl|^   in ill_crash \(ill\.c:' ||
        fail "no last call"
    grep -q "the report of what was recorded will be in $1/report.txt" \
        "$1.err" || fail "nobody said where the report will be"
    tr '\n' ' ' <"$1/report.txt" | tr -s ' ' | grep -q \
        "3 of 4 ranks waited in MPI_Allreduce (train.c:[0-9]*), collective [0-9]* on MPI_COMM_WORLD, which rank 2 never entered" ||
        fail "no sentence"
}

# Ticks of CPU time that the process had.
ticks_of() {
    local words
    words=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return
    read -ra words <<<"$words"
    echo $((words[11] + words[12]))
}

# Each other rank had 0.4 s of CPU time since it was called: many times a step
# of its own, so that it waits for rank 2, spinning.
others_wait() {
    local rank pid begin
    for rank in 0 1 3; do
        pid=$(program_of $rank)
        begin=$(ticks_of "$pid")
        for _ in $(seq 6000); do
            [ $(($(ticks_of "$pid") - begin)) -lt 40 ] || break
            sleep 0.02
        done
    done
}

for i in $(seq "$count"); do
    run=$work/kill.$i
    start "$run" --inject late:2:2000
    # Past its first step: within the run.
    for _ in $(seq 6000); do
        pid=$(program_of 2)
        [ -z "$pid" ] || [ ! -s "$run.out" ] || break
        sleep 0.05
    done
    [ -n "$pid" ] || fail "no rank 2"
    others_wait
    sleep "0.$((i * 37 % 100 + 100))"
    kill -9 "$pid"
    finish "$run"
    check "$run" 9
done
run=$work/crash
start "$run" --inject crash:2:5
finish "$run"
check "$run" 11

# The same with messages: ranks 0 and 2 wait for one of rank 1, which dies.
message() {
    run=$work/message
    rm -rf "$run"
    timeout -k 5 600 mpirun -n 3 "$bin/ckagent" --dir "$run" -- \
        "$tests/ends.openmpi" kill >"$run.out" 2>"$run.err" </dev/null &
    launcher=$!
    finish "$run"
    sed -n '2,5p' "$run/report.txt"
    same "who waited for whose message" \
        "[('MPI_Recv', 'ends.c', 'MPI_COMM_WORLD', 77, 1, True, [0, 2])]" \
        "$(json "$run/report.json" "[(a['call'], a['file'].split('/')[-1],
            a['comm'], a['tag'], a['peer'], a['peer_died'], a['waited'])
            for a in j['awaited']]")"
    tr '\n' ' ' <"$run/report.txt" | tr -s ' ' | grep -q \
        "ranks 0 and 2 waited in MPI_Recv (ends.c:[0-9]*) for rank 1, tag 77 on MPI_COMM_WORLD" ||
        fail "no sentence on the message"
}

# Each waits for the next one: stopped from outside, the circle is reported.
circle() {
    run=$work/circle
    rm -rf "$run" "$run.out"
    timeout -k 5 600 mpirun -n 3 "$bin/ckagent" --dir "$run" -- \
        "$tests/ends.openmpi" circle >"$run.out" 2>"$run.err" </dev/null &
    launcher=$!
    for _ in $(seq 6000); do
        [ "$(grep -c 'is in$' "$run.out")" != 3 ] || break
        sleep 0.05
    done
    read -rt 0.3 <> <(:) || : # from there into MPI_Recv
    kill -TERM $launcher      # by timeout to mpirun
    finish "$run"
    same "who waited for whom in the circle" "[([0], 1), ([1], 2), ([2], 0)]" \
        "$(json "$run/report.json" \
            "sorted((a['waited'], a['peer']) for a in j['awaited'])")"
    grep -q "ranks .* waited for each other in a circle" "$run/report.txt" ||
        fail "no word of the circle"
}

if [ -x "$tests/ends.openmpi" ]; then
    fair message
    fair circle
fi
