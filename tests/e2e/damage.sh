#!/usr/bin/env bash
# damage.sh - a run that is cut at many bytes, and one with flipped bits
#
# SPDX-License-Identifier: Apache-2.0
#
# In full by hand: CK_STEP=1 CK_FLIPS=10000 tests/e2e/damage.sh
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
timeout 300 "$bin/ckagent" --report none --dir "$work/small" -- \
    "$tests/lives_target" 300 || :
timeout 600 mpirun -n 4 "$bin/ckagent" --dir "$work/large" -- "$tests/train" \
    --steps 30 >"$work/out" 2>&1 || { cat "$work/out"; fail "mpirun"; }
for ((i = 0; i < 200; i++)); do
    ! grep -qs '"state": "done"' "$work/small/manifest.json" || break
    read -rt 0.05 <> <(:) || :
done
for what in "large shrink ${CK_SHRINKS:-40}" "small cut ${CK_STEP:-61}" \
    "large flip ${CK_FLIPS:-60} ${CK_SEED:-$RANDOM}" \
    "large bare ${CK_FLIPS:-60} ${CK_SEED:-$RANDOM}"; do
    set -- $what
    /usr/bin/python3 "$here/damage.py" "$bin/ckmerge" "$work/$1" "${@:2}" ||
        fail "$what"
done
