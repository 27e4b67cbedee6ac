# lib.sh - what the end-to-end scripts share: where things are, how to fail
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# A script sources it with the build folder in CK_BUILD (ctest sets it). It
# gives: bin (programs), tests (targets), work (a folder of its own, removed
# at the end unless CK_KEEP is set), and mpirun made fit for root and for more
# ranks than cores. Exit 77 = skipped, with the reason on stdout.
#
# A script waits for what shall happen. Its limits end what hangs and measure
# nothing: beside a load of 30 all takes 15 times as long on two cores.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../discard.sh"
build=${CK_BUILD:-$(cd "$here/../.." && pwd)/build}
bin=$build/bin
tests=$build/tests
cache=${CK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ck-tests}
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-e2e.XXXXXX")
. "$here/../rings.sh"
export XDG_RUNTIME_DIR=$work/runtime
export POCL_CACHE_DIR=$cache/pocl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Debian 13's PyTorch 2.6 has no libuv, asks for it, and ends.
export USE_LIBUV=0
mkdir -p "$cache" "$XDG_RUNTIME_DIR" "$POCL_CACHE_DIR"
chmod 700 "$XDG_RUNTIME_DIR"

# Reports of a test that passed have the fields that docs/report.md lists: the
# last three, if they are not too long to be looked at.
reports_check() {
    local reports=()
    mapfile -t reports < <(find "$work" -name report.json -size -4M \
        -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 3 | cut -d ' ' -f 2-)
    [ ${#reports[@]} = 0 ] ||
        /usr/bin/python3 "$here/reportcheck.py" "${reports[@]}" >&2
}

cleanup() {
    local status=$? is_good=1
    [ $status != 0 ] || reports_check || is_good=
    [ -n "${CK_KEEP:-}" ] || discard "$work"
    discard "$rings"
    [ -n "$is_good" ] || exit 1
    [ $status != 0 ] || [ -z "${left_out:-}" ] || skip "$left_out"
}
trap cleanup EXIT
# No script ends without output.
trap 'echo "line $LINENO: status $?: $BASH_COMMAND" >&2' ERR

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# need COMMAND PACKAGE: skip unless the command is there.
need() {
    command -v "$1" >/dev/null || skip "$1 is missing (package $2)"
}

# same WHAT EXPECTED SEEN
same() {
    [ "$2" = "$3" ] || fail "$1: expected $2, saw $3"
    echo "ok: $1 = $3"
}

# json FILE EXPRESSION: value of a Python expression over the loaded file j.
json() {
    /usr/bin/python3 - "$1" "$2" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))
PY
}

# Wait until the run's aggregator has all that is to come (--report none: the
# launcher may end before).
wait_done() {
    local _
    for _ in $(seq 3000); do
        grep -q '"state": "done"' "$1/manifest.json" 2>/dev/null && return
        sleep 0.1
    done
    fail "$1 is not done after 300 s"
}

# Ticks since the machine began: all of its CPUs', those that they worked (or
# another machine had them), and those of this script's programs.
ticks() {
    local cpu own
    read -ra cpu </proc/stat
    read -ra own <<<"$(sed 's/.*) //' "/proc/$$/stat")"
    echo $((cpu[1] + cpu[2] + cpu[3] + cpu[4] + cpu[5] + cpu[6] + cpu[7] + \
        cpu[8])) $((cpu[1] + cpu[2] + cpu[3] + cpu[6] + cpu[7] + cpu[8])) \
        $((own[11] + own[12] + own[13] + own[14]))
}

# tried FUNCTION WORD...: run it; its status as $status, and as $others the
# percentage of the CPU time that others took meanwhile.
tried() {
    local begin end
    read -ra begin <<<"$(ticks)"
    set +e
    (set -e; "$@")
    status=$?
    set -e
    read -ra end <<<"$(ticks)"
    others=$((100 * (end[1] - begin[1] - end[2] + begin[2]) /
        (end[0] - begin[0] + 1)))
}

# once FUNCTION WORD...: it must hold. A script's cases are functions that once,
# fair, or by_truth runs. With CK_SERIES=FILE (rounds.sh) all three of them run it
# once and go on: its verdict is a line of the file, and a wrong run is kept beside
# the file. Status 3 is as by_truth has it.
once() {
    if [ -z "${CK_SERIES:-}" ]; then
        "$@"
    else
        series_add "$@"
    fi
}

# tries COUNT: how often a case may run its program before it judges.
tries() {
    [ -z "${CK_SERIES:-}" ] || set -- 1
    echo "$1"
}

series_add() {
    local status others verdict=WRONG name
    name=$(basename "$0" .sh)_$(tr -c '[:alnum:]\n' _ <<<"$*")
    touch "$work/series_began"
    tried "$@" >"$work/series_out" 2>&1
    case $status in
        0) verdict=ok ;;
        3) verdict=other_shape ;;
        77) verdict=left_out ;;
        *) series_keep "$(dirname "$CK_SERIES")/$name.$(date +%H%M%S)" ;;
    esac
    echo "$name $verdict others $others % $(tail -n 1 "$work/series_out")" |
        tee -a "$CK_SERIES"
}

# series_keep FOLDER: what the case has written.
series_keep() {
    mkdir -p "$1"
    find "$work" -mindepth 1 -maxdepth 1 -newer "$work/series_began" \
        ! -name runtime -exec cp -r -t "$1" {} +
}

# fair FUNCTION WORD...: it must hold. Where others took a fifth of the CPU time
# meanwhile, what it measures may be theirs: then it has four tries.
fair() {
    local try status others
    if [ -n "${CK_SERIES:-}" ]; then
        series_add "$@"
        return
    fi
    for try in 1 2 3 4; do
        tried "$@"
        [ $status != 0 ] || return 0
        [ $others -ge 20 ] || exit $status
        echo "others took $others % of the CPU time (try $try)"
    done
    skip "$*: others took $others % of the CPU time"
}

# by_truth FUNCTION WORD...: it compares a run with what the program itself
# printed, and returns 0, or 3 where nothing was wrong but the machine made
# another shape of the run, for which less must hold: then it is run again, up to
# four times in all. A wrong report must be followed by a right one; where
# others took less than a fifth of the CPU time, the script counts as skipped, with
# the reason: such a machine shows nothing of that shape.
by_truth() {
    local try status others wrong=0 calmest=100
    if [ -n "${CK_SERIES:-}" ]; then
        series_add "$@"
        return
    fi
    for try in 1 2 3 4; do
        tried "$@"
        [ $status != 0 ] || return 0
        [ $status = 3 ] || wrong=$((wrong + 1))
        [ $wrong -lt 2 ] || exit $status
        [ $others -ge $calmest ] || calmest=$others
        echo "$*: status $status (try $try)"
    done
    [ $wrong = 0 ] || fail "$*: no report was right"
    echo "$*: no run was of its shape; no report was wrong"
    [ $calmest -ge 20 ] ||
        left_out="$*: of another shape, though others took $calmest %"
}

# mpirun ... "${apart[@]}" FILE COMMAND WORD...: what each rank prints goes into
# a file of its own, FILE.PID. mpirun passes on what it happens to read, and so
# may print those of one rank within a line of another.
# shellcheck disable=SC2034,SC2016
apart=(bash -c 'exec "$@" >"$0.$$"')

# The control group $group is empty once the aggregator has gone.
group_remove() {
    local _
    for _ in $(seq 100); do
        rmdir "$group" 2>/dev/null && return
        sleep 0.1
    done
}

# The one run directory below $work/$1.
run_of() {
    find "$1" -maxdepth 2 -name manifest.json -printf '%h\n' | head -n 1
}
