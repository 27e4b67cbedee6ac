#!/usr/bin/env bash
# arrows.sh - who includes whom: the table of docs/architecture.md as a test
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
status=0

wrong() {
    echo "$*"
    status=1
}

# What a room's files may include, as patterns of paths.
allowed() {
    case $1 in
    schema/*) echo 'schema/*' ;;
    launch/*) echo 'launch/* schema/err.h' ;;
    agent/inject/*)
        echo 'agent/inject/* schema/event.h schema/time.h schema/ring/ring.h' \
            'schema/kind.def'
        ;;
    agent/*) echo 'agent/*.h schema/* launch/*' ;;
    aggregator/*) echo 'aggregator/* schema/* launch/*' ;;
    merge/ckmerge.c) echo 'merge/* schema/* launch/*' ;;
    merge/input/*) echo 'merge/* schema/* !merge/analysis/* !merge/output/*' ;;
    merge/analysis/*)
        echo 'merge/* schema/* !merge/input/* !merge/output/*'
        ;;
    merge/output/*) echo 'merge/* schema/* !merge/input/* !merge/analysis/*' ;;
    merge/*) echo 'merge/* schema/* launch/*' ;;
    esac
}

# may PATH PATTERN...: the last pattern that fits decides.
may() {
    local path=$1 answer=1 pattern
    shift
    for pattern in "$@"; do
        # shellcheck disable=SC2254 # a pattern is meant
        case $pattern:$path in
        '!'*) [[ $path != ${pattern#!} ]] || answer=1 ;;
        *) [[ $path != $pattern ]] || answer=0 ;;
        esac
    done
    return $answer
}

# "file:line:path" of each include in quotes.
own_includes() {
    grep -rnoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]+"' \
        --include='*.[ch]' --include='*.cpp' --include='*.def' \
        schema launch agent aggregator merge |
        sed -E 's/^([^:]+:[0-9]+):.*"([^"]+)"$/\1:\2/'
}

set -f # patterns are words here
while IFS=: read -r file line path; do
    # What flatc and CMake write lies in the build tree.
    case $path in *_generated.h) continue ;; esac
    [[ $path == */* && $path != *..* ]] ||
        wrong "$file:$line: \"$path\": give the path from the root"
    # shellcheck disable=SC2046
    may "$path" $(allowed "$file") ||
        wrong "$file:$line: ${file%/*} may not include $path"
done < <(own_includes)
# An agent's file may not see an injected library's but for these contracts.
while IFS=: read -r file line path; do
    case $file:$path in
    agent/inject/*) ;;
    agent/*:agent/inject/*)
        wrong "$file:$line: the agent may not include $path"
        ;;
    esac
done < <(own_includes)
set +f

# Each outside library has its owners: header pattern, files.
owners() {
    cat <<'END'
zmq.*           agent/link/ship.c aggregator/agg.c aggregator/watch.c
perfmon/        agent/perf/counters.c agent/perf/sampler.c
linux/perf_     agent/perf/counters.c agent/perf/event.c agent/perf/event.h agent/perf/perfcall.c agent/perf/perfcall.h agent/perf/perfring.c agent/perf/perfring.h agent/perf/sampler.c
flatbuffers/    schema/batch/wire.cpp
sodium.h        schema/auth.c
isa-l           schema/store/crc_isal.c merge/profiles/inflate_isal.c
lz4.*           schema/batch/pack_lz4.c schema/batch/pack.c
zstd.*          schema/batch/pack_zstd.c schema/batch/pack.c
zlib.h          merge/profiles/inflate_zlib.c merge/output/sink.c
sqlite3.h       merge/output/sqlite.c
elfutils/       agent/symbols/symbols.c agent/symbols/symboltable.c
dwarf.h         agent/symbols/symbols.c agent/symbols/symboltable.c
libelf.h        agent/symbols/symbols.c agent/symbols/symboltable.c
gelf.h          agent/symbols/symbols.c agent/symbols/symboltable.c
CL/             agent/inject/opencl/ckopencl.c agent/inject/opencl/opencl.h
cupti.*         nobody
cuda.*          nobody
nccl.*          agent/inject/cknccl.c
mpi.h           nobody
END
}

while read -r header files; do
    while IFS=: read -r file line _; do
        [[ " $files " == *" $file "* ]] ||
            wrong "$file:$line: <$header> belongs to $files"
    done < <(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+<$header" \
        schema launch agent aggregator merge)
done < <(owners)

# A header of schema/ has users in two rooms, itself or through another one.
rooms_using() {
    grep -rlE "include \"$1\"" schema agent aggregator merge launch \
        --include='*.[ch]' --include='*.cpp' | while read -r file; do
        case $file in
        schema/*.h) [ "$file" = "$1" ] || echo "$file" ;;
        schema/*) ;;
        agent/inject/*) echo inject ;;
        *) echo "${file%%/*}" ;;
        esac
    done | sort -u
}

for header in schema/*.h; do
    # What follows the clocks while a job runs and explains them afterwards is
    # one computation, whichever room asks at present.
    # What the processor can do is asked by the room's own loops as well.
    case $header in schema/clock*.h | schema/batch/wide.h) continue ;; esac
    users=$(rooms_using "$header")
    for via in $(grep '^schema/' <<<"$users"); do
        users+=$'\n'$(rooms_using "$via")
    done
    count=$(grep -v '^schema/' <<<"$users" | sort -u | grep -c .)
    # None: a part of the room itself, between its own files.
    [ "$count" -ne 1 ] ||
        wrong "$header: used by one room only: it should live there"
done
exit $status
