#!/usr/bin/env python3
# perfettoforms.py BUILD MODULE [TIMES] - what each form of a slice costs a reader
#
# SPDX-License-Identifier: Apache-2.0
"""The slices of the run of perfetto.py, taken from its Chrome trace, in forms that
Perfetto's trace processor reads, each sorted by time: CPU time of loading each /
of loading the Chrome trace, in turn, medians of TIMES (3). The title of a form names
what it lacks: its cost is a bound for one that has it.
"""
import json
import os
import statistics
import struct
import sys
import zlib

from job import Bench, remark
from perfetto import loaded, traces_of

# Field numbers: of packets, of events, of what else is in a packet.
PACKET, TIME, SEQUENCE, EVENT, INTERNED, FLAGS, METATRACE, RENDER, TRACK = 1, 8, 10, 11, 12, 13, 49, 53, 60
LEGACY, TYPE, NAME, UUID = 6, 9, 10, 11
BEGIN, END, POINT = 1, 2, 3
KEPT = ("from", "bytes", "peer", "tag", "error_ns", "kind")
FIRST_TID = 1000


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packet(time, *parts):
    return block(PACKET, number(TIME, time) + number(SEQUENCE, 1) + b"".join(parts))


def event(*parts):
    return number(FLAGS, 2) + block(EVENT, b"".join(parts))


def named(field, texts):
    return b"".join(block(field, number(1, iid) + block(2, text.encode())) for text, iid in texts.items())


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


class Slices:
    """slices: (start, length, row, name, arguments); arrows: (time, is_end, row, id)"""

    def __init__(self, chrome):
        self.slices, self.arrows, self.rows, self.names = [], [], {}, {}
        with open(chrome, encoding="utf8") as file:
            for line in file:
                if '"ph":"X"' in line or '"ph":"s"' in line or '"ph":"f"' in line:
                    self.take(json.loads(line.rstrip().rstrip(",]}") + "}" * (1 + ('"args":' in line)), parse_float=str))
        self.slices.sort(key=lambda one: (one[0], -one[1]))

    def take(self, one):
        row = self.rows.setdefault((one["pid"], one["tid"]), len(self.rows) + 1)
        if one["ph"] != "X":
            self.arrows.append((ns(str(one["ts"])), one["ph"] == "f", row, one["id"]))
            return
        self.names.setdefault(one["name"], len(self.names) + 1)
        self.slices.append((ns(str(one["ts"])), ns(str(one["dur"])), row, one["name"], one.get("args", {})))


def head(slices, *interned):
    """The first packet, and a track for each row."""
    yield packet(0, number(FLAGS, 3), number(87, 1), number(42, 1),
                 block(INTERNED, named(2, {"launch": 1, **{name: iid + 1 for name, iid in slices.names.items()}}) +
                       named(1, {"launch": 1}) + b"".join(interned)))
    for (process, _), row in slices.rows.items():
        thread = number(1, process + 1) + number(2, FIRST_TID + row) + block(5, b"row %d" % row)
        yield packet(0, number(FLAGS, 2), block(TRACK, number(1, row) + block(4, thread)))


def pairs(slices):
    yield from head(slices)
    events = []
    for start, length, row, name, _ in slices.slices:
        events.append((start, 1, -length, event(number(TYPE, BEGIN), number(UUID, row), number(NAME, slices.names[name] + 1))))
        events.append((start + length, 0, 0, event(number(TYPE, END), number(UUID, row))))
    for time, _, _, what in sorted(events, key=lambda one: one[:3]):
        yield packet(time, what)


def lean(slices, has_names=True):
    """The least that a pair may be: a sequence for each row, whose track is its default, and
    times counted from its last packet."""
    names = named(2, {name: iid for name, iid in slices.names.items()})
    for (process, _), row in slices.rows.items():
        thread = number(1, process + 1) + number(2, FIRST_TID + row) + block(5, b"row %d" % row)
        clocks = block(1, number(1, 6) + number(2, 0)) + block(1, number(1, 64) + number(2, 0) + number(3, 1))
        own = number(SEQUENCE, row) + number(FLAGS, 3) + number(87, 1) + number(42, 1)
        yield block(PACKET, number(TIME, 0) + number(58, 6) + own + block(INTERNED, names) + block(6, clocks) +
                    block(59, number(58, 64) + block(11, number(UUID, row))))
        yield block(PACKET, number(TIME, 0) + number(58, 6) + number(SEQUENCE, row) + number(FLAGS, 2) +
                    block(TRACK, number(1, row) + block(4, thread)))
    events, last = [], {}
    for start, length, row, name, _ in slices.slices:
        events.append((start, 1, -length, row, number(TYPE, BEGIN) + (number(NAME, slices.names[name]) if has_names else b"")))
        events.append((start + length, 0, 0, row, number(TYPE, END)))
    for time, _, _, row, what in sorted(events, key=lambda one: one[:3]):
        yield block(PACKET, number(TIME, time - last.get(row, 0)) + number(SEQUENCE, row) + number(FLAGS, 2) + block(EVENT, what))
        last[row] = time


