#!/usr/bin/env bash
# efficiency.sh - ranks that sleep for known times have the known efficiencies
#
# SPDX-License-Identifier: Apache-2.0
#
# Against the program's own stamps within 0.002: two digits are sure, the third
# may be off by 2; on a quiet machine three digits hold, with longer sleeps
#     CK_MS=400 CK_WITHIN=0.0005 tests/e2e/efficiency.sh
# And roughly against what the sleeps alone would give: other programs may run
# on the machine, and a rank that is preempted between its own stamp and the
# recorder's differs by that. One of a few runs must fit.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/sleeps.openmpi" ] || skip "sleeps was not built"
ranks=4 ms=${CK_MS:-40} steps=5 attempts=$(tries 5)
export within=${CK_WITHIN:-0.002}

run() {
    local dir=$work/$1.$2
    rm -rf "${dir:?}"
    timeout 100 mpirun -n $ranks "$bin/ckagent" --dir "$dir" -- \
        "$tests/sleeps.openmpi" "$1" $ms $steps >"$work/$1.out" \
        2>"$work/$1.err" </dev/null || { cat "$work/$1.err"; fail "mpirun"; }
    "$bin/ckmerge" --verify "$dir" || fail "--verify of $1"
    "$bin/ckmerge" --quiet --output json="$work/$1.json" "$dir"
}

# check CASE EXPRESSION...: over e (the report's), T and U (the program's).
check() {
    /usr/bin/python3 - "$work/$1.json" "$work/$1.out" "${@:2}" <<'PY'
import json, os, sys
j = json.load(open(sys.argv[1]))
e = j["efficiency"]
line = next(l for l in open(sys.argv[2]) if l.startswith("truth")).split()
T, U = int(line[1]), [int(u) for u in line[2:]]
N = len(U)
known = {"parallel": sum(U) / N / T, "load_balance": sum(U) / N / max(U),
         "communication": max(U) / T}
for name, value in known.items():
    print(f"{sys.argv[1].split('/')[-1]}: {name} {e[name]:.4f}, by the "
          f"program's stamps {value:.4f}")
    assert abs(e[name] - value) <= float(os.environ["within"]), name
near = lambda a, b: abs(a - b) <= 1e-9
assert near(e["parallel"], e["load_balance"] * e["communication"])
assert near(e["communication"], e["serialisation"] * e["transfer"])
assert e["ranks"] == N and e["matched"] == e["receives"]
for expression in sys.argv[3:]:
    print(f"{expression}: "
          f"{eval('e[' + repr(expression.split()[0]) + ']'):.4f}")
    name, low, high = expression.split()
    assert float(low) <= e[name] <= float(high), expression
# All that ranks waited for is charged to some rank.
assert sum(r["waited_ns"] for r in j["ranks"]) == \
    sum(r["caused_ns"] for r in j["ranks"])
PY
}

# How long the ranks sleep in a step, all together, in times of ms.
declare -A sleepers=([balance]=10 [chain]=4)

# shaped CASE RANKS_THAT_SLEEP RANKS_IN_TURN: were the ranks outside MPI for their
# sleeps alone, and all of it not longer than these? By the program's stamps,
# within a tenth. Status 3: no.
shaped() {
    /usr/bin/python3 - "$work/$1.out" $((steps * ms)) $ranks "$2" "$3" <<'PY'
import sys
line = next(l for l in open(sys.argv[1]) if l.startswith("truth")).split()
T, U = int(line[1]), sum(map(int, line[2:]))
slept, ranks, sleepers, turns = map(int, sys.argv[2:])
planned = slept * 1e6
print("all took %.0f ms of %.0f, outside MPI %.0f of %.0f" % (
    T / 1e6, planned * turns / 1e6, U / 1e6, planned * sleepers / 1e6))
sys.exit(0 if T < 1.1 * planned * turns and U < 1.1 * planned * sleepers else 3)
PY
}

# attempt CASE EXPRESSION...
attempt() {
    if [ -n "${CK_SERIES:-}" ]; then
        # By its stamps in any case; as planned where it is of its shape.
        run "$1" 1
        check "$1" || return
        shaped "$1" "${sleepers[$1]}" 4 || return
        check "$@"
        return
    fi
    for ((i = 1; i <= attempts; i++)); do
        run "$1" "$i"
        check "$@" 2>"$work/check.err" && return 0
        tail -n 1 "$work/check.err"
    done
    fail "$1: $attempts runs and none fits"
}

balance() {
    attempt balance "load_balance 0.6 0.65" "communication 0.8 1" \
        "serialisation 0.9 1" "transfer 0.8 1"
    same "the rank that others waited for" 3 \
        "$(json "$work/balance.json" "j['stragglers'][0]['rank']")"
    # A rank that is preempted for 40 ms may take its place in one.
    same "it was the worst in 4 or 5 of 5 steps" True \
        "$(json "$work/balance.json" "(lambda s: s['of_steps'] == 5 and
            s['steps'] >= 4)(j['stragglers'][0])")"
}
fair balance

