#!/usr/bin/env python3
# places.py RUN SHAPE RANK RANKS SOURCE - is the first cause of a report the planted one?
#
# SPDX-License-Identifier: Apache-2.0
"""Judges a run of places.sh. Prints "ok: ..." or "WRONG: ..." with what is not as
it was planted ("RANK" among it where another rank is blamed), status 0 or 1.
"""
import json
import os
import re
import sys

run, shape, rank, size, source = sys.argv[1:]
rank, size = int(rank), int(size)
report = json.load(open(run + "/report.json"))
text = " ".join(open(run + "/report.txt").read().split())
wrong = []


def lines(name):
    """Lines of the source that end in that mark, or one before or behind."""
    with open(source) as file:
        found = [i for i, line in enumerate(file, 1)
                 if re.search(r"here: %s\b" % name, line)]
    return {i + d for i in found for d in (-1, 0, 1)}


def expect(what, holds):
    if not holds:
        wrong.append(what)


def place(what, seen, function, mark=None):
    """A place of the report is in that function, and at that mark."""
    seen = seen or {}
    expect("%s: function %s, not %s" % (what, seen.get("function"), function),
           seen.get("function") == function)
    expect("%s: line %s, not %s" % (what, seen.get("line"), mark or function),
           seen.get("line") in lines(mark or function))


def is_crowded(did):
    """Other programs of the machine kept the rank off the CPU: that is so, and
    the report has it first, but it was not planted."""
    running = did.get("running")
    who = report["load"]["verdict"]
    return who in ("others", "unknown", "unclear") and running and \
        running["preempted_share"] > 0.5


def first(what, fits):
    """The first row, but for others where the machine was crowded."""
    for row in what:
        if not is_crowded(row["did"]) or row["rank"] == rank and fits(row["did"]):
            return row
    wrong.append("nothing is found")
    return {"did": {}, "rank": None}


def delay(fits=lambda did: False):
    """What cost the ranks' waiting most; of the planted rank."""
    item = first(report["delays"]["items"], fits)
    late = first(report["stragglers"], lambda did: True)
    expect("RANK %s in delays" % item["rank"], item["rank"] == rank)
    expect("RANK %s is the late one" % late["rank"], late["rank"] == rank)
    return item


def sentence(*words):
    """One sentence of the text has them, in that order."""
    pattern = ".{0,300}?".join(re.escape(str(word)) for word in words)
    expect("no sentence with: " + ", ".join(map(str, words)),
           re.search(pattern, text))


def is_in(function):
    return lambda did: (did.get("sampled") or {}).get("function") == function


def sampled(function):
    place("sampled", delay(is_in(function))["did"].get("sampled"), function)
    sentence("rank %d" % rank, function)


def team():
    teams = report["openmp"]["regions"][0]
    last = teams.get("last") or {}
    delay()
    expect("thread %s.%s" % (last.get("rank"), last.get("thread")),
           (last.get("rank"), last.get("thread")) == (rank, 1))
    place("last thread", teams.get("last_was_in"), "remesh")
    place("region", teams, "team_step", "team")


def teams():
    region = report["openmp"]["regions"][0]
    last = region.get("last") or {}
    expect("thread %s" % last.get("thread"), last.get("thread") == 1)
    expect("%s ranks" % region["ranks"], region["ranks"] == size)
    place("last thread", region.get("last_was_in"), "remesh")
    length = report["region"]["end_rel_ns"] - report["region"]["start_rel_ns"]
    for late in report["stragglers"][:report["load"]["verdict"] != "others"]:
        expect("RANK %s is called late" % late["rank"],
               late["caused_ns"] < 0.2 * length)


def convoy():
    rows = report["lock_waits"]
    row = rows[0] if rows else {}
    expect("RANK %s of the lock" % row.get("rank"), row.get("rank") == rank)
    place("lock", row, "convoy_thread", "convoy")
    place("holders", row.get("holders_were_in"), "update")
    delay()


def faults():
    place("faults", (report["fault_places"] or [None])[0], "fill")
    sampled("fill")


