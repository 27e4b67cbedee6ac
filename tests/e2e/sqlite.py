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
    """A call is within its parent, and in its step."""
    same("parents", ask(
        "SELECT COUNT(*) FROM call c JOIN call p ON p.id = c.parent"
        " WHERE c.start < p.start OR c.end > p.end OR c.thread <> p.thread"),
        [(0,)])
    same("steps of calls", ask(
        "SELECT COUNT(*) FROM call c JOIN step s ON s.id = c.step"
        " WHERE c.start < s.start OR c.start >= s.end"), [(0,)])


def gaps(ask, _):
    """What is before and behind a gap is not in it."""
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


def clipped(region, pieces):
    """The length of the union of (start, end) within the region."""
    total, behind = 0, region["start_rel_ns"]
    for start, end in sorted(pieces):
        start, end = max(start, behind), min(end, region["end_rel_ns"])
        if end > start:
            total += end - start
            behind = end
    return total


def unions(ask, report):
    """Kernels by union: of each name, and of all together per device."""
    by_name, by_device = {}, {}
    for device, name, start, end in ask(
            "SELECT w.device, n.value, w.start, w.end FROM work w JOIN string n"
            " ON n.id = w.name_id JOIN string k ON k.id = w.kind_id"
            " WHERE k.value = 'kernel'"):
        by_name.setdefault(name, {}).setdefault(device, []).append((start, end))
        by_device.setdefault(device, []).append((start, end))
    whole = {"start_rel_ns": -1 << 62, "end_rel_ns": 1 << 62}
    same("union of kernels", dict(ask("SELECT name, union_ns FROM v_kernels")),
         {name: sum(clipped(whole, pieces) for pieces in devices.values())
          for name, devices in by_name.items()})
    ranks = dict(ask("SELECT id, rank FROM device"))
    same("busy with kernels", {ranks[device]: clipped(report["region"], pieces)
                               for device, pieces in by_device.items()},
         {d["ranks"][0]: d["kernel_busy_ns"] for d in report["devices"]})
    # The ranking is the report's where kernels of a device do not overlap.
    region = {name: sum(clipped(report["region"], pieces) for pieces in devices.values())
              for name, devices in by_name.items()}
    if sum(region.values()) == sum(d["kernel_busy_ns"] for d in report["devices"]):
        same("ranking of kernels", region,
             {k["name"]: k["busy_ns"] for k in report["kernels"]})


def idle(ask, report):
    sums = {}
    for device in report["devices"]:
        for cause, ns in device["ledger"].items():
            sums[cause] = sums.get(cause, 0) + ns
    have = dict(ask("SELECT cause, ns FROM v_idle WHERE ns > 0"))
    same("idle causes", have, {cause: ns for cause, ns in sums.items()
                               if ns > 0 and cause in have})
    same("idle time", sum(have.values()), sum(d["idle_ns"] for d in report["devices"]))


def longest_gaps(ask, report):
    """A gap of the report is of one or more pieces that touch."""
    longest, at = {}, {}
    for device, start, end in ask(
            "SELECT d.rank, i.start, i.end FROM idle i JOIN device d"
            " ON d.id = i.device ORDER BY i.device, i.start"):
        first, behind = at.get(device, (start, start))
        at[device] = (first if start == behind else start, end)
        longest[device] = max(longest.get(device, 0), end - at[device][0])
    same("longest gaps", longest, {d["ranks"][0]: d["longest_gap_ns"]
                                   for d in report["devices"]})


def overlap(ask, report):
    same("overlap", sorted(ask("SELECT rank, comm_ns, comm_overlap_ns, copies_ns,"
                               " copies_overlap_ns FROM v_overlap")),
         sorted((d["ranks"][0], d["comm_union_ns"], d["comm_overlap_ns"],
                 d["copy_union_ns"], d["copy_union_ns"] - d["copy_ns"])
                for d in report["devices"]))


