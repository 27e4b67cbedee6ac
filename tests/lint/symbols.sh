#!/usr/bin/env bash
# symbols.sh BUILD - what the injected libraries show to the programs they are
# loaded into
#
# SPDX-License-Identifier: Apache-2.0
#
# Only names that the loader or the traced library looks for may be exported.
# Versions of needed symbols and needed libraries: floor.sh.
set -uo pipefail
lib=$(cd "${1:?build folder}" && pwd)/lib/ck
cd "$(dirname "$0")/../.." || exit 2
status=0

# library, extended regular expression of the names it may export
allowed() {
    case $1 in
    libckmpi.so)
        echo '^(MPI_[A-Za-z_]+|mpix?_[a-z0-9_]+_|MPIX_[A-Za-z_]+)$'
        ;;
    libckomp.so) echo '^(GOMP_[a-z_]+|omp_set_(nest_)?lock_?|ompt_start_tool)$' ;;
    libckopencl.so) echo '^(cl[A-Z][A-Za-z]+)$' ;;
    libckcupti.so) echo '^(InitializeInjection|ck_nccl_link)$' ;;
    libcknvtx.so) echo '^InitializeInjectionNvtx2$' ;;
    libcknccl.so) echo '^ncclProfiler_v[1-6]$' ;;
    libckcuda.so) echo '^(cu[A-Z][A-Za-z0-9]+(_v[0-9]+)?(_pts[dz]|_ptds)?|cupti[A-Z][A-Za-z]+|dlsym|ck_cuda_link)$' ;;
    libckannotate.so) echo '^(ck_api_get|ck_annotate_link|ck_filter_join|prctl|syscall|__asan_default_options)$' ;;
    libck.so) echo '^([a-z_0-9]+|GOMP_[a-z_]+|_Exit|MPIX?_[A-Za-z_]+)$' ;;
    # Modules of our own programs.
    libckpfm.so) echo '^counterevent_find$' ;;
    libckhttp.so) echo '^microhttpd$' ;;
    # Of a library with a room of its own: its sources have the line
    # "lib....so exports: NAME...".
    *)
        grep -rhoE "$1 exports: [A-Za-z0-9_ ]+" agent/inject |
            sed 's/.*exports: */^(/; s/ *$/)$/; s/  */|/g' | grep . || echo '^$'
        ;;
    esac
}

seen=0
for file in "$lib"/*.so; do
    [ -e "$file" ] || continue
    seen=$((seen + 1))
    pattern=$(allowed "${file##*/}")
    extra=$(nm -D --defined-only "$file" | awk '$2 != "A" { print $3 }' |
        sed 's/@.*//' | grep -Ev "$pattern")
    if [ -n "$extra" ]; then
        echo "$file exports more than it may:" $extra
        status=1
    fi
    case ${file##*/} in
    libckpfm.so | libckhttp.so) ;; # never in a program that is traced
    *) tests/lint/floor.sh "$file" || status=1 ;;
    esac
done
if [ "$seen" = 0 ]; then
    echo "no injected library in $lib"
    exit 1
fi
echo "$seen injected libraries"
exit $status
