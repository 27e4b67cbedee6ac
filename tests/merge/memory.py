#!/usr/bin/env python3
"""memory.py - an analysis needs memory for its ranks, not for its events

SPDX-License-Identifier: Apache-2.0

memory.py BENCH_MANY CKMERGE: made-up runs, merged where the kernel gives no
more than so much memory of its own to a process (RLIMIT_DATA counts what is
asked for, so the same run needs the same each time). Not for sanitizers.
"""
import os
import resource
import subprocess
import sys
import tempfile

MIB = 1 << 20
# Ranks, turns of three events, limit. Of many ranks 64 MiB, 32 KiB for each, 4 MiB
# for a second thread and for calls that launch, and what is left out before the
# first large page, less than 2 (99 to 101 MiB are needed); of few 10 MiB are,
# however many turns there are.
RUNS = ((1024, 40, 70 * MIB + 1024 * 32 * 1024),
        (16, 16000, 24 * MIB))
# The page holds as many items whatever the run's length, and of a job of more
# than 64 ranks a picture of 2^20 cells in two layers of four bytes. 8 MiB of it
# are for the blocks between threads: most for notes on waits and idle time, of
# which each event has one here.
PAGE = 32 * MIB
PICTURE = 8 * MIB


def merges(ckmerge, run, limit, has_page):
    """Does ckmerge do with that?"""
    def bound():
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    done = subprocess.run([ckmerge, "-q", run] if has_page else
                          [ckmerge, "-q", "--no-page", run],
                          preexec_fn=bound, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0 and os.path.exists(
        os.path.join(run, "report.html" if has_page else "report.json"))


def main():
    many, ckmerge = sys.argv[1:3]
    failed = 0
    for ranks, turns, limit in RUNS:
        with tempfile.TemporaryDirectory() as run:
            subprocess.run([many, "--write", run, str(ranks), str(turns)],
                           check=True, stdout=subprocess.DEVNULL)
            # Where the limit is not kept nothing is shown.
            if merges(ckmerge, run, 4 * MIB, False):
                sys.exit("ckmerge does with 4 MiB: no limit is kept here")
            for has_page in (False, True):
                room = limit + (PAGE + PICTURE * (ranks > 64)) * has_page
                is_enough = merges(ckmerge, run, room, has_page)
                print("%d ranks, %d events, %s, %d MiB: %s" % (
                    ranks, ranks * turns * 3,
                    "with the page" if has_page else "--no-page", room // MIB,
                    "enough" if is_enough else "NOT ENOUGH"))
                failed += not is_enough
    return int(failed > 0)


sys.exit(main())
