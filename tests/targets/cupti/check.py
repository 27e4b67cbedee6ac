#!/usr/bin/env python3
# check.py - what ckcupti records on a CUPTI that is played
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD_DIR [REAL_LIBCUPTI]: cupti_host on the mock, under ringrun.

With the real library its parser walks the mock's buffers in a second round,
and its behaviour without a driver is a case.
"""
import collections
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import ringlines  # noqa: E402

BUILD = sys.argv.pop(1)
REAL = sys.argv.pop(1) if len(sys.argv) > 1 and "libcupti" in sys.argv[1] \
    else None
# A folder with ckcupti, mock and program built with sanitizers.
CHECKED = os.environ.get("CK_CHECKED")
LIBRARY = os.path.join(CHECKED, "libckcupti.so") if CHECKED else \
    os.path.join(BUILD, "lib", "ck", "libckcupti.so")
PRELOAD = os.path.join(BUILD, "lib", "ck", "libckcuda.so")
MOCK = os.path.join(CHECKED or os.path.join(BUILD, "tests"), "mockcupti")
# Of programs with the address sanitizer. Its search for leaks in a forked child
# may wait for ever for a lock of a thread that is not there.
os.environ["LSAN_OPTIONS"] = "print_suppressions=0:suppressions=" + \
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "leaks.supp")
FORKS = {"ASAN_OPTIONS": "detect_leaks=0"}
RINGRUN = os.path.join(BUILD, "tests", "ringrun")
HOST = os.path.join(CHECKED or os.path.join(BUILD, "tests"), "cupti_host")
RAW, BAD_TIME = 1, 8
DEVICE_LOST, UNDONE = 3, 7
LAUNCHES, DIRECT, NODES = 1000, 10, 20
THREADS = int(os.environ.get("CK_THREADS", "200"))
MAPPED = 20000  # ns that a pair of clocks may be off by on a busy machine


def host(*args, variant="new", options=(), preload=None, **environment):
    """A run in which the last flush, or a context's, was over in time: on a
    machine that is busy elsewhere it may not be, which is recorded (UNDONE)."""
    # Into the program alone: ringrun may be built with sanitizers.
    before = ["env", "LD_PRELOAD=" + preload] if preload else []
    is_stuck = environment.get("MOCK_CASE") in ("hang", "stuck")
    for _ in range(5):
        lines, done = ringlines.run(
            RINGRUN, [*before, HOST, *map(str, args)],
            {"CUDA_INJECTION64_PATH": LIBRARY,
             "LD_LIBRARY_PATH": os.path.join(MOCK, variant), **environment},
            options)
        if is_stuck or UNDONE not in [r["reason"] for r in lines.of("lost")]:
            break
    return lines, done


def lost(lines):
    """Losses of records; one of none means that times are unknown."""
    return [r for r in lines.of("lost") if r["value"] > 0]


class Case(unittest.TestCase):
    def check_truth(self, lines, threads, has_rest=True):
        kernels = [r for r in lines.of("kernel") if not r["flags"] & BAD_TIME]
        bad = [r for r in lines.of("kernel") if r["flags"] & BAD_TIME]
        self.assertEqual(len(kernels), threads * (LAUNCHES + DIRECT + NODES))
        self.assertEqual(len(bad), 2 if has_rest else 0)
        # Two callbacks a launch: the driver's call, alone or in a runtime's.
        self.assertEqual(len(lines.of("cuda")), 0)
        self.assertEqual(len(lines.of("cuda-driver")),
                         threads * (LAUNCHES + DIRECT + 1))
        if has_rest:
            self.assertEqual([r["bytes"] for r in lines.of("h2d")], [100])
            self.assertEqual([r["bytes"] for r in lines.of("d2h")], [200])
            self.assertEqual([r["bytes"] for r in lines.of("d2d")],
                             [300, 400])
            self.assertEqual([r["bytes"] for r in lines.of("fill")], [500])
            self.assertEqual(len(lines.of("sync")), 1)
            self.assertEqual(len(lines.of("overhead")), 1)
        self.check_launches(lines, kernels)
        self.assertEqual(lines.lost_in_ring(), 0)

    def check_launches(self, lines, kernels):
        calls = {(r["slot_tid"], r["call"]): r
                 for r in lines.of("cuda", "cuda-driver")}
        devices, queues = lines.facts("device"), lines.facts("queue")
        for kernel in kernels:
            call = calls[(kernel["tid"], kernel["call"])]
            self.assertEqual(kernel["flags"], RAW)
            self.assertLessEqual(call["start"], kernel["start"] + MAPPED)
            if kernel["named"] == "saxpy":
                self.assertEqual(call["arg"], kernel["correlation"])
                self.assertEqual(call["named"], "cuLaunchKernel")
                self.assertEqual(kernel["shared_bytes"], 1536)
                self.assertEqual(kernel["global[0]"], 128)
                self.assertEqual(kernel["local[0]"], 256)
            else:
                self.assertEqual(call["named"], "cuGraphLaunch")
                self.assertEqual(kernel["correlation"] >> 32,
                                 kernel["correlation"] & 0xffffffff)
            self.assertEqual(devices[kernel["device"]]["uuid"],
                             "01020304-0506-0708-090a-0b0c0d0e0f10")
            self.assertEqual(queues[kernel["queue"]]["stream"], "7")

    def check_host_only(self, lines, done, *words):
        """The program ends well, and a note has why there is no device."""
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines.of("kernel", "cuda", "cuda-driver", "h2d"), [])
        (note,) = lines.notes()
        for word in words:
            self.assertIn(word, note)


class Truth(Case):
    def test_every_kernel_copy_and_call_is_recorded_once(self):
        lines, done = host()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_truth(lines, 1)
        self.assertEqual(lost(lines), [])
        self.assertIn("2 records without usable times", lines.notes()[-1])
        self.assertEqual(lines.facts("queue")[
            lines.of("kernel")[0]["queue"]]["priority"], "2")
        (peer,) = [r for r in lines.of("d2d") if r["bytes"] == 400]
        self.assertNotEqual(peer["peer_device"], 0)

    def test_many_threads(self):
        """None is lost in CUPTI, however late the flushing thread is: each
        thread has one buffer at most, and there are more. A slot holds what
        40 threads launch, of 100; should one thread take back more than that
        before the reader comes, what is missing is counted to the record."""
        lines, done = host(THREADS, options=("--slots", str(THREADS + 10)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lost(lines), [])
        if lines.lost_in_ring() == 0:
            self.check_truth(lines, THREADS)
            return
        recorded = len(lines.of("kernel", "cuda", "cuda-driver", "h2d", "d2h",
                                "d2d", "fill", "sync", "overhead"))
        launched = THREADS * (2 * LAUNCHES + 2 * DIRECT + NODES + 1) + 9
        self.assertEqual(recorded + lines.lost_in_ring(), launched)

    @unittest.skipIf(CHECKED, "without sanitizers")
    def test_an_older_cupti_without_the_newer_functions(self):
        lines, done = host(variant="old")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_truth(lines, 1)

    def test_records_of_other_versions_are_read_by_their_lengths(self):
        """12.1, 12.3, 12.4, 12.6, 12.9 and one that is newer: no field is
        read that is not there, nothing is freed that is CUPTI's."""
        for version in (18, 21, 22, 24, 27, 130300):
            with self.subTest(version):
                lines, done = host(MOCK_VERSION=str(version))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_truth(lines, 1)
                self.assertEqual([r["flags"] for r in lines.of("sync")], [RAW])

    def test_where_driver_and_runtime_number_a_launch_apart(self):
        """Kernels have the number of the runtime's call: it is reported as well
        once kernels come whose launch is not known, and none is lost."""
        lines, done = host(1, "later", MOCK_CASE="apart")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any("apart: both are recorded" in n
                            for n in lines.notes()))
        calls = {(r["slot_tid"], r["call"]) for r in lines.of("cuda")}
        kernels = lines.of("kernel")
        self.assertEqual(len(kernels), LAUNCHES + DIRECT + NODES + 2 + 400)
        self.assertTrue(all((r["tid"], r["call"]) in calls
                            for r in kernels[-400:]))

    def test_kernels_whose_names_have_no_room_are_reported(self):
        lines, done = host(1, "names")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sum("some have no name" in n
                             for n in lines.notes()), 1)
        self.assertEqual(len(lines.of("kernel")) + lines.lost_in_ring(),
                         LAUNCHES + DIRECT + NODES + 2 + 8000)

    def test_yield_takes_no_subscription_and_records_calls_by_activity(self):
        lines, done = host(CKAGENT_CUPTI="yield")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mode yield", lines.notes()[0])
        self.assertEqual(lines.of("cuda", "cuda-driver"), [])
        self.assertEqual(len(lines.of("kernel")),
                         LAUNCHES + DIRECT + NODES + 2)

    @unittest.skipIf(REAL is None, "no libcupti.so.13 found: its parser did "
                                   "not walk the buffers")
    def test_the_real_parser_walks_the_same_buffers(self):
        lines, done = host(MOCK_REAL=REAL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_truth(lines, 1)
        self.assertEqual(lost(lines), [])

    @unittest.skipIf(REAL is None, "no libcupti.so.13 found: its refusal of "
                                   "an unknown kind was not seen")
    def test_the_real_parser_stops_at_an_unknown_kind(self):
        lines, done = host(1, "unknown", MOCK_REAL=REAL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([r["reason"] for r in lost(lines)],
                         [DEVICE_LOST])


class Refusals(Case):
    def test_off(self):
        lines, done = host(CKAGENT_CUPTI="off")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(lines.of("kernel", "note"), [])

    def test_another_subscriber_is_named(self):
        self.check_host_only(*host(MOCK_CASE="busy"),
                             'held by "another profiler"', "(39)")

    def test_no_driver(self):
        self.check_host_only(*host(MOCK_CASE="nodriver"), "(999)")

    def test_no_kind_can_be_enabled(self):
        self.check_host_only(*host(MOCK_CASE="enable"), "cuptiActivityEnable")

    def test_a_library_that_is_not_there(self):
        self.check_host_only(*host(CKAGENT_CUPTI_LIB="/nowhere/libcupti.so"),
                             "CKAGENT_CUPTI_LIB", "/nowhere/libcupti.so")

    def test_a_library_that_is_no_cupti(self):
        self.check_host_only(*host(CKAGENT_CUPTI_LIB=LIBRARY),
                             "CUPTI has no cupti")

    def test_an_unknown_word_is_reported_and_ignored(self):
        lines, done = host(CKAGENT_CUPTI="own,fast")
        self.assertEqual(done.returncode, 0)
        self.assertIn('"fast"', lines.notes()[0])
        self.check_truth(lines, 1)

    def test_without_an_agent_the_program_runs_alone(self):
        done = subprocess.run(
            [HOST], check=False, timeout=20,
            env={**os.environ, "CUDA_INJECTION64_PATH": LIBRARY,
                 "LD_LIBRARY_PATH": os.path.join(MOCK, "new")})
        self.assertEqual(done.returncode, 0)

    @unittest.skipIf(REAL is None, "no libcupti.so.13 found")
    def test_the_real_library_without_a_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        self.check_host_only(*host(CKAGENT_CUPTI_LIB=REAL), "no device events")


class End(Case):
    def test_nothing_is_asked_of_cupti_within_cuinit(self):
        lines, done = host(CUPTI_HOST_INIT_MS="350")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_truth(lines, 1)

    def test_records_that_come_late_come_at_exit(self):
        lines, done = host(MOCK_CASE="late")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_truth(lines, 1)

    def test_a_flush_that_hangs_has_four_seconds_and_is_reported(self):
        """It would never end; the program does."""
        begin = time.monotonic()
        lines, done = host(MOCK_CASE="hang")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(time.monotonic() - begin, 4)
        self.assertIn("within 4 s", lines.notes()[-1])
        self.assertEqual(lines.of("lost")[-1]["reason"], UNDONE)

    def test_an_abrupt_exit_keeps_what_was_flushed(self):
        lines, done = host(1, "_exit")
        self.assertEqual(done.returncode, 0)
        self.check_truth(lines, 1)

    def test_a_context_is_emptied_before_it_goes(self):
        for how in ("destroy", "release", "reset"):
            with self.subTest(how):
                lines, done = host(1, how)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(len(lines.of("kernel")),
                                 LAUNCHES + DIRECT + NODES + 2)
                self.assertEqual(lost(lines), [])

    def test_a_flush_that_hangs_holds_a_context_for_a_second(self):
        begin = time.monotonic()
        lines, done = host(1, "reset", MOCK_CASE="stuck")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        self.assertIn("before a context ended", lines.notes()[-1])
        self.assertEqual([r["reason"] for r in lost(lines)], [UNDONE])

    def test_a_signal_ends_it_at_once(self):
        lines, done = host(1, "term", MOCK_CASE="late")
        self.assertEqual(done.returncode, 128 + 15)
        self.assertEqual(len(lines.of("cuda-driver")), LAUNCHES + DIRECT + 1)
        # What a buffer holds that was full is there.
        self.assertGreater(len(lines.of("kernel")), LAUNCHES - 400)

    def test_buffers_taken_by_another_are_lost_and_had_back(self):
        lines, done = host(1, "steal")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any("took CUPTI's buffers" in n
                            for n in lines.notes()))
        (gone,) = lost(lines)
        self.assertEqual((gone["value"], gone["reason"]), (500, DEVICE_LOST))
        self.check_window(gone, lines, LAUNCHES + DIRECT,
                          LAUNCHES + DIRECT + 500)
        kernels = [r for r in lines.of("kernel") if not r["flags"] & BAD_TIME]
        self.assertEqual(len(kernels), LAUNCHES + DIRECT + NODES + 300)

    def check_window(self, gone, lines, first, end):
        """From before the first of these launches to behind the last, and
        not to others."""
        calls = sorted((r["start"], r["start"] + r["dur"])
                       for r in lines.of("cuda-driver")
                       if r["named"] == "cuLaunchKernel")
        self.assertGreater(gone["start"], calls[first - 1][1])
        self.assertLess(gone["start"], calls[first][0])
        self.assertGreater(gone["start"] + gone["enabled"], calls[end - 1][1])
        self.assertLess(gone["start"] + gone["enabled"], calls[end][0])

    def test_abort_ends_as_without_ck(self):
        lines, done = host(1, "abort")
        self.assertEqual(done.returncode, 128 + 6)
        self.assertEqual(len(lines.of("cuda-driver")), LAUNCHES + DIRECT + 1)

    def test_a_forked_child_is_silent(self):
        lines, done = host(1, "fork", **FORKS)
        self.assertEqual(done.returncode, 0)
        self.check_truth(lines, 1)

    def test_a_fatal_error_ends_device_events_only(self):
        lines, done = host(1, "fatal")
        self.assertEqual(done.returncode, 0)
        self.assertIn("fatal error", lines.notes()[-1])
        self.assertEqual(lines.of("lost")[-1]["reason"], DEVICE_LOST)

    def test_a_takeover_is_noticed_by_its_clock(self):
        lines, done = host(1, "takeover", MOCK_CASE="takeover")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(any("taken over" in n for n in lines.notes()))
        self.assertEqual(lines.of("lost")[-1]["reason"], DEVICE_LOST)

    def test_dropped_records_are_counted_with_their_window(self):
        lines, done = host(MOCK_CASE="drop")
        self.assertEqual(done.returncode, 0)
        (dropped,) = lost(lines)
        self.assertEqual((dropped["value"], dropped["reason"]),
                         (3, DEVICE_LOST))
        self.assertGreater(dropped["enabled"], 0)

    def test_a_clock_of_ours_is_not_given_where_it_costs_the_times(self):
        """The mock loses every other kernel's times there, as CUPTI does."""
        for version in (24, 27, 130001):
            lines, done = host(MOCK_VERSION=str(version))
            self.assertEqual(done.returncode, 0)
            self.check_truth(lines, 1)

    def test_work_without_times_is_unknown_since_its_launch(self):
        lines, done = host()
        self.assertEqual(done.returncode, 0)
        (unknown,) = lines.of("lost")
        self.assertEqual((unknown["value"], unknown["reason"]),
                         (0, DEVICE_LOST))
        self.assertIn("2 records without usable times", lines.notes()[-1])

    def test_without_a_free_buffer_an_old_cupti_gets_one_to_waste(self):
        lines, done = host(1, "flood", MOCK_CASE="scarce", MOCK_VERSION="24",
                           options=("--slot-kib", "65536"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(sum(r["value"] for r in lost(lines)), 0)

    def test_an_unknown_record_ends_its_buffer_and_is_reported(self):
        lines, done = host(1, "unknown")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(any("could not be decoded" in n
                            for n in lines.notes()))
        self.assertEqual([r["reason"] for r in lost(lines)],
                         [DEVICE_LOST])


class Rivals(Case):
    """Other clients of CUPTI, where ckcuda wraps it."""

    def rival(self, **more):
        lines, done = host(1, "rival", preload=PRELOAD, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sum("took CUPTI's buffers" in n
                             for n in lines.notes()), 1)
        kernels = [r for r in lines.of("kernel") if not r["flags"] & BAD_TIME]
        self.assertEqual(len(kernels), LAUNCHES + DIRECT + NODES + 300)
        return lines

    def test_it_gets_what_it_wants_and_ck_goes_on_when_it_is_over(self):
        """Longer than the two seconds in which its end is not reported."""
        lines = self.rival()
        self.assertEqual((sum(r["value"] for r in lost(lines)),
                          {r["reason"] for r in lost(lines)}),
                         (600, {DEVICE_LOST}))

    def test_yield_goes_on_as_well(self):
        lines = self.rival(CKAGENT_CUPTI="yield")
        gone = [r for r in lines.of("lost") if r["enabled"] > 2.3e9]
        self.assertEqual([r["reason"] for r in gone], [DEVICE_LOST])

    def test_share_has_all_beside_another_subscriber(self):
        """One API throughout: a call of the first set is refused."""
        lines, done = host(1, "share", CKAGENT_CUPTI="share",
                           MOCK_VERSION="130300")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mode share", lines.notes()[0])
        self.assertEqual(lost(lines), [])
        kernels = [r for r in lines.of("kernel") if not r["flags"] & BAD_TIME]
        self.assertEqual(len(kernels), LAUNCHES + DIRECT + NODES + 500)
        self.assertFalse(any("dropped" in n for n in lines.notes()))

    def test_share_is_own_where_cupti_has_one_subscriber(self):
        for version in ("130001", "130200"):
            lines, done = host(CKAGENT_CUPTI="share", MOCK_VERSION=version)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("share: this CUPTI has one", lines.notes()[0])
            self.assertIn("mode own", lines.notes()[1])
            self.check_truth(lines, 1)

    def test_cupti_that_is_let_go_of_is_had(self):
        lines, done = host(1, "held", MOCK_CASE="held")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(lines.of("kernel")), 300)
        self.assertIn("is held by", lines.notes()[0])
        self.assertTrue(any("device events begin here" in n
                            for n in lines.notes()))
        first = min(r["start"] for r in lines.of("kernel"))
        (before,) = [r for r in lines.of("lost") if r["start"] < first]
        self.assertEqual(before["reason"], DEVICE_LOST)


@unittest.skipUnless(CHECKED, "the program is not built with a sanitizer")
class Races(unittest.TestCase):
    """What threads of the program, of ck and of CUPTI do at once: nothing is
    reported, and kernels are recorded."""
    PLAYS = (("16", "exit", "none"), ("1", "racing", "none"),
             ("1", "again", "none"), ("1", "steal", "none"),
             ("1", "destroy", "none"), ("1", "reset", "none"),
             ("1", "paced", "zero"), ("1", "graphs", "pool"),
             ("1", "other", "none"), ("1", "quick", "none"),
             ("1", "fork", "none"), ("1", "held", "held"),
             ("1", "takeover", "takeover"), ("1", "fatal", "none"))

    def test_no_data_race(self):
        for threads, how, case in self.PLAYS:
            # With "yield" no client has the buffers back, or learns of an end.
            for mode in ("own",) if how == "steal" else ("own", "yield"):
                with self.subTest(threads=threads, how=how, mode=mode):
                    lines, done = host(threads, how, MOCK_CASE=case,
                                       CKAGENT_CUPTI=mode)
                    self.assertEqual(done.returncode, 0, done.stderr[:4000])
                    self.assertNotIn("Sanitizer", done.stderr)
                    if mode == "own":
                        self.assertGreater(len(lines.of("kernel")), 100)


class Driver(unittest.TestCase):
    """Without CUPTI: the driver's API, however the program reaches it."""

    TRUTH = {"cuLaunchKernel": 200, "cuGraphLaunch": 20, "cuMemcpyHtoD": 31,
             "cuStreamSynchronize": 40, "cuCtxSynchronize": 2}

    def run_host(self, how, threads=1, *more, cupti="", **environment):
        path = [os.path.join(BUILD, "tests", "mockcuda")]
        path += [os.path.join(MOCK, cupti)] if cupti else []
        lines, done = ringlines.run(
            RINGRUN, ["env", "LD_PRELOAD=" + PRELOAD,
                      os.path.join(BUILD, "tests", "cuda_host"), how,
                      str(threads), *more],
            {"CUDA_INJECTION64_PATH": LIBRARY,
             "LD_LIBRARY_PATH": ":".join(path), **environment},
            ("--slots", str(threads + 10)))
        return lines, done

    def check_truth(self, lines, done, threads=1, rc=0):
        self.assertEqual(done.returncode, rc, done.stderr)
        calls = lines.of("cuda-driver")
        counts = {}
        for call in calls:
            counts[call["named"]] = counts.get(call["named"], 0) + 1
        self.assertEqual(counts, {k: v * threads
                                  for k, v in self.TRUTH.items()})
        self.assertEqual(sum(r["flags"] != 0 for r in calls), threads)
        self.assertTrue(all(r["site"] != 0 for r in calls))
        # The failed copies did not count there.
        self.assertEqual(done.stdout.split()[-1],
                         str(len(calls) - threads))
        self.assertEqual(sum("from the driver's API" in n
                             for n in lines.notes()), 1)
        self.assertEqual(lines.of("kernel"), [])
        self.assertEqual(lines.lost_in_ring(), 0)

    def test_each_way_to_the_driver(self):
        """Linked; dlsym(); cuGetProcAddress() as the runtime, also with a
        default stream of each thread. Parameters come through."""
        for how in ("link", "dlsym", "proc", "thread"):
            with self.subTest(how):
                self.check_truth(*self.run_host(how, CKAGENT_CUPTI="driver"))

    def test_many_threads(self):
        self.check_truth(*self.run_host("proc", THREADS,
                                        CKAGENT_CUPTI="driver"), THREADS)

    def test_nothing_is_lost_with_a_killed_process(self):
        self.check_truth(*self.run_host("proc", 1, "kill",
                                        CKAGENT_CUPTI="driver"), rc=128 + 9)

    def test_cupti_absent_refused_held_or_injected_by_another(self):
        absent = {"CKAGENT_CUPTI_LIB": "/nowhere/libcupti.so"}
        for case in ({"cupti": "new", "MOCK_CASE": "nodriver"},
                     {"cupti": "new", "MOCK_CASE": "busy"},
                     {"cupti": "new", "MOCK_CASE": "enable"},
                     absent, {"CUDA_INJECTION64_PATH": self.other()}):
            with self.subTest(case):
                self.check_truth(*self.run_host("proc", **case))

    @staticmethod
    def other():
        """A library whose InitializeInjection() is not ck's for this."""
        return os.path.join(BUILD, "tests", "libother_injection.so")

    def test_with_cupti_or_off_nothing_is_recorded_twice(self):
        for case in ({"cupti": "new"}, {"CKAGENT_CUPTI": "off"}):
            with self.subTest(case):
                lines, done = self.run_host("proc", **case)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(lines.of("cuda-driver"), [])

    def test_other_questions_to_dlsym_are_answered_as_before(self):
        lines, done = self.run_host("next")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines.notes(), [])

    def test_the_report_shows_that_device_times_are_unknown(self):
        with tempfile.TemporaryDirectory() as folder:
            rings = os.environ.get("CK_TEST_RINGS", folder)
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [os.path.join(BUILD, "bin", "ckagent"), "-d", run, "--posix",
                 "off", "--sample", "off", "--",
                 os.path.join(BUILD, "tests", "cuda_host"), "proc", "2"],
                check=False, timeout=60, capture_output=True, text=True,
                env={**os.environ, "CK_TEST_RINGS": rings,
                     "CKAGENT_CUPTI": "driver",
                     "LD_LIBRARY_PATH": os.path.join(BUILD, "tests",
                                                     "mockcuda")})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(run, "report.txt"), encoding="utf8") as f:
                text = f.read()
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as f:
                report = json.load(f)
        launches = report["trust"]["cuda_launches"]
        self.assertEqual((launches["launched"],
                          launches["launches_without_work"],
                          launches["processes_without_work"]), (440, 440, 1))
        self.assertEqual(report["devices"], [])
        self.assertIn("for 1 process, and when, is unknown: no record of the "
                      "work of\n 440 kernel launches came. Device times are "
                      "missing, not idle.", text)
        self.assertIn("without any record of a device's work (440", text)


