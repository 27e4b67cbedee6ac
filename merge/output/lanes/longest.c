/* longest.c - which of many pieces of time are the longest, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/longest.h"

#include <stdlib.h>

#include "merge/model/memory.h"

/* The heap has the shortest one first. */
struct longest_piece {
    ck_time_t length;
    size_t place;
};

void longest_fini(struct longest *longest)
{
    free(longest->heap);
    longest->heap = NULL;
    longest->count = 0;
}

/* Up from the end. */
static void rise(struct longest_piece *heap, size_t at)
{
    struct longest_piece moved = heap[at];

    while (at > 0 && heap[(at - 1) / 2].length > moved.length) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

/* Down from the top. */
static void sink(struct longest_piece *heap, size_t count)
{
    struct longest_piece moved = heap[0];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child +=
            child + 1 < count && heap[child + 1].length < heap[child].length;
        if (heap[child].length >= moved.length) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

size_t longest_put(struct longest *longest, ck_time_t length)
{
    struct longest_piece *heap = longest->heap;
    ck_time_t shorter;
    size_t place;

    if (heap == NULL) {
        heap = longest->heap = xcalloc(longest->most, sizeof(*heap));
    }
    if (longest->count < longest->most) {
        heap[longest->count] = (struct longest_piece){length, longest->count};
        rise(heap, longest->count);
        return longest->count++;
    }
    shorter = length < heap[0].length ? length : heap[0].length;
    longest->left_out =
        shorter > longest->left_out ? shorter : longest->left_out;
    if (length <= heap[0].length) {
        return LONGEST_NONE;
    }
    place = heap[0].place;
    heap[0].length = length;
    sink(heap, longest->count);
    return place;
}
