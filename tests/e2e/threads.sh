#!/usr/bin/env bash
# threads.sh - threads and children that are born and die in crowds lose no
# record
#
# SPDX-License-Identifier: Apache-2.0
#
# bursts records numbered marks in threads: many at once, thousands one after the
# other, waves of them. Every number must be in the run, with as many threads
# as there were; and so for forked children, which leave past exit() and which
# may never be waited for. Where /dev/shm is small, threads that record for
# long lose nothing, and what is missing of a crowd is counted.
. "$(dirname "$0")/lib.sh"
source_dir=$(cd "$here/../.." && pwd)

# marks DIR COUNT: how many of the marks 0..COUNT-1 are in the run, and of how
# many threads. A mark that is there twice, or is none of them, fails.
marks() {
    local file
    for file in "$1"/*.ck; do
        /usr/bin/python3 "$source_dir/tests/schema/reader.py" \
            "$source_dir/schema" "$file"
    done | /usr/bin/python3 -c '
import json, sys
seen, threads = set(), set()
for line in sys.stdin:
    row = json.loads(line)
    if row["e.kind"] == 1:
        if row["value"] in seen or row["value"] >= int(sys.argv[1]):
            sys.exit("mark %d" % row["value"])
        seen.add(row["value"])
    elif row["e.kind"] == int(sys.argv[2]):
        threads.add(row["object"])
print(len(seen), len(threads))
' "$2" "$thread_kind" || fail "$1: a mark is there twice or unknown"
}
thread_kind=$(sed -n 's/^CK_KIND(\([0-9]*\), THREAD,.*/\1/p' \
    "$source_dir/schema/kind.def")
[ -n "$thread_kind" ] || fail "no THREAD in kind.def"

# burst NAME THREADS AT_ONCE MARKS
burst() {
    local count=$(($2 * $4)) out
    out=$("$bin/ckagent" --report none --dir "$work/$1" -- \
        "$tests/hard_bursts" "$2" "$3" "$4") || fail "$1: status $?"
    same "$1: stdout" "$count" "$out"
    wait_done "$work/$1"
    same "$1: lost" 0 "$(json "$work/$1/manifest.json" 'j["lost"]')"
    read -r said threads <<<"$(marks "$work/$1" "$count")"
    same "$1: marks" "$count" "$said"
    # And perhaps the main thread, which waits for them.
    [ "$threads" = "$2" ] || same "$1: threads" $(($2 + 1)) "$threads"
}

burst twenty 20 20 1000
burst sixty-four 64 64 1000
burst waves 640 64 100
burst crowd 6400 64 5
burst line 10000 1 5

# forks NAME CHILDREN AT_ONCE MARKS [keep]: sets lost. Only where no core is left
# for the collector may a record be lost: one of three tries loses none.
forks() {
    local name=$1 count=$(($2 * $4)) try said threads
    shift
    for try in 1 2 3; do
        discard "${work:?}/$name"
        same "$name: stdout" "$count" "$("$bin/ckagent" --report none \
            --dir "$work/$name" -- "$tests/hard_forks" "$@" 2>/dev/null)"
        wait_done "$work/$name"
        lost=$(json "$work/$name/manifest.json" 'j["lost"]')
        read -r said threads <<<"$(marks "$work/$name" "$count")"
        [ $((said + lost)) -ge "$count" ] ||
            fail "$name: marks missing uncounted"
        [ "$lost" != 0 ] || break
        echo "$name: try $try: $lost of $count lost"
    done
    # And perhaps the one that waits for them.
    [ "$lost" != 0 ] || [ "$threads" = "$1" ] ||
        same "$name: children" $(($1 + 1)) "$threads"
}

forks children 300 1 50
same "children: lost" 0 "$lost"
forks zombies 300 1 50 keep
same "zombies: lost" 0 "$lost"
# More than there are slots: all that are missing are counted.
forks generation 300 300 50

# small NAME COUNT ARGUMENT...: 4 ranks of bursts, COUNT marks each, in 64 MB.
# Sets lost; what is missing and not counted fails.
small() {
    local name=$1 count=$2 total
    shift 2
    unshare -m sh -c 'mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm &&
        unset CK_TEST_RINGS && exec "$@"' sh mpirun -n 4 --mca btl self,tcp "$bin/ckagent" \
        --report none --dir "$work/$name" -- "$tests/hard_bursts" "$@" \
        >"$work/$name.out" || fail "$name: status $?"
    same "$name: stdout" 4 "$(grep -c "^$count\$" "$work/$name.out")"
    wait_done "$work/$name"
    total=$(json "$work/$name/manifest.json" 'j["lost"] + sum(
        a["records"] for a in j["agents"])')
    lost=$(json "$work/$name/manifest.json" 'j["lost"]')
    echo "ok: 64 MB of /dev/shm, $name: $lost of $total lost"
    [ "$total" -ge $((4 * count)) ] || fail "$name: marks missing uncounted"
}

if command -v mpirun >/dev/null && unshare -m true 2>/dev/null; then
    # Each of 8 threads a rank laps its slot, be it a large or a small one.
    laps() {
        rm -rf "$work/laps"
        small laps 320000 8 8 40000 2000
        same "laps: lost" 0 "$lost"
    }
    fair laps
    small at_once 256000 256 64 1000
else
    echo "left out: 64 MB of /dev/shm (needs mpirun and a mount namespace)"
fi

# group_limit MEGABYTES: a control group that may have so much memory.
group_limit() {
    local top=/sys/fs/cgroup limit=memory.max
    if [ ! -e $top/cgroup.controllers ]; then
        top=$top/memory limit=memory.limit_in_bytes
    fi
    group=$top/ck-e2e-$$
    mkdir "$group" && echo $(($1 << 20)) >"$group/$limit"
} 2>/dev/null

# grouped THREADS MEGABYTES: the ring takes its share of the group's memory, not
# of the machine's, and one line reports that.
grouped() {
    local run=$work/group$1 status=0
    group_limit "$2" || { rmdir "$group" 2>/dev/null; group=; return 77; }
    (
        echo $BASHPID >"$group/cgroup.procs"
        exec timeout 300 "$bin/ckagent" --report none --dir "$run" -- \
            "$tests/marks" 20000 "$1" "$work/half$1" 2>"$work/said$1"
    ) || status=$?
    same "$1 threads in $2 MB: status" 3 $status
    wait_done "$run"
    same "$1 threads in $2 MB: lines" 1 "$(grep -c \
        "an eighth of the $2 MiB that this machine or control group" \
        "$work/said$1")"
    group_remove
}
group=
trap '[ -z "$group" ] || group_remove; cleanup' EXIT
if grouped 4 48; then
    grouped 64 256
else
    echo "left out: no control group with a limit of memory may be made here"
fi
