"""stackkinds.py FOLDED KERNEL - are the kinds of frames distinguished?

SPDX-License-Identifier: Apache-2.0

stacks_kinds computes a third each in inner, inlined into inlines, in made_code,
which reads made, and below read in the kernel; where a hypervisor makes entering
it dear, some of that is at the instruction. KERNEL: 0 where its frames are
not permitted.
"""
import re
import sys

folded, kernel = sys.argv[1:]
stacks = [(tuple(m[1].split(";")), int(m[2]))
          for m in map(re.compile(r"(.*) (\d+)").fullmatch, open(folded)
                       .read().splitlines())]
whole = sum(n for _, n in stacks)


def part(name, is_right):
    n = sum(count for stack, count in stacks if is_right(stack))
    print("%s: %d of %d" % (name, n, whole))
    if not 0.2 * whole < n < 0.5 * whole:
        sys.exit("%s is no third" % name)


def follows(stack, *names):
    text = ";".join(stack)
    return ";".join(names) in text


part("inlined", lambda s: follows(s, "main", "compute", "inlines", "between_[i]",
                                  "inner_[i]"))
part("compiled", lambda s: follows(s, "main", "compute", "compiles",
                                   "made_code_[j]"))
if kernel != "0":
    part("kernel", lambda s: "reads" in s and
         any(f.endswith("_[k]") for f in s) and "vfs_read_[k]" in s)
