#!/usr/bin/env bash
# mpicounts.sh - ck counts the MPI calls that eztrace counts, in public programs
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs of the MPICH suite run twice under eztrace and once under ckagent.
# Where eztrace's two runs agree and no call polls, the calls of each function
# on each rank must be equal.
. "$(dirname "$0")/lib.sh"
. "$here/suite.sh"
need eztrace eztrace
need otf2-print otf2-tools

least=${CK_MPICOUNTS_LEAST:-30} # programs to compare, spread over the lists
suite_seconds=8                 # eztrace hangs in some

# under_eztrace FOLDER RANKS PROGRAM: the trace's anchor file is FOLDER.anchor
under_eztrace() {
    local anchor
    suite_passes "$work/eztrace.log" mpirun -n "$2" \
        eztrace -t openmpi -o "$1" "./$3" || return 1
    anchor=$(find "$1" -name eztrace_log.otf2)
    [ -n "$anchor" ] && ln -sfn "$anchor" "$1.anchor"
}

# under_ck RANKS PROGRAM: a report of each rank alone
under_ck() {
    local rank
    suite_seconds=60 suite_passes "$work/ck.log" mpirun -n "$1" "$bin/ckagent" \
        --report none --dir "$work/run-$2" -- "./$2" || return 1
    wait_done "$work/run-$2"
    for ((rank = 0; rank < $1; rank++)); do
        "$bin/ckmerge" --quiet --ranks "$rank" \
            --output json="$work/rank-$rank.json" "$work/run-$2" || return 1
    done
}

# Programs at most once each and on few ranks, without the kinds that eztrace
# 2.0 cannot run: inter-communicators and communicators made without blocking.
candidates() {
    suite_entries | awk '
        $3 <= 5 && $2 !~ /^(nb)?ic.|inter|idup|zeros|probe/ && !seen[$2]++
    ' | suite_shuffle
}

# compare DIR PROGRAM RANKS: 0 equal, 1 different, 3 cannot be compared
compare() {
    local status=0
    cd "$suite/$1"
    rm -rf "$work"/ez-* "$work"/rank-*.json
    if ! under_eztrace "$work/ez-1" "$3" "$2" ||
        ! under_eztrace "$work/ez-2" "$3" "$2"; then
        echo "$2: left out, it fails under eztrace"
        return 3
    fi
    if ! under_ck "$3" "$2"; then
        sed "s|^|$2: |" "$work/ck.log" | head -n 20
        return 1
    fi
    /usr/bin/python3 "$here/mpicounts.py" "$2" "$work/wrapped" \
        "$(readlink "$work/ez-1.anchor")" "$(readlink "$work/ez-2.anchor")" \
        "$work"/rank-*.json || status=$?
    return $status
}

suite_prepare
library=$(find /usr/lib -name libeztrace-openmpi.so | head -n 1)
[ -n "$library" ] || skip "eztrace has no module openmpi (package eztrace)"
nm -D --defined-only "$library" | awk '$3 ~ /^MPI_[A-Z][a-z]/ {print $3}' \
    >"$work/wrapped"

equal=0 different=()
while read -r dir program ranks; do
    status=0
    compare "$dir" "$program" "$ranks" || status=$?
    case $status in
    0) equal=$((equal + 1)) ;;
    3) ;;
    *) different+=("$dir/$program") ;;
    esac
    [ "$equal" -lt "$least" ] || break
done < <(candidates)

echo "$equal programs with equal counts, ${#different[@]} with others"
[ ${#different[@]} -eq 0 ] || fail "counts differ: ${different[*]}"
[ "$equal" -ge "$least" ] || fail "only $equal programs compared"
