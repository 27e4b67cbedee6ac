#!/usr/bin/env python3
# merge.py BUILD [MILLIONS,... [TIMES [KIND]]] - the speed of a merge
#
# SPDX-License-Identifier: Apache-2.0
"""Made-up runs of 4 ranks (bench_merge --write), of so many million events
(default 1,10,100): CPU time of reading, verifying, decoding and merging alone,
and of the whole default analysis, in turn, smallest and middle of TIMES (5);
memory that belongs to no file; what an event costs in the smallest and in the
largest run. A long run is merged by two threads, so that elapsed time is shown
beside CPU time. Beside both babeltrace2's dummy sink on the same events, replayed
through LTTng-UST; the second size is compared, or the only one. KIND is
bench_merge's (matched). 100 million events take 500 MB and five minutes.
"""
import os
import shutil
import statistics
import sys
import time

import lttng
from job import Bench, figure, remark, skip, watched

RANKS = 4


def measured(times, **commands):
    """name -> list of (CPU seconds, KiB, elapsed seconds), in turn."""
    found = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            begin = time.monotonic()
            found[name].append((*watched(command), time.monotonic() - begin))
    return found


def least(found):
    return min(seconds for seconds, _, _ in found)


def elapsed(found):
    return min(seconds for _, _, seconds in found)


def middle(found):
    return statistics.median(seconds for seconds, _, _ in found)


def written(bench, millions, kind):
    directory = os.path.join(bench.work, "run-%g" % millions)
    os.mkdir(directory)
    bench.plain([bench.test("bench_merge"), "--write", directory,
                 str(int(millions * 1e6 / RANKS)), str(RANKS), kind])
    return directory


def is_amd():
    with open("/proc/cpuinfo") as file:
        return "AuthenticAMD" in file.read()


def compared(bench, directory, times):
    """Against babeltrace2: smallest of each, in turn."""
    name = "merge alone, times babeltrace2"
    if shutil.which("babeltrace2") is None or not lttng.is_there(bench):
        skip(name, lttng.PACKAGES + " babeltrace2")
        return
    trace, _ = lttng.replayed(bench, directory)
    found = measured(
        times,
        ours=[bench.test("bench_merge"), "--alone", directory],
        whole=[bench.program("ckmerge"), "-q", directory],
        theirs=["babeltrace2", trace, "--component", "sink.utils.dummy"])
    remark("CPU seconds, smallest: %.3f and babeltrace2 %.3f; middle: %.3f "
           "and %.3f" % (least(found["ours"]), least(found["theirs"]),
                         middle(found["ours"]), middle(found["theirs"])))
    ratio = least(found["theirs"]) / least(found["ours"])
    figure(name, ratio, ">= 10", ratio >= 10)
    target = 6 if is_amd() else 4
    for name, of in (("CPU time", least), ("elapsed", elapsed)):
        ratio = of(found["theirs"]) / of(found["whole"])
        figure("whole analysis, times babeltrace2, " + name, ratio,
               ">= 4 on Intel, 6 on AMD", ratio >= target)


def explained(bench, directory, millions, times):
    """ns an event of the whole, smallest; prints the rest."""
    found = measured(
        times,
        alone=[bench.test("bench_merge"), "--alone", directory],
        whole=[bench.program("ckmerge"), "-q", directory])
    for name, runs in found.items():
        remark("%g M events, %s: smallest %.3f s, middle %.3f s, %.1f ns an "
               "event" % (millions, name, least(runs), middle(runs),
                          least(runs) * 1e3 / millions))
    speed = millions / least(found["whole"])
    peak = max(kib for _, kib, _ in found["whole"]) / 1024
    figure("whole analysis of %g M, M events/s a core" % millions, speed,
           ">= 10", speed >= 10)
    figure("anonymous memory, %g M" % millions, peak, "<= 64 MB", peak <= 64,
           " MB")
    return least(found["whole"]) * 1e3 / millions


def main():
    sizes = [float(size) for size in (
        sys.argv[2] if len(sys.argv) > 2 else "1,10,100").split(",")]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    kind = sys.argv[4] if len(sys.argv) > 4 else "matched"
    costs = []
    with Bench(sys.argv[1]) as bench:
        for i, millions in enumerate(sizes):
            directory = written(bench, millions, kind)
            costs.append(explained(bench, directory, millions, times))
            if i == min(1, len(sizes) - 1):
                compared(bench, directory, times)
            bench.forget(directory)
    ratio = max(costs) / min(costs)
    figure("cost of an event, dearest / cheapest size", ratio, "<= 1.10",
           ratio <= 1.1)


if len(sys.argv) < 2:
    sys.exit(__doc__.splitlines()[0])
main()
