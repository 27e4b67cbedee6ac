#!/usr/bin/env bash
# stamps.sh - is a record's time what the clock was then?
#
# SPDX-License-Identifier: Apache-2.0
#
# Threads that change their CPU record marks with what RAW was right before and
# behind each (targets/stamps.c). A merged time is that, but for one constant of the
# run: some constant has to put each mark between its two readings. By a reading
# for each record exactly; by the default, where that is RAW by the processor's
# counter, or its ticks, within what docs/clock.md has as the error.
. "$(dirname "$0")/lib.sh"
[ -x "$tests/stamps" ] || skip "stamps was not built"

cat >"$work/check.py" <<'PY'
import json
import sys

rows = {}
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "i" and e["name"] in ("raw", "width"):
        rows.setdefault((e["pid"], e["tid"]), []).append(
            (e["name"], round(e["ts"] * 1000), e["args"]["value"]))
least, most, count, backward = None, None, 0, 0
for marks in rows.values():
    for a, b in zip(marks, marks[1:]):
        backward += b[1] < a[1]
        if a[0] == "raw" and b[0] == "width":
            low, high = a[1] - a[2] - b[2], a[1] - a[2]
            least = low if least is None else max(least, low)
            most = high if most is None else min(most, high)
            count += 1
print(len(rows), count, backward, max(0, least - most))
PY

looked_at() {
    local threads count backward off
    "$bin/ckagent" --clock "$1" --report none --no-page --dir "$work/$1" -- \
        "$tests/stamps" 3 3 || fail "ckagent --clock $1"
    wait_done "$work/$1"
    "$bin/ckmerge" --quiet --output chrome="$work/$1.json" "$work/$1" ||
        fail "ckmerge"
    read -r threads count backward off \
        < <(python3 "$work/check.py" "$work/$1.json")
    echo "--clock $1: $count marks of $threads threads, no constant is right for" \
        "all of them by $off ns; $backward times a thread went back"
    same "$1: threads" 3 "$threads"
    [ "$count" -gt 1000 ] || fail "$1: only $count marks"
    same "$1: a thread's marks in order" 0 "$backward"
    [ "$off" -le "$2" ] || fail "$1: off by $off ns, not $2"
}

looked_at raw 0
looked_at auto 600
