#!/usr/bin/env python3
# check.py - what ckopencl records of real programs on PoCL
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD_DIR: runs the programs beside this file under ringrun."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import ringlines  # noqa: E402

BUILD = sys.argv.pop(1)
LAYER = os.path.join(BUILD, "lib", "ck", "libckopencl.so")
RINGRUN = os.path.join(BUILD, "tests", "ringrun")
CACHE = tempfile.TemporaryDirectory(prefix="ck-pocl-")
RAW, FAILED, BAD_TIME = 1, 2, 8
COPIES = ("h2d", "d2h", "d2d", "fill", "map")
DEVICE_LOST, UNDONE = 3, 7


def program(name):
    return os.path.join(BUILD, "tests", name)


def plain(name, *args, **environment):
    import subprocess
    return subprocess.run(
        [program(name), *args], timeout=120, capture_output=True, text=True,
        check=False,
        env={**os.environ, "POCL_CACHE_DIR": CACHE.name, **environment})


def traced(name, *args, options=("--slots", "32"), **environment):
    return ringlines.run(
        RINGRUN, [program(name), *args],
        {"POCL_CACHE_DIR": CACHE.name, "OPENCL_LAYERS": LAYER, **environment},
        options)


class Case(unittest.TestCase):
    def check_device_records(self, lines):
        """Rules that hold for every command of every run on PoCL."""
        calls = {(r["slot_tid"], r["call"]): r for r in lines.of("opencl")}
        devices, queues = lines.facts("device"), lines.facts("queue")
        for record in lines.of("kernel", *COPIES):
            self.assertEqual(record["flags"], RAW, record)
            self.assertLessEqual(record["queued"], record["submitted"])
            self.assertLessEqual(record["submitted"], record["start"])
            self.assertGreaterEqual(record["dur"], 0)
            call = calls[(record["tid"], record["call"])]
            self.assertTrue(call["named"].startswith("clEnqueue"), call)
            self.assertLessEqual(call["start"] - 1000, record["queued"])
            self.assertLessEqual(record["queued"],
                                 call["start"] + call["dur"] + 1000)
            self.assertEqual(call["object"], record["queue"])
            self.assertIn(record["device"], devices)
            self.assertIn(record["queue"], queues)
        self.assertEqual(lines.lost_in_ring(), 0)
        self.assertEqual([r["depth"] for r in lines.of("slot")
                          if r["depth"] != 0], [])


class Memory(Case):
    def test_a_free_that_fails_frees_nothing(self):
        lines, done = traced("cl_callers")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "no shared memory" in done.stdout:
            self.skipTest("the device has no shared memory")
        self.assertNotIn("freed without", done.stdout)
        (failed,) = lines.calls("clEnqueueSVMFree")
        (call,) = lines.calls("clSVMFree")
        (freed,) = [r for r in lines.of("device-freed")
                    if r["bytes"] == 65536]
        self.assertEqual((failed["bytes"], call["bytes"]), (0, 65536))
        self.assertGreaterEqual(freed["start"], call["start"])


class Kinds(Case):
    def check_kinds(self, *args, options=()):
        before = plain("cl_kinds", *args)
        lines, done = traced("cl_kinds", *args, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, before.stdout)
        svm = "svm yes" in done.stdout
        self.assertEqual(len(lines.of("kernel")), 201)
        self.assertEqual({r["named"] for r in lines.of("kernel")}, {"add"})
        for kind, sizes in {
                "h2d": [512, 4096, 16384, 16384],
                "d2h": [512, 4096, 16384, 16384],
                "d2d": [512, 4096, 4096, 4096, 8192] + [1024] * svm,
                "fill": [4096, 8192] + [1024] * svm,
                "map": [4096] * 4 + [1024, 1024] * svm}.items():
            self.assertEqual(sorted(r["bytes"] for r in lines.of(kind)),
                             sorted(sizes), kind)
        self.assertEqual(lines.of("lost"), [])
        return lines

    def test_every_command_is_recorded_once_with_its_size(self):
        lines = self.check_kinds()
        self.check_device_records(lines)
        wide = [r for r in lines.of("kernel") if r["local[0]"] == 64]
        self.assertEqual(len(wide), 100)
        self.assertEqual({r["global[0]"] for r in wide}, {1024})
        for kernel in lines.of("kernel"):
            call = [r for r in lines.of("opencl")
                    if r["call"] == kernel["call"]][0]
            self.assertIn(call["named"],
                          ("clEnqueueNDRangeKernel", "clEnqueueTask"))

    def test_an_out_of_order_queue_is_one_too(self):
        lines = self.check_kinds("out-of-order")
        self.check_device_records(lines)
        (queue,) = lines.facts("queue").values()
        self.assertEqual(queue["order"], "out-of-order")

    def test_on_a_tsc_ring_device_times_stay_raw(self):
        lines = self.check_kinds(options=("--tsc",))
        self.assertEqual({r["flags"] for r in lines.of("kernel")}, {RAW})
        self.assertEqual({r["flags"] for r in lines.of("opencl")}, {0})

    def test_each_place_of_a_call_is_in_the_program(self):
        lines = self.check_kinds()
        sites = {r["site"] >> 20 for r in lines.of("opencl")}
        self.assertNotIn(0, sites)
        self.assertEqual(len(sites), 1, "all calls come from one program")
        written = {r["site"] for r in lines.calls("clEnqueueWriteBuffer")}
        read = {r["site"] for r in lines.calls("clEnqueueReadBuffer")}
        self.assertEqual((len(written), len(read)), (1, 2))


