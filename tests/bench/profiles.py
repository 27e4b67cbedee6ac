#!/usr/bin/env python3
"""profiles.py - figure 9: how fast a profile becomes a ledger

SPDX-License-Identifier: Apache-2.0

profiles.py BUILD_DIR [EVENTS]: one made-up PyTorch profile (tests/data/
kineto.py) of so many events (default 1,000,000), read by ck, by yajl, by
Python's json, and summed up by ckmerge and by pandas. CPU seconds on one CPU,
and wall time on two; the least of five for ck, once for Python, whose CPU
seconds are the same on however many. Prints figure and target side by side;
exit 1 when a target is missed.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = r'''
import json, resource, sys, time
def cpu(): return time.process_time()
t0 = cpu()
with open(sys.argv[1]) as f: events = json.load(f)["traceEvents"]
t1 = cpu()
import pandas as pd
t2 = cpu()
d = pd.DataFrame(events)
args = pd.json_normalize([a if isinstance(a, dict) else {} for a in d["args"]])
d["correlation"] = args["correlation"]
d["start"] = (d["ts"] * 1000).round().astype("int64")
d["end"] = d["start"] + (d["dur"] * 1000).round().astype("int64")
t3 = cpu()
def union(part):
    part = part.sort_values("start")
    top = part["end"].cummax()
    gap = (part["start"] - top.shift()).clip(lower=0).fillna(0)
    return part, int(top.iloc[-1] - part["start"].iloc[0] - gap.sum()), gap
work = d[d["cat"].isin(["kernel", "gpu_memcpy", "gpu_memset"])]
kernels = d[d["cat"] == "kernel"]
comm = kernels["name"].str.contains("nccl")
both, busy, gap = union(work)
_, kernel_busy, _ = union(kernels)
_, compute, _ = union(kernels[~comm])
calls = d[d["cat"] == "cuda_runtime"][["correlation", "start"]]
both = both.assign(gap=gap).merge(calls, on="correlation", how="left",
                                  suffixes=("", "_call"))
idle = both[both["gap"] > 0]
begin = idle["start"] - idle["gap"]
queued = int(idle["gap"][idle["start_call"] <= begin].sum())
late = idle[idle["start_call"] > begin]
launch = int((late["start"] - late["start_call"]).sum())
host = int((late["start_call"] - (late["start"] - late["gap"])).sum())
top = kernels.assign(dur=kernels["end"] - kernels["start"]).groupby(
    "name")["dur"].agg(["sum", "count", "median", "max"])
t4 = cpu()
print(json.dumps({"load": t1 - t0, "frame": t3 - t2, "sums": t4 - t3,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    "busy": busy, "kernel_busy": kernel_busy, "compute": compute,
    "queued": queued, "launch": launch, "host": host,
    "count": int(top["count"].sum())}))
'''


CPUS = sorted(os.sched_getaffinity(0))


def run(args, cpus=1):
    """(CPU seconds, wall seconds, peak KiB, stdout) of a process."""
    start = time.monotonic()
    child = subprocess.Popen(
        args, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:cpus]))
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status not in (0, 3 << 8):
        sys.exit("%s: status %d" % (args[0], status))
    return (usage.ru_utime + usage.ru_stime, time.monotonic() - start,
            usage.ru_maxrss, said)


def best(args):
    return min((run(args) for _ in range(5)), key=lambda r: r[0])


def best_wall(args):
    """(wall seconds, peak KiB) on two CPUs."""
    return min(run(args, 2)[1:3] for _ in range(5))


class Table:
    missed = False

    def row(self, what, value, target, is_good):
        print("%-44s %10s   %-10s %s" % (what, value, target,
                                         "ok" if is_good else "MISSED"))
        self.missed = self.missed or not is_good


def readers(table, build, plain, packed, load):
    lines = [best([build + "/tests/bench_json", path])[3].split("\n")
             for path in (plain, packed)]
    ns = {}
    for line in lines[0]:
        words = line.split()
        if "ns/event" in words:
            ns[words[0]] = float(words[words.index("ns/event") - 1])
    gz = float(lines[1][0].split()[3])
    count = int(lines[0][0].split()[6])
    table.row("reader: times json.load", "%.1f" % (
        load * 1e9 / count / ns["ck"]), ">= 12", load * 1e9 / count >=
        12 * ns["ck"])
    if "yajl" in ns:
        table.row("reader: times yajl", "%.2f" % (ns["yajl"] / ns["ck"]),
                  ">= 2", ns["yajl"] >= 2 * ns["ck"])
    table.row("reader: .gz against plain", "%.2f" % (gz / ns["ck"]), "<= 1.5",
              gz <= 1.5 * ns["ck"])


def sums_alone(table, build, plain, peer):
    """Union, gaps and ledger without reading: against pandas with a frame."""
    lines = [run([build + "/tests/bench_sums", plain])[3].split()
             for _ in range(5)]
    cpu = min(float(line[0]) for line in lines)
    said = [int(word) for word in lines[0][2:]]
    wanted = [peer[key] for key in ("busy", "compute", "kernel_busy",
                                    "queued", "launch", "host")]
    table.row("union, gaps, ledger alone: times pandas",
              "%.1f" % (peer["sums"] / cpu), ">= 8", peer["sums"] >= 8 * cpu)
    table.row("these sums agree to the nanosecond", str(said == wanted),
              "True", said == wanted)


def two_profiles(table, ckmerge, plain, out, total, count):
    """Wall time of two profiles on two cores, against pandas on one thread
    for both."""
    other = plain.replace("rank0", "rank1")
    subprocess.run([sys.executable, HERE + "/../data/kineto.py", other,
                    "--events", count, "--world", "2", "--rank", "1"],
                   check=True)
    wall = best_wall(ckmerge + [plain, other, out])[0]
    table.row("two profiles, two cores: wall, times pandas",
              "%.1f" % (2 * total / wall), ">= 20", 2 * total >= 20 * wall)


def main():
    build = sys.argv[1]
    count = sys.argv[2] if len(sys.argv) > 2 else "1000000"
    table = Table()
    with tempfile.TemporaryDirectory() as place:
        plain = os.path.join(place, "rank0.json")
        out = os.path.join(place, "out.json")
        subprocess.run([sys.executable, HERE + "/../data/kineto.py", plain,
                        "--events", count, "--world", "2"], check=True)
        subprocess.run(["gzip", "-1", "-k", plain], check=True)
        ckmerge = [build + "/bin/ckmerge", "--quiet", "--kernel-only"]
        cpu, _, _, _ = best(ckmerge + [plain, out])
        wall, rss = best_wall(ckmerge + [plain, out])
        peer = subprocess.run(["/usr/bin/python3", "-c", PEER, plain],
                              capture_output=True, text=True, check=False)
        if peer.returncode != 0:
            print("skipped: pandas: " + peer.stderr.strip().split("\n")[-1])
            return 77
        peer = json.loads(peer.stdout)
        readers(table, build, plain, plain + ".gz", peer["load"])
        with open(out) as file:
            device = json.load(file)["ck"]["all_devices"]
        total = peer["load"] + peer["frame"] + peer["sums"]
        table.row("profile to ledger: CPU times pandas",
                  "%.1f" % (total / cpu), ">= 15", total >= 15 * cpu)
        if len(CPUS) > 1:
            table.row("on two cores: wall, times pandas",
                      "%.1f" % (total / wall), ">= 20", total >= 20 * wall)
        table.row("memory against pandas", "%.3f" % (rss / peer["rss"]),
                  "<= 0.1", rss <= 0.1 * peer["rss"])
        said = {"busy": device["busy_ns"], "compute": device["compute_ns"],
                "kernel_busy": device["kernel_busy_ns"],
                "queued": device["ledger"]["kernel_gap"],
                "launch": device["ledger"]["launch_latency"],
                "host": device["ledger"]["host_compute"] +
                device["ledger"]["gpu_api"] + device["ledger"]["gpu_sync"]}
        equal = all(said[k] == peer[k] for k in said)
        table.row("sums agree to the nanosecond", str(equal), "True",
                  equal)
        if not equal:
            print(said, peer)
        sums_alone(table, build, plain, peer)
        if len(CPUS) > 1:
            two_profiles(table, ckmerge, plain, out, total, count)
        print("ck %.2f s CPU on one, %.2f s on two, %.1f MB; json.load %.2f, frame %.2f, "
              "sums %.2f s, %.0f MB" % (cpu, wall, rss / 1e3, peer["load"],
                                        peer["frame"], peer["sums"],
                                        peer["rss"] / 1e3))
    return int(table.missed)


sys.exit(main())
