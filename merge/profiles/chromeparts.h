/* chromeparts.h - the events of one Chrome trace, read by several threads
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text is cut into parts of equal length. Each thread takes the next part
 * that no other has, looks for the first event that seems to begin in it, and
 * reads up to the first that begins behind it. They are handed on in the order
 * of the text, by the caller's thread. Where a part was begun at a wrong place,
 * the part before it shows it, and it is read once more from the right one:
 * what comes out is what one thread would read.
 */
#ifndef CK_MERGE_PROFILES_CHROMEPARTS_H
#define CK_MERGE_PROFILES_CHROMEPARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/chromeevent.h"

struct chromeparts_plan {
    int fd;            /* of the plain text; borrowed */
    uint64_t from;     /* an event begins there */
    uint64_t to;       /* end of the text */
    size_t part_bytes; /* at least 1 */
    unsigned threads;  /* at least 1, the caller's among them */
    unsigned depth;    /* of the array of events: json_depth() */
};

struct chromeparts;
/* `json` is in the array of events (borrowed until this returns). */
struct chromeparts *chromeparts_create(const struct chromeparts_plan *plan,
                                       const struct json *json);
/* Stops the threads. */
void chromeparts_destroy(struct chromeparts *parts);
/* The next event. False: the caller goes on by itself, from
 * chromeparts_offset(), where a value of the array begins: the end of the
 * array, and what is wrong, are for one thread to see. */
bool chromeparts_next(struct chromeparts *parts, struct chrome_event *event);
uint64_t chromeparts_offset(const struct chromeparts *parts);

#endif
