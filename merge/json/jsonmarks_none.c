/* jsonmarks_none.c - processors other than x86-64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/json/jsonmarks.h"

#include <assert.h>

bool json_marks_can(void)
{
    return false;
}

void json_marks_find(struct json_marks *marks, uint8_t *text, size_t bytes)
{
    (void)marks;
    (void)text;
    (void)bytes;
    assert(!"called where it is not there");
}
