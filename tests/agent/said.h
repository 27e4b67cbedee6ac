/* said.h - records of a part of the collector, read back from its frames
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_AGENT_SAID_H
#define CK_TESTS_AGENT_SAID_H

#include <stddef.h>

#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "schema/event.h"

struct said {
    void *memory;        /* of the outbox */
    struct spool *spool; /* never used: the outbox is large */
    struct framewriter framewriter;
    struct selfstream *selfstream;
    void *rows; /* all records so far */
    size_t bytes;
};

void said_init(struct said *said);
void said_fini(struct said *said);
/* Read all records so far. */
void said_read(struct said *said);
/* The next record of the kind behind `after` (NULL: the first), or NULL. */
const void *
said_next(const struct said *said, enum ck_kind kind, const void *after);

#endif
