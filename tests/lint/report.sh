#!/usr/bin/env bash
# report.sh - every field of report.json is described
#
# SPDX-License-Identifier: Apache-2.0
#
# Takes the fields of the expected report of the tests; a field must stand as a
# word in docs/report.md, or, if it is a cause, in docs/analysis.md.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
python3 - <<'PY'
import json, re, sys
report = json.load(open("tests/data/synth-four.expect/report.json"))
words = lambda path: set(re.findall(r"\w+", open(path).read()))
known, causes = words("docs/report.md"), words("docs/analysis.md")
missing = set()

def look(value, path):
    if isinstance(value, list):
        for item in value:
            look(item, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            is_cause = path.endswith(("ledger", "nkipy", "idle", "rates"))
            if key not in known and not (is_cause and key in causes):
                missing.add(f"{path}.{key}")
            look(item, f"{path}.{key}")

look(report, "report")
for field in sorted(missing):
    print(f"docs/report.md does not say what {field} is")
sys.exit(bool(missing))
PY
