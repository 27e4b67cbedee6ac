#!/usr/bin/env bash
# torchrun.sh - `ckagent -- torchrun` on each of two hosts is one run
#
# SPDX-License-Identifier: Apache-2.0
#
# Two network namespaces with host names of their own, which share this script's
# folder as hosts share a home. The torchrun is the packaged one; its hosts meet by
# numbers and by c10d, where no host has a number.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
need ip iproute2
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
"$python" -c 'import torch.distributed.run' 2>/dev/null ||
    skip "no torchrun (package python3-torch)"

. "$(dirname "$0")/hosts.sh"
down() {
    hosts_down
    cleanup
}
trap down EXIT
hosts_up
printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 nodea' '10.77.0.2 nodeb' \
    >"$work/hosts"
mkdir -m 700 "$work"/runtime.node{a,b}

# Debian 12's torchrun trips over its Python's enums: give it the value it wants.
cat >"$work/torchrun" <<PY
#!$python
import sys
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda c, s: Std(0))
import torch.distributed.elastic.rendezvous.c10d_rendezvous_backend as c10d
import torch.distributed.elastic.rendezvous.static_tcp_rendezvous as numbered
from torch.distributed.run import main
sys.path.append("$here")
import torchstores
for name in "torch.distributed", c10d.__name__, numbered.__name__:
    torchstores.without_libuv(name)
main()
PY
chmod +x "$work/torchrun"

# node NAMESPACE HOST COMMAND...
node() {
    # shellcheck disable=SC2016
    ip netns exec "$1" unshare -u -m sh -c 'hostname "$1" &&
        mount --bind "$0/hosts" /etc/hosts &&
        export XDG_RUNTIME_DIR="$0/runtime.$1" && cd "$0/job" && shift &&
        exec "$@"' "$work" "${@:2}" </dev/null
}

# They record something long before their end, as a rank of Python does.
worker='import time; time.sleep(0.5); time.sleep(0.5)'
# One worker of the second host is killed in the first round: torchrun ends the
# others and starts all four again. Each has a diary of when it was there.
killed='import os, time
def note(what, at=None):
    with open("diary", "a") as diary:
        diary.write("%s %s %d\n" % (os.environ["RANK"], what, at or time.time_ns()))
is_again = os.path.exists("killed")
ticks = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
born = time.time_ns() # and not later, whatever comes between the two clocks
born -= time.clock_gettime_ns(time.CLOCK_BOOTTIME)
note("born", born + ticks * 10**9 // os.sysconf("SC_CLK_TCK"))
note("began")
time.sleep(0.5) # it records from the end of its first long call
time.sleep(0.5)
if not is_again and os.uname().nodename + os.environ["LOCAL_RANK"] == "nodeb1":
    open("killed", "w").close()
    os.kill(os.getpid(), 9)
time.sleep(0.5 if is_again else 100)
note("ends")'

# across NAME OPTION_OF_A OPTION_OF_B OPTION...: 2 ranks on each of both hosts.
across() {
    local name=$1 of_a=$2 of_b=$3 other run
    shift 3
    rm -rf "$work/job" && mkdir "$work/job"
    # shellcheck disable=SC2086 # no word or one
    node "$b" nodeb timeout -k 5 500 "$bin/ckagent" -- "$work/torchrun" \
        --nnodes 2 --nproc_per_node 2 $of_b "$@" --no_python "$python" -c "$worker" \
        >"$work/out.b" 2>"$work/err.b" &
    other=$!
    # shellcheck disable=SC2086
    node "$a" nodea timeout -k 5 500 "$bin/ckagent" -- "$work/torchrun" \
        --nnodes 2 --nproc_per_node 2 $of_a "$@" --no_python "$python" -c "$worker" \
        >"$work/out.a" 2>"$work/err.a" || {
        cat "$work"/err.?
        fail "$name: torchrun of the first host"
    }
    wait $other || {
        cat "$work"/err.?
        fail "$name: torchrun of the second host"
    }
    same "$name: runs" 1 "$(find "$work/job" -maxdepth 1 -name 'ck-*' | wc -l)"
    run=$(echo "$work"/job/ck-*)
    grep -q '| 4 ranks | 2 hosts |' "$work/err.a" || {
        cat "$work"/err.?
        fail "$name: no report of all ranks"
    }
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$run" ||
        fail "$name: ckmerge"
    same "$name: ranks" "[0, 1, 2, 3]" \
        "$(json "$work/report.json" "sorted(r['rank'] for r in j['ranks'])")"
    same "$name: hosts" "['nodea', 'nodea', 'nodeb', 'nodeb']" \
        "$(json "$work/report.json" "[r['host'] for r in
            sorted(j['ranks'], key=lambda r: r['host'])]")"
    same "$name: spools left" 0 \
        "$(find "$run" -name 'spool-*.ck' -size +0 | wc -l)"
    grep -q '4 of 4 ranks recorded to the end' "$work/err.a" ||
        fail "$name: $(grep -A3 TRUST "$work/err.a")"
}

# A port that is free in the namespace of the first host.
port() {
    ip netns exec "$a" "$python" -c 'import socket; s = socket.socket()
s.bind(("10.77.0.1", 0)); print(s.getsockname()[1])'
}

across "numbered hosts" "--node_rank 0" "--node_rank 1" \
    --master_addr 10.77.0.1 --master_port "$(port)"
worker=$killed
across "c10d" "" "" --rdzv_backend c10d --rdzv_id j1 --max_restarts 1 \
    --rdzv_endpoint "10.77.0.1:$(port)"
# Also the host whose own workers did not fail has them as restarts, with when.
"$python" - "$work/report.json" "$work/job/diary" <<'PY' ||
import json, sys
report = json.load(open(sys.argv[1]))
zero = report["realtime_of_zero_ns"]
notes = [line.split() for line in open(sys.argv[2])]
for rank in report["ranks"]:
    number = str(rank["rank"])
    born, began, ends = ([int(t) for n, what, t in notes
                          if (n, what) == (number, asked)]
                         for asked in ("born", "began", "ends"))
    assert len(born) == len(began) == 2 and len(ends) == 1, (number, notes)
    first, again = rank["incarnations"]
    assert [first["number"], again["number"]] == [0, 1], rank
    assert rank["restarts"] == [again], rank
    assert began[0] < zero + first["end_ns"] < born[1] + 10**7, (rank, notes)
    # Its first record may be of the time in which Python starts.
    assert born[1] < zero + again["start_ns"] < ends[0], (rank, notes)
PY
    fail "c10d: the restarts are not as the workers wrote"
told='^ ranks 0-3 were started again at [0-9.]* s (restart 1), '
grep -q "$told[0-9.]* .*s after the first of them ended\$" "$work/err.a" ||
    fail "c10d: $(sed -n 1,9p "$work/err.a")"
