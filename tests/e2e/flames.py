#!/usr/bin/env python3
"""flames.py - the page's stacks add up to its report, to the nanosecond

SPDX-License-Identifier: Apache-2.0

flames.py PAGE...: reads the stacks of pages (merge/output/flames/flameblock.h
has the format): idle time by cause is that of the ledger, device time that of
kernels and copies, CPU time that of the samples; each stack's time by cell adds
up to that of all cells.
"""
import collections
import json
import sys

from lanes import BUSY, block, column


def stacks_of(index, data):
    """(kind, frames, ns) of each stack, and the sum of the kind by cell."""
    above, at = column(data, 0, index["nodes"])
    frames, at = column(data, at, index["nodes"])
    for kind in index["kinds"]:
        nodes, at = column(data, at, kind["paths"])
        shades = []
        if kind["total_ns"] > 0:
            shades, at = column(data, at, index["cells"])
        cells, at = column(data, at, kind["sums"])
        paths, at = column(data, at, kind["sums"])
        times, at = column(data, at, kind["sums"])
        if kind["total_ns"] > 0 and max(shades) != 255:
            sys.exit("%s: the fullest cell is %d" % (kind["name"], max(shades)))
        if sum(cells) * index["wide"] >= index["cells"] + index["wide"]:
            sys.exit("%s: a sum lies behind the last cell" % kind["name"])
        sums = collections.Counter()
        for path, ns in zip(paths, times):
            sums[path] += ns
        for path, node in enumerate(nodes):
            names = []
            while node >= 0:
                names.insert(0, index["frames"][frames[node]])
                node -= above[node]
            yield kind["name"], names, sums[path]
    if at != len(data):
        sys.exit("%d bytes more than the columns" % (len(data) - at))


def same(path, what, wanted, found):
    if wanted != found:
        sys.exit("%s: %s: %s, in the report %s" % (path, what, found, wanted))


def check(path):
    with open(path, encoding="utf8") as file:
        page = file.read()
    index = json.loads(block(page, "flames"))
    report = json.loads(block(page, "report"))
    idle = collections.Counter()
    total = collections.Counter()
    kernels = collections.Counter()
    for kind, frames, ns in stacks_of(index, block(page, "stacks")):
        total[kind] += ns
        if kind == "idle":
            idle[frames[1]] += ns
        elif kind == "device":
            kernels[frames[-1]] += ns
    ledger = collections.Counter()
    for device in report["devices"]:
        ledger.update({cause: ns for cause, ns in device["ledger"].items()
                       if cause not in BUSY and ns > 0})
    same(path, "idle time by cause", dict(ledger), dict(idle))
    same(path, "device time", sum(kernel["total_ns"] for kernel in report["kernels"]) +
         sum(copy["total_ns"] for copy in report["copies"]), total["device"])
    for kernel in report["kernels"]:
        same(path, kernel["name"][:60], kernel["total_ns"], kernels[kernel["name"]])
    same(path, "CPU time", (report.get("sampled") or {}).get("total_ns", 0), total["cpu"])
    for kind in index["kinds"]:
        same(path, kind["name"], kind["total_ns"], total[kind["name"]])
    print("%s: %s" % (path, dict(total)))


for argument in sys.argv[1:]:
    check(argument)
