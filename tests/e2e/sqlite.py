#!/usr/bin/env python3
"""sqlite.py - the database of a run agrees with its report

SPDX-License-Identifier: Apache-2.0

sqlite.py DATABASE REPORT.JSON GUIDE: asks the questions that users ask, compares
the answers with report.json to the nanosecond, and runs each SQL example of the
guide (docs/sqlite.md).
"""
import json
import re
import sqlite3
import sys

failed = []


def same(what, have, expected):
    if have != expected:
        failed.append(what)
        print("%s: the database has %s, the report %s" % (what, have, expected))
    elif not expected:
        failed.append(what)
        print("%s: nothing to compare" % what)


def ledger(ask, report):
    have = {(rank, cause): ns for rank, cause, ns in ask(
        "SELECT d.rank, l.cause, l.ns FROM v_ledger l JOIN device d"
        " ON d.id = l.device WHERE l.ns > 0")}
    same("ledger", have, {(d["ranks"][0], cause): ns for d in report["devices"]
                          for cause, ns in d["ledger"].items() if ns > 0})


def causes(ask, report):
    same("causes", ask("SELECT cause, rank, ns FROM v_why"),
         [(c["cause"], c["rank"], c["ns"]) for c in report["causes"]])


def kernels(ask, report):
    same("kernels", dict(ask("SELECT name, calls FROM v_kernels")),
         {k["name"]: k["calls_in_run"] for k in report["kernels"]})


def calls(ask, report):
    have = dict(ask("SELECT name, COUNT(*) FROM v_call WHERE rank >= 0"
                    " GROUP BY name"))
    same("calls", {f["name"]: have.get(f["name"], 0) for f in report["functions"]},
         {f["name"]: f["calls_in_run"] for f in report["functions"]})


def steps(ask, report):
    """The slowest rank of each step."""
    have = dict(ask(
        "SELECT number, MAX(ns) FROM v_steps GROUP BY number"))
    same("steps", have, {s["number"]: s["longest_ns"]
                         for s in report["step_table"]["rows"]})


def waits(ask, report):
    region = report["region"]
    have = dict(ask(
        "SELECT t.rank, SUM(MIN(w.end, ?2) - MAX(w.start, ?1)) FROM wait w"
        " JOIN thread t ON t.id = w.thread WHERE w.whom >= 0 AND w.end > ?1"
        " AND w.start < ?2 GROUP BY t.rank",
        region["start_rel_ns"], region["end_rel_ns"]))
    same("waits", have, {r["rank"]: r["waited_ns"] for r in report["ranks"]
                         if r["waited_ns"] > 0})


def copies(ask, report):
    region = report["region"]
    have = {name: bytes_ for name, bytes_ in ask(
        "SELECT k.value, SUM(w.bytes) FROM work w JOIN string k"
        " ON k.id = w.kind_id WHERE k.value IN ('h2d', 'd2h') AND w.end > ?1"
        " AND w.start < ?2 GROUP BY k.value",
        region["start_rel_ns"], region["end_rel_ns"])}
    same("copies", have, {c["name"]: c["bytes"] for c in report["copies"]
                          if c["name"] in ("h2d", "d2h")})


def launches(ask, report):
    """Device work has the call that launched it, where the recorder knows it."""
    without = ask("SELECT COUNT(*) FROM work WHERE launch_call = 0")[0][0]
    same("work without a launch", str(without), ask(
        "SELECT value FROM ck_info WHERE key = 'work_without_launch'")[0][0])
    same("launches", ask("SELECT COUNT(*) >= 100 * ?1 FROM work", without), [(1,)])
    # Stamps of a device are off by a little: one in a hundred may be early.
    same("launch order", ask(
        "SELECT SUM(c.start > w.start) * 100 <= COUNT(*) FROM work w"
        " JOIN call c ON c.id = w.launch_call"), [(1,)])
    lines = dict(ask("SELECT file || ':' || line, SUM(launches) FROM v_lines"
                     " WHERE line > 0 GROUP BY 1"))
    for row in report["lines"]:
        key = "%s:%d" % (row["file"], row["line"])
        if lines.get(key, 0) < row["calls"]:
            failed.append("lines")
            print("%s: %s launches, in the region alone %d" %
                  (key, lines.get(key), row["calls"]))


def nested(ask, _):
    """A call lies within its parent, and in its step."""
    same("parents", ask(
        "SELECT COUNT(*) FROM call c JOIN call p ON p.id = c.parent"
        " WHERE c.start < p.start OR c.end > p.end OR c.thread <> p.thread"),
        [(0,)])
    same("steps of calls", ask(
        "SELECT COUNT(*) FROM call c JOIN step s ON s.id = c.step"
        " WHERE c.start < s.start OR c.start >= s.end"), [(0,)])


def gaps(ask, _):
    """What is before and behind a gap does not lie in it."""
    same("gaps", ask(
        "SELECT COUNT(*) FROM (SELECT * FROM v_gaps LIMIT 500) g"
        " JOIN work a ON a.id = g.work_before JOIN work b ON b.id = g.work_behind"
        " WHERE a.start >= g.start OR b.start < g.end"), [(0,)])


def nsys(ask, report):
    """Names of nsys: threads and ranks from globalTid."""
    have = sorted(ask("SELECT rank, globalTid / 16777216 % 16777216 FROM MPI_RANKS"))
    same("MPI_RANKS", [rank for rank, _ in have],
         sorted(r["rank"] for r in report["ranks"]))
    same("nsys kernels", ask("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
         [(sum(k["calls_in_run"] for k in report["kernels"]),)])


def guide(ask, path):
    with open(path, encoding="utf8") as file:
        examples = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    same("examples", len(examples) >= 10, True)
    for example in examples:
        try:
            ask(example)
        except sqlite3.Error as error:
            failed.append("guide")
            print("%s: %s" % (error, example))


def main():
    database = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    with open(sys.argv[2], encoding="utf8") as file:
        report = json.load(file)

    def ask(sql, *values):
        return database.execute(sql, values).fetchall()

    for question in (ledger, causes, kernels, calls, steps, waits, copies,
                     launches, nested, gaps, nsys):
        question(ask, report)
    guide(ask, sys.argv[3])
    same("integrity", ask("PRAGMA integrity_check"), [("ok",)])
    print("%d questions wrong" % len(failed))
    return int(bool(failed))


sys.exit(main())
