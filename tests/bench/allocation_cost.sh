#!/bin/sh
# allocation_cost.sh BUILD [ROUNDS] - what ck adds to malloc() and free()
#
# SPDX-License-Identifier: Apache-2.0
#
# Pairs of 64 bytes and of 16 KiB, in turn plain, with ckagent, and with its
# option --allocations (one in 512 KiB); the least time counts.
set -u
build=$1
rounds=${2:-5}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
cc -O2 -fno-builtin -o "$work/cost" "$(dirname "$0")/allocation_cost.c" || exit
for bytes in 64 16384; do
    for round in $(seq "$rounds"); do
        echo "plain $("$work/cost" "$bytes" 9)"
        for option in --strict --allocations; do
            rm -rf "$work/run"
            echo "$option $("$build/bin/ckagent" --report none --no-page \
                "$option" --dir "$work/run" -- "$work/cost" "$bytes" 9)"
            until grep -q '"state": "done"' "$work/run/manifest.json"; do
                sleep 0.1
            done
        done
    done | awk -v what="$bytes bytes" '
        !($1 in least) || $2 < least[$1] { least[$1] = $2 }
        END { printf "%s: a pair %.2f ns plain, %.2f with ck, %.2f with " \
              "--allocations: %+.2f ns, ratio %.3f\n", what, least["plain"],
              least["--strict"], least["--allocations"],
              least["--allocations"] - least["plain"],
              least["--allocations"] / least["plain"] }'
done
