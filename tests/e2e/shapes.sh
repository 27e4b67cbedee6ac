#!/usr/bin/env bash
# shapes.sh - programs of shapes that others have are reported as they are
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs (targets/mpi/shapes.c) with a rank that is late for a known reason, in
# shapes that a report may get wrong: several programs in one job, threads that
# call MPI while the first one waits for them, calls that do not show for
# whom ranks waited.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
program=$tests/shapes.openmpi
[ -x "$program" ] || skip "shapes was not built"
source=$here/../targets/mpi/shapes.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# run NAME MPIRUN_WORD...: one that ends in a : is an mpirun's as well.
run() {
    rm -rf "${work:?}/$1" "$work/$1".out*
    timeout 150 mpirun "${@:2}" 2>"$work/$1.err" </dev/null ||
        { cat "$work/$1.err"; fail "mpirun"; }
    cat "$work/$1".out.* >"$work/$1.out"
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
}

# late NAME RANK: what the ranks waited for the most is that rank's line.
late() {
    same "$1: late rank, its call and line" "($2, 'nanosleep', $(line late))" \
        "$(json "$work/$1/report.json" "(lambda i: (i['rank'], i['did']['call'],
            i['did']['line']))(max(j['delays']['items'], key=lambda i: i['ns']
            if i['did']['call'] == 'nanosleep' else 0))")"
}

# Each of two programs is named, with its ranks.
programs() {
    local agent=("$bin/ckagent" --dir "$work/programs" --)

    ln -f "$program" "$work/ocean"
    ln -f "$program" "$work/atmos"
    run programs -n 1 "${apart[@]}" "$work/programs.out" "${agent[@]}" \
        "$work/ocean" late : \
        -n 2 "${apart[@]}" "$work/programs.out" "${agent[@]}" "$work/atmos" late
    same "programs and their ranks" "[('ocean', [0]), ('atmos', [1, 2])]" \
        "$(json "$work/programs/report.json" "[(p['program'].split()[0].split(
            '/')[-1], p['ranks']) for p in j['programs_of_ranks']]")"
    same "the first line" "ck  ocean and atmos" \
        "$(head -n 1 "$work/programs/report.txt" | cut -d'|' -f1 |
            sed 's/ *$//')"
    grep -qx "    ranks 1 and 2: atmos" "$work/programs/report.txt" ||
        fail "the text has no ranks of atmos"
    late programs 2
}

# By what the program itself stamped: 0, or 3 where a rank lost more than that to
# other programs between its stamps and those of the recorder.
worked() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.out" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
rows = {r["rank"]: r for r in j["ranks"]}
region = j["region"]["ns"]
is_near = True
for line in open(sys.argv[2]):
    rank, worked, whole = (int(word) for word in line.split()[1:])
    row = rows[rank]
    print("rank %d: at work for %.1f of %.1f ms; outside MPI %.1f, MPI by other "
          "threads %.1f of %.1f ms" % (
              rank, worked / 1e6, whole / 1e6, row["useful_ns"] / 1e6,
              row["mpi_by_others_ns"] / 1e6, region / 1e6))
    # Of a thread that has not called MPI yet nothing is known.
    assert row["useful_ns"] > 0.9 * worked, "less than it worked"
    assert sum(row["outside"].values()) == row["useful_ns"], "parts"
    is_near = is_near and row["useful_ns"] - worked < \
        0.1 * whole + region - whole
assert rows[0]["mpi_by_others_ns"] > 0.2 * region
sys.exit(0 if is_near else 3)
PY
}

# The rank is in MPI where its first thread only waits for those that are.
threads() {
    run threads -n 3 "${apart[@]}" "$work/threads.out" "$bin/ckagent" \
        --dir "$work/threads" -- "$program" threads
    worked threads || return
    late threads 2
    same "efficiency and shares below 100 %" "True []" \
        "$(json "$work/threads/report.json" "'%s %s' % (
            j['efficiency']['parallel'] < 0.8, [r['rank'] for r in j['ranks']
            if r['useful_ns'] + r['startup_ns'] > j['region']['ns']])")"
    ! grep -q "little to gain" "$work/threads/report.txt" ||
        fail "the text sees nothing to gain"
}

