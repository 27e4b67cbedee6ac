#!/usr/bin/env python3
# check.py - what cknvtx records of a program with NVIDIA's NVTX in it
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD_DIR: nvtx_host under ringrun, and under ckagent."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import ringlines  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
LIBRARY = os.path.join(BUILD, "lib", "ck", "libcknvtx.so")
HOST = os.path.join(BUILD, "tests", "nvtx_host")
STEPS = 10


class Nvtx(unittest.TestCase):
    def played(self, *args):
        lines, done = ringlines.run(
            os.path.join(BUILD, "tests", "ringrun"),
            ["env", "LD_PRELOAD=" + os.path.join(BUILD, "lib", "ck",
                                                 "libckannotate.so"),
             HOST, *map(str, args)], {"NVTX_INJECTION64_PATH": LIBRARY},
            ("--slots", "40"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return lines

    def test_ranges_steps_and_marks_are_those_of_the_program(self):
        lines = self.played()
        self.assertEqual([s["value"] for s in lines.of("step")],
                         list(range(STEPS)))
        ranges = collections.Counter(r["named"] for r in lines.of("range"))
        self.assertEqual(ranges, {"load": STEPS, "read": STEPS, "epoch": 1,
                                  "iter 3": STEPS,
                                  "step 99999999999999999999": 1,
                                  "NCCL: ncclAllReduce": STEPS})
        self.assertEqual([(m["named"], m["value"]) for m in lines.of("mark")],
                         [("loss", 10 * i) for i in range(STEPS)] +
                         [("mean", -2), ("below", -7), ("none", 0)])

    def test_ranges_nest_in_time(self):
        lines = self.played()
        (epoch,) = [r for r in lines.of("range") if r["named"] == "epoch"]
        for step, inner in zip(
                lines.of("step"),
                [r for r in lines.of("range")
                 if r["named"] == "NCCL: ncclAllReduce"]):
            self.assertLessEqual(step["start"], inner["start"])
            self.assertLessEqual(inner["start"] + inner["dur"],
                                 step["start"] + step["dur"])
            self.assertGreater(inner["dur"], 900000)
            self.assertLessEqual(epoch["start"], step["start"])
            self.assertLessEqual(step["start"] + step["dur"],
                                 epoch["start"] + epoch["dur"])

    def test_threads(self):
        lines = self.played(16)
        work = [r for r in lines.of("range") if r["named"] == "work"]
        self.assertEqual(len(work) + lines.lost_in_ring(), 16000)

    def test_domains_end_in_any_order(self):
        """A: outer, B: step 7, A: inner, plain; ends: B, A, A, the plain one,
        2 ms apart."""
        lines = self.played("domains")
        kept = {r["named"]: r for r in lines.of("range") + lines.of("step")}
        self.assertEqual(set(kept), {"A: outer", "A: inner", "B: step 7",
                                     "plain"})
        ends = sorted(kept, key=lambda n: kept[n]["start"] + kept[n]["dur"])
        self.assertEqual(ends, ["B: step 7", "A: inner", "A: outer", "plain"])
        begins = sorted(kept, key=lambda n: kept[n]["start"])
        self.assertEqual(begins, ["A: outer", "B: step 7", "A: inner",
                                  "plain"])

    def test_ranges_deeper_than_is_kept_confuse_no_others(self):
        lines = self.played("deep")
        ranges = collections.Counter(r["named"] for r in lines.of("range"))
        self.assertEqual(ranges["behind"], 1)
        self.assertEqual(ranges["A: level"], 32)
        self.assertEqual(ranges["B: level"], 32)

    def test_a_range_is_of_the_process_that_began_it(self):
        lines = self.played("fork")
        ranges = collections.Counter(r["named"] for r in lines.of("range"))
        self.assertEqual(ranges["parent's"], 1)
        self.assertEqual(ranges["child's"], 1)
        self.assertEqual(ranges["first"], 1)
        self.assertEqual(sum(ranges.values()), 43)

    def test_a_name_of_a_megabyte_costs_no_more_than_its_beginning(self):
        before = os.times()
        lines = self.played("long")
        after = os.times()
        ranges = collections.Counter(r["named"] for r in lines.of("range"))
        self.assertEqual(ranges, {"x" * 159: 400})
        self.assertLess(after.children_user - before.children_user, 0.5)

    def test_two_libraries_with_an_nvtx_of_their_own(self):
        for _ in range(20):
            lines = self.played("libraries")
            ranges = collections.Counter(r["named"]
                                         for r in lines.of("range"))
            lost = lines.lost_in_ring()
            self.assertEqual(sum(ranges.values()) + lost, 2000)
            self.assertEqual(set(ranges), {"work", "library"})

    def test_the_report_has_its_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [os.path.join(BUILD, "bin", "ckagent"), "-d", run, "--", HOST],
                check=False, timeout=60, capture_output=True, text=True,
                env={**os.environ, "CK_TEST_RINGS": os.environ.get(
                    "CK_TEST_RINGS", folder)})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as file:
                report = json.load(file)
        self.assertEqual(report["region"]["kind"], "steps")
        self.assertIn("NCCL: ncclAllReduce",
                      [r["name"] for r in report["ranges"]])

    def test_without_an_agent_the_program_runs(self):
        done = subprocess.run([HOST], check=False, timeout=20,
                              env={**os.environ,
                                   "NVTX_INJECTION64_PATH": LIBRARY})
        self.assertEqual(done.returncode, 3)  # NVTX gives no levels then
        done = subprocess.run([HOST], check=False, timeout=20)
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
