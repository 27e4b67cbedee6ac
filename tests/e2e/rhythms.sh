#!/usr/bin/env bash
# rhythms.sh - steps and windows of programs that mark none, or none at all
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs of known shapes (tests/targets/mpi/rhythms.c). Where they have steps
# the report counts them, names the line that ends them and shows them for each
# rank; where they have none no sentence and no column counts any. What the
# machine adds to a shape is in the stamps that the program prints.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/rhythms.openmpi" ] || skip "rhythms was not built"
source=$here/../targets/mpi/rhythms.c

# job SHAPE RANKS
job() {
    rm -rf "${work:?}/$1" "$work/$1".out*
    timeout 60 mpirun -n "$2" "${apart[@]}" "$work/$1.out" \
        "$bin/ckagent" --dir "$work/$1" -- \
        "$tests/rhythms.openmpi" "$1" 2>"$work/$1.err" \
        </dev/null || { cat "$work/$1.err"; fail "mpirun"; }
    cat "$work/$1".out.* >"$work/$1.out"
    "$bin/ckmerge" --verify "$work/$1" >"$work/$1.verify" ||
        { cat "$work/$1.verify"; fail "--verify of $1"; }
}

# no_steps SHAPE RANKS
no_steps() {
    job "$1" "$2"
    same "steps claimed of $1" "0 None [0]" "$(json "$work/$1/report.json" \
        "' '.join(str(v) for v in (j['step_table']['count'],
            j['step_table']['ended_by'],
            sorted({r['steps'] for r in j['ranks']})))")"
    ! grep -Eq "STEPS|[0-9] steps|in steps? [0-9]" "$work/$1/report.txt" ||
        fail "the text of $1 counts steps"
}

# stamped CHECK REPORT OUTPUT WORD...: is the report true by what the program
# itself printed? 0 = yes, and the run is of its shape; 3 = yes, but the machine
# made another one of it, about which less is known.
stamped() {
    /usr/bin/python3 - "$@" <<'PY'
import json, statistics, sys
median = statistics.median
check, j = sys.argv[1], json.load(open(sys.argv[2]))
stamps, within = {}, []
for line in open(sys.argv[3]):
    what, rank, *numbers = line.split()
    if what == "within":
        within.append([int(n) for n in numbers])
    else:
        stamps.setdefault(int(rank), []).append(int(numbers[1]))
ranks = [stamps[rank] for rank in sorted(stamps)]
begin, end = min(r[0] for r in within), max(r[1] for r in within)
table = j["step_table"]


def is_near(a, b):
    return abs(a / b - 1) < 0.1


def steps(count):
    """All or none, and as long as the program saw them. The limits are those
    of docs/analysis.md (Steps), with room for the time around the stamps."""
    lengths = [[b - a for a, b in zip(r, r[1:])] for r in ranks]
    longest = [max(step) for step in zip(*lengths)]
    assert len(longest) == count, len(longest)
    covered = min(map(sum, lengths))
    outside = end - begin - covered
    stretches = [sorted(lengths[0][i:i + 12])
                 for i in range(0, len(lengths[0]) - 11, 12)]
    even = sum(sum(s[:6]) > 0.25 * sum(s) for s in stretches)
    is_shape = covered > 0.85 * (covered + 2 * outside) and \
        max(longest) < 0.2 * (end - begin) and even > 0.6 * len(stretches)
    words = (f"{count} steps in {covered / 1e6:.0f} ms, {outside / 1e6:.0f} ms "
             f"outside, the longest {max(longest) / 1e6:.1f} ms")
    if table["count"] == 0 and not is_shape:
        assert {r["steps"] for r in j["ranks"]} == {0}
        return words, False
    assert table["count"] == count, (words, table["count"])
    assert {r["steps"] for r in j["ranks"]} == {count}
    assert is_near(table["median_ns"], median(longest)), \
        (words, table["median_ns"], median(longest))
    for row, mine in zip(j["ranks"], lengths):
        assert is_near(row["step_median_ns"], median(mine)), \
            (words, row["step_median_ns"], median(mine))
    return words, True


def windows_are_true(late):
    """Of each rank, by how much later than the other one it came."""
    for row in j["stragglers"]:
        mine = late[row["rank"]]
        spans = [(w["start_ns"], w["end_ns"]) for w in row["windows"]]
        rest = median(
            ns for ns, at in zip(mine, ranks[0])
            if not any(start <= at < end for start, end in spans))
        for window, (start, end) in zip(row["windows"], spans):
            inside = [ns for ns, at in zip(mine, ranks[0])
                      if start <= at < end]
            claimed = window["share"] * row["caused_ns"]
            level, usual = median(inside), rest
            if window["first_step"] is None:
                # Of stretches of time, each with several steps.
                level = sum(inside) / (end - start)
                usual = (sum(mine) - sum(inside)) / (
                    ranks[0][-1] - ranks[0][0] - (end - start))
            words = (row["rank"], window["first_step"], window["last_step"],
                     claimed, sum(inside), level, usual)
            assert level > 2 * usual, words
            assert 0.5 * claimed < sum(inside) < 2 * claimed, words
            print("a window of rank", *words)


def window(is_stepped):
    """Rank 1 is late in steps 400 to 449."""
    late = [[max(0, a - b) for a, b in zip(mine, other)]
            for mine, other in (ranks, ranks[::-1])]
    windows_are_true(late)
    planted, rest = late[1][400:450], late[1][:400] + late[1][450:]
    near = late[1][384:400] + late[1][450:466]
    words = (f"rank 0 was late by {sum(late[0]) / 1e6:.0f} ms, rank 1 by "
             f"{sum(planted) / 1e6:.0f} ms there and {sum(rest) / 1e6:.0f} ms "
             f"elsewhere, in one step {max(rest) / 1e6:.1f} ms")
    if sum(late[1]) < 1.5 * sum(late[0]) or \
            sum(planted) < 0.75 * sum(late[1]) or \
            max(near) > min(planted) or \
            sum(ns > min(planted) for ns in rest) > 2:
        return words, False
    row = j["stragglers"][0]
    assert row["rank"] == 1, (words, row)
    claimed = row["window"]
    assert claimed is not None, words
    if is_stepped:
        assert abs(claimed["first_step"] - 400) <= 2, (words, claimed)
        assert abs(claimed["last_step"] - 449) <= 2, (words, claimed)
        return words, True
    assert table["count"] == 0 and claimed["first_step"] is None, claimed
    for side, ns in (("start_ns", ranks[1][399]), ("end_ns", ranks[1][449])):
        assert abs(claimed[side] - ns) * 30 < end - begin, \
            (words, side, (claimed[side] - ns) / 1e6)
    return words, True


words, is_shape = steps(int(sys.argv[4])) if check == "steps" else \
    window(check == "window")
print(f"{check}: {words}" + ("" if is_shape else ": not of its shape"))
sys.exit(0 if is_shape else 3)
PY
}

