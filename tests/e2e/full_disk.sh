#!/usr/bin/env bash
# full_disk.sh - full disks in each place that ck writes to, alone and together
#
# SPDX-License-Identifier: Apache-2.0
#
#   R  the run directory, where ckagg is        T  TMPDIR
#   S  that path on the program's host: spools  M  /dev/shm
#
# In small file systems in a mount namespace of its own; R and S as on two hosts
# that share no disk, or (cells that end in 1) as one place on one. A cell is
# WHEN:PLACES: full from the `start`, from the `mid`dle on, or full and `free`
# again half-way. The program knows how many marks it made: those that are
# merged and those that are reported as lost must be all of them, and what is
# in a file elsewhere is named, and there. Few cells by default; all 45, and
# those of one host, with CK_CELLS=all; or CK_CELLS="mid:RS start:T".
if [ -z "${CK_FULL_DISK_INSIDE:-}" ]; then
    unshare -m true 2>/dev/null || {
        echo "skipped: mount namespaces are not allowed here"
        exit 77
    }
    CK_FULL_DISK_INSIDE=1 exec unshare -m "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
unset CK_TEST_RINGS # /dev/shm is ours, and may be full
count=20000
threads=40
mounts=()
agg=

mounted() {
    mount -t tmpfs -o "size=$2,mode=700" tmpfs "$1" || skip "no right to mount"
    mounts+=("$1")
}
unmount() {
    local i
    [ -z "$agg" ] || { kill "$agg" && wait "$agg"; } 2>/dev/null || :
    agg=
    for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
        umount -l "${mounts[i]}" || :
    done
    mounts=()
}
trap 'unmount; cleanup' EXIT

at() {
    case $1 in M) echo /dev/shm ;; *) echo "$cell/$1" ;; esac
}
fill() { head -c 128M /dev/zero >"$(at "$1")/filler" 2>/dev/null || :; }
each() { # each COMMAND: for the places of the cell
    local i
    for ((i = 0; i < ${#places}; i++)); do "$1" "${places:i:1}"; done
}
clear_place() { rm -f "$(at "$1")/filler"; }
# With half of the marks made, in the background.
turn_over() {
    local i
    for ((i = 0; i < 30000; i++)); do
        [ ! -e "$cell/half" ] || break
        read -rt 0.02 <> <(:) || :
    done
    [ ! -e "$cell/half" ] || case $when in
        mid) each fill ;;
        free) each clear_place ;;
    esac
}
# All processes that work for the cell are gone.
wait_gone() {
    local i
    for ((i = 0; i < 6000; i++)); do
        pgrep -f -- "$cell/" >/dev/null || return 0
        read -rt 0.05 <> <(:) || :
    done
    pgrep -af -- "$cell/" >&2
    fail "$1: processes stay behind"
}

# numbers DIR: marks that are merged (where their name was lost, too), records
# lost, exactly or not; "0 -1" where ckmerge refuses. Its stderr is in $work/err.
numbers() {
    local status=0
    rm -f "$work/trace.json" "$work/report.json"
    "$bin/ckmerge" --quiet --output chrome="$work/trace.json" \
        --output json="$work/report.json" "$1" 2>"$work/err" || status=$?
    case $status in
    0 | 3)
        echo "$(json "$work/trace.json" \
            "len({e['args']['value'] for e in j['traceEvents']
                if e['ph'] == 'i' and 'value' in e['args']})")" \
            "$(json "$work/report.json" \
                "j['trust']['lost'], int(j['trust']['lost_exact'])" | tr -d '(),')"
        ;;
    1) echo 0 -1 1 ;;
    *) fail "ckmerge $1: status $status" ;;
    esac
}

# The one run directory that has files; none where nothing could be written.
run_in() {
    find "$@" \( -name 'seg-*.ck' -o -name 'spool-*.ck' \) \
        -size +0 -printf '%h\n' 2>/dev/null | sort -u
}