# hides NAME CALL LINE: all calls from there may hide waits, and no more.
hides() {
    same "$2 may hide waits, in all its calls" True \
        "$(json "$work/$1/report.json" "[w['count'] for w in j['unknown_waits']
            if (w['call'], w['line']) == ('$2', $3)] == [c['calls'] for c in
            j['calls'] if (c['name'], c['line']) == ('$2', $3)]")"
}

# Where a rank may have waited without a record of it, the report names the calls,
# and states that it is not known whether they waited there.
window() {
    run window -n 3 "${apart[@]}" "$work/window.out" "$bin/ckagent" \
        --dir "$work/window" -- "$program" window
    hides window MPI_Win_unlock "$(line lock)"
    grep -Eq "^   [0-9.]+ % in MPI_Win_[a-z]+ \(shapes.c:[0-9]+\)\.$" \
        "$work/window/report.txt" || fail "the text does not name the call"
    grep -Eq "^ (Another [0-9.]+ % was in MPI calls|How long they waited for others)" \
        "$work/window/report.txt" || fail "the answer has no doubt"
}

# Who is to be let go on waits for the rank that posts late; who has posted, for
# the one that completes late.
posts() {
    run posts -n 3 "${apart[@]}" "$work/posts.out" "$bin/ckagent" \
        --dir "$work/posts" -- "$program" posts
    late posts 2
    same "who was waited for before the put" True \
        "$(json "$work/posts/report.json" "sum(w['ns'] for w in j['waits']
            if w['blamed_rank'] == 2 and w['host']['line'] in (
            $(line start), $(line complete))) > 40 * 4e6")"
}

completes() {
    run completes -n 3 "${apart[@]}" "$work/completes.out" "$bin/ckagent" \
        --dir "$work/completes" -- "$program" completes
    late completes 2
    same "who was waited for behind the put" True \
        "$(json "$work/completes/report.json" "sum(w['ns'] for w in j['waits']
            if w['blamed_rank'] == 2 and
            w['host']['line'] == $(line wait)) > 40 * 4e6")"
    grep -Eq "^ Rank 2 was waited for most \(.*\), [0-9.]+ % of it" \
        "$work/completes/report.txt" || fail "the answer does not name rank 2"
}

# Who waits at a fence waits for the last one; one that ends no epoch is no wait.
fence() {
    run fence -n 3 "${apart[@]}" "$work/fence.out" "$bin/ckagent" \
        --dir "$work/fence" -- "$program" fence
    late fence 2
    same "who was waited for in fences, and in which" "True [$(line fence)]" \
        "$(json "$work/fence/report.json" "(lambda fences: '%s %s' % (
            sum(w['ns'] for w in fences if w['blamed_rank'] == 2) >
            2 * 40 * 4e6, sorted({w['host']['line'] for w in fences})))(
            [w for w in j['waits'] if w['host']['call'] == 'MPI_Win_fence'])")"
    grep -Eq "^ Rank 2 was waited for most \(.*\), [0-9.]+ % of it" \
        "$work/fence/report.txt" || fail "the answer does not name rank 2"
}

# So does who writes to a file together with others.
files() {
    run files -n 3 "${apart[@]}" "$work/files.out" "$bin/ckagent" \
        --dir "$work/files" -- "$program" files "$work/written"
    late files 2
    same "who was waited for in writes, and where" "True [$(line write)]" \
        "$(json "$work/files/report.json" "(lambda writes: '%s %s' % (
            sum(w['ns'] for w in writes if w['blamed_rank'] == 2) >
            2 * 40 * 4e6, sorted({w['host']['line'] for w in writes})))(
            [w for w in j['waits'] if w['host']['call'] == 'MPI_File_write_all'])")"
    grep -Eq "^ Rank 2 was waited for most \(.*\), [0-9.]+ % of it" \
        "$work/files/report.txt" || fail "the answer does not name rank 2"
}

