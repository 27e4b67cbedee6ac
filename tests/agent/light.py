# light.py - what ck's preloaded library costs a program that ends at once
#
# SPDX-License-Identifier: Apache-2.0
"""light.py BUILD

A script starts many programs that live for a millisecond. Times are no test
on a shared machine; what they are made of is: libraries mapped, work of the
loader, page faults. The bounds are far below what three libraries with all
their symbols looked up at the start took (54 faults, 1,800 relocations).
"""
import os
import re
import subprocess
import sys

FAULTS_MAX = 30
RELOCATIONS_MAX = 600
TRIES = 7


def faults(library):
    """Minor faults of a child that does nothing, least of several."""
    environment = {"PATH": "/usr/bin:/bin"}
    if library:
        environment["LD_PRELOAD"] = library
    found = []
    for _ in range(TRIES):
        pid = os.posix_spawn("/bin/true", ["true"], environment)
        found.append(os.wait4(pid, 0)[2].ru_minflt)
    return min(found)


def read(option, library):
    return subprocess.run(["readelf", option, "-W", library], check=True,
                          capture_output=True, text=True).stdout


def main():
    library = os.path.join(sys.argv[1], "lib", "ck", "libck.so")
    needed = re.findall(r"NEEDED.*\[(.*)\]", read("-d", library))
    others = [name for name in needed
              if not name.startswith(("libc.", "ld-linux"))]
    relocations = len(re.findall(r" R_\w+", read("-r", library)))
    segments = len(re.findall(r"^ +LOAD ", read("-l", library), re.M))
    more = faults(library) - faults(None)
    print("%d faults more, %d relocations, %d segments, needs %s" % (
        more, relocations, segments, " ".join(needed)))
    sys.exit(more > FAULTS_MAX or relocations > RELOCATIONS_MAX or
             segments > 2 or bool(others))


if __name__ == "__main__":
    main()
