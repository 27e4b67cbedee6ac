#!/usr/bin/env bash
# docs.sh BUILD - what docs name is there: files, links, options, the version
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
bin=$(cd "${1:?build folder}" && pwd)/bin
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || exit 77
for program in ckagent ckagg ckmerge cklaunch; do
    "$bin/$program" --print-options | cut -f 1
done | python3 /dev/fd/3 3<<'END'
import os
import re
import subprocess
import sys

# Options of tests/run, tests/platforms, launch/ and of other programs.
FOREIGN = """--full --floor --quick --no-install --inject --ill --oversubscribe
--prefix --version --help --print --install --output-on-failure --no-tests
--test-dir --args --mpi --nproc_per_node --max_restarts
--nnodes --node_rank --rdzv_backend --signal""".split()
OUTSIDE = {"CL/cl_layer.h"}
options = set(sys.stdin.read().split()) | set(FOREIGN)
options |= {"--no-" + name[2:] for name in options}
files = set(subprocess.check_output(["git", "ls-files"], text=True).split())
names = {os.path.basename(name) for name in files}
bad = 0


def wrong(page, what):
    global bad
    print(f"{page}: {what}")
    bad = 1


for page in sorted(name for name in files if name.endswith(".md")):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        path = os.path.normpath(os.path.join(os.path.dirname(page), link))
        if "://" not in link and not os.path.exists(path):
            wrong(page, f"link to {link}, which is not there")
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    for name in re.findall(r"`([\w./-]+\.(?:c|h|cpp|def|fbs|sh|py|md))`", prose):
        if name not in files | OUTSIDE and not (
                os.path.basename(name) in names and
                any(("/" + path).endswith("/" + name) for path in files)):
            wrong(page, f"{name} is not there")
    for option in re.findall(r"(?<![\w-])(--[a-z][a-z0-9_-]+)", text):
        # Measurements name the options of the scripts that made them.
        if option not in options and page != "docs/measurements.md":
            wrong(page, f"no program has {option}")
version = re.search(r"project\(ck VERSION ([\d.]+)",
                    open("CMakeLists.txt", encoding="utf-8").read()).group(1)
for page, form in (("README.md", r"version (\d[\d.]*\d)"),
                   ("docs/CHANGELOG.md", r"\n## (\d[\d.]*\d)")):
    found = re.search(form, open(page, encoding="utf-8").read())
    if found is None or found.group(1) != version:
        wrong(page, f"not of version {version}, which CMakeLists.txt has")
sys.exit(bad)
END