def compressed(packets):
    """The same packets, deflated by some 400 kB."""
    part = bytearray()
    for one in packets:
        if len(part) + len(one) > 400000:
            yield block(PACKET, block(50, zlib.compress(bytes(part), 6)))
            part = bytearray()
        part += one
    yield block(PACKET, block(50, zlib.compress(bytes(part), 6)))


def points(slices):
    yield from head(slices)
    for start, _, row, name, _ in slices.slices:
        yield packet(start, event(number(TYPE, POINT), number(UUID, row), number(NAME, slices.names[name] + 1)))


def stages(slices):
    specifications = {"row %d" % row: row for row in slices.rows.values()}
    specifications.update((name, FIRST_TID + iid) for name, iid in slices.names.items())
    yield from head(slices, named(24, specifications))
    for i, (start, length, row, name, _) in enumerate(slices.slices):
        yield packet(start, number(FLAGS, 2),
                     block(RENDER, number(1, i + 1) + number(2, length) + number(13, row) +
                           number(14, FIRST_TID + slices.names[name]) + number(11, 0)))


def single(slices, has_arguments, has_arrows):
    """One packet a slice: the processor's record of its own work, which has a length in
    ns, a name, and texts; on tracks of threads alone, and without a category."""
    texts, events = {}, []

    def iid(text):
        return texts.setdefault(text, len(texts) + 1)

    for start, length, row, name, arguments in slices.slices:
        body = [number(11, iid(name)), number(3, length), number(5, FIRST_TID + row)]
        body += [block(7, number(3, iid(key)) + number(4, iid(str(arguments[key]))))
                 for key in KEPT if has_arguments and arguments.get(key, 0) != 0]
        events.append((start, 0, -length, block(METATRACE, b"".join(body))))
    for time, is_end, row, which in slices.arrows if has_arrows else ():
        legacy = number(2, ord("f" if is_end else "s")) + number(6, which) + (number(12, 1) if is_end else b"")
        events.append((time, 1, 0, event(number(UUID, row), number(3, 1), number(NAME, 1), block(LEGACY, legacy))))
    yield from head(slices)
    yield packet(0, block(METATRACE, named(10, texts)))
    for time, _, _, what in sorted(events, key=lambda one: one[:3]):
        yield packet(time, what)


def fuchsia(slices):
    """Records of Fuchsia's format: no protobuf at all."""
    def words(*all_of_it):
        return struct.pack("<%dQ" % len(all_of_it), *all_of_it)

    yield words(0x0016547846040010, 1 | 2 << 4, 10 ** 9)
    for text, at in {"c": 1, **{name: iid + 1 for name, iid in slices.names.items()}}.items():
        size = (len(text.encode()) + 7) // 8
        yield words(2 | (1 + size) << 4 | at << 16 | len(text.encode()) << 32) + text.encode().ljust(size * 8, b"\0")
    for (process, _), row in slices.rows.items():
        yield words(3 | 3 << 4 | row << 16, process + 1, FIRST_TID + row)
    for start, length, row, name, _ in slices.slices:
        yield words(4 | 3 << 4 | 4 << 16 | row << 24 | 1 << 32 | slices.names[name] + 1 << 48, start, start + length)


FORMS = (
    ("begins and ends, no argument, category or arrow", pairs),
    ("the same, lean: defaults, times from the packet before", lean),
    ("the same, deflated", lambda slices: compressed(lean(slices))),
    ("the same, without names", lambda slices: lean(slices, False)),
    ("one point for each slice: no length either", points),
    ("stages of a GPU, one packet each: no argument or arrow", stages),
    ("one packet each, on threads alone: no argument or arrow", lambda slices: single(slices, False, False)),
    ("the same with arguments as texts", lambda slices: single(slices, True, False)),
    ("the same with arguments and arrows", lambda slices: single(slices, True, True)),
    ("Fuchsia's format: no argument or arrow", fuchsia),
)


def main():
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with Bench(sys.argv[1]) as bench:
        chrome, perfetto = traces_of(bench)
        slices = Slices(chrome)
        traces = [("the Chrome trace", chrome), ("the Perfetto trace as it is", perfetto)]
        for i, (title, form) in enumerate(FORMS):
            path = os.path.join(bench.work, "form-%d" % i)
            with open(path, "wb") as file:
                file.writelines(form(slices))
            traces.append((title, path))
        answers = [[loaded(sys.argv[2], path) for _, path in traces] for _ in range(times)]
        for i, (title, path) in enumerate(traces):
            found = answers[0][i]
            remark("%-55s | %6.1f MB | %4.0f ms | %.2f | %d slices, %d arrows" %
                   (title, os.path.getsize(path) / 1e6, statistics.median(one[i]["load_cpu_ms"] for one in answers),
                    statistics.median(one[i]["load_cpu_ms"] / one[0]["load_cpu_ms"] for one in answers),
                    found["slices"], found["flows"]))


main()