class View(Case):
    def test_the_program_sees_its_queues_and_events_as_it_made_them(self):
        before = plain("cl_view")
        lines, done = traced("cl_view")
        self.assertEqual(before.returncode, 0, before.stderr)
        self.assertIn("asked: stamp 3 rc 0 ordered", before.stdout)
        self.assertIn("none: stamp 3 rc -7", before.stdout)
        self.assertEqual(done.stdout, before.stdout)
        made = sum(" bits " in line for line in before.stdout.splitlines())
        self.assertEqual(len(lines.of("h2d")), made + 2)
        self.assertIn("gated: references ", before.stdout)
        self.assertIn(" while a thread waits", before.stdout)
        self.check_device_records(lines)

    def test_without_an_agent_nothing_changes(self):
        before = plain("cl_view")
        alone = plain("cl_view", OPENCL_LAYERS=LAYER)
        self.assertEqual(alone.stdout, before.stdout)
        self.assertEqual(alone.returncode, 0)


class Awaits(Case):
    def makers(self, lines, name):
        return [(r["slot_tid"], r["call"]) for r in lines.calls(name)]

    def awaited(self, lines, kind):
        return [(r["awaited_tid"], r["awaited_call"]) for r in lines.of(kind)]

    def test_a_wait_for_a_user_event_and_who_set_it(self):
        lines, done = traced("cl_shapes", "user")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.makers(lines, "clCreateUserEvent")
        self.assertEqual(len(made), 5)
        self.assertEqual(self.awaited(lines, "await"), made)
        self.assertEqual(sorted(self.awaited(lines, "await-set")),
                         sorted(made))
        launches = self.makers(lines, "clEnqueueNDRangeKernel")
        for record in lines.of("await"):
            self.assertIn((record["slot_tid"], record["call"]), launches)
        setters = {r["slot_tid"] for r in lines.of("await-set")}
        self.assertTrue(setters.isdisjoint(tid for tid, _ in made))
        self.check_device_records(lines)

    def test_a_wait_for_another_devices_kernel(self):
        lines, done = traced("cl_shapes", "remote",
                             POCL_DEVICES="pthread pthread")
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = {(r["tid"], r["call"]): r for r in lines.of("kernel")}
        waits = lines.of("await")
        self.assertEqual(len(waits), 5)
        for wait in waits:
            before = kernels[wait["awaited_tid"], wait["awaited_call"]]
            after = kernels[wait["slot_tid"], wait["call"]]
            self.assertEqual(before["named"], "spin")
            self.assertEqual(after["named"], "add")
            self.assertLessEqual(before["start"] + before["dur"],
                                 after["start"])
        self.check_device_records(lines)

    def test_a_barrier_holds_what_its_queue_gets_later(self):
        lines, done = traced("cl_shapes", "barrier")
        self.assertEqual(done.returncode, 0, done.stderr)
        markers = self.makers(lines, "clEnqueueMarkerWithWaitList")
        both = self.awaited(lines, "await-queue")
        self.assertEqual(
            sorted(both),
            sorted(markers + self.makers(lines, "clCreateUserEvent")))
        self.assertEqual(lines.of("lost"), [])

    def test_a_launch_names_its_kernel(self):
        lines, done = traced("cl_shapes", "lone")
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = {(r["slot_tid"], r["call"]): r for r in lines.of("opencl")}
        for kernel in lines.of("kernel"):
            call = calls[kernel["tid"], kernel["call"]]
            self.assertEqual(call["extra"], kernel["name"])

    def test_a_blocking_copy_has_ended_when_its_call_returns(self):
        lines, done = traced("cl_shapes", "copies")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            {r["extra"] >> 32 for r in lines.calls("clEnqueueWriteBuffer")},
            {1})

    def test_what_failed_has_its_error(self):
        lines, done = traced("cl_shapes", "fail", POCL_DEVICES="pthread")
        refused = [r for r in lines.calls("clEnqueueNDRangeKernel")
                   if r["flags"] & FAILED]
        self.assertEqual([r["arg"] for r in refused], [54, 54], done.stderr)
        failed = [r for r in lines.of("kernel") if r["flags"] & FAILED]
        self.assertEqual(len(failed), 3)
        for record in failed:
            self.assertEqual(record["flags"], FAILED | BAD_TIME)
            self.assertGreater(record["correlation"], 0)


