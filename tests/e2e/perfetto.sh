#!/usr/bin/env bash
# perfetto.sh - a Perfetto trace of a job, read by the published field numbers
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need python3 python3
[ -x "$tests/train" ] || skip "train was not built"

timeout 300 mpirun -n 3 "$bin/ckagent" --report none --dir "$work/run" -- \
    "$tests/train" --steps 20 --inject late:1:5 >"$work/out" 2>&1
wait_done "$work/run"
"$bin/ckmerge" --quiet --output perfetto --output chrome "$work/run"
/usr/bin/python3 "$here/perfetto.py" "$work/run/trace.pftrace" \
    "$work/run/trace.json" "$work/run/report.json" ||
    fail "the Perfetto trace is not as the Chrome trace"

# Compressed it is the same.
"$bin/ckmerge" --quiet --output perfetto="$work/t.gz" "$work/run"
gzip -dc "$work/t.gz" | cmp - "$work/run/trace.pftrace" ||
    fail "the compressed trace is another one"

# A full disk gets one line, and no half of a trace is left.
if (
    ulimit -f 20
    trap '' XFSZ
    exec "$bin/ckmerge" --quiet --no-page --output perfetto="$work/full" \
        "$work/run" 2>"$work/err"
); then
    fail "a file that may not grow holds a trace"
fi
grep -q "cannot write $work/full" "$work/err" || fail "$(cat "$work/err")"
[ ! -e "$work/full" ] || fail "half a trace was left"
