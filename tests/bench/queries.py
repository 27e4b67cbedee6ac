#!/usr/bin/env python3
# queries.py BUILD [EVENTS] [TIMES] - the questions of docs/sqlite.md on a large
# database, against a full scan of it
#
# SPDX-License-Identifier: Apache-2.0
"""A made-up run of 4 ranks (bench_merge --write, whole) of EVENTS (4,800,000:
10 M rows) as a database. A full scan sums a column without an index of every
table, so each row of each is read once. Each question is asked TIMES (3) times
after one that is not counted; the medians of their CPU times are divided. The
pages are in memory then, for both.
"""
import os
import re
import sqlite3
import statistics
import sys
import time

from job import Bench, figure, remark

RANKS = 4
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/sqlite.md")


def questions():
    """(title, statements) of each question of the guide."""
    text = open(GUIDE, encoding="utf-8").read()
    return [(title.strip(), [one for one in sql.split(";") if one.strip()])
            for title, sql in re.findall(r"^([^\n`|#]+\?)\n```sql\n(.*?)```", text, re.M | re.S)]


def seconds(base, statements, times):
    """(median, number of rows answered)"""
    taken = []
    for i in range(times + 1):
        begin, rows = time.process_time(), 0
        for one in statements:
            rows += len(base.execute(one).fetchall())
        if i > 0:
            taken.append(time.process_time() - begin)
    return statistics.median(taken), rows


def scan(base):
    """Statements that read each row of each table, and how many rows there are."""
    names = [name for name, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows, statements = 0, []
    for name in names:
        column = base.execute(f"PRAGMA table_info({name})").fetchall()[-1][1]
        rows += base.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]
        statements.append(f"SELECT SUM(LENGTH(\"{column}\")) FROM {name} NOT INDEXED")
    return rows, statements


def main():
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 4800000
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with Bench(sys.argv[1]) as bench:
        run, path = os.path.join(bench.work, "run"), os.path.join(bench.work, "run.sqlite")
        os.mkdir(run)
        bench.plain([bench.test("bench_merge"), "--write", run, str(events // RANKS), str(RANKS), "whole"])
        bench.plain([bench.program("ckmerge"), "--quiet", "--no-page", "--output", "sqlite=" + path, run])
        base = sqlite3.connect(path)
        base.execute("PRAGMA cache_size = -2000000")
        rows, statements = scan(base)
        whole, _ = seconds(base, statements, times)
        remark("%d rows, %.0f MB, a full scan %.2f s" % (rows, os.path.getsize(path) / 1e6, whole))
        for title, sql in questions():
            taken, answered = seconds(base, sql, times)
            ratio = taken / whole
            if answered == 0:
                remark("of no rows in this run:")
            figure(title, ratio, "<= 3 of a full scan", ratio <= 3)


main()
