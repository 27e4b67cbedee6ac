#!/usr/bin/env bash
# stacks.sh - stacks of samples as folded lines and for speedscope
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need python3 python3

timeout 120 "$bin/ckagent" --report none --sample 499 --dir "$work/run" -- \
    "$tests/stacks_target" 200 >"$work/out" 2>&1
wait_done "$work/run"
"$bin/ckmerge" --quiet --output json="$work/report.json" \
    --output folded="$work/run.folded" \
    --output speedscope="$work/run.speedscope.json" "$work/run"
samples=$(json "$work/report.json" "(j.get('sampled') or {}).get('samples', 0)")
[ "$samples" -gt 0 ] || skip "no samples: perf_event is not permitted here"
/usr/bin/python3 "$here/stacks.py" "$work/run.folded" \
    "$work/run.speedscope.json" "$work/report.json" ||
    fail "the stacks are not those of the program"

# One by one: for FlameScope and the Firefox Profiler.
"$bin/ckmerge" --quiet --output flamescope --output firefox "$work/run"
/usr/bin/python3 "$here/samples.py" "$work/run/stacks.perf" \
    "$work/run/stacks.firefox.json" "$work/report.json" ||
    fail "the samples are not those of the report"

# Without a name they go into the run; a window has its own part only.
"$bin/ckmerge" --quiet --output folded --output speedscope "$work/run"
cmp "$work/run.folded" "$work/run/stacks.folded"
cmp "$work/run.speedscope.json" "$work/run/stacks.speedscope.json"
"$bin/ckmerge" --quiet --to 1us --output folded="$work/part" "$work/run"
[ ! -s "$work/part" ] || fail "a window without samples has stacks"

# No output replaces a recording.
segment=$(find "$work/run" -name 'seg-*.ck' | head -n 1)
[ -n "$segment" ] || fail "the run has no segment"
# Two runs: each stack of either with both counts, what changed most first, none
# twice.
half=$(json "$work/report.json" "(j['region']['start_rel_ns'] +
    j['region']['ns'] // 2) // 10**6")
"$bin/ckmerge" --quiet --no-page --from "${half}ms" \
    --output folded="$work/later.folded" "$work/run"
"$bin/ckmerge" --quiet --no-page --from "${half}ms" --baseline "$work/run" \
    --output folded-diff="$work/diff.folded" "$work/run"
/usr/bin/python3 - "$work" <<'PY'
import sys


def counts(name, columns):
    rows = [line.rsplit(" ", columns)
            for line in open(sys.argv[1] + "/" + name).read().splitlines()]
    order = [(-abs(int(row[1]) - int(row[-1])), row[0]) for row in rows]
    assert order == sorted(set(order)), name
    return {row[0]: [int(n) for n in row[1:]] for row in rows}


before, now = counts("run.folded", 1), counts("later.folded", 1)
both = counts("diff.folded", 2)
assert 0 < sum(n for n, in now.values()) < sum(n for n, in before.values())
assert both == {stack: before.get(stack, [0]) + now.get(stack, [0])
                for stack in {**before, **now}}, both
PY
# The same as a picture: red where there is more now, in the function itself, blue
# where there is less, and what is only in the other run has a place there.
mkdir "$work/other"
cp "$work/run/report.json" "$work/other/"
/usr/bin/python3 - "$work" <<'PY'
import sys

lines = [line.rsplit(" ", 1) for line in open(sys.argv[1] + "/run.folded")]
lines.sort(key=lambda line: -int(line[1]))
with open(sys.argv[1] + "/other/stacks.folded", "w") as file:
    for at, (stack, count) in enumerate(lines):
        if at != 1:  # the second one is new
            file.write("%s %d\n" % (stack, (3 if at == 0 else 1) * int(count)))
    file.write("rank 0;thread main;gone 7\n")
PY
"$bin/ckmerge" --quiet --no-page --baseline "$work/other" \
    --output svg-flame="$work/diff.svg" "$work/run"
/usr/bin/python3 - "$work" <<'PY'
import re, sys
import xml.etree.ElementTree as tree

NS = "{http://www.w3.org/2000/svg}"
counts = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1])
          for line in open(sys.argv[1] + "/run.folded")}
ordered = sorted(counts, key=lambda stack: -counts[stack])
less, more = ordered[:2]
frames = {"now": [], "was": []}
for g in tree.parse(sys.argv[1] + "/diff.svg").iter(NS + "g"):
    if g.get("data-k") in frames:
        name, n, percent, change = re.fullmatch(
            r"(.*) \(([\d,]+) samples, ([\d.]+)%; ([-+][\d.]+)%\)",
            g.find(NS + "title").text, re.S).groups()
        colour = [int(c) for c in re.findall(
            r"\d+", g.find(NS + "rect").get("fill"))]
        frames[g.get("data-k")].append(
            (name, int(n.replace(",", "")), float(change), colour))
