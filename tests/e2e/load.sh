#!/usr/bin/env bash
# load.sh - what ranks did outside MPI, and who had the CPUs that they wanted
#
# SPDX-License-Identifier: Apache-2.0
#
# What is true, and known before each run:
#   parts  each rank computes, waits for data and the disk, waits for a lock and
#          sleeps for times that it measures itself, beside two busy loops;
#   others two ranks that compute on two CPUs, with a busy loop on each;
#   own    three ranks that compute on one CPU, by affinity;
#   quota  two ranks in a cgroup that may use a quarter of a CPU;
#   storm  a rank that computes beside eight threads that yield all the time.
# All is bound to two CPUs, so that the size of the machine does not matter.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need taskset util-linux
[ -x "$tests/spends.openmpi" ] || skip "spends was not built"
read -ra cpus <<<"$(/usr/bin/python3 -c \
    'import os; print(*sorted(os.sched_getaffinity(0))[:2])')"
[ ${#cpus[@]} = 2 ] || skip "this needs two CPUs"
both=${cpus[0]},${cpus[1]}
loops=()

# Ends what a failed case left running, too.
loops_end() {
    [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
    wait "${loops[@]}" 2>/dev/null || true
    loops=()
}
trap 'loops_end; cleanup' EXIT

loops_begin() {
    local cpu
    # A case that fails in a shell of its own ends them, too.
    [ $BASH_SUBSHELL = 0 ] || trap loops_end EXIT
    for cpu in "${cpus[@]}"; do
        taskset -c "$cpu" sh -c 'while :; do :; done' &
        loops+=($!)
    done
}

# job NAME RANKS CPUS WORD...
job() {
    local name=$1 ranks=$2 on=$3
    shift 3
    timeout 60 mpirun --bind-to none -n "$ranks" "$bin/ckagent" --dir \
        "$work/$name" -- taskset -c "$on" "$tests/spends.openmpi" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null ||
        { cat "$work/$name.err"; fail "mpirun"; }
    "$bin/ckmerge" --verify "$work/$name" || fail "--verify of $name"
    "$bin/ckmerge" --quiet --output json="$work/$name.json" "$work/$name"
}

# sentence NAME TEXT: it is once in the report.
sentence() {
    same "\"$2\" in the report of $1" 1 \
        "$(tr -s '\n ' ' ' <"$work/$1/report.txt" | grep -o "$2" | wc -l)"
}

# load NAME EXPRESSION over the field of that name.
load() {
    json "$work/$1.json" "(lambda load: print(load, file=sys.stderr) or
        ($2))(j['load'])"
}

parts() {
    loops_begin
    job parts 2 "$both" parts 4 60 "$work/disk"
    loops_end
    parts_check
    sentence parts "ranks were outside MPI"
    sentence parts "Outside MPI:"
    local outside words
    # Of a rank that was in I/O for longer than the other a line of its own is right.
    outside=$(grep -A 1 "Outside MPI:" "$work/parts/report.txt" | tr -s "\n " " ")
    for words in "in I/O" "asleep" "waiting for locks or threads"; do
        same "\"$words\" of all ranks" 1 "$(grep -c "$words" <<<"$outside")"
    done
}

parts_check() {
    /usr/bin/python3 - "$work/parts.json" "$work/parts.out" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
for line in open(sys.argv[2]):
    word, rank, *truth = line.split()
    if word != "truth":
        continue
    row = next(r for r in j["ranks"] if r["rank"] == int(rank))
    outside = row["outside"]
    print(f"rank {rank}: {outside}, truth {truth}")
    assert sum(outside.values()) == row["useful_ns"], "sum"
    keys = ["cpu_ns", "io_ns", "lock_ns", "sleep_ns"]
    for key, ns in zip(keys, map(int, truth)):
        if key == "cpu_ns" and j["sampled"]["switches"] == 0:
            assert outside[key] == 0, "no switches were recorded"
            continue
        assert 0.8 < outside[key] / ns < 1.25, (key, outside[key], ns)
total = j["efficiency"]["outside"]
assert sum(total.values()) == j["efficiency"]["useful_ns"]
PY
    echo "ok: the parts of the time outside MPI are what the ranks measured"
}

others() {
    loops_begin
    job others 2 "$both" spin 2600
    loops_end
    same "other programs had the CPUs" "others 2 True True" "$(load others "'%s %g %s %s'
        % (load['verdict'], load['cpus'], load['other_cpus'] > 0.5,
           1.5 < load['ready_threads'] < 2.5)")"
    sentence others "for a CPU: other programs used"
    ! grep -q "no more ranks" "$work/others/report.txt" ||
        fail "the ranks are told to be fewer"
}

own() {
    job own 3 "${cpus[0]}" spin 2600
    same "more threads than CPUs" "own_threads affinity 1 True" "$(load own "'%s %s %g %s'
        % (load['verdict'], load['limited_by'], load['cpus'],
           2.5 < load['ready_threads'] < 3.6)")"
    sentence own "on 1 CPU (allowed by affinity"
}

storm() {
    [ $BASH_SUBSHELL = 0 ] || trap loops_end EXIT
    taskset -c "$both" "$tests/spends.openmpi" yield 8 2500 &
    loops+=($!)
    job storm 1 "$both" spin 1500
    loops_end
    same "no sample is lost to other programs' switches" 0 \
        "$(json "$work/storm.json" "j['sampled']['records_lost']")"
    ! grep -q "of the sample records were lost" "$work/storm/report.txt" ||
        fail "a loss of samples is said"
}

# Of version 1 or 2, where this user may make groups with a quota.
group_make() {
    local top=/sys/fs/cgroup
    if [ -e $top/cgroup.controllers ]; then
        group=$top/ck-e2e-$$
        mkdir "$group" && echo "25000 100000" >"$group/cpu.max"
    else
        group=$top/cpu/ck-e2e-$$
        mkdir "$group" && echo 100000 >"$group/cpu.cfs_period_us" &&
            echo 25000 >"$group/cpu.cfs_quota_us"
    fi
} 2>/dev/null

# Ranks that others leave less than their quota do not use it up.
quota() {
    rm -rf "${work:?}/quota"
    (
        echo $BASHPID >"$group/cgroup.procs"
        job quota 2 "$both" spin 2600
    )
    # Where others have the CPUs the ranks cannot use up what they may.
    [ "$(load quota "load['own_cpus'] > 0.2")" = True ] || return 3
    same "a quota that is used up" "quota 0.25 True" "$(load quota "'%s %g %s'
        % (load['verdict'], load['quota_cpus'],
           load['throttled_periods'] * 2 > load['quota_periods'])")"
    sentence quota "A cgroup's quota of 0.25 CPUs stopped the ranks"
}
for case in parts others own storm; do
    once $case
done
group=
if group_make; then
    trap 'loops_end; group_remove; cleanup' EXIT
    by_truth quota
else
    [ -z "$group" ] || rmdir "$group" 2>/dev/null || true
    echo "left out: no cgroup with a quota may be made here"
fi
