#!/usr/bin/env bash
# bench.sh - tests/bench/run has a line for each figure, measured or not
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests"
status=0

# program NAME LINE: one that prints that line.
program() {
    printf '#!/bin/sh\necho "%s"\n' "$2" >"$work/tests/$1"
    chmod +x "$work/tests/$1"
}

# expect STATUS PATTERN FIGURE: of a strict run of these figures.
expect() {
    local got=0
    "$here/bench/run" --strict "$work" "$3" >"$work/out" 2>&1 || got=$?
    [ "$got" = "$1" ] && sed '1,/^# figure/d' "$work/out" | grep -qE "$2" && return
    echo "figure $3: status $got, not $1, or no line \"$2\":"
    cat "$work/out"
    status=1
}

program bench_columns "encode 9 ns"
program bench_drain "# it said nothing of its figure"
expect 4 '^6 of bench_drain .* not measured$' 6
grep -q '^6 of bench_columns' "$work/out" && {
    echo "bench_columns has no figure to miss"
    status=1
}
# Without LTTng-UST there are no figures of it.
program bench_record "1 mark | 1.0 | <= 2 | met
3 mark | 1.0 | <= 2 | met"
expect 4 '^2 of record.sh .* not measured$' 2
# A count of losses may be 0, and a difference less; a time may not.
python3 - "$here/bench" >"$work/out" <<'END'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from job import figure
figure("drops", 0, "0", True, is_above_0=False)
figure("added", -0.1, "<= 1", True, " %", is_above_0=False)
figure("time", 0, "<= 1", True)
figure("ratio", float("nan"), "<= 1", False, is_above_0=False)
END
[ "$(sed 's/.*| //' "$work/out" | paste -sd,)" = \
    "met,met,not measured,not measured" ] || {
    echo "verdicts of job.py:"
    cat "$work/out"
    status=1
}
exit $status
