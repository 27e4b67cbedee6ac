/* json.h - a JSON writer: text into a growing buffer or a file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     struct ck_json *j = ck_json_create(stdout);      or NULL: to memory
 *     ck_json_object(j, NULL);
 *     ck_json_string(j, "name", "train");
 *     ck_json_array(j, "ranks");  ck_json_int(j, NULL, 0);  ck_json_end(j);
 *     ck_json_end(j);
 *     if (ck_json_finish(j) != 0) ...
 *
 * Strings are escaped; bytes that are not UTF-8 become U+FFFD. Errors stick
 * and are returned by ck_json_finish().
 */
#ifndef CK_SCHEMA_JSON_H
#define CK_SCHEMA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ck_json;

/* `file` is borrowed. NULL with ENOMEM. is_pretty: an indented line a value,
 * else compact. */
struct ck_json *ck_json_create(FILE *file, bool is_pretty);
void ck_json_destroy(struct ck_json *json);

/* name NULL inside an array or at the top. */
void ck_json_object(struct ck_json *json, const char *name);
void ck_json_array(struct ck_json *json, const char *name);
void ck_json_end(struct ck_json *json); /* of the innermost of both */
void ck_json_string(struct ck_json *json, const char *name, const char *text);
/* The same of so many bytes, NULs among them too; there is one behind them. */
void ck_json_bytes(struct ck_json *json,
                   const char *name,
                   const char *text,
                   size_t length);
void ck_json_int(struct ck_json *json, const char *name, int64_t value);
void ck_json_uint(struct ck_json *json, const char *name, uint64_t value);
/* Shortest text that reads back; NaN and infinities become null. */
void ck_json_double(struct ck_json *json, const char *name, double value);
void ck_json_bool(struct ck_json *json, const char *name, bool value);
void ck_json_null(struct ck_json *json, const char *name);

/* The caller cannot go on, for that reason: ck_json_finish() will return it. */
void ck_json_fail(struct ck_json *json, int error);
/* Close what is open, flush. 0, or -1 with errno of the first failure. */
int ck_json_finish(struct ck_json *json);
/* The text so far when created without a file; borrowed. */
const char *ck_json_text(const struct ck_json *json, size_t *length);
/* Finish a writer without a file, destroy it, and return its text (taken);
 * NULL with errno of the first failure. */
char *ck_json_take(struct ck_json *json);

#endif
