#!/usr/bin/env bash
# swarm.sh - many agents on one ckagg, half of them killed; all frames once
#
# SPDX-License-Identifier: Apache-2.0
#
# By hand in full: build/bin/bench_swarm (4096 agents, a minute).
. "$(dirname "$0")/lib.sh"
[ -x "$bin/bench_swarm" ] || skip "bench_swarm was not built"
timeout 100 "$bin/bench_swarm" --agents 300 --seconds 4 || fail "bench_swarm"
