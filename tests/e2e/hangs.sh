#!/usr/bin/env bash
# hangs.sh - of jobs that a user ends the report finds the one that hung
#
# SPDX-License-Identifier: Apache-2.0
#
# Real jobs, real signals to mpirun. Each job works for some time, so that it is
# known what is usual; then its ranks stay in a circle of receives, before a
# barrier or MPI_Finalize to which one does not come, or go on healthily. What
# waits is measured from when all ranks printed that they are there.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need pgrep procps
[ -x "$tests/hang.openmpi" ] || skip "hang was not built"
ranks=3

# A shell starts what is behind "&" with SIGINT ignored, and timeout (coreutils 9.8)
# passes on no signal that it ignores.
limited=(env --default-signal=INT timeout -k 5 60)

now() {
    date +%s%N
}

# job SHAPE SIGNAL SECONDS: run it and end it so long after it hangs.
job() {
    rm -rf "$run" "$run.out"
    "${limited[@]}" mpirun -n $ranks "$bin/ckagent" --dir "$run" -- \
        "$tests/hang.openmpi" "$1" >"$run.out" 2>"$run.err" </dev/null &
    local launcher=$! _ begin
    for _ in $(seq 400); do
        [ "$(grep -c 'is there$' "$run.out")" != $ranks ] || break
        sleep 0.05
    done
    begin=$(now)
    sleep "$3"
    if [ "$1" = healthy ]; then
        "$bin/ckmerge" --quiet --output text="$run.live" "$run" || true
    fi
    waited=$((($(now) - begin) / 1000000)) # at least, in ms
    if [ "$2" = KILL ]; then # timeout cannot hand that on
        kill -KILL "$(pgrep -P $launcher)"
    else
        kill "-$2" $launcher
    fi
    wait $launcher && fail "mpirun said nothing of the signal"
    cp "$run.err" "$run.prompt"
    for _ in $(seq 300); do
        [ ! -s "$run/report.json" ] || ! grep -q '"state": "done"' \
            "$run/manifest.json" || break
        sleep 0.1
    done
    most=$((($(now) - begin) / 1000000)) # and at most
}

# plain SIGNAL: a job of scripts without ck is ended by it. What they print behind
# it is in $work/plain.err, and below $work/noticed which got a signal before they ended.
plain() {
    local out=$work/plain _ launcher
    rm -rf "$work/noticed"
    mkdir "$work/noticed"
    "${limited[@]}" mpirun -n 2 sh -c 'trap "echo noticed >&2; : >$0/$$; exit 1" TERM
        echo "is there"; while :; do sleep 0.05; done' "$work/noticed" \
        >"$out" 2>"$out.err" </dev/null &
    launcher=$!
    for _ in $(seq 400); do
        [ "$(grep -c 'is there$' "$out")" != 2 ] || break
        sleep 0.05
    done
    kill "-$1" $launcher
    wait $launcher && fail "mpirun said nothing of the signal"
    return 0
}

# Does mpirun hand on what a rank prints behind the signal?
hands_on() {
    plain "$1"
    grep -q noticed "$work/plain.err" && return
    echo "mpirun hands nothing on that ranks print behind SIG$1"
    return 1
}

# Do ranks get a signal before mpirun kills them? Not of Open MPI 6.0 rc2.
warns() {
    plain "$1"
    [ -z "$(ls "$work/noticed")" ] || return 0
    echo "mpirun kills ranks at once at SIG$1"
    return 1
}

# Do ranks end whose mpirun is killed, without ck? They do below Open MPI 4;
# Open MPI 5, whose mpirun is prterun, leaves one that is not in MPI alone.
ends_ranks() {
    local out=$work/orphans ranks_of="^$tests/hang.openmpi absent\$" _ launcher
    command -v prterun >/dev/null || return 0
    timeout -k 5 60 mpirun -n $ranks "$tests/hang.openmpi" absent \
        >"$out" 2>&1 </dev/null &
    launcher=$!
    for _ in $(seq 400); do
        [ "$(grep -c 'is there$' "$out")" != $ranks ] || break
        sleep 0.05
    done
    kill -KILL "$(pgrep -P $launcher)"
    wait $launcher && fail "mpirun said nothing of the signal"
    for _ in $(seq 60); do
        pgrep -f "$ranks_of" >/dev/null || return 0
        sleep 0.05
    done
    # shellcheck disable=SC2046 # one word a process
    kill -KILL $(pgrep -f "$ranks_of")
    return 1
}

