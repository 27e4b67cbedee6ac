#!/usr/bin/env bash
# tidy.sh - the sources pass the checks of .clang-tidy
#
# SPDX-License-Identifier: Apache-2.0
#
#     tidy.sh BUILD
#
# The sources of the programs and libraries, as BUILD compiled them; not those
# of the tests. A file that passed is looked at again when its object is newer,
# so when it or a header of it has changed. All of them take 60 s of CPU time.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || exit 77
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "skipped: clang-tidy is missing (package clang-tidy)"
    exit 77
}
# Each version knows other checks.
"$tidy" --version | grep -q 'version 14\.' || {
    echo "skipped: the checks are those of clang-tidy 14"
    exit 77
}
python3 - "$tidy" "$1" <<'END'
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOMS = ("agent/", "aggregator/", "launch/", "merge/", "schema/")
tidy, build = sys.argv[1], os.path.realpath(sys.argv[2])
root = os.getcwd() + "/"
objects = {}
for one in json.load(open(os.path.join(build, "compile_commands.json"))):
    path = os.path.realpath(os.path.join(one["directory"], one["file"]))
    name = path[len(root):]
    if path.startswith(root) and name.startswith(ROOMS) and name.endswith(".c"):
        words = one["command"].split()
        objects[name] = os.path.join(one["directory"],
                                     words[words.index("-o") + 1])


def age(path):
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def stamp(name):
    return os.path.join(build, "tidy", name)


def passes(names):
    """Look at some files at once: starting clang-tidy costs as much as one."""
    done = subprocess.run([tidy, "--quiet", "-p", build, *names], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        print(done.stdout.replace(root, ""), end="")
        return False
    for name in names:
        os.makedirs(os.path.dirname(stamp(name)), exist_ok=True)
        open(stamp(name), "w").close()
    return True


assert len(objects) > 400, "only %d sources in %s" % (len(objects), build)
rules = age(".clang-tidy")
due = sorted(name for name, built in objects.items()
             if age(stamp(name)) <= max(rules, age(built), age(name)))
with ThreadPoolExecutor(os.cpu_count()) as pool:
    lots = [due[at:at + 8] for at in range(0, len(due), 8)]
    good = list(pool.map(passes, lots))
print("%d of %d sources looked at" % (len(due), len(objects)))
sys.exit(0 if all(good) else 1)
END