class Leaving(Case):
    def test_a_library_that_is_closed_leaves_whole_records(self):
        for words in ([], ["keep"]):
            alone = plain("cl_unload", *words)
            lines, done = traced("cl_unload", *words)
            self.assertEqual((done.returncode, done.stdout),
                             (alone.returncode, alone.stdout), done.stderr)
            self.assertEqual(len(lines.of("fill")), 10)

    def test_queues_and_events_without_end(self):
        count = int(os.environ.get("CK_QUEUES", "1500"))
        # A driver may hold the last event a moment longer than its command
        # runs: a reference that is ours would be there each time.
        for _ in range(5):
            alone = plain("cl_many", str(count))
            lines, done = traced("cl_many", str(count))
            if done.stdout == alone.stdout:
                break
        self.assertEqual((done.returncode, done.stdout),
                         (0, alone.stdout), done.stderr)
        self.assertEqual(lines.lost_in_ring(), 0)
        self.assertEqual(len(lines.of("fill")), count)


    def test_commands_that_wait_without_end(self):
        count = int(os.environ.get("CK_COMMANDS", "70000"))
        lines, done = traced("cl_many", str(count), "held")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "%d commands\n" % count), done.stderr)
        # Each was followed; what a full slot had no room for is counted.
        self.assertEqual(lines.of("lost"), [])
        written = len(lines.of("fill"))
        self.assertLessEqual(written, count)
        # The calls may be among those that had no room, too.
        self.assertGreaterEqual(written + lines.lost_in_ring(), count)


class Threads(Case):
    def test_four_threads_keep_their_own_calls(self):
        before = plain("cl_threads", "4", "50")
        lines, done = traced("cl_threads", "4", "50")
        self.assertEqual(done.stdout, before.stdout)
        self.assertIn("callbacks 200", done.stdout)
        self.assertEqual(len(lines.of("kernel")), 200)
        self.assertEqual(len({r["tid"] for r in lines.of("kernel")}), 4)
        self.assertEqual(len({r["queue"] for r in lines.of("kernel")}), 4)
        self.check_device_records(lines)

    def test_threads_that_share_a_queue(self):
        before = plain("cl_threads", "4", "500", "shared")
        lines, done = traced("cl_threads", "4", "500", "shared")
        self.assertEqual(done.stdout, before.stdout)
        self.assertEqual(len({r["queue"] for r in lines.of("kernel")}), 1)
        self.assertEqual(len({(r["tid"], r["call"])
                              for r in lines.of("kernel")}), 2000)
        self.assertEqual(lines.of("lost"), [])
        self.check_device_records(lines)

    def test_two_devices_are_distinguished(self):
        lines, done = traced("cl_threads", "2", "40",
                             POCL_DEVICES="pthread pthread")
        self.assertIn("devices 2", done.stdout)
        self.assertEqual(len({r["device"] for r in lines.of("kernel")}), 2)
        for device in lines.facts("device").values():
            self.assertEqual(device["scope"], "process")
            self.assertEqual(device["clock"], "raw")
            self.assertEqual(device["type"], "cpu")
        self.check_device_records(lines)

    def test_a_device_that_runs_in_the_callers_thread(self):
        lines, done = traced("cl_threads", "2", "20", POCL_DEVICES="basic")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(lines.of("kernel")), 40)
        self.check_device_records(lines)


class End(Case):
    def check_run(self, how, count="10", **environment):
        before = plain("cl_end", how, count)
        lines, done = traced("cl_end", how, count, **environment)
        self.assertEqual(done.returncode, before.returncode, done.stderr)
        self.assertEqual(done.stdout, before.stdout)
        return lines

    def test_commands_without_an_end_are_counted_at_exit(self):
        lines = self.check_run("never")
        self.assertEqual(lines.of("kernel"), [])
        (lost,) = lines.of("lost")
        self.assertEqual((lost["value"], lost["reason"]), (10, UNDONE))
        first = lines.calls("clEnqueueNDRangeKernel")[0]
        self.assertEqual(lost["start"], first["start"])
        self.assertGreater(lost["enabled"], 0)

    def test_a_queue_released_before_its_commands_ran(self):
        lines = self.check_run("late")
        self.assertEqual(len(lines.of("kernel")), 10)
        self.assertEqual(lines.of("lost"), [])
        self.check_device_records(lines)

    def test_a_child_counts_nothing_of_its_parent(self):
        lines = self.check_run("fork")
        self.assertEqual(len(lines.of("kernel")), 10)
        self.assertEqual(lines.of("lost"), [])

    def test_an_exhausted_pool_is_counted(self):
        lines = self.check_run("run", "50", CK_TEST_OPENCL_POOL="20")
        lost = lines.of("lost")
        self.assertEqual({r["reason"] for r in lost}, {DEVICE_LOST})
        self.assertEqual(sum(r["value"] for r in lost), 30)
        self.assertEqual(len(lines.of("kernel")), 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
