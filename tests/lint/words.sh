#!/usr/bin/env bash
# words.sh - what may not be in the repository
#
# SPDX-License-Identifier: Apache-2.0
#
# Paths of one developer's machine, one word for one thing, a licence line in
# every source.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
status=0

files=$(git ls-files | grep -v -e '^LICENSE$' -e '^tests/data/' \
    -e '^tests/lint/words.sh$')

refuse() {
    local what=$1 pattern=$2 hits
    hits=$(xargs grep -nIE "$pattern" <<<"$files")
    if [ -n "$hits" ]; then
        printf '%s:\n%s\n' "$what" "$hits"
        status=1
    fi
}

refuse "path of one machine" '(^|[^A-Za-z0-9._$}/])/(home|work|root|Users|mnt)/[A-Za-z0-9.]'
refuse "note of unfinished work" '\b(FIXME|XXX|HACK)\b'
refuse "trailing blanks" '[[:blank:]]+$'
refuse "merge mark" '^(<<<<<<<|>>>>>>>) '

# One awk for all files: two processes for each took a minute.
lacking=$(grep -E '\.(c|h|cpp|def|sh|scd|py|mjs|f90|fbs|bash|in)$|CMakeLists\.txt$' \
    <<<"$files" | sort)
lacking=$(comm -23 <(echo "$lacking") <(xargs awk 'FNR <= 20 &&
    /SPDX-License-Identifier: Apache-2.0/ { print FILENAME }' <<<"$lacking" | sort))
if [ -n "$lacking" ]; then
    printf 'no SPDX line:\n%s\n' "$lacking"
    status=1
fi

# No drawer for everything.
bad=$(grep -E '/(util|utils|common|helper|helpers|misc|core|manager|base|types)\.(c|h|cpp)$' <<<"$files")
if [ -n "$bad" ]; then
    echo "a file says nothing by its name: $bad"
    status=1
fi
exit $status
