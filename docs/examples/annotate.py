#!/usr/bin/env python3
# annotate.py - steps and ranges of a Python program
#
# SPDX-License-Identifier: Apache-2.0
#
#     ckagent -- python3 annotate.py
"""ck.h for Python: without ckagent every call does nothing."""
import contextlib
import ctypes


class _Api(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("is_on", ctypes.c_uint32),
        ("mark", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)),
        ("value", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)),
        ("range_push", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("range_pop", ctypes.CFUNCTYPE(None)),
        ("step_begin", ctypes.CFUNCTYPE(None, ctypes.c_int64)),
        ("step_end", ctypes.CFUNCTYPE(None)),
    ]


def _api():
    try:
        get = ctypes.CDLL(None).ck_api_get
    except AttributeError:
        return None
    get.restype = ctypes.POINTER(_Api)
    found = get(ctypes.c_uint32(1))
    return found.contents if found and found.contents.is_on else None


API = _api()


@contextlib.contextmanager
def step(number):
    if API:
        API.step_begin(number)
    try:
        yield
    finally:
        if API:
            API.step_end()


@contextlib.contextmanager
def span(name):
    if API:
        API.range_push(name.encode())
    try:
        yield
    finally:
        if API:
            API.range_pop()


if __name__ == "__main__":
    total = 0.0
    for number in range(20):
        with step(number), span("train"):
            total += sum(i ** 0.5 for i in range(100000))
    print(round(total))
