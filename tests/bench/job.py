# job.py - jobs with and without ck, and lines of figures: for the benchmarks
#
# SPDX-License-Identifier: Apache-2.0
"""Used by the programs of tests/bench that run whole jobs.

A line of a figure is `NUMBER text | measured | target | verdict`, as
bench_record prints it; lines that begin with # explain.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 300
SKIP = 77


def rings_make(work):
    """A directory for ring files apart from those of other jobs, as of
    tests/rings.sh (which removes what a killed one left)."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else work
    return tempfile.mkdtemp(prefix="ck-test.%d." % os.getpid(), dir=shared)


class Bench:
    """A build folder and a folder for runs that goes away at the end."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.work = tempfile.mkdtemp(prefix="ck-bench-")
        runtime = os.path.join(self.work, "runtime")
        os.mkdir(runtime, 0o700)
        self.rings = rings_make(self.work)
        self.environment = dict(
            os.environ,
            XDG_RUNTIME_DIR=runtime,
            CK_TEST_RINGS=self.rings,
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
            PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
        )
        self.runs = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.rings, ignore_errors=True)

    def test(self, name):
        return os.path.join(self.build, "tests", name)

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def plain(self, command, **more):
        """Output of a command that must succeed."""
        done = subprocess.run(
            command, env=self.environment, cwd=self.work, timeout=LIMIT_S,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        if done.returncode != 0:
            sys.exit("failed (%d): %s\n%s" % (
                done.returncode, " ".join(command), done.stderr[-2000:]))
        return done.stdout

    def traced(self, command, launcher=(), options=()):
        """(output, run directory, manifest) of a recorded job."""
        self.runs += 1
        directory = os.path.join(self.work, "run%d" % self.runs)
        output = self.plain([*launcher, self.program("ckagent"), "--dir",
                             directory, *options, "--", *command])
        with open(os.path.join(directory, "manifest.json")) as file:
            return output, directory, json.load(file)

    def forget(self, directory):
        shutil.rmtree(directory, ignore_errors=True)


def agents_cpu_ns(manifest):
    return sum(agent["cpu_ns"] for agent in manifest["agents"])


def number_after(text, *words):
    """The number that follows these words in one line of text."""
    for line in text.splitlines():
        parts = line.split()
        for i in range(len(parts) - len(words)):
            if tuple(parts[i:i + len(words)]) == words:
                return float(parts[i + len(words)])
    sys.exit("no %s in: %s" % (" ".join(words), text))


def watched(command):
    """(CPU seconds, peak KiB without a file behind it) of a process; what it
    prints is dropped."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        try:
            with open("/proc/%d/status" % child.pid) as file:
                for line in file:
                    if line.startswith("RssAnon"):
                        peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.005)
    if status != 0:
        sys.exit("%s: status %d" % (command[0], status))
    return usage.ru_utime + usage.ru_stime, peak


def verdict(measured, is_met, is_above_0):
    if not math.isfinite(measured) or (is_above_0 and measured <= 0):
        return "not measured"
    return "met" if is_met else "MISSED"


def figure(name, measured, target, is_met, unit="", is_above_0=True):
    """A time or a ratio of 0 was not measured; a count or a difference may be
    anything."""
    print("%-52s | %8.3f%s | %s | %s" % (
        name, measured, unit, target, verdict(measured, is_met, is_above_0)),
        flush=True)


def remark(text):
    print("# " + text, flush=True)


def skip(name, reason):
    print("%-52s | - | - | not measured: needs %s" % (name, reason), flush=True)
