#!/usr/bin/env bash
# report.sh - docs/report.md lists every field of report.json, and its schema is
# made from it
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || exit 77

if ! diff <(python3 docs/reportschema.py) docs/report.schema.json; then
    echo "docs/report.schema.json is not made from docs/report.md: run" \
        "docs/reportschema.py > docs/report.schema.json"
    exit 1
fi
exec /usr/bin/python3 tests/e2e/reportcheck.py \
    tests/data/synth-four.expect/report.json
