/* database.c - an SQLite file that is written once, from empty to whole
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/sqlite/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "merge/output/outputfile.h"
#include "merge/output/words.h"

#define STATEMENTS 24
/* Longest text of a row. */
#define TEXT_BYTES_MAX 65536

struct database {
    struct outputfile target;
    sqlite3 *sqlite;
    sqlite3_stmt *statements[STATEMENTS];
    int count;
    bool is_open; /* the target is */
    char text[3 * TEXT_BYTES_MAX + 1];
};

static int run(struct database *database, const char *sql, struct ck_err *err)
{
    char *why = NULL;

    if (sqlite3_exec(database->sqlite, sql, NULL, NULL, &why) == SQLITE_OK) {
        return 0;
    }
    (void)ck_err_set(err, "cannot write %s: %s", database->target.named,
                     why == NULL ? "out of memory" : why);
    sqlite3_free(why);
    return -1;
}

/* 0, or -1 with err. */
static int
file_open(struct database *database, const char *path, struct ck_err *err)
{
    if (outputfile_open(&database->target, path, 0600, err) != 0) {
        return -1;
    }
    database->is_open = true;
    (void)close(database->target.fd);
    if (database->target.fresh[0] == '\0') {
        return ck_err_set(err,
                          "%s is no plain file: --output sqlite writes one "
                          "that it can seek in; name a file",
                          path);
    }
    if (sqlite3_open_v2(database->target.fresh, &database->sqlite,
                        SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        return ck_err_set(err, "cannot write %s: %s", path,
                          database->sqlite == NULL
                              ? "out of memory"
                              : sqlite3_errmsg(database->sqlite));
    }
    return 0;
}

struct database *
database_create(const char *path, const char *schema, struct ck_err *err)
{
    struct database *database = calloc(1, sizeof(*database));

    if (database == NULL) {
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    if (file_open(database, path, err) != 0 ||
        run(database,
            "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; "
            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
            "PRAGMA cache_size = -16000; BEGIN;",
            err) != 0 ||
        run(database, schema, err) != 0) {
        database_destroy(database);
        return NULL;
    }
    return database;
}

static void close_all(struct database *database)
{
    for (int i = 0; i < database->count; i++) {
        (void)sqlite3_finalize(database->statements[i]);
    }
    database->count = 0;
    (void)sqlite3_close(database->sqlite);
    database->sqlite = NULL;
}

void database_destroy(struct database *database)
{
    struct ck_err unused;

    if (database == NULL) {
        return;
    }
    close_all(database);
    if (database->is_open) {
        errno = ECANCELED;
        (void)outputfile_close(&database->target, false, &unused);
    }
    free(database);
}

int database_prepare(struct database *database,
                     const char *sql,
                     struct ck_err *err)
{
    if (database->count == STATEMENTS ||
        sqlite3_prepare_v3(database->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &database->statements[database->count],
                           NULL) != SQLITE_OK) {
        return ck_err_set(err, "cannot write %s: %s", database->target.named,
                          sqlite3_errmsg(database->sqlite));
    }
    return database->count++;
}

static int step(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : -1;
}

/* As UTF-8, in the database's own room. */
static int bind_text(struct database *database,
                     sqlite3_stmt *statement,
                     int at,
                     const char *text)
{
    size_t used = 0;

    for (size_t i = 0; text[i] != '\0' && i < TEXT_BYTES_MAX;) {
        size_t bytes = word_utf8(text + i);

        if (bytes == 0) {
            memcpy(database->text + used, "\357\277\275", 3);
            used += 3;
            i++;
        } else {
            memcpy(database->text + used, text + i, bytes);
            used += bytes;
            i += bytes;
        }
    }
    return sqlite3_bind_text(statement, at, database->text, (int)used,
                             SQLITE_TRANSIENT);
}

int database_put(struct database *database,
                 int number,
                 const struct database_value *values,
                 size_t count)
{
    sqlite3_stmt *statement = database->statements[number];

    for (size_t i = 0; i < count; i++) {
        int rc =
            values[i].text != NULL
                ? bind_text(database, statement, (int)i + 1, values[i].text)
                : sqlite3_bind_int64(statement, (int)i + 1, values[i].number);

        if (rc != SQLITE_OK) {
            return -1;
        }
    }
    return step(statement);
}

int database_put_numbers(struct database *database,
                         int number,
                         const int64_t *values,
                         size_t count)
{
    sqlite3_stmt *statement = database->statements[number];

    for (size_t i = 0; i < count; i++) {
        if (sqlite3_bind_int64(statement, (int)i + 1, values[i]) != SQLITE_OK) {
            return -1;
        }
    }
    return step(statement);
}

void database_failed(const struct database *database, struct ck_err *err)
{
    (void)ck_err_set(err, "cannot write %s: %s", database->target.named,
                     sqlite3_errmsg(database->sqlite));
}

/* sqlite3_close() does not tell that the disk is full: COMMIT did. */
int database_finish(struct database *database,
                    const char *last,
                    struct ck_err *err)
{
    int fd;
    bool is_good;

    if (run(database, last, err) != 0 || run(database, "COMMIT;", err) != 0) {
        return -1;
    }
    close_all(database);
    fd = open(database->target.fresh, O_RDONLY | O_CLOEXEC);
    is_good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    database->is_open = false;
    return outputfile_close(&database->target, is_good, err);
}
