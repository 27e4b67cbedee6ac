#!/usr/bin/env bash
# trouble.sh - what goes wrong is logged in one line, and costs no program
#
# SPDX-License-Identifier: Apache-2.0
#
#     trouble.sh BIN
set -euo pipefail
bin=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-trouble.XXXXXX")
export XDG_RUNTIME_DIR=$work TMPDIR=$work/tmp
mkdir "$TMPDIR"
unset CKAGENT_DIR CKAGENT_OPTIONS CKAGENT_AGGREGATOR
. "$(dirname "${BASH_SOURCE[0]}")/../discard.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
cd "$work"
nobody=ipc://$work/nobody

fail() {
    echo "FAILED: $*" >&2
    head -50 out err report >&2 2>/dev/null || :
    exit 1
}

# runs STATUS OPTION...: ckagent ends with this status; out and err are kept.
runs() {
    local want=$1 status=0
    shift
    timeout 300 "$bin/ckagent" "$@" >out 2>err || status=$?
    [ "$status" = "$want" ] || fail "status $status, not $want: $*"
}
says() { grep -qe "$1" err || fail "not said: $1"; }
says_not() { ! grep -qe "$1" err || fail "said: $1"; }
# Rings that another test's killed agent left are logged too, and a busy machine's
# ckagg may answer late.
lines() {
    [ "$(grep -vc -e 'records that a killed agent' -e ' waiting for the aggreg' \
        -e ' no response from the aggreg' err)" = "$1" ] ||
        fail "not $1 lines"
}
no_trace() {
    local path
    for path in "$@"; do
        [ ! -e "$path" ] || fail "$path was left"
    done
}
sums() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }

# wait_for WHAT COMMAND...: until the command holds, at most 300 s.
wait_for() {
    local what=$1 i
    shift
    for ((i = 0; i < 6000; i++)); do
        ! "$@" 2>/dev/null || return 0
        read -rt 0.05 <> <(:) || :
    done
    fail "waited 300 s for $what"
}
is_gone() { ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"; }
no_meeting_point() { [ -z "$(ls "$work/ck")" ]; }
is_done() { grep -q '"state": "done"' "$1/manifest.json"; }

# The run of another job stays as it is.
runs 0 --dir first --report later -- true
says 'the run is in .*/first'
says_not 'TRUST'
wait_for "the first run" is_done first
# Its ckagg writes the report behind that.
wait_for "the end of its ckagg" no_meeting_point
sums first >before
runs 0 --dir first --report later -- true
says 'first holds the run of another job'
says 'this run goes to .*/first.2'
wait_for "the second run" is_done first.2
runs 125 --dir first --strict -- sh -c 'echo ran'
says 'another job.*--strict: the program was not started'
[ ! -s out ] || fail "the program ran"
sums first | diff before - || fail "the first run was touched"
no_trace first.3
# So does ckagg itself, also without a key of its own.
for job in "--job other" ""; do
    # shellcheck disable=SC2086
    ! timeout 100 "$bin/ckagg" --embedded --dir first $job \
        --listen "ipc://$work/s" >out 2>err || fail "ckagg took the directory"
    grep -q '^ckagg failed .*first holds' out || fail "no reason on stdout"
done
sums first | diff before - || fail "ckagg touched the first run"
echo "ok: a directory that holds another job's run"

# A directory that cannot be: the reason, and where the data is instead.
: >file
runs 0 --dir file/run -- sh -c 'echo ran'
grep -q ran out || fail "the program did not run"
says 'cannot create run directory .*file/run: Not a directory'
kept=$(sed -n 's/.*ckmerge \(.*\)$/\1/p' err)
lines 1
"$bin/ckmerge" "$kept" >report 2>&1 || fail "no report from $kept"
runs 125 --dir file/run --strict -- sh -c 'echo ran'
[ ! -s out ] || fail "the program ran"
says 'Not a directory (--strict: the program was not started)'
lines 1
echo "ok: a run directory that cannot be made"

# No answer: logged, bounded, the data is kept, the command is given.
start=$SECONDS
runs 0 --dir alone --aggregator "$nobody" -- true
((SECONDS - start <= 20)) || fail "it took $((SECONDS - start)) s"
says "waiting for the aggregator ($nobody), [1-5] s at most"
says "did not answer; the data is kept in .*: ckmerge $work/alone"
"$bin/ckmerge" "$work/alone" >report 2>&1 || fail "no report"
tr -s ' \n' ' ' <report | grep -q 'did not answer' ||
    fail "the report does not say it"
runs 0 --dir alone2 --aggregator "$nobody" -- sleep 2.5
says "no response from the aggregator ($nobody) for 2 s; .* ckmerge"
runs 125 --dir alone3 --strict --aggregator "$nobody" -- sh -c 'echo ran'
[ ! -s out ] || fail "the program ran"
says "no answer from the aggregator at $nobody in 10 s (--strict"
lines 1
no_trace alone3
runs 0 --strict --dir strict --report none -- sh -c 'echo ran'
grep -q ran out || fail "--strict kept a program that can be recorded"
echo "ok: an aggregator that does not answer"

# Keys that one side has and the other has not: both report it, with the fix.
# ckagg prints the endpoint and nothing else.
mkdir keyed keyless
"$bin/ckagg" --no-merge --listen tcp://0.0.0.0:0 --dir keyed >line 2>log &
keyed=$!
"$bin/ckagg" --no-merge --listen tcp://127.0.0.1:0 --dir keyless >line2 2>log2 &
keyless=$!
wait_for "two ckagg" test -s line -a -s line2
grep -qx 'tcp://[^ ]*:[0-9]* curve=[^ ]* token=[0-9a-f]*' line ||
    fail "not an endpoint: $(cat line)"
grep -qx 'tcp://127.0.0.1:[0-9]*' line2 || fail "not an endpoint: $(cat line2)"
url=tcp://127.0.0.1:$(sed 's/ .*//; s/.*://' line)
runs 0 --dir unkeyed --aggregator "$url" -- sh -c 'echo ran'
grep -qx ran out || fail "the program did not run"
says "aggregator ($url) refuses: it wants keys; give the whole line that ckagg"
refused() {
    wait_for "ckagg's report" grep -q "$1" "$2"
}
refused 'warn: a peer without keys, or with other keys, was refused: give' \
    log
keys=$(sed 's/[^ ]* //' line)
runs 0 --dir unkeyed2 --aggregator "$(cat line2) $keys" -- true
says 'refuses: it has no keys; leave curve= and token= out'
refused 'warn: a peer with keys was refused' log2
runs 0 --dir unkeyed3 --report none --aggregator "$(cat line)" -- true
lines 0
is_stored() { ls keyed/*/seg-*.ck; }
wait_for "the run, with the line as it was printed" is_stored >/dev/null
kill $keyed $keyless
wait $keyed $keyless || :
echo "ok: missing keys"

# A link or a pipe in the place of ckagg's log is neither followed nor waited for.
mkdir linked piped
echo kept >other
ln -s "$work/other" linked/ckagg.log
mkfifo piped/ckagg.log
for dir in linked piped; do
    ! timeout 100 "$bin/ckagg" --embedded --listen "ipc://$work/$dir.sock" \
        --dir $dir >line3 2>log3 || fail "ckagg serves without a log"
    grep -q 'error: .*/ckagg.log' log3 || fail "it reported: $(cat log3)"
done
[ "$(cat other)" = kept ] || fail "ckagg wrote through a link"
echo "ok: the place of the log"

# Recording memory that is not as large as asked for: what is used instead.
runs 0 --dir sizes --report none --slot-bytes 1.5M --ring-bytes 1000G -- true
says 'warn: --slot-bytes: 1 MiB is used in place of 1.5 MiB: a power of two'
says '; --ring-bytes: .* is used in place of 1000 GiB: '
lines 1
runs 0 --dir sizes2 --report none --slot-bytes 64K -- true
lines 0
runs 0 --dir sizes3 --report none --ring-bytes 4M -- true
lines 0
echo "ok: sizes of the recording memory"

# The meeting point is open to others: the agents meet elsewhere.
mkdir -m 0777 open open/ck
chmod 0777 open/ck
XDG_RUNTIME_DIR=$work/open runs 0 --dir meet --report none -- true
says '/ck is open to others (mode 0777): the agents of this user meet in /tmp/'
lines 1
wait_for "the run of a job that met elsewhere" is_done meet
[ -z "$(ls open/ck)" ] || fail "something was made in an open directory"
echo "ok: another place to meet"

# What was never run leaves nothing behind.
runs 127 --dir never -- "$work/no-such-program"
says "cannot run '.*no-such-program': No such file"
runs 126 --dir never -- "$work/file"
printf '#!%s/no-such-shell\n' "$work" >script
chmod +x script
runs 127 --dir never -- ./script
runs 127 --dir never --strict -- "$work/no-such-program"
lines 1
wait_for "the end of all meeting points" no_meeting_point
no_trace never
echo "ok: a program that cannot be run"

# Interrupted, then killed with its agent: all is there, and it is reported.
"$bin/ckagent" --dir cut --report none -- \
    bash -c 'trap ": >heard" TERM; : >ready; while :; do sleep 0.1; done' 2>err &
agent=$!
wait_for "the program" test -e ready
target=$(for pid in $(cat /proc/$agent/task/$agent/children); do
    [ "$(cat "/proc/$pid/comm")" != bash ] || echo "$pid"
done)
kill -TERM $agent
# What is handed on to the program its collector knows by then.
wait_for "the program to hear of it" test -e heard
kill -KILL $agent "$target"
wait $agent 2>err || :
wait_for "the end" is_done cut
"$bin/ckmerge" --verify cut >report 2>err || fail "--verify found something"
"$bin/ckmerge" cut >report 2>err || fail "no report"
tr -s ' \n' ' ' <report |
    grep -q 'interrupted by signal 15 (Terminated), then killed' ||
    fail "the report does not say it"
status=0
env --default-signal=INT "$bin/ckagent" --dir ctrl --report none -- \
    sh -c ': >begun2; exec sleep 600' &
agent=$!
wait_for "the program" test -e begun2
kill -INT $agent
wait $agent 2>err || status=$?
[ $status = 130 ] || fail "status $status of an interrupted program"
wait_for "the end" is_done ctrl
"$bin/ckmerge" --verify ctrl >report 2>err || fail "--verify found something"
"$bin/ckmerge" ctrl >report 2>err || fail "no report"
grep -q 'was interrupted by signal 2' report || fail "not said: interrupted"
echo "ok: an interrupted job"

# Ranks that the job does not have: logged, once, with those that it has.
runs 0 --ranks 5 --dir none -- sh -c 'echo ran'
grep -q ran out || fail "the program did not run"
says '--ranks 5: no launcher numbers this process, so it is rank 0'
lines 1
runs 125 --ranks 5 --strict --dir none -- sh -c 'echo ran'
[ ! -s out ] || fail "the program ran"
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4
runs 0 --ranks 4-7 --dir none -- true
says '--ranks 4-7: the job has ranks 0-3 only; .*runs without recording'
lines 1
OMPI_COMM_WORLD_RANK=1 runs 0 --ranks 4-7 --dir none -- true
lines 0
no_trace none
OMPI_COMM_WORLD_SIZE=1 runs 0 --ranks 0,5 --dir some --report none -- true
says '--ranks 0,5: the job has rank 0 only; 1 of them is recorded'
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
CKAGENT_OPTIONS='--rank 3' runs 125 -- true
says 'CKAGENT_OPTIONS: unknown option --rank: is --ranks meant'
echo "ok: ranks that are not there"

# The front alone is killed: that was meant for the program.
"$bin/ckagent" --dir meant --report none -- \
    bash -c 'echo $$ >begun; while [ ! -e go ]; do sleep 0.05; done; exit 3' &
agent=$!
wait_for "the program" test -s begun
kill -KILL $agent
wait $agent 2>err || :
wait_for "the end of the program" is_gone "$(cat begun)"
wait_for "the end" is_done meant
"$bin/ckmerge" meant >report 2>err || :
grep -q "was killed together with its ckagent" report ||
    fail "the report does not say that both were killed"
echo "ok: kill -9 of ckagent is one of the program"