# hang SHAPE SIGNAL SECONDS: the same. Where mpirun is gone first, Open MPI ends
# the ranks before its signal does.
hang() {
    local _
    run=$work/$1.$2
    job "$@"
    head -n 12 "$run/report.txt"
    # The last collector has ended, so nothing more comes.
    for _ in $(seq 100); do
        pgrep -f "ckagent --dir $run " >/dev/null || break
        sleep 0.1
    done
    ! tail -c +$(($(wc -c <"$run.prompt") + 1)) "$run.err" | grep -q "^ck  hang" ||
        fail "the report was printed behind the prompt"
}

# In a call for what the shape is about: sums of its ranks' time.
check() {
    same "$1" True "$(json "$run/report.json" "($2)")"
}

circle() {
    hang circle INT 1.2
    check "each waited for the next one, as long as it hung" \
        "sorted((w['rank'], w['last_rank']) for w in j['waits']
            if w['ns'] > $waited * 1e6) == [(0, 1), (1, 2), (2, 0)]"
    check "each is to blame for the one before" \
        "all(s['caused_ns'] > $waited * 1e6 for s in j['stragglers']) and
         len(j['stragglers']) == 3"
    check "how long each was in its call" \
        "all($waited * 1e6 <= r['open_call']['ns'] <= ($most + 1000) * 1e6
             for r in j['ranks'])"
    check "the rest is lost to ranks that wait for each other" \
        "j['efficiency']['parallel'] < 0.5 and
         j['efficiency']['serialisation'] < 0.5"
    grep -q "^   ranks 0-2 had waited for each other in a circle for " \
        "$run/report.txt" || fail "no circle"
    ! grep -q "deadlock\|hung" "$run/report.txt" ||
        fail "that is claimed from 30 s on"
    grep -q "^ When it was interrupted:" "$run/report.txt" || ! warns INT ||
        fail "not a word of the interruption"
    # A mpirun that is gone hands nothing on, and some do not once they got a signal.
    grep -q "lost its mpirun" "$run/report.txt" ||
        grep -q "the report of what was recorded will be in $run/report.txt" \
            "$run.err" || ! hands_on INT ||
        fail "nobody said where the report will be"
}

# absent SIGNAL SECONDS
absent() {
    hang absent "$1" "$2"
    check "two waited for rank 1 before the barrier" \
        "[(w['wait'], w['ranks'], w['blamed_rank']) for w in j['waits']
          if w['ns'] > 2 * $waited * 1e6] == [('wait_at_barrier', 2, 1)]"
    check "who never came" "[(i['call'], i['waited'], i['absent'])
        for i in j['impasses']] == [('MPI_Barrier', [0, 2], [1])]"
    tr '\n' ' ' <"$run/report.txt" | tr -s ' ' | grep -q \
        "2 of 3 ranks had waited in MPI_Barrier (hang.c:[0-9]*), collective 21 on MPI_COMM_WORLD, which rank 1 had not entered, for [0-9.]* s" ||
        fail "no sentence"
}

absent_killed() {
    if ! ends_ranks; then
        echo "ranks of a killed mpirun go on, without ck too: that job has no end"
        return
    fi
    absent KILL 0.6
    grep -q "rank 1 lost its mpirun" "$run/report.txt" ||
        fail "who ended the ranks is not in the report"
}

final() {
    hang final INT 1.2
    check "two waited for rank 1 in MPI_Finalize" \
        "[(w['wait'], w['ranks'], w['blamed_rank']) for w in j['waits']
          if w['ns'] > 2 * $waited * 1e6] == [('wait_at_finalize', 2, 1)]"
    check "the region goes on to the end" "j['region']['ns'] > $waited * 1e6"
    # Open MPI may end rank 1 first, and let the others through.
    grep -q "rank 1 lost its mpirun" "$run/report.txt" ||
        tr '\n' ' ' <"$run/report.txt" | tr -s ' ' | grep -q \
        "2 of 3 ranks had waited in MPI_Finalize (hang.c:[0-9]*), which rank 1 had not entered, for [0-9.]* s" ||
        fail "no sentence"
}

healthy() {
    hang healthy INT 0.7
    ! grep -q "deadlock\|circle\|hung" "$run/report.txt" ||
        fail "a healthy job reads like a deadlock"
    ! grep -q "had waited" "$run/report.txt" ||
        grep -q "No sign of a hang" "$run/report.txt" ||
        fail "no word of what is usual"
    ! grep -q "had waited" "$run/report.txt" ||
        grep -q "[a-z]\. No sign of a hang" "$run/report.html" ||
        fail "sentences run together in the page"
    grep -q "rank 0 was still running" "$run.live" ||
        fail "a report of a running job does not say so"
}

once circle
once absent TERM 1.2
once absent_killed
once final
once healthy
