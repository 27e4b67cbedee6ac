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
# A folder with libraries, mock and program built with sanitizers.
CHECKED = os.environ.get("CK_CHECKED")
LIBRARIES = CHECKED or os.path.join(BUILD, "lib", "ck")
CUPTI = os.path.join(LIBRARIES, "libckcupti.so")
PLUGIN = os.path.join(LIBRARIES, "libcknccl.so")
PROGRAMS = CHECKED or os.path.join(BUILD, "tests")
HOST = os.path.join(PROGRAMS, "nccl_host")
MOCK = os.path.join(PROGRAMS, "mockcupti", "new")
os.environ["TSAN_OPTIONS"] = "print_suppressions=0:suppressions=" + os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "races.supp")
GROUP = 32
VERSIONS = (1, 2, 3, 4, 5, 6)
TRIES = 5
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
                if version >= 5:
                    self.assertGreater(numbers[1], numbers[0])
                else:
                    self.assertEqual(numbers[1], 0)

    def test_threads_with_communicators_of_their_own(self):
        for version in (1, 5, 6):
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

    def test_messages_have_no_number_and_take_none(self):
        """AllReduce, send, AllReduce, a send and an AllReduce in one group,
        AllReduce."""
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "mixed")
                groups = [group_of(lines, k) for k in lines.of("kernel")]
                self.assertEqual({g[0] for g in groups},
                                 {"%016x" % 0x57a9e0})
                each = 1 if version < 5 else 64
                first = 1 if version < 5 else 65
                self.assertEqual(
                    [g[1] for g in groups],
                    [first, 0, first + each, first + 2 * each,
                     first + 3 * each])

    def test_what_a_rank_captures_is_not_counted(self):
        for rank in (0, 3):
            lines = self.played(6, "captured", RANK=str(rank), WORLD_SIZE="4")
            self.assertEqual([group_of(lines, k)[1]
                              for k in lines.of("kernel")], [65])
            self.assertEqual([c["arg"] for c in lines.of("nccl-call")], [1])

    def test_copy_engines_make_copies_and_take_a_number(self):
        for version in (5, 6):
            with self.subTest(version):
                lines = self.played(version, "engines")
                self.assertEqual(len(lines.of("d2d")), 4)
                self.assertEqual([(k["named"][:21], group_of(lines, k)[1])
                                  for k in lines.of("kernel")],
                                 [("ncclDevKernel_SendRec", 0),
                                  ("ncclDevKernel_AllRedu", 129)])
                self.assertEqual([(c["named"], c["arg"])
                                  for c in lines.of("nccl-call")],
                                 [("ncclAllGather Float32", 1),
                                  ("ncclAllReduce Float32", 2)])
                self.assertEqual(
                    [t["bytes"] for t in lines.of("nccl")
                     if t["named"] == "ncclAllGather CE"],
                    [1024] if version == 6 else [])

    def test_calls_are_recorded_with_their_numbers(self):
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "groups")
                calls = [(c["named"], c["bytes"], c["object"], c["arg"],
                          lines.names[(c["incarnation"], c["extra"])]
                          .splitlines()[0]) for c in lines.of("nccl-call")]
                self.assertEqual(calls, [
                    ("ncclAllReduce Float32", BYTES, 0, n,
                     "communicator=%016x" % comm)
                    for n, comm in [(1, 0x57a9e0), (2, 0x57a9e0),
                                    (3, 0x57a9e0), (4, 0x57a9e0),
                                    (5, 0x57a9e0), (1, 0xa11)]])

    def test_launches_may_be_on_other_threads_than_the_calls(self):
        """A group of calls of two communicators (two of the stage, one of
        all), one of all, one of the stage."""
        for version in VERSIONS:
            with self.subTest(version):
                lines = self.played(version, "nonblocking")
                stage, world = "%016x" % 0x57a9e0, "%016x" % 0xa11
                self.assertEqual(
                    [group_of(lines, k) for k in lines.of("kernel")],
                    [(stage, 1), (world, 1), (world, 2), (stage, 2)]
                    if version < 5 else
                    [(stage, 129), (world, 65), (world, 129), (stage, 193)])

    def test_orders_that_nccl_does_not_have_do_no_harm(self):
        for version in VERSIONS:
            with self.subTest(version):
                # Beside a load the program may end before they are all there.
                for _ in range(TRIES):
                    lines = self.played(version, "hostile")
                    groups = [group_of(lines, k) for k in lines.of("kernel")]
                    if len(groups) >= 4:
                        break
                over, stage = "%016x" % 2, "%016x" % 0x57a9e0
                self.assertEqual(groups[0][0], over)
                self.assertEqual(groups[1:3], [None, None])
                self.assertEqual(groups[3][0], stage)

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

    def report(self, version, how="steps", status=0, **environment):
        """report.json, what is on the terminal, and report.txt."""
        with tempfile.TemporaryDirectory() as folder:
            rings = os.environ.get("CK_TEST_RINGS", folder)
            run = os.path.join(folder, "run")
            done = subprocess.run(
                ["mpirun", "-n", "4", os.path.join(BUILD, "bin", "ckagent"),
                 "-d", run, "--posix", "off", "--sample", "off", "--", HOST,
                 str(version), how], check=False, timeout=120,
                capture_output=True, text=True,
                env={**os.environ, "CK_TEST_RINGS": rings,
                     "NCCL_HOST_START": os.path.join(folder, "start"),
                     "OMPI_ALLOW_RUN_AS_ROOT": "1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                     "OMPI_MCA_rmaps_base_oversubscribe": "1",
                     "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                     "LD_LIBRARY_PATH": MOCK, **environment})
            self.assertEqual(done.returncode != 0, status != 0, done.stderr)
            with open(os.path.join(run, "report.txt"),
                      encoding="utf8") as file:
                text = file.read()
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as file:
                return json.load(file), done.stderr, text

    def waits(self, report):
        return {d["ranks"][0]: (d["comm_waited_ns"] / MS,
                                d["comm_caused_ns"] / MS)
                for d in report["devices"]}

    def test_waits_are_those_of_each_communicator_and_no_clock_moves(self):
        for version in (3, 5):
            with self.subTest(version):
                report, text, _ = self.report(version)
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

    def test_what_ranks_call_differently_leads_the_report(self):
        """Ten AllReduce, then rank 1 calls the eleventh otherwise."""
        usual = ("ncclAllReduce Float32", 4096, -1)
        for how, other in (("bytes", ("ncclAllReduce Float32", 8192, -1)),
                           ("type", ("ncclAllReduce Int32", 4096, -1)),
                           ("call", ("ncclReduceScatter Float32", 4096, -1))):
            with self.subTest(how):
                report, _, text = self.report(6, "differ",
                                              NCCL_HOST_DIFFER=how)
                (found,) = report["disagreements"]
                self.assertEqual(
                    (found["communicator"], found["comm_size"],
                     found["number"], found["kind"]),
                    ("%016x" % 0xa11, 4, 11, "differs"))
                self.assertEqual(
                    [(d["call"], d["bytes"], d["root"], d["ranks"])
                     for d in found["did"]],
                    [(*usual, [0, 2, 3]), (*other, [1])])
                line = " ".join(text.split())
                self.assertIn(
                    "ranks disagree at collective 11 of NCCL's communicator "
                    "0000000000000a11: ranks 0, 2 and 3 called ncclAllReduce "
                    "Float32 of 4.10 kB, rank 1 called " + other[0], line)
                # Before all else in the report.
                self.assertLess(text.index("ranks disagree"),
                                text.index("\n\n") + 2)

    def test_another_root_differs(self):
        report, _, _ = self.report(5, "differ", NCCL_HOST_DIFFER="root",
                                   NCCL_HOST_ROOT="1")
        (found,) = report["disagreements"]
        self.assertEqual([(d["call"], d["root"], d["ranks"])
                          for d in found["did"]],
                         [("ncclBroadcast Float32", 0, [0, 2, 3]),
                          ("ncclBroadcast Float32", 2, [1])])

    def test_a_job_that_hangs_names_who_did_not_call(self):
        report, _, text = self.report(5, "differ", status=1,
                                      NCCL_HOST_DIFFER="skip",
                                      NCCL_HOST_HANG="1")
        (found,) = report["disagreements"]
        self.assertEqual((found["number"], found["kind"]), (11, "missing"))
        self.assertEqual([(d["call"], d["ranks"]) for d in found["did"]],
                         [("ncclAllReduce Float32", [0, 2, 3]), (None, [1])])
        self.assertGreater(found["silent_ns"], 3e9)
        self.assertIn("rank 1 did not call it; no collective was called on it "
                      "in the last", " ".join(text.split()))

    def test_a_job_whose_ranks_agree_has_no_such_line(self):
        report, _, text = self.report(5, "differ")
        self.assertEqual(report["disagreements"], [])
        self.assertEqual(report["disagreements_uncompared"], 0)
        self.assertNotIn("disagree", text)

    def test_without_the_plugin_nothing_is_claimed(self):
        report, text, _ = self.report(5, NCCL_PROFILER_PLUGIN="none")
        self.assertIn("cannot be told apart", text)
        self.assertEqual(set(self.waits(report).values()), {(0, 0)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
