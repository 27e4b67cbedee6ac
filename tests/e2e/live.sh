#!/usr/bin/env bash
# live.sh - a running job as a page and as metrics (ckagg --http): who may see
# them, what strangers can do, what they cost, and the page in a real browser
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need python3 python3
[ -x "$tests/train" ] || skip "train was not built"
if "$bin/ckagg" --http 127.0.0.1:0 --status 2>&1 | grep -q 'built without'; then
    skip "ckagg was built without libmicrohttpd"
fi

# Loopback alone, and refused in one line.
for address in 0.0.0.0:0 '*:0' 192.0.2.1:80 example.org:80 127.0.0.1 127.0.0.1:x \
    127.0.0.1.example.org:80; do
    timeout 60 "$bin/ckagg" --http "$address" --dir "$work/refused" >"$work/out" 2>&1 &&
        fail "--http $address is served"
    same "lines for --http $address" 1 "$(wc -l <"$work/out")"
done
[ ! -e "$work/refused" ] || fail "a refused ckagg made a directory"

# The address of an agent's own ckagg is printed once, and opens the page; a port
# that is in use is no reason not to record.
fetch='import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=100).read().decode())'
"$bin/cklaunch" --http 127.0.0.2:0 -n 2 --dir "$work/launched" -- \
    "$tests/train" --steps 1000000 >"$work/out" 2>"$work/launched.err" &
job=$!
for _ in $(seq 600); do
    grep -q 'shown at http' "$work/launched.err" && break
    sleep 0.1
done
same "addresses printed" 1 "$(grep -c 'shown at http://127.0.0.2:' "$work/launched.err")"
url=$(grep -o 'http://.*' "$work/launched.err")
/usr/bin/python3 -c "$fetch" "${url}metrics" >"$work/metrics" &&
    grep -q '^ck_job_ranks{' "$work/metrics" ||
    fail "no metrics at the address that cklaunch printed"
same "mode of the log with the token" 600 "$(stat -c %a "$work/launched/ckagg.log")"
"$bin/cklaunch" --http "$(echo "$url" | cut -d / -f 3)" -n 1 --dir "$work/beside" -- \
    true >"$work/out" 2>"$work/beside.err" || fail "a port in use fails the job"
grep -q 'warn: the running job is not shown: .*cannot listen' "$work/beside.err" ||
    fail "no reason is printed"
[ -s "$work/beside/report.txt" ] || fail "the job beside is not recorded"
kill -TERM "$job"
wait "$job" || true
wait_done "$work/launched"
for _ in $(seq 600); do
    [ -e "$work/launched/live" ] || break
    sleep 0.1
done
[ ! -e "$work/launched/live" ] || fail "its page of the running job is still there"

# Names are another's text: cleaned in addresses, pages and metrics.
"$bin/ckagg" --listen "ipc://$work/names" --dir "$work/names.d" --http 127.0.0.2:0 \
    2>"$work/names.err" >"$work/out" &
agg=$!
for _ in $(seq 600); do
    grep -q 'shown at http' "$work/names.err" && break
    sleep 0.1
done
url=$(grep -o 'http://.*' "$work/names.err")
for name in '<img src=x onerror=alert(1)>' $'a"\n\033[31m&b'; do
    "$bin/ckagent" --aggregator "ipc://$work/names" --report none --job "$name" -- true
done
/usr/bin/python3 -c "$fetch" "$url" >"$work/list"
same "jobs in the list" 2 "$(grep -c '<li>' "$work/list")"
! grep -q '<img\|&b\|onerror=' "$work/list" || fail "a job's name is markup"
/usr/bin/python3 -c "$fetch" "${url}metrics" >"$work/list"
! grep -q '[<&]\|onerror=' "$work/list" || fail "a job's name is in the metrics as it came"
kill "$agg"
wait "$agg" || fail "ckagg did not end well"

"$bin/ckagg" --listen "ipc://$work/agg" --dir "$work/runs" --http 127.0.0.1:0 \
    >"$work/agg.out" 2>"$work/agg.err" &
agg=$!
for _ in $(seq 600); do
    grep -q 'shown at http' "$work/agg.err" && break
    sleep 0.1
done
url=$(grep -o 'http://.*' "$work/agg.err") || fail "ckagg has no address"
mpirun -n 3 "$bin/ckagent" --aggregator "ipc://$work/agg" --report none -- \
    "$tests/train" --steps 1000000 --inject late:2:10 >"$work/out" 2>&1 &
job=$!
stop() {
    kill "$job" "$agg" 2>/dev/null || true
    wait "$job" "$agg" 2>/dev/null || true
    cleanup
}
trap stop EXIT

/usr/bin/python3 "$here/live.py" "$url" "$agg" "$job" "$work/runs" ||
    fail "the page or the metrics of a running job are not as they should be"
kill "$agg"
wait "$agg" || fail "ckagg did not end well"
run=$(run_of "$work/runs")
[ -s "$run/report.html" ] || fail "the job has no page in the end"
[ ! -e "$run/live" ] || fail "the page of the running job is still there"
"$bin/ckmerge" --verify "$run" >"$work/out" || [ $? -eq 3 ] ||
    fail "the run is damaged"
