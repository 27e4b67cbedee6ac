/* jsonover.h - over a container of JSON that is not asked for, by its marks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The whole grammar is checked on the way. What is rare (escapes, bytes above
 * 127, NaN, deep nesting, the end of the marks) is left to the caller.
 */
#ifndef CK_MERGE_JSON_JSONOVER_H
#define CK_MERGE_JSON_JSONOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/json/jsonmarks.h"

/* With fewer marks left it has come to their end. */
#define JSON_OVER_LEAST 8

struct json_over {
    /* The mark behind the bracket that closes it, or of what wants a look. */
    const uint16_t *next;
    bool is_over;
};

/* From behind the bracket that opens it: the next mark. */
struct json_over json_over(const struct json_marks *marks, bool is_object);

#endif
