#!/usr/bin/env bash
# again.sh - a job that is started again at once has a run of its own
#
# SPDX-License-Identifier: Apache-2.0
#
# `--job NAME` is the whole key of a job, and the ckagg of the run before still
# listens, or merges, when the next one begins. A rank that one launcher starts
# once more goes on with that launcher's run.
. "$(dirname "$0")/lib.sh"

# runs_are WHAT COUNT AGENTS: the runs here, and the agents in each.
runs_are() {
    local dirs agents dir
    mapfile -t dirs < <(find . -maxdepth 1 -name 'ck-*' -type d)
    [ ${#dirs[@]} = "$2" ] || fail "$1: ${#dirs[@]} runs, not $2: ${dirs[*]}"
    for dir in "${dirs[@]}"; do
        agents=$(find "$dir" -name 'seg-*.ck' | wc -l)
        [ "$agents" = "$3" ] || fail "$1: $agents agents in $dir, not $3"
    done
}

# there NAME: an empty folder.
there() {
    mkdir "$work/$1"
    cd "$work/$1"
}

there alone
for _ in 1 2 3 4; do
    "$bin/ckagent" --job again --report none -- true
done
runs_are "one after another" 4 1

there reported
for _ in 1 2 3; do
    "$bin/ckagent" --job again -- true 2>out
    grep -q '1 program' out || fail "the report of one program: $(cat out)"
done
runs_are "one after another's report" 3 1

there named
for _ in 1 2; do
    "$bin/ckagent" --job again --dir run --report none -- true 2>>err
done
[ -d run ] && [ -d run.2 ] || fail "--dir run, again: $(ls; cat err)"

there ranks
for _ in 1 2; do
    mpirun -n 2 "$bin/ckagent" --job again --report none -- true
done
runs_are "two ranks, twice" 2 2

# The launcher is this shell, which is older than the run.
there restarted
for _ in 1 2; do
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
        "$bin/ckagent" --job restarted --report none -- true
done
runs_are "one launcher's rank, once more" 1 2
