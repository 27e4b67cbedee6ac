#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpicounts.py - MPI calls by function and rank: eztrace's trace and ck's report

Usage: mpicounts.py PROGRAM WRAPPED TRACE TRACE REPORT...
WRAPPED is a file with the names that eztrace interposes, one a line; each TRACE
an OTF2 anchor file of one run; each REPORT ck's JSON of one rank alone.
Exit 0: equal. 1: they differ. 3: the program's counts depend on its timing."""
import json
import re
import subprocess
import sys
from collections import Counter

# eztrace starts its trace in the first and ends it in the last, and counts no
# local queries.
NOT_IN_EZTRACE = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize",
                  "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_get_parent",
                  "MPI_Type_size"}
# How often these are called until something arrives is a matter of time.
TIMING = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
          "MPI_Waitsome", "MPI_Iprobe"}


def eztrace_counts(anchor):
    def lines(*options):
        return subprocess.run(["otf2-print", *options, anchor], text=True,
                              check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.splitlines()
    ranks, counts = {}, Counter()
    for line in lines("--show-global-defs"):
        if m := re.match(r'LOCATION +(\d+) .*Name: "P#(\d+)T#', line):
            ranks[m[1]] = int(m[2])
    for line in lines():
        if m := re.match(r'ENTER +(\d+) .*Region: "(MPI_\w+)"', line):
            counts[ranks[m[1]], m[2]] += 1
    return counts


def ck_counts(reports):
    counts = Counter()
    for path in reports:
        with open(path) as f:
            report = json.load(f)
        rank, = (r["rank"] for r in report["ranks"])
        for call in report["calls"]:
            if call["name"].startswith("MPI_"):
                counts[rank, call["name"]] += call["calls_in_run"]
        listed = sum(c["calls"] for c in report["calls"]
                     if c["name"].startswith("MPI_"))
        said = report["ranks"][0]["mpi_calls"]
        if listed != said:
            sys.exit(f"{path}: {said} MPI calls of the rank, {listed} listed")
    return counts


def main(program, wrapped, trace, again, *reports):
    with open(wrapped) as f:
        shared = set(f.read().split()) - NOT_IN_EZTRACE
    ez, ck = eztrace_counts(trace), ck_counts(reports)
    timing = sorted(TIMING & {name for _, name in ez | ck})
    if timing or ez != eztrace_counts(again):
        print(f"{program}: left out, its counts depend on timing", *timing)
        return 3
    keys = sorted(k for k in set(ez) | set(ck) if k[1] in shared or k in ez)
    wrong = [k for k in keys if ez[k] != ck[k]]
    for rank, name in wrong:
        print(f"{program}: rank {rank} {name}: eztrace {ez[rank, name]}, "
              f"ck {ck[rank, name]}")
    if not wrong:
        print(f"{program}: {sum(ez[k] for k in keys)} calls of "
              f"{len({n for _, n in keys})} functions on {len(reports)} ranks")
    return 1 if wrong or not keys else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