chain_fit() {
    json "$work/chain.json" "abs(
        sum(w['ns'] for w in j['waits'] if w['blamed_rank'] == 0 and
            w['wait'] == 'late_sender') / (3 * $steps * $ms * 1e6) - 1) < 0.1"
}
chain() {
    local seen
    attempt chain "load_balance 0.7 1" "communication 0.2 0.35" \
        "serialisation 0.2 0.35" "transfer 0.8 1"
    # Rank 3 waits for 2, which waits for 1, which waits for 0: each sleeps in turn,
    # so each is to blame for what the ones behind it waited while it slept.
    same "all are to blame" True "$(json "$work/chain.json" \
        "sorted(s['rank'] for s in j['stragglers']) == [0, 1, 2, 3]")"
    seen=$(chain_fit)
    for ((i = 1; i <= attempts && ${#seen} != 4; i++)); do
        run chain "again$i"
        seen=$(chain_fit)
    done
    [ "$seen" = True ] || [ -z "${CK_SERIES:-}" ] || shaped chain 4 4 || return
    same "rank 0 for three ranks' wait for its sleep, within 10 %" True "$seen"
}
fair chain

# On a line only the rank beside the late one waits for it, in whatever form
# neighbours meet; then all wait for it at the barrier.
neighbours_fit() {
    json "$work/neighbours.json" "(lambda waits:
        {(w['rank'], w['ranks'], w['last_rank'], w['blamed_rank'])
         for w in waits} == {(2, 1, 3, 3)} and len(waits) == 3 and all(
        abs(w['ns'] / ($steps / 3 * $ms * 1e6) - 1) < 0.1 for w in waits))(
        [w for w in j['waits'] if w['wait'] == 'wait_at_neighbours' and
         w['ns'] > 10e6])"
}
neighbours() {
    local steps=6 seen=False
    for ((i = 1; i <= attempts && ${#seen} != 4; i++)); do
        run neighbours "$i"
        seen=$(neighbours_fit)
    done
    [ "$seen" = True ] || [ -z "${CK_SERIES:-}" ] || shaped neighbours 1 1 || return
    same "rank 2 alone waits for its neighbour, a third of it in each of 3 forms" \
        True "$seen"
}
once neighbours

# A rank that is late in MPI_Init or MPI_Finalize is reported, though the region
# is between them.
ends_fit() {
    json "$work/ends.json" "(lambda waits:
        {(w['wait'], w['blamed_rank'], w['ranks']) for w in waits} ==
        {('wait_at_init', 3, 3), ('wait_at_finalize', 0, 3)} and all(
        0.7 < w['ns'] / (3 * $ms * 1e6) < 1.3 for w in waits) and
        [w['seen_during']['call'] for w in waits
         if w['wait'] == 'wait_at_finalize'] == ['nanosleep'])(
        [w for w in j['edge_waits'] if w['ns'] > 100e6])"
}
ends() {
    local ms=400 seen=False dir
    for ((i = 1; i <= attempts && ${#seen} != 4; i++)); do
        run ends "$i"
        seen=$(ends_fit)
    done
    same "who waited in MPI_Init and MPI_Finalize, and for whom" True "$seen"
    dir=$work/ends.$((i - 1))
    grep -q "ranks waited .* in MPI_Finalize for rank 0" "$dir/report.txt" ||
        fail "no word of MPI_Finalize in the text"
    # A part that has both is asked for: they are waits of it.
    "$bin/ckmerge" --quiet --from 0s --to 3600s --output json="$work/part.json" \
        --output text="$work/part.txt" "$dir"
    same "waits in MPI_Init of a part that has it" True "$(json "$work/part.json" \
        "(lambda of: of('waits') == of('edge_waits') > 0 and sum(r['waited_ns']
        for r in j['ranks']) == sum(w['ns'] for w in j['waits']))(lambda rows: sum(
        w['ns'] for w in j[rows] if w['wait'] == 'wait_at_init'))")"
    ! grep -q "AT START AND END" "$work/part.txt" ||
        fail "what is in the part is shown as if it were not"
}
once ends

# Steps that the program does not mark are found by the barrier that ends them.
unmarked_fit() {
    json "$work/unmarked.json" "(lambda t: (t['count'], t['ended_by'],
        t['ended_in'].split('/')[-1]) == (13, 'MPI_Barrier', 'sleeps.c') and all(
        r['worst_rank'] == 3 and
        0.9 < r['longest_ns'] / ($ranks * $ms * 1e6) < 1.5
        for r in t['rows']))(j['step_table'])"
}
unmarked() {
    local ms=20 steps=14 seen=False
    for ((i = 1; i <= attempts && ${#seen} != 4; i++)); do
        run unmarked "$i"
        seen=$(unmarked_fit)
    done
    [ "$seen" = True ] || [ -z "${CK_SERIES:-}" ] || shaped unmarked 10 4 || return
    same "steps from what repeats, as long as the longest sleep" True "$seen"
    grep -q "taken to end with MPI_Barrier (sleeps.c:" \
        "$work/unmarked.$((i - 1))/report.txt" || fail "no word of it in the text"
}
once unmarked
