#!/bin/sh
# gpu.sh - ckcupti on a real GPU: counts against truth, clock, ends
# SPDX-License-Identifier: Apache-2.0
#
#     tests/e2e/gpu.sh [BUILD_DIR]
#
# One line a step. Exit 0, 1 (a step failed), or 77 with the reason where
# there is no GPU or a part was not built.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
build=${1:-${CK_BUILD:-$here/../../build}}
build=$(cd "$build" 2>/dev/null && pwd) || {
    echo "SKIPPED: no build directory (give it: gpu.sh BUILD_DIR)"
    exit 77
}

for part in lib/ck/libckcupti.so tests/cuda_truth tests/ringrun; do
    if [ ! -e "$build/$part" ]; then
        echo "SKIPPED: $part was not built (needs the CUDA toolkit)"
        exit 77
    fi
done
truth=$(timeout 60 "$build/tests/cuda_truth" 1 2>&1)
rc=$?
if [ $rc -eq 77 ] || [ $rc -eq 127 ]; then
    echo "SKIPPED: $truth"
    exit 77
fi
if [ $rc -ne 0 ]; then
    echo "G1 program         FAIL  without ck: $truth"
    exit 1
fi
echo "G0 machine         ok    $(nvidia-smi -L 2>/dev/null | head -1);" \
    "$(grep -h RmProfilingAdminOnly /proc/driver/nvidia/params 2>/dev/null);" \
    "clocksource $(cat \
    /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "G1 program         ok    $(echo "$truth" | head -1)"
exec timeout 540 python3 "$here/gpu.py" "$build"
