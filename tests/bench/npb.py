#!/usr/bin/env python3
# npb.py BUILD FOLDER ROUNDS PROGRAM... - NAS parallel benchmarks, plain, ck, eztrace
#
# SPDX-License-Identifier: Apache-2.0
"""What recording costs programs of others. FOLDER has programs of the NAS
Parallel Benchmarks that were built for 2 ranks of Open MPI, as `lu.A.2` (they are
in no package: build them by their own Makefile). Each round runs every program
plain, below ckagent, and with eztrace, one after the other in an order that turns;
the time is what the program itself prints, its main loop alone. A round's value is
a recorded time over the mean of the plain ones before and behind. Printed are
medians with their 95 % interval by bootstrap (fixed seed). The goal: ck adds no
more than eztrace does; decided is it where the interval of both's difference in a
round is on one side of 0.
"""
import os
import re
import shutil
import subprocess
import sys

from job import SKIP, Bench, remark
from turns import bootstrap

SECONDS = re.compile(r"Time in seconds =\s*([0-9.]+)")
RIGHT = re.compile(r"Verification\s*=\s*SUCCESSFUL")
LAUNCHER = ["mpirun", "-n", "2"]


def seconds_of(bench, command):
    """By the program's own clock; it must have verified its result."""
    output = bench.plain(command)
    found = SECONDS.search(output)
    if found is None or RIGHT.search(output) is None:
        sys.exit("%s did not verify:\n%s" % (command[-1], output[-2000:]))
    return float(found.group(1))


def with_ck(bench, program):
    directory = os.path.join(bench.work, "run")
    taken = seconds_of(bench, [*LAUNCHER, bench.program("ckagent"), "--dir",
                               directory, "--report", "none", "--", program])
    bench.forget(directory)
    return taken


def with_eztrace(bench, program):
    directory = os.path.join(bench.work, "trace")
    taken = seconds_of(bench, [*LAUNCHER, "eztrace", "-t", "openmpi", "-o",
                               directory, program])
    bench.forget(directory)
    return taken


def measure(bench, program, rounds):
    """Added percent of each round, by tool, and the plain times."""
    tools = [("ck", with_ck), ("eztrace", with_eztrace)]
    added = {name: [] for name, _ in tools}
    plain = [seconds_of(bench, [*LAUNCHER, program])]
    for turn in range(rounds):
        taken = {}
        for name, tool in tools if turn % 2 == 0 else tools[::-1]:
            taken[name] = tool(bench, program)
        plain.append(seconds_of(bench, [*LAUNCHER, program]))
        for name in added:
            added[name].append(
                (taken[name] * 2 / (plain[-2] + plain[-1]) - 1) * 100)
        remark("round %d: plain %.2f and %.2f s, %s" % (
            turn + 1, plain[-2], plain[-1], ", ".join(
                "%s %.2f s" % pair for pair in sorted(taken.items()))))
    return added, plain


def verdict_print(name, added):
    """By what ck adds beyond eztrace in the same round."""
    low, middle, high = bootstrap(
        [ck - other for ck, other in zip(added["ck"], added["eztrace"])])
    print("%-52s | %8.3f %% (%.2f to %.2f) | <= 0 | %s" % (
        "13 %s: added by ck beyond eztrace" % name, middle, low, high,
        "met" if high <= 0 else "MISSED" if low > 0 else "not decided"),
          flush=True)


def main():
    build, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if shutil.which("eztrace") is None or shutil.which("mpirun") is None:
        print("npb: skipped, needs eztrace and Open MPI")
        sys.exit(SKIP)
    with Bench(build) as bench:
        for name in sys.argv[4:]:
            added, plain = measure(
                bench, os.path.join(os.path.abspath(folder), name), rounds)
            remark("%s: plain %.2f s (%.2f to %.2f), %d rounds" % (
                name, bootstrap(plain)[1], min(plain), max(plain), rounds))
            for tool, values in added.items():
                low, middle, high = bootstrap(values)
                remark("%s: %s adds %.2f %%, %.2f to %.2f %%" % (
                    name, tool, middle, low, high))
            verdict_print(name, added)


main()
