#!/usr/bin/env bash
# format.sh - every C and C++ file is as clang-format writes it
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is missing (package clang-format)"
    exit 77
fi
# Each version formats a little differently.
if ! clang-format --version | grep -q 'version 14\.'; then
    echo "skipped: the files are formatted by clang-format 14," \
        "here is $(clang-format --version)"
    exit 77
fi
git ls-files '*.c' '*.h' '*.cpp' |
    while read -r file; do [ -e "$file" ] && echo "$file"; done |
    xargs clang-format --dry-run -Werror
