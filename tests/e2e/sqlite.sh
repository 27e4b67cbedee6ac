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

# The same tables as CSV files.
"$bin/ckmerge" --quiet --no-page --output csv="$work/tables" "$work/run"
/usr/bin/python3 - "$work/tables" "$work/run/report.json" <<'PY' ||
import csv, json, sys
with open(sys.argv[2], encoding="utf8") as file:
    report = json.load(file)
def rows(name):
    with open("%s/%s.csv" % (sys.argv[1], name), newline="", encoding="utf8") as file:
        return list(csv.DictReader(file))
def same(name, have, expected):
    if have != expected or not expected:
        sys.exit("%s.csv: %s, in the report %s" % (name, have, expected))
for name in ("ranks", "devices", "causes", "waits", "kernels", "lines", "calls", "ranges"):
    same(name, len(rows(name)), len(report[name]))
same("causes", [(r["cause"], int(r["ns"]), r["rank"]) for r in rows("causes")],
     [(c["cause"], c["ns"], "" if c["rank"] is None else str(c["rank"])) for c in report["causes"]])
same("ledger", {(int(r["device"]), r["row"]): int(r["ns"]) for r in rows("ledger")},
     {(i, cause): ns for i, d in enumerate(report["devices"]) for cause, ns in d["ledger"].items()})
same("step_ranks", [int(r["ns"]) for r in rows("step_ranks")],
     [ns for s in report["step_table"]["rows"] for ns in s["rank_ns"] if ns is not None])
same("pairs", [int(r["waited_ns"]) for r in rows("pairs")],
     [p["waited_ns"] for p in report["traffic"]["pairs"]])
PY
    fail "the tables are not as the report"
if "$bin/ckmerge" --quiet --output csv "$work/run" 2>"$work/err"; then
    fail "tables without a directory"
fi
grep -q 'csv=DIR' "$work/err" || fail "$(cat "$work/err")"

# Pictures are well-formed, and show each device, rank and step.
for what in ledger timeline steps; do
    "$bin/ckmerge" --no-page --output "svg-$what" "$work/run" >"$work/$what.svg"
done
/usr/bin/python3 - "$work" <<'PY' || fail "a picture is not as it should be"
import sys, xml.etree.ElementTree as tree
def texts(name):
    root = tree.parse("%s/%s.svg" % (sys.argv[1], name)).getroot()
    space = "{http://www.w3.org/2000/svg}"
    return ([t.text for t in root.iter(space + "text")],
            [r.get("class") for r in root.iter(space + "rect")], len(list(root.iter(space + "path"))))
words, boxes, _ = texts("ledger")
assert sum(w.startswith("rank ") for w in words) == 3, words
assert {"g-compute", "g-peer"} <= set(boxes), boxes
words, boxes, arrows = texts("timeline")
assert [w for w in words if w.startswith("rank ")] == ["rank 0", "rank 1", "rank 2"], words
assert boxes.count("g-peer") > 10 and arrows > 0, (boxes, arrows)
words, boxes, _ = texts("steps")
assert sum(b.startswith("h") for b in boxes) == 3 * 20, boxes
PY
