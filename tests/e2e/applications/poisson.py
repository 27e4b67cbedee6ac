"""Poisson's equation in three dimensions by PETSc's conjugate gradients, time
step by time step: the right side of each is the solution before.

SPDX-License-Identifier: Apache-2.0
"""
import sys

import petsc4py

petsc4py.init(sys.argv[2:])
from petsc4py import PETSc  # noqa: E402 (after its options are set)

side, steps = int(sys.argv[1]), 40
da = PETSc.DMDA().create(dim=3, sizes=(side,) * 3, stencil_width=1)
matrix = da.createMatrix()
(x0, x1), (y0, y1), (z0, z1) = da.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for z in range(z0, z1):
    for y in range(y0, y1):
        for x in range(x0, x1):
            row.index = (x, y, z)
            for at, value in ((x, y, z), 7.0), ((x - 1, y, z), -1.0), (
                    (x + 1, y, z), -1.0), ((x, y - 1, z), -1.0), (
                    (x, y + 1, z), -1.0), ((x, y, z - 1), -1.0), (
                    (x, y, z + 1), -1.0):
                if all(0 <= i < side for i in at):
                    column.index = at
                    matrix.setValueStencil(row, column, value)
matrix.assemble()
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.setFromOptions()
right, left = da.createGlobalVector(), da.createGlobalVector()
right.set(1.0)
iterations = 0
for step in range(steps):
    solver.solve(right, left)
    iterations += solver.getIterationNumber()
    left.copy(right)
    right.scale(1.0 / right.norm())
PETSc.Sys.Print("%d iterations, sum %.8e" % (iterations, right.sum()))
