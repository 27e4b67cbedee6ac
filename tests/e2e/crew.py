# crew.py - the first sentences about crew.c, by what its ranks stamped
#
# SPDX-License-Identifier: Apache-2.0
#
#     crew.py RUN FOLDER WITHIN     WITHIN: ns that ckagent ran for
#
# A rank waits in a read from its begin until the other one writes (at least), or
# until it has what was written (at most). What a rank that had none to answer waits
# counts for the one that the hub waited for then.
import re
import sys

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
run, folder, within = sys.argv[1:]
text = " ".join(open(run + "/report.txt").read().split())
met = []
for rank in range(4):
    rows = [line.split() for line in open("%s/met.%d" % (folder, rank))]
    met.append([(what, int(other), float(begin), float(end))
                for what, other, begin, end in rows])
took = [float(open("%s/took.%d" % (folder, rank)).read()) for rank in range(3)]


def seconds(words):
    value, unit = words.split()
    return float(value) * UNITS[unit]


def waits(rank, is_least):
    """Before its first read a rank may be too young to be known."""
    reads = [row for row in met[rank] if row[0] == "r"]
    for other in sorted({row[1] for row in reads}):
        writes = [row for row in met[other] if row[:2] == ("w", rank)]
        mine = [row for row in reads if row[1] == other]
        for i, (_, _, begin, end) in enumerate(mine):
            if i > 0 or not is_least:
                yield max(0, (writes[i][2] if is_least else end) - begin)


TIME = r"([\d.]+ (?:us|ms|s))"
share, waited, whole = re.search(
    r"4 of 4 ranks waited ([\d.]+) %% of their time \(%s of %s\) for each "
    r"other's data, on sockets\." % (TIME, TIME), text).groups()
least, most = (sum(sum(waits(rank, is_least)) for rank in range(4))
               for is_least in (True, False))
print("waited %s, stamped %.3f to %.3f s" % (waited, least, most))
assert 0.97 * least - 0.02 < seconds(waited) < 1.03 * most + 0.02
assert abs(float(share) - 100 * seconds(waited) / seconds(whole)) < 0.5
alive = sum(rows[-1][2] - rows[0][2] for rows in met)
assert alive < seconds(whole) < 4 * float(within) * 1e-9 + 0.1, (alive, whole)
# Who came late: the first one is the slowest, each with a reason of its own.
late = re.findall(r"Others waited (?:at least )?%s for rank (\d)\.(.*?)(?=Others waited|WAITED)"
                  % TIME, text)
causes = {}
for time, rank, words in late:
    rank = int(rank)
    if rank == 3:
        # The hub answers at once, if it has a CPU.
        continue
    causes[rank] = seconds(time)
    assert 0.8 * 3 * took[rank] < seconds(time) < 1.1 * 3 * took[rank] + 0.05, \
        (rank, time, took[rank])
    mine = re.search(r"spent longer than the waiting ranks? \(([\d.]+) % of that "
                     r"time\) (.*?)\.(?= |$)", words)
    print("rank %d: %s, stamped 3 x %.3f s: %s" % (rank, time, took[rank],
                                                   mine and mine[0]))
    if rank == 2:
        assert "nanosleep (crew.c:" in mine[2], words
    else:
        assert "nanosleep" not in mine[2], words
    if rank == 1 and "computing in" in mine[2]:
        assert "grind" in mine[2], words
    if rank == 0:
        assert "grind" not in mine[2], words
assert set(causes) == {0, 1, 2}, causes
ranked = sorted(range(3), key=lambda rank: -took[rank])
first = int(late[0][1])
assert first == 3 or took[first] > 0.95 * took[ranked[0]], (late, took)
