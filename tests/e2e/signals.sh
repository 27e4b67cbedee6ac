#!/usr/bin/env bash
# signals.sh - a program under ckagent gets the signals that it would get alone
#
# SPDX-License-Identifier: Apache-2.0
#
# Sent to the process that was started, and to its group; queued, in bursts,
# ignored or blocked before; to its parent. Then with few open files.
. "$(dirname "$0")/lib.sh"
timeout 1000 /usr/bin/python3 "$here/signals.py" "$build" "$work" ||
    fail "status $?"

# few FILES: output and status of a program that may open so many files.
few() {
    local status=0
    (ulimit -n "$1"; "$bin/ckagent" --report none --dir "$work/few$1" -- \
        sh -c 'ulimit -n; ulimit -Hn; exit 7') >"$work/out" 2>"$work/err" ||
        status=$?
    same "$1 files" "7 $1 $1" "$status $(xargs <"$work/out")"
    [ "$(wc -l <"$work/err")" -le 1 ] || fail "$(cat "$work/err")"
}
few 8
few 16
few 64
