#!/usr/bin/env bash
# clock_crowd.sh - many clocks probe one ckagg: all calibrated, none wrongly
#
# SPDX-License-Identifier: Apache-2.0
#
# By hand in full: build/bin/bench_clockcrowd (1000 domains).
. "$(dirname "$0")/lib.sh"
[ -x "$bin/bench_clockcrowd" ] || skip "bench_clockcrowd was not built"
timeout 500 "$bin/bench_clockcrowd" --domains 60 --seconds 2 ||
    fail "bench_clockcrowd"
