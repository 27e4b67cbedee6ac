#!/usr/bin/env bash
# shape.sh - sizes of files and functions: prints the figures, holds the limits
#
# SPDX-License-Identifier: Apache-2.0
#
# Limits: 60 lines a function, and nine of ten functions within 40. A file is as
# long as its noun needs; those above 600 lines are listed. Functions with more than 5
# parameters and those that nest deeper than 3 are counted. A table
# inside a function is not counted. A ternary has no other one in its branches (x ?: y ?: z may),
# outside of parentheses: an if, a switch or a function does it in steps. A
# switch over kinds may be longer: the comment above the function begins with
# "long: ...".
set -uo pipefail
status=0
cd "$(dirname "$0")/../.." || exit 2

git ls-files '*.c' '*.h' '*.cpp' 2>/dev/null | grep -v '^tests/data/' |
    xargs -r awk '
function flush_file() {
    if (name != "" && lines > 600) {
        printf "%s: %d lines: is it one noun?\n", name, lines
    }
}
function parameters(text,   n, i, depth, c, count) {
    # Commas at depth 1 of the last parenthesised list.
    count = 0
    depth = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") { depth++; if (depth == 1) { count = 0; any = 0 } }
        else if (c == ")") depth--
        else if (c == "," && depth == 1) count++
    }
    return count + 1
}
FNR == 1 { flush_file(); name = FILENAME; lines = 0; open = 0; head = ""; may_be_long = -13 }
{
    lines = FNR
    if (!open) {
        if ($0 ~ /^[A-Za-z_].*[^;,]$/ || $0 ~ /^[A-Za-z_].*,$/) {
            if ($0 ~ /^[A-Za-z_]/ && $0 !~ /^(struct|enum|union|typedef|extern|#)[^(]*\{?$/) head = $0
            else head = ""
        } else if ($0 ~ /^[ \t]+[^ \t]/ && head != "") {
            head = head $0
        } else if ($0 ~ /^\{$/ && head ~ /\(/) {
            open = 1; start = FNR; deepest = 0; tables = 0; in_table = 0
        } else if ($0 !~ /^\{$/) head = ""
        if ($0 ~ /long: /) may_be_long = FNR
        next
    }
    if ($0 ~ /^\}/) {
        size = FNR - start - 1 - tables
        functions++
        sizes[functions] = size
        count = parameters(head)
        nested += deepest > 3
        many += count > 5
        if (size > 60 && start - may_be_long > 12) {
            printf "%s:%d: function of %d lines (limit 60)\n", FILENAME, start, size
            bad = 1
        }
        open = 0
        head = ""
        next
    }
    if ($0 ~ /\] = \{$/) in_table = 1
    tables += in_table
    if ($0 ~ /^ *\};$/) in_table = 0
    match($0, /^ */)
    # A line that opens a block at 4 * n blanks is nested n deep.
    if ($0 ~ /\{$/ && $0 !~ /= \{$/) {
        depth = int(RLENGTH / 4)
        if (depth > deepest) deepest = depth
    }
}
END {
    flush_file()
    n = functions
    for (i = 2; i <= n; i++) {
        size = sizes[i]
        for (j = i - 1; j > 0 && sizes[j] > size; j--) sizes[j + 1] = sizes[j]
        sizes[j + 1] = size
    }
    printf "%d functions: median %d lines, p90 %d, longest %d; ", n, sizes[int((n + 1) / 2)], sizes[int(n * 0.9)], sizes[n]
    printf "%d nest deeper than 3, %d have more than 5 parameters\n", nested, many
    if (sizes[int(n * 0.9)] > 40) {
        printf "one function of ten has more than 40 lines\n"
        bad = 1
    }
    exit bad
}' || status=1

command -v python3 >/dev/null || exit "$status"
git ls-files '*.c' '*.h' ':!tests' | python3 /dev/fd/3 3<<'END' || status=1
import re
import sys

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|\?:|[?;{}(),\[\]]|[^?;{}(),\[\]/"']+|.""", re.S)
bad = 0
for path in sys.stdin.read().split():
    line, marks = 1, [0]
    for token in TOKEN.findall(open(path, encoding="utf-8").read()):
        if token in "([":
            marks.append(0)
        elif token in ")]":
            marks = marks[:-1] or [0]
        elif token in ";,{}":
            marks[-1] = 0
        elif token == "?":
            marks[-1] += 1
            if marks[-1] == 2:
                print("%s:%d: a ternary in a ternary" % (path, line))
                bad = 1
        line += token.count("\n")
sys.exit(bad)
END
exit "$status"
