#!/usr/bin/env bash
# kills.sh - kill -9 of program, collector, ckagg, front: few trials of each
#
# SPDX-License-Identifier: Apache-2.0
#
# The full counts by hand, each series resumable by its state file:
#     tests/e2e/kills.py build target 1000 1 target.json
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/kills.openmpi" ] || skip "kills.openmpi was not built"
seed=${CK_SEED:-$RANDOM}
kills() {
    timeout 1000 /usr/bin/python3 "$here/kills.py" "$build" "$1" "$2" "$seed" ||
        fail "$1"
}
kills target 20
kills collector 4
kills ckagg 4
kills both 2
kills front 3
kills all 3
