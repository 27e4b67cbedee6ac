#!/usr/bin/env python3
# gpujob.py - a training whose kernels torch.profiler counts
# SPDX-License-Identifier: Apache-2.0
"""gpujob.py STEPS [graph|profile|nccl|gloo]...: one line of JSON.

The truth for ck: kernels a step (from torch.profiler, in a run without ck),
the device's time between two events, and the host's time of each step.
"""
import json
import os
import statistics
import sys
import time

import torch

STEPS, WORDS = int(sys.argv[1]), sys.argv[2:]
RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))
PROFILED = 10


def group_join():
    backend = "nccl" if "nccl" in WORDS else "gloo"
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group(backend, rank=RANK, world_size=WORLD)
    return backend


class Training:
    def __init__(self, backend):
        torch.manual_seed(0)
        self.backend = backend
        layers = [torch.nn.TransformerEncoderLayer(
            512, 8, 2048, batch_first=True, dropout=0.0) for _ in range(4)]
        self.model = torch.nn.Sequential(*layers).to("cuda").bfloat16()
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.batch = torch.randn(16, 256, 512, device="cuda",
                                 dtype=torch.bfloat16)

    def step(self):
        self.optimiser.zero_grad(set_to_none=False)
        self.model(self.batch).float().pow(2).mean().backward()
        gradient = next(self.model.parameters()).grad
        if self.backend == "nccl":
            torch.distributed.all_reduce(gradient)
        elif self.backend == "gloo":
            host = gradient.float().cpu()
            torch.distributed.all_reduce(host)
            gradient.copy_(host)
        self.optimiser.step()


def prepared(training):
    """What is done each step, behind a warm-up on a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            training.step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    if "graph" not in WORDS:
        return training.step
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training.step()
    return graph.replay


def loop(count, work, walls, devices):
    for _ in range(count):
        first = torch.cuda.Event(enable_timing=True)
        last = torch.cuda.Event(enable_timing=True)
        begin = time.perf_counter()
        first.record()
        work()
        last.record()
        torch.cuda.synchronize()
        walls.append(1e3 * (time.perf_counter() - begin))
        devices.append(first.elapsed_time(last))


def counted(rows):
    """Ranges such as "Optimizer.step#SGD.step" have rows on the device, too."""
    rows = [e for e in rows if not getattr(e, "is_user_annotation", False)]
    kernels = [e for e in rows if not e.name.startswith(("Memcpy", "Memset"))]
    return {"gpu_rows": len(rows), "kernels_a_step": len(kernels) / PROFILED}


def profiled(work, walls, devices):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU,
                             ProfilerActivity.CUDA]) as taken:
        loop(PROFILED, work, walls, devices)
    return counted([e for e in taken.events()
                    if e.device_type == torch.autograd.DeviceType.CUDA])


def main():
    torch.cuda.set_device(0)
    backend = group_join() if WORLD > 1 or "nccl" in WORDS else None
    work = prepared(Training(backend))
    walls, devices = [], []
    profiler = profiled(work, walls, devices) if "profile" in WORDS else None
    loop(STEPS, work, walls, devices)
    print(json.dumps({
        "rank": RANK, "words": WORDS, "steps": len(walls),
        "wall_ms": statistics.median(walls), "device_ms_sum": sum(devices),
        "profiler": profiler}), flush=True)
    if backend is not None:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
