#!/usr/bin/env bash
# service.sh - a ckagg that stays: whose its runs are, and what --status prints
#
# SPDX-License-Identifier: Apache-2.0
#
# A service of one user gets jobs of that user and of another one, all in other
# time zones, and one whose second host is lost: all of its processes are killed.
. "$(dirname "$0")/lib.sh"
need setpriv util-linux
need unshare util-linux
need hostname hostname
[ "$(id -u)" = 0 ] || skip "only root can be two users"
unshare --uts --pid --fork --kill-child --mount-proc true 2>/dev/null ||
    skip "no host name and processes of its own are permitted"
chmod 711 "$work" "$rings"
declare -A uid=([owner]=64411 [other]=64412)

for user in owner other; do
    mkdir -m 700 "$work/$user" "$work/$user/runtime" "$rings/$user"
    chown -R "${uid[$user]}:${uid[$user]}" "$work/$user" "$rings/$user"
done

# as USER COMMAND...: in that user's folder; takes this shell's place.
as() {
    local user=$1
    shift
    cd "$work/$user"
    exec setpriv "--reuid=${uid[$user]}" "--regid=${uid[$user]}" \
        --clear-groups env HOME="$work/$user" CK_TEST_RINGS="$rings/$user" \
        XDG_RUNTIME_DIR="$work/$user/runtime" "$@"
}

(as owner "$bin/ckagent" --version) >/dev/null 2>&1 ||
    skip "another user cannot run what is in $build"
