#!/usr/bin/env python3
# pythonshares.py - CPU samples of Python programs have their lines
# SPDX-License-Identifier: Apache-2.0
"""pythonshares.py BUILD_DIR: programs that know how long each of their lines
computed, sampled by ckagent.

A share of n samples is wrong by chance: four standard deviations of that are
granted where they are more than the two points that are demanded. With
CK_SHARES_MS=12000 they are less.

CK_PYTHONS: further interpreters, divided by colons. CK_SHARES_MS: CPU time of
each program (default 1200)."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
BIN = os.path.join(BUILD, "bin")
MS = int(os.environ.get("CK_SHARES_MS", "1200"))
HZ = 1999
READ = range(11, 15)  # minor versions whose frames are known
POINTS = 2
DEVIATIONS = 4
START_NS = 40e6  # an interpreter begins without a Python frame

# Each phase is one line (two with its loop) and takes an own part of the time,
# which it measures itself, by the thread's CPU clock: before and behind so many
# turns as that time needs. Reading it in each turn would add a system call that
# is no part of the line, and in which the kernel lets others run: beside a load a
# third of the samples would be read there.
PROGRAM = """\
import json, sys, threading, time, zlib
spent, turns = {}, {}
ms, out = int(sys.argv[1]), sys.argv[2]
data = bytes(range(256)) * 1024
def phase(part, work):
    name = work.__name__
    count = turns.get(name, 4)
    start = time.thread_time_ns()
    for _ in range(count):
        work()
    took = time.thread_time_ns() - start
    spent[name] = spent.get(name, 0) + took
    turns[name] = max(1, int(count * part * ms * 1000 / took))
def plain():
    x = 0
    for i in range(20000): x += i * i  # the line itself
def extension():
    zlib.compress(data, 9)
def library():
    json.dumps(list(range(4000)), indent=1)
def calls(n=19):
    return n if n < 2 else calls(n - 1) + calls(n - 2)
def rounds():
    for _ in range(20):
        phase(20, plain)
        phase(15, extension)
        phase(10, library)
        phase(5, calls)
if sys.argv[3] == "thread":
    thread = threading.Thread(target=rounds)
    thread.start()
    thread.join()
else:
    rounds()
with open(out, "w") as file:
    json.dump(spent, file)
"""
LINES = {"plain": 16, "extension": 18, "library": 20, "calls": 22}


def interpreters():
    found = {}
    for path in ["/usr/bin/python3", sys.executable,
                 *os.environ.get("CK_PYTHONS", "").split(":")]:
        done = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True, text=True, check=False) \
            if path and os.path.exists(path) else None
        if done and done.returncode == 0:
            version = tuple(map(int, done.stdout.split()))
            if version not in found.values():
                found[path] = version
    return found.items()


class Case(unittest.TestCase):
    def record(self, folder, python, how, options=()):
        program, run = os.path.join(folder, "lines.py"), folder + "/run"
        spent = os.path.join(folder, "spent.json")
        with open(program, "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder,
                       "CK_TEST_RINGS": folder}
        command = [python, program, str(MS), spent, how]
        if how == "thread": # the program by its name is no interpreter
            command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
        subprocess.run([os.path.join(BIN, "ckagent"), "--sample", str(HZ),
                        *options, "--dir", run, "--", *command],
                       env=environment, timeout=240, check=True,
                       capture_output=True)
        done = subprocess.run([os.path.join(BIN, "ckmerge"), "--output",
                               "json", run], env=environment, timeout=60,
                              check=True, capture_output=True, text=True)
        with open(spent, encoding="utf-8") as file:
            return json.loads(done.stdout), json.load(file)

    def shares_wrong(self, report, spent):
        """What is further from the truth than POINTS, in words."""
        seen = dict.fromkeys(spent, 0)
        known = unknown = 0
        for spot in report["hot_spots"]:
            name = (spot["function"] or "").split(".")[-1]
            if os.path.basename(spot["file"] or "") != "lines.py":
                # What has a file is the interpreter starting up.
                unknown += 0 if spot["file"] else spot["ns"]
                continue
            known += spot["ns"]
            # What asks for the time is between the phases' lines.
            if name in seen:
                seen[name] += spot["ns"]
                if spot["line"] != LINES[name]:
                    return [f"{name} at line {spot['line']}"]
        total, truth = sum(seen.values()), sum(spent.values())
        print(f"of {truth / 1e6:.0f} ms {known / 1e6:.0f} have lines, "
              f"{(known - total) / 1e6:.0f} of these between the phases' lines, "
              f"{unknown / 1e6:.0f} none")
        count = truth / 1e9 * HZ
        # Beside a load the kernel takes fewer samples of a thread, or more.
        wrong = [] if known > truth / 2 and \
            unknown <= 0.02 * (known + unknown) + START_NS else \
            [f"of {truth} ns {known} have lines, {unknown} none"]
        for name, ns in spent.items():
            share, true = 100 * seen[name] / total, 100 * ns / truth
            print(f"{name}: {share:.2f} %, by its own clock {true:.2f} %")
            deviation = (true * (100 - true) / count) ** 0.5
            if abs(share - true) > max(POINTS, DEVIATIONS * deviation):
                wrong.append(f"{name}: {share:.2f} %, {true:.2f} % is true")
        return wrong

    def check(self, python, version, how):
        for _ in range(3):
            with tempfile.TemporaryDirectory(
                    prefix="ck-shares-",
                    ignore_cleanup_errors=True) as folder:
                report, spent = self.record(folder, python, how)
            for note in report["trust"]["notes"]:
                if "no CPU samples" in note["text"] or \
                        "may not be read" in note["text"]:
                    self.skipTest(note["text"])
            if version[0] != 3 or version[1] not in READ:
                self.assertFalse([s for s in report["hot_spots"] if s["file"]
                                  and s["file"].endswith("lines.py")])
                return
            wrong = self.shares_wrong(report, spent)
            # A host that did not run takes samples away at one place.
            if not wrong:
                return
        self.fail(f"{python}, {how}: {wrong}")

    def test_lines_have_the_shares_that_the_program_measured(self):
        for python, version in interpreters():
            with self.subTest(python=python):
                self.check(python, version, "plain")

    def test_a_thread_of_a_program_in_a_script_has_its_lines(self):
        self.check("/usr/bin/python3", next(iter(interpreters()))[1], "thread")

    def test_without_the_option_there_are_no_lines(self):
        with tempfile.TemporaryDirectory(
                prefix="ck-shares-", ignore_cleanup_errors=True) as folder:
            report, _ = self.record(folder, "/usr/bin/python3", "plain",
                                    ("--python", "off"))
        self.assertFalse([s for s in report["hot_spots"] if s["file"]
                          and s["file"].endswith("lines.py")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