def stuck(call, function, mark):
    """Who waits for a message, and where."""
    rows = [row for row in report["awaited"] if row["call"] == call]
    row = rows[0] if rows else {}
    place("awaited", row, function, mark)
    return row


def missing():
    row = stuck("MPI_Recv", "ring_step", "missing")
    expect("RANK %s is waited for" % row.get("peer"), row.get("peer") == rank)
    expect("waiting: %s" % row.get("waited"),
           row.get("waited") == [(rank + 1) % size])


def circle():
    stuck("MPI_Ssend", "circle_step", "circle")
    expect("all wait: %s" % report["awaited"],
           sorted(r for row in report["awaited"] for r in row["waited"]) ==
           list(range(size)))
    sentence("waited for each other in a circle")


def endless():
    rows = report["impasses"]
    row = rows[0] if rows else {}
    expect("RANK %s is absent" % row.get("absent"), row.get("absent") == [rank])
    hot = (report["hot_spots"] or [{}])[0]
    expect("RANK %s computes" % hot.get("rank"), hot.get("rank") == rank)
    place("computes", hot, "spin")


def pipeline():
    sampled("filter")


def window():
    sampled("remesh")
    seen = first(report["stragglers"], is_in("remesh")).get("window") or {}
    expect("steps %s to %s" % (seen.get("first_step"), seen.get("last_step")),
           seen and abs(seen["first_step"] - 30) <= 2 and
           abs(seen["last_step"] - 59) <= 2)


def files():
    calls = {"write": ("save", "save"), "read": ("load", "load"),
             "open": ("file_open", "open")}
    seen = {"save": "save", "load": "load", "file_open": "open"}
    did = delay(lambda did: did.get("call") in calls or
                (did.get("sampled") or {}).get("function") in seen)["did"]
    if did.get("call") in calls:
        place("call", did, *calls[did["call"]])
        return
    # Of calls that are too short to be recorded, samples.
    function = (did.get("sampled") or {}).get("function")
    expect("call %s, function %s" % (did.get("call"), function),
           function in seen)
    if function in seen:
        place("sampled", did["sampled"], function, seen[function])


def fsync():
    did = delay(lambda did: did.get("call") == "fsync")["did"]
    expect("call %s" % did.get("call"), did.get("call") == "fsync")
    place("call", did, "commit", "fsync")


def queue():
    place("sampled", delay(is_in("produce"))["did"].get("sampled"), "produce")


def waitall():
    sampled("assemble")


def crash():
    # mpirun ends the others.
    ends = sorted((r for r in report["ranks"] if r["end"] == "signal"),
                  key=lambda r: r["end_time_ns"])
    expect("RANK %s died first" % (ends and ends[0]["rank"]),
           [(r["rank"], r["code"]) for r in ends[:1]] == [(rank, 11)])
    deaths = [d for d in report.get("deaths", []) if d.get("cause")]
    place("death", deaths[0]["frames"][0] if deaths else None, "damage",
          "crash")
    expect("RANK of the death", deaths and deaths[0]["rank"] == rank)


def sparse():
    sampled("multiply")


def kernels():
    # Each tiny kernel is launched and waited for: it is both, as the machine has it.
    places = {"clFinish": "device_finish", "clEnqueueNDRangeKernel": "device_run"}
    cause = next(cause for cause in report["causes"]
                 if not is_crowded(cause["host"]))
    did = cause["host"]
    expect("RANK %s" % cause.get("blamed_rank", cause["rank"]),
           cause.get("blamed_rank", cause["rank"]) == rank)
    if cause.get("blamed_rank") == rank:
        did = cause["blamed"]
    expect("call %s" % did.get("call"), did.get("call") in places)
    expect("in %s, %s" % (did.get("function"), did.get("file")),
           did.get("function") == places.get(did.get("call")) and
           os.path.basename(did.get("file") or "") == os.path.basename(source))


def mpi4py():
    sampled("rebalance")


def ddp():
    sampled("augment")


try:
    globals()[shape]()
except (KeyError, IndexError, TypeError) as why:
    wrong.append("the report has no %s" % why)
print("WRONG: " + "; ".join(wrong) if wrong else "ok: %s on rank %d" % (
    shape, rank))
sys.exit(bool(wrong))
