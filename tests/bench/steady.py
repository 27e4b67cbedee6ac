#!/usr/bin/env python3
# steady.py BUILD [SECONDS [RATE [KEEP]]] - memory of agent and ckagg under a long load
#
# SPDX-License-Identifier: Apache-2.0
"""One thread makes RATE marks a second (2000000), a burst each millisecond,
for SECONDS (1800); KEEP is ckagent's --keep. Prints each minute what is resident of the collector and of
ckagg, then the medians of the second and the last tenth of the time (a frame
or two in flight come and go: 256 KiB each), the loss, and the disk used. The
ring's pages are counted apart: they are allocated at the start and touched as
they are used. Beside other load: chrt -f 20 steady.py ...
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from job import rings_make


def children(pid, name):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm") as comm:
                if comm.read().strip() == name:
                    return int(child)
    return None


def resident(pid):
    """kB without shared memory."""
    with open(f"/proc/{pid}/status") as file:
        rows = dict(line.split(":", 1) for line in file)
    kb = {key: int(rows[key].split()[0]) for key in ("VmRSS", "RssShmem")}
    return kb["VmRSS"] - kb["RssShmem"]


def cpu(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored(run):
    """Bytes of the run's frames on disk."""
    total = 0
    for name in os.listdir(run):
        try:
            if name.endswith(".ck"):
                total += os.path.getsize(os.path.join(run, name))
        except OSError:
            pass  # discarded just now
    return total


def main():
    build, seconds, rate = sys.argv[1], 1800, 2000000
    if len(sys.argv) > 2:
        seconds = int(sys.argv[2])
    if len(sys.argv) > 3:
        rate = int(sys.argv[3])
    keep = ["--keep", sys.argv[4]] if len(sys.argv) > 4 else []
    work = tempfile.mkdtemp(prefix="ck-steady.")
    rings = rings_make(work)
    run = work + "/run"
    agent = subprocess.Popen(
        [build + "/bin/ckagent", "--report", "none", "--dir", run, *keep,
         "--", build + "/tests/bench_producer", str(rate), str(seconds),
         str(max(1, rate // 1000))],
        stdout=subprocess.DEVNULL,
        env=dict(os.environ, XDG_RUNTIME_DIR=work, CK_TEST_RINGS=rings))
    start = time.monotonic()
    samples = {"collector": [], "ckagg": []}
    pids = {}
    most = 0
    while agent.poll() is None:
        time.sleep(1)
        try:
            if len(pids) < 2:
                pids["collector"] = children(agent.pid, "ckagent-collect")
                pids["ckagg"] = children(pids["collector"], "ckagg")
            passed = time.monotonic() - start
            for name, pid in pids.items():
                samples[name].append((passed, resident(pid)))
            most = max(most, stored(run))
            if len(samples["ckagg"]) % 60 == 0:
                print("%5.0f s" % passed, ", ".join(
                    "%s %d kB, %.1f s of CPU" % (
                        name, samples[name][-1][1], cpu(pid))
                    for name, pid in pids.items()), flush=True)
        except (OSError, KeyError, TypeError):
            continue
    manifest = run + "/manifest.json"
    while True:
        with open(manifest) as file:
            job = json.load(file)
        if job["state"] in ("merge", "done"):
            break
        time.sleep(0.5)
    # Hours of events are not merged here.
    ckmerge = children(pids["ckagg"], "ckmerge")
    if ckmerge:
        os.kill(ckmerge, signal.SIGTERM)
    is_flat = True
    for name, seen in samples.items():
        begin, end = [statistics.median(
            kb for passed, kb in seen
            if tenth <= 10 * passed / seconds < tenth + 1) for tenth in (1, 9)]
        is_flat = is_flat and abs(end - begin) / begin <= 0.05
        print("%s: median of the second tenth %d kB, of the last %d kB, "
              "%+.1f %%; at most %d kB" % (
                  name, begin, end, 100 * (end - begin) / begin,
                  max(kb for _, kb in seen)))
    print("%d records, %d lost, %.1f MB of disk" % (
        job["records"], job["lost"], stored(run) / 1e6))
    if keep:
        print("%d records of %.1f MB were discarded before, %.1f MB on disk at "
              "most" % (job.get("discarded_records", 0),
                        job.get("discarded_bytes", 0) / 1e6, most / 1e6))
    shutil.rmtree(work)
    shutil.rmtree(rings, ignore_errors=True)
    return 0 if is_flat and job["lost"] == 0 else 1


sys.exit(main())
