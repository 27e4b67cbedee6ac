#!/usr/bin/env python3
"""storedruns.py - runs recorded by earlier versions are read, and merge as ever

SPDX-License-Identifier: Apache-2.0

Usage: storedruns.py CKMERGE SOURCE. Each run of tests/data/runs is unpacked. The
independent reader (tests/schema/reader.py) has to find in its segments as many
records as their frames count. ckmerge has to verify it, and to write the
report.json that is stored beside it, but for keys that were added since and for
texts: of a string with a blank it only counts that it is one. CK_REFRESH=1 stores the reports anew and prints what
has changed (tests/data/refresh.sh).
"""
import gzip
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

CKMERGE, SOURCE = sys.argv[1:3]
DATA = os.path.join(SOURCE, "tests", "data", "runs")
sys.path.insert(0, os.path.join(SOURCE, "tests", "schema"))
from frames import frames  # noqa: E402

# Of the ckmerge that writes it, and of the packages of its machine.
OWN = ("ck_version", "package")


def masked(value):
    """A report without its texts."""
    if isinstance(value, dict):
        return {key: masked(one) for key, one in value.items()
                if key not in OWN}
    if isinstance(value, list):
        return [masked(one) for one in value]
    return "(text)" if isinstance(value, str) and " " in value else value


def differences(old, new, path=""):
    """Lines of what differs, as paths into the report."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old):  # keys that are added are no difference
            if key not in new:
                yield "%s.%s: gone" % (path, key)
            else:
                yield from differences(old[key], new[key], path + "." + key)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield "%s: %d items, were %d" % (path, len(new), len(old))
        for at, (left, right) in enumerate(zip(old, new)):
            yield from differences(left, right, "%s[%d]" % (path, at))
    elif isinstance(old, float) and isinstance(new, float):
        if not math.isclose(old, new, rel_tol=1e-9):
            yield "%s: %r, was %r" % (path, new, old)
    elif old != new or type(old) is not type(new):
        yield "%s: %r, was %r" % (path, new, old)


class StoredRuns(unittest.TestCase):
    maxDiff = None

    def run_of(self, name):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        with tarfile.open(os.path.join(DATA, name + ".tar.xz")) as tar:
            tar.extractall(scratch.name)
        return os.path.join(scratch.name, name)

    def merged(self, *args):
        return subprocess.run([CKMERGE, "--quiet", "--no-page", *args],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300)

    def check(self, name, verified):
        run = self.run_of(name)
        self.records_are_read(run)
        done = self.merged("--verify", run)
        self.assertEqual(done.returncode, verified, done.stdout)
        path = os.path.join(os.path.dirname(run), "report.json")
        done = self.merged("--output", "json=" + path, run)
        self.assertIn(done.returncode, (0, 3), done.stdout)
        with open(path, encoding="utf-8") as file:
            report = masked(json.load(file))
        stored = os.path.join(DATA, name + ".report.json.gz")
        wanted = {}
        if os.path.exists(stored):
            with gzip.open(stored, "rt", encoding="utf-8") as file:
                wanted = masked(json.load(file))
        changed = list(differences(wanted, report))
        if os.environ.get("CK_REFRESH") == "1":
            print("\n".join("%s%s" % (name, line) for line in changed))
            with open(stored, "wb") as out, gzip.GzipFile(
                    "", "wb", 9, out, mtime=0) as packed:
                packed.write(json.dumps(report, indent=1).encode())
            return
        self.assertEqual([], changed[:20], "%d differences" % len(changed))

    def records_are_read(self, run):
        """By the independent reader: as many as the frames count."""
        for segment in sorted(os.listdir(run)):
            path = os.path.join(run, segment)
            if not segment.endswith(".ck") or os.path.getsize(path) == 0:
                continue
            with open(path, "rb") as file:
                blob = file.read()
            counted = sum(fields["records"]
                          for _, _, fields in frames(blob))
            done = subprocess.run(
                [sys.executable, os.path.join(SOURCE, "tests/schema/reader.py"),
                 os.path.join(SOURCE, "schema"), path],
                stdout=subprocess.PIPE, text=True, timeout=300, check=True)
            read = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(len(read), counted, segment)
            self.assertGreater(counted, 20, segment)

    def test_a_job_with_mpi_and_a_device(self):
        self.check("train", 0)

    def test_ranks_without_mpi_and_without_a_device(self):
        self.check("sockets", 0)

    def test_a_job_whose_rank_was_killed(self):
        self.check("killed", 0)

    def test_a_job_on_two_clocks(self):
        self.check("clocks", 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
