#!/usr/bin/env bash
# hardening.sh - programs that do odd things to their process run unharmed
#
# SPDX-License-Identifier: Apache-2.0
#
# Each scenario of tests/targets/hard/images.c runs plain and under ckagent:
# same status, same output; and its numbered marks are in the run as
# docs/reliability.md promises: all of them, or those of the process that
# knows of the agent, or all that are not counted as lost.
. "$(dirname "$0")/lib.sh"
source_dir=$(cd "$here/../.." && pwd)
images=$tests/hard_images
export CK_TEST_MODULE=$tests/libhard_module.so
[ -e "$CK_TEST_MODULE" ] || skip "no libhard_module.so in $tests"

# marks DIR: how many different marks are in the run; fails on one that is
# there twice.
marks() {
    local file
    for file in "$1"/*.ck; do
        /usr/bin/python3 "$source_dir/tests/schema/reader.py" \
            "$source_dir/schema" "$file"
    done | /usr/bin/python3 -c '
import json, sys
seen = set()
for line in sys.stdin:
    row = json.loads(line)
    if row["e.kind"] == 1:
        if row["value"] in seen:
            sys.exit("mark %d is there twice" % row["value"])
        seen.add(row["value"])
print(len(seen))
' || fail "$1: cannot count its marks"
}

# accounted NAME: each mark that it printed is in the run or counted as lost,
# as are records of other kinds.
accounted() {
    [ $(($(marks "$work/$1") + $(json "$work/$1/manifest.json" 'j["lost"]'))) \
        -ge "$(cat "$work/$1.out")" ]
}

# scenario NAME: run it both ways; its marks against what it printed.
scenario() {
    local name=$1 plain=0 traced=0 said lost seen
    timeout 900 "$images" "$name" >"$work/$name.plain" 2>&1 || plain=$?
    if [ "$plain" = 77 ]; then
        echo "left out: $name is not permitted here"
        return
    fi
    timeout 900 "$bin/ckagent" --report none --dir "$work/$name" -- "$images" \
        "$name" >"$work/$name.out" 2>"$work/$name.err" || traced=$?
    same "$name: status" "$plain" "$traced"
    said=$(cat "$work/$name.out")
    [ "$name" = interrupted ] ||
        same "$name: output" "$(cat "$work/$name.plain")" "$said"
    wait_done "$work/$name"
    lost=$(json "$work/$name/manifest.json" 'j["lost"]')
    seen=$(marks "$work/$name")
    case $name in
    clears-environment)
        # What was started without CKAGENT_RING is not recorded.
        same "$name: marks" "$said, 0 lost" "$seen, $lost lost" ;;
    interrupted)
        # A name that was interrupted counts too.
        [ "$seen" -le "$said" ] && [ $((seen + lost)) -ge "$said" ] ||
            fail "$name: $seen marks of $said, and $lost lost"
        echo "ok: $name: $seen marks of $said, $lost lost" ;;
    *)
        same "$name: marks" "$said, 0 lost" "$seen, $lost lost" ;;
    esac
}

# A machine without a core to spare may leave no room for a child in time: what
# finds none is counted, and the next try has room.
for name in $("$images"); do
    for try in 1 2 3; do
        discard "${work:?}/$name"
        (scenario "$name") >"$work/said" 2>&1 && break
        [ $try != 3 ] && grep -q ', [1-9][0-9]* lost$' "$work/said" &&
            accounted "$name" || { cat "$work/said"; exit 1; }
    done
    cat "$work/said"
done

# Without ckagent, too, a handler may interrupt the first call.
for ((run = 0; run < 40; run++)); do
    timeout 60 "$images" interrupted >/dev/null ||
        fail "interrupted, alone: status $?"
done

# Shells between: a chain of programs is one rank.
"$bin/ckagent" --report none --dir "$work/chain" -- sh -c \
    "sh -c '$images after-exec; exit 0' && exec env $images after-exec" ||
    fail "chain: status $?"
wait_done "$work/chain"
same "chain: ranks" 1 "$(json "$work/chain/manifest.json" 'j["ranks"]')"
same "chain: lost" 0 "$(json "$work/chain/manifest.json" 'j["lost"]')"

# A static program loads nothing of ours: it runs, and the report has why there
# is no data. ldconfig is linked so where libc is.
if LC_ALL=C ldd /sbin/ldconfig 2>&1 | grep -q 'statically linked\|not a dynamic'
then
    "$bin/ckagent" --report none --dir "$work/static" -- /sbin/ldconfig \
        --version >"$work/static.out" || fail "static: status $?"
    same "static: output" "$(/sbin/ldconfig --version)" \
        "$(cat "$work/static.out")"
    wait_done "$work/static"
    grep -q 'nothing could be recorded in the program: it is statically linked' \
        "$work/static/report.txt" || fail "the report does not say why"
    echo "ok: static: said"
fi

# elsewhen NAME COMMAND WORD...: the run lasts seconds, not what a time namespace
# adds to its clock.
elsewhen() {
    local name=$1
    shift
    timeout 300 "$@" || fail "$name: status $?"
    wait_done "$work/$name"
    same "$name: hours of the run" 0 \
        "$(json "$work/$name/report.json" 'j["region"]["ns"] // (3600 * 10 ** 9)')"
    same "$name: sleeps" 2 "$(json "$work/$name/report.json" 'sum(c["calls"]
        for c in j["calls"] if "nanosleep" in c["name"])')"
}
late() { echo unshare -T --monotonic 100000 --boottime 100000; }
sleeps="import time
time.sleep(0.3)
time.sleep(0.3)"
forks="import ctypes, os
assert ctypes.CDLL(None).unshare(0x80) == 0
open('/proc/self/timens_offsets', 'w').write('monotonic 90000 0')
if os.fork() == 0:
    import time
    time.sleep(0.3)
    time.sleep(0.3)
    os._exit(0)
os.wait()"
if $(late) true 2>/dev/null; then
    record=("$bin/ckagent" --report none --dir)
    elsewhen later "${record[@]}" "$work/later" -- $(late) python3 -c "$sleeps"
    elsewhen within $(late) "${record[@]}" "$work/within" -- python3 -c "$sleeps"
    elsewhen asked "${record[@]}" "$work/asked" -- python3 -c "$forks"
else
    echo "left out: time namespaces are not permitted here"
fi

# No one reads what is printed: who asks the agent to end is not kept waiting
# by a pipe that is full. It ends as the program did.
mkfifo "$work/full"
exec 5<>"$work/full"
/usr/bin/python3 -c 'import os
os.set_blocking(5, False)
try:
    while os.write(5, bytes(4096)): pass
except BlockingIOError: os.set_blocking(5, True)'
"$bin/ckagent" --dir "$work/unread" -- sh -c 'exit 3' 2>&5 &
front=$!
wait_done "$work/unread"
for ((i = 0; i < 2400; i++)); do
    kill -TERM $front 2>/dev/null || break
    read -rt 0.05 <> <(:) || :
done
kill -KILL $front 2>/dev/null && fail "a full pipe: it waits for a reader"
status=0
wait $front || status=$?
same "a full pipe: status" 3 $status
