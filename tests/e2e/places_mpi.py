"""places_mpi.py RANK - a late rank of mpi4py whose reason is a function of Python

SPDX-License-Identifier: Apache-2.0

All ranks call usual() in each step, RANK rebalance() as well.
"""
import sys
from mpi4py import MPI

comm = MPI.COMM_WORLD
chosen = int(sys.argv[1])


def usual():
    total = 0
    for i in range(30000):
        total += i * i
    return total


def rebalance():
    total = 0
    for i in range(150000):
        total += i * i  # here: rebalance
    return total


def step():
    usual()
    if comm.rank == chosen:
        rebalance()


for _ in range(60):
    step()
    comm.allreduce(1)
