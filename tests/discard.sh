# discard.sh - take a test's folder away for good
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0

# discard PATH...: a job of --report none may still be written when its
# launcher has ended, and a folder that gets a file while it is removed is not
# empty: it is removed again until it is gone.
discard() {
    local _
    for _ in $(seq 100); do
        rm -rf "$@" 2>/dev/null && return
        sleep 0.1
    done
    echo "cannot remove $*" >&2
}
