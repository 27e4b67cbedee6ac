#!/usr/bin/env bash
# strangers.sh - who has no key, or misuses it, does no harm to a real run
#
# SPDX-License-Identifier: Apache-2.0
#
# A ckagg with keys on all addresses; beside a real job, strangers of all
# kinds at full rate for CK_SECONDS (2; by hand 60).
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/stranger" ] || skip "stranger was not built"
seconds=${CK_SECONDS:-2}
mkdir "$work/runs"

"$bin/ckagg" --listen tcp://0.0.0.0:0 --dir "$work/runs" \
    >"$work/ready" 2>"$work/ckagg.log" &
ckagg=$!
trap 'kill -9 $ckagg 2>/dev/null || :; cleanup' EXIT
for ((i = 0; i < 2000; i++)); do
    [ ! -s "$work/ready" ] || break
    read -rt 0.05 <> <(:) || :
done
endpoint=$(cat "$work/ready")
case $endpoint in *curve=*token=*) ;; *) fail "no keys in: $endpoint" ;; esac
export CKAGENT_AGGREGATOR=$endpoint

# An honest run first: its frames are what a replay has.
"$bin/ckagent" --report none -j honest -- "$tests/lives_target" 2000 || :
for ((i = 0; i < 200; i++)); do # its collector lives a moment longer
    seg=$(find "$work/runs" -name 'seg-*.ck' | head -n 1)
    [ -z "$seg" ] || break
    read -rt 0.05 <> <(:) || :
done
[ -n "$seg" ] || fail "the honest run was not stored"

agents=()
marks=$((seconds * 16000))
"$bin/ckagent" --report none -j beside -- "$tests/lives_target" $marks &
agents+=($!)
for mode in bytes nokey wrongkey wrongtoken nohello replay; do
    timeout $((seconds + 30)) "$tests/stranger" $mode "$seconds" "$endpoint" \
        "$seg" >"$work/$mode" &
    agents+=($!)
done
wait "${agents[@]}" || :
cat "$work"/{bytes,nokey,wrongkey,wrongtoken,nohello,replay}
for mode in nokey wrongkey wrongtoken nohello; do
    grep -q 'welcome 0,' "$work/$mode" || fail "$mode was let in"
done
kill -0 $ckagg || fail "ckagg is gone"
"$bin/ckagg" --status --json "$endpoint" >"$work/status.json" ||
    fail "ckagg does not answer"
same "frames refused" True \
    "$(json "$work/status.json" "j['intake']['refused'] > 0")"

# A keyed peer that makes agents and jobs without end.
timeout $((seconds + 30)) "$tests/stranger" flood "$seconds" "$endpoint"
kill -0 $ckagg || fail "ckagg is gone after the flood"
awk '/^VmHWM/ { printf "ckagg: %d kB at most\n", $2
                exit $2 > 1000000 }' /proc/$ckagg/status ||
    fail "ckagg took too much memory"
awk -v hz="$(getconf CLK_TCK)" \
    '{ printf "ckagg: %.1f s of CPU\n", ($14 + $15) / hz }' /proc/$ckagg/stat
kill -TERM $ckagg
wait $ckagg || :

# The run beside them lost nothing; nothing is outside the directory.
run=$(grep -l '"beside"' "$work"/runs/*/manifest.json | xargs dirname)
"$bin/ckmerge" --quiet --output json="$work/report.json" \
    --output chrome="$work/trace.json" "$run" || :
same "lost beside strangers" 0 "$(json "$work/report.json" "j['trust']['lost']")"
same "marks beside strangers" "$marks" "$(json "$work/trace.json" \
    "sum(e['name'] == 'number' for e in j['traceEvents'])")"
[ ! -e "$work/stranger" ] && [ ! -e "$work/../stranger" ] ||
    fail "a job's name became a path"
! grep -q $'\x1b' "$work/ckagg.log" || fail "an escape reached the log"
