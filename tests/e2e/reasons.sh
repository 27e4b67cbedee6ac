#!/usr/bin/env bash
# reasons.sh - the function of the program that is the reason, behind a helper
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin

# reason NAME RANK LEAF CALLER CALLED_FROM COMMAND WORD...
reason() {
    local name=$1
    rm -rf "${work:?}/$name"
    timeout 100 mpirun -n 3 "$bin/ckagent" --report none --sample 499 \
        --dir "$work/$name" -- "${@:6}" >"$work/$name.out" 2>&1 </dev/null ||
        { cat "$work/$name.out"; fail "mpirun"; }
    wait_done "$work/$name"
    "$bin/ckmerge" --quiet --output json="$work/$name/report.json" \
        --output text="$work/$name.txt" "$work/$name"
    [ "$(json "$work/$name/report.json" \
        "(j.get('sampled') or {}).get('samples', 0)")" -gt 0 ] ||
        skip "no samples: perf_event is not permitted here"
    # The largest thing of that rank that it computed.
    same "$name: rank, function, caller, called from" \
        "($2, '$3', '$4', '$5')" "$(json "$work/$name/report.json" \
        "(lambda i: (i['rank'], i['did']['sampled']['function'],
            i['did']['sampled'].get('caller', {}).get('function'),
            i['did']['sampled'].get('called_from', {}).get('function')))(
            [i for i in j['delays']['items'] if i['did']['sampled']][0])")"
    grep -q "in $3 ([a-z.]*:[0-9]*) below $4 called from $5" \
        "$work/$name.txt" || fail "the text of $name has no callers"
}

program=$tests/reasons.openmpi
[ -x "$program" ] || skip "reasons was not built"
reason c 2 kernel remesh step "$program"
if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    reason python 1 kernel rebalance step /usr/bin/python3 "$here/reasons.py"
fi
