#!/bin/sh
# ci.sh LIMIT WORDS... - fail when the parallel efficiency is below LIMIT
#
# SPDX-License-Identifier: Apache-2.0
#
#     ./ci.sh 0.80 -n 4 -- ./train
#
# A step of a pipeline: runs the job by cklaunch, whose words follow the limit,
# keeps the report as an artifact (ck-run/report.txt), and exits with 4 where
# its ranks waited too much.
set -u
limit=$1
shift
cklaunch --dir ck-run "$@" || exit
python3 - "$limit" <<'END'
import json
import sys

with open("ck-run/report.json", encoding="utf-8") as file:
    efficiency = json.load(file)["efficiency"]
found = efficiency.get("parallel")
if found is None:
    sys.exit("no efficiency: TRUST in the report has the reason")
print(f"parallel efficiency {found:.3f}, limit {sys.argv[1]}")
sys.exit(4 if found < float(sys.argv[1]) else 0)
END