# Committed = merged + reported as lost. The few records of ck's own that are
# lost as well are the slack.
balance() { # balance WHAT MARKS LOST EXACT
    [ -n "${4:-}" ] || fail "$1: no figures of ckmerge"
    local missing=$((count - ${2:-0}))
    [ "$3" -ge "$missing" ] || [ "$4" = 0 ] ||
        fail "$1: $missing marks missing, $3 records lost, said exactly"
    [ "$3" -le $((missing + 300)) ] ||
        fail "$1: $missing marks missing, but $3 records lost"
}

# The spools that a report names as elsewhere are there; brought into the run,
# nothing is elsewhere any more.
elsewhere() {
    local path found
    json "$work/report.json" \
        "'\n'.join(s['path'] for s in j['trust']['spools'] if s['path'])" \
        >"$work/named"
    [ -s "$work/named" ] && grep -q / "$work/named" || return 1
    cp -r "$1" "$cell/whole"
    while read -r path; do
        found=$(find "$cell/S" "$cell/T" -name "${path##*/}")
        [ -n "$found" ] || fail "$1: the report names $path, which is not there"
        cp "$found" "$cell/whole"
    done <"$work/named"
}

embedded() {
    (cd "$cell/runs" && TMPDIR=$cell/T timeout 300 "$bin/ckagent" \
        --posix off --sample off --dir "$cell/runs/run" -- \
        "$tests/marks" $count $threads "$cell/half")
}
two_hosts() {
    TMPDIR=$cell/T "$bin/ckagg" --listen tcp://127.0.0.1:0 --dir "$cell/runs" \
        >"$cell/endpoint" 2>"$cell/agg" &
    agg=$!
    local i
    for ((i = 0; i < 4000; i++)); do
        [ ! -s "$cell/endpoint" ] || break
        read -rt 0.02 <> <(:) || :
    done
    # shellcheck disable=SC2016
    TMPDIR=$cell/T unshare -m bash -c 'mount --bind "$0/S" "$0/runs" &&
        cd "$0/runs" && exec timeout 300 "$@"' "$cell" "$bin/ckagent" \
        --posix off --sample off --aggregator "$(head -n 1 "$cell/endpoint")" \
        -- "$tests/marks" $count $threads "$cell/half"
}

# The user can read where everything is.
look() {
    local runs=("$cell/R" "$cell/S" "$cell/T") dir marks lost exact
    if grep -q 'runs without recording' "$cell/err"; then
        case $places in *T*M*) ;; *) fail "$1: nothing was recorded" ;; esac
        [ -z "$(run_in "${runs[@]}")" ] || fail "$1: records of nothing"
        echo "ok: $1: $(grep -c . "$cell/err") line, not recorded"
        return
    fi
    dir=$(find "$cell/R" -mindepth 1 -maxdepth 1 -type d)
    read -r marks lost exact < <(numbers "$dir")
    if [ "$lost" != -1 ]; then
        balance "$1" "$marks" "$lost" "$exact"
        echo "ok: $1: $marks marks merged, $lost records lost"
        if elsewhere "$dir"; then
            read -r marks lost exact < <(numbers "$cell/whole")
            balance "$1, brought together" "$marks" "$lost" "$exact"
            echo "ok: $1, brought together: $marks marks, $lost records lost"
        fi
        return
    fi
    # Nothing at all could be stored in the run: stderr has where it is.
    dir=$(run_in "$cell/S" "$cell/T")
    if [ -z "$dir" ]; then
        lost=$(sed -n 's/.* \([0-9]*\) records were lost.*/\1/p' "$cell/err")
        balance "$1 (stderr)" 0 "${lost:-0}" 1
        echo "ok: $1: nothing could be kept, $lost records lost"
        return
    fi
    grep -q "${dir##*/}" "$cell/err" || fail "$1: nobody names $dir"
    read -r marks lost exact < <(numbers "$dir")
    balance "$1 (spool)" "$marks" "$lost" "$exact"
    echo "ok: $1: $marks marks in the spool, $lost records lost"
}

