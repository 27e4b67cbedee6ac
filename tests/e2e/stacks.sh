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
# Two runs: each stack of either with both counts, sorted, none twice.
"$bin/ckmerge" --quiet --no-page --from 300ms --output folded="$work/later.folded" \
    "$work/run"
"$bin/ckmerge" --quiet --no-page --from 300ms --baseline "$work/run" \
    --output folded-diff="$work/diff.folded" "$work/run"
/usr/bin/python3 - "$work" <<'PY'
import sys


def counts(name, columns):
    rows = [line.rsplit(" ", columns)
            for line in open(sys.argv[1] + "/" + name).read().splitlines()]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows}), name
    return {row[0]: [int(n) for n in row[1:]] for row in rows}


before, now = counts("run.folded", 1), counts("later.folded", 1)
both = counts("diff.folded", 2)
assert 0 < sum(n for n, in now.values()) < sum(n for n, in before.values())
assert both == {stack: before.get(stack, [0]) + now.get(stack, [0])
                for stack in {**before, **now}}, both
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
