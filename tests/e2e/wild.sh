#!/usr/bin/env bash
# wild.sh - a program that overwrites recording memory harms itself alone
#
# SPDX-License-Identifier: Apache-2.0
#
# CK_WILD programs (8; in full 1000), each with a wild write of its own into
# the pages of the ring that are mapped in it. Each prints and ends as without
# ck, its collector ends by itself, and the run is reported, or refused in one
# line. CK_WILD_FIRST: the first seed.
. "$(dirname "$0")/lib.sh"
count=${CK_WILD:-8}
first=${CK_WILD_FIRST:-0}
step=${CK_WILD:+1}
step=${step:-9} # of few, each at another place and with other values
seen=0

# The collector of the run in $1 has ended.
collector_gone() {
    local i
    for ((i = 0; i < 600; i++)); do
        pgrep -f -- "--dir $1 " >/dev/null || return 0
        read -rt 0.05 <> <(:) || :
    done
    return 1
}

for ((i = 0; i < count; i++)); do
    seed=$((first + i * step))
    run=$work/run
    status=0
    timeout 300 "$bin/ckagent" --report none --dir "$run" -- \
        "$tests/wild" $seed >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = 3 ] || fail "seed $seed: status $status: $(cat "$work/err")"
    [ "$(cat "$work/out")" = hello ] || fail "seed $seed: $(cat "$work/out")"
    collector_gone "$run" || fail "seed $seed: its collector does not end"
    status=0
    timeout 300 "$bin/ckmerge" --quiet --output json="$work/report.json" "$run" \
        2>"$work/said" || status=$?
    case $status in
    0 | 3) ;;
    1) [ -s "$work/said" ] || fail "seed $seed: refused without a reason" ;;
    *) fail "seed $seed: ckmerge ended with $status: $(cat "$work/said")" ;;
    esac
    grep -qi 'overwritten' "$work/report.json" 2>/dev/null && seen=$((seen + 1))
    rm -rf "$run" "$work/report.json"
done
echo "ok: $count programs ran as without ck, $seen reports name the overwriting"
[ "$seen" -gt 0 ] || fail "no report names it"
