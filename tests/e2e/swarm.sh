#!/usr/bin/env bash
# swarm.sh - many agents on one ckagg, half of them killed; all frames once
#
# SPDX-License-Identifier: Apache-2.0
#
# Beside strangers on the port that never end what they began to send: ckagg may
# take 64 MB more than the agents need.
# By hand in full: build/bin/bench_swarm (4096 agents, a minute), and
# CK_AGENTS=64 CK_STRANGERS=1000 tests/e2e/swarm.sh
. "$(dirname "$0")/lib.sh"
[ -x "$bin/bench_swarm" ] || skip "bench_swarm was not built"
timeout 500 "$bin/bench_swarm" --agents "${CK_AGENTS:-300}" --seconds 4 \
    --crowd "$tests/crowd" --strangers "${CK_STRANGERS:-200}" ||
    fail "bench_swarm"
