#!/bin/sh
# gpu.sh - ck on a real GPU: a pack, and five commands against the truth
# SPDX-License-Identifier: Apache-2.0
#
#     gpu.sh prep PACK [BUILD]  here, no GPU: a ck that can be moved, in PACK
#     gpu.sh run N [PACK]       there: command 1 to 5, each below 10 minutes
#     gpu.sh rehearse [BUILD]   the same commands on the mock, without a GPU, of
#                               a build or a pack
#     gpu.sh packed [BUILD]     prep, and rehearse the pack where it was moved to,
#                               without a network where that may be taken away
#     gpu.sh [BUILD]            commands 1 and 2 where there is a GPU
#
# One line a step: ok, FAIL, or left out with the reason. Exit 0, 1 (a step
# failed), or 77 where there is no GPU or a part was not built. $OUT, if set, is
# a folder that gets the figures.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
root=$here/../..

left_out() {
    echo "SKIPPED: $*"
    exit 77
}

# Everything that a machine with a driver and Python needs, below 64 MB: what
# launch/archive packs, the programs of the commands, and the mock.
pack() {
    pack=$1
    built=$2
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    if [ -z "$built" ]; then
        built=$work/build
        { cmake -S "$root" -B "$built" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
            -DCK_TESTS=ON && cmake --build "$built" --parallel; } \
            >"$work/log" 2>&1 || {
            tail -5 "$work/log"
            exit 1
        }
    fi
    "$root/launch/archive" --out "$work" "$built" || exit 1
    mkdir -p "$pack" || exit 1
    tar -xzf "$work"/ck-*.tar.gz -C "$pack" --strip-components=1 || exit 1
    rm -rf "$pack/include" "$pack/share"
    mkdir -p "$pack/tests/e2e" "$pack/tests/targets" \
        "$pack/tests/mockcupti/new"
    for program in ringrun cupti_host nccl_host cuda_truth; do
        if [ -e "$built/tests/$program" ]; then
            cp "$built/tests/$program" "$pack/tests/"
        else
            echo "$program: left out, it was not built"
        fi
    done
    # shellcheck disable=SC2016 # $ORIGIN is the loader's
    patchelf --force-rpath --set-rpath '$ORIGIN/../lib/ck/bundled' \
        "$pack/tests/ringrun" || exit 1
    cp "$built/tests/mockcupti/new/libcupti.so.13" "$pack/tests/mockcupti/new/"
    strip "$pack"/tests/ringrun "$pack"/tests/c*_* "$pack"/tests/nccl_host \
        "$pack"/tests/mockcupti/new/*
    cp "$here/gpu.sh" "$here/gpu.py" "$here/gpujob.py" "$pack/tests/e2e/"
    cp "$here/../targets/ringlines.py" "$pack/tests/targets/"
    bytes=$(du -sk "$pack" | cut -f1)
    echo "$pack: $((bytes / 1024)) MiB"
    [ "$bytes" -lt 65536 ]
}

packed() {
    for tool in patchelf objdump strip; do
        command -v "$tool" >/dev/null || left_out "$tool is not installed"
    done
    place=$(mktemp -d) || exit 1
    trap 'rm -rf "$place"' EXIT
    (pack "$place/here" "$1") || exit 1
    mv "$place/here" "$place/there"
    alone=
    unshare -n true 2>/dev/null && alone="unshare -n"
    # shellcheck disable=SC2086 # words
    (cd / && $alone "$place/there/tests/e2e/gpu.sh" rehearse "$place/there")
}

case $1 in
packed)
    packed "$(cd "${2:-${CK_BUILD:-$root/build}}" && pwd)"
    exit
    ;;
prep)
    pack "${2:?a folder for the pack}" "$3"
    exit
    ;;
run)
    build=${3:-$here/../..}
    commands=${2:?1 to 5}
    ;;
rehearse)
    build=${2:-${CK_BUILD:-$root/build}}
    commands="1 2 3 4 5"
    mock=--mock
    ;;
*)
    build=${1:-${CK_BUILD:-$root/build}}
    commands="1 2"
    ;;
esac
build=$(cd "$build" 2>/dev/null && pwd) ||
    left_out "no build directory (give it: gpu.sh BUILD)"
# A libstdc++ of a newer system than this one: this one's own may do.
spare=$build/lib/ck/bundled/libstdc++.so.6
if [ -e "$spare" ] && ! "$build/bin/ckmerge" --version >/dev/null 2>&1; then
    mv "$spare" "$spare.off"
    rm -f "$build/lib/ck/bundled/libgcc_s.so.1"
fi
if [ -z "$mock" ]; then
    for part in lib/ck/libckcupti.so tests/cuda_truth tests/ringrun; do
        [ -e "$build/$part" ] ||
            left_out "$part was not built (needs the CUDA toolkit)"
    done
    # The wheels of torch have NVRTC and CUPTI, too.
    wheel=$(python3 -c 'import nvidia.cu13 as m; print(list(m.__path__)[0])' \
        2>/dev/null) &&
        export LD_LIBRARY_PATH="$wheel/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    truth=$(timeout 60 "$build/tests/cuda_truth" 1 2>&1)
    rc=$?
    if [ $rc -eq 77 ] || [ $rc -eq 127 ]; then
        left_out "$truth"
    elif [ $rc -ne 0 ]; then
        echo "program without ck   FAIL  $truth"
        exit 1
    fi
fi
status=0
for command in $commands; do
    timeout -k 10 570 python3 "$here/gpu.py" "$build" "$command" $mock ||
        status=1
done
exit $status
