#!/usr/bin/python3
"""profileworlds.py - random jobs as profiles of their ranks: no false claim

SPDX-License-Identifier: Apache-2.0

Usage: profileworlds.py CKMERGE. Each world is a job of some ranks whose kernels
meet in collective kernels, written as PyTorch traces: clocks that are one,
shifted by much or little, or drifting, one of them slewed or set meanwhile;
no rank late, or one rank by the same or by a changing time, or a rank in turn;
all ranks, or one lost; all meet together, or the tensor groups of two pipeline
stages, 5 ms apart, each for itself in kernels of one name, with now and then one
of all; the kernels name their process group, or do not; if they do, profiles may
begin and end at different collectives of it, numbered or not. Of each:

- every device's figures are those of its own profile, to the nanosecond;
- what a device is reported to have waited is no more than the truth, and no less
  but for what is reported as hidden;
- a rank that is reported as waited for was, and for no longer;
- where the clocks are one, the late rank is named with nearly all of its time;
- kernels without a group move no clock that has a date: where they contradict it,
  or fit no group of all, nothing is claimed, and that is reported with its size;
- what not all ranks recorded is not claimed, and that is reported with its size.

CK_WORLDS is how many (default 12), CK_SEED repeats a run. With CK_STAGES=2 all
are of pipeline stages with equal clocks. CK_BENT is the share of worlds in
which a clock is slewed or set (from 0.5 on by 1 us and more).
"""
import json
import os
import random
import subprocess
import sys
import tempfile

CKMERGE = sys.argv[1]
WORLDS = int(os.environ.get("CK_WORLDS", "12"))
SEED = int(os.environ.get("CK_SEED", "20261122"))
IS_STAGED = os.environ.get("CK_STAGES") == "2"
BENT = float(os.environ.get("CK_BENT", "0.15"))
US, MS, S = 10**3, 10**6, 10**9
MEETING = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
CLOCKS = ("one", "one", "far", "near", "drift")
LATE = ("none", "constant", "varying", "turns")


def union(spans):
    """Length of the union."""
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            total += end - start
            until = end
        elif end > until:
            total += end - until
            until = end
    return total


