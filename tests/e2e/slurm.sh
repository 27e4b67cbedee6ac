#!/usr/bin/env bash
# slurm.sh - jobs of a real Slurm over two nodes: each step is one whole run
#
# SPDX-License-Identifier: Apache-2.0
#
# Two network namespaces with a slurmd each are the nodes. They share this
# script's folder, as nodes share a home, but neither sockets nor addresses.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need srun slurm-wlm
need slurmctld slurm-wlm
need slurmd slurm-wlm
need munged munge
need ip iproute2
[ "$(id -u)" = 0 ] || skip "network namespaces need root"

. "$(dirname "$0")/hosts.sh"
started=()
down() {
    kill "${started[@]}" 2>/dev/null || true
    wait "${started[@]}" 2>/dev/null || true
    hosts_down
    cleanup
}
trap down EXIT
hosts_up

# node NAMESPACE HOST COMMAND...: takes this shell's place.
node() {
    # shellcheck disable=SC2016
    exec ip netns exec "$1" unshare -u -m sh -c 'hostname "$1" &&
        mount --bind "$0/hosts" /etc/hosts &&
        mount --bind "$0/runtime.$1" "$0/runtime" && shift && exec "$@"' \
        "$work" "${@:2}"
}

mkdir "$work"/{state,job,tmp.nodea,tmp.nodeb,spool.nodea,spool.nodeb}
mkdir -m 700 "$work"/runtime.node{a,b}
printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 nodea' '10.77.0.2 nodeb' \
    >"$work/hosts"
head -c 128 /dev/urandom >"$work/munge.key"
chmod 400 "$work/munge.key"
chmod 755 "$work"
echo CgroupPlugin=cgroup/v1 >"$work/cgroup.conf"
# The epilog that docs/admin.md prints, with this build's ckagent.
sed -n '/^# Epilog=/,/^```/{/^```/!p}' "$here/../../docs/admin.md" |
    sed "1i #!/bin/sh\nexport CK_TEST_RINGS=$rings; echo >$work/ran.\$(hostname)
        s|/opt/ck/bin/|$bin/|" >"$work/epilog"
grep -q "$bin/ckagent --clean" "$work/epilog" ||
    fail "docs/admin.md has no epilog: $(cat "$work/epilog")"
chmod 755 "$work/epilog"
cat >"$work/slurm.conf" <<CONF
ClusterName=ck
SlurmctldHost=nodea(10.77.0.1)
AuthInfo=socket=$work/munge.sock
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
TmpFS=$work/tmp.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmdLogFile=$work/slurmd.%n.log
SlurmctldLogFile=$work/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MailProg=/bin/true
KillWait=5
Epilog=$work/epilog
NodeName=nodea NodeAddr=10.77.0.1 CPUs=4
NodeName=nodeb NodeAddr=10.77.0.2 CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=10
CONF
export SLURM_CONF=$work/slurm.conf
munged --foreground --force --key-file="$work/munge.key" \
    --socket="$work/munge.sock" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/munge.seed" \
    2>/dev/null &
started+=($!)
for _ in $(seq 100); do
    [ ! -S "$work/munge.sock" ] || break
    sleep 0.1
done
node "$a" nodea slurmctld -D -c >/dev/null 2>&1 &
started+=($!)
for n in a b; do
    node "${a%a}$n" "node$n" slurmd -D -N "node$n" -c >/dev/null 2>&1 &
    started+=($!)
done
state=
for _ in $(seq 300); do
    state=$( (node "$a" nodea sinfo -h -o %t) 2>/dev/null) || true
    [ "$state" != idle ] || break
    sleep 0.1
done
[ "$state" = idle ] || skip "no Slurm over two namespaces on this machine: $(
    grep -h error "$work"/slurm*.log | tail -n 1)"

# What is measured is who records together, so MPI may take the plain way.
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_pml=ob1
export OMPI_MCA_btl=tcp,self OMPI_MCA_mpi_yield_when_idle=1

# in_job NAME COMMAND...: on the first node, in an empty folder.
in_job() {
    local name=$1 status=0
    shift
    rm -rf "$work/job" "$work/hung" && mkdir "$work/job"
    (cd "$work/job" && node "$a" nodea timeout -k 5 60 "$@") \
        </dev/null >"$work/out" 2>"$work/err" || status=$?
    [ $status = 0 ] && return
    [ $status != 124 ] || touch "$work/hung"
    cat "$work/out" "$work/err"
    fail "$name: status $status"
}

