#!/usr/bin/env bash
# cklaunch.sh BUILD - jobs by cklaunch with the launchers of this machine
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=${1:?build folder}
cklaunch=$build/bin/cklaunch
command -v mpirun >/dev/null || {
    echo "skipped: mpirun is missing (package openmpi-bin)"
    exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-cklaunch.XXXXXX")
. "$(dirname "${BASH_SOURCE[0]}")/../discard.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
    OMPI_MCA_rmaps_base_oversubscribe \
    PRTE_MCA_rmaps_default_mapping_policy CKAGENT_AGGREGATOR
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    [ ! -e err ] || sed 's/^/  | /' err >&2
    exit 1
}

# job STATUS WORD...: run cklaunch, its output in out and err.
job() {
    local expected=$1 status=0
    shift
    timeout 100 "$cklaunch" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$expected" ] || fail "cklaunch $*: status $status"
}

ranks_in() {
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1] + "/manifest.json"))["ranks"])' "$1"
}

# More ranks than cores, for any user: the cures are set and printed.
many=$(($(nproc) + 2))
job 0 -n "$many" --dir "$work/one" --output json -- sh -c 'exit 0'
grep -q "^cklaunch: .*mpirun -n $many .*ckagent" err || fail "no command shown"
grep -q 'OMPI_MCA_rmaps_base_oversubscribe=1' err || fail "the cure is not said"
[ "$(ranks_in "$work/one")" = "$many" ] || fail "ranks of the run"
python3 -m json.tool <out >/dev/null || fail "--output json is no JSON"

# A launcher that starts nothing leaves no run, and none is named as if it were.
mkdir "$work/refuses"
printf '#!/bin/sh\necho "no slots" >&2\nexit 9\n' >"$work/refuses/mpirun"
chmod +x "$work/refuses/mpirun"
PATH=$work/refuses:$PATH job 9 -n 1 --dir "$work/none" --output json -- true
grep -q 'nothing was recorded: the launcher ended with status 9' err ||
    fail "a launcher that refused is not said"
! grep -q '^ckmerge' err || fail "ckmerge was given a run that is not there"

# The status of the program comes through.
job 3 -n 1 --report none --dir "$work/two" -- sh -c 'exit 3'

# Several names: a ckagg of its own over tcp, with keys.
job 0 -n 2 --hosts localhost:1,127.0.0.1:1 --dir "$work/three" -- sh -c 'exit 0'
grep -q "ckagg stores the run in $work/three" err || fail "no ckagg"
grep -q -- '-x CKAGENT_AGGREGATOR' err || fail "the endpoint is not handed on"
! grep -qE 'curve=|token=' err || fail "the key stands on the terminal"
[ "$(ranks_in "$work/three")" = 2 ] || fail "ranks of the run over tcp"

# Without a name the run is called after the program, on one host and on more.
job 0 -n 1 -- sh -c 'exit 0'
job 0 -n 2 --hosts localhost:1,127.0.0.1:1 -- sh -c 'exit 0'
[ "$(find . -path './ck-sh-2*/report.txt' | wc -l)" = 2 ] ||
    fail "no runs that are called after the program: $(ls)"

if command -v mpiexec.hydra >/dev/null; then
    job 0 -n 2 --launcher hydra --dir "$work/four" -- sh -c 'exit 0'
    [ "$(ranks_in "$work/four")" = 2 ] || fail "ranks of the run by hydra"
fi

# Misuse and what is missing: one line, own codes.
job 2
job 2 -n 0 -- true
job 2 --launcher rocket -- true
[ "$(grep -c . err)" = 1 ] || fail "more than one line for a wrong launcher"
job 2 --hosts a:x -- true
job 2 --hosts a,,b -- true
job 2 --output xml -- touch ran
[ ! -e ran ] || fail "the job ran before the wrong format was said"
status=0
timeout 20 env PATH="$work/nothing" "$cklaunch" true 2>err || status=$?
[ "$status" = 1 ] || fail "no launcher: status $status"
grep -q 'apt-get install openmpi-bin' err || fail "no cure for a missing launcher"
echo "cklaunch: all as expected"
