/* sink.h - a file that is written as it grows, plain or .gz
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_SINK_H
#define CK_MERGE_OUTPUT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

struct sink;
/* Create the file anew; compressed when the path ends in ".gz". NULL with
 * err. */
struct sink *sink_create(const char *path, struct ck_err *err);
void sink_destroy(struct sink *sink);
/* Errors stick and are returned by sink_finish(). */
void sink_bytes(struct sink *sink, const char *bytes, size_t length);
void sink_text(struct sink *sink, const char *text);
void sink_int(struct sink *sink, int64_t value);
/* Nanoseconds as microseconds with three decimals. */
void sink_us(struct sink *sink, int64_t ns);
/* A JSON string with its quotes: any bytes are safe. */
void sink_string(struct sink *sink, const char *text);
/* 0, or -1 with errno: nothing more may be written. */
int sink_error(const struct sink *sink);
/* As it was named; borrowed. */
const char *sink_path(const struct sink *sink);
/* Write the rest and close. 0, or -1 with err. */
int sink_finish(struct sink *sink, struct ck_err *err);

#endif
