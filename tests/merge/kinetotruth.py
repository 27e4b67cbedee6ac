"""kinetotruth.py - what is in a trace of PyTorch, by plain loops

SPDX-License-Identifier: Apache-2.0

In integer nanoseconds; independent of ck's reader and interval code.
"""
import decimal
import gzip
import json


def union(spans):
    """Length of a union, and its holes, of (start, end)."""
    total, holes, end = 0, [], None
    for start, stop in sorted(spans):
        if end is None or start > end:
            if end is not None:
                holes.append((end, start))
            total += stop - start
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total, holes


def clip(spans, low, high):
    return [(max(a, low), min(b, high)) for a, b in spans
            if max(a, low) < min(b, high)]


def both(first, second):
    """Length of the time that is in both unions."""
    return union(first)[0] + union(second)[0] - union(first + second)[0]


def ns(text):
    """Microseconds as written to ns, exactly."""
    return int((decimal.Decimal(text) * 1000).quantize(
        decimal.Decimal(1), rounding=decimal.ROUND_HALF_UP))


def kineto_truth(path):
    """Busy, compute, communication ... of a profile's only device."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as file:
        profile = json.load(file, parse_float=decimal.Decimal)
    events = [e for e in profile["traceEvents"] if e.get("ph") == "X"]
    spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e) for e in events]
    kernels = [s for s in spans if s[2]["cat"] == "kernel"]
    copies = [s for s in spans if s[2]["cat"] in ("gpu_memcpy", "gpu_memset")]
    comm = [s[:2] for s in kernels if "nccl" in s[2]["name"]]
    compute = [s[:2] for s in kernels if "nccl" not in s[2]["name"]]
    calls = {s[2]["args"]["correlation"] for s in spans
             if s[2]["cat"].startswith("cuda")}
    return {
        "wall": max(s[1] for s in spans) - min(s[0] for s in spans),
        "busy": union([s[:2] for s in kernels + copies])[0],
        "kernel_busy": union([s[:2] for s in kernels])[0],
        "compute": union(compute)[0],
        "comm": union(comm)[0] - both(comm, compute),
        "comm_overlap": both(comm, compute),
        "core": sum(s[1] - s[0] for s in kernels + copies),
        "kernels": len(kernels),
        "copies": len(copies),
        "by_id": sum(s[2]["args"]["correlation"] in calls
                     for s in kernels + copies),
        "names": {n: sum(k[2]["name"] == n for k in kernels)
                  for n in {k[2]["name"] for k in kernels}},
    }
