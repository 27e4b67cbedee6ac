#!/usr/bin/env python3
# step_time.py BUILD [THREES] - what recording costs a program's own loop
#
# SPDX-License-Identifier: Apache-2.0
"""Figure 5: the training program on 2 ranks, and a program with one MPI call
per 10 us of work on 2 ranks and on 1. A run gives one time: of the training
the median step, of the paced program the median fortieth of a second. Runs
come in threes, plain, recorded, plain; the value of a three is the recorded
time over the mean of the two plain ones, so that a machine that gets busier or
quieter counts for both alike. Printed is the median of the values with its
95 % interval by bootstrap (fixed seed), and the same of the second plain run
against the first: what the machine alone makes of it. The verdict is on the
lower end of the interval: on a machine whose noise is wider than the target
only that can be told. Where ranks fill all cores, the collector takes its time
from them; with 1 rank on 2 cores it does not.
"""
import random
import sys

from job import Bench, figure, number_after, remark, skip

STEPS = "60"
CALLS = "40000"
RESAMPLES = 4000


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def bootstrap(values):
    """(low, middle, high): the median and its 95 % interval."""
    draw = random.Random(5)
    medians = sorted(median(draw.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    return (medians[int(0.025 * RESAMPLES)], median(values),
            medians[int(0.975 * RESAMPLES)])


class Runs:
    """Runs of one command, plain and recorded."""

    def __init__(self, bench, command, ranks):
        self.bench = bench
        self.command = command
        self.launcher = ("mpirun", "-n", ranks)

    def plain(self):
        output = self.bench.plain([*self.launcher, *self.command])
        return number_after(output, "median")

    def recorded(self):
        output, directory, manifest = self.bench.traced(
            self.command, self.launcher, ("--report", "none"))
        self.bench.forget(directory)
        if manifest["lost"] != 0:
            remark("%d records lost" % manifest["lost"])
        return number_after(output, "median")

    def added(self):
        """Added time in percent of (recorded, the second plain run)."""
        before = self.plain()
        recorded = self.recorded()
        after = self.plain()
        return ((recorded * 2 / (before + after) - 1) * 100,
                (after / before - 1) * 100)


def judge(name, added, target):
    low, middle, high = bootstrap([pair[0] for pair in added])
    alone = bootstrap([pair[1] for pair in added])
    remark("%s: %d threes, added %.2f %%, 95 %% interval %.2f to %.2f %%; "
           "plain against plain %.2f %%, %.2f to %.2f %%" % (
               name, len(added), middle, low, high, alone[1], alone[0],
               alone[2]))
    figure("5 added by recording, %s, lower end" % name, low,
           "<= %.1f %%" % target, low <= target, " %")


def main():
    build = sys.argv[1]
    threes = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with Bench(build) as bench:
        try:
            iterations = bench.plain(
                [bench.test("bench_paced_mpi"), "--calibrate"]).strip()
        except FileNotFoundError:
            skip("5 added by recording", "packages openmpi-bin libopenmpi-dev")
            return
        training = Runs(bench, [bench.test("train"), "--steps", STEPS,
                                 "--time"], "2")
        judge("training step", [training.added() for _ in range(threes)], 1.0)
        for ranks in ("2", "1"):
            paced = Runs(bench, [bench.test("bench_paced_mpi"), CALLS,
                                  iterations], ranks)
            judge("MPI call each 10 us, n %s" % ranks,
                  [paced.added() for _ in range(threes)], 0.5)


main()
