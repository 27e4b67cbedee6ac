#!/usr/bin/env bash
# rounds.sh - programs of known truth, round after round, each report judged once
#
# SPDX-License-Identifier: Apache-2.0
#
#     CK_SERIES=FILE CK_ROUNDS=10 CK_LOOPS=2 tests/e2e/rounds.sh [SCRIPT...]
#
# A round of all takes a quarter of an hour beside loops; the core, one or two
# programs of each shape whose first sentences are all judged, is the script
# "sentences": half a minute, a minute beside loops.
#
# The tests try again where the machine disturbed a run, so they do not count how
# many reports are wrong. Here no report is followed by a second try. Each case of
# each script adds a line to FILE: its name; ok, other_shape (nothing was wrong,
# but the machine made another shape of the run), left_out or WRONG; and how much
# of the CPU time other programs took. What a wrong case wrote is kept beside FILE.
# CK_LOOPS busy loops run beside it all. Rounds that the file has are not done
# again, and after CK_SECONDS no script begins. At the end it is added up; status 1 if any is wrong.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${CK_SERIES:?names the file of the series}"
CK_SERIES=$(realpath -m "$CK_SERIES")
export CK_SERIES
mkdir -p "$(dirname "$CK_SERIES")"
touch "$CK_SERIES"
scripts=(load sockets hangs delays known opencl efficiency rhythms shapes deaths
    turns)
[ $# = 0 ] || scripts=("$@")
# Sentences have two digits.
export CK_WITHIN="${CK_WITHIN:-0.01}"
loops=()

loops_end() {
    [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
}
trap loops_end EXIT

for ((i = 0; i < ${CK_LOOPS:-0}; i++)); do
    bash -c 'while :; do :; done' &
    loops+=($!)
done

# Its own failure, beside those of its cases, is a wrong line as well.
script_run() {
    local status=0
    ! grep -q "^round $2 of $1 " "$CK_SERIES" || return 0
    [ $SECONDS -lt "${CK_SECONDS:-1000000}" ] || return 0
    "$here/$1.sh" || status=$?
    [ $status = 0 ] || [ $status = 77 ] ||
        echo "$1 WRONG the script's status is $status" | tee -a "$CK_SERIES"
    echo "round $2 of $1 ended at $(date +%H:%M:%S)" >>"$CK_SERIES"
}

for round in $(seq "${CK_ROUNDS:-1}"); do
    for script in "${scripts[@]}"; do
        script_run "$script" "$round"
    done
done

/usr/bin/python3 - "$CK_SERIES" <<'PY'
import collections, re, sys
cases, load = collections.defaultdict(collections.Counter), []
for line in open(sys.argv[1]):
    if line.startswith("round "):
        continue
    name, verdict = line.split()[:2]
    cases[name][verdict] += 1
    load += map(int, re.findall(r"others (\d+) %", line))
for name, seen in cases.items():
    print("%-40s %s" % (name, ", ".join("%d %s" % (seen[v], v) for v in seen)))
total = sum(cases.values(), collections.Counter())
print("all: %s; others took %d %% of the CPU time (median), %d %% at most" % (
    ", ".join("%d %s" % (total[v], v) for v in total),
    sorted(load)[len(load) // 2] if load else 0, max(load, default=0)))
sys.exit(total["WRONG"] > 0)
PY
