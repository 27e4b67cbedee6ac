/* flatjson.h - a report's JSON as a list of paths and values
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * "ranks.0.waited_ns" -> "1200". Failures end the test.
 */
#ifndef CK_TESTS_MERGE_FLATJSON_H
#define CK_TESTS_MERGE_FLATJSON_H

#include <stddef.h>
#include <stdint.h>

#define FLATJSON_PATH 192
#define FLATJSON_VALUE 96

struct flatjson_item {
    char path[FLATJSON_PATH];
    char value[FLATJSON_VALUE]; /* as written; true, false, null */
};

struct flatjson {
    struct flatjson_item *items; /* in order of the text */
    size_t count, room;
};

/* Read a text; what was in it before goes. */
void flatjson_read(struct flatjson *flat, const char *text);
void flatjson_fini(struct flatjson *flat);
/* The value at a path, NULL = there is none. */
const char *flatjson_at(const struct flatjson *flat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sum of a field over the rows of a table: "step_table.rows", "waited_ns". */
int64_t
flatjson_sum(const struct flatjson *flat, const char *table, const char *field);
/* Number of the table's row in which the field has the value, -1 = none. */
int flatjson_row(const struct flatjson *flat,
                 const char *table,
                 const char *field,
                 const char *value);

#endif
