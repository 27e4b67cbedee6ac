# suite.sh - the MPICH project's test programs, built against the default MPI
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# Sourced after lib.sh. The sources come from Debian's source package mpich;
# what is built stays in the cache. Gives: suite (its folder), suite_prepare,
# suite_entries, suite_whole, suite_shuffle, suite_passes.
need mpicc libopenmpi-dev
need dpkg-source dpkg-dev

suite=$cache/mpisuite
suite_seconds=30 # a program may take
suite_dirs=(pt2pt coll comm topo rma errhan)
suite_mark=.built-with-rma
if [ -n "${CK_MPISUITE_ALL:-}" ]; then
    suite_dirs+=(attr datatype group info init io)
    suite_mark=.built-all
fi

# A private apt folder with the source lists, so that the system's stay. Where
# packages come from is in one of two files, each of its own form.
suite_fetch() {
    local apt=$cache/apt-src list
    mkdir -p "$apt/lists/partial" "$suite.src"
    if [ -e /etc/apt/sources.list.d/debian.sources ]; then
        list=$apt/src.sources
        sed 's/^Types: deb$/Types: deb-src/' \
            /etc/apt/sources.list.d/debian.sources >"$list" || return 1
    else
        list=$apt/src.list
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$list" || return 1
    fi
    local o=(-o Dir::Etc::sourcelist="$list"
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$apt/lists")
    apt-get "${o[@]}" -qq update || return 1
    (cd "$suite.src" && apt-get "${o[@]}" -qq source --download-only mpich)
}

# One at a time: tests that run side by side share the cache.
suite_prepare() {
    local lock
    mkdir -p "$cache"
    exec {lock}>"$cache/mpisuite.lock"
    flock "$lock"
    suite_build
    exec {lock}>&-
}

suite_build() {
    [ ! -e "$suite/$suite_mark" ] && [ ! -e "$suite/.built-all" ] || return 0
    if [ ! -e "$suite/Makefile" ]; then
        suite_fetch >"$cache/mpisuite.log" 2>&1 ||
            skip "the source package mpich cannot be had" \
                "(see $cache/mpisuite.log)"
        rm -rf "$suite"
        tar -C "$suite.src" -xf "$suite.src"/mpich_*.orig.tar.xz
        mv "$suite.src"/mpich-*/test/mpi "$suite"
        rm -rf "$suite.src"
    fi
    (
        cd "$suite"
        [ -e Makefile ] ||
            ./configure --with-mpi=/usr --disable-fortran --disable-f77 \
                --disable-fc --disable-cxx --disable-spawn --disable-romio \
                CC=mpicc
        for dir in dtpools util "${suite_dirs[@]}"; do
            make -k -j2 -C "$dir" CPPFLAGS=-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 ||
                true # programs for newer MPI standards do not build
        done
    ) >>"$cache/mpisuite.log" 2>&1
    touch "$suite/$suite_mark"
}

# "dir program ranks" of plain entries (no arguments, at most 8 ranks).
suite_entries() {
    local dir
    for dir in pt2pt coll comm topo; do
        awk -v d="$dir" 'NF == 2 && $2 <= 8 && $1 !~ /^#/ {print d, $1, $2}' \
            "$suite/$dir/testlist"* 2>/dev/null
    done | sort -u | while read -r dir program ranks; do
        [ ! -x "$suite/$dir/$program" ] || echo "$dir $program $ranks"
    done
}

# "dir program ranks argument..." of the programs of all folders that are
# expected to pass, with what the lists require for them; at most 16
# ranks.
suite_whole() {
    local dir
    for dir in "${suite_dirs[@]}"; do
        awk -v d="$dir" '
            /^#/ || NF < 2 || $2 > 16 || /xfail=|resultTest=|strict=/ { next }
            {
                line = d " " $1 " " $2
                for (i = 3; i <= NF; i++)
                    if (sub(/^arg=/, "", $i))
                        line = line " " $i
                print line
            }' "$suite/$dir/testlist"
    done | sort -u | while read -r dir program rest; do
        [ ! -x "$suite/$dir/$program" ] || echo "$dir $program $rest"
    done
}

# Entries in an order that is the same each time, with the first ones of every
# list.
suite_shuffle() {
    awk '{print (NR * 7919) % 1009, $0}' | sort -n | cut -d ' ' -f 2-
}

# suite_passes LOG COMMAND...: the suite's programs print "No Errors".
suite_passes() {
    local log=$1
    shift
    timeout -k 5 "$suite_seconds" "$@" >"$log" 2>&1 </dev/null && grep -q 'No Errors' "$log"
}
