#!/usr/bin/env python3
"""unwind.py BUILD [PROGRAM [ARGUMENT]...] - stacks beside perf's own

SPDX-License-Identifier: Apache-2.0

perf records the program with copies of its stacks (16 KiB), 499 a second; the
same copies are unwound by perf script and by ck (bench_unwind). Printed: how
many stacks are the same address by address, how many each has whole, whether
the ten functions with the most samples below them are the same, and the CPU
time of a sample: of perf script with a stack collapser in awk, and of ck. Exit
4 when ck is less than 20 times faster, or has less than 98 % of perf's whole
stacks; 77 when perf cannot be run.
"""
import collections
import os
import resource
import subprocess
import sys
import tempfile

COLLAPSE = r"""
/^[^ \t]/ { next }
NF == 0 { if (stack != "") count[stack]++; stack = ""; next }
{ name = $2; sub(/\+0x.*/, "", name); stack = stack == "" ? name : name ";" stack }
END { for (s in count) print s, count[s] }
"""
FACTOR = 20
WHOLE = 0.98
ROOTS = ("_start", "clone", "clone3", "__clone", "__clone3")


def cpu_of(arguments, **options):
    """Output and CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(arguments, check=True, capture_output=True, text=True,
                         **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, (after.ru_utime + after.ru_stime - before.ru_utime -
                 before.ru_stime)


def chains_of(text):
    """Lists of (address, name) of perf script, by thread and time."""
    chains, chain = {}, []
    for line in text.splitlines():
        words = line.split()
        if words and line[0] in " \t":
            name = words[1].split("+0x")[0] if len(words) > 1 else ""
            chain.append((int(words[0], 16), name))
        elif words:
            chain = []
            time = words[-1].rstrip(":").split(".")
            chains[int(words[-2]), int(time[0]) * 10**9 + int(time[1])] = chain
    return chains


def chains_of_ck(text):
    """The same of bench_unwind."""
    chains = {}
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines:
            _, tid, time = lines[0].split()
            chains[int(tid), int(time)] = [(int(line, 16), "")
                                           for line in lines[1:-1]]
    return chains


def is_whole(chain):
    return chain[-1][1] in ROOTS


def top_callers(chains, names):
    """Functions by samples that they, or what they called, have."""
    sums = collections.Counter()
    for chain in chains:
        sums.update({names.get(address, "") for address, _ in chain} - {""})
    return [name for name, _ in sums.most_common(10)]


def main():
    build, *program = sys.argv[1:]
    program = program or [build + "/tests/callers_target", "150"]
    with tempfile.TemporaryDirectory() as work:
        data = work + "/perf.data"
        try:
            subprocess.run(
                ["perf", "record", "-q", "--call-graph", "dwarf,16384", "-F",
                 "499", "-e", "cpu-clock:u", "-o", data, "--", *program],
                check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as why:
            print("skipped: perf record:", why)
            return 77
        script = ["perf", "script", "--no-inline", "--ns", "-F",
                  "comm,tid,time,ip,sym", "-i", data]
        theirs, _ = cpu_of(script)
        ours, _ = cpu_of([build + "/tests/bench_unwind", data, "--print"])
        _, slow = cpu_of(["sh", "-c", '%s 2>/dev/null | awk "$0"' %
                          " ".join(script), COLLAPSE],
                         env=dict(os.environ))
        timing, _ = cpu_of([build + "/tests/bench_unwind", data])
    theirs = chains_of(theirs.stdout)
    mine = chains_of_ck(ours.stdout)
    names = {address: name for chain in theirs.values()
             for address, name in chain}
    if set(mine) != set(theirs):
        print("samples: %d, perf script %d" % (len(mine), len(theirs)))
        return 4
    same = longer = shorter = 0
    for key, my in mine.items():
        its = theirs[key]
        my_addresses = [a for a, _ in my]
        its_addresses = [a for a, _ in its]
        same += my_addresses == its_addresses
        longer += len(my) > len(its)
        shorter += len(my) < len(its)
    whole = sum(map(is_whole, theirs.values()))
    print("%d samples: %d stacks are the same, of %d ck has more frames, of %d "
          "fewer" % (len(mine), same, longer, shorter))
    print("whole: perf script %d; ck: %s" % (whole, timing.stderr.strip()))
    its_top = top_callers(theirs.values(), names)
    my_top = top_callers(mine.values(), names)
    print("top ten callers:", "the same" if set(its_top) == set(my_top)
          else "perf %s, ck %s" % (its_top, my_top))
    first = float(timing.stderr.split("(")[1].split()[0])
    print("CPU time of a sample: perf script and awk %.0f us, ck %.2f us (each "
          "address met for the first time included): %.0f times" %
          (1e6 * slow / len(mine), first / 1e3,
           1e9 * slow / len(mine) / first))
    ck_whole = int(timing.stderr.split()[2])
    return 0 if (1e9 * slow / len(mine) >= FACTOR * first and
                 ck_whole >= WHOLE * whole) else 4


if __name__ == "__main__":
    sys.exit(main())
