#!/usr/bin/env bash
# main_job.sh - four ranks of the training program, exactly counted
#
# SPDX-License-Identifier: Apache-2.0
#
# The truth is known: six kernels a step and two a held-out batch, one
# MPI_Allreduce a step; nothing lost; busy + idle = the region, per device.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/train" ] || skip "train was not built"
steps=40 held_out=78 # batches of 32 in 2500 images a rank

timeout 600 mpirun -n 4 "$bin/ckagent" --dir "$work/run" -- "$tests/train" \
    --steps $steps >"$work/out" 2>"$work/err" </dev/null ||
    { cat "$work/err"; fail "mpirun"; }
grep -q '^accuracy' "$work/out" || fail "the program's stdout is not its own"
grep -q 'forward_hidden' "$work/err" || { cat "$work/err"; fail "no report"; }
grep -q '4 ranks' "$work/err" || fail "the report does not say 4 ranks"
[ -s "$work/run/report.txt" ] || fail "no report.txt"

"$bin/ckmerge" --quiet --output json="$work/report.json" "$work/run"
j() { json "$work/report.json" "$1"; }
kernel() { echo "[k['calls_in_run'] for k in j['kernels'] if k['name'] == '$1']"; }
call() { echo "sum(c['calls_in_run'] for c in j['calls'] if c['name'] == '$1')"; }

same "ranks" "[0, 1, 2, 3]" "$(j "sorted(r['rank'] for r in j['ranks'])")"
same "lost" 0 "$(j "j['trust']['lost']")"
same "update kernels" "[$((4 * steps))]" "$(j "$(kernel update)")"
same "allreduces" $((4 * steps)) "$(j "$(call MPI_Allreduce)")"
same "steps" $steps "$(j "j['steps']['count']")"
same "busy + idle = region" True \
    "$(j "all(d['busy_ns'] + d['idle_ns'] == j['region']['ns'] for d in j['devices'])")"
j "[c for c in j['calls'] if c['name'] == 'MPI_Allreduce']" |
    grep -q 'train.c' || fail "the call has no source line"
"$bin/ckmerge" --verify "$work/run" || fail "--verify"

# The same from the stored run, again; and no ring is left behind.
"$bin/ckmerge" --quiet --output json="$work/again.json" "$work/run"
cmp "$work/report.json" "$work/again.json" || fail "a second merge differs"
same "kernels of steps and held-out batches" "[$((4 * (steps + held_out)))]" \
    "$(j "$(kernel forward_hidden)")"

# When the launcher returns, the run is final, shown or not: its manifest has
# done, and nothing is written to it any more.
for report in now later none; do
    timeout 600 mpirun -n 2 "$bin/ckagent" --dir "$work/$report" \
        --report $report -- true 2>"$work/err" </dev/null || fail "mpirun"
    grep -q '"state": "done"' "$work/$report/manifest.json" ||
        fail "--report $report: the run is not done: $(cat "$work/err")"
    [ -s "$work/$report/report.json" ] || fail "--report $report: no report"
    rm -r "$work/$report" || fail "--report $report: it is still written to"
done
