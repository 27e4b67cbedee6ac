#!/usr/bin/env bash
# lies.sh - frames sealed by one who holds the key, with wrong figures
#
# SPDX-License-Identifier: Apache-2.0
#
# In full by hand: CK_LIES=10000 tests/e2e/lies.sh
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
timeout 300 mpirun -n 3 "$bin/ckagent" --report none --dir "$work/run" -- \
    "$tests/lives_target" 300 >"$work/out" 2>&1 || :
wait_done "$work/run"
/usr/bin/python3 "$here/lies.py" "$bin/ckmerge" "$work/run" \
    "${CK_LIES:-60}" "${CK_SEED:-$RANDOM}" || fail "a lie is believed"