# step NAME SRUN_WORD... -- PROGRAM...: 4 ranks on 2 nodes, without --dir.
step() {
    local name=$1 run
    shift
    in_job "$name" srun -N2 -n4 "$@"
    same "$name: runs" 1 "$(find "$work/job" -name 'ck-*' | wc -l)"
    run=$(echo "$work"/job/ck-*)
    [[ ${run##*/} =~ ^ck-[0-9]+\.0-[0-9]{8}T[0-9]{6}$ ]] ||
        fail "$name: ${run##*/} is not named by job and step"
    grep -q '| 4 ranks | 2 hosts |' "$work/err" || {
        cat "$work/out" "$work/err"
        fail "$name: no report of all ranks"
    }
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$run" ||
        fail "$name: ckmerge"
    same "$name: ranks" "[0, 1, 2, 3]" \
        "$(json "$work/report.json" "sorted(r['rank'] for r in j['ranks'])")"
    same "$name: segments" 4 "$(find "$run" -name 'seg-*.ck' | wc -l)"
    same "$name: spools left" 0 \
        "$(find "$run" -name 'spool-*.ck' -size +0 | wc -l)"
    grep -q '4 of 4 ranks recorded to the end' "$work/err" ||
        fail "$name: $(grep -A3 TRUST "$work/err")"
}

# allocated MPI PROGRAM...: by cklaunch inside an allocation, which finds srun and
# the --mpi= of the program.
allocated() {
    local mpi=$1
    shift
    in_job "salloc cklaunch" salloc -Q -N2 -n4 "$bin/cklaunch" -n 4 -- "$@"
    grep -q "srun -n 4 --mpi=$mpi " "$work/err" ||
        fail "cklaunch's command: $(grep srun "$work/err")"
    grep -q '| 4 ranks | 2 hosts |' "$work/err" || {
        cat "$work/out" "$work/err"
        fail "salloc cklaunch: no report of all ranks"
    }
    grep -q '4 of 4 ranks recorded to the end' "$work/err" ||
        fail "salloc cklaunch: $(grep -A3 TRUST "$work/err")"
    echo "ok: cklaunch in an allocation: srun --mpi=$mpi, one run"
}

# of_mpich FUNCTION WORD...: once, and again where the job hung. MPICH 4.0 waits in
# MPI_Finalize for ranks that no longer answer, without ck, too: what hung three
# times is left out. A later one must not hang.
of_mpich() {
    local _
    for _ in 1 2 3; do
        tried "$@"
        [ "$status" != 0 ] || return 0
        [ -e "$work/hung" ] &&
            [[ $(mpichversion) =~ Version:[[:space:]]*4\.0\. ]] || exit 1
    done
    left_out="MPICH 4.0 did not return from MPI_Finalize"
}

# begun PROGRAM...: a step of 4 ranks goes on; its number is $id, its run $run.
begun() {
    rm -rf "$work/job" && mkdir "$work/job"
    (cd "$work/job" && node "$a" nodea timeout -k 5 60 srun -N2 -n4 \
        "$bin/ckagent" -- "$@") </dev/null >"$work/out" 2>"$work/err" &
    step=$!
    for _ in $(seq 600); do
        run=$(echo "$work"/job/ck-*)
        [ ! -e "$run" ] || [ "$(find "$run" -name 'seg-*.ck' | wc -l)" != 4 ] ||
            break
        sleep 0.05
    done
    same "4 ranks began" 4 "$(find "$run" -name 'seg-*.ck' | wc -l)"
    id=$( (node "$a" nodea squeue -h -o %A) | tail -n 1)
}

# ended NAME SUFFIX WORD...: the job (or with the suffix .0 its step) after these
# words to scancel. SIGTERM leaves the time to write the report, all of it; where
# nothing is left of any process, the epilog of each node moves what they kept in
# memory to the run. To a job Slurm sends SIGTERM before SIGKILL, even if asked for
# SIGKILL; a step gets the signal that was named, at once, one process after the
# other: an agent may see that its program was killed before it is killed itself.
ended() {
    local name=$1 suffix=$2 seen
    shift 2
    begun sleep 60
    rm -f "$work"/ran.*
    (node "$a" nodea scancel "$@" "$id$suffix")
    wait $step || true
    if [ "$name" = killed ]; then
        for _ in $(seq 300); do
            [ ! -e "$work/ran.nodea" ] || [ ! -e "$work/ran.nodeb" ] ||
                [ -n "$(find "$rings" -name '*.ring')" ] || break
            sleep 0.1
        done
        same "$name: nodes whose epilog ran" 2 \
            "$(find "$work" -maxdepth 1 -name 'ran.*' | wc -l)"
        same "$name: ring files left by the epilog" 0 \
            "$(find "$rings" -name '*.ring' | wc -l)"
        [ ! -e "$run/report.txt" ] || fail "killed: a report was written in time"
        "$bin/ckmerge" "$run" >"$run/report.txt" || true
    fi
    for _ in $(seq 300); do
        [ ! -s "$run/report.txt" ] || break
        sleep 0.1
    done
    grep -q '| 4 ranks | 2 hosts |' "$run/report.txt" || {
        cat "$work/err" "$run"/ckagg.log "$run/report.txt"
        fail "$name: no report of all ranks"
    }
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$run" ||
        [ "$name" = killed ] || fail "$name: ckmerge"
    seen=$(json "$work/report.json" "sorted(set((r['end'], r['code'])
        for r in j['ranks']))")
    if [ "$name" = killed ]; then
        [[ $seen =~ ^\[(\(\'(unknown\',\ 0|signal\',\ 9)\)(, )?)+\]$ ]] ||
            fail "killed: ends: $seen"
        same "killed: ranks whose end is in the report" 4 \
            "$(grep -c '^ rank [0-3] \(died of signal 9\|has no recorded end\|ended with unknown status\)' "$run/report.txt")"
    else
        same "$name: ends" "[('signal', 15)]" "$seen"
    fi
    sed -n 1,4p "$run/report.txt"
}

ended cancelled ""
ended "killed as a job" "" --signal=KILL
ended killed .0 --signal=KILL
step "no MPI" "$bin/ckagent" -- sleep 0.2
if [ -x "$tests/sleeps.openmpi" ] && (node "$a" nodea srun --mpi=list) 2>&1 |
    grep -q pmix; then
    step "Open MPI by pmix" --mpi=pmix "$bin/ckagent" -- "$tests/sleeps.openmpi"
    allocated pmix "$tests/sleeps.openmpi"
else
    echo "left out: Open MPI (packages libopenmpi-dev, slurm-wlm-basic-plugins)"
fi
step "pmi2" --mpi=pmi2 "$bin/ckagent" -- sleep 0.2
if [ -x "$tests/sleeps.mpich" ]; then
    of_mpich step "MPICH by pmi2" --mpi=pmi2 "$bin/ckagent" -- \
        "$tests/sleeps.mpich"
    of_mpich allocated pmi2 "$tests/sleeps.mpich"
else
    echo "left out: MPICH (package libmpich-dev)"
fi
