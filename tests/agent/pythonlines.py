#!/usr/bin/env python3
# pythonlines.py - calls of a Python program have its lines
# SPDX-License-Identifier: Apache-2.0
"""pythonlines.py BUILD_DIR: a program that sleeps at known lines under ckagent.

CK_PYTHONS: further interpreters, divided by colons."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
BIN = os.path.join(BUILD, "bin")
READ = range(11, 15)  # minor versions whose frames are known

# Line, function (in 3.11 and before a comprehension is one of its own).
PROGRAM = """\
import os, sys, threading, time
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import package
time.sleep(0.15)
def deep(n):
    if n:
        return deep(n - 1)
    # The statement goes over several lines.
    time.sleep(
        0.02)
class Job:
    def run(self):
        deep(3)
Job().run()
[time.sleep(0.02) for _ in range(2)]
def made():
    yield 1
    time.sleep(0.02)
list(made())
package.rest()
thread = threading.Thread(target=lambda: time.sleep(0.02))
thread.start()
thread.join()
exec(compile("def old(): time.sleep(0.01)", "first.py", "exec"))
old()
for i in range(50):
    exec(compile("\\n" * i + "def new(): time.sleep(0.002)", "made.py", "exec"))
    new()
if os.fork() == 0:
    time.sleep(0.15)
    time.sleep(0.02)
    os._exit(0)
os.wait()
"""
PACKAGE = "import time\ndef rest():\n    time.sleep(0.02)\n"


def interpreters():
    found = {}
    for path in [sys.executable, "/usr/bin/python3",
                 *os.environ.get("CK_PYTHONS", "").split(":")]:
        done = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:3])"],
            capture_output=True, text=True, check=False) \
            if path and os.path.exists(path) else None
        if done and done.returncode == 0:
            found[path] = tuple(map(int, done.stdout.split()))
    return found.items()


class Case(unittest.TestCase):
    def record(self, python, folder):
        os.mkdir(os.path.join(folder, "site-packages"))
        for name, text in (("plain.py", PROGRAM),
                           ("site-packages/package.py", PACKAGE)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        run = os.path.join(folder, "run")
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder,
                       "CK_TEST_RINGS": folder}
        program = os.path.join(folder, "plain.py")
        subprocess.run([os.path.join(BIN, "ckagent"), "--dir", run, "--",
                        python, program], env=environment, timeout=60,
                       check=True, capture_output=True)
        done = subprocess.run([os.path.join(BIN, "ckmerge"), "--output",
                               "json", run], env=environment, timeout=60,
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def sleeps(self, report):
        found = {}
        for call in report["calls"]:
            if call["name"] == "clock_nanosleep" or call["name"] == "select":
                name = os.path.basename(call["file"] or "")
                key = name, call["line"], call["function"]
                found[key] = found.get(key, 0) + call["calls"]
        return found

    def check(self, python, version):
        with tempfile.TemporaryDirectory(prefix="ck-python-",
                                         ignore_cleanup_errors=True) as folder:
            report = self.record(python, folder)
        # Beside other work lines of samples are late, and a note has that.
        notes = [n["text"] for n in report["trust"]["notes"]
                 if "Python" in n["text"]
                 and "after the sample" not in n["text"]]
        found = self.sleeps(report)
        if version[0] != 3 or version[1] not in READ:
            self.assertEqual(len(notes), 1, notes)
            self.assertFalse([k for k in found if k[0] == "plain.py"])
            return
        self.assertEqual(notes, [])
        listed = "<module>" if version[1] > 11 else "<listcomp>"
        for key, calls in {("plain.py", 9, "deep"): 1,
                           ("plain.py", 15, listed): 2,
                           ("plain.py", 18, "made"): 1,
                           # A package's line is the one that calls it.
                           ("plain.py", 20, "<module>"): 1,
                           ("plain.py", 21, "<lambda>"): 1,
                           ("plain.py", 30, "<module>"): 1,
                           ("first.py", 1, "old"): 1,
                           **{("made.py", i + 1, "new"): 1
                              for i in range(50)}}.items():
            self.assertEqual(found.get(key), calls, (key, found))

    def test_calls_have_the_line_of_the_program(self):
        for python, version in interpreters():
            with self.subTest(python=python):
                print(python, *version)
                self.check(python, version)


if __name__ == "__main__":
    unittest.main()
