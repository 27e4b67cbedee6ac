# steps.sh - steps of a script: title, progress, what to do on a failure
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced; steps_log names the file that takes the output of all steps.

steps_done=0
steps_all=${steps_all:-0}

# The last line of the log, shown over and over while a step runs; on a
# terminal only.
steps_watch() {
    local line
    while sleep 1; do
        line=$(tail -n 1 "$steps_log" | tr -d '\r' | cut -c 1-70)
        printf '\r\033[K      %s' "$line"
    done
}

# step TITLE CURE COMMAND...: run it with its output in the log; its status.
step() {
    local title=$1 cure=$2 start=$SECONDS status=0 watch=
    shift 2
    steps_done=$((steps_done + 1))
    printf '[%s/%s] %s ...\n' "$steps_done" "$steps_all" "$title"
    printf '== %s\n' "$title" >>"$steps_log"
    if [ -t 1 ]; then
        steps_watch &
        watch=$!
    fi
    # In a shell of its own, so that "set -e" holds inside a function.
    (set -e; "$@") >>"$steps_log" 2>&1 </dev/null || status=$?
    if [ -n "$watch" ]; then
        kill "$watch" 2>/dev/null
        wait "$watch" 2>/dev/null || true
        printf '\r\033[K'
    fi
    if [ "$status" = 0 ]; then
        printf '      done, %s s\n' $((SECONDS - start))
        return 0
    fi
    echo "      FAILED (status $status). The end of $steps_log:"
    tail -n 25 "$steps_log" | sed 's/^/      | /'
    echo "      What to do: $cure"
    return "$status"
}
