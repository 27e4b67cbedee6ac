#!/usr/bin/env bash
# names.sh - call sites keep function, file and line though every process of ck
# was killed
#
# SPDX-License-Identifier: Apache-2.0
#
# Front, collector and ckagg of a program that calls MPI are killed with signal
# 9 while it runs: none of them looked up a line. The merge does.
. "$(dirname "$0")/lib.sh"
need pgrep procps
[ -x "$tests/kills.openmpi" ] || skip "kills.openmpi was not built"
run=$work/run

# Wait for a process below $1 whose name begins with $2.
below() {
    local _ pid
    for _ in $(seq 3000); do
        pid=$(pgrep -P "$1" "$2" | head -n 1 || true)
        [ -z "$pid" ] || break
        sleep 0.05
    done
    [ -n "$pid" ] || fail "no $2"
    echo "$pid"
}

timeout 300 "$bin/ckagent" --report none --dir "$run" -- \
    "$tests/kills.openmpi" 30000 "$work/page" mpi >"$work/out" 2>&1 </dev/null &
launcher=$!
front=$(below $launcher ckagent)
collector=$(below "$front" ckagent-collect)
program=$(below "$front" kills.openmpi)
aggregator=$(below "$collector" ckagg)
# Some collectives are stored, and the modules.
for _ in $(seq 3000); do
    [ "$(stat -c %s "$run"/seg-*.ck 2>/dev/null || echo 0)" -lt 50000 ] || break
    sleep 0.05
done
# A front that is stopped starts no other collector; a collector that is gone kills
# no program whose front is.
kill -STOP "$front"
until grep -q '^State:.T' "/proc/$front/status"; do
    sleep 0.05
done
kill -9 "$collector" "$aggregator" "$front"
wait $launcher || true
while kill -0 "$program" 2>/dev/null; do
    sleep 0.05
done
"$bin/ckmerge" --quiet --output json="$work/report.json" "$run" || [ $? -eq 3 ]
same "the collective's place" "[('MPI_Allreduce', 'main', 'kills.c', True)]" \
    "$(json "$work/report.json" "[(c['name'], c['function'],
        c['file'].split('/')[-1], c['line'] > 20) for c in j['calls']
        if c['name'] == 'MPI_Allreduce']")"
