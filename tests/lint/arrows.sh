#!/usr/bin/env bash
# arrows.sh [--print] - who includes whom: the rooms of docs/architecture.md as
# a test; --print shows figures of the graph of includes instead
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
status=0

wrong() {
    echo "$*"
    status=1
}

# The folders of the tree: what each may include of the others, as patterns.
foreign() {
    case $1 in
    schema) ;;
    launch) echo 'schema/err.h' ;;
    agent/inject)
        echo 'schema/event.h schema/time.h schema/kernelask.h' \
            'schema/ring/ring.h schema/ring/ringclock.h schema/kind.def' \
            'schema/pythonlines.h'
        ;;
    agent | aggregator | merge) echo 'schema/* launch/*' ;;
    esac
}

# The rooms of each folder in their order: a room may include itself and what
# is named before it. An injected library may include its own room and inject's.
# A new room of an output is not named here until another one includes it: it
# may include what its folder may, and itself.
rooms() {
    rooms_named
    for path in agent/inject/*/ merge/output/*/; do
        path=${path%/}
        rooms_named | tr ' ' '\n' | grep -qx "$path" && continue
        case $path in
        agent/*) echo "agent/inject agent/inject $path" ;;
        *) rooms_named | sed -n "s| merge/output .*| merge/output $path merge|p" ;;
        esac
    done
}
rooms_named() {
    cat <<'END'
schema      schema schema/clock schema/batch schema/store schema/ring
launch      launch
agent       agent/ehframe agent/process agent/ring agent/stream agent/symbols agent/python agent/unwind agent/link agent/clock agent/perf agent/standing agent/collector agent/front agent
agent/inject agent/ehframe agent/inject agent/inject/posix
agent/inject agent/inject agent/inject/mpi
agent/inject agent/inject agent/inject/opencl
agent/inject agent/inject agent/inject/cupti
agent/inject agent/inject agent/inject/cuda
agent/inject agent/inject agent/inject/nccl
agent/inject agent/inject agent/inject/nvtx
aggregator  aggregator/store aggregator/clock aggregator/http aggregator/socket aggregator/jobs aggregator/live aggregator
merge       merge/model merge/report merge/json merge/input merge/profiles merge/timeline merge/messages merge/clocks/solve merge/clocks merge/analysis/steps merge/analysis/history merge/analysis/threads merge/analysis/delays merge/analysis/idle merge/analysis/waits merge/analysis/devices merge/analysis/samples merge/analysis/calls merge/analysis/totals merge/analysis/memory merge/analysis merge/output merge/output/csv merge/output/lanes merge/output/text merge/output/json merge/output/openmetrics merge/output/chrome merge/output/perfetto merge/output/stacks merge/output/sqlite merge/output/flames merge/output/page merge/output/svg merge
END
}

# Includes against the order, each with its reason: none.
exceptions() {
    cat <<'END'
END
}

awk '
    FILENAME == ARGV[1] { # rooms: folder, then rooms in their order
        for (i = 2; i <= NF; i++) {
            folder[$i] = $1
            for (j = 2; j <= i; j++) {
                may[$i, $j] = 1
            }
        }
        next
    }
    FILENAME == ARGV[2] { # exceptions: file, what it includes
        known[$1, $2] = 1
        used[$1, $2] = 0
        next
    }
    FILENAME == ARGV[3] { # patterns of foreign files, by folder
        for (i = 2; i <= NF; i++) {
            pattern = $i
            gsub(/[.]/, "[.]", pattern)
            gsub(/[*]/, ".*", pattern)
            foreign[$1, ++count[$1]] = "^" pattern "$"
        }
        next
    }
    { # file:line:path of an include
        split($0, part, ":")
        file = part[1]
        path = part[3]
        room = file
        sub(/\/[^\/]*$/, "", room)
        its = path
        sub(/\/[^\/]*$/, "", its)
        if (!(room in folder)) {
            print file ": its folder is no room (see rooms() in tests/lint/arrows.sh)"
            bad = 1
            next
        }
        ok = (room, its) in may
        for (i = 1; !ok && i <= count[folder[room]]; i++) {
            ok = folder[its] != folder[room] && path ~ foreign[folder[room], i]
        }
        if (!ok && (file, path) in known) {
            used[file, path] = 1
        } else if (!ok) {
            print file ":" part[2] ": " room " may not include " path
            bad = 1
        }
    }
    END {
        for (pair in used) {
            if (!used[pair]) {
                split(pair, part, SUBSEP)
                print "exceptions(): " part[1] " no longer includes " part[2] \
                    ": take the line out"
                bad = 1
            }
        }
        exit bad
    }' <(rooms) <(exceptions) \
    <(for folder in schema launch agent agent/inject aggregator merge; do
        echo "$folder $(foreign "$folder")"
    done) \
    <(grep -rnoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]+"' \
        --include='*.[ch]' --include='*.cpp' --include='*.def' \
        schema launch agent aggregator merge |
        sed -E 's/^([^:]+:[0-9]+):.*"([^"]+)"$/\1:\2/' |
        grep -v '_generated\.h$') || status=1

# Each outside library has its owners: header pattern, files.
owners() {
    cat <<'END'
zmq.*           agent/link/ship.c aggregator/socket/agg.c aggregator/socket/watch.c
perfmon/        agent/perf/counterevent.c
linux/perf_     agent/perf/counterevent.h agent/perf/counters.c agent/perf/perfevent.c agent/perf/perfevent.h agent/perf/perfcall.c agent/perf/perfcall.h agent/perf/perfring.c agent/perf/perfring.h agent/perf/sampler.c
flatbuffers/    schema/batch/wire.cpp
sodium.h        schema/auth.c merge/output/page/htmlblock.c
isa-l           schema/store/crc_isal.c merge/profiles/inflate_isal.c merge/output/page/deflatefast_isal.c
lz4.*           schema/batch/pack_lz4.c schema/batch/pack.c
zstd.*          schema/batch/pack_zstd.c schema/batch/pack.c
zlib.h          merge/profiles/inflate_zlib.c merge/output/sink.c merge/output/page/deflate.c
microhttpd.h    aggregator/http/microhttpd.h
sqlite3.h       merge/output/sqlite/sqlitefile.c
elfutils/       agent/symbols/inlined.c agent/symbols/inlined.h agent/symbols/symboltable.c
dwarf.h         agent/symbols/inlined.c agent/symbols/inlined.h agent/symbols/symboltable.c
libelf.h        agent/symbols/inlined.c agent/symbols/inlined.h agent/symbols/symboltable.c
gelf.h          agent/symbols/inlined.c agent/symbols/inlined.h agent/symbols/symboltable.c
CL/             agent/inject/opencl/ckopencl.c agent/inject/opencl/opencl.h
cupti.*         nobody
cuda.*          nobody
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

# Modules (a .c with its .h) that include each other: three circles, named by
# the includes that close them. None may be added.
# - inject: the place of a call is found within the inlined recording path.
# - posix: the same, of a call of libc, with its counts and its socket.
# - cupti: the callbacks of one subscription share its buffers and threads.
circles() {
    cat <<'END'
agent/inject/callsite agent/inject/inject
agent/inject/pythonsite agent/inject/inject
agent/inject/filter agent/inject/inject
agent/inject/posix/posixcount agent/inject/posix/posixcall
agent/inject/posix/posixsocket agent/inject/posix/posixcall
agent/inject/cupti/cuptirecord agent/inject/cupti/cupticall
agent/inject/cupti/cuptirecord agent/inject/cupti/cuptiuntimed
agent/inject/cupti/cuptibuffer agent/inject/cupti/cuptiflush
END
}

# "module other" of each include between two modules. A header without a .c is
# a part of whoever includes it: what it includes, they include.
module_pairs() {
    grep -roE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]+"' \
        --include='*.[ch]' --include='*.cpp' \
        schema launch agent aggregator merge |
        sed -E 's/^([^:]+)\.[a-z]+:.*"([^"]+)\.[a-z]+"$/\1 \2/' |
        grep -v '_generated$' | awk '
            FILENAME == ARGV[1] { # modules that have code
                sub(/[.][a-z]+$/, "")
                code[$0] = 1
                next
            }
            { uses[$1] = uses[$1] " " $2 }
            function spread(from, at, list, i, n) {
                n = split(uses[at], list, " ")
                for (i = 1; i <= n; i++) {
                    if (seen[from, list[i]]++) {
                        continue
                    }
                    if (!(list[i] in code)) {
                        spread(from, list[i])
                    } else if (list[i] != from) {
                        print from, list[i]
                    }
                }
            }
            END {
                for (from in code) {
                    spread(from, from)
                }
            }' <(find schema launch agent aggregator merge -name '*.c' -o \
            -name '*.cpp') - | sort -u
}

pairs=$(module_pairs)

# Figures of the graph.
graph_print() {
    echo "$(tr ' ' '\n' <<<"$pairs" | sort -u | wc -l) modules," \
        "$(wc -l <<<"$pairs") pairs of which one includes the other"
    echo "most included:"
    cut -d ' ' -f 2 <<<"$pairs" | sort | uniq -c | sort -rn | head -n 5
    echo "include most:"
    cut -d ' ' -f 1 <<<"$pairs" | sort | uniq -c | sort -rn | head -n 5
    echo "sources and lines by room:"
    find schema launch agent aggregator merge -name '*.[ch]' \
        -printf '%h\n' | sort | uniq -c | while read -r count room; do
        echo "$count $(cat "$room"/*.[ch] | wc -l) $room"
    done | sort -rn
}
if [ "${1:-}" = --print ]; then
    graph_print
    exit
fi

loops=$(grep -vxFf <(circles) <<<"$pairs" | tsort 2>&1 >/dev/null |
    sed 's/^tsort: //')
[ -z "$loops" ] ||
    wrong "modules that include each other (each loop from its line on):
$loops"
while read -r pair; do
    grep -qxF "$pair" <<<"$pairs" ||
        wrong "circles(): $pair: no such include any more: take the line out"
done < <(circles)

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

for header in $(find schema -name '*.h'); do
    # What follows the clocks while a job runs and explains them afterwards is
    # one computation, whichever room asks at present.
    # What the processor can do is asked by the room's own loops as well, the
    # kernel by its own sources that injected libraries are made of.
    case $header in
    schema/clock*.h | schema/batch/wide.h | schema/kernelask.h) continue ;;
    esac
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
