#!/usr/bin/env bash
# together.sh - two jobs that start at once in one --dir are two runs
#
# SPDX-License-Identifier: Apache-2.0
#
# CK_TRIES times (2; by hand 20), one with 300 marks and one with 500.
. "$(dirname "$0")/lib.sh"

# Marks of each run, sorted.
marks() {
    local run
    for run in "$work/run" "$work/run.2"; do
        wait_done "$run"
        "$bin/ckmerge" --quiet --output chrome="$work/trace.json" "$run" ||
            [ $? = 3 ]
        json "$work/trace.json" \
            "sum(e['name'] == 'number' for e in j['traceEvents'])"
    done | sort -n | xargs
}

for ((i = 0; i < ${CK_TRIES:-2}; i++)); do
    for count in 300 500; do
        timeout 300 "$bin/ckagent" --report none --dir "$work/run" -- \
            "$tests/lives_target" $count 2>"$work/err.$count" || : &
    done
    wait
    same "marks of the two runs" "300 500" "$(marks)"
    same "jobs that were told" 1 \
        "$(cat "$work"/err.* | grep -c 'another job.*this run goes to')"
    discard "$work/run" "$work/run.2"
done

# Records that another process moves just now are in no file of the run yet:
# ckmerge waits. Its lock is held on a ring as a salvage holds it.
"$bin/ckagent" --report none --dir "$work/whole" -- "$tests/lives_target" 300 ||
    :
wait_done "$work/whole"
mkdir -m 700 "$work/moved"
/usr/bin/python3 - "$work" <<'PY' &
import fcntl, os, shutil, sys, time
work = sys.argv[1]
place = f"{os.environ.get('CK_TEST_RINGS', '/dev/shm')}/ck-{os.geteuid()}"
os.makedirs(place, 0o700, exist_ok=True)
name = f"{place}/{os.urandom(16).hex()}.ring"
fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
open(work + "/held", "w").close()
time.sleep(1.5)
for file in os.listdir(work + "/whole"):
    if file.endswith(".ck") or file == "manifest.json":
        shutil.copy(f"{work}/whole/{file}", work + "/moved")
os.unlink(name)
PY
for ((i = 0; i < 2000; i++)); do
    [ ! -e "$work/held" ] || break
    read -rt 0.05 <> <(:) || :
done
"$bin/ckmerge" --quiet --output json="$work/report.json" "$work/moved" ||
    [ $? = 3 ] || fail "ckmerge did not wait for what is moved"
wait
same "events while another moves them" \
    "$(json "$work/whole/report.json" "j['trust']['events']")" \
    "$(json "$work/report.json" "j['trust']['events']")"
