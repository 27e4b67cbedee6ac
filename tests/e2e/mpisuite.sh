#!/usr/bin/env bash
# mpisuite.sh - the MPICH project's test programs, plain and under ckagent
#
# SPDX-License-Identifier: Apache-2.0
#
# Takes the sources from Debian's source package mpich, builds the point to
# point, collective, communicator and topology programs against the default
# MPI, and runs each twice. What passes plain must pass traced.
. "$(dirname "$0")/lib.sh"
. "$here/suite.sh"

least=${CK_MPISUITE_LEAST:-52} # programs that pass plain, of all lists
suite_seconds=10               # a few hang plain

suite_prepare
total=0 traced=0 broken=()
while read -r dir program ranks; do
    cd "$suite/$dir"
    suite_passes "$work/plain.log" mpirun -n "$ranks" "./$program" ||
        continue
    total=$((total + 1))
    # None hangs: the machine may be busy, or a program nearly as long plain.
    if suite_seconds=60 suite_passes "$work/traced.log" mpirun -n "$ranks" "$bin/ckagent" \
        --report none --dir "$work/run-$program" -- "./$program"; then
        traced=$((traced + 1))
    else
        broken+=("$dir/$program")
        sed "s|^|$program: |" "$work/traced.log" | head -n 20
    fi
    discard "$work/run-$program"
    [ "$total" -lt "$least" ] || break
done < <(suite_entries | suite_shuffle)

echo "$total programs pass plain, $traced of them under ckagent"
[ "$total" -ge "$least" ] || fail "only $total programs ran"
[ ${#broken[@]} -eq 0 ] || fail "not under ckagent: ${broken[*]}"
