#!/usr/bin/env python3
"""earlyend.py - a merge that ends early leaves what was there, and no more

SPDX-License-Identifier: Apache-2.0

earlyend.py BENCH_MANY CKMERGE: a run that was merged before is merged again
with too little memory (RLIMIT_DATA, fifty limits) and interrupted (SIGINT,
SIGTERM and SIGHUP, at ten moments each). Either the merge is whole, or it ends
with status 1 and one line that names memory, or of the signal; the report of
before is there byte by byte, and no file that was not. Not for sanitizers.
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


def main():
    many, ckmerge = sys.argv[1:3]
    ends = {"out of memory": 0, "whole": 0, "interrupted": 0}
    with tempfile.TemporaryDirectory() as run:
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
