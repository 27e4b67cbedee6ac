#!/usr/bin/env bash
# sqlite.sh - the database of a job agrees with its report
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need python3 python3
[ -x "$tests/train" ] || skip "train was not built"

timeout 300 mpirun -n 3 "$bin/ckagent" --report none --dir "$work/run" -- \
    "$tests/train" --steps 20 --inject late:1:5 >"$work/out" 2>&1
wait_done "$work/run"

# What was there stays until all of the new one is written.
echo old >"$work/run/trace.sqlite"
"$bin/ckmerge" --quiet --output sqlite "$work/run"
/usr/bin/python3 "$here/sqlite.py" "$work/run/trace.sqlite" \
    "$work/run/report.json" "$here/../../docs/sqlite.md" ||
    fail "the database is not as the report"
[ -z "$(find "$work/run" -name 'trace.sqlite.*')" ] ||
    fail "a file was left beside the database"

# A window has its own part only.
"$bin/ckmerge" --quiet --to 1ms --output sqlite="$work/part" "$work/run"
[ "$(stat -c %s "$work/part")" -lt "$(stat -c %s "$work/run/trace.sqlite")" ] ||
    fail "the database of a window is as large as that of the run"

# What is no plain file, or full, gets one line and is no database.
if "$bin/ckmerge" --quiet --output sqlite=/dev/null "$work/run" 2>"$work/err"; then
    fail "/dev/null became a database"
fi
grep -q '/dev/null is no plain file' "$work/err" || fail "$(cat "$work/err")"
if (
    ulimit -f 100
    trap '' XFSZ
    exec "$bin/ckmerge" --quiet --no-page --output sqlite="$work/full" "$work/run" \
        2>"$work/err"
); then
    fail "a file that may not grow holds a database"
fi
grep -q "cannot write $work/full" "$work/err" || fail "$(cat "$work/err")"
[ ! -e "$work/full" ] || fail "half a database was left"
