#!/bin/sh
# gpu.sh - ck on a real GPU: a pack, and five commands against the truth
# SPDX-License-Identifier: Apache-2.0
#
#     gpu.sh prep PACK          here, no GPU: a ck that can be moved, in PACK
#     gpu.sh run N [PACK]       there: command 1 to 5, each below 10 minutes
#     gpu.sh rehearse [BUILD]   the same commands on the mock, without a GPU
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

# Everything that a machine with a driver and Python needs, below 64 MB.
# Libraries of C and C++ stay those of that machine: an older libstdc++ of ours
# would be in the way of the program's.
pack() {
    pack=$1
    build=$(mktemp -d) || exit 1
    mkdir -p "$pack/bin/deps" "$pack/lib/ck" "$pack/tests/e2e" \
        "$pack/tests/targets" || exit 1
    # shellcheck disable=SC2016 # $ORIGIN is the loader's
    cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCK_TESTS=ON -DCMAKE_SKIP_BUILD_RPATH=ON \
        '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,$ORIGIN/deps' \
        >"$build/log" &&
        cmake --build "$build" --parallel --target ckagent ckagg ckmerge ck \
            ckmpi ckannotate ckcuda ckcupti ringrun cuda_truth >>"$build/log" || {
        tail -5 "$build/log"
        exit 1
    }
    for program in ckagent ckagg ckmerge; do
        [ ! -e "$build/bin/$program" ] ||
            cp "$build/bin/$program" "$pack/bin/"
    done
    strip "$pack"/bin/ck*
    cp -RP "$build"/lib/ck/. "$pack/lib/ck/"
    cp "$build/tests/ringrun" "$build/tests/cuda_truth" "$pack/tests/"
    for file in "$pack"/bin/ck* "$pack/tests/ringrun"; do
        ldd "$file" | awk '/=> \//{print $3}'
    done | sort -u | grep -v -E '/(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|resolv|stdc\+\+))\.so' |
        xargs -I{} cp -L {} "$pack/bin/deps/"
    ln -sf ../bin/deps "$pack/tests/deps"
    cp "$here/gpu.sh" "$here/gpu.py" "$here/gpujob.py" "$pack/tests/e2e/"
    cp "$here/../targets/ringlines.py" "$pack/tests/targets/"
    rm -rf "$build"
    bytes=$(du -sk "$pack" | cut -f1)
    echo "$pack: $((bytes / 1024)) MiB"
    [ "$bytes" -lt 65536 ]
}

case $1 in
prep)
    pack "${2:?a folder for the pack}"
    exit
    ;;
run)
    build=${3:-$here/../..}
    commands=${2:?1 to 5}
    ;;
rehearse)
    build=${2:-${CK_BUILD:-$root/build}}
    commands="1 2 4 5"
    mock=--mock
    ;;
*)
    build=${1:-${CK_BUILD:-$root/build}}
    commands="1 2"
    ;;
esac
build=$(cd "$build" 2>/dev/null && pwd) ||
    left_out "no build directory (give it: gpu.sh BUILD)"
if [ -z "$mock" ]; then
    for part in lib/ck/libckcupti.so tests/cuda_truth tests/ringrun; do
        [ -e "$build/$part" ] ||
            left_out "$part was not built (needs the CUDA toolkit)"
    done
    # The wheels of torch have NVRTC and CUPTI, too.
    wheel=$(python3 -c 'import nvidia.cu13 as m; print(list(m.__path__)[0])' \
        2>/dev/null) && export LD_LIBRARY_PATH="$wheel/lib"
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
