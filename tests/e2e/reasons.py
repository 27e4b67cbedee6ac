"""A late rank whose reason is a function that calls a helper.

SPDX-License-Identifier: Apache-2.0

All ranks call usual() in each step, rank 1 rebalance() as well; both compute
in kernel().
"""
from mpi4py import MPI

comm = MPI.COMM_WORLD


def kernel(rounds):
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def usual():
    return kernel(60000)


def rebalance():
    return sum(kernel(60000) for _ in range(3))


def step():
    usual()
    if comm.Get_rank() == 1:
        rebalance()


for _ in range(40):
    step()
    comm.allreduce(1)
