#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reader of segments: docs/protocol.md and docs/store.md in
Python, sharing no code with ck. Prints each record as a line of JSON.
Usage: reader.py SCHEMA_DIR SEGMENT     (unpacked frames only)"""
import json, re, struct, sys
from frames import crc32c
schema, path = sys.argv[1:]
kind_def, event_h = (open(f"{schema}/{n}").read() for n in ("kind.def", "event.h"))
structs = {m[1]: {k: t for t, k in re.findall(r"(u?int\d+)_t (\w+)[;\[]", m[2])}
           for m in re.finditer(r"struct (\w+) \{(.*?)\n\};", event_h, re.S)}
classes, columns, kinds = {}, {}, {}
for number, name, type_, text in re.findall(
        r'^CK_CLASS\((\d+), (\w+), (\w+), \d+, "(.*?)"\)', kind_def, re.M):
    classes[int(number)] = (name, type_, text)
    columns[name] = []
for name, number, member, code in re.findall(
        r"^CK_FIELD\((\w+), (\d+), ([^,]+), (\w+)\)", kind_def, re.M):
    type_ = next(t for n, t, _ in classes.values() if n == name)
    columns[name].append((int(number), member, structs[type_][member.split("[")[0]], code))
for number, name in re.findall(r"^CK_KIND\((\d+), \w+, (\w+),", kind_def, re.M):
    kinds[int(number)] = name
def leb128(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at
def field(buf, t, index, fmt):  # a FlatBuffer table's field, or 0
    vt = t - struct.unpack_from("<i", buf, t)[0]
    at = struct.unpack_from("<H", buf, vt + 4 + 2 * index)[0] \
        if 4 + 2 * index < struct.unpack_from("<H", buf, vt)[0] else 0
    return (struct.unpack_from(fmt, buf, t + at)[0], t + at) if at else (0, 0)
def vector(buf, t, index):  # (count, where it begins)
    offset, at = field(buf, t, index, "<I")
    return (struct.unpack_from("<I", buf, at + offset)[0], at + offset + 4) if at else (0, 0)
def octets(buf, t, index):
    count, at = vector(buf, t, index)
    return buf[at:at + count]
def tables(buf, t, index):
    count, at = vector(buf, t, index)
    return [p + struct.unpack_from("<I", buf, p)[0] for p in range(at, at + 4 * count, 4)]
def differences(data, count):
    out, at = [], 0
    while at < len(data):
        if data[at] == 0:
            more, at = leb128(data, at + 1)
            out += [0] * (more + 1)
        else:
            z, at = leb128(data, at)
            out.append(z >> 1 ^ -(z & 1))
    return out or [0] * count
def back(start, v):  # its own description in protocol.md: v to member
    return 0 if v == M64 else (start + 1) & M64 if v == start else (start - v) & M64
M64, HEAD = (1 << 64) - 1, [(0, "e.kind", "uint16"), (1, "e.flags", "uint8"),
                            (2, "e.name", "uint32"), (3, "e.start", "int64")]
def group_rows(buf, t):
    name, _, text = classes[field(buf, t, 0, "<B")[0]]
    count, taken, last, rows = field(buf, t, 1, "<I")[0], 0, {}, []
    data = {field(buf, c, 0, "<B")[0]: octets(buf, c, 1) for c in tables(buf, t, 2)}
    next_ = {field(buf, c, 0, "<B")[0] for c in tables(buf, t, 2) if field(buf, c, 2, "<B")[0]}
    diffs = {c: differences(data.get(c, b""), count) for c in range(32)}
    for i in range(count):
        raw = {m: (rows[-1][0][m] if rows else 0) + diffs[c][i] & (1 << int(ty.strip("uint"))) - 1
               for c, m, ty in HEAD}
        context = (raw["e.name"] ^ raw["e.kind"] * 7) % 256
        stored = {}
        for c, member, type_, code in columns[name]:
            if c in next_:
                before = (rows[-1][0][member] if rows else 0) + 1
            else:
                before = last.get(context, {}).get(member, M64 if code == "BACK" else 0)
            stored[member] = before + diffs[c][i] & (1 << int(type_.strip("uint"))) - 1
            raw[member] = back(raw["e.start"], stored[member]) if code == "BACK" else stored[member]
        last[context] = stored
        row = {"class": text}
        for member, type_ in [h[1:] for h in HEAD] + [c[1:3] for c in columns[name]]:
            bits = int(type_.strip("uint"))
            signed = type_[0] == "i" or bits == 64
            row[member] = raw[member] - (1 << bits) * (signed and raw[member] >> bits - 1)
        if name in ("TEXT", "MODULE"):
            row["text"] = octets(buf, t, 3)[taken:taken + raw["length"]].hex()
            taken += raw["length"]
        assert kinds[raw["e.kind"]] == name
        rows.append((raw, row))
    return iter(r for _, r in rows)
blob, at = open(path, "rb").read(), 0
while (at := blob.find(b"CKF1", at)) >= 0:
    length, _, crc = struct.unpack_from("<III", blob, at + 48) if at + 64 <= len(blob) else (0, 0, 0)
    end = at + 64 + length
    if end > len(blob) or crc != crc32c(blob[at:at + 56] + bytes(4) + blob[at + 60:end]):
        at += 1
        continue
    buf, at = blob[at + 64:end], at + 64 + (length + 7) // 8 * 8
    assert buf[4:8] in (b"CKB1", b"CKB2")
    batch = struct.unpack_from("<I", buf)[0]
    groups = {field(buf, g, 0, "<B")[0]: group_rows(buf, g) for g in tables(buf, batch, 6)}
    order, p = octets(buf, batch, 5), 0
    while p < len(order):
        run, p = leb128(order, p)
        for _ in range((run >> 5) + 1):
            print(json.dumps(next(groups[run & 31]), separators=(",", ":")))
