#!/usr/bin/env python3
# check.py - a program with AMD's HIP runtime: the log has that it is not recorded
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD_DIR: hip_host under ckagent."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
LINE = ("the program has loaded AMD's HIP runtime (libamdhip64.so.6): its work "
        "is not recorded, ck knows AMD devices through OpenCL only")


class Hip(unittest.TestCase):
    def report(self, library):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [os.path.join(BUILD, "bin", "ckagent"), "-d", run, "--",
                 os.path.join(BUILD, "tests", "hip_host"), library],
                check=False, timeout=60, capture_output=True, text=True,
                env={**os.environ, "CK_TEST_RINGS": os.environ.get(
                    "CK_TEST_RINGS", folder)})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as file:
                return json.load(file), done.stderr

    def test_the_report_shows_that_hip_is_not_recorded(self):
        report, text = self.report(os.path.join(
            BUILD, "tests", "mockhip", "libamdhip64.so.6"))
        self.assertEqual(sum(LINE in json.dumps(note)
                             for note in report["trust"]["notes"]), 1)
        self.assertIn("AMD's HIP runtime", " ".join(text.split()))

    def test_another_library_is_none(self):
        report, text = self.report("libm.so.6")
        self.assertNotIn("HIP", text + json.dumps(report["trust"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