run_cell() {
    local what=$1 status=0 turning p
    when=${what%%:*} places=${what#*:}
    cell=$work/cell.$when.$places
    places=${places%1}
    mkdir -p "$cell"/{R,S,T,runs}
    for p in R S T; do mounted "$cell/$p" 32m; done
    mounted /dev/shm 64m
    mount --bind "$cell/R" "$cell/runs"
    mounts+=("$cell/runs")
    [ "$when" = mid ] || each fill
    turn_over &
    turning=$!
    case $what in
    *1) embedded ;;
    *) two_hosts ;;
    esac >"$cell/out" 2>"$cell/err" || status=$?
    wait "$turning"
    [ "$status" = 3 ] || { cat "$cell/err"; fail "$what: status $status"; }
    [ -z "$agg" ] || { kill "$agg" && wait "$agg"; } || :
    agg=
    wait_gone "$what"
    [ -z "$(find /dev/shm -name '*.ring')" ] || fail "$what: a ring stays"
    [ "$(grep -c 'ckagent: warn' "$cell/err")" -le 3 ] ||
        { cat "$cell/err"; fail "$what: more than three lines"; }
    look "$what" || { cat "$cell/err"; false; }
    unmount
    [ -n "${CK_KEEP:-}" ] || discard "$cell"
}

all_cells() {
    local when places
    for when in start mid free; do
        for places in R S T M RS RT RM ST SM TM RST RSM RTM STM RSTM; do
            echo "$when:$places"
        done
        for places in R1 RT1 RM1 RTM1; do echo "$when:$places"; done
    done
}
cells=${CK_CELLS:-mid:R mid:RST mid:R1 free:R1}
[ "$cells" != all ] || cells=$(all_cells)
for one in $cells; do run_cell "$one"; done

# Two jobs that start at once in one --dir, whose disk is full, are two runs.
cell=$work/two places=
mkdir -p "$cell"/{R,T}
mounted /dev/shm 64m
mounted "$cell/R" 32m
fill R
for made in 300 500; do
    TMPDIR=$cell/T timeout 300 "$bin/ckagent" --posix off --dir "$cell/R/run" \
        -- "$tests/lives_target" $made 2>"$cell/err.$made" || : &
done
wait
wait_gone "two jobs"
same "jobs that were told" 1 \
    "$(cat "$cell"/err.* | grep -c 'another job.*this run goes to')"
for dir in $(run_in "$cell/T"); do
    numbers "$dir"
done | sort -n | xargs >"$cell/numbers"
same "marks and losses of two jobs" "300 0 1 500 0 1" "$(cat "$cell/numbers")"
unmount

# ckmerge with no room for its outputs or in TMPDIR: one line, nothing harmed.
cell=$work/merge places=
mkdir -p "$cell"/{run,full}
mounted /dev/shm 64m
TMPDIR=$cell "$bin/ckagent" --no-page --report none --dir "$cell/run/run" -- \
    "$tests/lives_target" 300 || :
wait_done "$cell/run/run"
mounted "$cell/full" 32k
mkdir -m 700 "$cell/full/run"
cp "$cell"/run/run/{seg-*.ck,manifest.json} "$cell/full/run"
head -c 1M /dev/zero >"$cell/full/filler" 2>/dev/null || :
sum=$(cat "$cell"/full/run/seg-*.ck "$cell/full/run/manifest.json" | cksum)
status=0
TMPDIR=$cell/full "$bin/ckmerge" --quiet "$cell/full/run" 2>"$work/err" ||
    status=$?
same "ckmerge in a full run" "0 1" "$status $(grep -c 'No space left' "$work/err")"
[ ! -e "$cell/full/run/report.html" ] || fail "a page took the room of the report"
TMPDIR=$cell/full "$bin/ckmerge" --quiet --output chrome="$cell/full/t.json" \
    "$cell/run/run" 2>"$work/err" && fail "no error of a full output"
same "lines of an output that is full" "1 1" \
    "$(grep -c . "$work/err") $(grep -c 't.json.*No space left' "$work/err")"
same "the stored run" "$sum" \
    "$(cat "$cell"/full/run/seg-*.ck "$cell/full/run/manifest.json" | cksum)"
