# sentences.py - is each of a report's first sentences true by the ranks' own diary?
#
# SPDX-License-Identifier: Apache-2.0
#
#     sentences.py SHAPE RUN FOLDER CONTEXT
#
# FOLDER has what the ranks noted (targets/mpi/diary.c). CONTEXT is a JSON file of
# what the script knows: between which instants the job ended, and how many CPUs it
# may use. All that is printed before the first
# table, and what LATE RANKS has of the first rank, is read sentence by sentence;
# one that is not known here is wrong, and so is one that another answer lacks.
import glob
import json
import os
import re
import statistics
import struct
import sys

BETWEEN = ("compute", "grind")
COLLECTIVES = ("MPI_Barrier", "MPI_Bcast", "MPI_Finalize")
BLOCKING = {"sleep": "asleep", "io": "in I/O",
            "lock": "waiting for locks or threads"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
NOTE = 3e3  # ns between a note and a call, with a CPU
TIME = r"(?:[\d.,]+ (?:ns|us|ms|s))"


class Entry:
    def __init__(self, words):
        self.what = words[0].split(b"\0")[0].decode()
        (self.begin, self.end, self.cpu_begin, self.cpu_end,
         self.number) = words[1:]
        self.is_open = self.end == 0
        if self.cpu_end == 0 and not self.is_open:
            self.cpu_end = self.cpu_begin  # it was ended in its note
        self.is_mpi = self.what.startswith("MPI_")


def diaries(folder):
    """Of each rank what it noted."""
    found = []
    for rank in range(len(glob.glob(folder + "/diary.*"))):
        data = open(f"{folder}/diary.{rank}", "rb").read()
        entries = map(Entry, struct.iter_unpack("24s5q", data))
        # One that was ended in its note has a part of it.
        found.append([e for e in entries if e.what and e.begin and not
                      (e.what == "queue" and e.is_open)])
    return found


def wholes(ranks):
    """Of each rank its notes of the whole program, taken from the others."""
    found = [[e for e in r if e.what == "whole"] for r in ranks]
    for r in ranks:
        r[:] = [e for e in r if e.what != "whole"]
    return found


def ns(text):
    value, unit = text.replace(",", "").split()
    return float(value) * UNITS[unit]


class Truth:
    """What the ranks did until `end`, where the job was ended."""

    def __init__(self, ranks, end, whole):
        self.ranks, self.size, self.whole = ranks, len(ranks), whole
        finals = [e for r in ranks for e in r if e.what == "MPI_Finalize"]
        is_whole = len(finals) == self.size
        self.begin = min(r[0].end for r in ranks)
        self.end = max(e.begin for e in finals) if is_whole else end
        self.calls = [[e for e in r[1:] if e.is_mpi and e.begin <= self.end]
                      for r in ranks]
        for r in ranks:
            r[0].begin = self.begin  # of MPI_Init the part in the region
        for entry in (e for r in ranks for e in r):
            entry.until = self.end if entry.is_open else min(entry.end, self.end)
        self.sums()
        self.waits_find()

    def sums(self):
        self.stops = [max((e.begin for e in r if e.what == "MPI_Finalize"),
                          default=self.end) for r in self.ranks]
        self.all = (self.end - self.begin) * self.size
        self.outside, self.parts = [], []
        for r, calls, stop in zip(self.ranks, self.calls, self.stops):
            inside = sum(e.until - e.begin for e in calls
                         if e.what != "MPI_Finalize")
            self.outside.append(stop - r[0].end - inside)
            parts = {kind: sum(e.until - e.begin for e in r if e.what == what)
                     for what, kind in BLOCKING.items()}
            # Between calls, with the CPU or without: what is not blocked. To fall
            # asleep and to wake up takes CPU time, too, of the call.
            spent = sum(e.cpu_end - e.cpu_begin for e in r[1:] if not e.is_open
                        and (e.is_mpi or e.what in BLOCKING))
            last = max(max(e.cpu_begin, e.cpu_end) for e in r
                       if e.what != "queue")
            parts["on a CPU"] = last - r[0].cpu_begin - spent
            parts["ready without one"] = max(
                0, self.outside[-1] - sum(parts.values()))
            self.parts.append(parts)

    def waits_find(self):
        """waits: (rank, of whom, ns, entry)"""
        self.waits = []
        rows = [[e for e in calls if e.what in COLLECTIVES]
                for calls in self.calls]
        for i in range(max(map(len, rows))):
            came = [row[i] if i < len(row) else None for row in rows]
            if None in came:
                last, until = came.index(None), self.end
            else:
                last = max(range(self.size), key=lambda r: came[r].begin)
                if came[0].what == "MPI_Bcast":
                    last = 0
                until = came[last].begin
            self.waits += [(r, last, until - e.begin, e)
                           for r, e in enumerate(came)
                           if e is not None and until > e.begin]
        for rank, calls in enumerate(self.calls):
            counts = {}
            for e in (e for e in calls if e.what == "MPI_Recv"):
                n = counts[e.number] = counts.get(e.number, -1) + 1
                sends = [s for s in self.calls[e.number]
                         if s.what == "MPI_Send" and s.number == rank]
                until = sends[n].begin if n < len(sends) else self.end
                if until > e.begin:
                    self.waits.append((rank, e.number, until - e.begin, e))
        self.waited = [sum(w[2] for w in self.waits if w[0] == r)
                       for r in range(self.size)]

    def room(self, rank, index):
        """By how much the record of a call may begin behind its note: no later than
        the first return of any rank from it, and no later than by the time that it
        was without a CPU until its own return, and by what the call took of one more
        than others: it takes 10 to 100 us to find what is called first."""
        own = self.calls[rank][index]
        if own.is_open:
            return NOTE
        usual = statistics.median(e.cpu_end - e.cpu_begin for e in
                                  self.calls[rank] if not e.is_open)
        spent = own.cpu_end - own.cpu_begin
        return min(NOTE + max(0, own.end - own.begin - spent) +
                   max(0, spent - usual),
                   min(c[index].end for c in self.calls) - own.begin)

    def in_steps(self, late):
        """What others waited for a rank in steps and in none, each between two
        times."""
        sums = {True: [0, 0], False: [0, 0]}
        for rank, whom, waited, entry in self.waits:
            if whom != late:
                continue
            index = self.calls[rank].index(entry)
            is_in = index > 0 and entry.what != "MPI_Finalize"
            room = self.room(late, index)
            sums[is_in][0] += max(0, waited - room)
            sums[is_in][1] += waited + room
        return sums[True], sums[False]

    def left_open(self, late):
        """How much of what others waited for a rank the notes leave open: by when
        it came, and in what is called first by when they did, too, as they take
        about as long to find that."""
        most = 0
        for rank, whom, _, entry in self.waits:
            if whom == late:
                index = self.calls[rank].index(entry)
                is_first = entry.what not in [
                    e.what for e in self.calls[rank][:index]]
                most += (1 + is_first) * max(0, self.room(late, index) - NOTE)
        return most

    def caused(self):
        """Of programs in which all only meet."""
        return [sum(w[2] for w in self.waits if w[1] == r)
                for r in range(self.size)]

    def ideal(self):
        """As long as it takes where calls take no time: all only meet."""
        at = [0.0] * self.size
        back = [r[0].end for r in self.ranks]
        for i in range(max(map(len, self.calls))):
            came = [c[i] for c in self.calls]
            at = [a + e.begin - b for a, e, b in zip(at, came, back)]
            until = at[0] if came[0].what == "MPI_Bcast" else max(at)
            at = [max(a, until) for a in at]
            back = [e.end for e in came]
        return max(at)

    def efficiency(self):
        length, most = self.end - self.begin, max(self.outside)
        found = {"parallel": sum(self.outside) / self.all,
                 "load balance": sum(self.outside) / self.size / most,
                 "communication": most / length}
        if all(e.what in COLLECTIVES for c in self.calls for e in c) and \
                len(set(map(len, self.calls))) == 1:
            found["serialisation"] = most / self.ideal()
            found["transfer"] = self.ideal() / length
        return found

    def delays(self):
        """{(rank, kind): ns}: what ranks did longer than those that waited for them,
        as docs/analysis.md defines it, of programs in which all only meet."""
        costs = {}
        first = self.begin
        for i in range(max(map(len, self.calls))):
            came = [c[i] for c in self.calls]
            last = max(range(self.size), key=lambda r: came[r].begin)
            if came[0].what == "MPI_Bcast":
                last = 0
            for rank, e in enumerate(came):
                wait = came[last].begin - e.begin
                if wait <= 0:
                    continue
                did = [self.did_in(r, first, came[r].begin)
                       for r in (last, rank)]
                more = {}
                for kind in set(did[0]) | set(did[1]):
                    by = did[0].get(kind, 0) - did[1].get(kind, 0)
                    key = (last, kind.replace("ready ", ""))
                    if by > 0:
                        more[key] = more.get(key, 0) + by
                whole = max(wait, sum(more.values()))
                for key, by in more.items():
                    costs[key] = costs.get(key, 0) + wait * by / whole
            # The last common instant is when the awaited one came.
            if any(came[last].begin > e.begin for e in came):
                first = came[last].begin
        return costs

    def did_in(self, rank, begin, end):
        """In `other` what is outside MPI and was not noted; of calls what is behind
        the wait."""
        did = {"other": end - begin}
        waits = {id(w[3]): w[2] for w in self.waits}
        for e in self.ranks[rank]:
            if e.what == "queue":
                continue
            free = max(e.begin + waits.get(id(e), 0), begin)
            inside = min(e.until, end) - max(e.begin, begin)
            if inside > 0:
                did["other"] -= inside
                spent = max(0, min(e.until, end) - free)
                did[e.what] = did.get(e.what, 0) + spent
                if e.what in BETWEEN and e.end <= end:
                    # With a CPU and without are things of their own.
                    without = max(0, spent - e.cpu_end + e.cpu_begin)
                    did[e.what] -= without
                    key = "ready " + e.what
                    did[key] = did.get(key, 0) + without
        return did

    def has_window(self):
        """Is the last rank clearly late in steps 60 to 89, by what it did?"""
        late = [max(0, self.calls[-1][i].begin - self.calls[0][i].begin)
                for i in range(200)]
        inside, rest = late[60:90], late[:60] + late[90:]
        return sum(inside) > 0.75 * sum(late) and \
            max(late[50:60] + late[90:100]) < min(inside) and \
            sum(ns > min(inside) for ns in rest) <= 2

    def others(self, cpus):
        """How many CPUs other programs used, as far as the notes reach, and by how
        much that may be wrong: ticks are whole ones, and up to two of each CPU are
        missing at a note."""
        notes = self.whole
        if min(map(len, notes)) < 2:  # it was ended
            notes = [[e for e in r if e.what == "queue"] for r in self.ranks]
        own = sum(n[-1].cpu_begin - n[0].cpu_begin for n in notes)
        first = min((n[0] for n in notes), key=lambda e: e.begin)
        last = max((n[-1] for n in notes), key=lambda e: e.begin)
        tick = 1e9 / os.sysconf("SC_CLK_TCK")
        length = last.begin - first.begin
        return ((last.number - first.number) * tick - own) / length, \
            2 * tick * cpus / length, length

    def queued(self):
        """How long threads were ready without a CPU, up to the last note, and up
        to 1.3 s before it."""
        most = least = 0
        for r in self.ranks:
            rows = [e for e in r if e.what == "queue"]
            # Behind its last note two of its threads may have been ready.
            most += rows[-1].cpu_end + 2 * max(0, self.end - rows[-1].begin)
            least += max((e.cpu_end for e in rows
                          if e.begin < rows[-1].begin - 1.3e9), default=0)
        return least, most


class Judge:
    """Reads sentences, each by a method whose name is not of interest and whose
    documentation is the form of the sentence."""

    def __init__(self, shape, text, truths, context):
        self.shape, self.text, self.context = shape, text, context
        self.truths = truths  # for the earliest and the latest end
        self.said = set()
        self.forms = [(re.compile(f.__doc__.replace("TIME", TIME)), f)
                      for f in (getattr(self, name) for name in dir(self)
                                if name.startswith("on_"))]

    def near(self, what, seen, of, within=0.02, least=15e6):
        """of(truth) at both ends, with `within` of it or `least` of room."""
        values = [of(truth) for truth in self.truths]
        low, high = min(values), max(values)
        room = max(within * high, least)
        assert low - room <= seen <= high + room, \
            f"{what}: the report has {seen:.6g}, the ranks {low:.6g} to {high:.6g}"
        self.checked.append(f"{what} {seen:.4g} ({low:.4g})")

    def share(self, what, seen, of, within=1.5):
        self.near(what + " %", float(seen), lambda t: 100 * of(t), 0, within)

    def read(self, text):
        text = " ".join(text.split())
        self.checked = []
        while text:
            for form, method in self.forms:
                match = form.match(text)
                if match:
                    break
            assert match, "a sentence that the judge does not know: " + text
            self.said.add(method.__name__[3:])
            method(*match.groups())
            text = text[match.end():].lstrip()
        print("; ".join(self.checked))

    def on_outside(self, count, size, outside, a, b, waited, rest):
        r"""(\d+) of (\d+) ranks were outside MPI ([\d.]+) % of their time \((TIME) of (TIME)\)(?: and waited ([\d.]+) % in MPI for each other|())\."""
        assert int(count) == int(size) == self.truths[0].size
        self.near("outside", ns(a), lambda t: sum(t.outside))
        self.near("all", ns(b), lambda t: t.all)
        self.share("outside", outside, lambda t: sum(t.outside) / t.all)
        self.share("waited", waited or 0, lambda t: sum(t.waited) / t.all)

    def on_parts(self, parts):
        r"""Outside MPI: ((?:TIME [a-zA-Z/ ]+(?:, )?)+)\."""
        seen = {}
        for time, kind in re.findall(f"({TIME}) ([a-zA-Z/ ]+)", parts):
            seen[kind] = ns(time)
        for kind in set(seen) | set(self.truths[0].parts[0]):
            # A thread that was woken and has no CPU is still in what it waited for.
            # In what it was ended it may have slept, or have waited for another
            # reason: no call shows that.
            room = self.cut() if kind in ("asleep", "otherwise blocked") else 0
            self.near(kind, seen.get(kind, 0), lambda t: sum(
                p.get(kind, 0) for p in t.parts), 0.1, 25e6 + room)

    def cut(self):
        """How long ranks were in what they did not end, outside MPI."""
        ends = self.context["rank_ends"]
        return sum(max(0, ends[i] - r[-1].begin)
                   for i, r in enumerate(self.truths[0].ranks)
                   if ends[i] and r[-1].is_open and not r[-1].is_mpi)

    def on_lock(self, share, time, count, function, whole, held):
        r"""For ([\d.]+) % of the region \((TIME)\) one of the (\d+) threads that use one lock waited for it: pthread_mutex_lock at (\w+) \(diary\.c:\d+\)(?: of rank \d, and 1 rank more)?\. Together threads waited (TIME) for it\. Meanwhile who held it was in (\w+) \(diary\.c:\d+\)\."""
        assert (self.shape, count, function) == ("parts", "2", "parts")
        assert held == "usleep", "who held the lock was not in " + held
        self.near("all waited for a lock", ns(whole), lambda t: sum(
            p["waiting for locks or threads"] for p in t.parts), 0.05)
        self.near("waited for a lock", ns(time), lambda t: max(
            p["waiting for locks or threads"] for p in t.parts), 0.05)

    def on_lost(self, parallel, words):
        r"""Parallel efficiency ([\d.]+); the most is lost to ([^.]*(?:\.\d+[^.]*)*)\."""
        self.near("parallel", float(parallel),
                  lambda t: t.efficiency()["parallel"], 0, 0.015)
        named = dict(re.findall(r"\(([a-z ]+) ([\d.]+)\)", words))
        truth = self.truths[0].efficiency()
        kinds = ["load balance", "communication"] if "communication" in named \
            else ["load balance", "serialisation", "transfer"]
        for kind, value in named.items():
            self.near(kind, float(value), lambda t: t.efficiency()[kind], 0, 0.02)
        most = max(1 - truth[kind] for kind in kinds)
        for kind in kinds:
            is_named = kind in named
            assert (1 - truth[kind] > 0.9 * most - 0.03) if is_named else \
                (1 - truth[kind] < 0.9 * most + 0.03), (kind, truth, named)

    def on_good(self, parallel):
        r"""Parallel efficiency ([\d.]+): little to gain\."""
        self.near("parallel", float(parallel),
                  lambda t: t.efficiency()["parallel"], 0, 0.015)
        ready = sum(p["ready without one"] for p in self.truths[0].parts)
        assert float(parallel) >= 0.895 and \
            ready < 0.12 * sum(self.truths[0].outside)

    def on_start(self, parallel, share):
        r"""Parallel efficiency ([\d.]+) from MPI_Init on; before, ranks waited [\d.]+ \w+ there \(([\d.]+) % of their whole time\)\."""
        self.near("parallel", float(parallel),
                  lambda t: t.efficiency()["parallel"], 0, 0.015)
        assert 0 < float(share) < 100  # they print nothing of that time

    def on_without(self, parallel, share):
        r"""Parallel efficiency ([\d.]+), but ranks had no CPU for ([\d.]+) % of what counts as work in it\."""
        self.near("parallel", float(parallel),
                  lambda t: t.efficiency()["parallel"], 0, 0.015)
        self.share("without a CPU", share, lambda t: sum(
            p["ready without one"] for p in t.parts) / sum(t.outside), 2.5)

    def on_ended(self, parallel):
        r"""Parallel efficiency ([\d.]+), including the time until the job was ended\."""
        assert "ended" in self.context
        self.near("parallel", float(parallel),
                  lambda t: t.efficiency()["parallel"], 0, 0.015)

    def on_hot(self, share, name, line):
        r"""Of the CPU time outside MPI, ([\d.]+) % went into (\w+) \(diary\.c:(\d+)\)(?:, called below \w+)?\."""
        truth = self.truths[0]
        spent = sum(e.cpu_end - e.cpu_begin for r in truth.ranks for e in r
                    if e.what == name)
        self.share("in " + name, share, lambda t: spent / sum(
            p["on a CPU"] for p in t.parts), 5 + 300 * self.sigma())

    def on_queue(self, who, time, rest):
        r"""The (job's threads|threads of \d+ of \d+ ranks) waited (?:at least )?(TIME) for a CPU(: .*?|, though .*?|; what used the CPUs was not recorded)\.(?= |$)"""
        # Also in MPI, and before it.
        low, high = self.truths[0].queued()
        seen = ns(time)
        assert 0.9 * low - 30e6 <= seen <= 1.15 * high + 150e6, \
            f"without a CPU for {seen:.3g}, by the kernel {low:.3g} to {high:.3g}"
        self.checked.append(f"queued {seen:.3g} ({low:.3g} to {high:.3g})")
        if "not recorded" not in rest:
            self.crowd(rest)

    def crowd(self, rest):
        others = re.search(r"other programs used ([\d.]+)", rest)
        cpus = re.search(r"([\d.]+) CPUs? \(", rest)
        if cpus:
            assert float(cpus[1]) == self.context["cpus"], (rest, self.context)
        # It is not printed where it is no reason.
        seen = float(others[1]) if others else self.context["others"]
        truth, ticks, length = self.truths[0].others(self.context["cpus"])
        room = 0.2 * truth + 0.3 + ticks
        assert truth - self.context["own_ns"] / length - room < seen < \
            truth + room, (rest, truth, room)
        ready = re.search(r"([\d.]+) of (?:them|the job's threads) (?:was|were)",
                          rest)
        most = self.truths[0].size
        assert 0 < float(ready[1]) < most + 0.6, rest
        if ": other programs" in rest:
            assert truth + ticks > 0.1, (rest, truth, ticks)

    def on_interrupted(self):
        r"""When it was interrupted:"""
        assert "ended" in self.context

    def open_since(self, rank):
        entry = self.truths[0].ranks[rank][-1]
        assert entry.is_open, (rank, entry.what)
        return entry

    def on_had_waited(self, rank, call, peer, time):
        r"""rank (\d+) had waited in (MPI_\w+) \(diary\.c:\d+\) for rank (\d+)(?: to receive)?, tag \d+ on MPI_COMM_WORLD, for (TIME)"""
        entry = self.open_since(int(rank))
        assert (entry.what, entry.number) == (call, int(peer)), entry.what
        self.near("in its call", ns(time), lambda t: t.end - entry.begin)

    def on_impasse(self, count, size, call, absent, least, time):
        r"""(\d+) of (\d+) ranks had waited in (MPI_\w+) \(diary\.c:\d+\), collective \d+ on MPI_COMM_WORLD, which ranks? ([\d, and-]+) had not entered, for (?:(TIME) to )?(TIME)"""
        ranks = self.truths[0].ranks
        # Some may still be in the one before.
        times = [sum(e.what == call for e in r) for r in ranks]
        inside = [r for r, n in zip(ranks, times) if r[-1].is_open and
                  r[-1].what == call and n == max(times)]
        # One that lost its CPU behind its note had not come yet.
        late = [r for r in inside
                if r[-1].begin > self.truths[1].end - 100e6]
        assert len(inside) - len(late) <= int(count) <= len(inside), \
            (count, len(inside))
        first = min(r[-1].begin for r in inside)
        self.near("in the call", ns(time), lambda t: t.end - first)

    def on_circle(self, ranks, least, time):
        r"""ranks (\S+) had waited for each other in a circle for (?:(TIME) to )?(TIME)"""
        assert self.shape == "circle" and ranks == "0-2"
        first = min(self.open_since(r).begin for r in range(3))
        self.near("in the circle", ns(time), lambda t: t.end - first)

    def usual(self):
        """Of successive returns from the collective: median and longest."""
        gaps = [b.end - a.end for c in self.truths[0].calls
                for a, b in zip(*(lambda m: (m, m[1:]))(
                    [e for e in c if e.what == "MPI_Barrier" and not e.is_open]))]
        return statistics.median(gaps), max(gaps)

    def on_times(self, time, times, of, median):
        r"""(TIME) is ([\d,]+) times the median interval between ([a-z ]+(?:\([^)]*\))?[a-z ]*) \((TIME)\)\."""
        assert self.shape == "circle", "a healthy job reads like a hang"
        self.near("the longest", ns(time), lambda t: max(
            t.end - self.open_since(r).begin for r in range(3)))
        self.near(f"interval between {of}", ns(median), lambda t: self.usual()[0],
                  0.5, 3e6)

    def on_no_sign(self, of, median, longest):
        r"""No sign of a hang: the median interval between (.*?) is (TIME), the longest (TIME)\."""
        assert self.shape == "healthy", "a hang is no sign of one"
        self.near(f"interval between {of}", ns(median), lambda t: self.usual()[0],
                  0.5, 3e6)

    def on_end(self, rank, how, at, call, time):
        r"""rank (\d+) (was interrupted by signal \d+ \([A-Za-z ]+\)|was terminated by signal \d+ \([A-Za-z ]+\)|was asked to end by signal \d+ \([A-Za-z ]+\)|lost its mpirun(?: and was ended by Open MPI \(status 195\))?|ended with status \d+ without MPI_Finalize)(?: at (TIME))?(?: inside (MPI_\w+) \(diary\.c:\d+\)(?:, in it for (TIME))?)?"""
        assert "ended" in self.context
        entry = self.truths[0].ranks[int(rank)][-1]
        if call is not None and time is not None:
            assert entry.what == call and entry.is_open, (entry.what, call)
            self.near("in it", ns(time), lambda t: t.end - entry.begin)

    def on_last_call(self, call, function):
        r"""its last call was (MPI_\w+) \(diary\.c:\d+\)(?:, TIME before|, left at TIME)?(?:, then it computed in (\w+) \(diary\.c:\d+\), \d+ % of samples)?"""
        assert call in ("MPI_Recv", "MPI_Send", "MPI_Barrier")
        assert function in (None, "compute", "grind"), function

    # LATE RANKS

    def on_late(self, time, rank, share, count, of, median):
        r"""Others waited (?:at least )?(TIME)(?: \+- TIME)? for rank (\d+)(?:, ([\d.]+) % of it in ([\d,]+) of ([\d,]+) steps \(median (TIME)\))?\."""
        self.late = int(rank)
        if self.shape == "healthy":
            return  # through others, too
        self.near("for the late rank", ns(time),
                  lambda t: t.caused()[self.late], 0.04)
        most = self.truths[0].caused()
        assert most[self.late] > 0.93 * max(most) - 15e6, (rank, most)

    def on_late_ended(self, share, rank):
        r"""For ([\d.]+) % of it rank (\d+) had ended\."""
        assert "ended" in self.context and int(rank) == self.late
        ends = self.context["rank_ends"]
        waits = [(w[3].begin, min(w[3].begin + w[2], ends[w[0]]))
                 for w in self.truths[1].waits if w[1] == self.late]
        behind = sum(max(0, b - max(a, ends[self.late])) for a, b in waits)
        self.share("it had ended", share, lambda t: behind / sum(
            b - a for a, b in waits), 5)

    def on_late_because(self, rank, waited, share, several, what):
        r"""Rank (\d+) came late(?: before)? because it (had waited for rank \d+, which )?spent longer than the waiting ranks? \(([\d.]+) % of that time(, by several things)?\),? (.*?(?:\.(?=\d|c:)[^.]*)*)\.(?= |$)"""
        assert int(rank) == self.late, rank
        self.because(int(rank), waited, share, several, what)

    def on_most(self, rank, time, share, waited, what):
        r"""Rank (\d+) was waited for most \((TIME)(?: \+- TIME)?\)(?:: it had ended|, ([\d.]+) % of (?:it|that before its end) because it (had waited for rank \d+, which )?spent longer (.*?(?:\.(?=\d|c:)[^.]*)*))?\.(?= |$)"""
        rank, truth = int(rank), self.truths[0].caused()
        if self.shape == "healthy":
            return  # through others, too
        self.near("for whom most", ns(time), lambda t: t.caused()[rank], 0.04)
        assert truth[rank] > 0.93 * max(truth) - 15e6, (rank, truth)
        if what is not None:
            self.because(rank, waited, share, "by several things, " in what,
                         what)

    def because(self, rank, waited, share, several, what):
        """Is that what made the rank late?"""
        if several:
            part = re.search(r"the largest part (?:of it )?\(([\d.]+) %\)",
                             what)[1]
            share = float(share) * float(part) / 100
        if not self.meets_only():
            return  # through others, too
        assert waited is None, waited
        costs = self.truths[0].delays()
        whole = self.truths[0].caused()[rank]
        mine = {k: v for (r, k), v in costs.items() if r == rank}
        calls = {"nanosleep": "sleep", "read": "io", "write": "io",
                 "pthread_mutex_lock": "lock", "compute": "compute",
                 "grind": "grind"}
        seen = re.search(r"\b(nanosleep|read|pthread_mutex_lock|compute|grind|"
                         r"MPI_\w+) \(", what.split(" after ")[0])
        kind = calls.get(seen[1], seen[1]) if seen else "other"
        part = re.match(r"in mpi_call, .* of it \(([\d.]+) %\) in MPI_", what)
        if part:
            share = float(share) * float(part[1]) / 100
        # Between two calls all is one thing, or by samples several.
        between = sum(mine.get(key, 0) for key in BETWEEN + ("other",))
        calls = [v for k, v in mine.items() if k not in BETWEEN + ("other",)]
        ours, noise = mine.get(kind, 0), 0
        seen = whole * float(share) / 100
        if kind in BETWEEN + ("other",):
            # One may lose its CPU between its return and its note of that.
            noise = between * self.sigma() + mine.get("MPI_Init", 0) / 3
            if abs(seen - between) < max(abs(seen - ours), 0.08 * whole):
                ours, noise = between, mine.get("MPI_Init", 0) / 3
            assert ours + noise > 0.85 * max(calls, default=0) - 10e6, \
                (what, mine)
        else:
            assert ours > 0.85 * max(mine.values()) - 10e6, (what, mine)
        self.near(f"because of {kind}", seen, lambda t: ours, 0,
                  0.08 * whole + 3 * noise + self.truths[0].left_open(rank))

    def meets_only(self):
        return self.shape not in ("circle", "healthy")

    def sigma(self):
        """Of a share of samples of the time between calls, 99 a second with a CPU."""
        spent = sum(p["on a CPU"] for p in self.truths[0].parts)
        return 0.5 / max(1, spent / 1e9 * 99) ** 0.5

    def on_during(self, share, call):
        r"""During ([\d.]+) % of the wait it was seen (?:ready to run without a CPU \([\d.]+ % of it\) )?in (MPI_\w+) \(diary\.c:\d+\)(?:, [\d.]+ % of it ready to run, without a CPU)?\."""
        assert (self.shape, call) == ("circle", "MPI_Recv") and \
            float(share) > 50

    def on_and(self, share, what):
        r"""And ([\d.]+) %: (.*?(?:\.(?=\d|c:)[^.]*)*)\.(?= |$)"""

    def on_window(self, share, first, last, of):
        r"""([\d.]+) % of it in steps (\d+) to (\d+) \(of (\d+)\), from TIME to TIME of the run\."""
        if self.shape == "healthy":
            return  # what ends the job disturbs it for a second before
        # The first step of a program that marks none is from the first meeting to
        # the second: what is waited there is of the call whose index it has.
        first, last, of = int(first), int(last), int(of)
        assert of == len(self.truths[0].calls[0]) - 2, of
        late = [0] * (of + 2)
        for rank, whom, waited, entry in self.truths[0].waits:
            if whom == self.late:
                late[self.truths[0].calls[rank].index(entry)] += waited
        inside = sum(late[first:last + 1])
        self.share("in the window", share, lambda t: inside / sum(late), 5)
        if self.shape == "window":
            assert abs(first - 60) <= 2 and abs(last - 89) <= 2, (first, last)
            return
        # Who had a CPU and who had none may make one.
        steps = last + 1 - first
        rest = (sum(late) - inside) / (len(late) - steps)
        assert inside / steps > 3 * rest, "a window where there is none"
        self.checked.append(f"{inside / steps / 1e6:.2g} ms a step in a window, "
                            f"{rest / 1e6:.2g} ms elsewhere")

    def on_in_no_step(self, share):
        r"""([\d.]+) % of it in no step \(before the first one, between steps, after the last one, or in one that was not finished\)\."""
        if not self.meets_only():
            return
        inside, outside = self.truths[0].in_steps(self.late)
        low = 100 * outside[0] / max(1, outside[0] + inside[1])
        high = 100 * outside[1] / max(1, outside[1] + inside[0])
        assert low - 1.5 <= float(share) <= high + 1.5, (share, low, high)
        self.checked.append(f"in no step % {share} ({low:.4g} to {high:.4g})")

    def on_event(self, share, first, last):
        r"""([\d.]+) % of it (?:at once, )?(?:in step \d+ \(of \d+\), )?from (TIME) to (TIME) of the run\."""
        zero = self.context["zero"]
        start, end = zero + ns(first), zero + ns(last)
        truth = self.truths[0]
        waits = [(w[3].begin, w[3].begin + w[2]) for w in truth.waits
                 if w[1] == self.late]
        inside = sum(max(0, min(b, end) - max(a, start)) for a, b in waits)
        # Three digits: a hundredth of the time of the run at each border.
        room = 100 * 0.02 * (end - zero) / sum(b - a for a, b in waits)
        self.share("in that time", share, lambda t: inside / sum(
            b - a for a, b in waits), 4 + min(room, 20))

    def on_doubt(self, share, call):
        r"""Another ([\d.]+) % was in MPI calls; whether they waited there is not known\. [\d.]+ % in (MPI_\w+) \(diary\.c:\d+\)\."""
        # Of a job that was ended, calls that were.
        assert "ended" in self.context and float(share) < 10, (share, call)

    def on_unexplained(self, share):
        r"""([\d.]+) % of the delay is not explained\."""
        # In calls that never ended nothing explains a wait.
        assert self.shape == "circle", "what is there not explained?"
        never = [w for w in self.truths[0].waits
                 if w[1] == self.late and w[3].is_open]
        assert never and abs(float(share) - 100 * sum(w[2] for w in never) /
                             self.truths[0].caused()[self.late]) < 25, never

    def on_try(self):
        r"""Try: [^.]*(?:\.(?=[^ ])[^.]*)*\."""

    def on_seen(self):
        r"""During the wait it was seen, [\d.]+ %, [^.]*(?:\.(?=[^ ])[^.]*)*\."""


# What the report of the shape must have, whatever the machine did.
MUST = {
    "uneven": {"outside", "parts", "lost", "most", "late", "late_because"},
    "turns": {"outside", "parts", "lost", "late", "late_because"},
    "parts": {"outside", "parts", "late", "late_because"},
    "before": {"outside", "parts", "late", "late_because"},
    "several": {"outside", "parts", "most", "late", "late_because"},
    "setup": {"outside", "parts"},
    "rows": {"outside", "parts"},
    "window": {"outside", "parts", "late", "late_because", "window"},
    "others": {"outside", "parts", "queue"},
    "own": {"outside", "parts", "queue"},
    "circle": {"outside", "interrupted", "circle", "ended"},
    "healthy": {"outside", "ended"},
}


def parts_of(text):
    """The first sentences, and those about the first late rank."""
    lines = text.split("\n")[1:]
    first = next((i for i, line in enumerate(lines)
                  if re.match(r" (RANK|LATE|WAITED|TRUST)", line)), len(lines))
    late, is_late = [], False
    for line in lines:
        if is_late and (not line.strip() or
                        (late and line.startswith(" Others waited"))):
            break
        if is_late:
            late.append(line)
        is_late = is_late or line.startswith(" LATE RANKS")
    return "\n".join(lines[:first]), "\n".join(late)


def steps_judge(shape, text):
    """Steps are counted where there are some, and nowhere else."""
    count = {"rows": 39, "window": 199, "before": 19}.get(shape)
    claimed = re.search(r"STEPS.*?(\d+) steps", text, re.S)
    if shape in ("setup", "uneven", "turns"):
        assert not re.search(r"STEPS|[0-9] steps|in steps? [0-9]", text), \
            "steps that nobody took"
    elif count and claimed:
        assert int(claimed[1]) == count, claimed[1]


def main():
    shape, run, folder, context = sys.argv[1:]
    context = json.load(open(context))
    report = json.load(open(run + "/report.json"))
    context["zero"] = report["whole"]["start_ns"]
    # What the collectors used is neither the job's nor of others.
    context["own_ns"] = report["cost"]["cpu_ns"]
    context["others"] = report["load"].get("other_cpus", 0)
    context["rank_ends"] = [r.get("end_time_ns") for r in report["ranks"]]
    text = open(run + "/report.txt").read()
    ranks = diaries(folder)
    whole = wholes(ranks)
    ends = context.get("ended", [None])
    if "ended" in context:
        # The first thread of a rank may end long before all of its threads.
        last = [max(max(e.begin, e.end) for e in r) for r in ranks]
        # No rank ends before its last note, nor behind the job.
        for at, end in zip(last, context["rank_ends"]):
            assert not end or at <= end <= ends[1] + 5e6, (at, end, ends)
        ends[0] = max([ends[0] - 150e6] + last)
    truths = [Truth(ranks, end, whole) for end in ends]
    judge = Judge(shape, text, truths, context)
    first, late = parts_of(text)
    judge.read(first)
    judge.read(late)
    missing = MUST[shape] - judge.said
    if shape == "window" and ("event" in judge.said or
                              not truths[0].has_window()):
        missing.discard("window")  # without steps it has times
    assert not missing, f"no word of {missing}"
    steps_judge(shape, text)


main()
