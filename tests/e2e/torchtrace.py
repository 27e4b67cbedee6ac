#!/usr/bin/env python3
"""torchtrace.py - real traces of PyTorch's profiler, merged and checked

SPDX-License-Identifier: Apache-2.0

torchtrace.py CKMERGE DIR: two ranks (gloo) train a little on the CPU under
torch.profiler; the figures of ckmerge --kernel-only for their operators must
agree with plain loops over the same files. Stacks are in the traces where
PyTorch can record them: 2.6 on Python 3.13 dies of it in the first module.
"""
import decimal
import json
import os
import socket
import subprocess
import sys

RANKS = 2
STACKS = """import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU], with_stack=True):
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
"""


def train(rank, place, port, has_stacks):
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, record_function
    dist.init_process_group("gloo", rank=rank, world_size=RANKS,
                            init_method="tcp://127.0.0.1:%d" % port)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU],
                 with_stack=has_stacks) as prof:
        for _ in range(5):
            with record_function("step of the test"):
                optimizer.zero_grad()
                model(torch.randn(32, 64)).sum().backward()
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
                optimizer.step()
            prof.step()
    prof.export_chrome_trace(os.path.join(place, "trace_rank%d.json" % rank))
    dist.destroy_process_group()


def ns(value):
    return int((decimal.Decimal(value) * 1000).quantize(
        decimal.Decimal(1), rounding=decimal.ROUND_HALF_UP))


def union(spans):
    total, end = 0, None
    for start, stop in sorted(spans):
        if end is None or start > end:
            total, end = total + stop - start, stop
        elif stop > end:
            total, end = total + stop - end, stop
    return total


def is_comm(name):
    return any(part in name for part in ("nccl", "gloo:", "c10d::"))


def check(path, device, kernels):
    with open(path) as file:
        events = json.load(file, parse_float=decimal.Decimal)
    if isinstance(events, dict):
        events = events["traceEvents"]
    # A PyTorch without Kineto has a process in place of a category.
    ops = [e for e in events if e.get("ph") == "X" and
           (e.get("cat") == "cpu_op" or e.get("pid") == "CPU functions")]
    spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in ops]
    comm = [s for s, e in zip(spans, ops) if is_comm(e["name"])]
    compute = [s for s, e in zip(spans, ops) if not is_comm(e["name"])]
    counts = {}
    for event in ops:
        counts[event["name"]] = counts.get(event["name"], 0) + 1
    said = {"busy": device["busy_ns"], "core": device["core_ns"],
            "count": device["kernels"], "compute": device["compute_ns"],
            "comm": device["comm_ns"],
            "overlap": device["comm_overlap_ns"]}
    truth = {"busy": union(spans), "core": sum(b - a for a, b in spans),
             "count": len(ops), "compute": union(compute),
             "comm": union(spans) - union(compute),
             "overlap": union(comm) + union(compute) - union(spans)}
    assert said == truth, (said, truth)
    assert comm, "the trace has no communication"
    for name, count in counts.items():
        assert kernels[name] >= count, name
    return truth


def records_stacks():
    """Whether this PyTorch lives through the smallest profile with stacks."""
    status = subprocess.run([sys.executable, "-c", STACKS], timeout=300,
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL).returncode
    if status < 0:
        print("left out: stacks; PyTorch itself, without ck, dies of signal %d"
              " when it records them" % -status)
    elif status > 0:
        sys.exit("PyTorch's profiler ended with %d" % status)
    return status == 0


def main():
    ckmerge, place = sys.argv[1:3]
    has_stacks = records_stacks()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", str(r),
                               place, str(port), str(int(has_stacks))])
             for r in range(RANKS)]
    if any([rank.wait(timeout=300) for rank in ranks]):
        sys.exit("a rank failed")
    paths = [os.path.join(place, "trace_rank%d.json" % r) for r in range(RANKS)]
    out = os.path.join(place, "merged.json")
    subprocess.run([ckmerge, "--quiet", "--kernel-only", *paths, out],
                   check=True, timeout=120)
    with open(out) as file:
        report = json.load(file)["ck"]
    kernels = {k["name"]: k["calls_in_run"] for k in report["kernels"]}
    for rank, path in enumerate(paths):
        device, = [d for d in report["devices"] if d["ranks"] == [rank]]
        assert sum(device["ledger"].values()) == device["wall_ns"]
        print("rank %d: %s" % (rank, check(path, device, kernels)))


if sys.argv[1] == "--rank":
    train(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]),
          sys.argv[5] == "1")
else:
    main()
