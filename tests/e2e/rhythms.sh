#!/usr/bin/env bash
# rhythms.sh - steps and windows of programs that mark none, or none at all
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs of known shapes (tests/targets/mpi/rhythms.c). Where they have steps
# the report counts them, names the line that ends them and shows them for each
# rank; where they have none no sentence and no column counts any.
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

# steps SHAPE RANKS COUNT FUNCTION
steps() {
    local lines
    job "$1" "$2"
    # The line that the compiler has for a call is one of the statement.
    lines=$(awk -v f="^static void $1\\\\(" '$0 ~ f { on = 1 }
        on && /MPI_[A-Z][a-z]/ { n = NR } on && /the step/ { print n "," NR; exit }' \
        "$source")
    same "steps of $1" "$3 True True True" "$(json "$work/$1/report.json" \
        "(lambda t: ' '.join(str(v) for v in (t['count'],
            t['ended_by'] == '$4' and
            'rhythms.c' in t['ended_in'] and
            ($lines)[0] <= t['ended_line'] <= ($lines)[1],
            {r['steps'] for r in j['ranks']} == {t['count']},
            all(abs(r['step_median_ns'] / t['median_ns'] - 1) < 0.1
                for r in j['ranks']))))(j['step_table'])")"
    grep -q "$3 steps, median .* taken to end with $4 (rhythms.c:" \
        "$work/$1/report.txt" || fail "the text of $1 does not count them"
}

# others_late REPORT OUTPUT: that every window of the rank 0 is true by the times
# at which the program came to its barriers. Where the machine is shared that
# rank too may be late in some steps.
others_late() {
    /usr/bin/python3 - "$@" <<'PY'
import json, statistics, sys
j = json.load(open(sys.argv[1]))
came = [[0] * 1000, [0] * 1000]
for line in open(sys.argv[2]):
    _, rank, step, ns = line.split()
    came[int(rank)][int(step)] = int(ns)
assert min(map(min, came)) > 0
late = [max(0, a - b) for a, b in zip(*came)]
for row in j["stragglers"][1:]:
    spans = [(w["start_ns"], w["end_ns"]) for w in row["windows"]]
    rest = statistics.median(
        ns for ns, at in zip(late, came[0])
        if not any(start <= at < end for start, end in spans))
    for window, (start, end) in zip(row["windows"], spans):
        within = [ns for ns, at in zip(late, came[0]) if start <= at < end]
        claimed = window["share"] * row["caused_ns"]
        words = (row["rank"], window["first_step"], window["last_step"],
                 claimed, within, rest)
        assert statistics.median(within) > 2 * rest, words
        assert 0.5 * claimed < sum(within) < 2 * claimed, words
        print("rank 0 was late in steps", *words[1:3], sum(within), "ns")
PY
}

# window: rank 1 is late in steps 400 to 449 of 1000; the barriers are ends of
# steps from the second on.
window() {
    job window 2
    same "the late rank and its steps, within 2" \
        "1 True True" "$(json "$work/window/report.json" \
        "(lambda rows: '%d %s %s' % (rows[0]['rank'],
            abs(rows[0]['window']['first_step'] - 400) <= 2,
            abs(rows[0]['window']['last_step'] - 449) <= 2))(
            j['stragglers'])")"
    others_late "$work/window/report.json" "$work/window.out" ||
        fail "a window of the rank that was not late"
    grep -Eq "of it in steps [0-9]+ to [0-9]+ \(of 999\), from .* to .* of the" \
        "$work/window/report.txt" || fail "the text has no window"
}

# phase: the same without collectives; borders within a thirtieth of the run.
phase() {
    local words
    job phase 2
    read -ra words <"$work/phase.out"
    same "when rank 1 was late; steps" "1 True True None 0" \
        "$(json "$work/phase/report.json" "(lambda row, near: '%d %s %s %s %d' %
            (row['rank'], near(row['window']['start_ns'], ${words[2]}),
             near(row['window']['end_ns'], ${words[4]}),
             row['window']['first_step'], j['step_table']['count']))(
            j['stragglers'][0],
            lambda a, b: abs(a - b) * 30 < j['region']['ns'])")"
    grep -Eq "of it from .* to .* of the run" "$work/phase/report.txt" ||
        fail "the text has no window"
}

no_steps setup 2
no_steps few 2
no_steps burst 2
no_steps leaders 4
fair steps output 2 319 MPI_Allreduce
fair steps nested 2 19 MPI_Bcast
fair steps rows 4 39 MPI_Barrier
fair window
fair phase
