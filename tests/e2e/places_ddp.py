"""places_ddp.py RANK - data-parallel training with one rank whose data come late

SPDX-License-Identifier: Apache-2.0

Each step gets a batch, trains with it, and ends with the gradients' sum; RANK
prepares its batch in a loop of Python.
"""
import os
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

env = os.environ
env.setdefault('RANK', env.get('OMPI_COMM_WORLD_RANK', '0'))
env.setdefault('WORLD_SIZE', env.get('OMPI_COMM_WORLD_SIZE', '1'))
env.setdefault('MASTER_ADDR', '127.0.0.1')
env.setdefault('GLOO_SOCKET_IFNAME', 'lo')
chosen = int(sys.argv[1])
torch.set_num_threads(1)
torch.manual_seed(7)


def augment(batch):
    total = 0
    for i in range(150000):
        total += i * i  # here: augment
    return batch


def batch_get():
    batch = torch.randn(32, 784)
    if dist.get_rank() == chosen:
        batch = augment(batch)
    return batch


def train(model, optimizer):
    x = batch_get()
    loss = torch.nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


dist.init_process_group('gloo')
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(60):
    train(model, optimizer)