# steps SHAPE RANKS COUNT FUNCTION
steps() {
    local lines
    job "$1" "$2"
    stamped steps "$work/$1/report.json" "$work/$1.out" "$3" || return
    # The line that the compiler has for a call is one of the statement.
    lines=$(awk -v f="^static void $1\\\\(" '$0 ~ f { on = 1 }
        on && /MPI_[A-Z][a-z]/ { n = NR } on && /the step/ { print n "," NR; exit }' \
        "$source")
    same "what ends the steps of $1" "True True True" "$(json \
        "$work/$1/report.json" "(lambda t: ' '.join(str(v) for v in (
            t['ended_by'] == '$4', 'rhythms.c' in t['ended_in'],
            ($lines)[0] <= t['ended_line'] <= ($lines)[1])))(j['step_table'])")"
    grep -q "$3 steps, median .* taken to end with $4 (rhythms.c:" \
        "$work/$1/report.txt" || fail "the text of $1 does not count them"
}

# window: rank 1 is late in steps 400 to 449 of 1000; the barriers are ends of
# steps from the second on.
window() {
    job window 2
    stamped window "$work/window/report.json" "$work/window.out" || return
    grep -Eq "of it in steps [0-9]+ to [0-9]+ \(of 999\), from .* to .* of the" \
        "$work/window/report.txt" || fail "the text has no window"
}

# phase: the same without collectives; borders within a thirtieth of the run.
phase() {
    job phase 2
    stamped phase "$work/phase/report.json" "$work/phase.out" || return
    grep -Eq "of it from .* to .* of the run" "$work/phase/report.txt" ||
        fail "the text has no window"
}

once no_steps setup 2
once no_steps few 2
once no_steps burst 2
once no_steps leaders 4
by_truth steps output 2 319 MPI_Allreduce
by_truth steps nested 2 19 MPI_Bcast
by_truth steps rows 4 39 MPI_Barrier
by_truth window
by_truth phase
