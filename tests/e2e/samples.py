"""samples.py FLAMESCOPE FIREFOX REPORT - do both have each sample once?

SPDX-License-Identifier: Apache-2.0

FLAMESCOPE is read as FlameScope reads it (its two regular expressions), FIREFOX
by the rules of the processed format: columns of one length, no stack before the
one that it is on, times in order.
"""
import json
import re
import sys
import time

flamescope, firefox, report = sys.argv[1:]
samples = json.load(open(report))["sampled"]["samples"]


def check(is_right, text):
    if not is_right:
        sys.exit("wrong: " + text)


event = re.compile(r" +([0-9.]+): .+?:")
frame = re.compile(r"^[\t ]*[0-9a-fA-F]+ (.+) \((.*?)\)$")
times, stacks, stack = [], [], []
for line in open(flamescope, encoding="utf-8").read().split("\n"):
    if line == "":
        if stack:
            stacks.append(stack)
        stack = []
    elif line[0] != "\t":
        match = event.search(line)
        check(match and re.match(r"rank0 \d+/\d+ \[\d{3}\] ", line), line)
        times.append(float(match[1]))
    else:
        match = frame.match(line)
        check(match, line)
        stack.append(match[1])
check(len(times) == len(stacks) == samples, "%d, %d of %d samples" %
      (len(times), len(stacks), samples))
check(times == sorted(times), "times are in no order")
check(abs(times[-1] - time.time()) < 86400, "seconds are no date")

profile = json.load(open(firefox))
check(profile["meta"]["preprocessedProfileVersion"] == 54, "version")
count, deep = 0, 0
for thread in profile["threads"]:
    strings = thread["stringArray"]
    for name in ("frameTable", "funcTable", "stackTable", "samples",
                 "resourceTable", "nativeSymbols", "markers"):
        table = thread[name]
        for column, values in table.items():
            check(not isinstance(values, list) or
                  len(values) == table["length"], name + "." + column)
    frames, functions = thread["frameTable"], thread["funcTable"]
    check(all(f < functions["length"] for f in frames["func"]), "func")
    check(all(n < len(strings) for n in functions["name"]), "name")
    below = thread["stackTable"]["prefix"]
    check(all(p is None or p < i for i, p in enumerate(below)), "prefix")
    check(thread["samples"]["time"] == sorted(thread["samples"]["time"]),
          "times")
    count += thread["samples"]["length"]
    for at in thread["samples"]["stack"]:
        names = []
        while at is not None:
            f = frames["func"][thread["stackTable"]["frame"][at]]
            names.append(strings[functions["name"][f]])
            at = below[at]
        deep += names.count("deep") == 12
check(count == samples, "%d of %d samples" % (count, samples))
check(deep == sum(s.count("deep") == 12 for s in stacks) > 0.5 * samples,
      "stacks differ")
print("%d samples, %d of them 12 calls deep" % (count, deep))
