"""signals.py BUILD DATA: what a program gets of signals, alone and under
ckagent, must be the same. CK_SIGNALS=all sends each signal to a program
without handlers, too; else some."""

# SPDX-License-Identifier: Apache-2.0

import concurrent.futures
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time

BUILD, DATA = sys.argv[1:3]
PROGRAM = os.path.join(BUILD, "tests", "hard_signals")
AGENT = [os.path.join(BUILD, "bin", "ckagent"), "--report", "none", "--dir"]
RT = int(signal.SIGRTMIN)
# Not to be caught, or of the C library.
HANDLED = [s for s in range(1, 65)
           if s not in (signal.SIGKILL, signal.SIGSTOP, 32, 33)]
HARMLESS = [signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT]
STOPPING = [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]
SOME = [signal.SIGXCPU, signal.SIGPWR, signal.SIGIO, signal.SIGPROF,
        signal.SIGVTALRM, signal.SIGXFSZ, signal.SIGABRT, signal.SIGURG,
        signal.SIGCHLD, signal.SIGSEGV, 33, RT, 64]
LIMIT = 600  # s, for what takes milliseconds
libc = ctypes.CDLL(None)
got = []  # by this process
numbers = itertools.count()


class Run:
    def __init__(self, mode, is_traced, before=()):
        command = [*before, PROGRAM, mode]
        if is_traced:
            command = [*before, *AGENT, "%s/%d" % (DATA, next(numbers)), "--", PROGRAM,
                       mode]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, process_group=0)
        self.seen = []
        assert self.line() == "ready", self.process.stderr.read()

    def line(self):
        self.seen.append(self.process.stdout.readline().decode().strip())
        return self.seen[-1]

    def kill(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        out, err = self.process.communicate(timeout=LIMIT)
        self.seen += out.decode().split("\n")
        # A machine that others load may be slow to start an aggregator.
        err = "".join(line for line in err.decode().splitlines(True)
                      if "warn: waiting for the aggregator (" not in line)
        return self.seen, self.process.returncode, err


def queue(run, number, value):
    libc.sigqueue(run.process.pid, number, ctypes.c_void_p(value))


def each_alone(run):
    for number in HANDLED:
        run.kill(number)
        run.line()


def each_to_the_group(run):
    for number in HANDLED:
        os.killpg(run.process.pid, number)
        run.line()
    run.kill(RT)  # behind what came twice
    run.line()


def bursts(run):
    for value in range(20):
        queue(run, RT + 3, value)
    for value in range(20):
        run.line()
    for _ in range(10):
        os.killpg(run.process.pid, RT + 4)
    for _ in range(10):
        run.line()
    queue(run, RT + 5, 7)
    run.line()


def ends(number):
    def act(run):
        run.kill(number)
        if number not in HARMLESS:
            run.process.wait(timeout=LIMIT)
    return act


def state(run):
    """As the process that started it sees it."""
    with open("/proc/%d/stat" % run.process.pid, encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def stops(number):
    def act(run):
        run.kill(number)
        until = time.monotonic() + LIMIT
        while state(run) != "T" and time.monotonic() < until:
            time.sleep(0.01)
        run.seen.append(state(run))
        run.kill(signal.SIGCONT)
    return act


def changed(run, options):
    """What waitpid() has of it, None = nothing in time."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        pid, status = os.waitpid(run.process.pid, options | os.WNOHANG)
        if pid:
            return hex(status)
        time.sleep(0.01)
    return None


def itself(is_alone):
    """It stops itself, and is woken by its own pid alone, or with its group."""
    def act(run):
        pid = int(run.line())
        run.seen.pop()
        run.seen.append(changed(run, os.WUNTRACED))
        if is_alone:
            os.kill(pid, signal.SIGCONT)
        else:
            os.killpg(run.process.pid, signal.SIGCONT)
        run.seen.append(changed(run, os.WCONTINUED))
        run.line()
    return act


def parent_gets(run):
    until = time.monotonic() + LIMIT
    while not got and time.monotonic() < until:
        time.sleep(0.01)
    run.seen.append(len(got))
    got.clear()


def nothing(_):
    pass


def compare(name, mode, act, before=()):
    ended = []
    for is_traced in (False, True):
        run = Run(mode, is_traced, before)
        act(run)
        ended.append(run.end())
    if ended[0] != ended[1]:
        print("FAILED: %s: alone %s, under ckagent %s" % (name, *ended))
        return 1
    return 0


def main():
    cases = [
        ("each signal, handled", "handlers", each_alone),
        ("each signal to the group", "handlers", each_to_the_group),
        ("bursts of real-time signals", "handlers", bursts),
        ("ignored at the start", "handlers", each_alone,
         ["env", "--ignore-signal=HUP,INT,TERM,CHLD,PIPE,XFSZ"]),
        ("blocked at the start", "default", nothing,
         ["env", "--block-signal=TERM,CHLD,USR1"])]
    is_all = os.environ.get("CK_SIGNALS") == "all"
    for number in range(1, 65) if is_all else SOME:
        if number not in (*STOPPING, signal.SIGKILL, signal.SIGSTOP):
            cases.append(("signal %d by default" % number, "default",
                          ends(number)))
    for number in STOPPING if is_all else STOPPING[:1]:
        cases.append(("signal %d by default" % number, "default",
                      stops(number)))
    for number in [signal.SIGSTOP, *(STOPPING if is_all else STOPPING[:1])]:
        for is_alone in (False, True):
            cases.append(("signal %d by itself%s" % (
                number, ", woken alone" if is_alone else ""),
                str(int(number)), itself(is_alone)))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bad = sum(pool.map(lambda case: compare(*case), cases))
    signal.signal(signal.SIGUSR2, lambda *_: got.append(1))
    bad += compare("to its parent", "parent", parent_gets)
    print("%d cases, %d differences" % (len(cases), bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
