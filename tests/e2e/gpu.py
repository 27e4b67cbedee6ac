#!/usr/bin/env python3
# gpu.py - steps of gpu.sh: what ck records on a GPU, against the truth
# SPDX-License-Identifier: Apache-2.0
"""gpu.py PACK COMMAND [--mock]: one line a step; exit 0 or 1 (a step failed).

The truth is the program's own: counts that it prints, the device's
%globaltimer, the host's clock around a kernel, torch.profiler without ck. A
step that fails does not stop the next, and no process is left behind. On the
mock the program is cupti_host; what needs a device is left out with a line.
"""
import collections
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "targets"))
import ringlines  # noqa: E402

PACK, COMMAND = os.path.abspath(sys.argv[1]), sys.argv[2]
MOCK = "--mock" in sys.argv
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(PACK, "lib", "ck", "libckcupti.so")
RINGRUN = os.path.join(PACK, "tests", "ringrun")
AGENT = os.path.join(PACK, "bin", "ckagent")
JOB = [sys.executable, os.path.join(HERE, "gpujob.py")]
OPTIONS = ("--slots", "16", "--slot-kib", "16384")
BAD_TIME = 8
MARK = "CK_GPU_STEP=%d" % os.getpid()
# Of a conversion from the device's clock to the host's: 8 to 9 us have been
# reported.
CLOCK_ERROR = 20e3
NEWEST = 0.35  # s, of what a killed process had got back
READY = 60  # s until a program has started
GONE = 5  # s until nothing of a step may run any more: agents end last


