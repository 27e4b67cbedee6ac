#!/usr/bin/env python3
"""gputraces.py - real profiles of PyTorch on GPUs: sums as plain loops do them

SPDX-License-Identifier: Apache-2.0

gputraces.py CKMERGE: for each trace of tests/data/gputraces, each device's
busy union, its parts, the overlap of communication, counts and names equal
kinetotruth.py's to the nanosecond; each operation has its launch.
"""
import glob
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

from kinetotruth import kineto_truth

CKMERGE = sys.argv[1]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../data/gputraces")
SUMS = ("busy", "kernel_busy", "compute", "comm", "comm_overlap", "core")


def trace(name):
    return os.path.join(DATA, name + ".json.gz")


class Traces(unittest.TestCase):
    def merge(self, *paths, status=0):
        with tempfile.TemporaryDirectory() as place:
            out = os.path.join(place, "out.json")
            done = subprocess.run(
                [CKMERGE, "--kernel-only", "--quiet", *paths, out],
                capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual((done.returncode, done.stderr), (status, ""))
            with open(out) as file:
                return json.load(file)["ck"]

    def check(self, report, paths):
        self.assertEqual(len(report["devices"]), len(paths))
        for path, device, read in zip(paths, report["devices"],
                                      report["inputs"]):
            truth = kineto_truth(path)
            for key in SUMS:
                self.assertEqual(device[key + "_ns"], truth[key], key)
            self.assertEqual(device["kernels"], truth["kernels"])
            self.assertEqual(device["copies"], truth["copies"])
            self.assertEqual(sum(device["ledger"].values()),
                             device["wall_ns"])
            self.assertEqual(read["correlated_by_id"], truth["by_id"])
            self.assertEqual(read["uncorrelated"], 0)
            self.assertGreater(truth["kernels"], 0)
        names = {}
        for path in paths:
            for name, calls in kineto_truth(path)["names"].items():
                names[name] = names.get(name, 0) + calls
        self.assertEqual({k["name"]: k["calls"] for k in report["kernels"]},
                         names)

    def test_the_traces_are_those_that_were_published(self):
        with open(os.path.join(DATA, "SHA256SUMS")) as file:
            pinned = dict(reversed(line.split()) for line in file)
        self.assertEqual(sorted(pinned),
                         sorted(os.path.basename(path) for path in
                                glob.glob(os.path.join(DATA, "*.gz"))))
        for name, digest in pinned.items():
            with open(os.path.join(DATA, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(),
                                 digest, name)

    def test_each_alone(self):
        for name in ("alexnet-a100", "event-sync", "mi250-rocm", "triton"):
            with self.subTest(name):
                self.check(self.merge(trace(name)), [trace(name)])

    def test_two_of_128_ranks(self):
        paths = [trace("dlrm-128-rank0"), trace("dlrm-128-rank1")]
        # 126 ranks are missing: the result is partial, with status 3.
        report = self.merge(*paths, status=3)
        self.check(report, paths)
        self.assertEqual((report["size"], report["ranks_present"]), (128, 2))
        self.assertEqual([r["rank"] for r in report["ranks"]][:2], [0, 1])

    def test_launches_and_waits_of_a_real_device_refute_nothing(self):
        # Two profiles of different machines: then clocks are looked at.
        paths = [trace("alexnet-a100"), trace("event-sync")]
        report = self.merge(*["--rank=%s=%d" % (path, rank)
                              for rank, path in enumerate(paths)], *paths)
        clocks = {clock["rank"]: clock for clock in report["device_clocks"]}
        self.assertEqual(clocks[0]["launches"], 98)
        self.assertEqual(clocks[0]["syncs"], 19)
        self.assertEqual(clocks[1]["syncs"], 1)
        for clock in clocks.values():
            self.assertEqual(clock["launches_refuted"], 0)
            self.assertEqual(clock["syncs_refuted"], 0)
            self.assertEqual(clock["suspects"], 0)

    def copy_waits(self, name, way):
        """Idle time between the ends of copies of that way and the returns of
        the calls that waited for them, ns. Behind the last work of a device
        it is end_of_work, whatever the host does."""
        with gzip.open(trace(name)) as file:
            events = [e for e in json.load(file, parse_float=Decimal)
                      ["traceEvents"] if e.get("ph") == "X"]

        def span(event):
            start = Decimal(event["ts"])
            return (int(start * 1000),
                    int((start + Decimal(event["dur"])) * 1000))
        calls = {e["args"]["correlation"]: span(e) for e in events
                 if e.get("cat") == "cuda_runtime" and
                 "correlation" in e.get("args", {})}
        work = sorted(span(e) for e in events if e.get("cat") in (
            "kernel", "gpu_memcpy", "gpu_memset"))
        total = 0
        for event in events:
            if event.get("cat") != "gpu_memcpy" or way not in event["name"]:
                continue
            at, back = span(event)[1], calls[event["args"]["correlation"]][1]
            for start, end in work:
                if end > at and start < back and at < back:
                    total += max(0, start - at)
                    at = max(at, end)
            if any(start >= back for start, _ in work):
                total += max(0, back - at)
        return total

    def test_calls_that_waited_for_copies_are_these_copies(self):
        has_waits = set()
        for name in ("alexnet-a100", "dlrm-128-rank0", "dlrm-128-rank1",
                     "event-sync", "mi250-rocm", "triton"):
            report = self.merge(trace(name), status=3 if "128" in name else 0)
            sums = report["devices"][0]["ledger"]
            for way in ("DtoH", "HtoD"):
                with self.subTest(name=name, way=way):
                    wanted = self.copy_waits(name, way)
                    self.assertEqual(sums[way.lower().replace("to", "2")],
                                     wanted)
                    has_waits |= {way} if wanted > 0 else set()
        self.assertEqual(has_waits, {"DtoH", "HtoD"})

    def test_the_device_and_what_its_startup_was_spent_in(self):
        report = self.merge(trace("alexnet-a100"))
        self.assertEqual(report["devices"][0]["name"],
                         "NVIDIA A100-PG509-200")
        first = next(c for c in report["causes"] if c["cause"] == "startup")
        # It comes but once, so it is behind the others.
        self.assertNotEqual(report["causes"][0]["cause"], "startup")
        self.assertEqual((first["host"]["call"], first["host"]["range"]),
                         ("cudaDeviceGetStreamPriorityRange",
                          "aten::empty_strided"))
        self.assertGreater(first["host_ns"], 0.98 * first["ns"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
