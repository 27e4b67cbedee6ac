#!/usr/bin/env python3
"""jsoncorpus.py - ck's JSON reader against Python's on texts made at random

SPDX-License-Identifier: Apache-2.0

jsoncorpus.py JSONTOKENS [COUNT]; CK_SEED repeats it. Whole documents and
copies with a byte changed: both readers must take the same ones, and see the
same tokens in them, also where ck's steps over some values.
"""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

SEED = int(os.environ.get("CK_SEED", "0")) or random.randrange(1, 1 << 31)
RNG = random.Random(SEED)
CHARS = ['a', '"', '\\', '/', '\n', '\t', '\x01', '\x7f', 'é', '€', '😀', ' ',
         '\u2028', 'zz', '0']


class Number(str):
    pass


def hexed(item):
    """The text's bytes; half a pair of surrogates is U+FFFD, as in ck."""
    return item.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace").encode().hex()


def text():
    return "".join(RNG.choices(CHARS, k=RNG.choice([0, 1, 3, 15, 16, 17, 40])))


def value(depth):
    kind = RNG.randrange(8 if depth < 6 else 6)
    if kind == 0:
        return text()
    if kind == 1:
        return RNG.choice([0, -1, 7, 10**18, -(10**25), 2**63])
    if kind == 2:
        return RNG.choice([0.5, -1e300, 1e-7, 12345.678, float("nan"),
                           float("inf"), float("-inf")])
    if kind < 6:
        return RNG.choice([True, False, None])
    if kind == 6:
        return [value(depth + 1) for _ in range(RNG.randrange(6))]
    return {text(): value(depth + 1) for _ in range(RNG.randrange(6))}


def tokens(item, out):
    if isinstance(item, Number):
        out.append("d" + item)
    elif isinstance(item, str):
        out.append("s" + hexed(item))
    elif isinstance(item, list):
        out.append("[")
        for part in item:
            tokens(part, out)
        out.append("]")
    elif isinstance(item, tuple):
        out.append("{")
        for name, part in item:
            out.append("k" + hexed(name))
            tokens(part, out)
        out.append("}")
    else:
        out.append({True: "t", False: "f", None: "n"}.get(item, "N")
                   if item is not NAN else "N")


NAN = object()


def expected(data):
    """Tokens by Python, None = no JSON."""
    try:
        item = json.loads(data.decode("utf-8"), parse_int=Number,
                          parse_float=Number, parse_constant=lambda _: NAN,
                          object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    out = []
    tokens(item, out)
    return out


def stepped(wanted, every):
    """The same tokens, where each every-th name or bracket is stepped over."""
    out = []
    count = 0
    at = 0
    while at < len(wanted):
        kind = wanted[at][0]
        out.append(wanted[at])
        at += 1
        if kind not in "k{[":
            continue
        count += 1
        if count % every:
            continue
        out.append("-")
        depth = 0 if kind == "k" else 1
        while at < len(wanted):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(wanted[at][0], 0)
            at += 1
            if depth == 0:
                break
    return out


def check(tool, path, data):
    with open(path, "wb") as file:
        file.write(gzip.compress(data, 1) if RNG.randrange(4) == 0 else data)
    whole = expected(data)
    every = RNG.choice([0, 0, 1, 2, 3, 7])
    print(every, path, file=tool.stdin, flush=True)
    said = [line.rstrip("\n") for line in iter(tool.stdout.readline, ".\n")
            if line or sys.exit("seed %d: jsontokens died" % SEED)]
    wanted = stepped(whole, every) if whole and every else whole
    if wanted is None and said[-1:] == ["error"]:
        return 0
    if said != wanted:
        sys.exit("seed %d, %d: %r\n ck     %s\n Python %s" %
                 (SEED, every, data[:2000], said[-5:],
                  wanted and wanted[-5:]))
    return 1


def main():
    # One process for all texts: with sanitizers a start costs 0.1 s.
    tool = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    good = 0
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "x.json")
        for _ in range(count):
            whole = value(0)
            if RNG.randrange(10) == 0: # more than the reader's buffer
                whole = [[whole, value(3)] for _ in range(4000)]
            data = json.dumps(whole, ensure_ascii=RNG.random() < 0.5,
                              indent=RNG.choice([None, 1])).encode()
            good += check(tool, path, data)
            changed = bytearray(data)
            changed[RNG.randrange(len(data))] = RNG.choice(
                b'{}[],:"\\0e-.xtn \x00\x80\xff')
            if b"\x1f\x8b" != changed[:2]:
                good += check(tool, path, bytes(changed))
    tool.stdin.close()
    if tool.wait() != 0:
        sys.exit("seed %d: jsontokens ended with %d" % (SEED, tool.returncode))
    print("%d texts, %d of them JSON, seed %d" % (2 * count, good, SEED))


main()
