/* sqlitefile.c - an SQLite file that is written once, from empty to whole
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/sqlite/sqlitefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "merge/model/memory.h"
#include "merge/output/outputfile.h"
#include "merge/output/words.h"

#define STATEMENTS 24
/* Longest text of a row. */
#define TEXT_BYTES_MAX 65536

struct sqlitefile {
    struct outputfile target;
    sqlite3 *sqlite;
    sqlite3_stmt *statements[STATEMENTS];
    int count;
    bool is_open; /* the target is */
    bool is_failed;
    struct ck_err why; /* it failed */
    char text[3 * TEXT_BYTES_MAX + 1];
};

static int run(struct sqlitefile *file, const char *sql, struct ck_err *err)
{
    char *why = NULL;

    if (sqlite3_exec(file->sqlite, sql, NULL, NULL, &why) == SQLITE_OK) {
        return 0;
    }
    (void)ck_err_set(err, "cannot write %s: %s", file->target.named,
                     why == NULL ? "out of memory" : why);
    sqlite3_free(why);
    return -1;
}

/* 0, or -1 with err. */
static int
file_open(struct sqlitefile *file, const char *path, struct ck_err *err)
{
    if (outputfile_open(&file->target, path, 0600, err) != 0) {
        return -1;
    }
    file->is_open = true;
    (void)close(file->target.fd);
    if (file->target.fresh[0] == '\0') {
        return ck_err_set(err,
                          "%s is no plain file: --output sqlite writes one "
                          "that it can seek in; name a file",
                          path);
    }
    if (sqlite3_open_v2(file->target.fresh, &file->sqlite,
                        SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        return ck_err_set(err, "cannot write %s: %s", path,
                          file->sqlite == NULL ? "out of memory"
                                               : sqlite3_errmsg(file->sqlite));
    }
    return 0;
}

struct sqlitefile *
sqlitefile_create(const char *path, const char *schema, struct ck_err *err)
{
    struct sqlitefile *file = xcalloc(1, sizeof(*file));

    if (file_open(file, path, err) != 0 ||
        run(file,
            "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; "
            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
            "PRAGMA cache_size = -16000; BEGIN;",
            err) != 0 ||
        run(file, schema, err) != 0) {
        sqlitefile_destroy(file);
        return NULL;
    }
    return file;
}

static void close_all(struct sqlitefile *file)
{
    for (int i = 0; i < file->count; i++) {
        (void)sqlite3_finalize(file->statements[i]);
    }
    file->count = 0;
    (void)sqlite3_close(file->sqlite);
    file->sqlite = NULL;
}

void sqlitefile_destroy(struct sqlitefile *file)
{
    struct ck_err unused;

    if (file == NULL) {
        return;
    }
    close_all(file);
    if (file->is_open) {
        errno = ECANCELED;
        (void)outputfile_close(&file->target, false, &unused);
    }
    free(file);
}

int sqlitefile_prepare(struct sqlitefile *file,
                       const char *sql,
                       struct ck_err *err)
{
    if (file->count == STATEMENTS ||
        sqlite3_prepare_v3(file->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &file->statements[file->count], NULL) != SQLITE_OK) {
        return ck_err_set(err, "cannot write %s: %s", file->target.named,
                          sqlite3_errmsg(file->sqlite));
    }
    return file->count++;
}

/* Write the row whose values were bound with that result. */
static void row_put(struct sqlitefile *file, sqlite3_stmt *statement, int bound)
{
    int rc = bound == SQLITE_OK ? sqlite3_step(statement) : bound;

    (void)sqlite3_reset(statement);
    if (rc != SQLITE_DONE) {
        file->is_failed = true;
        (void)ck_err_set(&file->why, "cannot write %s: %s", file->target.named,
                         sqlite3_errmsg(file->sqlite));
    }
}

/* As UTF-8, in the file's own room. */
static int bind_text(struct sqlitefile *file,
                     sqlite3_stmt *statement,
                     int at,
                     const char *text)
{
    size_t used = 0;

    for (size_t i = 0; text[i] != '\0' && i < TEXT_BYTES_MAX;) {
        size_t bytes = word_utf8(text + i);

        if (bytes == 0) {
            memcpy(file->text + used, "\357\277\275", 3);
            used += 3;
            i++;
        } else {
            memcpy(file->text + used, text + i, bytes);
            used += bytes;
            i += bytes;
        }
    }
    return sqlite3_bind_text(statement, at, file->text, (int)used,
                             SQLITE_TRANSIENT);
}

void sqlitefile_put(struct sqlitefile *file,
                    int number,
                    const struct sqlitefile_value *values,
                    size_t count)
{
    sqlite3_stmt *statement = file->statements[number];
    int rc = SQLITE_OK;

    if (file->is_failed) {
        return;
    }
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        rc = values[i].text != NULL
                 ? bind_text(file, statement, (int)i + 1, values[i].text)
                 : sqlite3_bind_int64(statement, (int)i + 1, values[i].number);
    }
    row_put(file, statement, rc);
}

void sqlitefile_put_numbers(struct sqlitefile *file,
                            int number,
                            const int64_t *values,
                            size_t count)
{
    sqlite3_stmt *statement = file->statements[number];
    int rc = SQLITE_OK;

    if (file->is_failed) {
        return;
    }
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        rc = sqlite3_bind_int64(statement, (int)i + 1, values[i]);
    }
    row_put(file, statement, rc);
}

int sqlitefile_error(const struct sqlitefile *file, struct ck_err *err)
{
    if (file->is_failed && err != NULL) {
        *err = file->why;
    }
    return file->is_failed ? -1 : 0;
}

/* sqlite3_close() does not report that the disk is full: COMMIT did. */
int sqlitefile_finish(struct sqlitefile *file,
                      const char *last,
                      struct ck_err *err)
{
    int fd;
    bool is_good;

    if (sqlitefile_error(file, err) != 0 || run(file, last, err) != 0 ||
        run(file, "COMMIT;", err) != 0) {
        return -1;
    }
    close_all(file);
    fd = open(file->target.fresh, O_RDONLY | O_CLOEXEC);
    is_good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    file->is_open = false;
    return outputfile_close(&file->target, is_good, err);
}
