#!/usr/bin/env python3
# drain.py BUILD - what the collector spends on an event, and what it loses
#
# SPDX-License-Identifier: Apache-2.0
"""Figures 6 and 7. CPU time an event is what a longer job takes of the
collector's CPU time beyond a shorter one of the same kind, over the events that
it has more: its turns are in it, whatever is in them; start, end and the
reading of call sites' names are not. Each the smallest of some rounds. (A job
with few events is no measure: the cheaper its idle turns, the dearer events
would seem.) Drops are those of the default ring while one thread makes 10 M
marks a second, and those of one that does so after a calm second.

In the same turns a bare recorder (waker.c) does what any collector must: it
reads as large records from a ring of that size, as often as ck looks, and writes
differences of them to a file. Its figures, beside the targets, are the bound of
the machine.
"""
import re
import sys

from job import Bench, agents_cpu_ns, figure, remark

ROUNDS = 5
SLOW = 2000000
FAST = 10000000
FAST_SECONDS = 2
CALM_S = 1
TARGET_NS = 12
LOOK_US = "8000"  # as in step_time.py
BARE = re.compile(r"waker cpu (\d+) ns wakes (\d+) units (\d+) bytes \d+ "
                  r"lost (\d+)")
CALL_UNITS = 3  # of paced_mpi.c


def produce(bench, rate, seconds, calm=0):
    output, directory, manifest = bench.traced(
        [bench.test("bench_producer"), str(rate), str(seconds), "0",
         str(calm)])
    bench.forget(directory)
    return output, manifest


def marks(bench, rate, seconds):
    return produce(bench, rate, seconds)[1]


def calls(bench, count):
    """MPI calls of one rank, 96 bytes each, as fast as they come."""
    _, directory, manifest = bench.traced(
        [bench.test("bench_paced_mpi"), str(count), "500"],
        ("mpirun", "-n", "1"))
    bench.forget(directory)
    return manifest


def bare(bench, launcher, command, units):
    """What a bare recorder prints of such a job, as a manifest has it."""
    found = BARE.search(bench.plain(
        [*launcher, bench.test("bench_waker"), LOOK_US, *command]))
    if found is None:
        sys.exit("bench_waker printed nothing of itself")
    cpu_ns, _, read, lost = map(int, found.groups())
    return {"agents": [{"cpu_ns": cpu_ns}], "records": read // units,
            "lost": lost}


def bare_marks(bench, rate, seconds):
    return bare(bench, (), [bench.test("bench_producer"), str(rate),
                            str(seconds)], 1)


def bare_calls(bench, count):
    return bare(bench, ("mpirun", "-n", "1"),
                [bench.test("bench_paced_mpi"), str(count), "500"], CALL_UNITS)


class Cost:
    """CPU time an event, from jobs of two lengths; `bound`: of a bare
    recorder of the same."""

    def __init__(self, text, job, lengths, bound=None):
        self.text = text
        self.job = job
        self.length = lengths
        self.bound = bound
        self.cpu_ns = ([], [])
        self.records = [0, 0]

    def measure(self):
        for i, length in enumerate(self.length):
            self.take(i, self.job(length))
            if self.bound is not None:
                self.bound.take(i, self.bound.job(length))

    def take(self, i, manifest):
        self.cpu_ns[i].append(agents_cpu_ns(manifest))
        self.records[i] = manifest["records"]

    def event_ns(self):
        return ((min(self.cpu_ns[1]) - min(self.cpu_ns[0])) /
                (self.records[1] - self.records[0]))

    def show(self):
        remark("%s: %.1f ms of CPU time for %d events, %.1f ms for %d" % (
            self.text, min(self.cpu_ns[0]) / 1e6, self.records[0],
            min(self.cpu_ns[1]) / 1e6, self.records[1]))
        least = self.bound.event_ns()
        figure("6 CPU of the collector " + self.text, self.event_ns(),
               "<= %d ns (a bare recorder: %.1f ns, %.2f times)" % (
                   TARGET_NS, least, self.event_ns() / least),
               self.event_ns() <= TARGET_NS, " ns")


def costs(bench):
    """A mark at two rates, and an MPI call."""
    return (
        Cost("a mark, 2 M/s", lambda s: marks(bench, SLOW, s), (1, 3),
             Cost("", lambda s: bare_marks(bench, SLOW, s), (1, 3))),
        Cost("a mark, 10 M/s", lambda s: marks(bench, FAST, s),
             (0.5, FAST_SECONDS),
             Cost("", lambda s: bare_marks(bench, FAST, s),
                  (0.5, FAST_SECONDS))),
        Cost("an MPI call", lambda n: calls(bench, n), (1000000, 3000000),
             Cost("", lambda n: bare_calls(bench, n), (1000000, 3000000))))


def main():
    with Bench(sys.argv[1]) as bench:
        slow, fast, mpi = costs(bench)
        drops = []
        bare_drops = []
        surprised = []
        for _ in range(ROUNDS):
            slow.measure()
            mpi.measure()
            fast.take(0, fast.job(fast.length[0]))
            fast.bound.take(0, fast.bound.job(fast.length[0]))
            output, manifest = produce(bench, FAST, FAST_SECONDS)
            fast.take(1, manifest)
            least = fast.bound.job(FAST_SECONDS)
            fast.bound.take(1, least)
            bare_drops.append(least["lost"])
            drops.append(manifest["lost"])
            remark("at 10 M/s %d of %d lost, %s" % (
                drops[-1], manifest["records"] + drops[-1], output.strip()))
            surprised.append(produce(bench, FAST, 1, CALM_S)[1]["lost"])
        for cost in (slow, fast, mpi):
            cost.show()
        figure("7 drops at 10 M marks/s, worst of %d" % ROUNDS, max(drops),
               "0 (a bare recorder: %d)" % max(bare_drops), max(drops) == 0, is_above_0=False)
        figure("7 the same after a calm second, worst of %d" % ROUNDS,
               max(surprised), "0", max(surprised) == 0, is_above_0=False)


main()