bridge() {
    run bridge -n 4 "${apart[@]}" "$work/bridge.out" "$bin/ckagent" \
        --dir "$work/bridge" -- "$program" bridge
    hides bridge MPI_Bcast "$(line bridge)"
    awk '/MPI_Bcast \(shapes.c/ { seen = 1 } /LATE RANKS/ { on = 1 }
        on && /^$/ { exit } on && /MPI_Bcast \(shapes.c/ { bcast = NR }
        on && /is not known\.$/ && NR <= bcast + 3 { doubt++ }
        END { exit !(bcast && doubt) }' "$work/bridge/report.txt" ||
        { sed -n '/LATE RANKS/,/^$/p' "$work/bridge/report.txt"
        fail "MPI_Bcast is blamed without a doubt"; }
    echo "ok: MPI_Bcast between the halves is blamed with a doubt"
}

# Who sends much to a late root waits for it, or does not, as the MPI library does
# it: not a network that is slow.
gather() {
    run gather -n 3 "${apart[@]}" "$work/gather.out" "$bin/ckagent" \
        --dir "$work/gather" -- "$program" gather
    same "MPI_Gather may hide half of its time at least" True \
        "$(json "$work/gather/report.json" "(lambda hidden, all: hidden * 2 > all)(
            sum(w['ns'] for w in j['unknown_waits'] if w['call'] == 'MPI_Gather'),
            sum(f['total_ns'] for f in j['functions'] if
                f['name'] == 'MPI_Gather'))")"
    grep -q "lost to.*network" "$work/gather/report.txt" &&
        fail "the network has it"
    grep -q "(serial. x transfer: not known)" "$work/gather/report.txt" ||
        fail "EFFICIENCY splits up what is not known"
}

# in_doubt NAME RANK...: what the ranks were not at work is waits, or it is not
# known whether it is: next to nothing is taken for anything else.
known_part=0.8 # of the time not at work: waits, and what is in doubt
in_doubt() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.out" $known_part \
        "${@:2}" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
rows = {r["rank"]: r for r in j["ranks"]}
for line in open(sys.argv[2]):
    rank, worked, whole = (int(word) for word in line.split()[1:])
    if str(rank) not in sys.argv[4:]:
        continue
    row = rows[rank]
    print("rank %d: not at work for %.1f ms; waited %.1f, in doubt %.1f ms" % (
        rank, (whole - worked) / 1e6, row["waited_ns"] / 1e6,
        row["waited_unknown_ns"] / 1e6))
    if row["waited_ns"] + row["waited_unknown_ns"] < \
            float(sys.argv[3]) * (whole - worked):
        # Others have the CPUs: ranks have none in MPI, too.
        sys.exit(3 if j["load"].get("other_cpus", 1) > 0.5 else "less than it waited")
PY
}

# A persistent send of 64 bytes ends with Open MPI when it is taken: the rank
# before the late one waits in MPI_Waitall for that.
ring() {
    run ring -n 3 "${apart[@]}" "$work/ring.out" "$bin/ckagent" \
        --dir "$work/ring" -- "$program" ring
    in_doubt ring 0 1 || return
    late ring 2
}

# Small messages that are not taken fill what room there is for them.
flood() {
    run flood -n 2 "${apart[@]}" "$work/flood.out" "$bin/ckagent" \
        --dir "$work/flood" -- "$program" flood
    in_doubt flood 0 || return
    grep -Eq "^   [0-9.]+ % in MPI_Send \(shapes.c:$(line flood)\)\.$" \
        "$work/flood/report.txt" || fail "the text does not name MPI_Send"
}