class LeftOut(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def program(kernels, how="exit"):
    if MOCK:
        return [os.path.join(PACK, "tests", "cupti_host"), "1", how]
    return [os.path.join(PACK, "tests", "cuda_truth"), str(kernels), how]


def environment(**more):
    name, value = MARK.split("=")
    own = {**os.environ, name: value}
    if MOCK:
        own["LD_LIBRARY_PATH"] = os.path.join(PACK, "tests", "mockcupti",
                                              "new")
    return {**own, **more}


def ended(command, timeout, **more):
    """(status, output) of a command; its whole group ends with it."""
    with subprocess.Popen(command, env=environment(**more), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as run:
        try:
            text = run.communicate(timeout=timeout)[0]
        except BaseException:  # gpu.sh's limit as well
            group_kill(run)
            raise
        return run.returncode, text


def group_kill(run):
    try:
        os.killpg(run.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def line_of(run):
    """The first line of its output, "" where none comes."""
    ready = select.select([run.stdout], [], [], READY)[0]
    return run.stdout.readline() if ready else ""


def traced(kernels, how="exit", **more):
    """(lines, output) of the program under ringrun."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "records")
        status, text = ended(
            [RINGRUN, out, *OPTIONS, "--", *program(kernels, how)], 120,
            CUDA_INJECTION64_PATH=LIBRARY, **more)
        expect(status == 0, "exit %d: %s" % (status, text[-200:]))
        return ringlines.Lines(out), text


def lost(lines):
    return sum(r["value"] for r in lines.of("lost")) + lines.lost_in_ring()


def truth_check(lines, text):
    """Counts and bytes against what the program printed."""
    seen = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "call":
            count = len(lines.calls(words[1]))
            expect(count == int(words[2]), "%s: %d calls" % (line, count))
        elif words and words[0] in ("kernel", "h2d", "d2h", "d2d", "fill"):
            records = lines.of(words[0])
            expect(len(records) == int(words[1]),
                   "%s: %d records" % (line, len(records)))
            total = sum(r.get("bytes", 0) for r in records)
            expect(total == int(words[1]) * int(words[2]),
                   "%s: %d bytes" % (line, total))
            seen.append("%s %s" % (words[0], words[1]))
        elif words and words[0] == "memory":
            # The driver has blocks of its own, of other sizes.
            for kind in ("device-allocated", "device-freed"):
                blocks = [r for r in lines.of(kind)
                          if r["bytes"] == int(words[2])]
                expect(len(blocks) == int(words[1]),
                       "%s: %d of %s" % (line, len(blocks), kind))
            seen.append("memory " + words[1])
    expect(seen or MOCK, "the program printed nothing")
    bad = [r for r in lines.of("kernel") if r["flags"] & BAD_TIME]
    expect(MOCK or not bad, "%d kernels without times" % len(bad))
    expect(lost(lines) == 0, "%d lost" % lost(lines))
    return ", ".join(seen) or "%d kernels" % len(lines.of("kernel"))


# Command 1: the machine, counts, clock, price.

def facts():
    rows = []
    for command in (["nvidia-smi", "-L"],
                    ["nvidia-smi", "--query-gpu=driver_version,compute_mode,"
                     "mig.mode.current", "--format=csv,noheader"],
                    ["uname", "-r"], ["ldd", "--version"]):
        try:
            rows.append(ended(command, 20)[1].splitlines()[0])
        except (OSError, IndexError, subprocess.SubprocessError) as why:
            rows.append("%s: %s" % (command[0], why))
    try:
        with open("/sys/devices/system/clocksource/clocksource0/"
                  "current_clocksource", encoding="ascii") as file:
            rows.append(file.read().strip())
    except OSError:  # as in gVisor
        rows.append("no clock source")
    return "; ".join(rows)


def counts():
    lines, text = traced(1000)
    said = truth_check(lines, text)
    devices = lines.facts("device")
    # The mock's copy between devices names one without a description.
    expect(sum("uuid" not in d for d in devices.values()) <= MOCK,
           "device without uuid")
    return "%s; %s; %s" % (said, next(iter(devices.values())).get("name"),
                           "; ".join(lines.notes()))


def order():
    lines, text = traced(2000)
    truth_check(lines, text)
    calls = {(r["slot_tid"], r["call"]): r
             for r in lines.of("cuda-driver", "cuda")}
    gaps = [k["start"] - calls[(k["tid"], k["call"])]["start"]
            for k in lines.of("kernel") if (k["tid"], k["call"]) in calls]
    expect(len(gaps) > 1000, "%d kernels have a launch" % len(gaps))
    expect(min(gaps) >= -CLOCK_ERROR, "%d ns before its launch" % min(gaps))
    return "start - launch: %d to %d ns" % (min(gaps), max(gaps))


def marks():
    """The device's own clock, and the host's around each kernel."""
    lines, text = traced(2000, "marks")
    rows = [[int(w) for w in line.split()[1:]] for line in text.splitlines()
            if line.startswith("mark ")]
    kernels = sorted((r for r in lines.of("kernel") if MOCK or
                      r["named"] == "mark"), key=lambda r: r["start"])
    expect(rows and len(kernels) == len(rows),
           "%d marks, %d records" % (len(rows), len(kernels)))
    offsets, lengths, outside = [], [], 0
    for (start, end, before, after), kernel in zip(rows, kernels):
        offsets.append(kernel["start"] - start)
        lengths.append(kernel["dur"] - (end - start))
        outside = max(outside, before - kernel["start"],
                      kernel["start"] + kernel["dur"] - after)
    middle = statistics.median(offsets)
    # %globaltimer and the host's clock drift apart: by pieces of a second.
    spread = max(abs(a - b) for a, b in zip(offsets, offsets[1:]))
    expect(outside <= CLOCK_ERROR, "%d ns outside the host's" % outside)
    expect(spread <= 2 * CLOCK_ERROR, "neighbours %d ns apart" % spread)
    return ("%d kernels, offset drifts %d ns, neighbours <= %d ns, length "
            "%+d to %+d ns, at most %d ns outside the host's bracket" % (
                len(rows), max(offsets) - min(offsets) if middle else 0,
                spread, min(lengths), max(lengths), max(outside, 0)))


def price():
    def launch_ns(command, **more):
        """As the program measures it."""
        status, text = ended(command, 100, **more)
        rows = [line.split()[1] for line in text.splitlines()
                if line.startswith("launch_ns ")]
        expect(status == 0 and rows, "exit %d: %s" % (status, text[-200:]))
        return float(rows[0])
    how = ["replay"] if MOCK else []
    os.environ["CK_LAUNCHES"] = "100"  # thousands, on the mock
    plain = min(launch_ns(program(100000, *how)) for _ in range(3))
    with_ck = min(launch_ns([RINGRUN, "/dev/null", *OPTIONS, "--",
                             *program(100000, *how)],
                            CUDA_INJECTION64_PATH=LIBRARY) for _ in range(3))
    del os.environ["CK_LAUNCHES"]
    return "a launch takes %.0f ns, with ck %.0f ns" % (plain, with_ck)


# Command 2: ends.

def children(pid):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[1] == str(pid):
                    yield int(name)
        except OSError:
            pass


def killed(how, wait_s, **more):
    """Lines of a run that is killed at work."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "records")
        with subprocess.Popen(
                [RINGRUN, out, *OPTIONS, "--", *program(1, how)], text=True,
                stdout=subprocess.PIPE, start_new_session=True,
                env=environment(CUDA_INJECTION64_PATH=LIBRARY, **more)) as run:
            try:
                expect(line_of(run) == "ready\n", "not ready")
                time.sleep(wait_s)
                os.kill(next(children(run.pid)), signal.SIGKILL)
                expect(run.wait(timeout=20) == 128 + 9, "ringrun's status")
            finally:
                group_kill(run)
        return ringlines.Lines(out)


def kill(how, **more):
    texts = []
    for wait_s in (0.6,) if MOCK else (1.0, 3.0, 5.0):
        lines = killed(how, wait_s, **more)
        launched = lines.calls("cuLaunchKernel") + lines.calls(
            "cudaLaunchKernel")
        done = lines.of("kernel")
        expect(launched and done, "%d launches, %d kernels" % (
            len(launched), len(done)))
        # A device that is behind: what had ended, by its end.
        age = (max(r["start"] for r in launched) -
               max(r["start"] + r["dur"] for r in done)) / 1e9
        expect(age <= NEWEST, "the newest kernel is %.2f s old" % age)
        texts.append("%d of %d, newest %.2f s" % (len(done), len(launched),
                                                   age))
    return "; ".join(texts)


def kill_idle():
    return kill("hold")


def kill_busy():
    return kill("hold", MOCK_CASE="late") if MOCK else kill("busy")


def ends():
    for how in ("_exit", "reset", "fork"):
        truth_check(*traced(500, how))
    return "whole after _exit, reset, fork"


def graph_trace():
    lines, _ = traced(10, CKAGENT_CUPTI="own,graph-trace")
    wanted = 1 if MOCK else 100
    expect(len(lines.of("graph")) == wanted,
           "%d graphs" % len(lines.of("graph")))
    return "%d graph launches as one record each" % wanted


def two_processes():
    uuids = set()
    for _ in range(2):
        lines, text = traced(20000)
        truth_check(lines, text)
        uuids |= {d["uuid"] for d in lines.facts("device").values()
                  if "uuid" in d}
    expect(len(uuids) == 1, "uuids %s" % uuids)
    return "one uuid"


# Commands 3 and 4: through ckagent.

def agent(command, timeout=150, **more):
    """(status, output, report) of a command under ckagent."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        status, text = ended(
            [AGENT, "-d", run, "--", *command], timeout,
            **more)
        with open(os.path.join(run, "report.json"), encoding="utf8") as file:
            report = json.load(file)
        if "OUT" in os.environ:
            shutil.copy(os.path.join(run, "report.txt"), os.path.join(
                os.environ["OUT"], "%s-%d.txt" % (COMMAND, time.time())))
    for device in report["devices"]:
        expect(device["busy_ns"] + device["idle_known_ns"] +
               device["unknown_ns"] == device["wall_ns"],
               "busy + idle + unknown is not the wall")
    return status, text, report


def total(report, key):
    return sum(device[key] for device in report["devices"])


def job(*words, wrap=False, **more):
    """(its JSON, the report or None)."""
    command = [*(program(1, "training") if MOCK else JOB), *map(str, words)]
    if wrap:
        status, text, report = agent(command, **more)
    else:
        (status, text), report = ended(command, 150, **more), None
    rows = [line for line in text.splitlines() if line.startswith("{")]
    expect(status == 0 and rows, "exit %d: %s" % (status, text[-300:]))
    return json.loads(rows[-1]), report


def torch_counts():
    """Two lengths: what is left is steps alone, whatever the warm-up is."""
    truth = job(1, "profile")[0]["profiler"]
    short = total(job(100, wrap=True)[1], "kernels")
    said, report = job(300, wrap=True)
    got = total(report, "kernels") - short
    expect(got == 200 * truth["kernels_a_step"],
           "%d kernels in 200 steps, torch.profiler counts %s a step" % (
               got, truth["kernels_a_step"]))
    expect(total(report, "bad_times") == 0, "kernels without times")
    # Events around the measured steps alone; the warm-up is beside them.
    expect(total(report, "busy_ns") / 1e6 <= 1.2 * said["device_ms_sum"],
           "busy %.1f ms, by events %.1f ms" % (
               total(report, "busy_ns") / 1e6, said["device_ms_sum"]))
    return "%d kernels in 200 steps; busy %.1f ms, by events %.1f ms" % (
        got, total(report, "busy_ns") / 1e6, said["device_ms_sum"])


def torch_price():
    pairs = []
    for _ in range(3):
        plain = job(300)[0]["wall_ms"]
        pairs.append(job(300, wrap=True)[0]["wall_ms"] / plain - 1)
    # The mock's steps are the host's own time, on a machine with others.
    expect(MOCK or statistics.median(pairs) <= 0.01, "%.2f %% a step" % (
        100 * statistics.median(pairs)))
    return "%s %% a step" % ", ".join("%.2f" % (100 * p) for p in pairs)


def torch_graph():
    said, report = job(1000, "graph", wrap=True)
    expect(total(report, "bad_times") == 0, "kernels without times")
    return "%.3f ms a step, %d kernels" % (said["wall_ms"],
                                           total(report, "kernels"))


def torch_profiler():
    """Beside ck: both run, and what ck lacks is reported."""
    said, report = job(300, "profile", wrap=True)
    kernels = job(100, wrap=True)[1]
    steps = total(report, "kernels") / total(kernels, "kernels")
    expect(total(report, "unknown_ns") > 0 or steps > 2.5,
           "kernels are missing and nothing says so")
    return "torch.profiler has %d GPU rows, ck %.1f times as many kernels " \
        "as in 100 steps" % (said["profiler"]["gpu_rows"], steps)


# What torch.distributed.run does, as far as ck sees it.
LAUNCHER = """
import os, subprocess, sys
runs = [subprocess.Popen(sys.argv[1:], env={
    **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
    "WORLD_SIZE": "2"}) for rank in range(2)]
sys.exit(max(run.wait() for run in runs))
"""


def two_ranks():
    command = [sys.executable, "-m", "torch.distributed.run",
               "--nproc-per-node", "2", *JOB[1:], "300"]
    if MOCK:
        # Long enough that the collector sees whose ranks they are.
        command = [sys.executable, "-c", LAUNCHER, *program(1, "training"),
                   "1000"]
    status, text, report = agent(command)
    expect(status == 0, "exit %d: %s" % (status, text[-300:]))
    expect(report["ranks_present"] == 2, "%s ranks" % report["ranks_present"])
    uuids = {d["uuid"] for d in report["devices"] if d["busy_ns"] > 0}
    expect(len(uuids) == 1, "uuids %s" % uuids)
    for device in report["devices"]:
        expect(device["busy_ns"] <= device["wall_ns"], "busier than there is")
    return "2 ranks, one device, %d kernels" % total(report, "kernels")


def nccl():
    if MOCK:
        status, text, report = agent(
            [os.path.join(PACK, "tests", "nccl_host"), "5", "groups"])
        expect(status == 0, "exit %d: %s" % (status, text[-300:]))
    else:
        report = job(100, "nccl", wrap=True)[1]
    expect(total(report, "bad_times") == 0, "kernels without times")
    notes = [n["text"] for n in report["trust"]["notes"]
             if "plug-in, version" in n["text"]]
    expect(notes, "NCCL did not open its plug-in")
    return "%d kernels; %s" % (total(report, "kernels"), notes[0])


def hang():
    """A kernel that never ends, or a buffer that is never given back."""
    if MOCK:
        report = agent(program(1, "kill"), MOCK_CASE="late")[2]
    else:
        report = agent(["timeout", "-s", "KILL", "20", *program(1, "hang")])[2]
    expect(total(report, "unknown_ns") > 0, "nothing is unknown")
    return "%.3f s unknown of %.3f s" % (total(report, "unknown_ns") / 1e9,
                                         total(report, "wall_ns") / 1e9)


def terminated():
    """After a second, or later where others keep it from its first kernels."""
    for seconds in ("1", "8", "64") if MOCK else ("15",):
        report = agent(["timeout", "-s", "TERM", seconds,
                        *program(1, "hold")])[2]
        kernels = total(report, "kernels")
        if kernels > 100:
            break
    expect(kernels > 100, "%d kernels" % kernels)
    return "%d kernels, report written" % kernels


# Command 5: minutes of work.

def of_process(pid):
    """(CPU seconds, resident MiB) of a process."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    tick = os.sysconf("SC_CLK_TCK")
    return ((int(words[11]) + int(words[12])) / tick,
            int(words[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20)


def soak():
    """More than 25 million records of graph nodes."""
    replays = 26000
    rows = collections.deque(maxlen=1000)
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        with subprocess.Popen(
                [AGENT, "-d", run, "--keep", "300M", "--",
                 *program(replays, "replay")],
                text=True, stdout=subprocess.PIPE, start_new_session=True,
                stderr=subprocess.DEVNULL, env=environment()) as job_:
            try:
                while job_.poll() is None:
                    time.sleep(0.2 if MOCK else 5)
                    for pid in children(job_.pid):
                        try:
                            rows.append(of_process(pid))
                        except (OSError, IndexError):
                            pass
                text = job_.stdout.read()
            finally:
                group_kill(job_)
        with open(os.path.join(run, "report.json"), encoding="utf8") as file:
            report = json.load(file)
    said = [line for line in text.splitlines() if line.startswith("kernel ")]
    expect(said, "the program printed nothing: %s" % text[-200:])
    expect(MOCK or total(report, "bad_times") == 0,
           "%d kernels without times" % total(report, "bad_times"))
    gone = int(said[0].split()[1]) - total(report, "kernels") - \
        report["trust"]["lost"] - \
        report["trust"]["cuda_launches"]["unrecorded"] - \
        report.get("kept", {}).get("discarded_records", 0)
    expect(gone <= 0, "%d kernels are neither recorded nor counted" % gone)
    half = len(rows) // 2
    memory = [m for _, m in rows]
    expect(half == 0 or MOCK or
           max(memory[half:]) <= 1.2 * max(memory[:half]) + 50,
           "memory grows: %s" % memory[::max(1, len(memory) // 10)])
    return "%s launched, %d in the kept part, memory %.0f MiB at most" % (
        said[0].split()[1], total(report, "kernels"), max(memory, default=0))


COMMANDS = {
    "1": (facts, counts, order, marks, price),
    "2": (kill_idle, kill_busy, ends, graph_trace, two_processes),
    "3": (torch_counts, torch_price, torch_graph, torch_profiler),
    "4": (two_ranks, nccl, hang, terminated),
    "5": (soak,),
}


def left_behind():
    """Processes of a step that still run."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if MARK.encode() in file.read().split(b"\0"):
                    yield int(name)
        except OSError:
            pass


def left_kill():
    """A process that is just started is seen by a later look alone."""
    until = time.monotonic() + GONE
    clean = 0
    while clean < 3 and time.monotonic() < until:
        pids = list(left_behind())
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        clean = 0 if pids else clean + 1
        time.sleep(0.05)


def step_run(step):
    try:
        return "ok  ", step()
    except LeftOut as why:
        return "-   ", "left out: %s" % why
    except Exception as why:  # the next step runs whatever it was
        return "FAIL", "%s: %s" % (type(why).__name__, why)


def main():
    # The limit: what runs is killed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("gpu.py: its time is "
                                                      "over"))
    with tempfile.TemporaryDirectory(
            prefix="ck-test.%d." % os.getpid(),
            dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as at:
        os.environ["CK_TEST_RINGS"] = at
        try:
            return steps_run()
        finally:
            left_kill()


def steps_run():
    failed = 0
    for step in COMMANDS[COMMAND]:
        result, text = step_run(step)
        until = time.monotonic() + GONE
        while list(left_behind()) and time.monotonic() < until:
            time.sleep(0.1)
        pids = list(left_behind())
        if pids:
            left_kill()
            result, text = "FAIL", "%s; left %s behind" % (text, pids)
        failed += result == "FAIL"
        print("%s %-14s %s  %s" % (COMMAND, step.__name__, result, text),
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
