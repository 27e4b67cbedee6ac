#!/usr/bin/env python3
"""kills.py - kill -9 at random moments; what was committed is in the run

SPDX-License-Identifier: Apache-2.0

    kills.py BUILD MODE COUNT [SEED] [STATE]

MODE: target     the program of one ckagent
      collector  the collector of a random rank of four
      ckagg      the job's aggregator
      both       a collector and ckagg at once
      front      the front of a random rank of four: mpirun ends the job
      all        front, collector and ckagg of a job of one rank, the program
                 goes on; ckmerge recovers its ring
COUNT trials; trial i is made of SEED and i alone. STATE is a file that keeps
what was done, so that a broken-off series goes on where it was.
"""
import collections
import json
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

MARKS = 20000
LIMIT = 600  # s, for anything


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def stands(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def named(pid, name):
    return [child for child in children(pid) if comm(child) == name]


def wait_for(what, test):
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        value = test()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError(f"waited {LIMIT} s for {what}")


def committed(page):
    try:
        with open(page, "rb") as file:
            with mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ) as memory:
                return struct.unpack("<q", memory[:8])[0]
    except (OSError, ValueError):
        return 0


class Trial:
    def __init__(self, build, mode, seed):
        self.random = random.Random(seed)
        self.mode, self.bin = mode, os.path.join(build, "bin")
        self.program = os.path.join(build, "tests", "kills.openmpi")
        self.work = tempfile.mkdtemp(prefix="ck-kills.")
        self.run, self.page = self.work + "/run", self.work + "/page"
        self.ranks = 1 if mode in ("target", "all") else 4
        self.killed = 0
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.work,
                        OMPI_ALLOW_RUN_AS_ROOT="1",
                        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMPI_MCA_rmaps_base_oversubscribe="1",
                        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")

    def start(self):
        agent = [self.bin + "/ckagent", "--report", "none", "--dir", self.run,
                 "--", self.program]
        if self.mode == "target":
            command = agent + ["0", self.page]
        elif self.mode == "all":
            command = agent + [str(MARKS), self.page]
        else:
            command = ["mpirun", "-n", "4"] + agent + [str(MARKS), self.page,
                                                       "mpi"]
        self.errors = open(self.work + "/err", "w+")
        self.first = subprocess.Popen(command, env=self.env,
                                      stdin=subprocess.DEVNULL,
                                      stdout=self.errors, stderr=self.errors)
        wait_for("the first mark", lambda: all(
            committed(f"{self.page}.{rank}") for rank in range(self.ranks)))
        # What was recorded before a run exists is left in the ring.
        if self.mode == "all":
            wait_for("the run", lambda: os.path.exists(
                self.run + "/manifest.json"))

    def kill(self, pids):
        if self.mode == "all":
            # A front that is stopped starts no other collector, and one that is
            # gone last leaves none to kill the program for it.
            os.kill(self.first.pid, signal.SIGSTOP)
            wait_for("the front to stop", lambda: stands(self.first.pid))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                self.killed += 1
            except ProcessLookupError:
                pass

    def victims(self):
        fronts = ([self.first.pid] if self.ranks == 1
                  else named(self.first.pid, "ckagent"))
        collectors = [c for f in fronts for c in named(f, "ckagent-collect")]
        aggregators = [a for c in collectors for a in named(c, "ckagg")]
        pick = self.random.choice
        if self.mode == "target":
            return named(self.first.pid, "kills.openmpi")
        if self.mode == "front":
            picked = [pick(fronts)] if fronts else []
            # PRRTE (Open MPI 5) waits for the output of what the front
            # started, as it would for any shell's child.
            if comm(self.first.pid) == "prterun":
                picked += [p for f in picked for p in named(f, "kills.openmpi")]
            return picked
        if self.mode == "collector":
            return [pick(collectors)] if collectors else []
        if self.mode == "ckagg":
            return aggregators
        if self.mode == "all":
            self.program_pid = named(self.first.pid, "kills.openmpi")[0]
            return collectors + aggregators + fronts
        return ([pick(collectors)] if collectors else []) + aggregators

    def is_done(self):
        try:
            with open(self.run + "/manifest.json") as file:
                return json.load(file).get("state") == "done"
        except (OSError, ValueError):
            return False

    def end(self):
        status = self.first.wait(timeout=LIMIT)
        want = {"target": -signal.SIGKILL, "all": -signal.SIGKILL,
                "front": None}.get(self.mode, 0)
        assert want is None or status == want, f"status {status}, not {want}"
        if self.mode == "all":
            wait_for("the program's end",
                     lambda: comm(self.program_pid) != "kills.openmpi")
        else:
            wait_for("the run's end", self.is_done)

    def check(self):
        trace = self.work + "/trace.json"
        merged = subprocess.run([self.bin + "/ckmerge", "--quiet", "--output",
                                 "chrome=" + trace, self.run], env=self.env,
                                stdout=self.errors, stderr=self.errors)
        assert merged.returncode in (0, 3), f"ckmerge: {merged.returncode}"
        with open(trace) as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        seen = collections.defaultdict(collections.Counter)
        for event in events:
            if event.get("name") == "number":
                seen[event["pid"]][event["args"]["value"]] += 1
        assert len(seen) == self.ranks, f"{len(seen)} ranks in the run"
        for rank, numbers in seen.items():
            said = committed(f"{self.page}.{max(rank, 0)}")
            twice = [n for n, count in numbers.items() if count > 1]
            missing = set(range(said)) - set(numbers)
            assert not twice, f"rank {rank}: {len(twice)} marks twice"
            assert not missing, (f"rank {rank}: {len(missing)} of {said} "
                                 f"committed marks missing: {min(missing)}..")
            # The one being written may be there, nothing behind it.
            assert max(numbers) <= said, f"rank {rank}: a mark never made"
            if self.mode not in ("target", "front"):
                assert said == MARKS, f"rank {rank}: ended at {said}"
        return sum(committed(f"{self.page}.{r}") for r in range(self.ranks))

    def go(self):
        self.start()
        time.sleep(self.random.uniform(0, 0.06 if self.ranks == 1 else 0.15))
        self.kill(self.victims())
        self.end()
        return self.check()

    def close(self, is_kept):
        if self.first.poll() is None:
            self.first.kill()
            self.first.wait()
        self.errors.close()
        if not is_kept:
            shutil.rmtree(self.work, ignore_errors=True)


def main():
    build, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    state = sys.argv[5] if len(sys.argv) > 5 else None
    done = {"trials": 0, "kills": 0, "marks": 0, "failed": []}
    if state and os.path.exists(state):
        done = json.load(open(state))
    print(f"{mode}: {count} trials, seed {seed}, from trial {done['trials']}")
    for i in range(done["trials"], count):
        trial = Trial(build, mode, f"{seed} {mode} {i}")
        try:
            done["marks"] += trial.go()
            is_failed = False
        except (AssertionError, subprocess.TimeoutExpired, OSError) as error:
            print(f"FAILED: {mode} trial {i} (seed {seed}): {error}; "
                  f"see {trial.work}")
            done["failed"].append(i)
            is_failed = True
        trial.close(is_failed)
        done["trials"] += 1
        done["kills"] += trial.killed
        if state:
            json.dump(done, open(state + ".new", "w"))
            os.replace(state + ".new", state)
    print(f"ok: {mode}: {done['trials']} trials, {done['kills']} kills, "
          f"{done['marks']} committed marks, {len(done['failed'])} trials "
          f"failed")
    return 1 if done["failed"] else 0


sys.exit(main())
