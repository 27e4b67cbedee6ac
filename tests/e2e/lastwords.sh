#!/usr/bin/env bash
# lastwords.sh - where all threads of a program were when a signal ended it; and
# it ends as without ck
#
# SPDX-License-Identifier: Apache-2.0
#
# In a mount namespace of its own, with the kernel's tracepoints in their place:
# they may be there or not on the machine that runs this.
. "$(dirname "$0")/lib.sh"
need python3 python3
[ "$(uname -m)" = x86_64 ] || skip "stacks are copied on x86-64 only"
if [ -z "${CK_TEST_INNER:-}" ]; then
    trap - EXIT
    rm -rf "$work" "$rings"
    tracing='[ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing'
    unshare -m sh -c "$tracing" 2>/dev/null ||
        skip "tracefs may not be mounted here"
    CK_TEST_INNER=1 exec unshare -m sh -c \
        "{ $tracing; } && exec \"\$0\" \"\$@\"" "$0" "$@"
fi
[ -r /sys/kernel/tracing/events/signal/signal_deliver/id ] ||
    skip "this kernel has no tracepoint of signals"

# run NAME WORD...: as it ends, what it writes and the core file that it leaves.
run() {
    mkdir -p "$work/$1"
    (
        cd "$work/$1"
        ulimit -c unlimited
        status=0
        "${@:2}" >out 2>err || status=$?
        echo "$status" >status
    ) 2>/dev/null
}

for words in 11 6 4 8 7 "11 handled"; do
    name=${words// /.}
    # shellcheck disable=SC2086
    run "plain.$name" "$tests/lastwords" $words
    # shellcheck disable=SC2086
    run "ck.$name" timeout 60 "$bin/ckagent" --report none --dir "$work/run.$name" \
        -- "$tests/lastwords" $words
    wait_done "$work/run.$name"
    cmp "$work/plain.$name/out" "$work/ck.$name/out" || fail "$words: output"
    /usr/bin/python3 "$here/lastwords.py" "$words" "$work/plain.$name" \
        "$work/ck.$name" "$work/run.$name" || fail "signal $words"
done

# A program that ends by itself has no such stacks, nor one that is killed.
timeout 60 "$bin/ckagent" --report none --dir "$work/run.9" -- \
    "$tests/lastwords" 9 >/dev/null 2>&1 || :
timeout 60 "$bin/ckagent" --report none --dir "$work/run.0" -- \
    "$tests/stacks_target" 50 >/dev/null 2>&1
for number in 9 0; do
    wait_done "$work/run.$number"
    [ "$(json "$work/run.$number/report.json" "'deaths' in j")" = False ] ||
        fail "run $number has stacks of a death"
done

# Where the tracepoint may not be read the report has the reason.
umount /sys/kernel/tracing
timeout 60 "$bin/ckagent" --report none --dir "$work/none" -- \
    "$tests/lastwords" 11 >/dev/null 2>&1 || :
wait_done "$work/none"
grep -q 'threads were when signal 11' "$work/none/report.txt" ||
    fail "nothing says why there are no stacks: $(cat "$work/none/report.txt")"
