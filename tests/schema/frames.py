# SPDX-License-Identifier: Apache-2.0
"""Frames of segments (docs/protocol.md), sharing no code with ck. For
reader.py, and for tests that change frames."""
import struct

HEAD = struct.Struct("<4sHBB16sIIQIIIIII")
FIELDS = ["magic", "version", "pack", "flags", "agent", "incarnation", "slot",
          "first", "units", "records", "length", "raw", "crc", "classes"]
TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def seal(fields, payload):
    """The frame with the crc that belongs to it."""
    fields = dict(fields, crc=0)
    crc = crc32c(HEAD.pack(*fields.values()) + payload[:fields["length"]])
    return HEAD.pack(*dict(fields, crc=crc).values()) + payload


def frames(blob):
    """(begin, end, header's fields) of each frame of a whole segment."""
    at, out = 0, []
    while at < len(blob):
        fields = dict(zip(FIELDS, HEAD.unpack_from(blob, at)))
        end = at + HEAD.size + (fields["length"] + 7) // 8 * 8
        out.append((at, end, fields))
        at = end
    return out
