/* database.h - an SQLite file that is written once, from empty to whole
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only file that knows libsqlite3. All is one transaction without a
 * journal, in a new file that takes the named one's place at the end
 * (outputfile.h): what was there before stays until all of it is on the disk.
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_DATABASE_H
#define CK_MERGE_OUTPUT_SQLITE_DATABASE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

struct database;
/* A new file with these tables. NULL with err. */
struct database *
database_create(const char *path, const char *schema, struct ck_err *err);
/* Without database_finish() before, nothing is left of it. */
void database_destroy(struct database *database);

/* A statement that puts a row, with ?1, ?2 ... for its values. Its number, or
 * -1 with err. */
int database_prepare(struct database *database,
                     const char *sql,
                     struct ck_err *err);
/* A value: a text, or the number where there is none. */
struct database_value {
    int64_t number;
    const char *text;
};
/* Put a row. 0, or -1: database_failed() has the reason. Bytes of a text that
 * are not UTF-8 become U+FFFD. */
int database_put(struct database *database,
                 int statement,
                 const struct database_value *values,
                 size_t count);
/* The same of numbers alone. */
int database_put_numbers(struct database *database,
                         int statement,
                         const int64_t *values,
                         size_t count);
void database_failed(const struct database *database, struct ck_err *err);
/* Run `last` (indexes and views) and put the file in place. 0, or -1 with err.
 */
int database_finish(struct database *database,
                    const char *last,
                    struct ck_err *err);

#endif
