#!/usr/bin/env python3
# gpu.py - steps of gpu.sh: what ckcupti records on a real GPU
# SPDX-License-Identifier: Apache-2.0
"""gpu.py BUILD_DIR: one line a step; exit 0, 1 (a step failed) or 77 (no
GPU). A step that fails does not stop the next."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "targets"))
import ringlines  # noqa: E402

BUILD = sys.argv[1]
LIBRARY = os.path.join(BUILD, "lib", "ck", "libckcupti.so")
RINGRUN = os.path.join(BUILD, "tests", "ringrun")
TRUTH = os.path.join(BUILD, "tests", "cuda_truth")
OPTIONS = ("--slots", "16", "--slot-kib", "8192")
BAD_TIME = 8


def traced(*args, **environment):
    return ringlines.run(RINGRUN, [TRUTH, *map(str, args)],
                         {"CUDA_INJECTION64_PATH": LIBRARY, **environment},
                         OPTIONS, timeout=120)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def truth_check(lines, done, kinds=("kernel", "h2d", "d2h", "d2d", "fill")):
    """Counts and bytes against what the program printed."""
    expect(done.returncode == 0, "exit %d: %s" % (done.returncode,
                                                  done.stderr[-200:]))
    seen = []
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == "call":
            count = len(lines.calls(words[1]))
            expect(count == int(words[2]), "%s: %d calls" % (line, count))
        elif words[0] in kinds:
            records = lines.of(words[0])
            expect(len(records) == int(words[1]),
                   "%s: %d records" % (line, len(records)))
            total = sum(r.get("bytes", 0) for r in records)
            expect(total == int(words[1]) * int(words[2]),
                   "%s: %d bytes" % (line, total))
            seen.append("%s %d" % (words[0], len(records)))
    bad = [r for r in lines.of("kernel") if r["flags"] & BAD_TIME]
    expect(not bad, "%d kernels without times" % len(bad))
    expect(lines.lost_in_ring() == 0 and not lines.of("lost"),
           "lost: %s" % lines.of("lost"))
    return ", ".join(seen)


def g2_truth():
    lines, done = traced(1000)
    text = truth_check(lines, done)
    devices = lines.facts("device")
    expect(all("uuid" in d for d in devices.values()), "device without uuid")
    spins = [r["dur"] for r in lines.of("kernel") if r["named"] == "spin"]
    expect(len(spins) == 1 and 0.4e6 < spins[0] < 4e6, "spin %s" % spins)
    return "%s, spin %.3f ms, %s" % (text, spins[0] / 1e6,
                                     next(iter(devices.values()))["name"])


def g3_clock():
    lines, done = traced(2000)
    truth_check(lines, done)
    calls = {(r["slot_tid"], r["call"]): r for r in lines.of("cuda-driver")}
    gaps = [k["start"] - calls[(k["tid"], k["call"])]["start"]
            for k in lines.of("kernel")]
    expect(min(gaps) >= -10000, "kernel %d ns before its launch" % min(gaps))
    return "start - launch: least %d ns, most %d ns" % (min(gaps), max(gaps))


def g4_overhead():
    def seconds(environment):
        begin = time.monotonic()
        subprocess.run([TRUTH, "100000"], check=True, timeout=100,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, **environment})
        return time.monotonic() - begin
    plain = min(seconds({}) for _ in range(3))
    begin = time.monotonic()
    lines, done = traced(100000)
    taken = time.monotonic() - begin
    text = truth_check(lines, done, ("kernel",))
    return "%s; plain %.3f s, traced %.3f s (reading included)" % (
        text, plain, taken)


def g5_kill():
    """Killed at work: what was launched long before is there."""
    texts = []
    for wait_s in (0.5, 1.0, 1.7):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "records")
            with subprocess.Popen(
                    [RINGRUN, out, *OPTIONS, "--", TRUTH, "1", "hold"],
                    stdout=subprocess.PIPE, text=True,
                    env={**os.environ,
                         "CUDA_INJECTION64_PATH": LIBRARY}) as run:
                expect(run.stdout.readline() == "ready\n", "not ready")
                time.sleep(wait_s)
                child = subprocess.run(
                    ["ps", "--ppid", str(run.pid), "-o", "pid="],
                    capture_output=True, text=True, check=True)
                os.kill(int(child.stdout), signal.SIGKILL)
                expect(run.wait(timeout=20) == 128 + 9, "ringrun's status")
            lines = ringlines.Lines(out)
        launched, done = lines.calls("cuLaunchKernel"), lines.of("kernel")
        last = max(r["start"] for r in launched)
        missing = [r for r in launched if r["start"] < last - 250e6]
        known = {(r["tid"], r["call"]) for r in done}
        missing = [r for r in missing
                   if (r["slot_tid"], r["call"]) not in known]
        expect(not missing, "%d kernels older than 250 ms lost" % len(missing))
        texts.append("%d of %d" % (len(done), len(launched)))
    return "kernels of launches: " + ", ".join(texts)


def g6_ends():
    texts = []
    for how in ("_exit", "reset", "fork"):
        lines, done = traced(500, how)
        truth_check(lines, done)
        texts.append(how)
    return "whole after " + ", ".join(texts)


def g6_graph_trace():
    lines, done = traced(10, CKAGENT_CUPTI="own,graph-trace")
    truth_check(lines, done, ("h2d",))
    expect(len(lines.of("graph")) == 100, "%d graphs" % len(lines.of("graph")))
    return "100 graph launches as one record each"


def g14_two_processes():
    """Two programs on one GPU: one UUID."""
    runs = []
    for _ in range(2):
        folder = tempfile.mkdtemp()
        out = os.path.join(folder, "records")
        runs.append((out, subprocess.Popen(
            [RINGRUN, out, *OPTIONS, "--", TRUTH, "20000"],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "CUDA_INJECTION64_PATH": LIBRARY})))
    uuids = set()
    for out, run in runs:
        expect(run.wait(timeout=100) == 0, "exit")
        lines = ringlines.Lines(out)
        uuids |= {d["uuid"] for d in lines.facts("device").values()}
        os.unlink(out)
        os.rmdir(os.path.dirname(out))
    expect(len(uuids) == 1, "uuids %s" % uuids)
    return "one uuid"


STEPS = (("G2 truth", g2_truth), ("G3 clock", g3_clock),
         ("G4 overhead", g4_overhead), ("G5 kill", g5_kill),
         ("G6 ends", g6_ends), ("G6 graph-trace", g6_graph_trace),
         ("G14 two processes", g14_two_processes))


def main():
    failed = 0
    for name, step in STEPS:
        try:
            print("%-18s ok    %s" % (name, step()), flush=True)
        except (AssertionError, OSError, KeyError, ValueError,
                subprocess.SubprocessError) as why:
            failed += 1
            print("%-18s FAIL  %s: %s" % (name, type(why).__name__, why),
                  flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
