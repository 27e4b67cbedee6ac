#!/usr/bin/env python3
"""twocpus.py - what a merge finds does not depend on how many CPUs it has

SPDX-License-Identifier: Apache-2.0

twocpus.py BENCH_MERGE CKMERGE: made-up runs that are long enough for a second
thread, merged on one CPU and, some times, on two; all outputs are byte for byte
the same.
"""
import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
KINDS = ("varied", "waiting", "matched")
EVENTS = 20000  # of each of four ranks
TIMES = 3
FILES = {"chrome": "trace.json", "perfetto": "trace.pftrace", "sqlite": "trace.sqlite", "folded": "stacks.folded",
         "csv": "tables", "svg-timeline": "timeline.svg", "openmetrics": "metrics.txt"}


def merged(ckmerge, run, work, cpus):
    """name -> bytes of each file that a merge writes."""
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    outputs = [argument for name, file in FILES.items()
               for argument in ("--output", f"{name}={os.path.join(work, file)}")]
    subprocess.run([ckmerge, "-q", *outputs, run], check=True, stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    found = {}
    for folder, _, names in [*os.walk(work), (run, [], ["report.txt", "report.json", "report.html"])]:
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


def main():
    bench, ckmerge = sys.argv[1:3]
    cpus = sorted(os.sched_getaffinity(0))
    wrong = 0
    if len(cpus) < 2:
        print("skip: one CPU")
        sys.exit(SKIP)
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as base:
            run, work = os.path.join(base, "run"), os.path.join(base, "out")
            os.mkdir(run)
            subprocess.run([bench, "--write", run, str(EVENTS), "4", kind], check=True, stdout=subprocess.DEVNULL)
            one = merged(ckmerge, run, work, cpus[:1])
            if len(one) < len(FILES) + 3:
                sys.exit(f"{kind}: {sorted(one)}: files are missing")
            for _ in range(TIMES):
                two = merged(ckmerge, run, work, cpus[:2])
                differ = [name for name in sorted({*one, *two}) if one.get(name) != two.get(name)]
                wrong += len(differ)
                if differ:
                    print(f"{kind}: with two CPUs {differ} differ")
            print(f"{kind}: {len(one)} files")
    sys.exit(1 if wrong else 0)


main()
