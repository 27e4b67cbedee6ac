#!/usr/bin/env bash
# two_hosts.sh - two network namespaces as two hosts, one run of all ranks
#
# SPDX-License-Identifier: Apache-2.0
#
# First with agents pointed at a ckagg that listens on tcp, then without any
# option: rank 0's agent starts ckagg and the ranks of the other host find it.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need ip iproute2
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
[ -x "$tests/train" ] || skip "train was not built"

. "$(dirname "$0")/hosts.sh"
down() {
    hosts_down
    cleanup
}
trap down EXIT
hosts_up

# What mpirun takes for ssh: enter the namespace of the host it names. Each
# "host" has sockets of its own: another runtime folder and host name.
cat >"$work/rsh" <<SH
#!/bin/sh
case \$1 in 10.77.0.1) n=$a;; *) n=$b;; esac
shift
mkdir -p -m 700 $work/runtime-\$n
exec ip netns exec \$n unshare -u sh -c "hostname host-\$n; \
    export XDG_RUNTIME_DIR=$work/runtime-\$n; \$*"
SH
chmod +x "$work/rsh"

# across DIR AGENT_OPTION...: train over both hosts, the run in DIR.
across() {
    local dir=$1
    shift
    mkdir -p "$work/runtime-$a" && chmod 700 "$work/runtime-$a"
    ip netns exec "$a" env XDG_RUNTIME_DIR="$work/runtime-$a" \
        timeout -k 5 500 mpirun --host 10.77.0.1:2,10.77.0.2:2 \
        --mca plm_rsh_agent "$work/rsh" --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 -n 4 \
        "$bin/ckagent" --dir "$dir" "$@" -- "$tests/train" --steps 20 \
        </dev/null >"$work/out" 2>"$work/err" || {
        cat "$work/err"
        fail "mpirun over two hosts"
    }
}

check() {
    local run=$1
    same "$2: segments" 4 "$(find "$run" -name 'seg-*.ck' | wc -l)"
    same "$2: spools left" 0 "$(find "$run" -name 'spool-*.ck' -size +0 | wc -l)"
    "$bin/ckmerge" --output json "$run" >"$work/report.json" ||
        fail "ckmerge $run"
    same "$2: ranks" 4 "$(json "$work/report.json" "len(j['ranks'])")"
}

mkdir "$work/service"
ip netns exec "$a" "$bin/ckagg" --listen tcp://10.77.0.1:0 --insecure \
    --dir "$work/service" >"$work/ready" 2>"$work/ckagg.err" &
service=$!
for _ in $(seq 1000); do
    [ -s "$work/ready" ] && break
    sleep 0.1
done
endpoint=$(cat "$work/ready")
[ -n "$endpoint" ] || fail "ckagg did not become ready: $(cat "$work/ckagg.err")"
across "$work/unused" --aggregator "$endpoint" --insecure --report none
for _ in $(seq 2000); do
    [ -n "$(find "$work/service" -name report.json)" ] && break
    sleep 0.1
done
kill "$service"
wait "$service" || fail "ckagg ended with status $?"
check "$(run_of "$work/service")" "service"

across "$work/embedded" --report now
check "$work/embedded" "no option"
