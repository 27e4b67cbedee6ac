#!/usr/bin/env python3
# step_time.py BUILD [PAIRS] - what recording costs a program's own loop
#
# SPDX-License-Identifier: Apache-2.0
"""Figure 5: the training program on 2 ranks, and a program with one MPI call
per 10 us of work on 2 ranks and on 1, recorded and plain in turn. The value of
a pair is the ratio of the two times, of the paced program those of its fastest
tenth of a second; printed is the median with its 95 % interval. The verdict is
on the lower end of the interval: on a machine whose noise is wider than the
target only that can be told. Where ranks fill all cores, the collector takes
its time from them; with 1 rank on 2 cores it does not.
"""
import sys

from job import Bench, figure, interval, number_after, remark, skip

STEPS = "150"
CALLS = "100000"


def pairs_run(bench, command, words, pairs, ranks="2"):
    """Added time in percent of each pair."""
    launcher = ("mpirun", "-n", ranks)
    added = []
    for pair in range(pairs):
        times = {}
        for kind in ("plain", "traced") if pair % 2 else ("traced", "plain"):
            if kind == "plain":
                output = bench.plain([*launcher, *command])
            else:
                output, directory, manifest = bench.traced(command, launcher)
                bench.forget(directory)
                if manifest["lost"] != 0:
                    remark("%d records lost" % manifest["lost"])
            times[kind] = number_after(output, *words)
        added.append((times["traced"] / times["plain"] - 1) * 100)
        last = times
    remark("last pair: plain %.3f, recorded %.3f" % (
        last["plain"], last["traced"]))
    return added


def judge(name, added, target):
    low, middle, high = interval(added)
    remark("%s: %d pairs, added %.2f %%, 95 %% interval %.2f to %.2f %%" % (
        name, len(added), middle, low, high))
    figure("5 added by recording, %s, lower end" % name, low,
           "<= %.1f %%" % target, low <= target, " %")


def main():
    build = sys.argv[1]
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with Bench(build) as bench:
        try:
            iterations = bench.plain(
                [bench.test("bench_paced_mpi"), "--calibrate"]).strip()
        except FileNotFoundError:
            skip("5 added by recording", "packages openmpi-bin libopenmpi-dev")
            return
        judge("training step", pairs_run(
            bench, [bench.test("train"), "--steps", STEPS, "--time"],
            ("mean",), pairs), 1.0)
        paced = [bench.test("bench_paced_mpi"), CALLS, iterations]
        for ranks in ("2", "1"):
            judge("MPI call each 10 us, n %s" % ranks, pairs_run(
                bench, paced, ("min",), max(pairs // 2, 3), ranks), 0.5)


main()
