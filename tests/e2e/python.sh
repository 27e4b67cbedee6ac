#!/usr/bin/env bash
# python.sh - PyTorch DistributedDataParallel and mpi4py under ck
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || skip "python3-torch is missing"
export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore

export PYTHONPATH=$here # torchstores
cat >"$work/ddp.py" <<'PY'
import os
import torchstores
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

env = os.environ
env.setdefault('RANK', env.get('OMPI_COMM_WORLD_RANK', '0'))
env.setdefault('WORLD_SIZE', env.get('OMPI_COMM_WORLD_SIZE', '1'))
env.setdefault('MASTER_ADDR', '127.0.0.1')
env.setdefault('GLOO_SOCKET_IFNAME', 'lo')
torchstores.without_libuv('torch.distributed.rendezvous')
torch.set_num_threads(1)
torch.manual_seed(7)
dist.init_process_group('gloo')
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x = torch.randn(32, 784)
    loss = torch.nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
rank = dist.get_rank()
with open(f"{env['RESULT']}.{rank}", 'w') as out:
    print(f'rank {rank} of {dist.get_world_size()} loss {loss:.6f}', file=out)
PY

# A free port, given by the kernel.
port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# Each rank writes a file of its own: mpirun may cut lines of several ranks
# into one another. $1: run directory, $2: name of the check.
check() {
    wait_done "$1"
    "$bin/ckmerge" --output json "$1" >"$work/report.json" || fail "ckmerge $1"
    same "$2: ranks" "[0, 1]" \
        "$(json "$work/report.json" "sorted(r['rank'] for r in j['ranks'])")"
    for rank in 0 1; do
        cmp "$work/plain.$rank" "$work/traced.$rank" ||
            fail "$2: rank $rank's output differs under ckagent"
        rm "$work/traced.$rank"
    done
}

RESULT=$work/plain MASTER_PORT=$(port) timeout 500 mpirun -n 2 "$python" \
    "$work/ddp.py"
export RESULT=$work/traced
MASTER_PORT=$(port) timeout 500 mpirun -n 2 "$bin/ckagent" --report none \
    --dir "$work/mpirun" -- "$python" "$work/ddp.py"
check "$work/mpirun" "DDP under mpirun"

# Debian's torchrun trips over Python 3.11's enums: give it the value it wants.
cat >"$work/torchrun.py" <<'PY'
import torchstores
from torch.distributed.elastic.multiprocessing.api import Std
import torch.distributed.elastic.rendezvous.static_tcp_rendezvous
Std.from_str = classmethod(lambda c, s: Std.NONE)
torchstores.without_libuv(
    'torch.distributed.elastic.rendezvous.static_tcp_rendezvous')
from torch.distributed.run import main
main()
PY
timeout 500 "$python" "$work/torchrun.py" --nproc_per_node 2 --master_port \
    "$(port)" --no_python "$bin/ckagent" --report none --dir "$work/torchrun" \
    -- "$python" "$work/ddp.py"
check "$work/torchrun" "DDP under torchrun"

"$python" -c 'import mpi4py' 2>/dev/null || exit 0
cat >"$work/m.py" <<'PY'
import os
from mpi4py import MPI
comm = MPI.COMM_WORLD
for i in range(10):
    total = comm.allreduce(i)
comm.Barrier()
with open(f"{os.environ['RESULT']}.{comm.rank}", 'w') as out:
    print(f'rank {comm.rank} of {comm.size} sum {total}', file=out)
PY
RESULT=$work/plain timeout 300 mpirun -n 2 "$python" "$work/m.py"
timeout 300 mpirun -n 2 "$bin/ckagent" --report none --dir "$work/mpi4py" -- \
    "$python" "$work/m.py"
check "$work/mpi4py" "mpi4py"
