#!/usr/bin/env bash
# prose.sh - texts for users: plain verbs, and table cells that can be read
#
# SPDX-License-Identifier: Apache-2.0
#
# Looks at README, docs, manual pages, and texts in quotes in the sources. A
# program reports, logs, sends and waits. A cell has at most 300 characters,
# targets of links not counted.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || exit 77
git ls-files | python3 /dev/fd/3 3<<'END'
import re
import sys

VERBS = re.compile(r"\b(?:said|told|tells|stood|nobody|somebody|hears?|heard"
                   r"|speaks?|spoke|without a word|of the like"
                   r"|of (?:its|their) own will)\b", re.I)
# Values of manifest.json, and "cannot be told apart".
KEPT = re.compile(r"`nobody came`|`nothing heard`|nobody came|nothing heard"
                  r"|cannot be told")
CELL = 300
bad = 0


def wrong(path, line, what):
    global bad
    print("%s:%d: %s" % (path, line, what))
    bad = 1


def page(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for word in VERBS.findall(KEPT.sub("", line)):
            wrong(path, number, "'%s': see docs/conventions.md, Words" % word)
        if not line.startswith("|"):
            continue
        for cell in line.split("|"):
            length = len(re.sub(r"\]\([^)]*\)", "]", cell))
            if length > CELL:
                wrong(path, number, "a cell of %d characters" % length)


def source(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("*", "/*", "//")):
            continue
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            for word in VERBS.findall(KEPT.sub("", literal + '"')):
                if " " in literal:
                    wrong(path, number, "'%s': see docs/conventions.md, Words"
                          % word)


for path in sys.stdin.read().split("\n"):
    if re.fullmatch(r"README\.md|docs/.*\.(md|scd)", path):
        reader = page
    elif re.fullmatch(r"(agent|aggregator|launch|merge|schema)/.*\.[ch]", path):
        reader = source
    else:
        continue
    with open(path, encoding="utf-8") as file:
        reader(path, file.read())
sys.exit(bad)
END
