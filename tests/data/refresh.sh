#!/usr/bin/env bash
# refresh.sh - write the expected results of merges anew
#
# SPDX-License-Identifier: Apache-2.0
#
#     refresh.sh BUILD
#
# After a change that is meant to change them. Prints what has changed in reports
# of stored runs; git shows the rest.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
CK_REFRESH=1 ctest --test-dir "$1" -R '^merge/(ckmerge|storedruns)$' --verbose |
    sed -n 's/^[0-9]*: \([a-z]*\..*\)/\1/p'
git -C "$top" status --short tests/data
