#!/usr/bin/env bash
# faults.sh - a rank that is late because of page faults, and memory over time
#
# SPDX-License-Identifier: Apache-2.0
#
# What the program (targets/mpi/faults.c) knows of its faults by getrusage() is
# in the report, with the function and line that faults, and its caller.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
program=$tests/faults.openmpi
[ -x "$program" ] || skip "faults was not built"
source=$here/../targets/mpi/faults.c

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# run SHAPE STEPS [RANK ROUNDS]
run() {
    rm -rf "${work:?}/$1" "$work/$1".out*
    (cd "$work" && timeout 100 mpirun -n 3 "${apart[@]}" "$work/$1.out" \
        "$bin/ckagent" --report none --dir "$work/$1" -- "$program" "$@") \
        2>"$work/$1.err" </dev/null || { cat "$work/$1.err"; fail "mpirun"; }
    wait_done "$work/$1"
    cat "$work/$1".out.* >"$work/$1.truth"
    "$bin/ckmerge" --quiet --output json="$work/$1/report.json" \
        --output text="$work/$1.txt" "$work/$1"
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
}

# right SHAPE FUNCTION CALLER LINE KIND EACH: counts and places are the
# program's; each sample represents EACH faults of that KIND.
right() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.truth" "${@:2}" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
function, caller, line, kind, each = sys.argv[3:8]
rows = {row["rank"]: row for row in j["memory"]}
for text in open(sys.argv[2]):
    rank, minor, major, step = (int(word) for word in text.split()[1:5])
    row = rows[rank]
    print("rank %d: %d minor and %d major faults; reported %d and %d, by "
          "samples %d and %d" % (rank, minor, major, row["minor_faults"],
              row["major_faults"], row["minor_sampled"], row["major_sampled"]))
    # The program has some more behind its own last look.
    assert minor <= row["minor_faults"] <= minor + 1000
    assert major <= row["major_faults"] <= major + 100
    if rank == 1:
        truth = step if kind == "minor" else major
        sampled = row[kind + "_sampled"]
        # Faults of other programs on the same CPU shift whose turn it is.
        assert abs(sampled - truth) < 5 * int(each) * (truth / int(each)) ** 0.5
place = j["fault_places"][0]
assert (place["function"], place["line"], place["rank"]) == (
    function, int(line), 1), place
assert place["caller"]["function"] == caller, place
assert place[kind] > 0.9 * rows[1][kind + "_sampled"]
assert rows[1]["faulting_ns"] > rows[0]["faulting_ns"]
PY
}

run map 30
samples=$(json "$work/map/report.json" \
    "(j.get('sampled') or {}).get('samples', 0)")
[ "$samples" -gt 0 ] || skip "no samples: perf_event is not permitted here"
right map fill step_map "$(line fill)" minor 4001 || fail "map"

# Late because it faults: rank, function, its caller, line and share. Where a
# hypervisor has faults of its own, it is seen at the program's instruction.
same "the reason" "(1, 'fill', 'step_map', $(line fill), True, True)" \
    "$(json "$work/map/report.json" "(lambda d: (d['rank'],
        d['did']['sampled']['function'],
        d['did']['sampled']['caller']['function'], d['did']['sampled']['line'],
        d['did']['sampled']['faulting_share'] > 0.1,
        d['did']['sampled']['minor_faults'] > 100000))(j['delays']['items'][0])")"
grep -q 'in fill (faults.c:[0-9]*) below step_map' "$work/map.txt" ||
    fail "the text does not name the function and its caller"
grep -q '% of it handling page faults (1[0-9][0-9],[0-9]* minor in all)' \
    "$work/map.txt" || fail "the text does not name the faults"

# Memory that is touched once and kept: it grows, by what is touched a step.
# Long enough to be looked at more than six times.
run touch 40 1 20000
right touch fill step_touch "$(line fill)" minor 4001 || fail "touch"
same "growth a step" "True True True" "$(json "$work/touch/report.json" \
    "' '.join(str(x) for x in (lambda m: (m['growth']['steady'],
        20e6 < m['growth']['bytes_per_step'] < 30e6,
        800e6 < m['peak_bytes'] < 1080e6))(
        [m for m in j['memory'] if m['rank'] == 1][0]))")"
grep -q 'Rank 1 grew steadily, by .* a step): a leak, a cache' \
    "$work/touch.txt" || fail "the text does not say that it grew"

# Pages that come from a disk, where the file system keeps none of them.
run read 15
if [ "$(awk '$2 == 1 { print $4 }' "$work/read.truth")" -gt 5000 ]; then
    right read scan step_read "$(line scan)" major 17 || fail "read"
    # By its waits, or by its samples where the disk is in memory.
    grep -q 'page faults that had to read in all,\|page faults (.* major in all)' \
        "$work/read.txt" || fail "the text does not say what blocked the rank"
fi
