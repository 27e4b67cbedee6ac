#!/usr/bin/env python3
# where.py BUILD [RANKS [SECONDS [EACH]]] - what `ckagg --where` takes, and costs a job
#
# SPDX-License-Identifier: Apache-2.0
"""RANKS ranks (64) make steps for SECONDS (60), once of 20 ms of sleep and an
Allreduce (quiet), once of 1 ms of computing (busy). In every second EACH
seconds (5) they are asked once where they are, and status is asked three times
in the other ones: the answers' times are from the same job in the same
situation. Printed: the median time of both answers and their ratio; the median
and the mean of the steps in seconds with a question against those without.
"""
import os
import statistics
import subprocess
import sys
import time

from job import Bench, figure, remark


def asked(bench, what, run):
    begin = time.monotonic()
    done = subprocess.run([bench.program("ckagg"), what, run],
                          capture_output=True, text=True, env=bench.environment)
    took = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(done.stderr)
    return took, done.stdout


def ask(bench, run, seconds, each):
    """(times of status, times of --where, windows with and without a question)"""
    status, where, windows = [], [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for is_asked in (True, False):
            begin = time.monotonic()
            if is_asked:
                took, text = asked(bench, "--where", run)
                where.append(took)
                if "rank" not in text:
                    sys.exit("no answer: " + text)
            else:
                time.sleep(each / 2)
                status += [asked(bench, "--status", run)[0] for _ in range(3)]
            time.sleep(max(0, begin + each - time.monotonic()))
            windows.append((is_asked, begin, begin + each))
    return status, where, windows


def steps_of(file, windows):
    """Lengths of the steps in windows with a question, and in those without."""
    of = {True: [], False: []}
    with open(file) as lines:
        steps = [tuple(int(word) / 1e9 for word in line.split())
                 for line in lines]
    for is_asked, begin, end in windows:
        of[is_asked] += [b - a for a, b in steps if begin <= a < end]
    return of[True], of[False]


def measure(bench, kind, ranks, seconds, each):
    run = os.path.join(bench.work, kind)
    file = os.path.join(bench.work, kind + ".steps")
    job = subprocess.Popen(
        ["mpirun", "-n", ranks, bench.program("ckagent"), "--dir", run,
         "--report", "none", "--", bench.test("bench_where"), kind,
         str(seconds + 30), file], env=bench.environment)
    while not os.path.exists(os.path.join(run, "manifest.json")):
        time.sleep(0.1)
    time.sleep(15)  # all ranks are there
    status, where, windows = ask(bench, run, seconds, each)
    job.wait()
    with_it, without = steps_of(file, windows)
    half = statistics.median
    remark("%s: status %s ms" % (kind, " ".join("%.0f" % (1e3 * s)
                                                for s in sorted(status))))
    remark("%s: --where %s ms" % (kind, " ".join("%.0f" % (1e3 * s)
                                                 for s in sorted(where))))
    ratio = half(where) / half(status)
    figure("--where of %s ranks, %s, in round trips of status" % (ranks, kind),
           ratio, "<= 10", ratio <= 10)
    for name, of in (("median", half), ("mean", statistics.mean)):
        added = 100 * (of(with_it) / of(without) - 1)
        remark("%s: %s of steps %.2f ms asked, %.2f ms not" % (
            kind, name, 1e3 * of(with_it), 1e3 * of(without)))
        figure("step time, %s, one question each %g s, %s" % (
            name, 2 * each, kind), added, "< 1 %", added < 1, " %")


def main():
    build = sys.argv[1]
    ranks = sys.argv[2] if len(sys.argv) > 2 else "64"
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    each = float(sys.argv[4]) if len(sys.argv) > 4 else 5
    with Bench(build) as bench:
        for kind in ("quiet", "busy"):
            measure(bench, kind, ranks, seconds, each)


main()
