#!/usr/bin/env bash
# launchers.sh - MPICH, Slurm's variables, cklaunch, no launcher at all
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
cd "$work"

# ranks RUN EXPECTED NAME
ranks() {
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$1" ||
        fail "$3: ckmerge"
    same "$3: ranks" "$2" \
        "$(json "$work/report.json" "sorted(r['rank'] for r in j['ranks'])")"
}

"$bin/ckagent" --report none --dir "$work/alone" -- /bin/echo alone >"$work/out"
same "alone: stdout" alone "$(cat "$work/out")"

# srun as its manual documents it: a process a rank with these variables.
pids=()
for rank in 0 1 2; do
    env SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_NTASKS=3 \
        SLURM_LOCALID=$rank SLURM_NODEID=0 SLURM_NNODES=1 \
        "$bin/ckagent" --report none --dir "$work/slurm" -- sleep 0.5 &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || fail "slurm: status $?"
done
for _ in $(seq 1000); do
    [ -s "$work/slurm/report.json" ] && break
    sleep 0.1
done
ranks "$work/slurm" "[0, 1, 2]" slurm

# A launcher like torchrun that ck does not know, and a wrapper a rank; a second
# job at the same address is not the first.
cat >"$work/envrank" <<'EOS'
pids=()
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank MASTER_ADDR=localhost \
        MASTER_PORT=29511 bash -c '"$@"; :' bash "$@" &
    pids+=($!)
done
wait "${pids[@]}"
EOS
for run in torch torch.2; do
    bash "$work/envrank" "$bin/ckagent" --report none --dir "$work/torch" -- \
        sleep 2.5
    wait_done "$work/$run"
    ranks "$work/$run" "[0, 1]" "a wrapper a rank ($run)"
done

# Of two ranks below one ckagent one dies, and both are started again, as torchrun
# does it: one run, which has when that was.
cat >"$work/elastic" <<'EOS'
for round in 0 1; do
    pids=()
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank \
            TORCHELASTIC_RESTART_COUNT=$round /usr/bin/python3 -c '
import os, time
time.sleep(0.3)
time.sleep(0.3)
if os.environ["RANK"] + os.environ["TORCHELASTIC_RESTART_COUNT"] == "10":
    os.kill(os.getpid(), 9)
time.sleep(0.6)' &
        pids+=($!)
    done
    wait "${pids[@]}" || :
done
EOS
"$bin/ckagent" --report none --dir "$work/elastic.run" -- \
    bash "$work/elastic" 2>/dev/null
wait_done "$work/elastic.run"
ranks "$work/elastic.run" "[0, 1]" "started again"
same "started again: when" "[[(1, True)], [(1, True)]]" \
    "$(json "$work/report.json" "[[(s['number'], 1.1e9 < s['start_rel_ns'] < 9e9)
        for s in r['restarts']] for r in j['ranks']]")"
"$bin/ckmerge" "$work/elastic.run" >"$work/text"
told='^ ranks 0 and 1 were started again at [0-9.]* s (restart 1), '
grep -q "$told[0-9.]* .*s after the first of them ended\$" "$work/text" ||
    fail "started again: $(sed -n 1,9p "$work/text")"

# A rank whose host has no other, and whose job no rank 0.
RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 "$bin/ckagent" --dir "$work/only" -- \
    sleep 5 2>"$work/err"
same "only rank 1: lines" 1 "$(grep -c . "$work/err")"
grep -q "the data is kept in $work/only/spool-.*: ckmerge $work/only\$" \
    "$work/err" || fail "only rank 1: $(cat "$work/err")"

# Beside the one that logs for the host it logs nothing.
pids=()
for rank in 2 3; do
    RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$((rank - 2)) LOCAL_WORLD_SIZE=2 \
        MASTER_ADDR=nowhere MASTER_PORT=1 \
        "$bin/ckagent" --dir "$work/two" -- sleep 5 2>"$work/err$rank" &
    pids+=($!)
done
wait "${pids[@]}"
same "ranks 2 and 3: lines" "1 0" \
    "$(grep -c . "$work/err2") $(grep -c . "$work/err3" || :)"

if command -v mpiexec.hydra >/dev/null && [ -x "$tests/p2p.mpich" ]; then
    timeout 500 mpiexec.hydra -n 2 "$bin/ckagent" --report none \
        --dir "$work/mpich" -- "$tests/p2p.mpich" >/dev/null
    wait_done "$work/mpich"
    ranks "$work/mpich" "[0, 1]" mpich
    same "mpich: MPI calls of both ranks" True \
        "$(json "$work/report.json" "all(r['mpi_calls'] > 9 for r in j['ranks'])")"
else
    echo "left out: MPICH (packages mpich, libmpich-dev)"
fi

if command -v mpirun >/dev/null && [ -x "$tests/train" ]; then
    timeout 500 "$bin/cklaunch" -n 2 --dir "$work/launch" -- "$tests/train" \
        --steps 10 >"$work/out" 2>"$work/err" || fail "cklaunch: status $?"
    grep -q 'mpirun.*ckagent' "$work/err" || fail "cklaunch prints no command"
    ranks "$work/launch" "[0, 1]" cklaunch
fi
