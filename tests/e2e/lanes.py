#!/usr/bin/env python3
"""lanes.py - the page's timeline adds up to its report, to the nanosecond

SPDX-License-Identifier: Apache-2.0

lanes.py PAGE...: reads the lanes of pages whose items are exact
(merge/output/lanes/laneblock.h has the format) and compares: idle time of each
rank's devices by cause with the ledger; items in order, without overlap.
"""
import base64
import collections
import json
import re
import sys
import zlib

from varint import varint

BUSY = ("compute", "comm_transfer", "comm_wait", "copy_only")


def block(page, name):
    found = re.search(r'id="block-%s">([^<]*)<' % name, page)
    return zlib.decompress(base64.b64decode(found.group(1)), -15)


def column(data, at, count):
    values = []
    for _ in range(count):
        value, at = varint(data, at)
        values.append(value)
    return values, at


def items_of(lane, data):
    """(start, end, class) of each item of an exact lane."""
    at = lane["offset"]
    columns = []
    for _ in range(4):
        values, at = column(data, at, lane["items"])
        columns.append(values)
    if at != lane["offset"] + lane["bytes"]:
        sys.exit("a lane has %d bytes more than its columns" %
                 (lane["offset"] + lane["bytes"] - at))
    time = 0
    for gap, length, kind, _ in zip(*columns):
        yield time + gap, time + gap + length, kind
        time += gap + length


def examples_are_there(path, report, drawn):
    """Each cause's example is idle time of that rank and cause from end to end."""
    for cause in report["causes"]:
        example = cause["example"]
        if example is None or example["rank"] is None:
            sys.exit("%s: %s of rank %s has no example" % (path, cause["cause"], cause["rank"]))
        start, end = example["start_rel_ns"], example["end_rel_ns"]
        inside = sum(min(b, end) - max(a, start) for a, b in
                     drawn[example["rank"], cause["cause"]] if b > start and a < end)
        if inside != end - start or end - start > cause["ns"]:
            sys.exit("%s: %s: %d ns of its example of %d are drawn" %
                     (path, cause["cause"], inside, end - start))


def check(path):
    with open(path, encoding="utf8") as file:
        page = file.read()
    index = json.loads(block(page, "lanes"))
    data = block(page, "items")
    report = json.loads(block(page, "report"))
    idle = collections.defaultdict(int)
    drawn = collections.defaultdict(list)
    count = 0
    if index["level_ns"] != 0 or index["items_hidden"] != 0:
        sys.exit(path + ": its items are not exact")
    for lane in index["lanes"]:
        for start, end, kind in items_of(lane, data):
            count += 1
            if start > end or end > index["length_ns"]:
                sys.exit("%s: an item from %d to %d" % (path, start, end))
            if lane["kind"] == "idle":
                idle[lane["rank"], index["classes"][kind]] += end - start
                drawn[lane["rank"], index["classes"][kind]].append((start, end))
    examples_are_there(path, report, drawn)
    expected = collections.defaultdict(int)
    for device in report["devices"]:
        for cause, ns in device["ledger"].items():
            if cause not in BUSY and ns > 0:
                expected[device["ranks"][0], cause] += ns
    if dict(idle) != dict(expected):
        sys.exit("%s: idle %s, in the ledger %s" % (path, dict(idle), dict(expected)))
    if count != index["items_taken"]:
        sys.exit("%s: %d items of %d" % (path, count, index["items_taken"]))
    print("%s: %d items, %d causes add up" % (path, count, len(idle)))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check(argument)
