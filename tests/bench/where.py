#!/usr/bin/env python3
# where.py BUILD [RANKS [CYCLES [EACH [KIND...]]]] - what `ckagg --where` takes, and costs
#
# SPDX-License-Identifier: Apache-2.0
"""RANKS ranks (64) make steps: of 20 ms of sleep and an Allreduce (KIND quiet), or
of 1 ms of computing and an Allreduce (busy). A cycle has four windows of EACH
seconds (4), in random order (fixed seed): in one they are asked once where they are,
in one status is asked three times, in two nothing happens. So both answers' times
are from the same job in the same situation, and the steps of a window with a
question are compared with the mean of the two without, and these two with
each other: what the machine alone makes of it.

Printed: both answers' median times and their ratio; the mean and the median step
of windows with a question against those without, with its 95 % interval by
bootstrap over CYCLES (14) cycles, and that as time for each question. The
first question of a job is printed, but not counted among the others.

Where ranks fill all CPUs, the steps lose what a question takes of these: the CPU
time of ck's processes in windows with a question against those without, of
collectors, of ckagg with its ckmerge, and of the ckagg that asks. Steps of 20 ms
that wait for the slowest of 64 ranks differ by more than 1 % by themselves, CPU time
does not. The figure is that time as a part of all CPUs' time in QUESTION_EACH_S.
"""
import os
import random
import resource
import statistics
import subprocess
import sys
import time

from job import Bench, figure, remark
from turns import bootstrap

START_S = 5  # behind the first step
STATUS_EACH = 3
QUESTION_EACH_S = 20


def process_s(folder, pid):
    """(command, CPU seconds) of a process of ck with the children that ended;
    None = it is another, or gone."""
    try:
        if not os.readlink("/proc/%s/exe" % pid).startswith(folder):
            return None
        with open("/proc/%s/stat" % pid) as file:
            command, rest = file.read().rsplit(")", 1)
        ended = sum(map(int, rest.split()[13:15])) / os.sysconf("SC_CLK_TCK")
        ns = 0
        for thread in os.listdir("/proc/%s/task" % pid):
            with open("/proc/%s/task/%s/schedstat" % (pid, thread)) as file:
                ns += int(file.read().split()[0])
        return command.split("(", 1)[1], ns / 1e9 + ended
    except OSError:
        return None


