#!/usr/bin/env python3
# share.py BUILD [SECONDS] - CPU time of agents and aggregator in a training
#
# SPDX-License-Identifier: Apache-2.0
"""Figure 10: two recorded trainings, a short and a long one, with a ckagg of
our own, so that its CPU time can be read from the kernel. The long one less
the short one is the running cost, as a share of the CPU time of the program
itself; the short one is the fixed cost of start and end. The merge is not
part of either.
"""
import json
import os
import subprocess
import sys

from job import LIMIT_S, Bench, agents_cpu_ns, figure, number_after, remark

SHORT_STEPS = 100


def cpu_s(usage):
    return usage.ru_utime + usage.ru_stime


def job(bench, steps):
    """CPU seconds of (agents, ckagg, program), and the time of a step."""
    bench.runs += 1
    directory = os.path.join(bench.work, "run%d" % bench.runs)
    url = "ipc://%s/s%d" % (bench.work, bench.runs)
    ckagg = subprocess.Popen(
        [bench.program("ckagg"), "--embedded", "--no-merge", "--dir",
         directory, "--listen", url], env=bench.environment,
        stdout=subprocess.PIPE, text=True)
    ckagg.stdout.readline()
    target = subprocess.Popen(
        ["mpirun", "-n", "2", bench.program("ckagent"), "--aggregator", url,
         "--report", "none", "--", bench.test("train"), "--steps", str(steps),
         "--time"], env=bench.environment, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=bench.work)
    output, _ = target.communicate(timeout=LIMIT_S)
    _, status, usage = os.wait4(ckagg.pid, 0)
    if status != 0 or target.returncode != 0:
        sys.exit("share: ckagg ended with %d, mpirun with %d" % (
            status, target.returncode))
    with open(os.path.join(directory, "manifest.json")) as file:
        manifest = json.load(file)
    with open(os.path.join(directory, "figures.json"), "w") as file:
        subprocess.run([bench.program("ckmerge"), "--output", "json",
                        directory], stdout=file, stderr=subprocess.DEVNULL,
                       check=False)
    return (agents_cpu_ns(manifest) / 1e9, cpu_s(usage),
            target_cpu_s(directory), number_after(output, "mean"))


def target_cpu_s(directory):
    """User and system time of the targets, from the report's counters."""
    with open(os.path.join(directory, "figures.json")) as file:
        counters = json.load(file)["counters"]
    return sum(counter["value"] / 1e9 for counter in counters
               if counter["name"] == "task-clock")


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with Bench(sys.argv[1]) as bench:
        short = job(bench, SHORT_STEPS)
        steps = max(int(seconds * 1e6 / short[3]), 2 * SHORT_STEPS)
        long = job(bench, steps)
        ours = long[0] + long[1] - short[0] - short[1]
        share = ours / (long[2] - short[2]) * 100
        remark("start and end (%d steps): agents %.1f ms, ckagg %.1f ms of "
               "CPU time" % (SHORT_STEPS, short[0] * 1e3, short[1] * 1e3))
        remark("%d steps of %.2f ms: agents %.1f ms, ckagg %.1f ms, program "
               "%.2f s of CPU time" % (steps, long[3] / 1e3, long[0] * 1e3,
                                       long[1] * 1e3, long[2]))
        figure("10 CPU of agents and ckagg / of the program", share,
               "<= 1 %", share <= 1, " %")


main()
