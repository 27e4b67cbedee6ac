#!/usr/bin/env python3
# posix.py - what ckposix records of calls of known number and length
# SPDX-License-Identifier: Apache-2.0
"""posix.py BUILD_DIR: runs posix_target under ringrun, case by case."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "targets"))
import ringlines  # noqa: E402

BUILD = sys.argv.pop(1)
LIBRARY = os.path.join(BUILD, "lib", "ck", "libck.so")
RINGRUN = os.path.join(BUILD, "tests", "ringrun")
TARGET = os.path.join(BUILD, "tests", "posix_target")
HOLD = 100e6
RAW, FAILED = 1, 2


def traced(case, *options):
    with tempfile.TemporaryDirectory(prefix="ck-posix-") as folder:
        os.chdir(folder)
        # ringrun itself is not to be recorded.
        lines, done = ringlines.run(
            RINGRUN, ["env", "LD_PRELOAD=" + LIBRARY, TARGET, case], {},
            options)
        os.chdir("/")
    return lines, done


class Case(unittest.TestCase):
    def run_case(self, case, *options, most_lost=0):
        lines, done = traced(case, *options)
        self.assertEqual((done.returncode, done.stdout.split("\n")[-2]),
                         (0, "done"), done.stdout + done.stderr)
        self.assertLessEqual(lines.lost_in_ring(), most_lost)
        return lines, done.stdout

    @staticmethod
    def long_calls(lines, name):
        return [r for r in lines.of("posix") if r["named"] == name]

    @staticmethod
    def counted(lines, name):
        """Calls of a function over all threads: the last record of each."""
        last = {}
        for record in lines.of("calls"):
            if record["named"] == name:
                last[record["incarnation"], record["tid"]] = record["value"]
        return sum(last.values())

    def test_a_wait_for_a_lock_names_its_holder(self):
        for options in ((), ("--tsc",)):
            lines, out = self.run_case("locks", *options)
            holder = int(out.split("holder ")[1].split()[0])
            lock = self.long_calls(lines, "pthread_mutex_lock")[0]
            self.assertEqual(lock["extra"], holder)
            self.assertNotEqual(lock["arg"], 0)
            self.assertNotEqual(lock["site"], 0)
            for name in ("pthread_mutex_lock", "pthread_rwlock_rdlock",
                         "sem_wait", "pthread_cond_wait"):
                call = self.long_calls(lines, name)[0]
                # TSC ticks are 1 to 5 a nanosecond.
                top = 60 * HOLD if options else 10 * HOLD
                self.assertGreater(call["dur"], 0.5 * HOLD, name)
                self.assertLess(call["dur"], top, name)

    def test_free_locks_are_counted_and_not_recorded(self):
        lines, _ = self.run_case("free")
        self.assertEqual(self.counted(lines, "pthread_mutex_lock"), 1004)
        self.assertEqual(self.counted(lines, "pthread_rwlock_rdlock"), 1000)
        self.assertEqual(self.counted(lines, "pthread_rwlock_wrlock"), 1002)
        self.assertEqual(self.counted(lines, "sem_wait"), 1000)
        # Two were not free; one may be preempted meanwhile.
        self.assertLessEqual(
            len(self.long_calls(lines, "pthread_mutex_lock")), 2)

    def test_files_have_bytes_and_paths(self):
        lines, _ = self.run_case("files")
        call = self.long_calls(lines, "read")[0]
        self.assertEqual(call["bytes"], 5)
        self.assertGreater(call["dur"], 0.5 * HOLD)
        self.assertGreater(self.long_calls(lines, "poll")[0]["dur"],
                           0.5 * HOLD)
        self.assertEqual(self.counted(lines, "write"), 258)
        written = max(r["running"] for r in lines.of("calls")
                      if r["named"] == "write")
        self.assertEqual(written, 256 * 4096)
        self.assertEqual(self.counted(lines, "fread"), 1000)
        self.assertEqual(self.counted(lines, "read"), 2)
        self.assertEqual(self.counted(lines, "open"), 2)
        self.assertGreater(self.long_calls(lines, "usleep")[0]["dur"], 5e6)
        self.assertGreater(
            self.long_calls(lines, "clock_nanosleep")[0]["dur"], 3e6)
        paths = {lines.names[r["incarnation"], r["extra"]]
                 for r in lines.of("posix")
                 if r["object"] != 0 and r["extra"] != 0}
        pipes = {p for p in paths if p.startswith("pipe ")}
        self.assertLessEqual(paths - pipes,
                             {"posix-target-file", "no/such/file"})
        # Each pipe with both ends: it talks to itself.
        self.assertEqual({p[:-1] + "rw"[p[-1] == "r"] for p in pipes}, pipes)

    def test_cancellation_works_in_every_wait(self):
        lines, _ = self.run_case("cancel")
        # A wait that never returned left nothing behind.
        self.assertEqual(len(self.long_calls(lines, "read")), 0)
        self.assertEqual(
            [r for r in lines.all if r["kind"] == "open-at-end"], [])

    def test_handlers_may_call_what_they_interrupt(self):
        # What a handler calls while its thread writes a record is counted as
        # lost: by chance, more often on a machine with little time.
        lines, _ = self.run_case("signals", most_lost=100)
        self.assertGreaterEqual(self.counted(lines, "pthread_mutex_lock"),
                                20000)
        self.assertGreater(len(self.long_calls(lines, "nanosleep")), 10)

    def test_short_threads_take_no_slot_and_are_counted(self):
        lines, _ = self.run_case("threads")
        self.assertEqual(self.counted(lines, "pthread_mutex_lock"), 600)
        self.assertLess(len(lines.of("thread")), 3)

    def test_a_child_records_itself(self):
        lines, _ = self.run_case("fork")
        images = {r["incarnation"] for r in self.long_calls(lines, "usleep")}
        self.assertEqual(len(images), 2)

    def test_both_ends_of_sockets_and_pipes_are_named(self):
        lines, out = self.run_case("links", "--all")
        pids = out.split("pids ")[1].split()[:2]
        ends = {}
        for record in lines.of("posix"):
            if record["named"] in ("read", "write") and record["extra"] != 0:
                ends.setdefault(record["incarnation"], set()).add(
                    lines.names[record["incarnation"], record["extra"]])
        first, second = (sorted(e.split() for e in found if e[:4] != "tcp ")
                         for found in ends.values())
        pipes = [[e[1:] for e in of if e[0] == "pipe"]
                 for of in (first, second)]
        self.assertEqual(len(pipes[0]), 2)
        self.assertEqual({number: "rw"[way == "r"] for number, way in pipes[0]},
                         dict(pipes[1]))
        pairs = [[e[1:] for e in of if e[0] == "unix" and len(e) == 3]
                 for of in (first, second)]
        self.assertEqual(len(pairs[0]), 1)
        self.assertEqual(pairs[0][0], pairs[1][0][::-1])
        named = [[e[3] for e in of if e[0] == "unix" and len(e) == 4]
                 for of in (first, second)]
        self.assertEqual(sorted(named), sorted([[pids[0]], [pids[1]]]))
        made = [text for text in lines.names.values() if text[:5] == "pair "]
        self.assertEqual(len(made), 2)
        self.assertEqual(set(made[0].split()[1:]), set(pairs[0][0]))

    def test_a_child_that_leaves_past_exit_records_its_counts(self):
        lines, _ = self.run_case("leave")
        self.assertEqual(self.counted(lines, "pthread_mutex_lock"), 3000)
        sleeps = self.long_calls(lines, "usleep")
        self.assertEqual(len({r["incarnation"] for r in sleeps}), 4)
        self.assertEqual(len(sleeps), 5)

    def test_a_short_program_takes_no_entry(self):
        lines, done = traced("short")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(lines.of("posix", "calls", "thread"), [])

    def test_without_an_agent_nothing_changes(self):
        for case in ("locks", "free", "cancel", "signals"):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [TARGET, case], timeout=60, check=False, cwd=folder,
                    env={**os.environ, "LD_PRELOAD": LIBRARY},
                    capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