now, was = frames["now"], frames["was"]
whole = sum(counts.values())
assert now[0][:3] == ("all", whole, 0), now[0]
assert was[0][1] == whole + 2 * counts[less] - counts[more] + 7, was[0]
leaf = less.split(";")[-1]
blue = [f for f in now if f[3] == [0, 0, 255]]
assert [f[0] for f in blue] == [leaf], blue
assert abs(blue[0][2] + 100 * 2 * counts[less] / whole) < 0.01, blue
red = {f[0] for f in now if f[3][0] == 255 and f[3][1] < 210}
assert red == {more.split(";")[-1]}, red
gone = [f for f in was if f[0] == "gone"]
assert len(gone) == 1 and gone[0][1] == 7 and gone[0][2] < 0, gone
assert not [f for f in now if f[0] == "gone"]
PY
mkdir "$work/wrong"
echo "no count" >"$work/wrong/stacks.folded"
cp "$work/run/report.json" "$work/wrong/"
for option in "" "--baseline=$work/wrong"; do
    # shellcheck disable=SC2086 # none or one word
    if "$bin/ckmerge" --quiet --no-page $option \
        --output folded-diff="$work/none.folded" "$work/run" 2>"$work/why"; then
        fail "folded-diff with '$option'"
    fi
    grep -qE "needs --baseline|wrong/stacks.folded: line 1 is no stack" \
        "$work/why" || fail "$(cat "$work/why")"
done

# A picture is made all the same.
for other in wrong none; do
    [ -e "$work/$other" ] || { mkdir "$work/none"; cp "$work/run/report.json" "$work/none/"; }
    "$bin/ckmerge" --quiet --no-page --baseline "$work/$other" \
        --output svg-flame="$work/whole.svg" "$work/run" 2>"$work/why"
    grep -q "does not show what changed" "$work/why" || fail "$(cat "$work/why")"
    grep -q 'id="frames-cpu"' "$work/whole.svg" || fail "no frames"
    if grep -q 'id="frames-now"' "$work/whole.svg"; then fail "$other: a change"; fi
done

# What cannot be put beside anything is known before a file is begun.
mkdir "$work/bare"
cp "$work/run/report.json" "$work/bare/"
if "$bin/ckmerge" --quiet --no-page --baseline "$work/bare" \
    --output folded-diff="$work/none.folded" \
    --output chrome="$work/early.json" "$work/run" 2>"$work/why"; then
    fail "folded-diff with a run that has no stacks"
fi
grep -q "cannot read $work/bare/stacks.folded" "$work/why" ||
    fail "$(cat "$work/why")"
[ ! -e "$work/early.json" ] || fail "a trace was begun before that was known"

if "$bin/ckmerge" --quiet --output folded="$segment" "$work/run" \
    2>"$work/err"; then
    fail "a segment was replaced by stacks"
fi
grep -q 'recording' "$work/err" || fail "$(cat "$work/err")"

# Functions that were inlined, code that the program made, and the kernel.
if [ "$(uname -m)" = x86_64 ]; then
    timeout 120 "$bin/ckagent" --report none --sample 499 --dir "$work/kinds" \
        -- "$tests/stacks_kinds" 300 >"$work/out" 2>&1
    wait_done "$work/kinds"
    "$bin/ckmerge" --quiet --output folded="$work/kinds.folded" "$work/kinds"
    kernel=$(grep -c ' T vfs_read$\| t vfs_read$' /proc/kallsyms || true)
    if grep -q '^0000000000000000 ' /proc/kallsyms ||
        grep -q 'kernel.s part' "$work/kinds/report.txt"; then
        kernel=0
    fi
    /usr/bin/python3 "$here/stackkinds.py" "$work/kinds.folded" "$kernel" ||
        fail "the kinds of frames are not distinguished"
fi

# Two real compilers at run time: node's text, and its dump of code and lines.
if command -v node >/dev/null; then
    cat >"$work/fib.js" <<'JS'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let sum = 0;
while (process.cpuUsage().user < 1.5e6) { sum += fib(22); }
JS
    for option in --perf-basic-prof --perf-prof; do
        (cd "$work" && timeout 120 "$bin/ckagent" --report none --sample 499 \
            --dir "$work/node$option" -- node "$option" fib.js >"$work/out" 2>&1)
        wait_done "$work/node$option"
        "$bin/ckmerge" --quiet --output folded="$work/node.folded" \
            "$work/node$option"
        grep -q 'fib.*_\[j\]' "$work/node.folded" ||
            fail "node $option: its functions have no names"
        rm -f "$work"/jit-*.dump
    done
fi

# What the kernel records of a program's start has rings before it begins: else a
# program that ends soon beside a load has no stacks.
if command -v strace >/dev/null; then
    strace -f -e trace=execve,mmap -o "$work/calls" "$bin/ckagent" --report none \
        --dir "$work/start" -- "$tests/stacks_target" 1 >/dev/null 2>&1
    wait_done "$work/start"
    rings=$(awk 'NR == 1 {front = $1} /execve\(".*stacks_target"/ {exit}
        $1 != front && /MAP_SHARED, [0-9]+, 0/ {n++} END {print n + 0}' \
        "$work/calls")
    [ "$rings" -gt 0 ] || fail "the program began before its samples had rings"
    echo "ok: $rings rings before the program began"
else
    echo "left out: no strace"
fi
