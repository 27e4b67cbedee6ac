"""callers.py TRUTH FOLDED REPORT - are the stacks those of the program?

SPDX-License-Identifier: Apache-2.0

TRUTH is what callers_target printed: CPU time in ns, and the chain of calls
below which it was spent, the outermost function first.
"""
import json
import re
import sys

truth, folded, report = sys.argv[1:]
SHARE = 0.06  # of a chain's samples, apart from chance


def check(is_right, text):
    if not is_right:
        sys.exit("wrong: " + text)


chains = {}
for line in open(truth, encoding="utf-8"):
    ns, *names = line.split()
    chains[tuple(names)] = int(ns)
known = {name for chain in chains for name in chain}

found = dict.fromkeys(chains, 0)
samples = within = outside = 0
for line in open(folded, encoding="utf-8"):
    stack, count = line.rsplit(" ", 1)
    # Names of Rust end in a hash.
    names = (re.sub("::h[0-9a-f]{16}$", "", f) for f in stack.split(";")[2:])
    mine = tuple(name for name in names if name in known)
    samples += int(count)
    if mine in found:
        found[mine] += int(count)
    elif not mine:
        outside += int(count)  # before main, or behind it
    elif any(chain[:len(mine)] == mine for chain in chains):
        within += int(count)  # in the library, or on the way
    else:
        print(count.strip(), stack)
right = sum(found.values())
print("%d samples: %d of a chain, %d on the way to one, %d outside of main" %
      (samples, right, within, outside))
samples -= outside
check(samples >= 50 and samples > 10 * outside, "too few samples")
check(right + within >= 0.98 * samples, "%d of %d samples have wrong callers" %
      (samples - right - within, samples))
check(right >= 0.9 * samples, "most samples are in the leaves")
whole = sum(chains.values())
for chain, ns in chains.items():
    share, its = ns / whole, found[chain] / right
    print("%5.1f %% %5.1f %% %s" % (100 * share, 100 * its, " ".join(chain)))
    check(abs(share - its) < SHARE + 2 * (share / right) ** 0.5,
          "share of " + " ".join(chain))

stacks = json.load(open(report))["sampled"]["stacks"]
print(stacks)
check(stacks["unwound"] > 0 and
      stacks["whole"] >= 0.98 * stacks["unwound"], "stacks are not whole")
check(stacks["by_frame_pointers"] <= 0.02 * stacks["unwound"],
      "stacks by frame pointers")
