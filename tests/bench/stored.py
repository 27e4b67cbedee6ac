#!/usr/bin/env python3
# stored.py BUILD - bytes an event on disk, and LTTng's for the same events
#
# SPDX-License-Identifier: Apache-2.0
"""Figure 8: the training program is recorded, its stored run measured by
bench_bytes, and its records replayed into LTTng-UST with the same fields.
"""
import os
import shutil
import signal
import sys

from job import Bench, figure, number_after, remark, skip

STEPS = "1500"


def lttng_bytes(bench, directory):
    """Bytes an event of the CTF trace of the replay."""
    home = os.path.join(bench.work, "lttng")
    trace = os.path.join(home, "trace")
    os.mkdir(home)
    bench.environment.update(HOME=home, LTTNG_HOME=home,
                             LTTNG_UST_REGISTER_TIMEOUT="3000")
    pid_file = os.path.join(home, "pid")
    bench.plain(["lttng-sessiond", "--daemonize", "--pidfile=" + pid_file])
    try:
        bench.plain(["lttng", "create", "replay", "--output=" + trace])
        bench.plain(["lttng", "enable-channel", "-u", "--subbuf-size=1M",
                     "--num-subbuf=8", "c"])
        bench.plain(["lttng", "enable-event", "-u", "-c", "c", "ckreplay:*"])
        bench.plain(["lttng", "start"])
        output = bench.plain([bench.test("bench_replay"), directory])
        stopped = bench.plain(["lttng", "destroy", "replay"])
        if "discarded" in stopped:
            remark("LTTng: " + stopped.strip())
    finally:
        with open(pid_file) as file:
            os.kill(int(file.read()), signal.SIGTERM)
    size = sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(trace) for name in names
               if not name.endswith(".idx"))
    remark("LTTng: %d bytes for %s" % (size, output.strip()))
    return size / number_after(output, "events")


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
        if not shutil.which("lttng") or not os.path.exists(
                bench.test("bench_replay")):
            skip("8 stored bytes / LTTng's CTF",
                 "packages lttng-tools liblttng-ust-dev")
            return
        ratio = packed / lttng_bytes(bench, directory)
        figure("8 stored bytes / LTTng's CTF", ratio, "<= 0.40",
               ratio <= 0.40)


main()
