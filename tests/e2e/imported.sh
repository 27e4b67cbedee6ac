#!/usr/bin/env bash
# imported.sh - a run with CKAGENT_CUPTI=import, and its profiler's traces
#
# SPDX-License-Identifier: Apache-2.0
#
# Each rank writes what a profiler would have: a kernel at a time of
# CLOCK_REALTIME that it notes. Merged with the run, the kernel is where the
# run's own clock puts it, and the rank is one.
. "$(dirname "$0")/lib.sh"

cat >"$work/rank.py" <<'PY'
import json, os, sys, time
rank = int(os.environ["RANK"])
time.sleep(0.3)
start = time.time_ns()
raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
time.sleep(0.2)
events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
           "pid": os.getpid(), "tid": os.getpid(), "ts": 1, "dur": 2,
           "args": {"correlation": 5}},
          {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
           "ts": 100, "dur": 50000,
           "args": {"device": 0, "stream": 7, "correlation": 5}}]
with open(sys.argv[1] + "/rank%d.json" % rank, "w") as file:
    json.dump({"baseTimeNanoseconds": start, "traceEvents": events,
               "distributedInfo": {"rank": rank, "world_size": 2}}, file)
with open(sys.argv[1] + "/raw%d" % rank, "w") as file:
    file.write(str(raw + 100000))
PY
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank CKAGENT_CUPTI=import \
        "$bin/ckagent" --dir "$work/run$rank" --report none -- \
        /usr/bin/python3 "$work/rank.py" "$work" &
done
wait
"$bin/ckmerge" --kernel-only -o json="$work/report.json" -o text \
    -o chrome="$work/trace.json" "$work"/run[01] "$work"/rank[01].json \
    "$work/out.json" >"$work/text" 2>"$work/said" ||
    fail "merge: $(cat "$work/said")"
same "the ranks" "[(0, False), (1, False)]" \
    "$(json "$work/report.json" "[(r['rank'], r['claimed_twice']) for r in j['ranks']]")"
same "the kernels" "[([0], 1, 50000000), ([1], 1, 50000000)]" \
    "$(json "$work/report.json" "[(d['ranks'], d['kernels'], d['busy_ns']) for d in j['devices']]")"
same "dates believed" "True" \
    "$(json "$work/report.json" "j['clock_dates']['believed']")"
grep -q "taken as one clock, by their dates (assumed to" "$work/text" ||
    fail "TRUST does not say what is assumed"
off=$(json "$work/trace.json" "min(abs(
    round(e['ts'] * 1000) + $(json "$work/report.json" "j['whole']['start_ns']")
    - $(cat "$work/raw0")) for e in j['traceEvents']
    if e.get('name') == 'gemm' and e.get('ph') == 'X')")
[ "$off" -lt 1000000 ] || fail "the kernel lies $off ns off"
echo "ok: the kernel lies $off ns from where the run's clock has it"

# Two profiles of one rank are still refused.
if "$bin/ckmerge" --kernel-only --rank "$work/rank1.json=0" "$work/run0" \
    "$work/rank0.json" "$work/rank1.json" "$work/out2.json" \
    >/dev/null 2>"$work/said"; then
    fail "two profiles of one rank were merged"
fi
grep -q "both of rank 0" "$work/said" || fail "said: $(cat "$work/said")"
