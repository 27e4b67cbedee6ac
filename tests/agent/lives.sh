#!/usr/bin/env bash
# lives.sh - whoever is killed, no committed record is lost
#
# SPDX-License-Identifier: Apache-2.0
#
# A program records numbered marks; collector, front, ckagg or the program itself
# is killed by SIGKILL meanwhile. Every number must be in the run.
#     lives.sh BIN TESTS SOURCE
set -euo pipefail
bin=$1 tests=$2 source=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-lives.XXXXXX")
export XDG_RUNTIME_DIR=$work
. "$(dirname "${BASH_SOURCE[0]}")/../discard.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
count=40000

fail() {
    echo "FAILED: $*" >&2
    [ ! -f "$work/err" ] || cat "$work/err" >&2
    exit 1
}

# wait_for WHAT COMMAND...: until the command holds, at most 600 s.
wait_for() {
    local what=$1 i
    shift
    for ((i = 0; i < 12000; i++)); do
        ! "$@" 2>/dev/null || return 0
        read -rt 0.05 <> <(:) || :
    done
    fail "waited 600 s for $what"
}

# Child of $1 that is named $2.
child() {
    local pid
    for pid in $(cat "/proc/$1/task/$1/children"); do
        [ "$(cat "/proc/$pid/comm")" != "$2" ] || echo "$pid"
    done
}
has_child() { [ -n "$(child "$1" "$2")" ]; }
is_gone() { ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"; }
has_data() { [ "$(stat -c %s "$1"/seg-*.ck | sort -n | tail -1)" -gt 4096 ]; }
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
is_done() { grep -q '"state": "done"' "$1/manifest.json"; }

# all_there DIR COUNT: the marks 0..COUNT-1 are in its segments and spools. A
# spool may go meanwhile: all of it is stored then, and was before.
all_there() {
    local file
    for file in "$1"/*.ck; do
        cat "$file" >"$work/copy" 2>/dev/null || continue
        /usr/bin/python3 "$source/tests/schema/reader.py" "$source/schema" \
            "$work/copy"
    done | /usr/bin/python3 -c '
import json, sys
seen = set()
for line in sys.stdin:
    row = json.loads(line)
    if row["e.kind"] == 1:
        seen.add(row["value"])
want = set(range(int(sys.argv[1] or 1 + max(seen))))
if seen != want:
    sys.exit("%d of %d marks" % (len(seen & want), len(want)))
' "${2-}" || fail "$1: marks are missing"
    echo "ok: $1: all ${2-committed} marks"
}

# hold, go: the program that is started next makes the second half of its marks
# behind `go`, however long what comes before takes this machine.
hold() {
    export LIVES_UNTIL=$work/go
    rm -f "$LIVES_UNTIL"
}
go() {
    : >"$LIVES_UNTIL"
    unset LIVES_UNTIL
}

# start NAME OPTION...: the agent in $agent, its run in $work/NAME.
start() {
    local name=$1
    shift
    "$bin/ckagent" --dir "$work/$name" --report later "$@" -- \
        "$tests/lives_target" "$count" 2>"$work/err" &
    agent=$!
    wait_for "the collector" has_child "$agent" ckagent-collect
    collector=$(child "$agent" ckagent-collect)
}

status_is() {
    local status=0
    wait "$agent" || status=$?
    [ "$status" = "$1" ] || fail "status $status, not $1"
}

start collector
wait_for "data" has_data "$work/collector"
kill -9 "$collector"
status_is 3
grep -q 'ended (signal 9 (Killed)); another one goes on' "$work/err" || fail "nothing was said"
wait_for "the end" is_done "$work/collector"
all_there "$work/collector" $count
grep -q 'the collector of rank .* was restarted' "$work/collector/report.txt" ||
    fail "the report does not tell of the restart"

# However often: one that lived is followed at once, of those that die as soon
# as they begin one a second is tried. Nothing is lost.
is_other() {
    local now
    now=$(child "$agent" ckagent-collect)
    [ -n "$now" ] && [ "$now" != "$collector" ] && collector=$now
}
is_reaped() { ! kill -0 "$1"; }
now_us() { us=${EPOCHREALTIME//[^0-9]/}; }
count=100000
now_us
killed=$us
young=0
hold
start often
wait_for "data" has_data "$work/often"
for ((n = 0; n < 5 || (n < 8 && young < 3); n++)); do
    before=$killed
    now_us
    killed=$us
    kill -9 "$collector"
    wait_for "its end to be seen" is_reaped "$collector"
    now_us
    # It began behind the kill before, and its end was seen about now.
    if ((us - before < 500000)); then
        young=$((young + 1))
    elif ((young < 3)); then
        young=0
    fi
    wait_for "another collector" is_other
done
go
status_is 3
if ((young >= 3)); then
    grep -q 'ended again (signal 9 (Killed)): another one is tried each second' \
        "$work/err" || fail "the third death was not said"
else
    echo "left out: the third death in a row; each took this machine a second"
fi
wait_for "the end" is_done "$work/often"
all_there "$work/often" $count
"$bin/ckmerge" --verify "$work/often" || fail "--verify of $work/often"

# Stopped and then killed: the report has how long no collector ran, and
# from when on, in the program's time.
start away
wait_for "data" has_data "$work/away"
kill -STOP "$collector"
wait_for "the collector to stand" is_stopped "$collector"
stopped=$(date +%s%N)
# No event ends this: it is the length of the stop.
read -rt 1.5 <> <(:) || :
killed=$(date +%s%N)
kill -9 "$collector"
status_is 3
wait_for "the end" is_done "$work/away"
/usr/bin/python3 - "$work/away/report.json" "$stopped" "$killed" <<'PY' ||
import json, sys
report = json.load(open(sys.argv[1]))
stopped, killed = map(int, sys.argv[2:])
zero = report["realtime_of_zero_ns"]
# On a busy machine no collector may have run at other times, too.
away, = [a for a in report["trust"]["away"] if a["from_ns"] < killed - zero
         and (a["to_ns"] is None or a["to_ns"] > stopped - zero)]
before = stopped - zero - away["from_ns"]
after = away["to_ns"] - (killed - zero)
late = 700e6  # a look or a start on a busy machine
print("ok: away", away["ns"], "ns, wider by", before, "and", after)
sys.exit(not (away["rank"] == 0 and 0 <= before < late and 0 <= after < late
              and away["ns"] == away["to_ns"] - away["from_ns"]))
PY
    fail "the time without a collector is not told"
grep -q 'the program: no collector ran for .* s, from .* on$' "$work/away/report.txt" ||
    fail "the report does not tell of the time without a collector"

# Stopped for good, with more messages for it than the channel has room for: the
# front does not wait, and wakes it at the program's end.
count=20000
start halted
wait_for "data" has_data "$work/halted"
kill -STOP "$collector"
wait_for "the collector to stop" is_stopped "$collector"
for ((n = 0; n < 3000; n++)); do
    kill -CONT "$agent"
done
status_is 3
wait_for "the end" is_done "$work/halted"
# It was silent long enough for ckagg to do without it, if the machine is slow.
wait_for "the collector's end" is_gone "$collector"
all_there "$work/halted" $count
count=40000

# What is sent to the front is meant for the program, SIGKILL too: it ends at
# once, and all marks up to the last one are there.
start front
wait_for "data" has_data "$work/front"
target=$(child "$agent" lives_target)
kill -9 "$agent"
status_is 137
wait_for "the program's end" is_gone "$target"
wait_for "the end" is_done "$work/front"
all_there "$work/front"

start ckagg
wait_for "data" has_data "$work/ckagg"
kill -9 "$(child "$collector" ckagg)"
status_is 3
wait_for "the end" is_done "$work/ckagg"
all_there "$work/ckagg" $count
grep -q 'ended in the middle of the job; rank 0 started another' \
    "$work/ckagg/report.txt" || fail "the report does not tell of the restart"
grep -q 'goes on with the run in' "$work/ckagg/ckagg.log" ||
    fail "the log does not tell of the restart"

# One that is stopped and comes back while it is waited for: what it had not
# acknowledged comes again, and is stored once.
is_waited_for() { grep -q 'waiting for the aggregator' "$work/err"; }
hold
start stopped
wait_for "data" has_data "$work/stopped"
ckagg=$(child "$collector" ckagg)
kill -STOP "$ckagg"
wait_for "ckagg to stop" is_stopped "$ckagg"
go
wait_for "the collector to wait for ckagg" is_waited_for
kill -CONT "$ckagg"
status_is 3
wait_for "the end" is_done "$work/stopped"
all_there "$work/stopped" $count

# One that comes back too late: the collector has given up, woken it and ended,
# what it had not acknowledged is in the spool, and ckmerge makes the report. The
# one that gives up need not be the one that started ckagg.
hold
start late
wait_for "data" has_data "$work/late"
ckagg=$(child "$collector" ckagg)
kill -9 "$collector"
wait_for "another collector" is_other
kill -STOP "$ckagg"
wait_for "ckagg to stop" is_stopped "$ckagg"
go
status_is 3
grep -q "did not answer; the data is kept in $work/late, and the report made" \
    "$work/err" || fail "the place of the data was not said"
wait_for "the collector's end" is_gone "$collector"
wait_for "ckagg's end" is_gone "$ckagg"
all_there "$work/late" $count
"$bin/ckmerge" "$work/late" >"$work/report" 2>"$work/err" ||
    fail "ckmerge of $work/late"

# No aggregator to send to: the spool has it all.
start spool --aggregator "ipc://$work/nobody"
status_is 3
wait_for "the collector's end" is_gone "$collector"
all_there "$work/spool" $count
grep -q "the data is kept in $work/spool" "$work/err" || fail "the spool's place was not said"

# A spool limit too small is a loss, and the program is not kept waiting.
start small --aggregator "ipc://$work/nobody" --spool-limit 16K \
    --ring-bytes 600K
status_is 3
wait_for "the collector's end" is_gone "$collector"
grep -q 'records were lost' "$work/err" || fail "the loss was not said"
[ "$(stat -c %s "$work"/small/spool-*.ck)" -le 16384 ] ||
    fail "the spool is larger than its limit"
/usr/bin/python3 "$source/tests/schema/reader.py" "$source/schema" \
    "$work"/small/spool-*.ck >"$work/rows"
grep -q '"e.kind":113,' "$work/rows" || fail "the loss was not recorded"
echo "ok: $work/small: the loss is counted and said"

# The program kills itself: what it had committed is there, so is its end.
status=0
"$bin/ckagent" --dir "$work/target" --report none -- \
    "$tests/lives_target" 5000 kill 2>"$work/err" || status=$?
[ "$status" = 137 ] || fail "status $status of a killed program"
wait_for "the end" is_done "$work/target"
all_there "$work/target" 5000

# Front, collector and ckagg are killed, the program too: its ring file is all
# that is left. The next ckmerge moves it to the run and reads it.
# lose NAME: a run whose rest is in the ring file.
lose() {
    local target ckagg
    start "$1"
    wait_for "data" has_data "$work/$1"
    target=$(child "$agent" lives_target)
    ckagg=$(child "$collector" ckagg)
    kill -STOP "$collector"
    wait_for "records in the ring" is_stopped "$collector"
    # Whose front is gone first kills the program; a front that runs starts
    # another collector.
    kill -STOP "$agent"
    wait_for "the front to stop" is_stopped "$agent"
    kill -9 "$collector" "$ckagg" "$agent"
    wait_for "the program's end" is_gone "$target"
}

# recovered NAME WHO...: WHO finds the ring file that is left of the run NAME. Any
# agent of the machine may have been faster: then once more.
recovered() {
    local name=$1 try
    shift
    for try in 1 2 3; do
        discard "${work:?}/$name"
        lose "$name"
        "$@" >"$work/report" 2>"$work/err" || true
        if grep -q 'that a killed agent' "$work/err"; then
            all_there "$work/$name" $count
            return
        fi
    done
    fail "$name: the recovery was not said"
}
recovered nobody "$bin/ckmerge" "$work/nobody"
grep -q 'recovered from its ring$' "$work/report" ||
    fail "the report does not mention the recovery"
grep -q 'the program: no collector ran from .* on, to its end$' "$work/report" ||
    fail "the report does not tell since when there was no collector"

# So does ckagent --clean, and the next agent.
recovered cleaned "$bin/ckagent" --clean --dir "$work/cleaned"
recovered next "$bin/ckagent" --report none --dir "$work/other" -- true
