#!/usr/bin/env bash
# mpisuite.sh - the MPICH project's test programs, plain and under ckagent
#
# SPDX-License-Identifier: Apache-2.0
#
# Takes the sources from Debian's source package mpich, builds its programs
# against the default MPI, and runs each twice. What passes plain must pass
# traced. Without CK_MPISUITE_ALL=1 a sample: point to point, collectives,
# communicators, topologies, one-sided and errors that a program handles.
. "$(dirname "$0")/lib.sh"
. "$here/suite.sh"

least=${CK_MPISUITE_LEAST:-52} # programs that pass plain, of all lists
suite_seconds=10               # a few hang plain

suite_prepare

entries() {
    if [ -n "${CK_MPISUITE_ALL:-}" ]; then
        suite_whole
    else
        # That one hangs in Open MPI alone now and then.
        suite_whole | awk 'NF == 3 && $3 <= 8 && $2 != "comm_idup_isend"' |
            suite_shuffle
    fi
}

# traced: the program of $dir, $program, $ranks and $words under ckagent. None
# hangs: the machine may be busy, or a program nearly as long plain.
traced() {
    local try
    for try in 1 2; do
        discard "$work/run"
        suite_seconds=45 suite_passes "$work/traced.log" \
            mpirun -n "$ranks" "$bin/ckagent" --report none \
            --dir "$work/run" -- "./$program" "${words[@]}" && return
        echo "$program: fails under ckagent (try $try)"
    done
    return 1
}

# plain: the program alone.
plain() {
    suite_passes "$work/plain.log" mpirun -n "$ranks" "./$program" "${words[@]}"
}

# steady: it passes alone again and again. (comm_idup_isend hangs in Open MPI
# now and then.)
steady() {
    local _
    for _ in 1 2 3; do
        plain || return 1
    done
}

total=0 passed=0 broken=()
[ -z "${CK_MPISUITE_ALL:-}" ] || least=1000000
while read -r dir program ranks words; do
    read -ra words <<<"$words"
    cd "$suite/$dir"
    plain || continue
    total=$((total + 1))
    if traced; then
        passed=$((passed + 1))
    elif ! steady; then
        echo "$program: left out, it does not always pass plain"
        total=$((total - 1))
    else
        broken+=("$dir/$program $ranks ${words[*]}")
        sed "s|^|$program: |" "$work/traced.log" | head -n 20
    fi
    discard "$work/run"
    [ "$total" -lt "$least" ] || break
done < <(entries)
[ -z "${CK_MPISUITE_ALL:-}" ] || least=400

echo "$total programs pass plain, $passed of them under ckagent"
[ "$total" -ge "$least" ] || fail "only $total programs ran"
[ ${#broken[@]} -eq 0 ] || fail "not under ckagent: ${broken[*]}"
