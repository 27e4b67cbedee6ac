# turns.py - a program with and without ck, a second each in turn
#
# SPDX-License-Identifier: Apache-2.0
"""Used by step_time.py.

Runs one after the other differ by what the machine does meanwhile, by more
than what is looked for. So all jobs are started, and all but one are stopped
(SIGSTOP to each of their processes, agents and aggregators as well) while
that one has the machine. The program writes when each of its blocks began and
ended; counted are the blocks in the second part of a turn: what a
collector or a timer makes up for after it was stopped is over by then.
"""
import os
import random
import signal
import subprocess
import sys
import time
from statistics import median

from job import LIMIT_S

TURN_S = 1.2
SETTLE_S = 0.5
START_S = 2.0
RESAMPLES = 4000
BLOCKS_LEAST = 5


def bootstrap(values, of=median):
    """(low, middle, high): their median, or what `of` makes of them, and its 95 %
    interval."""
    draw = random.Random(5)
    found = sorted(of(draw.choices(values, k=len(values)))
                   for _ in range(RESAMPLES))
    return (found[int(0.025 * RESAMPLES)], of(values),
            found[int(0.975 * RESAMPLES)])


def processes():
    """pid -> (pid of the parent, command line) of all there are."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % name) as file:
                found[int(name)] = (parent, file.read())
        except OSError:
            pass
    return found


def work_of(launcher, directory):
    """Pids below a launcher, and those that have a run directory's name."""
    all_of_them = processes()
    pids = {launcher}
    while True:
        more = {pid for pid, (parent, line) in all_of_them.items()
                if parent in pids or (directory and directory in line)}
        if more <= pids:
            return pids - {launcher}
        pids |= more


class Job:
    """A job that is stopped but for its turns."""

    def __init__(self, bench, command, times, directory=""):
        self.times = times
        self.turns = []
        self.process = subprocess.Popen(
            command, env=bench.environment, cwd=bench.work,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(START_S)
        self.pids = work_of(self.process.pid, directory)
        self.send(signal.SIGSTOP)

    def send(self, number):
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def turn(self):
        self.send(signal.SIGCONT)
        time.sleep(SETTLE_S)
        begin = time.monotonic_ns()
        time.sleep(TURN_S - SETTLE_S)
        end = time.monotonic_ns()
        self.send(signal.SIGSTOP)
        self.turns.append((begin, end))

    def finish(self):
        self.send(signal.SIGCONT)
        _, errors = self.process.communicate(timeout=LIMIT_S)
        if self.process.returncode != 0:
            sys.exit("a job ended with %d: %s" % (
                self.process.returncode, errors[-2000:]))

    def end(self):
        """Leave no stopped process behind."""
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
            self.process.kill()
            self.process.wait()

    def medians(self):
        """Median time of a block in each turn; None: there were too few."""
        with open(self.times) as file:
            blocks = [tuple(map(int, line.split())) for line in file]
        found = []
        for begin, end in self.turns:
            inside = [b[1] - b[0] for b in blocks
                      if b[0] >= begin and b[1] <= end]
            found.append(median(inside) if len(inside) >= BLOCKS_LEAST
                         else None)
        return found


def added(plain, others, turns):
    """Run the jobs in turn. Added time in percent: for each of the others, of
    its turns against the plain ones around them; last, of each plain turn
    against the one before."""
    try:
        for _ in range(turns):
            plain.turn()
            for other in others:
                other.turn()
        plain.turn()
        for job in (plain, *others):
            job.finish()
    finally:
        for job in (plain, *others):
            job.end()
    without = plain.medians()
    found = [other.medians() for other in others]
    if any(None in times for times in (without, *found)):
        sys.exit("turns: a job ended before its turns did")
    return [[(times[i] * 2 / (without[i] + without[i + 1]) - 1) * 100
             for i in range(turns)] for times in found] + [
                 [(without[i + 1] / without[i] - 1) * 100
                  for i in range(turns)]]
