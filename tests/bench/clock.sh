#!/usr/bin/env bash
# clock.sh [BUILD] - clocks between two time namespaces: figure and target
#
# SPDX-License-Identifier: Apache-2.0
#
# After one burst of 8 probes each: on an idle machine, beside four spinning
# processes, beside a ZeroMQ flood; and what it costs the agent.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../../build}/tests/bench_clock
bursts=${CK_BENCH_BURSTS:-500}
if [ ! -x "$program" ]; then
    echo "clock.sh: no $program: build first (cmake, ninja)" >&2
    exit 2
fi
echo "load of the machine before: $(cut -d' ' -f1-3 /proc/loadavg)," \
    "$(nproc) cores"
for mode in idle busy flood; do
    timeout 300 "$program" "$mode" "$bursts"
done
