#!/usr/bin/env bash
# keep.sh - only the newest of a run is kept; ckagg is killed meanwhile
#
# SPDX-License-Identifier: Apache-2.0
#
# Four ranks record some hundred bytes a millisecond with --keep SIZE. What the
# run takes on disk is looked at all the time; ckagg is killed CK_KILLS times.
# The report then has what was kept, the run verifies, and the marks that are
# there are the last ones of each rank, none twice, none missing between.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/kills.openmpi" ] || skip "kills.openmpi was not built"
keep=$((1 << 20))
ranks=4
marks=${CK_MARKS:-400000}
kills=${CK_KILLS:-2}
run=$work/run

# bytes_of PATTERN: of the run's files
bytes_of() {
    { find "$run" -name "$1.ck" -printf '%s\n' 2>/dev/null || :; } |
        awk '{ sum += $1 } END { print sum + 0 }'
}
# ckagg of this run
aggregator() { pgrep -f -- "^ckagg .*--dir $run " || :; }

timeout 800 mpirun -n $ranks "$bin/ckagent" --keep "$((keep >> 20))M" \
    --report none --dir "$run" -- "$tests/kills.openmpi" "$marks" \
    "$work/page" mpi >"$work/said" 2>&1 &
job=$!
most=0 known=0 killed=0
while kill -0 $job 2>/dev/null; do
    bytes=$(bytes_of '*')
    [ "$bytes" -le "$most" ] || most=$bytes
    # Each time that more was discarded, by the one that came after too.
    bytes=$(bytes_of 'facts-*')
    if [ "$killed" -lt "$kills" ] && [ "$bytes" -gt "$known" ]; then
        for pid in $(aggregator); do
            kill -9 "$pid" && killed=$((killed + 1))
        done
        known=$bytes
    fi
    read -rt 0.05 <> <(:) || :
done
status=0
wait $job || status=$?
same "status of the job" 0 $status
wait_done "$run"
echo "times that ckagg was killed: $killed of $kills"
[ "$killed" -gt 0 ] || [ "$kills" -eq 0 ] || fail "ckagg was never killed"
echo "most on disk: $most bytes of $keep"
[ "$most" -le $((keep + keep / 8)) ] || fail "the run took $most bytes"
[ "$most" -ge $((keep / 2)) ] || fail "the run took only $most bytes"

"$bin/ckmerge" --verify "$run" >"$work/verified" 2>&1 ||
    { cat "$work/verified"; fail "ckmerge --verify: $?"; }
grep -q 'discarded on request' "$work/verified" || fail "verify does not say it"
"$bin/ckmerge" --quiet --output json="$work/report.json" \
    --output chrome="$work/trace.json" "$run" 2>"$work/err" ||
    { cat "$work/err"; fail "ckmerge: $?"; }
grep -q '^ kept: the last' "$run/report.txt" || fail "the report does not say it"
/usr/bin/python3 - "$work" "$ranks" "$marks" <<'PY'
import collections
import json
import sys

work, ranks, marks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
report = json.load(open(work + "/report.json"))
manifest = json.load(open(work + "/run/manifest.json"))
assert report["trust"]["lost"] == 0, report["trust"]
assert report["kept"]["ranks"] == ranks, report["kept"]
assert report["kept"]["discarded_records"] == manifest["discarded_records"] > 0
of = collections.defaultdict(list)
for event in json.load(open(work + "/trace.json"))["traceEvents"]:
    if event["name"] == "number":
        of[event["pid"]].append(event["args"]["value"])
assert len(of) == ranks, of.keys()
for pid, values in of.items():
    values.sort()
    assert values == list(range(values[0], marks)), (pid, values[:5])
    assert 0 < values[0] < marks - 1000, values[0]
print(f"ok: {sum(map(len, of.values()))} of {ranks * marks} marks, "
      f"the last ones of each rank")
PY

# A time: so much at least, by the stamps of the program's own calls, and no more
# than ckagg(1) has, where the processes have their CPUs: status 3 is more.
keeps_a_second() {
    local kept
    rm -rf "$work/second"
    "$bin/ckagent" --keep 1s --report none --dir "$work/second" -- \
        /usr/bin/python3 -c 'import time
until = time.monotonic() + 4.5
while time.monotonic() < until:
    time.sleep(0.001)'
    wait_done "$work/second"
    "$bin/ckmerge" --quiet --output json="$work/second.json" "$work/second" ||
        fail "--keep 1s: ckmerge"
    kept=$(json "$work/second.json" "(j['region']['end_ns'] -
        j['region']['start_ns']) / 1e9")
    same "--keep 1s: discarded" True \
        "$(json "$work/second.json" "j['kept']['discarded_records'] > 0")"
    same "--keep 1s: $kept s, 1 at least" True \
        "$(json "$work/second.json" "1 <= $kept < j['kept']['of_ns'] / 1e9")"
    [ "$(json "$work/second.json" "$kept <= 1 + 1 / 8 + 1.5")" = True ] || return 3
}
for _ in 1 2 3 4; do
    tried keeps_a_second
    [ "$status" = 3 ] || break
    [ "$others" -ge 20 ] || fail "--keep 1s: more than 2.625 s, alone"
    echo "--keep 1s: more than 2.625 s, others took $others % of the CPU time"
done
[ "$status" = 0 ] || [ "$status" = 3 ] || exit "$status"

# ckagg is killed when it makes the report and all agents that are not rank 0's
# have left: the last one of them has another finish the run.
for ((try = 1; try < 9; try++)); do
    last=$work/last$try
    timeout 500 mpirun -n 2 "$bin/ckagent" --ranks 1 --report none \
        --dir "$last" -- "$tests/kills.openmpi" 30000 "$work/page" mpi \
        >"$work/said" 2>&1 &
    job=$!
    pid=
    for ((i = 0; i < 8000; i++)); do
        state=
        [ ! -e "$last/manifest.json" ] || state=$(<"$last/manifest.json")
        [[ $state != *'"state": "'@(merge|done)'"'* ]] || break
        [ -z "$state" ] || [ -n "$pid" ] ||
            pid=$(pgrep -f -- "^ckagg .*--dir $last ") || :
        read -rt 0.002 <> <(:) || :
    done
    kill -9 "$pid"
    state=$(<"$last/manifest.json")
    wait $job || fail "the job ended with $?"
    [[ $state != *'"state": "merge"'* ]] || break
done
[ "$try" -lt 9 ] || fail "ckagg was never killed at its report"
wait_done "$last"
echo "ok: a ckagg that was killed at its report was followed (try $try)"

# A run directory that is taken away: no process waits for it for ever.
mkdir "$work/away" "$work/tmp"
TMPDIR=$work/tmp timeout 500 "$bin/ckagent" --keep 1M --report none \
    --dir "$work/away/run" -- \
    "$tests/kills.openmpi" 900000 "$work/page" >"$work/said" 2>&1 &
job=$!
while kill -0 $job 2>/dev/null && ! compgen -G "$work/away/run/facts-*" >/dev/null; do
    read -rt 0.05 <> <(:) || :
done
mv "$work/away" "$work/taken"
status=0
wait $job || status=$?
same "status of a program whose run was taken away" 7 $status
for ((i = 0; i < 6000; i++)); do
    pgrep -f -- "--dir $work/away/run " >/dev/null || break
    read -rt 0.1 <> <(:) || :
done
same "processes left of it" "" "$(pgrep -f -- "--dir $work/away/run " || :)"