def latency(ask, _):
    """Percentiles of a line are values of it, of their rank."""
    lines = {}
    for file, line, ns in ask(
            "SELECT c.file, c.line, w.start - c.start FROM work w"
            " JOIN v_call c ON c.id = w.launch_call"):
        lines.setdefault((file, line), []).append(ns)
    expected = {}
    for key, values in lines.items():
        values.sort()
        expected[key] = (len(values), values[0]) + tuple(
            values[(len(values) * part + 99) // 100 - 1] for part in (50, 90, 99)) + \
            (values[-1],)
    same("launch latency", {(file, line): tuple(rest) for file, line, *rest in ask(
        "SELECT file, line, launches, least_ns, p50_ns, p90_ns, p99_ns, most_ns"
        " FROM v_launch_latency")}, expected)


def slowest(ask, report):
    """Which rank is the slowest of a step, and how often."""
    have = ask("SELECT rank, COUNT(*) FROM (SELECT number, rank, MAX(ns)"
               " FROM v_steps GROUP BY number) GROUP BY rank ORDER BY rank")
    ranks = [s["longest_rank"] for s in report["step_table"]["rows"]]
    same("slowest ranks", have, [(rank, ranks.count(rank)) for rank in sorted(set(ranks))])


def in_mpi(ask, report):
    region = report["region"]
    have = {}
    for rank, start, end in ask(
            "SELECT rank, start, end FROM v_call WHERE rank >= 0 AND kind IN"
            " ('mpi', 'send', 'recv', 'probe', 'sendrecv', 'collective', 'icollective')"):
        have.setdefault(rank, []).append((start, end))
    same("time in MPI", {rank: clipped(region, pieces) for rank, pieces in have.items()},
         {r["rank"]: r["mpi_ns"] for r in report["ranks"]})


def sent(ask, report):
    """Bytes of each function's calls, in the region."""
    region = report["region"]
    have = dict(ask(
        "SELECT name, SUM(bytes) FROM v_call WHERE kind IN ('send', 'collective')"
        " AND rank >= 0 AND end > ?1 AND start < ?2 GROUP BY name",
        region["start_rel_ns"], region["end_rel_ns"]))
    same("bytes of calls", have, {name: sum(c["bytes"] for c in report["calls"]
                                            if c["name"] == name) for name in have})


def call_sums(ask, _):
    """The sums of calls are those of their rows."""
    same("sums of calls", sorted(ask(
        "SELECT thread, kind_id, name_id, site, calls, total_ns, outer_ns, max_ns, bytes"
        " FROM call_sum")), sorted(ask(
            "SELECT thread, kind_id, name_id, site, COUNT(*), SUM(end - start),"
            " SUM(CASE WHEN parent = 0 THEN end - start ELSE 0 END), MAX(end - start),"
            " SUM(bytes) FROM call GROUP BY 1, 2, 3, 4")))


def work_sums(ask, _):
    """... and of work, but for the unions, which are looked at by name."""
    same("sums of work", sorted(ask(
        "SELECT device, rank, kind_id, name_id, pieces, total_ns, max_ns FROM work_sum")),
        sorted(ask("SELECT device, rank, kind_id, name_id, COUNT(*), SUM(end - start),"
                   " MAX(end - start) FROM work GROUP BY 1, 2, 3, 4")))
    same("launches of work", ask(
        "SELECT COUNT(*) FROM work w LEFT JOIN call c ON c.id = w.launch_call"
        " WHERE w.site <> IFNULL(c.site, 0)"
        " OR w.launch_ns <> IFNULL(w.start - c.start, 0)"), [(0,)])


def wait_lines(ask, _):
    """Each wait has its call."""
    same("waits by line", ask("SELECT SUM(waits), SUM(ns) FROM v_wait_lines"),
         ask("SELECT COUNT(*), SUM(end - start) FROM wait"))
    same("lines of waits", sorted(ask("SELECT rank, whom, name, function, line, waits, ns"
                                      " FROM v_wait_lines")),
         sorted(ask("SELECT c.rank, w.whom, c.name, c.function, c.line, COUNT(*),"
                    " SUM(w.end - w.start) FROM wait w JOIN thread t ON t.id = w.thread"
                    " JOIN v_call c ON c.tid = t.tid AND c.rank = t.rank"
                    " AND c.start = w.start GROUP BY 1, 2, 3, 4, c.file, 5")))


def locks(ask, report):
    """Calls of locks that were long enough for a record of their own."""
    names = ("pthread_mutex_lock", "pthread_cond_wait", "pthread_barrier_wait")
    have = dict(ask("SELECT name, COUNT(*) FROM v_call WHERE rank >= 0 AND name IN"
                    " (?, ?, ?) GROUP BY name", *names))
    expected = {f["name"]: f["calls_in_run"] for f in report["functions"]
                if f["name"] in names}
    if have or expected:
        same("locks", have, expected)


def stacks(ask, report):
    """Samples with their stacks add up to the report's hottest function."""
    region = report["region"]
    named = [hot for hot in report["hot_spots"] if hot["function"] is not None]
    if not named:
        print("no hot spots: the right to sample is missing")
        return
    hot = named[0]
    have = ask("SELECT IFNULL(SUM(weight_ns), 0) FROM sample WHERE time >= ?1 AND time < ?2"
               " AND stack IN (SELECT stack FROM v_stack WHERE function = ?3)",
               region["start_rel_ns"], region["end_rel_ns"], hot["function"])[0][0]
    # The report leaves out what a thread did in calls of MPI and devices, and
    # counts a library's code for the function that called it.
    same("hottest function", have >= hot["ns"] > 0, True)
    same("roots", ask("SELECT COUNT(*) FROM stack s LEFT JOIN stack p ON p.id = s.parent"
                      " WHERE s.parent <> 0 AND p.id IS NULL"), [(0,)])
    same("samples with a stack", ask(
        "SELECT COUNT(*) FROM sample m LEFT JOIN stack s ON s.id = m.stack"
        " LEFT JOIN frame r ON r.id = s.frame LEFT JOIN site i ON i.id = r.site"
        " WHERE i.id IS NULL"), [(0,)])
    same("ways to the root", ask("SELECT COUNT(DISTINCT stack) FROM v_stack"),
         ask("SELECT COUNT(DISTINCT stack) FROM sample"))
    same("time of v_hot", ask("SELECT SUM(ns) FROM v_hot"),
         ask("SELECT SUM(weight_ns) FROM sample"))


def nsys_mpi(ask, _):
    """Each call of MPI is in one of the four views."""
    parts = sum(ask("SELECT COUNT(*) FROM " + view)[0][0] for view in (
        "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS",
        "MPI_OTHER_EVENTS"))
    same("views of MPI", parts, ask(
        "SELECT COUNT(*) FROM v_call WHERE kind IN ('mpi', 'send', 'recv', 'probe',"
        " 'sendrecv', 'collective', 'icollective')")[0][0])
    same("others", sorted(ask("SELECT DISTINCT s.value FROM MPI_OTHER_EVENTS o"
                              " JOIN string s ON s.id = o.textId WHERE s.value"
                              " IN ('MPI_Init', 'MPI_Init_thread', 'MPI_Finalize')"))[-1:],
         [("MPI_Init",)] if ask("SELECT 1 FROM v_call WHERE name = 'MPI_Init'")
         else [("MPI_Init_thread",)])


def guide(ask, path):
    with open(path, encoding="utf8") as file:
        examples = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    same("examples", len(examples) >= 10, True)
    for example in examples:
        try:
            for one in filter(str.strip, example.split(";")):
                ask(one)
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
                     launches, nested, gaps, nsys, unions, idle, longest_gaps,
                     overlap, latency, slowest, in_mpi, sent, call_sums, work_sums, wait_lines, locks, stacks,
                     nsys_mpi):
        question(ask, report)
    guide(ask, sys.argv[3])
    same("integrity", ask("PRAGMA integrity_check"), [("ok",)])
    print("%d questions wrong" % len(failed))
    return int(bool(failed))


sys.exit(main())
