#!/usr/bin/python3
"""clockprofiles.py - imported profiles: are their clocks found, by what is in them?

SPDX-License-Identifier: Apache-2.0

Usage: clockprofiles.py CKMERGE. Makes PyTorch-like traces of four ranks whose
clocks are seconds and up to 20 ppm apart, with a collective kernel twice a
second and nothing else in common, merges them with --kernel-only, and compares
the places of all kernels with the truth. A device with a clock of its own is
refuted by its launches and synchronisations, and placed by them.
CK_SEED repeats a run.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

CKMERGE = sys.argv.pop(1) if len(sys.argv) > 1 else "ckmerge"
SEED = int(os.environ.get("CK_SEED", "20261121"))
RANKS = 4
MANY = 36  # more than the number up to which each pair is reported
SECONDS = 60
S = 10**9
US = 10**3


class Clock:
    """A clock as a function of the true time, in ns."""

    def __init__(self, offset, ppm):
        self.offset = offset
        self.ppm = ppm

    def at(self, time):
        return time + self.offset + round(time * self.ppm / 10**6)


class SetClock(Clock):
    """One that is set during the recording."""

    def __init__(self, offset, when, step):
        super().__init__(offset, 0)
        self.when, self.step = when, step

    def at(self, time):
        return super().at(time) + (self.step if time > self.when else 0)


class World:
    """What the ranks do, in true time."""

    def __init__(self, seed, device_offset=0, with_syncs=True, ranks=RANKS,
                 seconds=SECONDS, by_stream=False, late=0, date=None, with_group=False):
        self.by_stream = by_stream  # not for the device, for its stream
        self.late = late            # rank 5, before each collective
        self.with_group = with_group  # that all are of
        self.date = date            # that all clocks show; then they are one
        self.ranks = ranks
        self.random = random.Random(seed)
        self.hosts = [Clock(self.random.randint(-5 * S, 5 * S),
                            self.random.uniform(-20, 20))
                      for _ in range(self.ranks)]
        if date is not None:
            self.hosts = [Clock(0, 0) for _ in range(self.ranks)]
        self.device_offset = device_offset  # of rank 2's device to its host
        self.with_syncs = with_syncs
        self.calls = [[] for _ in range(self.ranks)]    # name, start, end, id
        self.kernels = [[] for _ in range(self.ranks)]  # name, start, end, id
        self.number = 0
        for half in range(2 * seconds):
            self.step(100 * S + half * S // 2)

    def kernel(self, rank, name, launch, start, end):
        self.number += 1
        self.calls[rank].append(
            ("cudaLaunchKernel", launch, launch + 4 * US, self.number))
        self.kernels[rank].append((name, start, end, self.number))

    def step(self, time):
        rand = self.random.randint
        enters = []
        for rank in range(self.ranks):
            launch = time + rand(0, 3000 * US)
            start = launch + rand(5 * US, 9 * US)
            end = start + rand(100 * US, 2000 * US)
            self.kernel(rank, "gemm", launch, start, end)
            if rank == 5:
                end += self.late
            enters.append((end + 20 * US, end + 26 * US))
        last = max(start for _, start in enters)
        for rank, (launch, start) in enumerate(enters):
            end = last + 80 * US + rand(0, 8 * US)
            self.kernel(rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                        launch, start, end)
            if self.with_syncs:
                self.calls[rank].append(
                    ("Stream Sync" if self.by_stream else
                     "cudaDeviceSynchronize", launch + 5 * US,
                     end + rand(3 * US, 9 * US), 0))

    def device(self, rank, time):
        offset = self.device_offset if rank == 2 else 0
        return self.hosts[rank].at(time) + offset

    def write(self, where):
        paths = []
        for rank in range(self.ranks):
            events = []
            base = 1000 * S * (rank + 1)  # no dates in common
            if self.date is not None:
                base = 0

            def put(cat, name, start, end, args):
                events.append({"ph": "X", "cat": cat, "name": name,
                               "pid": 0 if cat == "kernel" else 700 + rank,
                               "tid": 7 if cat == "kernel" else 700 + rank,
                               "ts": (base + start) / 1000,
                               "dur": (end - start) / 1000, "args": args})
            host = self.hosts[rank].at
            for name, start, end, number in self.calls[rank]:
                if name == "Stream Sync":
                    put("cuda_sync", name, host(start), host(end),
                        {"device": 0, "stream": 7, "correlation": 0})
                else:
                    put("cuda_runtime", name, host(start), host(end),
                        {"correlation": number})
            group = {"Process Group Name": "0",
                     "Process Group Ranks": str(list(range(self.ranks))),
                     "Group size": self.ranks} if self.with_group else {}
            for name, start, end, number in self.kernels[rank]:
                put("kernel", name, self.device(rank, start),
                    self.device(rank, end),
                    {"device": 0, "stream": 7, "correlation": number,
                     **(group if "nccl" in name else {})})
            paths.append(os.path.join(where, "rank%d.json" % rank))
            with open(paths[-1], "w") as file:
                json.dump({"distributedInfo": {"rank": rank,
                                               "world_size": self.ranks},
                           **({} if self.date is None else
                              {"baseTimeNanoseconds": self.date}),
                           "traceEvents": events}, file)
        return paths


class Merged:
    """Its report, and where the kernels are placed."""

    def __init__(self, world, *options):
        with tempfile.TemporaryDirectory() as where:
            paths = world.write(where)
            out = os.path.join(where, "merged.json")
            trace = os.path.join(where, "trace.json")
            report = os.path.join(where, "report.json")
            done = subprocess.run(
                [CKMERGE, "--kernel-only", "-o", "json=" + report, "-o",
                 "chrome=" + trace, *options, *paths, out],
                stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.status, self.text = done.returncode, done.stdout + done.stderr
            with open(report) as file:
                self.report = json.load(file)
            with open(trace) as file:
                events = json.load(file)
        events = events.get("traceEvents", events)
        names = {n for kernels in world.kernels for n, *_ in kernels}
        lanes = {}
        for event in events:
            if event.get("ph") == "X" and event["name"] in names:
                lanes.setdefault(event["pid"], []).append(
                    (round(event["ts"] * 1000), event["name"]))
        self.lanes = [sorted(lanes[pid]) for pid in sorted(lanes)]

    def errors(self, world):
        """By rank: how far its kernels are from the truth, seen from rank 0."""
        found = []
        axis = world.hosts[0].at
        zero = self.lanes[0][0][0] - axis(sorted(world.kernels[0],
                                                 key=lambda k: k[1])[0][1])
        for rank, lane in enumerate(self.lanes):
            truth = sorted(axis(k[1]) for k in world.kernels[rank])
            assert len(truth) == len(lane)
            found.append([seen[0] - zero - true
                          for seen, true in zip(lane, truth)])
        return found


class Profiles(unittest.TestCase):
    def test_collective_kernels_alone_place_all_within_20_us(self):
        world = World(SEED, with_syncs=False)
        merged = Merged(world)
        errors = merged.errors(world)
        worst = max(max(map(abs, e)) for e in errors)
        print("collective kernels alone: off by %.3f us at most"
              % (worst / 1000))
        self.assertEqual(merged.status, 0, merged.text)
        self.assertLessEqual(worst, 20 * US)
        for clock in merged.report["clocks"][1:]:
            self.assertEqual(clock["method"], "kernels")
            self.assertGreater(clock["kernels"], 100)
        # Nothing shows on how many hosts that was.
        self.assertEqual(merged.report["hosts"], 0)
        self.assertIn("%d ranks | %d clocks |" % (RANKS, RANKS),
                      merged.text)
        self.assertIn("rank 1: 1 rank, offset", merged.text)
        self.assertIn("%d clock domains, all calibrated" % RANKS, merged.text)
        self.assertIn("no date: what they have in common placed them",
                      merged.text)
        causality = merged.report["causality"]
        self.assertEqual(causality["kernels"], 2 * SECONDS)
        self.assertEqual(causality["kernels_before"], 2 * SECONDS)
        self.assertEqual(causality["kernels_after"], 0)

    def test_the_truth_is_inside_the_bound(self):
        world = World(SEED + 1, with_syncs=False)
        merged = Merged(world)
        for rank, errors in enumerate(merged.errors(world)):
            bound = merged.report["clocks"][rank]["bound_max_ns"]
            # Times of a trace have 1 ns, so has its zero.
            self.assertLessEqual(max(map(abs, errors)), bound + 4)
        for pair in merged.report["clock_pairs"]:
            sum_of_both = (merged.report["clocks"][pair["a"]]["bound_max_ns"] +
                           merged.report["clocks"][pair["b"]]["bound_max_ns"])
            self.assertLessEqual(pair["bound_max_ns"], sum_of_both)
            self.assertGreater(pair["bound_max_ns"], 0)

    def test_a_clock_that_is_set_meanwhile_is_in_its_bound(self):
        # By less than the kernels last: no fact refutes it, but their ends do.
        for step in (-2000 * US, 2000 * US):
            world = World(SEED + 9, with_syncs=False, ranks=6, seconds=6,
                          late=5000 * US, with_group=True)
            world.hosts[2] = SetClock(0, 103 * S, step)
            merged = Merged(world)
            clocks = merged.report["clocks"]
            off = max(map(abs, merged.errors(world)[2]))
            print("set by %d us: off by %.0f us, bound %.0f us" % (
                step / 1000, off / 1000, clocks[2]["bound_max_ns"] / 1000))
            self.assertLessEqual(off, clocks[2]["bound_max_ns"] + 4)
            self.assertGreaterEqual(
                merged.report["clock_worst_pair"]["bound_max_ns"],
                clocks[2]["bound_max_ns"])
            gated = Merged(world, "--max-clock-error",
                           "%dns" % (clocks[2]["bound_max_ns"] - 1))
            self.assertEqual(gated.status, 4)

    def test_a_rank_that_is_always_late_is_named_where_dates_agree(self):
        world = World(SEED + 7, ranks=8, seconds=20, late=5 * 10**6,
                      date=1700000000 * S)
        merged = Merged(world)
        report = merged.report
        self.assertEqual(merged.status, 0, merged.text)
        self.assertTrue(report["clock_dates"]["believed"])
        self.assertEqual(report["clock_dates"]["kernels"], 40)
        caused = {d["ranks"][0]: d["comm_caused_ns"]
                  for d in report["devices"]}
        waited = report["all_devices"]["comm_waited_ns"]
        truth = 0
        for at in range(1, 80, 2):  # each second kernel is a collective
            starts = [sorted(world.kernels[r], key=lambda k: k[1])[at][1]
                      for r in range(8)]
            truth += sum(max(starts) - s for s in starts)
        self.assertGreater(caused[5], 0.9 * truth)
        self.assertLessEqual(waited, truth)
        self.assertGreater(waited, 0.95 * truth)
        self.assertRegex(merged.text.splitlines()[0], r"\b1 clock\b")
        self.assertIn("8 profiles taken as one clock, by their dates (assumed)",
                      merged.text)
        self.assertIn("of that for rank 5", merged.text.split("WHY")[0])
        self.assertIn("40 collective kernels without a process group end "
                      "together", merged.text)

    def test_without_dates_lateness_and_offset_are_not_separated(self):
        world = World(SEED + 7, ranks=8, seconds=20, late=5 * 10**6,
                      date=1700000000 * S)
        believed = Merged(world).report
        merged = Merged(world, "--clock-facts=kernels")
        report = merged.report
        self.assertFalse(report["clock_dates"]["believed"])
        self.assertGreater(report["clock_dates"]["hidden_max_ns"], 10**6)
        self.assertIn("cannot be told apart: up to", merged.text)
        for device, same in zip(report["devices"], believed["devices"]):
            self.assertLessEqual(device["comm_caused_ns"],
                                 same["comm_caused_ns"] + US)
            self.assertGreater(device["comm_waited_ns"] +
                               device["comm_hidden_ns"] + US,
                               same["comm_waited_ns"])
            for key in ("wall_ns", "busy_ns", "compute_ns", "comm_ns",
                        "copy_ns", "idle_ns", "core_ns", "longest_gap_ns"):
                self.assertEqual(device[key], same[key], key)

    def test_dates_that_kernels_contradict_are_not_believed(self):
        world = World(SEED + 8, seconds=20, date=1700000000 * S,
                      with_group=True)
        world.hosts[2] = Clock(-50 * 10**6, 0)
        merged = Merged(world)
        self.assertTrue(merged.report["clock_dates"]["refuted"])
        self.assertIn("the profiles' dates are not believed", merged.text)
        self.assertEqual(merged.report["clocks"][2]["method"], "kernels")

    def test_kernels_without_a_group_move_no_clock_that_has_a_date(self):
        world = World(SEED + 8, seconds=20, date=1700000000 * S)
        world.hosts[2] = Clock(-50 * 10**6, 0)
        merged = Merged(world)
        dates = merged.report["clock_dates"]
        self.assertFalse(dates["believed"])
        self.assertFalse(dates["refuted"])
        self.assertEqual(dates["ungrouped_kernels"], 40)
        self.assertGreater(dates["ungrouped_worst_ns"], 40 * 10**6)
        self.assertNotIn("kernels", [c["method"]
                                     for c in merged.report["clocks"]])
        self.assertEqual(merged.report["all_devices"]["comm_waited_ns"], 0)
        self.assertIn("No clock was moved", merged.text)
        said = Merged(world, "--clock-facts=kernels")
        self.assertEqual(said.report["clocks"][2]["method"], "kernels")

    def test_of_many_clocks_the_worst_pair_is_certain(self):
        world = World(SEED + 5, with_syncs=False, ranks=MANY, seconds=5)
        merged = Merged(world)
        worst = merged.report["clock_worst_pair"]
        bounds = sorted(c["bound_max_ns"] for c in merged.report["clocks"])
        self.assertEqual(merged.report["clock_pairs"], [])
        self.assertFalse(worst["sum"])
        self.assertLessEqual(worst["bound_max_ns"], bounds[-1] + bounds[-2])
        self.assertGreater(worst["bound_max_ns"], 0.9 * bounds[-1])
        pair = {worst["a_rank"], worst["b_rank"]}
        self.assertEqual(len(pair), 2)
        self.assertIn("and %d more clocks (report.json)" % (MANY - 2),
                      merged.text)

    def test_a_few_ends_that_are_stamped_late_are_no_clock(self):
        world = World(SEED + 2)
        for at in (21, 101, 181):
            name, start, end, number = world.kernels[2][at]
            self.assertIn("nccl", name)
            world.kernels[2][at] = name, start, end + 30 * US, number
        merged = Merged(world)
        clock = next(c for c in merged.report["device_clocks"]
                     if c["rank"] == 2)
        self.assertEqual(clock["syncs_refuted"], 3)
        self.assertFalse(clock["own_clock"])
        self.assertEqual(merged.report["clock_conflicts"], [])

    def test_a_tracer_that_is_right_is_believed(self):
        merged = Merged(World(SEED + 2))
        clocks = merged.report["device_clocks"]
        self.assertEqual(len(clocks), RANKS)
        for clock in clocks:
            self.assertFalse(clock["own_clock"])
            self.assertEqual(clock["launches"], 4 * SECONDS)
            self.assertGreater(clock["syncs"], SECONDS)
            self.assertEqual(clock["launches_refuted"], 0)
            self.assertEqual(clock["syncs_refuted"], 0)

    def test_a_device_on_another_clock_is_found_and_placed(self):
        for offset in (-3000 * US, 700 * US, 40 * US):
            world = World(SEED + 3, offset)
            merged = Merged(world)
            clocks = {c["rank"]: c for c in merged.report["device_clocks"]}
            self.assertTrue(clocks[2]["own_clock"])
            self.assertGreater(clocks[2]["launches_refuted"] +
                               clocks[2]["syncs_refuted"], 100)
            self.assertFalse(any(clocks[r]["own_clock"] for r in (0, 1, 3)))
            off = clocks[2]["offset_ns"] + offset
            print("device off by %.0f us: found to %.3f us +- %.3f us" % (
                offset / 1000, off / 1000, clocks[2]["bound_ns"] / 1000))
            self.assertLessEqual(abs(off), clocks[2]["bound_ns"])
            self.assertLessEqual(clocks[2]["bound_ns"], 20 * US)
            worst = max(max(map(abs, e)) for e in merged.errors(world))
            self.assertLessEqual(worst, 20 * US)
            self.assertIn("kernels", merged.report["clocks"][2]["method"])
            self.assertEqual(merged.report["causality"]["kernels_after"], 0)
            self.assertIn("contradict its stamps", merged.text)

    def test_a_wait_for_a_stream_shows_as_much_as_one_for_the_device(self):
        world = World(SEED + 6, 700 * US, by_stream=True)
        merged = Merged(world)
        clocks = {c["rank"]: c for c in merged.report["device_clocks"]}
        for rank in (0, 1, 3):
            self.assertGreater(clocks[rank]["syncs"], SECONDS)
            self.assertEqual(clocks[rank]["syncs_refuted"], 0)
            self.assertFalse(clocks[rank]["own_clock"])
        self.assertTrue(clocks[2]["own_clock"])
        self.assertLessEqual(abs(clocks[2]["offset_ns"] + 700 * US),
                             clocks[2]["bound_ns"])

    def test_without_synchronisations_the_tracer_is_believed_and_it_is_reported(
            self):
        world = World(SEED + 4, -3000 * US, with_syncs=False)
        merged = Merged(world)
        clock = {c["rank"]: c for c in merged.report["device_clocks"]}[2]
        self.assertFalse(clock["own_clock"])
        self.assertEqual(clock["launches_refuted"], 4 * SECONDS)
        self.assertIn("contradict its stamps", merged.text)


if __name__ == "__main__":
    print("CK_SEED=%d" % SEED)
    unittest.main()
