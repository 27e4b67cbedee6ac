#!/usr/bin/env python3
"""damage.py - a run that is cut or flipped: what verifies is merged

SPDX-License-Identifier: Apache-2.0

    damage.py CKMERGE RUN cut STEP        each segment cut at each STEPth byte
    damage.py CKMERGE RUN flip COUNT SEED  one random bit of a random file
    damage.py CKMERGE RUN bare COUNT SEED  so too, where the manifest is gone
    damage.py CKMERGE RUN shrink COUNT    merges while files are shortened and
                                          made whole, again and again

After each damage ckmerge must end by itself, and report of the run exactly what
it reports of a run in which the frames that were touched never were.
"""
import glob
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HEAD = struct.Struct("<4sHBB16sIIQIIIIII")


def frames(blob):
    """(offset, end, records) of each frame of an undamaged file."""
    at, out = 0, []
    while at < len(blob):
        fields = HEAD.unpack_from(blob, at)
        assert fields[0] == b"CKF1", f"no frame at {at}"
        end = at + 64 + (fields[10] + 7) // 8 * 8
        out.append((at, end, fields[9]))
        at = end
    return out


class Damage:
    def __init__(self, ckmerge, run):
        self.ckmerge = ckmerge
        self.work = tempfile.mkdtemp(prefix="ck-damage.")
        self.run = self.work + "/run"
        shutil.copytree(run, self.run)
        self.files = {}
        for path in sorted(glob.glob(self.run + "/*.ck")):
            with open(path, "rb") as file:
                self.files[path] = file.read()
        self.frames = {path: frames(blob) for path, blob in self.files.items()}
        self.known = {}
        self.is_bare, self.exact = False, 0
        self.whole = sum(f[2] for fs in self.frames.values() for f in fs)

    def merged(self, what):
        """The report without its words on damage, or the error's text."""
        done = subprocess.run([self.ckmerge, "--quiet", "--output", "json",
                               self.run], capture_output=True, timeout=120)
        if done.returncode == 1 and done.stderr.count(b"\n") == 1:
            return done.stderr.decode()
        assert done.returncode in (0, 3), (
            f"{what}: status {done.returncode}: {done.stderr[-2000:]}")
        report = json.loads(done.stdout)
        for key in ("places", "bytes", "tails", "first"):
            del report["trust"]["damage_" + key]
        for key in ("complete", "cost"):
            report.pop(key)
        return report

    def without(self, path, frame):
        """What ckmerge makes of the file without this frame, or those behind
        it (an integer: how many are left)."""
        key = (path, frame)
        if key not in self.known:
            blob, kept = self.files[path], self.frames[path]
            kept = (kept[:frame] if isinstance(frame, int)
                    else [f for f in kept if f != frame])
            self.write(path, b"".join(blob[a:b] for a, b, _ in kept))
            self.known[key] = self.merged("undamaged")
            self.write(path, blob)
        return self.known[key]

    def check(self, what, expected, lost):
        """As expected; `lost` records, which the manifest knew."""
        seen = self.merged(what)
        if not isinstance(seen, str):
            self.count(what, seen, lost)
        if seen == expected or (isinstance(seen, str) and
                                isinstance(expected, str)):
            return
        keep = self.work + "-seen"
        shutil.copytree(self.run, keep)
        parts = [key for key in expected
                 if isinstance(seen, dict) and isinstance(expected, dict)
                 and seen.get(key) != expected[key]]
        raise AssertionError(f"{what}: not as without that frame: {parts} "
                             f"{seen if isinstance(seen, str) else ''} "
                             f"(see {keep})")

    def count(self, what, seen, lost):
        """What the report has of `lost` records."""
        trust = seen["trust"]
        told = trust["lost"], trust["lost_exact"], trust["records_gone"]
        if not self.is_bare:
            assert told == (lost, True, lost), (
                f"{what}: {lost} records are gone, the report says {told}")
            return
        # Whether an agent recorded more behind its last record is not known.
        is_known = all(rank["dark"] == "no" for rank in seen["ranks"])
        self.exact += is_known and told[1] and lost > 0
        assert told[2] == 0 and told[0] <= lost and (
            told[0] == lost or not told[1] or not is_known), (
                f"{what}: {lost} records are gone, the report says {told}")

    def write(self, path, blob):
        with open(path, "wb") as file:
            file.write(blob)

    def cut(self, step):
        count = 0
        for path, blob in self.files.items():
            for length in range(0, len(blob), step):
                kept = sum(f[1] <= length for f in self.frames[path])
                lost = sum(f[2] for f in self.frames[path][kept:])
                expected = self.without(path, kept)
                self.write(path, blob[:length])
                self.check(f"{path} cut at {length}", expected, lost)
                count += 1
            self.write(path, blob)
        return count

    def flip(self, count, seed):
        source = random.Random(seed)
        paths = list(self.files)
        weights = [len(self.files[path]) for path in paths]
        for _ in range(count):
            path = source.choices(paths, weights)[0]
            blob = bytearray(self.files[path])
            at = source.randrange(len(blob))
            bit = source.randrange(8)
            blob[at] ^= 1 << bit
            hit = [f for f in self.frames[path] if f[0] <= at < f[1]][0]
            length = HEAD.unpack_from(self.files[path], hit[0])[10]
            # The zeros that fill a frame up are not its content.
            is_filler = at >= hit[0] + 64 + length
            expected = self.without(path, None if is_filler else hit)
            self.write(path, blob)
            self.check(f"{path} bit {bit} of byte {at} flipped", expected,
                       0 if is_filler else hit[2])
            self.write(path, self.files[path])
        return count

    def shrink(self, count):
        """Whatever moment it is: a report, or one line and status 1."""
        other = os.fork()
        while other == 0:
            for path, blob in self.files.items():
                with open(path, "r+b") as file:
                    file.truncate(128)
                    time.sleep(0.0005)
                    file.write(blob)
        try:
            return self.shrunk(count)
        finally:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)

    def shrunk(self, count):
        """How many merges ended with which status."""
        ended = {}
        for number in range(count):
            done = subprocess.run([self.ckmerge, "--quiet", "--output", "json",
                                   self.run], capture_output=True, timeout=120)
            ended[done.returncode] = ended.get(done.returncode, 0) + 1
            assert done.returncode in (0, 3) or (
                done.returncode == 1 and done.stderr.count(b"\n") == 1), (
                    f"merge {number}: {done.returncode}: {done.stderr[-999:]}")
        return ended


def main():
    damage = Damage(sys.argv[1], sys.argv[2])
    if sys.argv[3] == "cut":
        count = damage.cut(int(sys.argv[4]))
        print(f"ok: {count} cuts of {len(damage.files)} files, "
              f"{damage.whole} records")
    elif sys.argv[3] == "shrink":
        print(f"ok: merges of files that shrink ended with: "
              f"{damage.shrink(int(sys.argv[4]))}")
    else:
        seed = int(sys.argv[5])
        print(f"flips with seed {seed}")
        if sys.argv[3] == "bare":
            damage.is_bare = True
            os.unlink(damage.run + "/manifest.json")
        count = damage.flip(int(sys.argv[4]), seed)
        print(f"ok: {count} flips of {len(damage.files)} files, "
              f"{damage.whole} records"
              + (f", {damage.exact} known exactly" if damage.is_bare else ""))
        assert not damage.is_bare or damage.exact > 0, "none known exactly"
    shutil.rmtree(damage.work)


main()