(as owner env TZ=ZZZ+12 CKAGG_KEYFILE=endpoint "$bin/ckagg" \
    --listen tcp://127.0.0.1:0 --dir runs --beat-timeout 1s) \
    >"$work/ready" 2>"$work/log" &
service=$!
job= stays= lost=
down() {
    local status=$?
    # shellcheck disable=SC2086 # words, or none
    [ -z "$service$job$stays$lost" ] ||
        kill -9 $service $job $stays $lost 2>/dev/null
    (exit $status)
    cleanup
}
trap down EXIT
for _ in $(seq 3000); do
    [ ! -s "$work/ready" ] || break
    sleep 0.1
done
endpoint=$(cat "$work/owner/endpoint")
runs=$work/owner/runs

# status FILE: the table, without asking for an endpoint by name.
status() {
    (as owner env CKAGG_KEYFILE=endpoint TZ=ZZZ-11 "$bin/ckagg" --status) \
        >"$1" 2>"$work/err" || fail "--status: $(cat "$work/err")"
}

# row JOB: what --status prints of that job, once a line of it has PATTERN.
row() {
    local _
    for _ in $(seq 3000); do
        status "$work/status"
        awk -v job="$1" 'index($0, job ": ") == 1 { is_it = 1 }
            $0 == "" { is_it = 0 } is_it' "$work/status" >"$work/row"
        ! grep -q "$2" "$work/row" || return 0
        sleep 0.1
    done
    fail "--status of $1 never had $2: $(cat "$work/status" "$work/log")"
}

# A job of the owner, east of UTC, while it runs and behind its end.
begin=$(date +%s)
mkfifo -m 666 "$work/owner/go"
(as owner env TZ=ZZZ-14 CKAGENT_AGGREGATOR="$endpoint" "$bin/ckagent" \
    --report none -j mine -- sh -c '"$0" 2000 || read -r line <go' \
    "$tests/lives_target") >"$work/out" 2>"$work/err" &
job=$!
row mine "^  2[.][0-9]* k records"
end=$(date +%s)
grep -q "^mine: run, 1 of 1 ranks, user ${uid[owner]}, since " "$work/row" ||
    fail "the head of a job that runs: $(cat "$work/row")"
since=$(sed -n '1s/.*, since \(.* UTC\) (.*/\1/p' "$work/row")
started=$(date -d "$since" +%s) || fail "no start in $(cat "$work/row")"
age=$(sed -n '1s/.* UTC (\([0-9]*\) s).*/\1/p' "$work/row")
[ $((begin <= started && started <= end && age <= end - begin)) = 1 ] ||
    fail "started in $begin to $end, by --status $started, $age s ago"
grep -q "^  command sh -c .*lives_target" "$work/row" ||
    fail "its command: $(cat "$work/row")"
echo "ok: user, start, age and command of a job that runs"
echo >"$work/owner/go"
wait $job || fail "the job of the owner: $?, $(cat "$work/err")"
job=
row mine "^mine: complete"
run=$(sed -n 's/.*; run //p' "$work/row")
wait_done "$run"
"$bin/ckmerge" --quiet --output json="$work/report.json" "$run" ||
    fail "ckmerge: $?"
/usr/bin/python3 - "$work" "$run" <<'PY'
import json
import re
import sys

work, run = sys.argv[1:]
manifest = json.load(open(run + "/manifest.json"))
row = open(work + "/row").read()
text, lost = re.search(r"^  (\S+ ?k?) records, .*, (\d+) lost", row, re.M).groups()
assert text == "%.2f k" % (manifest["records"] / 1000), (row, manifest["records"])
assert int(lost) == manifest["lost"] == 0, row
assert manifest["end"] == "complete", manifest["end"]
report = json.load(open(work + "/report.json"))
# The report counts no records that the collector makes of itself.
assert 2000 < report["trust"]["events"] <= manifest["records"], (report["trust"], row)
print(f"ok: {text} records by --status and by the manifest")
PY
same "the run's user" "${uid[owner]}" "$(stat -c %u "$run")"

# Without a service the name has the time, in UTC.
begin=$(date +%s)
(as other env TZ=ZZZ+12 "$bin/ckagent" --report none -- true) 2>"$work/err" ||
    fail "a job without a service: $(cat "$work/err")"
run=$(echo "$work"/other/ck-*)
[[ ${run##*-} =~ ^([0-9]{8})T([0-9]{2})([0-9]{2})([0-9]{2})$ ]] ||
    fail "the name of $run has no time"
named=$(date -u -d "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}:${BASH_REMATCH[3]}:${BASH_REMATCH[4]}" +%s)
[ $((begin - 2 <= named && named <= $(date +%s))) = 1 ] ||
    fail "${run##*/} was made after $begin, its name has $named"

# The other user's job runs, is stored as the owner's, and that user learns it.
status=0
(as other env CKAGENT_AGGREGATOR="$endpoint" "$bin/ckagent" \
    -j theirs -- sh -c 'exit 5') >"$work/out" 2>"$work/err" || status=$?
same "the status of another user's program" 5 $status
same "lines that name whose the run is" 1 "$(grep -c \
    "the aggregator runs as user .*${uid[owner]}.*: only that user can read" \
    "$work/err")"
row theirs "^theirs: complete"
grep -q ", user ${uid[other]}, " "$work/row" || fail "$(cat "$work/row")"
run=$(sed -n 's/.*; run //p' "$work/row")
same "whose it is" "${uid[owner]}" "$(stat -c %u "$run")"
! (as other ls "$run") >/dev/null 2>&1 ||
    fail "the other user can read $run"

# Two hosts. One of them is lost: its processes end at once, and their numbers
# mean nothing here.
rank() {
    as owner env CKAGENT_AGGREGATOR="$endpoint" FLUX_JOB_ID=f7 FLUX_JOB_SIZE=2 \
        FLUX_TASK_RANK="$1" "$bin/ckagent" --report none -j lost -- \
        sh -c 'read -r line <go'
}
export -f as rank
export work rings bin endpoint
rank 0 >"$work/out" 2>&1 &
stays=$!
# shellcheck disable=SC2016
unshare --uts --pid --fork --kill-child --mount-proc bash -c '
    declare -A uid=([owner]=$0)
    hostname lost && (rank 1) & wait' "${uid[owner]}" >"$work/out1" 2>&1 &
lost=$!
row lost "^lost: run, 2 of 2 ranks"
row lost "^ *1  lost  *run"
kill -9 "$lost"
wait "$lost" 2>/dev/null || :
lost=
row lost "^ *1  lost  *dead"
grep -q "^lost: run, " "$work/row" || fail "the host that is left: $(cat "$work/row")"
echo >"$work/owner/go"
wait $stays || fail "the rank that was left: $?, $(cat "$work/out")"
stays=
row lost "^lost: agents died"
run=$(sed -n 's/.*; run //p' "$work/row")
wait_done "$run"
! grep -q '"end": "complete"' "$run/manifest.json" ||
    fail "complete by the manifest: $(cat "$run/manifest.json")"
"$bin/ckmerge" "$run" >"$work/report" || :
grep -q '^ rank 1 has no recorded end$' "$work/report" ||
    fail "the report of a lost host: $(head -n 9 "$work/report")"
kill $service
wait $service || fail "ckagg ended with $?: $(cat "$work/log")"
service=
# A line in the log of each job, with how it ended.
for end in "mine.*complete" "theirs.*complete" "lost.*agents died"; do
    same "lines of the log: $end" 1 "$(grep -c "$end" "$work/log")"
done
