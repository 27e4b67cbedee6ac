#!/usr/bin/env bash
# applications.sh - programs that others simulate with, from Debian's packages
#
# SPDX-License-Identifier: Apache-2.0
#
# LAMMPS, GROMACS, Quantum ESPRESSO, PETSc and conjugate gradients as HPCG's
# (tests/targets/mpi/conjugate.c) run plain and under ckagent, 2 ranks each, on
# the small decks of applications/. Results and exit status must be the same,
# nothing lost, sums closed, and steps claimed only by the rule of
# docs/analysis.md (Steps).
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
decks=$here/applications
export OMP_NUM_THREADS=1
# PETSc's Python package is beside its library, one folder a version.
petsc=$(find /usr/lib/petscdir -path '*-real/lib/python3/dist-packages' \
    2>/dev/null | sort | tail -n 1)
missing=()

# program NAME NUMBERS COMMAND...: run it twice, each time in a folder of its
# own; NUMBERS is the pattern of lines of its output that hold results.
program() {
    local name=$1 numbers=$2 way
    shift 2
    for way in plain traced; do
        mkdir -p "$work/$name/$way"
        cp "$work/decks"/* "$work/$name/$way"
    done
    plain=(timeout 300 mpirun -n 2)
    if ! (cd "$work/$name/plain" && "${plain[@]}" "$@" >output 2>&1 </dev/null); then
        grep -av '^$' "$work/$name/plain/output" | head -n 20
        missing+=("$name, which fails here without ckagent, too")
        return
    fi
    (cd "$work/$name/traced" && "${plain[@]}" "$bin/ckagent" --report none \
        --dir "$work/$name/run" -- "$@" >output 2>&1 </dev/null) ||
        { tail -n 5 "$work/$name/traced/output"; fail "$name: status $?"; }
    wait_done "$work/$name/run"
    grep -Eh -d skip "$numbers" "$work/$name/plain/"* >"$work/$name/expected" || true
    [ -s "$work/$name/expected" ] || fail "$name printed no results"
    grep -Eh -d skip "$numbers" "$work/$name/traced/"* |
        diff "$work/$name/expected" - || fail "$name: other results"
    checked "$name" "$work/$name/run"
}

# checked NAME RUN
checked() {
    "$bin/ckmerge" --verify "$2" >"$work/$1/verify" ||
        { cat "$work/$1/verify"; fail "--verify of $1"; }
    "$bin/ckmerge" -q "$2"
    same "$1: lost, exit status, waited = caused, steps by the rule" \
        "0 [0] True True" "$(/usr/bin/python3 - "$2/report.json" <<'PY'
import json, sys

j = json.load(open(sys.argv[1]))
table, region = j["step_table"], j["region"]["ns"]
rows = table["rows"]
covered = sum(row["end_ns"] - row["start_ns"] for row in rows)
is_fit = table["count"] == 0 and all(r["steps"] == 0 for r in j["ranks"])
if table["count"] > 0:
    is_fit = (table["count"] >= 12 and covered >= 0.8 * region and
              max(row["longest_ns"] for row in rows) <= region / 4 and
              {r["steps"] for r in j["ranks"]} == {table["count"]})
waited = sum(r["waited_ns"] for r in j["ranks"])
caused = sum(r["caused_ns"] for r in j["ranks"])
print(j["trust"]["lost"], sorted({r["code"] for r in j["ranks"]}),
      abs(waited - caused) <= 2 * len(j["ranks"]), is_fit)
print("%d steps, waited %.3f s of %.3f s each, parallel efficiency %.2f" % (
    table["count"], waited / 1e9, region / 1e9, j["efficiency"]["parallel"]),
    file=sys.stderr)
PY
        )"
}

mkdir "$work/decks"
cp "$decks"/* "$work/decks"
if command -v lmp >/dev/null; then
    # Step, temperature and energies of LAMMPS.
    program lammps '^ +[0-9]+( +-?[0-9.e+]+){5} *$' lmp -in lj.lammps -log none
else
    missing+=(lammps)
fi
if command -v gmx_mpi >/dev/null; then
    (cd "$work/decks" && /usr/bin/python3 argon.py 24 &&
        gmx grompp -f argon.mdp -c argon.gro -p argon.top -o argon.tpr \
            -maxwarn 5 >grompp.log 2>&1) ||
        { tail -n 5 "$work/decks/grompp.log"; fail "gmx grompp"; }
    # The rows of numbers in its log that are energies, not times.
    program gromacs '^ +(-?[0-9]\.[0-9]{5}e[+-][0-9]{2} +){2,}' \
        gmx_mpi mdrun -s argon.tpr -deffnm argon -ntomp 1 -reprod \
        -pin off -noconfout
else
    missing+=(gromacs)
fi
if command -v pw.x >/dev/null; then
    /usr/bin/python3 "$decks/hydrogen.py" >"$work/decks/H.UPF"
    program espresso 'total energy  .*=|convergence has been achieved' \
        pw.x -in h2.pw
else
    missing+=(quantum-espresso)
fi
if [ -n "$petsc" ]; then
    PYTHONPATH=$petsc program petsc ' iterations, sum ' \
        /usr/bin/python3 poisson.py 32
else
    missing+=(python3-petsc4py)
fi
[ -x "$tests/conjugate.openmpi" ] || fail "conjugate was not built"
program conjugate '^residual' "$tests/conjugate.openmpi" 48 3 50
[ ${#missing[@]} = 0 ] || skip "the others passed; missing: ${missing[*]}"