# Who looks again and again waits, it is not known for whom: no rank is blamed
# for that without a doubt, and no wait is 0.
polls() {
    run polls -n 3 "${apart[@]}" "$work/polls.out" "$bin/ckagent" \
        --dir "$work/polls" -- "$program" polls
    hides polls MPI_Testsome "$(line polls)"
    tr -s '\n ' ' ' <"$work/polls/report.txt" |
        grep -q "waited at least [0-9.]* % in MPI" ||
        fail "the first sentence counts all waits"
    same "what rank 0 waited" unknown "$(awk '/^ RANK .*OUTSIDE/ { on = 1 }
        on && $1 == "0" { print $3; exit }' "$work/polls/report.txt")"
    awk '/LATE RANKS/ { on = 1 } on && /in MPI_Testsome/ { call = NR }
        call && NR <= call + 2 && /is not known\.$/ { good = 1 }
        END { exit !good }' "$work/polls/report.txt" ||
        { sed -n '/LATE RANKS/,/^$/p' "$work/polls/report.txt"
        fail "MPI_Testsome is blamed without a doubt"; }
    echo "ok: MPI_Testsome is blamed with a doubt"
}

# Who went on outside of MPI keeps a posted collective: known are only the waits for
# those that posted it late, and the rest is in doubt, however much is known.
posted() {
    local known_part=0.95
    run posted -n 3 "${apart[@]}" "$work/posted.out" "$bin/ckagent" \
        --dir "$work/posted" -- "$program" posted
    in_doubt posted 0 1 || return
    grep -Eq "^   [0-9.]+ % in MPI_Wait \(shapes.c:$(line posted)\)\.$" \
        "$work/posted/report.txt" || fail "the text does not name MPI_Wait"
    ! grep -q "lost to.*network" "$work/posted/report.txt" ||
        fail "the network has it"
}

# Two processes of one number have one row below one ckagent: the text shows that,
# and no share of time above 100 %.
spawned() {
    rm -rf "${work:?}/spawned"
    timeout 150 "$bin/ckagent" --dir "$work/spawned" -- mpirun -n 1 "$program" \
        spawned >"$work/spawned.out" 2>"$work/spawned.err" </dev/null ||
        { cat "$work/spawned.err"; fail "mpirun"; }
    same "rows of several processes" "[(0, True)]" "$(json \
        "$work/spawned/report.json" "[(r['rank'], r.get('shared_row', False))
            for r in j['ranks']]")"
    grep -q "Several processes used MPI at the same time as rank 0" \
        "$work/spawned/report.txt" || fail "no sentence"
    ! grep -q "not recorded" "$work/spawned/report.txt" ||
        fail "what is recorded is said not to be"
    ! grep -Eq "(^|[^0-9.])(100\.[1-9]|10[1-9]\.|1[1-9][0-9]\.|[2-9][0-9]{2}\.)[0-9]* %" \
        "$work/spawned/report.txt" || fail "more than 100 %"
}

# Below the launcher nothing records what it starts.
unseen() {
    local at
    at=$(grep -n 'MPI_Comm_spawn(' "$source" | cut -d: -f1)
    rm -rf "${work:?}/unseen"
    timeout 150 mpirun -n 1 "$bin/ckagent" --dir "$work/unseen" -- "$program" \
        spawned >"$work/unseen.out" 2>"$work/unseen.err" </dev/null ||
        { cat "$work/unseen.err"; fail "mpirun"; }
    tr -s '\n ' ' ' <"$work/unseen/report.txt" |
        grep -q "MPI_Comm_spawn (shapes.c:$at) started 1 process of \
$(basename "$program") that is not recorded" ||
        fail "the text does not state what is missing"
}

# PRRTE 3.0.8's mpirun dies of SIGSEGV of any command line with a ":".
if mpirun -n 1 true : -n 1 true >/dev/null 2>&1; then
    once programs
else
    echo "left out: two programs in a job (mpirun cannot start any)"
fi
once spawned
once unseen
by_truth posted
by_truth ring
by_truth flood
fair polls
fair gather
fair window
fair posts
fair completes
fair fence
fair files
fair bridge
by_truth threads
