#!/usr/bin/env python3
# stored.py BUILD - bytes an event on disk, and LTTng's for the same events
#
# SPDX-License-Identifier: Apache-2.0
"""Figure 8: the training program is recorded, its stored run measured by
bench_bytes, and its records replayed into LTTng-UST with the same fields.
"""
import os
import sys

import lttng
from job import Bench, figure, number_after, remark, skip

STEPS = "1500"


def lttng_bytes(bench, directory):
    """Bytes an event of the CTF trace of the replay."""
    trace, said = lttng.replayed(bench, directory)
    size = sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(trace) for name in names
               if not name.endswith(".idx"))
    remark("LTTng: %d bytes for %s" % (size, said))
    return size / number_after(said, "events")


def main():
    with Bench(sys.argv[1]) as bench:
        _, directory, _ = bench.traced(
            [bench.test("train"), "--steps", STEPS], ("mpirun", "-n", "2"))
        output = bench.plain([bench.test("bench_bytes"), directory])
        print(output.strip())
        for line in output.splitlines():
            if line.startswith("events"):
                packed = number_after(line, "packed")
                zstd = number_after(line, "zstd")
        figure("8 stored bytes an event, packed", packed, "<= 16 B",
               packed <= 16, " B")
        figure("8 stored bytes an event, zstd", zstd, "<= 10 B", zstd <= 10,
               " B")
        if not lttng.is_there(bench):
            skip("8 stored bytes / LTTng's CTF", lttng.PACKAGES)
            return
        ratio = packed / lttng_bytes(bench, directory)
        figure("8 stored bytes / LTTng's CTF", ratio, "<= 0.40",
               ratio <= 0.40)


main()
