#!/usr/bin/env bash
# callers.sh - stacks of programs without frame pointers, against their truth
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need python3 python3

# record NAME SECONDS OPTION...: a run of the target, with folded stacks.
record() {
    local name=$1 steps=$2
    shift 2
    rm -rf "${work:?}/$name.run"
    timeout 120 "$bin/ckagent" --report none --sample 499 "$@" \
        --dir "$work/$name.run" -- "$tests/$name" "$steps" \
        >"$work/$name.truth" 2>"$work/$name.err"
    wait_done "$work/$name.run"
    "$bin/ckmerge" --quiet --output json="$work/$name.json" \
        --output text="$work/$name.txt" \
        --output folded="$work/$name.folded" "$work/$name.run"
}

# What a program computed is found below its callers.
callers_right() {
    record "$@"
    /usr/bin/python3 "$here/callers.py" "$work/$1.truth" "$work/$1.folded" \
        "$work/$1.json"
}

record callers_target 10
samples=$(json "$work/callers_target.json" \
    "(j.get('sampled') or {}).get('samples', 0)")
[ "$samples" -gt 0 ] || skip "no samples: perf_event is not permitted here"
copied=$(json "$work/callers_target.json" "j['sampled']['stacks']['unwound']")
[ "$copied" -gt 0 ] || skip "stacks are not unwound on this machine"

# Other programs die meanwhile, on the same CPUs: no stack of theirs is unwound.
ulimit -c 0
while [ -d "$work" ] && [ ! -e "$work/over" ]; do
    sh -c 'kill -SEGV $$' || sleep 0.05
done 2>"$work/strangers" &
strangers=$!

for target in callers_target callers_cxx callers_fortran callers_rust; do
    [ -x "$tests/$target" ] || continue
    callers_right "$target" 80 ||
        fail "$target: the stacks are not those of the program"
    grep -q 'samples unwound: 9[89]\|samples unwound: 100' \
        "$work/$target.txt" ||
        fail "$target: TRUST does not have its stacks"
done
: >"$work/over"
wait "$strangers"

# Callers have what they called, and the line that most of it is in.
same "hot callers" "True True True" "$(json "$work/callers_target.json" \
    "' '.join(str(any(c['function'] == f and 10 * c['self_ns'] < c['total_ns'] and
        c['leaf']['function'] == 'spin'
        for c in j['hot_callers'])) for f in ('solve', 'sorter', 'main'))")"
grep -q 'HOT CALLERS' "$work/callers_target.txt" ||
    fail "the text has no callers"

# A copy that is too short cuts the stacks, and the report has how many.
record callers_target 40 --sample-stack 256
cut=$(json "$work/callers_target.json" \
    "j['sampled']['stacks']['cut'] / j['sampled']['stacks']['unwound'] > 0.2")
same "stacks cut at 256 bytes" True "$cut"
grep -q 'deeper than 256 B' "$work/callers_target.txt" ||
    fail "TRUST does not have the stacks that were cut"

# Without copies they are the kernel's chains, as before.
record callers_target 10 --sample-stack 0
same "without copies" 0 \
    "$(json "$work/callers_target.json" "j['sampled']['stacks']['unwound']")"

for size in 61KiB -1; do
    if "$bin/ckagent" --sample-stack $size -- true 2>"$work/err"; then
        fail "--sample-stack $size was taken"
    fi
    grep -q 'sample-stack' "$work/err" || fail "$(cat "$work/err")"
done