class World:
    def __init__(self, seed, bent=BENT):
        rand = self.rand = random.Random(seed)
        self.ranks = rand.choice((4, 6)) if IS_STAGED else rand.randint(2, 6)
        self.calls = rand.randint(6, 40)
        self.clocks = "one" if IS_STAGED else rand.choice(CLOCKS)
        self.kind = rand.choice(LATE)
        self.late = rand.randrange(self.ranks)
        self.lateness = int(10 ** rand.uniform(5, 7.3))
        self.jitter = rand.choice((0, 2 * US, 20 * US))
        self.ends = rand.choice((0, 1 * US, 10 * US))
        self.transfer = rand.randint(30 * US, 2 * MS)
        self.lost = rand.randrange(self.ranks) \
            if self.ranks > 2 and rand.random() < 0.2 else None
        # A generator of its own: worlds without stages stay what they are.
        self.stages = 2 if IS_STAGED or self.ranks in (4, 6) and \
            random.Random(~seed).random() < 0.5 else 1
        other = random.Random(~seed * 31)
        self.has_groups = other.random() < (0.6 if self.stages > 1 else 0.4)
        # How far apart stages are; 5 ms leave no overlap.
        self.gap = other.choice((5 * MS, 5 * MS, 300 * US, 0))
        self.is_in_step = other.random() < 0.3  # all stages compute as long
        third = random.Random(~seed * 37)
        self.has_numbers = self.has_groups and third.random() < 0.6
        # The calls that each rank's profile has.
        self.windows = [(third.randint(0, 2),
                         self.calls - third.randint(0, 2))
                        if self.has_numbers and third.random() < 0.7
                        else (0, self.calls) for _ in range(self.ranks)]
        # Without numbers; as many calls in each profile, or not.
        fourth = random.Random(~seed * 41)
        self.is_cut = self.has_groups and not self.has_numbers and \
            fourth.random() < 0.6
        if self.is_cut:
            few = fourth.choice((None, self.calls - 2))
            for rank in range(self.ranks):
                begin = fourth.randint(0, 2)
                self.windows[rank] = (
                    begin, self.calls - fourth.randint(0, 2)
                    if few is None else begin + few)
        # kind, name, start, end, and of a meeting its group and number
        self.work = [[] for _ in range(self.ranks)]
        self.meets = []                         # call, starts by rank
        time = 5 * S
        for call in range(self.calls):
            time = self.step(call, time)
        # Of one rank's clock: it is slewed as a time service may, or jumps.
        fifth = random.Random(~seed * 43)
        self.bend = fifth.choice(("slew", "step")) \
            if fifth.random() < bent else None
        self.bent = fifth.randrange(self.ranks)
        self.until = time
        self.bent_at = fifth.randint(5 * S, time)
        self.bent_by = fifth.choice((-1, 1)) * (
            500 if self.bend == "slew" else
            int(10 ** fifth.uniform(5 if bent < 0.5 else 3, 8)))
        self.offsets = [self.offset() for _ in range(self.ranks)]
        self.ppms = [rand.uniform(-20, 20) if self.clocks == "drift" else 0
                     for _ in range(self.ranks)]
        if any(start > end for _, _, start, end in self.own(self.bent)):
            self.bent_by = -self.bent_by  # such an event would be left out

    def offset(self):
        return {"one": 0, "far": self.rand.randint(-3600 * S, 3600 * S),
                "near": self.rand.randint(-20 * MS, 20 * MS),
                "drift": self.rand.randint(-100 * US, 100 * US)}[self.clocks]

    def lateness_of(self, rank, call):
        if self.kind == "turns":
            return self.lateness if call % self.ranks == rank else 0
        if self.kind == "none" or rank != self.late:
            return 0
        return self.lateness if self.kind == "constant" else \
            self.rand.randint(0, 2 * self.lateness)

    def groups(self, call):
        """Who meets: all, or each stage for itself."""
        size = self.ranks // self.stages
        if self.stages == 1 or call % 4 == 3:
            return [list(range(self.ranks))]
        return [list(range(s * size, (s + 1) * size))
                for s in range(self.stages)]

    def step(self, call, time):
        ends = []
        compute = None
        for number, group in enumerate(self.groups(call)):
            if compute is None or not self.is_in_step:
                compute = self.rand.randint(50 * US, 3 * MS)
            ends += self.step_of(call, time + number * self.gap, group,
                                 compute)
        return max(ends) + self.rand.randint(1 * US, 100 * US)

    def step_of(self, call, time, group, compute):
        rand = self.rand
        starts = {}
        for rank in group:
            start = time + rand.randint(0, self.jitter)
            end = start + compute
            self.put(rank, call, ("kernel", "gemm", start, end))
            if rand.random() < 0.3:  # beside it, on another stream
                at = start + rand.randint(0, compute)
                self.put(rank, call, (
                    "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at,
                    at + rand.randint(1, compute)))
            starts[rank] = end + rand.randint(1 * US, 5 * US) + \
                rand.randint(0, self.jitter) + self.lateness_of(rank, call)
        last = max(starts.values()) + self.transfer
        ends = [last + rand.randint(0, self.ends) for _ in group]
        for rank, end in zip(group, ends):
            self.put(rank, call,
                     ("kernel", MEETING, starts[rank], end, group, 3 * call))
        self.meets.append((call, starts))
        return ends

    def has(self, rank, call):
        """Its profile has that call."""
        return self.windows[rank][0] <= call < self.windows[rank][1]

    def put(self, rank, call, work):
        if self.has(rank, call):
            self.work[rank].append(work)

    def present(self):
        return [r for r in range(self.ranks) if r != self.lost]

    def at(self, rank, time):
        """Own clock."""
        own = time + self.offsets[rank] + \
            round((time - 5 * S) * self.ppms[rank] / 10**6)
        if rank == self.bent and time > self.bent_at:
            if self.bend == "slew":
                own += (time - self.bent_at) * self.bent_by // 10**6
            elif self.bend == "step":
                own += self.bent_by
        return own

    def own(self, rank):
        return [(kind, name, self.at(rank, start), self.at(rank, end))
                for kind, name, start, end, *_ in self.work[rank]]

    def is_torn(self):
        """A kernel that met has a start and an end of two clocks."""
        return any(name == MEETING and start <= self.bent_at < end
                   for _, name, start, end, *_ in self.work[self.bent])

    def is_disordered(self):
        """Kernels that met are in another order by the dates of its profile."""
        starts = [self.at(self.bent, start)
                  for _, name, start, *_ in self.work[self.bent]
                  if name == MEETING]
        return starts != sorted(starts)

    def args(self, rank, work):
        """Of an event; of a meeting in stages with its process group."""
        args = {"device": rank, "stream": 7 if work[0] == "kernel" else 8}
        if self.has_groups and len(work) > 4:
            args.update({
                "Collective name": "allreduce", "Group size": len(work[4]),
                "Process Group Name":
                    "0" if len(work[4]) == self.ranks else "1",
                "Process Group Ranks": str(work[4])})
            if self.has_numbers:
                args["Seq"] = work[5]
        return args

    def write(self, where):
        paths = []
        for rank in self.present():
            base = 1700000000 * S + self.rand.randint(0, 100) * S
            zero = base - 1700000000 * S  # the same date by another base
            events = [{"ph": "X", "cat": kind, "name": name, "pid": rank,
                       "tid": 7 if kind == "kernel" else 8,
                       "ts": (start - zero + 4000 * S) / 1000,
                       "dur": (end - start) / 1000,
                       "args": self.args(rank, work)}
                      for (kind, name, start, end), work in
                      zip(self.own(rank), self.work[rank])]
            paths.append(os.path.join(where, "rank%d.json" % rank))
            with open(paths[-1], "w") as file:
                json.dump({"distributedInfo": {"rank": rank,
                                               "world_size": self.ranks},
                           "baseTimeNanoseconds": base,
                           "traceEvents": events}, file)
        return paths

    def figures(self, rank):
        own = self.own(rank)
        spans = [(s, e) for _, _, s, e in own]
        kernels = [(s, e) for k, n, s, e in own if k == "kernel"]
        compute = [(s, e) for k, n, s, e in own if n == "gemm"]
        wall = max(e for _, e in spans) - min(s for s, _ in spans)
        busy = union(spans)
        return {"wall_ns": wall, "busy_ns": busy, "idle_ns": wall - busy,
                "compute_ns": union(compute),
                "comm_ns": union(kernels) - union(compute),
                "copy_ns": busy - union(kernels),
                "core_ns": sum(e - s for s, e in spans)}

    def waits(self):
        """By rank: what it waited, and was waited for, in kernels that all
        present recorded, and in the others."""
        waited, caused, others = (dict.fromkeys(self.present(), 0)
                                  for _ in range(3))
        for call, starts in self.meets:
            here = [r for r in self.present() if r in starts]
            if not here:
                continue
            last = max(here, key=lambda r: starts[r])
            is_whole = all(self.has(r, call) for r in here)
            for rank in here:
                if not is_whole:
                    others[rank] += starts[last] - starts[rank] \
                        if self.has(rank, call) else 0
                    continue
                waited[rank] += starts[last] - starts[rank]
                for who in here:  # of two at once either one
                    if starts[who] == starts[last]:
                        caused[who] += starts[last] - starts[rank]
        return waited, caused, others


