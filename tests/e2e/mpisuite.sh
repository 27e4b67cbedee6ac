#!/usr/bin/env bash
# mpisuite.sh - the MPICH project's test programs, plain and under ckagent
#
# SPDX-License-Identifier: Apache-2.0
#
# Takes the sources from Debian's source package mpich, builds the point to
# point, collective, communicator and topology programs against the default
# MPI, and runs each twice. What passes plain must pass traced.
. "$(dirname "$0")/lib.sh"
need mpicc libopenmpi-dev
need dpkg-source dpkg-dev

suite=$cache/mpisuite
limit=${CK_MPISUITE_LIMIT:-120} # programs, spread over the lists

# A private apt folder with the source lists, so that the system's stay.
fetch() {
    local apt=$cache/apt-src
    mkdir -p "$apt/lists/partial" "$suite.src"
    sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources \
        >"$apt/src.sources" || return 1
    local o=(-o Dir::Etc::sourcelist="$apt/src.sources"
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$apt/lists")
    apt-get "${o[@]}" -qq update || return 1
    (cd "$suite.src" && apt-get "${o[@]}" -qq source --download-only mpich)
}

prepare() {
    [ -e "$suite/.built" ] && return 0
    fetch >"$cache/mpisuite.log" 2>&1 ||
        skip "the source package mpich cannot be had (see $cache/mpisuite.log)"
    rm -rf "$suite"
    tar -C "$suite.src" -xf "$suite.src"/mpich_*.orig.tar.xz
    mv "$suite.src"/mpich-*/test/mpi "$suite"
    rm -rf "$suite.src"
    (
        cd "$suite"
        ./configure --with-mpi=/usr --disable-fortran --disable-f77 \
            --disable-fc --disable-cxx --disable-spawn --disable-romio CC=mpicc
        for dir in dtpools util pt2pt coll comm topo; do
            make -k -j2 -C "$dir" CPPFLAGS=-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 ||
                true # programs for newer MPI standards do not build
        done
    ) >>"$cache/mpisuite.log" 2>&1
    touch "$suite/.built"
}

# "dir program ranks" of plain entries (no arguments, at most 8 ranks).
entries() {
    local dir
    for dir in pt2pt coll comm topo; do
        awk -v d="$dir" 'NF == 2 && $2 <= 8 && $1 !~ /^#/ {print d, $1, $2}' \
            "$suite/$dir/testlist"* 2>/dev/null
    done | sort -u | while read -r dir program ranks; do
        [ -x "$suite/$dir/$program" ] && echo "$dir $program $ranks"
    done
}

# passes LOG COMMAND...: the suite's programs say "No Errors".
passes() {
    local log=$1
    shift
    timeout -k 5 30 "$@" >"$log" 2>&1 && grep -q 'No Errors' "$log"
}

prepare
total=0 traced=0 broken=()
step=$(($(entries | wc -l) / limit + 1))
while read -r dir program ranks; do
    cd "$suite/$dir"
    passes "$work/plain.log" mpirun -n "$ranks" "./$program" </dev/null ||
        continue
    total=$((total + 1))
    if passes "$work/traced.log" mpirun -n "$ranks" "$bin/ckagent" \
        --report none --dir "$work/run-$program" -- "./$program" </dev/null; then
        traced=$((traced + 1))
    else
        broken+=("$dir/$program")
        sed "s|^|$program: |" "$work/traced.log" | head -n 20
    fi
    rm -rf "$work/run-$program"
done < <(entries | awk -v s="$step" 'NR % s == 0')

echo "$total programs pass plain, $traced of them under ckagent"
[ "$total" -ge 30 ] || fail "only $total programs ran"
[ ${#broken[@]} -eq 0 ] || fail "not under ckagent: ${broken[*]}"
