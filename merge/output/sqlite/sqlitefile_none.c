/* sqlitefile_none.c - the SQLite file of a build without libsqlite3: none
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/sqlite/sqlitefile.h"

struct sqlitefile *
sqlitefile_create(const char *path, const char *schema, struct ck_err *err)
{
    (void)schema;
    (void)ck_err_set(err,
                     "cannot write %s: this ckmerge was built without "
                     "libsqlite3",
                     path);
    return NULL;
}

void sqlitefile_destroy(struct sqlitefile *file)
{
    (void)file;
}

/* The rest is for a file that was made. */
static int refuse(struct ck_err *err)
{
    return ck_err_set(err, "there is no libsqlite3");
}

int sqlitefile_prepare(struct sqlitefile *file,
                       const char *sql,
                       struct ck_err *err)
{
    (void)file;
    (void)sql;
    return refuse(err);
}

void sqlitefile_put(struct sqlitefile *file,
                    int statement,
                    const struct sqlitefile_value *values,
                    size_t count)
{
    (void)file;
    (void)statement;
    (void)values;
    (void)count;
}

void sqlitefile_put_numbers(struct sqlitefile *file,
                            int statement,
                            const int64_t *values,
                            size_t count)
{
    (void)file;
    (void)statement;
    (void)values;
    (void)count;
}

int sqlitefile_error(const struct sqlitefile *file, struct ck_err *err)
{
    (void)file;
    return refuse(err);
}

int sqlitefile_finish(struct sqlitefile *file,
                      const char *last,
                      struct ck_err *err)
{
    (void)file;
    (void)last;
    return refuse(err);
}
