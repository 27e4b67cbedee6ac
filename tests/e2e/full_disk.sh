#!/usr/bin/env bash
# full_disk.sh - run directory and spool on a file system that is full
#
# SPDX-License-Identifier: Apache-2.0
#
# Tmpfs of some hundred kB in a mount namespace of its own. Recorded marks and
# those counted as lost must be all; the program must not notice; space that
# comes back is used.
if [ -z "${CK_FULL_DISK_INSIDE:-}" ]; then
    unshare -m true 2>/dev/null || {
        echo "skipped: mount namespaces are not allowed here"
        exit 77
    }
    CK_FULL_DISK_INSIDE=1 exec unshare -m "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
count=60000
trap 'umount -l "$work/full" "$work/tmp" 2>/dev/null || :; cleanup' EXIT

small() {
    mkdir -p "$1"
    mount -t tmpfs -o "size=$2,mode=700" tmpfs "$1"
}
# Until collector and ckagg of the run have ended: a full disk takes no more
# manifest that would say so.
wait_done() {
    local i
    for ((i = 0; i < 1200; i++)); do
        pgrep -f -- "--dir $1" >/dev/null || return 0
        read -rt 0.05 <> <(:) || :
    done
    fail "$1: no end of the run"
}
# numbers RUN: marks in the merged run, records lost.
numbers() {
    "$bin/ckmerge" --quiet --output chrome="$work/trace.json" \
        --output json="$work/report.json" "$1" 2>"$work/err" ||
        [ $? = 3 ] || { cat "$work/err"; fail "ckmerge $1"; }
    echo "$(json "$work/trace.json" \
        "len({e['args']['value'] for e in j['traceEvents'] if e['name'] == 'number'})")" \
        "$(json "$work/report.json" "j['trust']['lost']")"
}
run() {
    local status=0
    TMPDIR=$work/tmp timeout 120 "$bin/ckagent" --report later --dir "$1" -- \
        "$tests/lives_target" $count 2>"$work/said" || status=$?
    same "status of the program on $1" 3 "$status"
}

small "$work/tmp" 128k
small "$work/full" 128k
run "$work/full/run"
wait_done "$work/full/run"
cat "$work/said"
read -r marks lost < <(numbers "$work/full/run")
echo "full: $marks marks stored, $lost records lost"
[ "$marks" -lt $count ] || fail "the disk was not full"
[ "$lost" -gt 0 ] || fail "the loss is not in the report"
[ $((marks + lost)) -ge $count ] || fail "marks neither stored nor counted"

# Space comes back while the program runs.
umount "$work/full"
small "$work/full" 96k
is_full() { [ "$(df --output=avail "$work/full" | tail -1)" -lt 8 ]; }
(
    for ((i = 0; i < 200; i++)); do
        ! is_full || break
        read -rt 0.05 <> <(:) || :
    done
    mount -o remount,size=64m "$work/full"
) &
run "$work/full/run"
wait
wait_done "$work/full/run"
read -r marks lost < <(numbers "$work/full/run")
echo "room again: $marks marks stored, $lost records lost"
same "marks stored when room came back" "$count 0" "$marks $lost"
