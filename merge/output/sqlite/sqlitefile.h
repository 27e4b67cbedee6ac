/* sqlitefile.h - an SQLite file that is written once, from empty to whole
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only file that knows libsqlite3. All is one transaction without a
 * journal, in a new file that takes the named one's place at the end
 * (outputfile.h): what was there before stays until all of it is on the disk.
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_SQLITEFILE_H
#define CK_MERGE_OUTPUT_SQLITE_SQLITEFILE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

struct sqlitefile;
/* A new file with these tables. NULL with err. */
struct sqlitefile *
sqlitefile_create(const char *path, const char *schema, struct ck_err *err);
/* Without sqlitefile_finish() before, nothing is left of it. */
void sqlitefile_destroy(struct sqlitefile *file);

/* A statement that puts a row, with ?1, ?2 ... for its values. Its number, or
 * -1 with err. */
int sqlitefile_prepare(struct sqlitefile *file,
                       const char *sql,
                       struct ck_err *err);
/* A value: a text, or the number where there is none. */
struct sqlitefile_value {
    int64_t number;
    const char *text;
};
/* Put a row. Errors stick and are returned by sqlitefile_error() and
 * sqlitefile_finish(). Bytes of a text that are not UTF-8 become U+FFFD. */
void sqlitefile_put(struct sqlitefile *file,
                    int statement,
                    const struct sqlitefile_value *values,
                    size_t count);
/* The same of numbers alone. */
void sqlitefile_put_numbers(struct sqlitefile *file,
                            int statement,
                            const int64_t *values,
                            size_t count);
/* 0, or -1: no more rows are put. NULL = the reason is not wanted. */
int sqlitefile_error(const struct sqlitefile *file, struct ck_err *err);
/* Run `last` (indexes and views) and put the file in place. 0, or -1 with err.
 */
int sqlitefile_finish(struct sqlitefile *file,
                      const char *last,
                      struct ck_err *err);

#endif
