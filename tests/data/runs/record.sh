#!/usr/bin/env bash
# record.sh - record the runs that tests/merge/storedruns.py merges
#
# SPDX-License-Identifier: Apache-2.0
#
#     record.sh BUILD [NAME...]
#
# Makes NAME.tar.xz here, then CK_REFRESH=1 writes NAME.report.json.gz. Stored runs
# are kept as they are: that later versions read them is what they are for. A new
# kind of run is added, an old one is not recorded again. BUILD (bin/, lib/,
# tests/) is best a copy in a folder of a neutral name, which the runs have in
# their paths. Needs root, for namespaces of its own.
#
#     train    2 ranks, MPI and OpenCL; rank 1 is late in each step
#     sockets  3 ranks without MPI and without a device that wait for TCP
#     killed   2 ranks with MPI; rank 1 is killed while rank 0 waits for it
#     clocks   2 ranks with MPI on two clocks, probed as strangers
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
shift
[ $# -gt 0 ] || set -- train sockets killed clocks
if [ -z "${CK_RECORD_INSIDE:-}" ]; then
    CK_RECORD_INSIDE=1 exec unshare --uts "$here/record.sh" . "$@"
fi
hostname node1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
work=$(mktemp -d /tmp/ck.XXXXXX)
trap 'rm -rf "$work"' EXIT

# agents RANKS RUN [OPTION...] -- PROGRAM...
agents() {
    local ranks=$1 run=$2
    shift 2
    mpirun -n "$ranks" bin/ckagent --pack none --dir "$work/$run" "$@" \
        >"$work/out" 2>&1 || true
}

train() { agents 2 train -- tests/train --steps 6 --ill late:1; }

killed() { agents 2 killed -- tests/ends.openmpi kill; }

sockets() {
    cat >"$work/ring.py" <<'PY'
import os
import socket
import sys
import time

rank, size, folder = int(os.environ["RANK"]), 3, sys.argv[1]
server = socket.create_server(("127.0.0.1", 0))
with open(folder + "/new.%d" % rank, "w") as out:
    out.write(str(server.getsockname()[1]))
os.rename(folder + "/new.%d" % rank, folder + "/port.%d" % rank)
name = folder + "/port.%d" % ((rank + 1) % size)
while not os.path.exists(name):
    time.sleep(0.01)
right = socket.create_connection(("127.0.0.1", int(open(name).read())))
left = server.accept()[0]
for step in range(20):
    if rank == 0:
        time.sleep(0.03)
        right.sendall(b"x")
        left.recv(1)
    else:
        left.recv(1)
        right.sendall(b"x")
PY
    mkdir "$work/ports"
    for rank in 2 1 0; do
        RANK=$rank WORLD_SIZE=3 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=3 \
            MASTER_ADDR=127.0.0.1 MASTER_PORT=29400 \
            bin/ckagent --pack none --dir "$work/sockets" -- \
            /usr/bin/python3 -S "$work/ring.py" "$work/ports" >"$work/out" 2>&1 &
    done
    wait
}

clocks() {
    cat >"$work/rank" <<'SH'
#!/bin/sh
at=$((OMPI_COMM_WORLD_RANK * 1000))
[ "$at" = 0 ] || export CK_TEST_CLOCK=off=123456789
exec unshare --time --monotonic $at --boottime $at "$@"
SH
    chmod +x "$work/rank"
    mpirun -n 2 "$work/rank" bin/ckagent --pack none --clock-shortcut=off \
        --dir "$work/clocks" -- tests/sleeps.openmpi chain 20 20 \
        >"$work/out" 2>&1
}

for name; do
    "$name"
    rm -f "$work/$name"/report.* "$work/$name"/ckagg.log
    (cd "$work" && tar --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime=@0 -c "$name" | xz -9e >"$here/$name.tar.xz")
done
ls -l "$here"/*.tar.xz
