"""An argon fluid for GROMACS: argon.gro, argon.top and argon.mdp.

SPDX-License-Identifier: Apache-2.0
"""
import sys
n, cell = int(sys.argv[1]), 0.38
with open("argon.gro", "w") as f:
    f.write("argon on a grid\n%d\n" % n**3)
    i = 0
    for x in range(n):
        for y in range(n):
            for z in range(n):
                i += 1
                f.write("%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n" % (
                    i % 100000, "AR", "AR", i % 100000,
                    x * cell, y * cell, z * cell))
    f.write("%10.5f%10.5f%10.5f\n" % (3 * (n * cell,)))
with open("argon.top", "w") as f:
    f.write("""[ defaults ]
1 1 no 1.0 1.0
[ atomtypes ]
AR 39.948 0.0 A 0.0062 0.0000097
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0.0 39.948
[ system ]
argon
[ molecules ]
AR %d
""" % n**3)
with open("argon.mdp", "w") as f:
    f.write("""integrator = md
dt = 0.002
nsteps = 400
cutoff-scheme = Verlet
rlist = 1.0
rvdw = 0.9
rcoulomb = 0.9
verlet-buffer-tolerance = -1
nstlist = 20
nstenergy = 100
nstlog = 100
gen-vel = yes
gen-temp = 120
gen-seed = 7
tcoupl = no
""")
