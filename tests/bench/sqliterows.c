/* sqliterows.c - rows a second into an SQLite file: ours, and a bare loop
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * bench_sqliterows [ROWS]: writes rows of the shape of `call` (14 integers)
 * with sqlitefile.c, and with one prepared statement in a loop, with the same
 * settings and the same values, in turn; five pairs. CPU time of each, and the
 * median of the pairs' ratios of rows a second.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "merge/output/sqlite/sqlitefile.h"
#include "tests/bench/figure.h"

#define PAIRS 5
#define COLUMNS 14
#define TARGET 0.8
#define SCHEMA                                                                 \
    "CREATE TABLE call(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER,"          \
    " c INTEGER, d INTEGER, e INTEGER, f INTEGER, g INTEGER, h INTEGER,"       \
    " i INTEGER, j INTEGER, k INTEGER, l INTEGER, m INTEGER);"
#define INSERT                                                                 \
    "INSERT INTO call VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,"                  \
    "?11,?12,?13,?14)"

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void row_make(int64_t id, int64_t values[COLUMNS])
{
    values[0] = id + 1;
    values[1] = id % 8 + 1;
    values[2] = id * 1317;
    values[3] = id * 1317 + 900;
    for (int64_t i = 4; i < COLUMNS; i++) {
        values[i] = id * i % 997;
    }
}

static void die(const char *why)
{
    (void)fprintf(stderr, "bench_sqliterows: %s\n", why);
    exit(1);
}

static double ours(const char *path, int64_t rows)
{
    double begun = now();
    struct ck_err err;
    struct sqlitefile *file = sqlitefile_create(path, SCHEMA, &err);
    int statement = file == NULL ? -1 : sqlitefile_prepare(file, INSERT, &err);
    int64_t values[COLUMNS];

    if (statement < 0) {
        die(err.text);
    }
    for (int64_t i = 0; i < rows; i++) {
        row_make(i, values);
        sqlitefile_put_numbers(file, statement, values, COLUMNS);
        if (sqlitefile_error(file, &err) != 0) {
            die("no row");
        }
    }
    if (sqlitefile_finish(file, "", &err) != 0) {
        die(err.text);
    }
    sqlitefile_destroy(file);
    return now() - begun;
}

static double bare(const char *path, int64_t rows)
{
    double begun = now();
    sqlite3 *sqlite = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t values[COLUMNS];

    if (sqlite3_open(path, &sqlite) != SQLITE_OK ||
        sqlite3_exec(
            sqlite,
            "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;"
            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
            "PRAGMA cache_size = -16000; BEGIN;" SCHEMA,
            NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v3(sqlite, INSERT, -1, SQLITE_PREPARE_PERSISTENT,
                           &statement, NULL) != SQLITE_OK) {
        die("no bare file");
    }
    for (int64_t i = 0; i < rows; i++) {
        row_make(i, values);
        for (int k = 0; k < COLUMNS; k++) {
            (void)sqlite3_bind_int64(statement, k + 1, values[k]);
        }
        if (sqlite3_step(statement) != SQLITE_DONE) {
            die("no bare row");
        }
        (void)sqlite3_reset(statement);
    }
    (void)sqlite3_finalize(statement);
    if (sqlite3_exec(sqlite, "COMMIT;", NULL, NULL, NULL) != SQLITE_OK) {
        die("no bare end");
    }
    (void)sqlite3_close(sqlite);
    return now() - begun;
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 1000000;
    char dir[] = "/tmp/ck-sqliterows.XXXXXX";
    char path[sizeof(dir) + 8];
    double ratios[PAIRS];

    if (rows <= 0 || mkdtemp(dir) == NULL) {
        die("usage: bench_sqliterows [ROWS]");
    }
    (void)snprintf(path, sizeof(path), "%s/rows", dir);
    for (int i = 0; i < PAIRS; i++) {
        double own = ours(path, rows), other;

        (void)unlink(path);
        other = bare(path, rows);
        (void)unlink(path);
        ratios[i] = other / own;
        (void)printf("%" PRId64 " rows: sqlitefile.c %.2f s, bare %.2f s\n",
                     rows, own, other);
    }
    (void)rmdir(dir);
    qsort(ratios, PAIRS, sizeof(ratios[0]), compare);
    /* At least the target: its inverse is at most the target's. */
    (void)printf("SQLite rows a second / bare loop | %.2f | >= %.1f | %s\n",
                 ratios[PAIRS / 2], TARGET,
                 figure_verdict(1 / ratios[PAIRS / 2], 1 / TARGET, PAIRS));
    return 0;
}
