#!/usr/bin/env python3
# check.py - what cknccl records of an NCCL that is played
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD_DIR: nccl_host, in each version of the plug-in."""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import ringlines  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
CUPTI = os.path.join(BUILD, "lib", "ck", "libckcupti.so")
PLUGIN = os.path.join(BUILD, "lib", "ck", "libcknccl.so")
HOST = os.path.join(BUILD, "tests", "nccl_host")
MOCK = os.path.join(BUILD, "tests", "mockcupti", "new")
GROUP = 32
VERSIONS = (1, 2, 3, 4, 5)
BYTES = 4096
MS = 10**6


def host(version, how, **environment):
    return ringlines.run(
        os.path.join(BUILD, "tests", "ringrun"), [HOST, str(version), how],
        {"CUDA_INJECTION64_PATH": CUPTI, "NCCL_PROFILER_PLUGIN": PLUGIN,
         "LD_LIBRARY_PATH": MOCK, **environment}, ("--slots", "24"))


def group_of(lines, kernel):
    """(communicator, number), or None."""
    if not kernel["flags"] & GROUP:
        return None
    text = lines.names[(kernel["incarnation"], kernel["registers"])]
    return (text.splitlines()[0].split("=")[1], kernel["shared_bytes"])


class Plugin(unittest.TestCase):
    def played(self, version, how, **environment):
        lines, done = host(version, how, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines.lost_in_ring(), 0)
        return lines

    def test_kernels_have_communicator_and_a_number_that_grows(self):
        """A group of two collectives in one launch, one in two launches, one
        alone, a message, a kernel of the program's, one in another."""
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "groups")
                kernels = lines.of("kernel")
                groups = [group_of(lines, k) for k in kernels]
                self.assertEqual(
                    sum("plug-in, version %d" % version in n
                        for n in lines.notes()), 1)
                stage, world = "%016x" % 0x57a9e0, "%016x" % 0xa11
                self.assertEqual([g and g[0] for g in groups],
                                 [stage] * 5 + [None, world])
                numbers = [g[1] for g in groups[:4]]
                self.assertEqual(numbers, sorted(set(numbers)))
                self.assertGreater(numbers[0], 0)
                self.assertGreater(groups[6][1], 0)
                # The program's own kernel is left as it is.
                self.assertEqual((kernels[5]["registers"],
                                  kernels[5]["shared_bytes"]), (32, 512))

    def test_each_collective_and_message_is_a_record(self):
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "groups")
                tasks = lines.of("nccl")
                counts = collections.Counter(
                    (t["named"], t["bytes"]) for t in tasks)
                self.assertEqual(counts, {
                    ("ncclAllReduce RING SIMPLE", BYTES): 6,
                    ("ncclSend", BYTES // 2): 1})
                sizes = [lines.names[(t["incarnation"], t["extra"])]
                         for t in tasks]
                if version >= 4:
                    self.assertTrue(all("size=1\n" in s for s in sizes))
                else:
                    self.assertTrue(all("size=" not in s for s in sizes))

    def test_work_of_a_graph_takes_the_numbers_where_it_could_change_them(self):
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "graph")
                numbers = [group_of(lines, k)[1] for k in lines.of("kernel")]
                self.assertGreater(numbers[0], 0)
                if version == 5:
                    self.assertGreater(numbers[1], numbers[0])
                else:
                    self.assertEqual(numbers[1], 0)

    def test_threads_with_communicators_of_their_own(self):
        for version in (1, 5):
            with self.subTest(version):
                lines = self.played(version, "threads")
                groups = [group_of(lines, k) for k in lines.of("kernel")
                          if k["named"].startswith("nccl")]
                self.assertEqual(len(groups), 16 * 500)
                counts = collections.Counter(g[0] for g in groups)
                self.assertEqual(set(counts.values()), {500})
                self.assertEqual(len(set(groups)), 16 * 500)
                self.assertEqual(
                    {group_of(lines, k) for k in lines.of("kernel")
                     if k["named"] == "gemm"}, {None})

    def test_without_ckcupti_or_an_agent_the_program_runs(self):
        lines = self.played(5, "groups", CKAGENT_CUPTI="off")
        self.assertEqual(len(lines.of("nccl")), 7)
        done = subprocess.run(
            [HOST, "5", "groups"], check=False, timeout=20,
            env={**os.environ, "CUDA_INJECTION64_PATH": CUPTI,
                 "NCCL_PROFILER_PLUGIN": PLUGIN, "LD_LIBRARY_PATH": MOCK})
        self.assertEqual(done.returncode, 0)


@unittest.skipIf(shutil.which("mpirun") is None, "no mpirun")
class Job(unittest.TestCase):
    """Four ranks of one machine: tensor groups of two pipeline stages, 5 ms
    apart, and one of all; rank 1 is 2 ms late before each of 60 collectives,
    45 of its stage and 15 of all."""

    def report(self, version, **environment):
        with tempfile.TemporaryDirectory() as folder:
            rings = os.environ.get("CK_TEST_RINGS", folder)
            run = os.path.join(folder, "run")
            done = subprocess.run(
                ["mpirun", "-n", "4", os.path.join(BUILD, "bin", "ckagent"),
                 "-d", run, "--posix", "off", "--sample", "off", "--", HOST,
                 str(version)], check=False, timeout=120,
                capture_output=True, text=True,
                env={**os.environ, "CK_TEST_RINGS": rings,
                     "NCCL_HOST_START": os.path.join(folder, "start"),
                     "OMPI_ALLOW_RUN_AS_ROOT": "1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                     "OMPI_MCA_rmaps_base_oversubscribe": "1",
                     "LD_LIBRARY_PATH": MOCK, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as file:
                return json.load(file), done.stderr

    def waits(self, report):
        return {d["ranks"][0]: (d["comm_waited_ns"] / MS,
                                d["comm_caused_ns"] / MS)
                for d in report["devices"]}

    def test_waits_are_those_of_each_communicator_and_no_clock_moves(self):
        for version in (3, 5):
            with self.subTest(version):
                report, text = self.report(version)
                waits = self.waits(report)
                for rank, waited in {0: 120, 1: 0, 2: 30, 3: 30}.items():
                    self.assertAlmostEqual(waits[rank][0], waited, delta=1)
                    self.assertAlmostEqual(waits[rank][1],
                                           180 if rank == 1 else 0, delta=1)
                self.assertEqual(
                    [c for c in report["clocks"] if c["method"] == "kernels"],
                    [])
                self.assertTrue(all(abs(c["offset_ns"]) < MS
                                    for c in report["clocks"]))
                self.assertNotIn("cannot be told apart", text)

    def test_without_the_plugin_nothing_is_claimed(self):
        report, text = self.report(5, NCCL_PROFILER_PLUGIN="none")
        self.assertIn("cannot be told apart", text)
        self.assertEqual(set(self.waits(report).values()), {(0, 0)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
