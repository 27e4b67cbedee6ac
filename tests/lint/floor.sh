#!/bin/sh
# floor.sh LIBRARY... - an injected library must load with glibc 2.17
#
# SPDX-License-Identifier: Apache-2.0
#
# Fails when a library needs a symbol version newer than GLIBC_2.17, or a
# library other than libc and its parts; and when one that names no libdl, where
# dladdr() and the like were up to glibc 2.33, does not load without them.
status=0
for library in "$@"; do
    newer=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*) *[^ ]*$' |
        awk '{ split(substr($1, 7), v, "[.)]")
               if (v[1] > 2 || v[2] > 17) print $2, $1 }')
    others=$(readelf -d "$library" | grep NEEDED | grep -o '\[.*\]' |
        grep -Ev '^\[(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*|libgcc_s\.so\.1)\]$')
    strong=
    if ! readelf -d "$library" | grep -q 'NEEDED.*libdl'; then
        strong=$(nm -D --undefined-only "$library" |
            sed -n 's/.* U \(dl[a-z]*\)@.*/\1/p')
    fi
    if [ -n "$strong" ]; then
        echo "$library: needs symbols of libdl, which it does not name:" $strong >&2
        status=1
    fi
    if [ -n "$newer" ]; then
        echo "$library: needs symbols newer than GLIBC_2.17:" $newer >&2
        status=1
    fi
    if [ -n "$others" ]; then
        echo "$library: needs a library that is not libc:" $others >&2
        status=1
    fi
done
exit $status
