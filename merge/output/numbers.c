/* numbers.c - unsigned LEB128 numbers in bytes that grow
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/numbers.h"

#include <stdlib.h>

#include "merge/model/memory.h"

#define ROOM_LEAST 4096

void numbers_reserve(struct numbers *numbers, size_t count)
{
    size_t wanted = numbers->used + count * NUMBER_MOST;
    size_t room = numbers->room < ROOM_LEAST ? ROOM_LEAST : numbers->room;
    unsigned char *grown;

    if (wanted <= numbers->room) {
        return;
    }
    while (room < wanted) {
        room *= 2;
    }
    grown = xrealloc(numbers->at, room);
    numbers->at = grown;
    numbers->room = room;
}
