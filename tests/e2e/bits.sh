#!/usr/bin/env bash
# bits.sh - the training result has the same bits with and without ck
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/train" ] || skip "train was not built"

for mode in "" --overlap; do
    for traced in "" "$bin/ckagent --report none --dir $work/run$mode --"; do
        # shellcheck disable=SC2086
        timeout 600 mpirun -n 2 $traced "$tests/train" --steps 60 $mode \
            --checkpoint "$work/weights${mode}${traced:+-traced}" \
            --checkpoint-every 60 >"$work/out${mode}${traced:+-traced}"
    done
    cmp "$work/out$mode" "$work/out$mode-traced" ||
        fail "output differs under ckagent ($mode)"
    cmp "$work/weights$mode" "$work/weights$mode-traced" ||
        fail "weights differ under ckagent ($mode)"
    echo "ok: losses, accuracy and weights are equal${mode:+ with }$mode"
done
