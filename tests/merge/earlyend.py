#!/usr/bin/env python3
"""earlyend.py - a merge that ends early leaves what was there, and no more

SPDX-License-Identifier: Apache-2.0

earlyend.py BENCH_MANY CKMERGE [REFUSE]: a run that was merged before is merged
again with too little memory (RLIMIT_DATA, fifty limits), with one allocation
that fails (refuse.c, each third one) and interrupted (SIGINT, SIGTERM and
SIGHUP, at ten moments each). Either the merge is whole, or it ends with status
1 and one line that names memory, or of the signal; the report of before is
there byte by byte, and no file that was not. The readers of profiles end with
it. Not for sanitizers.
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def state(run):
    with open(os.path.join(run, "report.json"), "rb") as file:
        return sorted(os.listdir(run)), file.read()


def limited(ckmerge, run, out, limit):
    outputs = ["--output=%s=%s" % (name, os.path.join(out, name))
               for name in ("chrome", "perfetto")]
    done = subprocess.run(
        [ckmerge, "-q", "--from", "0s", run] + outputs, capture_output=True,
        text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                                         (limit, limit)))
    left = os.listdir(out)
    if done.returncode != 0 and left:
        sys.exit("%d bytes: %s is left: %s" % (limit, left, done.stderr))
    for name in left:
        os.unlink(os.path.join(out, name))


def refusals(many, ckmerge, refuse):
    """How many merges ended when one of their allocations failed."""
    ended = 0
    with tempfile.TemporaryDirectory() as run:
        merge = [ckmerge, "-q", run]
        subprocess.run([many, "--write", run, "4", "40"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(merge, check=True)
        before = state(run)
        for number in range(1, 10000, 3):
            done = subprocess.run(merge, capture_output=True, text=True,
                                  env=dict(os.environ, LD_PRELOAD=refuse,
                                           CK_REFUSE=str(number)))
            if done.returncode not in (0, 1) or (
                    done.returncode == 1 and ("memory" not in done.stderr or
                                              state(run) != before)) or (
                    state(run)[1] != before[1]):
                sys.exit("allocation %d: status %d: %s" % (
                    number, done.returncode, done.stderr))
            ended += done.returncode == 1
            if done.stderr and done.returncode == 0:
                subprocess.run(merge, check=True)
            if number > 3 * (ended + 200):
                break
    return ended


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def is_reading(pid, paths):
    try:
        links = ["/proc/%d/fd/%s" % (pid, fd)
                 for fd in os.listdir("/proc/%d/fd" % pid)]
        return any(os.readlink(link) in paths for link in links)
    except OSError:
        return False


def readers_end(ckmerge):
    """None is left of a merge of profiles that gets a signal to end."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = [os.path.join(scratch, "rank%d.json" % rank) for rank in (0, 1)]
        event = ('{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, '
                 '"tid": 7, "ts": %d, "dur": 3}')
        for path in paths:
            with open(path, "w") as file:
                file.write("[%s]" % ",".join(event % (5 * i)
                                             for i in range(200000)))
        merge = subprocess.Popen(
            [ckmerge, "-q", "--kernel-only"] + paths +
            [os.path.join(scratch, "out.json")],
            env=dict(os.environ, TMPDIR=scratch))
        children = "/proc/%d/task/%d/children" % (merge.pid, merge.pid)
        readers = set()
        while len(readers) < 2 and merge.poll() is None:
            with open(children) as file:
                found = [int(pid) for pid in file.read().split()]
            for pid in found:
                if pid not in readers and is_reading(pid, paths):
                    os.kill(pid, signal.SIGSTOP)
                    readers.add(pid)
        merge.terminate()
        status = merge.wait(timeout=60)
        left = os.listdir(scratch)
        end = time.monotonic() + 20
        while (any(is_running(pid) for pid in readers) and
               time.monotonic() < end):
            time.sleep(0.01)
        running = [pid for pid in readers if is_running(pid)]
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        if running:
            sys.exit("a reader is left of a merge that was told to end")
        if status != -signal.SIGTERM or len(left) != 2:
            sys.exit("readers: status %d, left: %s" % (status, left))


def main():
    many, ckmerge = sys.argv[1:3]
    if len(os.sched_getaffinity(0)) > 1:
        readers_end(ckmerge)
    else:
        print("one CPU, no readers of profiles: their end is not seen")
    ends = {"out of memory": 0, "whole": 0, "interrupted": 0}
    if len(sys.argv) > 3:
        ends["refused"] = refusals(many, ckmerge, sys.argv[3])
    with tempfile.TemporaryDirectory() as run, \
            tempfile.TemporaryDirectory() as out:
        subprocess.run([many, "--write", run, "64", "400"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([ckmerge, "-q", run], check=True,
                       stdout=subprocess.DEVNULL)
        before = state(run)

        def check(what):
            if state(run) != before:
                sys.exit("%s: the run directory is not as before: %s" % (
                    what, set(os.listdir(run)) ^ set(before[0])))

        for number in range(50):
            limit = int(3.5 * MIB * 1.07 ** number)
            done = subprocess.run(
                [ckmerge, "-q", run], capture_output=True, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                                      (limit, limit)))
            check("%d bytes" % limit)
            limited(ckmerge, run, out, limit)
            if done.returncode == 0:
                ends["whole"] += 1
            elif (done.returncode == 1 and "memory" in done.stderr and
                  done.stderr.count("\n") == 1):
                ends["out of memory"] += 1
            else:
                sys.exit("%d bytes: status %d: %s" % (limit, done.returncode,
                                                      done.stderr))
        begin = time.monotonic()
        subprocess.run([ckmerge, "-q", run], check=True,
                       stdout=subprocess.DEVNULL)
        length = time.monotonic() - begin
        for number in SIGNALS:
            for moment in range(10):
                merge = subprocess.Popen([ckmerge, "-q", run],
                                         stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
                time.sleep(length * (moment + 0.5) / 10)
                merge.send_signal(number)
                status = merge.wait(timeout=60)
                check("signal %d" % number)
                if status not in (0, -number):
                    sys.exit("signal %d: status %d" % (number, status))
                ends["whole" if status == 0 else "interrupted"] += 1
    print(", ".join("%s: %d" % item for item in ends.items()))
    return 0 if all(ends.values()) else "not each end was seen"


sys.exit(main())
