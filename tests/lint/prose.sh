#!/usr/bin/env bash
# prose.sh - texts for people: plain verbs, and table cells that can be read
#
# SPDX-License-Identifier: Apache-2.0
#
# Looks at README, docs, manual pages, texts in quotes in the sources, comments
# and names of test cases. A program reports, logs, sends and waits. A cell has
# at most 300 characters, targets of links not counted.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || exit 77
git ls-files | python3 /dev/fd/3 3<<'END'
import re
import sys

PLAIN = re.compile(r"\b(?:say|says|saying|said|tell|tells|telling|told"
                   r"|stands?|stood|lies?|lying|hears?|heard|speaks?|spoke"
                   r"|nobody|somebody|anybody|everybody|without a word"
                   r"|last words?|of the like|of (?:its|their) own will"
                   r"|of which|of whose)\b", re.I)
# Values of manifest.json, and "cannot be told apart".
KEPT = re.compile(r"`nobody came`|`nothing heard`|nobody came|nothing heard"
                  r"|cannot be told")
CELL = 300
# Constants and identifiers in a comment are not its prose.
NAMES = re.compile(r"`[^`]*`|\"[^\"\n]*\"|\b[A-Z]{2,}\b|\b\w+\.(?:py|sh|c|h)\b")
COMMENTS_C = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
COMMENTS_SCRIPT = re.compile(r'(?:^|(?<=\s))#[ \n][^\n]*|"""[^\n"].*?"""'
                             r"|(?<=[^\\])'[^'\n]*'|\"[^\"\n]*\"",
                             re.S | re.M)
CASE = re.compile(r"^static void (\w+)\(void \*\*|\bdef (test_\w+)\(", re.M)
bad = 0


def wrong(path, line, what):
    global bad
    print("%s:%d: %s" % (path, line, what))
    bad = 1


def verb(path, line, word):
    wrong(path, line, "'%s': see docs/conventions.md, Words" % word)


def page(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for word in PLAIN.findall(NAMES.sub("", KEPT.sub("", line))):
            verb(path, number, word)
        if not line.startswith("|"):
            continue
        for cell in line.split("|"):
            length = len(re.sub(r"\]\([^)]*\)", "]", cell))
            if length > CELL:
                wrong(path, number, "a cell of %d characters" % length)


def literals(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("*", "/*", "//")):
            continue
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            for word in PLAIN.findall(KEPT.sub("", literal + '"')):
                if " " in literal:
                    verb(path, number, word)


def comments(path, text):
    is_c = re.search(r"\.(?:[ch]|cpp|cl|def|js|css)$", path)
    for found in (COMMENTS_C if is_c else COMMENTS_SCRIPT).finditer(text):
        comment = found.group()
        if not comment.startswith(("/*", "//", "#", '"""')):
            continue
        first = text.count("\n", 0, found.start()) + 1
        blank = NAMES.sub(lambda name: "\n" * name.group().count("\n"), comment)
        for word in PLAIN.finditer(blank):
            verb(path, first + blank.count("\n", 0, word.start()), word.group())


def cases(path, text):
    for found in CASE.finditer(text):
        name = found.group(1) or found.group(2)
        for word in PLAIN.findall(name.replace("_", " ")):
            verb(path, text.count("\n", 0, found.start()) + 1, word)


for path in sys.stdin.read().split("\n"):
    readers = []
    if re.fullmatch(r"README\.md|docs/.*\.(md|scd)", path):
        readers = [page]
    elif re.fullmatch(r"(agent|aggregator|launch|merge|schema)/.*\.[ch]", path):
        readers = [literals, comments]
    elif re.search(r"\.(?:[ch]|cpp|cl|def|js|css|py|sh|cmake)$"
                   r"|CMakeLists\.txt$|^launch/[a-z]+$|^tests/run$", path):
        readers = [comments]
    if re.fullmatch(r"tests/.*\.(c|py)", path):
        readers.append(cases)
    if not readers or path == "tests/lint/prose.sh":
        continue
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for reader in readers:
        reader(path, text)
sys.exit(bad)
END
