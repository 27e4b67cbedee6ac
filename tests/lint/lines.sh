#!/usr/bin/env bash
# lines.sh [COMMIT...] - lines of code by folder, without comments, blank lines
# and tests: of the working tree, or of each commit that is named
#
# SPDX-License-Identifier: Apache-2.0
#
# Counted are *.c *.h *.cpp *.def of the folders below. A line counts when
# something is left of it after comments are taken out; strings are respected.
set -euo pipefail
cd "$(dirname "$0")/../.."
folders='schema launch agent aggregator merge'

# A tree's sources, below the current directory, as "folder lines".
count() {
    # shellcheck disable=SC2086
    find $folders -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \
        -o -name '*.def' \) -print0 | sort -z | xargs -0 perl -0777 -ne '
        s{("(?:\\.|[^"\\])*"|\x27(?:\\.|[^\x27\\])*\x27)|//[^\n]*|/\*.*?\*/}
         {defined $1 ? $1 : ($& =~ tr/\n//cdr)}gse;
        ($folder) = $ARGV =~ m{^([^/]+)};
        $lines{$folder} += grep { /\S/ } split /\n/;
        END { print "$_ $lines{$_}\n" for sort keys %lines }' |
        awk -v what="$1" '{ sum += $2; by = by ", " $1 " " $2 }
            END { printf "%s: %d lines of code (%s)\n", what, sum, substr(by, 3) }'
}

if [ $# -eq 0 ]; then
    count 'working tree'
    exit
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
for commit; do
    mkdir "$copy/$commit"
    # shellcheck disable=SC2086
    git archive "$commit" $folders | tar -x -C "$copy/$commit"
    (cd "$copy/$commit" && count "$commit")
done
