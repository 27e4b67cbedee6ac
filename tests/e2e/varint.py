"""varint.py - a number in groups of seven bits, lowest first

SPDX-License-Identifier: Apache-2.0
"""


def varint(data, at):
    """The number at that byte, and where the next one begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