def merge(world):
    with tempfile.TemporaryDirectory() as where:
        paths = world.write(where)
        report = os.path.join(where, "report.json")
        done = subprocess.run(
            [CKMERGE, "--kernel-only", "-o", "json=" + report, *paths,
             os.path.join(where, "out.json")], capture_output=True, text=True)
        wanted = 3 if world.lost is not None else 0
        assert done.returncode == wanted, (done.returncode, done.stderr)
        with open(report) as file:
            return json.load(file), done.stdout


def check_unmoved(report):
    """What has a date is where its date is."""
    assert report["clock_dates"]["believed"] or not any(
        "kernels" in c["method"] for c in report["clocks"])


def check_uneven(report, text, others):
    """So is what not all ranks recorded."""
    dates = report["clock_dates"]
    most = dates["uneven_not_claimed_ns"]
    assert (most > 0) == (dates["uneven_not_claimed"] > 0), dates
    assert sum(others.values()) <= most, (others, most)
    wall = sum(d["wall_ns"] for d in report["devices"])
    if most > wall / 50:
        answer = " ".join(text.split("TRUST\n")[0].split())
        assert "they do not fit together: TRUST" in answer, text


def check_withheld(report, text, waited, unrecorded):
    """What is not claimed is reported with its size, where a reader looks first."""
    dates = report["clock_dates"]
    most = dates["ungrouped_not_claimed_ns"]
    assert (most > 0) == (dates["ungrouped_not_claimed"] > 0), dates
    wall = sum(d["wall_ns"] for d in report["devices"])
    if most > 0:
        known = sum(d["comm_waited_ns"] for d in report["devices"])
        assert sum(waited.values()) <= known + most + unrecorded + 1000, \
            (waited, most)
    if most > wall / 50:
        answer = " ".join(text.split("TRUST\n")[0].split())
        assert "cannot be told apart in" in answer and \
            "may be waits" in answer, text


