#!/usr/bin/env python3
# drain.py BUILD - what the collector spends on an event, and what it loses
#
# SPDX-License-Identifier: Apache-2.0
"""Figures 6 and 7. CPU time an event is the whole CPU time of the collector
(drain, encode, send, acknowledge) less that of a job of the same length with
few events (start, end, and the reading of call sites' names cost the same),
over the events; the smallest of some rounds. Drops are those of the default ring while one thread makes 10 M marks
a second.
"""
import sys

from job import Bench, agents_cpu_ns, figure, remark

ROUNDS = 5
SECONDS = "2"
FEW_MARKS = 1000
FEW_CALLS = 10000
MANY_CALLS = 3000000
RATES = {"6": 2000000, "7": 10000000}


def produce(bench, rate):
    output, directory, manifest = bench.traced(
        [bench.test("bench_producer"), str(rate), SECONDS])
    bench.forget(directory)
    return output, manifest


def calls(bench, count):
    """MPI calls of one rank, 96 bytes each: many as fast as they come, few
    with so much work between them that the job takes as long."""
    work = 500 * MANY_CALLS // count
    _, directory, manifest = bench.traced(
        [bench.test("bench_paced_mpi"), str(count), str(work)],
        ("mpirun", "-n", "1"))
    bench.forget(directory)
    return manifest


def event_ns(manifest, other_ns):
    """CPU time an event beyond what the job costs without its events."""
    return (agents_cpu_ns(manifest) - other_ns) / manifest["records"]


def main():
    with Bench(sys.argv[1]) as bench:
        marks, fast_marks, mpi, drops = [], [], [], []
        for _ in range(ROUNDS):
            _, idle = produce(bench, FEW_MARKS)
            idle_ns = agents_cpu_ns(idle)
            output, manifest = produce(bench, RATES["6"])
            marks.append(event_ns(manifest, idle_ns))
            few_ns = agents_cpu_ns(calls(bench, FEW_CALLS))
            mpi.append(event_ns(calls(bench, MANY_CALLS), few_ns))
            output, fast = produce(bench, RATES["7"])
            fast_marks.append(event_ns(fast, idle_ns))
            drops.append(fast["lost"])
            remark("idle %.1f ms in %s s; a mark %.2f ns, a call %.2f ns; "
                   "at 10 M/s a mark %.2f ns, %d of %d lost, %s" % (
                       idle_ns / 1e6, SECONDS, marks[-1], mpi[-1],
                       fast_marks[-1], fast["lost"],
                       fast["records"] + fast["lost"], output.strip()))
        figure("6 CPU of the collector a mark, 2 M/s", min(marks), "<= 12 ns",
               min(marks) <= 12, " ns")
        figure("6 CPU of the collector a mark, 10 M/s", min(fast_marks),
               "<= 12 ns", min(fast_marks) <= 12, " ns")
        figure("6 CPU of the collector an MPI call", min(mpi), "<= 12 ns",
               min(mpi) <= 12, " ns")
        figure("7 drops at 10 M marks/s, best of %d" % ROUNDS, min(drops),
               "0", min(drops) == 0)


main()
