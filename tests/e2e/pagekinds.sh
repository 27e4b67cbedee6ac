#!/usr/bin/env bash
# pagekinds.sh - the page of runs of all kinds, each view of it as a picture
#
# SPDX-License-Identifier: Apache-2.0
#
#     CK_SCREENSHOTS=FOLDER tests/e2e/pagekinds.sh [KIND...]
#
# For a person, who looks at the pictures: each view at 1280 and 1920 pixels in both
# colour schemes, and the whole page at 800 and 390. page.sh has what a script can find, of fewer runs; all of that
# is looked for here, too. A KIND is one of `kinds`, all of them by default. The runs
# are kept in FOLDER/runs, and used again by the next call; those of the generator
# (many, large, crowd) take 1.5 GB and some minutes.
. "$(dirname "$0")/lib.sh"
: "${CK_SCREENSHOTS:?names the folder of the pictures}"
need mpirun openmpi-bin
[ -n "${CHROMIUM:-}" ] || need chromium chromium
[ -x "$tests/train" ] || skip "train was not built"
. "$here/axe.sh"
kinds=(healthy late dead host clocks many crowd large kernels live threads memory
    words)
[ $# = 0 ] || kinds=("$@")
runs=$CK_SCREENSHOTS/runs
mkdir -p "$runs"

# recorded RANKS PROGRAM WORD...: the run as $run; what its status is does not
# matter.
recorded() {
    timeout 300 mpirun -n "$1" "$bin/ckagent" --report none --dir "$run" -- \
        "${@:2}" >"$work/out" 2>&1 || :
    wait_done "$run"
}

# made EVENTS RANKS: a run of the generator, of so many events a rank.
made() {
    mkdir "$run"
    "$tests/bench_merge" --write "$run" "$1" "$2" varied >"$work/out"
    "$bin/ckmerge" --quiet "$run" || [ $? -eq 3 ]
}

record_healthy() { recorded 4 "$tests/train" --steps 30; }
record_late() { recorded 4 "$tests/train" --steps 30 --inject late:2:10; }
record_dead() { recorded 3 "$tests/train" --steps 30 --inject crash:1:15; }
record_host() { recorded 2 "$tests/known.openmpi" imbalance 100 sleep; }
record_many() { made 250000 4; }
record_crowd() { made 1000 1024; }
record_large() { made 25000000 4; }
record_memory() { recorded 3 "$tests/faults.openmpi" touch 40; }
record_threads() { THREADS=4 recorded 2 "$tests/teams_mpi" imbalance 4; }

# Two hosts, whose clocks are 1000 s apart.
record_clocks() {
    cat >"$work/rank" <<'SH'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" -lt 2 ] && exec unshare --uts \
    sh -c 'hostname node-a; exec "$@"' sh "$@"
CK_TEST_CLOCK=off=123456789 exec unshare --uts --time --monotonic 1000 \
    --boottime 1000 sh -c 'hostname node-b; exec "$@"' sh "$@"
SH
    chmod +x "$work/rank"
    timeout 300 mpirun -n 4 "$work/rank" "$bin/ckagent" --clock-shortcut=off \
        --report none --dir "$run" -- "$tests/train" --steps 30 \
        --inject late:2:10 >"$work/out" 2>&1 || fail "no run with two clocks"
    wait_done "$run"
}

# What PyTorch and the NKI profiler wrote, without a run.
record_kernels() {
    mkdir "$run"
    "$bin/ckmerge" --quiet --kernel-only --output json="$run/report.json" \
        "$here/../data/profiles/kineto.json" "$run/merged.json" || [ $? -eq 3 ]
    mv "$run/merged.json.html" "$run/report.html"
}

# All threads of a rank at the signal that ended it; the kernel's tracepoints are
# in a mount namespace of this program's own.
record_words() {
    unshare -m sh -c '[ -e /sys/kernel/tracing/README ] ||
        mount -t tracefs none /sys/kernel/tracing; exec "$@"' sh \
        timeout 60 "$bin/ckagent" --report none --dir "$run" -- \
        "$tests/lastwords" 11 >"$work/out" 2>&1 || :
    wait_done "$run"
}

# live: the page of a job that runs, in place of files of a run.
live() {
    "$bin/ckagg" --listen "ipc://$work/agg" --dir "$work/live" --http 127.0.0.1:0 \
        >"$work/agg.out" 2>"$work/agg.err" &
    local agg=$! job url=
    mpirun -n 3 "$bin/ckagent" --aggregator "ipc://$work/agg" --report none -- \
        "$tests/train" --steps 1000000 --inject late:2:10 >"$work/out" 2>&1 &
    job=$!
    # shellcheck disable=SC2064
    trap "kill $job $agg 2>/dev/null || :; wait; cleanup" EXIT
    for _ in $(seq 600); do
        url=$(grep -o 'http://.*' "$work/agg.err") && break
        sleep 0.1
    done
    shown live="$(/usr/bin/python3 "$here/live.py" --first "$url" | tail -n 1)"
    kill "$job" "$agg"
    wait "$job" "$agg" || :
    trap cleanup EXIT
}

shown() {
    /usr/bin/python3 "$here/page.py" --each-view "$CK_SCREENSHOTS" "$1" || bad+=("$1")
}

bad=()
for kind in "${kinds[@]}"; do
    run=$runs/$kind
    if [ "$kind" = live ]; then
        live
        continue
    fi
    [ -e "$run" ] || "record_$kind"
    [ -s "$run/report.html" ] || fail "the run $kind has no page"
    shown "$kind=$run/report.html,$run/report.json"
done
[ ${#bad[@]} = 0 ] || fail "pages that are not as they should be: ${bad[*]}"
