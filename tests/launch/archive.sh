#!/usr/bin/env bash
# archive.sh BUILD [ARCHIVE] - an archive runs from any folder with no library
# of this machine but libc's; of BUILD, or one that was made elsewhere
#
# SPDX-License-Identifier: Apache-2.0
#
# Started by root it is unpacked and runs as a user without any right, but for
# the programs of MPI, which are where that user may not look.
set -euo pipefail
build=$(cd "${1:?build folder}" && pwd)
archive=${2:+$(realpath "$2")}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seen=
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-archive-test.XXXXXX")
. "$here/../discard.sh"
. "$here/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

if [ -z "$archive" ]; then
    command -v patchelf >/dev/null || {
        echo "SKIPPED: no patchelf"
        exit 77
    }
    "$here/../../launch/archive" --out made "$build" >made.txt ||
        fail "launch/archive"
    archive=$(echo "$work"/made/ck-*.tar.gz)
    # The printed version of glibc is compared with a limit.
    needed=$(sed -n 's/.* glibc \([0-9.]*\) .*/\1/p' made.txt)
    [ -n "$needed" ] || fail "no glibc in: $(cat made.txt)"
    ! "$here/../../launch/archive" --floor 2.3 --out low "$build" 2>low.err ||
        fail "glibc $needed is said to be no more than 2.3"
    grep -q "needs glibc $needed, and 2.3 is to be enough" low.err ||
        fail "refused by: $(cat low.err)"
    [ ! -e low ] || [ -z "$(ls low)" ] || fail "an archive above its limit"
fi
chmod 711 "$work" "$rings"
mkdir -m 755 "a place" "another" "$rings/own"
user=(env)
if [ "$(id -u)" = 0 ]; then
    chown 65534:65534 "a place" another "$rings/own"
    user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
        --bounding-set=-all --no-new-privs)
fi
"${user[@]}" tar -x -z -C "a place" <"$archive"
"${user[@]}" sh -c 'mv "a place"/ck-* "a place/moved"'
place="$work/a place/moved"

# Every library comes from the archive or is libc's, even where the user's
# environment has others of those names, which would not load.
mkdir wrong
for library in "$place"/lib*/ck/bundled/*.so*; do
    : >"wrong/${library##*/}"
    ! readelf -d "$library" | grep -E 'RPATH|RUNPATH' ||
        fail "$library has a path of its own"
done
for program in "$place"/bin/* "$place"/lib*/ck/cklines \
    "$place"/lib*/ck/lib{ckpfm,ckhttp}.so; do
    [ -e "$program" ] || continue
    LD_LIBRARY_PATH=$work/wrong ldd "$program" >ldd.txt 2>&1 ||
        fail "$program: $(cat ldd.txt)"
    grep ' => ' ldd.txt |
        grep -vE 'lib(c|m|dl|pthread|rt|resolv|util|nsl|anl)\.so' |
        grep -vF " => $place/" >foreign.txt || true
    [ ! -s foreign.txt ] || fail "$program takes $(cat foreign.txt)"
    [[ $program == */bin/* ]] || continue
    LD_LIBRARY_PATH=$work/wrong "$program" --version >version.txt ||
        fail "$program --version"
    grep -q '^commit [0-9a-f]' version.txt || fail "$(cat version.txt)"
done

# A job from another folder, with nothing of the shell's environment.
cd another
status=0
plain=("${user[@]}" env -i PATH=/usr/bin:/bin HOME="$PWD"
    CK_TEST_RINGS="$rings/own")
"${plain[@]}" "$place/bin/ckagent" --dir run -- \
    sh -c 'id -u; sleep 0.3; exit 3' >"$work/out" 2>"$work/err" || status=$?
[ "$status" = 3 ] || fail "ckagent ended with $status: $(cat "$work/err")"
seen=", run by user $(cat "$work/out")"
[ -s run/report.txt ] || fail "no report: $(cat "$work/err")"
grep -q 'recorded to the end' run/report.txt ||
    fail "report: $(cat run/report.txt)"
"${plain[@]}" "$place/bin/ckmerge" --verify run >"$work/verify" 2>&1 ||
    fail "--verify: $(cat "$work/verify")"
"${plain[@]}" "$place/bin/ckmerge" run >"$work/out" 2>&1 ||
    fail "ckmerge: $(cat "$work/out")"
for mpi in openmpi mpich; do
    launcher=mpirun.$mpi
    [ -x "$build/tests/sleeps.$mpi" ] && command -v "$launcher" >/dev/null ||
        continue
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
        OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout 120 "$launcher" -n 2 "$place/bin/ckagent" --dir "$work/$mpi" \
        -- "$build/tests/sleeps.$mpi" imbalance 20 5 >"$work/out" \
        2>"$work/err" || fail "$mpi: $(tail -n 5 "$work/err")"
    grep -q '2 of 2 ranks recorded to the end' "$work/$mpi/report.txt" ||
        fail "$mpi: $(tail -n 5 "$work/$mpi/report.txt")"
    grep -q '^ *MPI_' "$work/$mpi/report.txt" || fail "$mpi: no call of MPI"
    seen+=", 2 ranks of $mpi"
done
echo "archive: moved$seen"
