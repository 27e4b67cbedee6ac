#!/usr/bin/env python3
"""lies.py - frames with a good seal and wrong figures

SPDX-License-Identifier: Apache-2.0

    lies.py CKMERGE RUN COUNT SEED

Each time one field of one frame of the run is made wrong (the header's, or some
bytes of its batch) and the frame is sealed again, as one who holds the key can.
ckmerge must end by itself with a report. All of the other ranks is in it, and
where a header's figure is wrong and records are missing it ends with 3. An agent
that claims another's rank is named: which of both it is cannot be known.
"""
import collections
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../schema"))
from frames import FIELDS, HEAD, frames, seal

BITS = {"version": 16, "pack": 8, "flags": 8, "first": 64}


def wrong(source, name, value):
    """Another value of the field: near, far, zero, the largest, any."""
    if name == "magic":
        return bytes(source.randrange(256) for _ in range(4))
    if name == "agent":
        return bytes(source.randrange(256) for _ in range(16))
    top = (1 << BITS.get(name, 32)) - 1
    choices = [0, 1, top, top - 1, top // 2 + 1, value + 1, value - 1,
               value * 2, value // 2, value + 1000, value + 2 ** 20,
               source.randrange(top + 1), source.randrange(1 << 16),
               0xFFFFFFFE & top, 0xFFFFFFFF & top]
    return source.choice([c & top for c in choices if c & top != value]
                         or [value ^ 1])


def lie(source, blob, frame):
    """The file with a wrong field in this frame, and which."""
    at, end, fields = frame
    payload = bytearray(blob[at + HEAD.size:end])
    name = source.choice([f for f in FIELDS if f != "crc"] + ["batch"] * 8)
    if name == "batch":
        for _ in range(source.choice([1, 1, 2, 8])):
            place = source.randrange(max(1, fields["length"]))
            payload[place] = source.choice(
                [0, 1, 127, 128, 255, source.randrange(256)])
    else:
        fields = dict(fields)
        fields[name] = wrong(source, name, fields[name])
    made = seal(fields, bytes(payload))
    return blob[:at] + made + blob[end:], name


def counts(files, places):
    """Frames that announce more than their batch has: what each run tries."""
    for path, (at, end, fields) in places[:12]:
        for name in "units", "records":
            for value in fields[name] + 1, fields[name] + 2 ** 20:
                made = seal({**fields, name: value},
                            files[path][at + HEAD.size:end])
                yield path, (f"{name} {value} for {fields[name]}",
                             files[path][:at] + made + files[path][end:])


def merged(ckmerge, run):
    done = subprocess.run([ckmerge, "--quiet", "--output", "json", run],
                          capture_output=True, timeout=120)
    if done.returncode not in (0, 3):
        return done.returncode, done.stderr.decode(errors="replace")
    return done.returncode, json.loads(done.stdout)


def ranks(report):
    """Records of each rank."""
    return {rank["rank"]: rank["events"] for rank in report["ranks"]}


def main():
    ckmerge, run, count, seed = (sys.argv[1], sys.argv[2], int(sys.argv[3]),
                                 int(sys.argv[4]))
    source = random.Random(seed)
    work = tempfile.mkdtemp(prefix="ck-lies.")
    copy = work + "/run"
    shutil.copytree(run, copy)
    files = {path: open(path, "rb").read()
             for path in sorted(glob.glob(copy + "/*.ck"))}
    places = [(path, frame) for path, blob in files.items()
              for frame in frames(blob)]
    status, truth = merged(ckmerge, copy)
    assert status == 0, (status, truth)
    tally = collections.Counter()
    for path, (what, blob) in counts(files, places):
        with open(path, "wb") as file:
            file.write(blob)
        status, seen = merged(ckmerge, copy)
        assert status == 3, f"{what}: status {status}"
        tally["counts", status] += 1
        with open(path, "wb") as file:
            file.write(files[path])
    for number in range(count):
        path, frame = source.choice(places)
        blob, name = lie(source, files[path], frame)
        with open(path, "wb") as file:
            file.write(blob)
        status, seen = merged(ckmerge, copy)
        what = f"seed {seed}, lie {number}: {name} of {frame}"
        if status not in (0, 3):
            keep = work + "-seen"
            shutil.copytree(copy, keep)
            raise AssertionError(f"{what}: status {status}: {seen[-1000:]} "
                                 f"(see {keep})")
        # The wrong field costs its own agent at most.
        claimed = any(r["claimed_twice"] for r in seen["ranks"])
        same = [rank for rank, events in ranks(truth).items()
                if ranks(seen).get(rank) == events]
        assert len(same) >= len(ranks(truth)) - (2 if claimed else 1), (
            f"{what}: ranks {ranks(seen)} of {ranks(truth)}")
        assert status == 3 or not claimed, f"{what}: two ranks are one"
        # Other bytes of a batch may be other records, as true as any.
        if (name != "batch" and
                seen["trust"]["events"] != truth["trust"]["events"]):
            assert status == 3, f"{what}: events are missing, status 0"
        tally[name, status] += 1
        with open(path, "wb") as file:
            file.write(files[path])
    shutil.rmtree(work)
    for (name, status), times in sorted(tally.items()):
        print(f"{name:12} status {status}: {times}")
    print(f"ok: {count} lies, each with a report")


main()
