#!/usr/bin/env python3
# callsites.py - a wait in a library has the line of the program that called it
# SPDX-License-Identifier: Apache-2.0
"""callsites.py BUILD_DIR: a program that waits in libz under ckagent."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
BIN = os.path.join(BUILD, "bin")
TARGET = os.path.join(BUILD, "tests", "callsite_target")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "callsite_target.c")


def line_of(mark):
    with open(SOURCE, encoding="utf-8") as source:
        return next(n for n, line in enumerate(source, 1)
                    if "line " + mark + " " in line)


TRIES = 8  # where others keep the kernel from copying stacks of waits
WANTED = (("FIRST", "pieces_read"), ("SECOND", "pieces_read"),
          ("THREAD", "thread_read"))


class Case(unittest.TestCase):
    def calls_read(self):
        with tempfile.TemporaryDirectory(prefix="ck-site-",
                                         ignore_cleanup_errors=True) as folder:
            run = os.path.join(folder, "run")
            environment = {**os.environ, "XDG_RUNTIME_DIR": folder,
                           "CK_TEST_RINGS": folder}
            done = subprocess.run([os.path.join(BIN, "ckagent"), "--dir", run,
                                   "--posix-threshold", "1ns",
                                   "--", TARGET], env=environment, timeout=600,
                                  check=False, capture_output=True)
            if done.returncode == 77:
                self.skipTest("libz.so.1 is missing")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([os.path.join(BIN, "ckmerge"), "--output",
                                   "json", run], env=environment, timeout=600,
                                  check=True, capture_output=True, text=True)
        return [c for c in json.loads(done.stdout)["calls"]
                if c["name"] == "read"]

    def test_reads_of_the_library_have_the_lines_that_asked_for_them(self):
        wanted = {(function, line_of(mark)) for mark, function in WANTED}
        for _ in range(TRIES):
            calls = self.calls_read()
            found = {(c["function"], c["line"]) for c in calls
                     if os.path.basename(c["file"] or "") == "callsite_target.c"}
            print(sorted(found))
            if wanted <= found:
                break
        self.assertLessEqual(wanted, found)
        self.assertFalse([c for c in calls if "libz" in (c["function"] or "")],
                         calls)


if __name__ == "__main__":
    unittest.main()