class Find(unittest.TestCase):
    """Where pip, conda and the toolkit put libcupti."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def put(self, path):
        path = os.path.join(os.path.realpath(self.folder.name), path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(LIBRARY, path)
        return path

    def found(self, *loaded, **environment):
        done = subprocess.run(
            [os.path.join(BUILD, "tests", "cupti_find"), *loaded], check=True,
            capture_output=True, text=True, timeout=20,
            env={**{k: v for k, v in os.environ.items()
                    if not k.startswith(("CUDA_", "CONDA"))},
                 **environment})
        folder = os.path.realpath(self.folder.name)
        lines = [os.path.realpath(x) for x in done.stdout.splitlines()]
        return [os.path.relpath(x, folder) for x in lines
                if x.startswith(folder)]

    def test_wheels_by_what_is_loaded_of_them(self):
        torch = self.put("lib/python3/site-packages/torch/lib/libtorch.so")
        self.put("lib/python3/site-packages/nvidia/cuda_cupti/lib/"
                 "libcupti.so.12")
        self.assertEqual(self.found(torch), [
            "lib/python3/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"])
        runtime = self.put("x/nvidia/cuda_runtime/lib/libcudart.so.12")
        self.put("x/nvidia/cuda_cupti/lib/libcupti.so.12")
        self.assertEqual(self.found(runtime),
                         ["x/nvidia/cuda_cupti/lib/libcupti.so.12"])

    def test_conda_and_the_toolkit(self):
        self.put("conda/lib/libcupti.so.12")
        self.put("cuda/extras/CUPTI/lib64/libcupti.so.13")
        folder = os.path.realpath(self.folder.name)
        self.assertEqual(
            sorted(self.found(CONDA_PREFIX=folder + "/conda",
                              CUDA_HOME=folder + "/cuda")),
            ["conda/lib/libcupti.so.12",
             "cuda/extras/CUPTI/lib64/libcupti.so.13"])

    def test_what_the_driver_has_no_cuda_for_comes_last(self):
        self.put("cuda/lib64/libcupti.so.13")
        self.put("cuda/lib64/libcupti.so.12")
        home = {"CUDA_HOME": os.path.realpath(self.folder.name) + "/cuda"}
        thirteen, twelve = ("cuda/lib64/libcupti.so.13",
                            "cuda/lib64/libcupti.so.12")
        for driver, order in (("550.54.15", [twelve, thirteen]),
                              ("580.65.06", [thirteen, twelve])):
            real = self.put(driver + "/libcuda.so." + driver)
            link = os.path.join(os.path.dirname(real), "libcuda.so.1")
            os.symlink(real, link)
            self.assertEqual(self.found(link, **home), order)


class Report(unittest.TestCase):
    """What ckmerge reports of runs that lack records: busy, idle and unknown."""

    def report(self, how, case, status=None, **more):
        with tempfile.TemporaryDirectory() as folder:
            rings = os.environ.get("CK_TEST_RINGS", folder)
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [os.path.join(BUILD, "bin", "ckagent"), "-d", run, "--posix",
                 "off", "--sample", "off", "--", HOST, "1", how],
                check=False, timeout=60, capture_output=True,
                env={**os.environ, "MOCK_CASE": case, "CK_TEST_RINGS": rings,
                     "CUDA_INJECTION64_PATH": LIBRARY,
                     "LD_LIBRARY_PATH": os.path.join(MOCK, "new"), **more})
            with open(os.path.join(run, "report.txt"), encoding="utf8") as f:
                text = f.read()
            with open(os.path.join(run, "report.json"),
                      encoding="utf8") as f:
                report = json.load(f)
        if status is not None:
            ended = 128 - done.returncode if done.returncode < 0 \
                else done.returncode
            self.assertEqual(ended, status, done.stderr)
        self.lost = report["trust"]["lost"]
        self.whole = report
        device = report["devices"][0]
        for other in report["devices"][1:]:  # a copy's other end
            self.assertEqual(other["busy_ns"], 0)
        self.assertEqual(device["busy_ns"] + device["idle_known_ns"] +
                         device["unknown_ns"], device["wall_ns"])
        self.assertEqual(sum(device["ledger"].values()), device["wall_ns"])
        return device, text, report["trust"]["cuda_launches"]

    def test_kernels_without_times_are_unknown_not_idle(self):
        # From the first of 400 launches in 0.2 s on.
        device, text, launches = self.report("paced", "zero")
        self.assertLess(device["busy_ns"], 1000)  # three copies
        self.assertGreater(device["unknown_ns"], 200e6)
        self.assertIn("it is unknown whether they were busy", text)
        self.assertIn("records without usable times", text)
        # All but the two that have impossible ones, which count as well.
        kernels = LAUNCHES + DIRECT + NODES + 2 + 400
        self.assertEqual((launches["kernels"], launches["untimed"]),
                         (kernels, kernels))
        self.assertIn("\n 100.0 % of the kernels (1,432 of 1,432) have no usable",
                      text)
        self.assertEqual(launches["unrecorded"], 0)
        self.assertNotIn("no record of the work", text)

    # How it ends, the mock's case, its status, and how many kernels were
    # launched; a key of the environment may follow.
    BASE = LAUNCHES + DIRECT + NODES + 2
    SWEEP = (
        ("exit", "none", 0, BASE), ("exit", "zero", 0, BASE),
        ("exit", "drop", 0, BASE + 3), ("exit", "late", 0, BASE),
        ("exit", "hang", 0, BASE), ("reset", "stuck", 0, BASE),
        ("flood", "scarce", 0, BASE + 150000),
        ("graphs", "pool", 0, BASE + 10000),
        ("paced", "late", 0, BASE + 400), ("kill", "late", 137, BASE + 400),
        ("kill", "zero", 137, BASE + 400), ("term", "late", 143, BASE),
        ("abort", "late", 134, BASE), ("steal", "none", 0, BASE + 800),
        ("held", "held", 0, 300), ("takeover", "takeover", 0, BASE),
        ("fatal", "none", 0, BASE), ("fork", "none", 0, BASE, FORKS),
        ("_exit", "none", 0, BASE), ("quick", "none", 0, BASE),
        ("other", "none", 0, BASE), ("destroy", "none", 0, BASE),
        ("release", "none", 0, BASE), ("reset", "none", 0, BASE),
        ("again", "none", 0, BASE + 600), ("again", "late", 0, BASE + 600),
        ("racing", "none", 0, BASE + 4000), ("racing", "zero", 0, BASE + 4000),
        ("paced", "zero", 0, BASE + 400, {"MOCK_VERSION": "18"}),
        ("paced", "zero", 0, BASE + 400, {"MOCK_VERSION": "24"}),
        ("paced", "zero", 0, BASE + 400, {"MOCK_VERSION": "27"}),
        ("paced", "zero", 0, BASE + 400, {"MOCK_VERSION": "130300"}),
        ("exit", "none", 0, BASE, {"CKAGENT_CUPTI": "yield"}),
        ("fork", "none", 0, BASE, {**FORKS, "CKAGENT_CUPTI": "yield"}),
        ("_exit", "none", 0, BASE, {"CKAGENT_CUPTI": "yield"}))

    def test_each_launch_is_recorded_or_counted_however_it_ends(self):
        """busy + idle + unknown = wall; what was launched is recorded, or
        counted as lost or without a record, and then its time is unknown."""
        for how, case, status, launched, *extra in self.SWEEP:
            with self.subTest(how=how, case=case, extra=extra):
                device, _, launches = self.report(how, case, status,
                                                  **dict(*extra))
                missing = launched - launches["kernels"]
                told = self.lost + launches["unrecorded"]
                # The last launch is one of NODES kernels, and two behind it
                # have no launch.
                more = NODES - 1 + 2 if launches["unrecorded"] > 0 else 0
                self.assertLessEqual(missing, told + more)
                if missing > 0 or launches["untimed"] > 2:
                    self.assertGreater(device["unknown_ns"], 0)
                if told == 0:
                    self.assertEqual(missing, 0)

    def test_a_pool_that_runs_out_later_is_unknown_time(self):
        """Of 200 graph launches, 0.4 ms of work each, the first 39 have times
        (2,000 nodes; the first graph took 20 of them). Also without a
        subscription, where launches are not reported."""
        for mode in ("own", "yield"):
            with self.subTest(mode):
                device, text, launches = self.report("graphs", "pool",
                                                     CKAGENT_CUPTI=mode)
                known, busy = 39 * 0.4e6, 200 * 0.4e6
                self.assertGreater(device["busy_ns"], known)
                self.assertLess(device["busy_ns"], known + 2e6)
                # What was busy and has no times is never idle.
                self.assertGreater(device["unknown_ns"], busy - known)
                self.assertEqual(launches["untimed"], 200 * 50 - 1980 + 2)
                self.assertIn("have no usable", text)
                self.assertIn("it is unknown whether they were busy", text)

    def test_device_memory_by_the_function_that_asked_for_it(self):
        """12 MiB in fields_make, 4 of them given back by a record that came
        before the one of what they are; 1 MiB in halo_make, and none of the
        host's. CUPTI's own parser may walk the buffers."""
        for more in ({}, {"MOCK_VERSION": "24"},
                     *([{"MOCK_REAL": REAL}] if REAL else [])):
            with self.subTest(**more):
                _, text, _ = self.report("memory", "none", 0, **more)
                memory = self.whole["device_memory"]
                rows = {row["function"]: row for row in memory["places"]}
                mib = 1 << 20
                self.assertEqual(
                    {name: (row["bytes"], row["peak_bytes"], row["last_bytes"],
                            row["blocks"]) for name, row in rows.items()},
                    {"fields_make": (12 * mib, 12 * mib, 8 * mib, 3),
                     "halo_make": (mib, 0, mib, 1)})
                self.assertEqual(
                    [(row["peak_bytes"], row["last_bytes"])
                     for row in memory["ranks"]], [(12 * mib, 9 * mib)])
                self.assertIn("DEVICE MEMORY", text)

    def test_device_memory_whose_call_is_forgotten_is_noted(self):
        _, text, _ = self.report("memory_late", "none", 0)
        rows = self.whole["device_memory"]["places"]
        self.assertEqual([(row["function"], row["bytes"]) for row in rows],
                         [(None, 4 << 20)])
        self.assertIn("some of it has no place", " ".join(text.split()))

    def test_launches_into_a_captured_graph_are_no_loss(self):
        device, text, launches = self.report("capture", "none")
        self.assertEqual(launches["unrecorded"], 0)
        self.assertEqual(launches["untimed"], 2)  # fewer than one in a hundred
        self.assertNotIn("of the kernels (", text)
        self.assertLess(device["unknown_ns"], device["wall_ns"] / 100)
        self.assertNotIn("it is unknown", text)
        self.assertNotIn("took CUPTI's buffers", text)

    def test_what_a_killed_process_had_not_got_back_is_unknown(self):
        # The newest buffer, of 157 kernels at most, is withheld: at least
        # 400 - 2 * 157 launches' worth of it.
        device, text, launches = self.report("kill", "late")
        self.assertEqual(launches["launched"], LAUNCHES + DIRECT + 1 + 400)
        gone = LAUNCHES + DIRECT + NODES + 2 + 400 - launches["kernels"]
        self.assertGreater(gone, 0)
        self.assertEqual((launches["unrecorded"], launches["processes"]),
                         (gone, 1))
        self.assertIn(f"of the kernel launches ({gone} of 1,411) no record",
                      text)
        self.assertIn(f"{gone} of 1,411 kernel launches without a record of "
                      "their work, from", text)
        self.assertGreater(device["kernels"], LAUNCHES)
        self.assertIn("node(float*, int)", text)
        self.assertGreater(device["unknown_ns"], 10e6)
        self.assertIn("it is unknown whether they were busy", text)


class Plan(unittest.TestCase):
    """What would waste an hour on a GPU (tests/e2e/gpu.sh)."""
    E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                       "e2e")

    def test_ranges_on_the_device_are_no_kernels(self):
        row = collections.namedtuple("row", "name is_user_annotation")
        fake = types.ModuleType("torch")
        with unittest.mock.patch.dict(sys.modules, torch=fake), \
                unittest.mock.patch.object(sys, "argv", ["gpujob.py", "1"]):
            counted = runpy.run_path(
                os.path.join(self.E2E, "gpujob.py"))["counted"]
        self.assertEqual(
            counted([row("gemm", False)] * 20 + [row("Memset", False)] * 10 +
                    [row("Optimizer.step#SGD.step", True)] * 10),
            {"gpu_rows": 30, "kernels_a_step": 2})

    def test_at_its_limit_a_command_leaves_nothing(self):
        run = subprocess.Popen(
            [sys.executable, os.path.join(self.E2E, "gpu.py"), BUILD, "5",
             "--mock"], env={**os.environ, "CK_LAUNCHES": "1000000"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        mark = ("CK_GPU_STEP=%d" % run.pid).encode()
        wait_until(lambda: len(list(marked(mark))) > 1)
        run.terminate()
        self.assertIn("its time is over", run.communicate(timeout=30)[1])
        self.assertNotEqual(run.returncode, 0)
        wait_until(lambda: not list(marked(mark)))
        self.assertEqual(list(marked(mark)), [])

    def test_the_driver_may_be_where_only_the_environment_leads(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (
                    ("lib/ck/libckcupti.so", ""), ("tests/ringrun", ""),
                    ("bin/python3", "echo /wheel"),
                    ("tests/cuda_truth", 'echo "$LD_LIBRARY_PATH"; exit 77')):
                path = os.path.join(folder, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="ascii") as file:
                    file.write("#!/bin/sh\n%s\n" % text)
                os.chmod(path, 0o755)
            done = subprocess.run(
                [os.path.join(self.E2E, "gpu.sh"), "run", "1", folder],
                capture_output=True, text=True, timeout=60,
                env={**os.environ, "LD_LIBRARY_PATH": "/driver", "PATH":
                     os.path.join(folder, "bin") + ":" + os.environ["PATH"]})
        self.assertEqual(done.returncode, 77)
        self.assertEqual(done.stdout, "SKIPPED: /wheel/lib:/driver\n")


def marked(mark):
    """Processes that have it in their environment."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield int(name)
        except OSError:
            pass


def wait_until(is_so, seconds=20):
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.1)


if __name__ == "__main__":
    if REAL is None:
        print("check.py: SKIPPED: cases of the real libcupti (not found)")
    unittest.main(verbosity=2)
