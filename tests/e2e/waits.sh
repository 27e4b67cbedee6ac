#!/usr/bin/env bash
# waits.sh - the stacks of threads that wait without a CPU
#
# SPDX-License-Identifier: Apache-2.0
#
# waits_target.c knows how long it was in each function; the stacks of the waits
# have these functions, lines and shares, in the report, as folded lines and in
# the page. Without stacks of waits there is none of it.
. "$(dirname "$0")/lib.sh"
program=$tests/waits_target
source=$here/waits_target.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# record NAME OPTIONS...
record() {
    rm -rf "${work:?}/$1"
    timeout 100 "$bin/ckagent" --dir "$work/$1" "${@:2}" -- "$program" \
        >"$work/$1.truth" 2>"$work/$1.err" </dev/null ||
        { cat "$work/$1.err"; fail "$1"; }
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
    "$bin/ckmerge" --quiet --output folded-waits="$work/$1.folded" \
        --output json="$work/$1.json" "$work/$1"
}

record on
grep -q 'the stacks of waits without a CPU are not recorded\|no CPU samples' \
    "$work/on/report.txt" && skip "the kernel does not permit it here"
/usr/bin/python3 - "$work/on.json" "$work/on.truth" "$work/on.folded" \
    "$(line await_turn)" "$(line rest)" <<'PY'
import collections, json, sys
j = json.load(open(sys.argv[1]))
awaited, rested = (int(word) for word in open(sys.argv[2]).read().split())
lines = {"await_turn": int(sys.argv[4]), "rest": int(sys.argv[5])}
truth = {"await_turn": awaited, "rest": rested}
rows = {row["function"]: row for row in j["blocked_places"]
        if row["in_program"]}
all_ns = sum(rows[name]["ns"] for name in truth)
stacks = j["sampled"]["stacks"]
print("stacks of %d of %d waits, %.1f %% of the time" % (
    stacks["wait_stacks"], stacks["waits"],
    100 * j["blocked_with_stack_ns"] / j["blocked_ns"]))
assert stacks["wait_stacks"] > 20, stacks
assert stacks["wait_stacks"] <= stacks["waits"] <= 450, stacks
assert j["blocked_with_stack_ns"] <= j["blocked_ns"]
for name, us in truth.items():
    share = us / (awaited + rested)
    print("%s: %.3f of the time, reported %.3f" % (
        name, share, rows[name]["ns"] / all_ns))
    assert abs(rows[name]["ns"] / all_ns - share) < 0.15
    assert rows[name]["line"] == lines[name], rows[name]
    assert rows[name]["threads"] == 2, rows[name]
    assert rows[name]["ns"] <= 1000 * us * 1.01, (rows[name], us)
# The folded lines: microseconds, the same in all, callers outermost first.
sums = collections.Counter()
for text in open(sys.argv[3]):
    stack, us = text.rsplit(" ", 1)
    frames = stack.split(";")
    for name in truth:
        if name in frames:
            caller = frames[frames.index(name) - 1]
            assert caller in ("main", "work"), stack
            sums[name, caller] += int(us)
for name in truth:
    us = sums[name, "main"] + sums[name, "work"]
    assert abs(us * 1000 - rows[name]["ns"]) <= 0.01 * rows[name]["ns"] + 1e6
    assert sums[name, "main"] > 0 and sums[name, "work"] > 0, sums
PY
[ $? -eq 0 ] || fail "stacks of waits"
grep -q '^ WHERE BLOCKED' "$work/on/report.txt" || fail "no table"
grep -q "^ await_turn .* waits_target.c:$(line await_turn)" \
    "$work/on/report.txt" || fail "no row of await_turn"
grep -q 'stacks of waits without a CPU: [0-9]* of [0-9]* longer ones' \
    "$work/on/report.txt" || fail "no line in TRUST"

record off --off-cpu 0
[ -s "$work/off.folded" ] && fail "stacks of waits with --off-cpu 0"
same "rows with --off-cpu 0" "[]" "$(json "$work/off.json" \
    "j['blocked_places']")"
if "$bin/ckagent" --off-cpu 2s -- true 2>"$work/err"; then
    fail "--off-cpu 2s was taken"
fi
grep -q -- '--off-cpu: 0 to 1s' "$work/err" || fail "$(cat "$work/err")"
exit 0
