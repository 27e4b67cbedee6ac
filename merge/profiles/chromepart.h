/* chromepart.h - the events of a part of a Chrome trace, packed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_PROFILES_CHROMEPART_H
#define CK_MERGE_PROFILES_CHROMEPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/chromeevent.h"

/* A place of the text that is not known. */
#define CHROMEPART_NOWHERE UINT64_MAX

struct chromepart {
    uint64_t start; /* where its first event begins */
    uint64_t stop;  /* where the first one behind it does; or NOWHERE */
    uint8_t *bytes;
    size_t used;
    size_t room;
};

void chromepart_fini(struct chromepart *part);

/* What reads parts. */
struct chromepart_reader;
/* Of the text of `fd`; `json` is in the array of events, its depth-th
 * container. */
struct chromepart_reader *
chromepart_reader_create(int fd, const struct json *json, unsigned depth);
void chromepart_reader_destroy(struct chromepart_reader *reader);

/* Where an event seems to begin in from..to, NOWHERE = none does. */
uint64_t
chromepart_find(struct chromepart_reader *reader, uint64_t from, uint64_t to);
/* Read events from the one at part->start to the first at or behind `to`. */
void chromepart_read(struct chromepart_reader *reader,
                     struct chromepart *part,
                     uint64_t to);
/* The event at *at of the packed ones; *at moves on. False: there is none. */
bool chromepart_event(const struct chromepart *part,
                      size_t *at,
                      struct chrome_event *event);

#endif
