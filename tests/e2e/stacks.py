"""stacks.py FOLDED SPEEDSCOPE REPORT - do the files have the program's stacks?

SPDX-License-Identifier: Apache-2.0

stacks_target computes three parts of its CPU time below solve, in 12 calls of
deep, and one part below shallow.
"""
import json
import re
import sys

folded, speedscope, report = sys.argv[1:]


def check(is_right, text):
    if not is_right:
        sys.exit("wrong: " + text)


stacks = {}
lines = open(folded, encoding="utf-8").read().splitlines()
for line in lines:
    match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
    check(match, line)
    stacks[tuple(match[1].split(";"))] = int(match[2])
check(len(stacks) == len(lines), "a stack is there twice")
bare = [line.rsplit(" ", 1)[0].encode() for line in lines]
check(bare == sorted(bare), "the lines are not sorted")

facts = json.load(open(report))["sampled"]
check(sum(stacks.values()) == facts["samples"], "samples of the report: %s, of "
      "the lines: %d" % (facts["samples"], sum(stacks.values())))


def below(name):
    return sum(n for stack, n in stacks.items() if name in stack)


deep, shallow = below("solve"), below("shallow")
print("solve %d, shallow %d of %d" % (deep, shallow, facts["samples"]))
check(2 * shallow < deep < 4 * shallow, "solve computes 3 times as long")
check(deep + shallow > 0.9 * facts["samples"], "less than 90 % in the program")
whole = sum(n for stack, n in stacks.items()
            if "spin" in stack and stack.count("deep") == 12 and
            stack.index("main", 2) < stack.index("solve") < stack.index("spin"))
check(whole > 0.9 * deep, "%d of %d stacks have all 12 calls" % (whole, deep))
check(all(stack[0] == "rank 0" and stack[1] == "thread main"
          for stack in stacks), "rank and thread are the roots")

scope = json.load(open(speedscope))
check(scope["$schema"] == "https://www.speedscope.app/file-format-schema.json",
      "schema")
frames = scope["shared"]["frames"]
for profile in scope["profiles"]:
    check(profile["type"] == "sampled" and profile["unit"] == "nanoseconds",
          "kind of profile")
    check(len(profile["samples"]) == len(profile["weights"]), "weights")
    check(sum(profile["weights"]) == profile["endValue"], "sum of weights")
    check(all(0 <= f < len(frames) for s in profile["samples"] for f in s),
          "number of a frame")
check([p["name"] for p in scope["profiles"]] == ["all ranks", "rank 0 main"],
      "names of profiles")
ns = sum(w for s, w in zip(scope["profiles"][0]["samples"],
                           scope["profiles"][0]["weights"])
         if "solve" in [frames[f]["name"] for f in s])
check(abs(ns / scope["profiles"][0]["endValue"] - deep / facts["samples"])
      < 0.001, "shares of both files differ")
spin = [f for f in frames if f["name"] == "spin"]
check(spin and all(f["file"].endswith("stacks_target.c") and f["line"] > 0
                   for f in spin), "spin has no file and line")