def cpu_s(bench):
    """CPU seconds of ck's processes up to now, by what they are."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {"collectors": 0, "ckagg, ckmerge": 0,
             "who asks": usage.ru_utime + usage.ru_stime}
    folder = os.path.dirname(bench.program("ckagg")) + "/"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        process = process_s(folder, pid)
        if process is not None:
            part = ("ckagg, ckmerge" if process[0].startswith("ckagg")
                    else "collectors")
            found[part] += process[1]
    return found


def asked(bench, what, run):
    begin = time.monotonic()
    done = subprocess.run([bench.program("ckagg"), what, run],
                          capture_output=True, text=True, env=bench.environment)
    took = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(done.stderr)
    if what == "--where" and "rank" not in done.stdout:
        sys.exit("no answer: " + done.stdout)
    return took


def window(bench, what, run, each):
    """(times of what was asked, begin, end, CPU seconds of ck's processes)"""
    before = cpu_s(bench)
    begin = time.monotonic()
    times = []
    count = {"--where": 1, "--status": STATUS_EACH}.get(what, 0)
    for i in range(count):
        time.sleep(max(0, begin + 0.1 + i * each / count - time.monotonic()))
        times.append(asked(bench, what, run))
    time.sleep(max(0, begin + each - time.monotonic()))
    end = time.monotonic()
    return times, begin, end, {part: after - before[part]
                               for part, after in cpu_s(bench).items()}


def cycles_run(bench, run, cycles, each):
    """A list of cycles, each a dict of lists of windows by what was asked."""
    draw = random.Random(17)
    found = []
    for _ in range(cycles):
        order = ["--where", "--status", "", ""]
        draw.shuffle(order)
        cycle = {}
        for what in order:
            cycle.setdefault(what, []).append(window(bench, what, run, each))
        found.append(cycle)
    return found


def steps_of(file):
    with open(file) as lines:
        return [tuple(int(word) / 1e9 for word in line.split())
                for line in lines]


def lengths(steps, windows):
    return [b - a for _, begin, end, _ in windows for a, b in steps
            if begin <= a < end]


def change(name, values):
    """Print relative changes in percent, one a cycle; return their mean and
    its interval."""
    low, middle, high = bootstrap([100 * value for value in values],
                                  statistics.mean)
    remark("%s: %+.2f %% (95 %%: %+.2f to %+.2f; %s)" % (
        name, middle, low, high, " ".join("%+.1f" % (100 * v) for v in values)))
    return middle, low, high


def steps_report(kind, cycles, steps, each):
    for name, of in (("mean", statistics.mean), ("median", statistics.median)):
        of_cycles = [{what: [of(lengths(steps, [w])) for w in windows]
                      for what, windows in cycle.items()} for cycle in cycles]
        without = [statistics.mean(cycle[""]) for cycle in of_cycles]
        remark("%s, %s of steps without a question: %.2f ms" % (
            kind, name, 1e3 * statistics.mean(without)))
        change("%s, %s of steps, two windows without a question" % (kind, name),
               [cycle[""][0] / cycle[""][1] - 1 for cycle in of_cycles])
        change("%s, %s of steps, window with %d status" % (
            kind, name, STATUS_EACH),
            [cycle["--status"][0] / base - 1
             for cycle, base in zip(of_cycles, without)])
        middle, low, high = change(
            "%s, %s of steps, window of %g s with a question" % (
                kind, name, each),
            [cycle["--where"][0] / base - 1
             for cycle, base in zip(of_cycles, without)])
        print("%-52s | %+8.2f %% | < 1 %% | %s" % (
            "step time, %s, one question in %g s, %s" % (name, each, kind),
            middle, "met" if high < 1 else
            "MISSED" if low >= 1 else "not decided"), flush=True)
        if name == "mean":
            remark("%s, a question takes %.0f ms from the steps (95 %%: %.0f to "
                   "%.0f)" % (kind, 10 * each * middle, 10 * each * low,
                              10 * each * high))


def cpu_report(kind, cycles):
    """What a question takes of the CPUs, by part, and of all time."""
    def more(part):
        return [cycle["--where"][0][3][part] -
                statistics.mean(w[3][part] for w in cycle[""])
                for cycle in cycles]

    parts = {part: more(part) for part in cycles[0][""][0][3]}
    for part, values in parts.items():
        low, middle, high = bootstrap([1e3 * v for v in values],
                                      statistics.mean)
        remark("%s, CPU time of a question, %s: %.0f ms (95 %%: %.0f to %.0f)"
               % (kind, part, middle, low, high))
    share = 100 / (os.cpu_count() * QUESTION_EACH_S)
    low, middle, high = bootstrap(
        [share * sum(values) for values in zip(*parts.values())],
        statistics.mean)
    remark("%s, all CPU time of a question: %.2f %% (95 %%: %.2f to %.2f) of %d "
           "CPUs in %d s" % (kind, middle, low, high, os.cpu_count(),
                             QUESTION_EACH_S))
    print("%-52s | %+8.2f %% | < 1 %% | %s" % (
        "CPU time, one question in %d s, %s" % (QUESTION_EACH_S, kind), middle,
        "met" if high < 1 else "MISSED" if low >= 1 else "not decided"),
        flush=True)


def measure(bench, kind, ranks, count, each):
    run = os.path.join(bench.work, kind)
    file = os.path.join(bench.work, kind + ".steps")
    job = subprocess.Popen(
        ["mpirun", "-n", ranks, bench.program("ckagent"), "--dir", run,
         "--report", "none", "--", bench.test("bench_where"), kind,
         str(int(START_S + 20 + 4 * count * each)), file],
        env=bench.environment, stdout=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while "begun" not in (line := job.stdout.readline()):
        if not line:
            sys.exit("no step was made")
    remark("%s: all ranks are there after %.0f s" % (
        kind, time.monotonic() - begin))
    time.sleep(START_S)
    remark("%s: the first --where %.0f ms" % (
        kind, 1e3 * asked(bench, "--where", run)))
    time.sleep(each)
    cycles = cycles_run(bench, run, count, each)
    job.wait()
    times = {}
    for what in ("--status", "--where"):
        times[what] = [t for cycle in cycles for w in cycle[what] for t in w[0]]
        remark("%s: %s %s ms" % (kind, what, " ".join(
            "%.0f" % (1e3 * t) for t in times[what])))
    half = {what: statistics.median(of) for what, of in times.items()}
    remark("%s: medians %.1f and %.1f ms" % (
        kind, 1e3 * half["--status"], 1e3 * half["--where"]))
    ratio = half["--where"] / half["--status"]
    figure("--where of %s ranks, %s, in round trips of status" % (ranks, kind),
           ratio, "<= 10", ratio <= 10)
    cpu_report(kind, cycles)
    steps_report(kind, cycles, steps_of(file), each)


def main():
    build = sys.argv[1]
    ranks = sys.argv[2] if len(sys.argv) > 2 else "64"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 14
    each = float(sys.argv[4]) if len(sys.argv) > 4 else 4
    with Bench(build) as bench:
        for kind in sys.argv[5:] or ("quiet", "busy"):
            measure(bench, kind, ranks, count, each)


main()