def check(world, report, text, said):
    devices = {d["ranks"][0]: d for d in report["devices"]}
    assert sorted(devices) == world.present()
    is_known = world.has_groups or \
        (world.ranks == 2 and world.lost is None)
    for rank, device in devices.items():
        for key, value in world.figures(rank).items():
            assert device[key] == value, (rank, key, device[key], value)
        assert sum(device["ledger"].values()) == device["wall_ns"]
    waited, caused, others = world.waits()
    check_uneven(report, text, others)
    if any(others.values()):
        said["uneven"] = said.get("uneven", 0) + 1
    unrecorded = max(-world.bent_by, 0) \
        if world.bend == "step" and world.is_torn() else 0
    check_withheld(report, text, waited, unrecorded)
    dates = report["clock_dates"]
    if dates["ordered_by_ends"] > 0:
        assert world.is_cut and len(set(world.windows)) > 1 or \
            world.is_disordered(), dates
        said["ordered"] = said.get("ordered", 0) + 1
    if not is_known and report["dates"]:
        check_unmoved(report)
    withheld = not is_known and not dates["believed"] or \
        dates["ungrouped_not_claimed"] > 0
    if withheld:
        assert not world.has_groups and (
            dates["ungrouped_kernels"] > 0 or
            dates["ungrouped_not_claimed"] > 0 or not report["dates"]), dates
        said["withheld"] = said.get("withheld", 0) + 1
    room = 20 * world.calls  # a map is exact to some ns
    if world.clocks == "drift":  # the axis is rank 0's clock
        room += sum(waited.values()) * 40 // 10**6
    if world.bend == "slew":
        room += sum(waited.values()) * 1000 // 10**6
        if dates["believed"]:  # its date goes wrong by that
            room += world.calls * max(0, world.until - world.bent_at) // 2000
    if dates["believed"] and world.clocks != "one":
        room += world.ends * world.calls  # what is seen of a date's error
    for rank, device in devices.items():
        known = device["comm_waited_ns"]
        assert known <= waited[rank] + room, (rank, known, waited[rank])
        hidden = device["comm_hidden_ns"] + \
            (dates["uneven_not_claimed_ns"]
             if world.is_cut or world.bend is not None else 0)
        if rank == world.bent:
            hidden += unrecorded
        assert withheld or waited[rank] <= known + room + hidden, \
            (rank, known, hidden, waited[rank])
        assert device["comm_caused_ns"] <= caused[rank] + \
            room * len(devices), \
            (rank, device["comm_caused_ns"], caused[rank])
        assert device["comm_caused_ns"] == 0 or caused[rank] > 0
    said[world.clocks, dates["believed"]] = \
        said.get((world.clocks, dates["believed"]), 0) + 1
    late = caused.get(world.late, 0)
    if world.bend is not None:
        said[world.bend] = said.get(world.bend, 0) + 1
        return
    if withheld or (world.is_cut and dates["uneven_not_claimed_ns"] > 0):
        return
    if world.clocks == "one":
        assert dates["believed"] and not dates["refuted"]
        if world.kind == "constant" and world.late in caused and \
                world.lateness > 20 * (world.jitter + world.ends + 5 * US):
            found = devices[world.late]["comm_caused_ns"]
            if not is_known:  # such kernels may be 40 us apart
                found += 40 * US * world.calls * (len(devices) - 1)
            assert found > 0.9 * late, (found, late)
    elif world.kind == "constant" and not dates["believed"] and \
            world.late in caused and len(world.present()) > 1:
        assert dates["hidden_max_ns"] >= 0.9 * world.lateness or \
            devices[world.late]["comm_caused_ns"] > 0, dates


# (CK_SEED, world) of shapes that a false claim was made of: a clock set
# during its first kernel, and during its third by less than kernels last; two
# stages in step without groups; a clock slewed at the end; one set where
# another rank waits; one set back by more than all that follows;
# one set back within a kernel.
ONCE = ((43, 491, 0.15), (62, 4676, 0.15), (62, 1948, 0.15), (63, 512, 0.15),
        (71, 909, 0.8), (20261124, 2259, 0.15), (73, 1034, 0.8))


def main():
    said = {}
    for seed, number, bent in [
            *(() if IS_STAGED else ONCE),
            *((SEED, number, BENT) for number in range(WORLDS))]:
        world = World(seed * 100000 + number, bent)
        try:
            check(world, *merge(world), said)
        except AssertionError:
            print("world %d of CK_SEED=%d: %s" % (
                number, seed, {k: v for k, v in vars(world).items()
                               if k not in ("work", "meets", "rand")}))
            raise
    print("%d worlds (CK_SEED=%d); clocks, dates believed: %s" % (
        WORLDS, SEED, ", ".join("%s %d" % (k if isinstance(k, str) else
                                          "%s %s" % k, n)
                                for k, n in sorted(said.items(), key=str))))


if __name__ == "__main__":
    main()
