#!/usr/bin/env python3
"""perfetto.py - a Perfetto trace agrees with the Chrome trace and the report

SPDX-License-Identifier: Apache-2.0

perfetto.py TRACE CHROME.JSON REPORT.JSON: decodes the protobuf by the numbers of
the published .proto files, with no code of ck, and checks what the trace
processor would refuse: names that are not known yet, ends without a begin,
slices that do not nest, tracks without a parent.
"""
import bisect
import collections
import json
import struct
import sys

from varint import varint

BEGIN, END, COUNTER = 1, 2, 4
failed = []


def same(what, have, expected):
    if have != expected:
        failed.append(what)
        print("%s: %s, expected %s" % (what, have, expected))


def fields(data):
    """{number: [values]} of a message; a value is a number or bytes."""
    at = 0
    out = collections.defaultdict(list)
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif kind == 2:
            length, at = varint(data, at)
            value = data[at:at + length]
            at += length
            if len(value) != length:
                sys.exit("a field of %d bytes has %d" % (length, len(value)))
        else:
            sys.exit("wire type %d" % kind)
        out[tag >> 3].append(value)
    return out


def one(message, number, default=None):
    return message[number][0] if number in message else default


class Reader:
    """What a trace processor keeps of one sequence."""

    def __init__(self):
        self.names = {1: {}, 2: {}, 3: {}, 4: {}}  # by kind of interned data
        self.tracks = {}
        self.events = []
        self.clocks = []

    def packet(self, packet, number):
        if number == 0:
            same("first packet", (one(packet, 87), one(packet, 13)), (1, 3))
        same("sequence", one(packet, 10), 1)
        for data in packet.get(12, []):
            for kind, values in fields(data).items():
                for value in values:
                    entry = fields(value)
                    self.names[kind][one(entry, 1)] = entry
        for data in packet.get(60, []):
            track = fields(data)
            uuid = one(track, 1)
            if uuid in self.tracks:
                same("track said twice", uuid, None)
            if 5 in track and one(track, 5) not in self.tracks:
                same("parent of track", one(track, 2), "known")
            self.tracks[uuid] = track
        for data in packet.get(6, []):
            self.clocks.append(fields(data))
        for data in packet.get(11, []):
            self.event(one(packet, 8, 0), fields(data))

    def event(self, time, event):
        if one(event, 11) not in self.tracks:
            same("track of an event", one(event, 11), "known")
        if one(event, 9) == BEGIN:
            if 10 in event and one(event, 10) not in self.names[2]:
                same("name of an event", one(event, 10), "known")
            if one(event, 3) not in self.names[1]:
                same("category of an event", one(event, 3), "known")
            if 34 in event and one(event, 34) not in self.names[4]:
                same("place of an event", one(event, 34), "known")
        self.events.append((time, len(self.events), event))


def name_of(reader, event):
    text = one(event, 23)
    return (one(reader.names[2][one(event, 10)], 2) if text is None else text).decode()


def slices(reader):
    """(category, name, track, start, length, event); nesting is checked."""
    stacks = collections.defaultdict(list)
    for time, _, event in sorted(reader.events, key=lambda item: item[:2]):
        stack = stacks[one(event, 11)]
        if one(event, 9) == BEGIN:
            stack.append((time, event))
        elif one(event, 9) == END:
            if not stack:
                same("end without a begin", time, None)
                continue
            start, begin = stack.pop()
            yield (one(reader.names[1][one(begin, 3)], 2).decode(),
                   name_of(reader, begin), one(event, 11), start, time - start, begin)
    same("slices without an end", sum(map(len, stacks.values())), 0)


def rank_of(reader, uuid):
    while True:
        track = reader.tracks[uuid]
        name = one(track, 2).decode()
        if name.startswith("rank ") and name[5:].isdigit():
            return int(name[5:])
        uuid = one(track, 5)


def messages(reader, calls):
    """{(from, to): arrows}: points of one flow, each within a call of its row."""
    ends = collections.defaultdict(dict)
    for time, _, event in reader.events:
        if one(event, 9) != 3:
            continue
        field = 47 if 47 in event else 48
        row = calls[one(event, 11)]
        at = bisect.bisect_right(row, (time, 1 << 63)) - 1
        if at < 0 or not any(start <= time < end for start, end in row[max(0, at - 50):at + 1]):
            same("point in a call", time, "within")
        ends[event[field][0]][field] = rank_of(reader, one(event, 11))
    pairs = collections.Counter()
    for flow, ranks in ends.items():
        same("ends of an arrow", sorted(ranks), [47, 48])
        pairs[ranks.get(47), ranks.get(48)] += 1
    return pairs


def main():
    reader = Reader()
    with open(sys.argv[1], "rb") as file:
        trace = fields(file.read())
    same("fields of the trace", list(trace), [1])
    for number, packet in enumerate(trace[1]):
        reader.packet(fields(packet), number)
    with open(sys.argv[2], encoding="utf8") as file:
        chrome = json.load(file)
    with open(sys.argv[3], encoding="utf8") as file:
        report = json.load(file)

    have, sums, idle = (collections.Counter() for _ in range(3))
    sources, targets, calls = {}, {}, collections.defaultdict(list)
    for category, name, track, start, length, event in slices(reader):
        have[category] += 1
        sums[category] += length
        if category == "call":
            calls[track].append((start, start + length))
        if category == "idle":
            idle[rank_of(reader, track), name] += length
        for flow in event.get(47, []):
            sources[flow] = start
        for flow in event.get(48, []):
            targets.setdefault(flow, []).append((start, length))
    kinds = {"kernel": "kernel", "copy": "copy", "wait": "wait", "range": "range",
             "step": "step", "idle": "idle"}
    expected, length = collections.Counter(), collections.Counter()
    for event in chrome["traceEvents"]:
        if event["ph"] == "X":
            kind = kinds.get(event["cat"], "call")
            expected[kind] += 1
            length[kind] += round(event["dur"] * 1000)
    for kind in list(kinds.values()) + ["call"]:
        same("count of " + kind, have[kind], expected[kind])
        same("sum of " + kind, sums[kind], length[kind])
    ledger = collections.Counter()
    for device in report["devices"]:
        for cause, ns in device["ledger"].items():
            if cause not in ("compute", "comm_transfer", "comm_wait", "copy_only") and ns:
                ledger[device["ranks"][0], cause] += ns
    same("idle time by cause", dict(idle), dict(ledger))
    # The Chrome trace has none to work of no length, or before its launch.
    arrows = sum(1 for flow, works in targets.items() for start, length in works
                 if flow in sources and length > 0 and start >= sources[flow])
    same("arrows", arrows, chrome["otherData"]["arrows"])
    for row in calls.values():
        row.sort()
    drawn = collections.defaultdict(dict)
    for event in chrome["traceEvents"]:
        if event.get("cat") == "message":
            drawn[event["id"]][event["ph"]] = event["pid"]
    same("arrows of messages", messages(reader, calls),
         collections.Counter((ends["s"], ends["f"]) for ends in drawn.values()))
    if report["realtime_of_zero_ns"] is not None:
        same("clock snapshots", len(reader.clocks), 1)
    print("%d slices, %d arrows, %d wrong" % (sum(have.values()), arrows, len(failed)))
    return int(bool(failed) or not have)


sys.exit(main())
