#!/usr/bin/env python3
# starts.py BUILD[,BUILD...] [PROGRAMS [ROUNDS]] - what many short programs cost
#
# SPDX-License-Identifier: Apache-2.0
"""A shell starts PROGRAMS (2000) times /bin/true, alone and below ckagent, in
turn, ROUNDS (7) times: half of those alone before and half behind, and builds
in turned order each other round, for a machine's speed drifts. Where perf is
installed it samples the same loop in the same rounds, 99 times a second with
copies of stacks as large as ck's, and writes them to a file; nothing reads them.
Counted is the CPU time of all processes of the job:
shell, programs, front, collector, ckagg and ckmerge, those that live on when
ckagent has ended as well. Prints a line for each round, and the median of the
rounds' ratios as the figure. Several builds are compared in the same rounds;
the figure is of the first one.
"""
import ctypes
import os
import resource
import shutil
import subprocess
import sys
from statistics import median

from job import LIMIT_S, Bench, figure, remark

PR_SET_CHILD_SUBREAPER = 36
TARGET = 1.15
PEER = ["perf", "record", "-q", "-F", "99", "-e", "cpu-clock", "--call-graph",
        "dwarf,16384"]


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def job_cpu_s(bench, command):
    """CPU time of a job with all that it leaves behind, which becomes ours."""
    before = cpu_s()
    done = subprocess.run(command, env=bench.environment, cwd=bench.work,
                          timeout=LIMIT_S, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("failed (%d): %s\n%s" % (done.returncode, " ".join(command),
                                          done.stderr[-2000:]))
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return cpu_s() - before


def peer_cpu_s(bench, loop):
    if shutil.which(PEER[0]) is None:
        return None
    file = os.path.join(bench.work, "peer")
    return job_cpu_s(bench, [*PEER, "-o", file, "--", *loop])


def main():
    benches = [Bench(build) for build in sys.argv[1].split(",")]
    programs = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    half, loop = (["sh", "-c", "i=0; while [ $i -lt %d ]; do /bin/true; "
                   "i=$((i+1)); done" % count]
                  for count in (programs // 2, programs // 2 * 2))
    ratios = [[] for _ in benches]
    peers = []
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        for turn in range(rounds):
            plain = job_cpu_s(benches[0], half)
            below = {}
            for bench in benches[::-1 if turn % 2 else 1]:
                run = os.path.join(bench.work, "run")
                below[bench] = job_cpu_s(bench, [
                    bench.program("ckagent"), "--report", "none", "--dir", run,
                    "--", *loop])
                shutil.rmtree(run)
            peer = peer_cpu_s(benches[0], loop)
            plain += job_cpu_s(benches[0], half)
            if peer is not None:
                peers.append(peer / plain)
            for bench, found in zip(benches, ratios):
                found.append(below[bench] / plain)
            remark("%d programs: alone %.3f s, below ckagent %s%s" % (
                programs, plain, ", ".join(
                    "%.3f s (%.3f)" % (below[bench], found[-1])
                    for bench, found in zip(benches, ratios)),
                ", perf (%.3f)" % peers[-1] if peers else ""))
    finally:
        for bench in benches:
            bench.__exit__()
    for bench, found in zip(benches, ratios):
        remark("%s: least %.3f, median %.3f, most %.3f" % (
            bench.build, min(found), median(found), max(found)))
    if peers:
        remark("perf: least %.3f, median %.3f, most %.3f" % (
            min(peers), median(peers), max(peers)))
    found = median(ratios[0])
    figure("13 %d short programs below ckagent / alone" % programs, found,
           "<= %.2f" % TARGET, found <= TARGET)


if __name__ == "__main__":
    main()
