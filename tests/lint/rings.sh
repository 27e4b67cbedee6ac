#!/usr/bin/env bash
# rings.sh - every test that starts ckagent keeps its ring files apart
#
# SPDX-License-Identifier: Apache-2.0
#
# Else the wreckage of another job of the same user is salvaged and reported in
# the midst of a test. Benchmarks that use job.py get them from there.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
own='/(lib|rings)\.sh"|CK_TEST_RINGS|from job import .*Bench'
starts='(bin"?/|BIN, "|bin \+ "/|program\(")ckagent"?'
while read -r file; do
    # NAME.py may be started by NAME.sh.
    grep -qsE "$own" "$file" "${file%.py}.sh" || {
        echo "tests/$file: starts ckagent without tests/rings.sh"
        status=1
    }
done < <(grep -rlE "$starts" --include='*.sh' \
    --include='*.py' agent bench e2e launch merge schema aggregator)
# Where they get them from.
for file in e2e/lib.sh:'^\. .*/rings\.sh"' rings.sh:'^export CK_TEST_RINGS=' \
    bench/job.py:'CK_TEST_RINGS'; do
    grep -qE "${file#*:}" "${file%%:*}" || {
        echo "tests/${file%%:*}: gives no CK_TEST_RINGS"
        status=1
    }
done
exit $status
