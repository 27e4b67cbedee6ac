/* sockets.h - which rank's data a process waited for, outside of MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits for descriptors and then reads from a connection or a
 * pipe waited for what the other end sent; so did one that was blocked in the
 * read itself. Where the other end is another rank's, that is a stretch: from
 * when the thread began to wait, having read nothing since, to the end of its
 * last wait. Ends of one connection are distinguished by their addresses
 * (links.h); an end that several processes call theirs belongs to none.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_SOCKETS_H
#define CK_MERGE_ANALYSIS_HISTORY_SOCKETS_H

#include "merge/analysis/history/history.h"

/* The latest stretches of a process that are kept. */
#define SOCKETS_STRETCHES 64
/* Processes between the first and the last of a circle that is looked for. */
#define SOCKETS_CIRCLE 16

struct sockets_stretch {
    struct region part;
    uint32_t process; /* that waited */
    uint32_t peer;    /* process whose data came, or who was to read */
    bool is_write;
};

/* Which processes' waits for each other it is about. */
enum sockets_whom {
    SOCKETS_OF_RANKS,     /* of different ranks, for data */
    SOCKETS_OF_PROCESSES, /* of one rank or none, below one ckagent, and also
                             until what they wrote had room */
};

struct sockets;
/* Definitions borrowed, with all its names. */
struct sockets *sockets_create(const struct defs *defs, enum sockets_whom whom);
void sockets_destroy(struct sockets *sockets);
/* Does any process have an end whose other end another process has? */
bool sockets_has_any(const struct sockets *sockets);
/* The next event. True when it ended a stretch. */
bool sockets_take(struct sockets *sockets,
                  const struct timeline_event *event,
                  struct sockets_stretch *stretch);
/* The stretch of a process that an instant is in, NULL = none that is kept.
 */
const struct sockets_stretch *
sockets_find(const struct sockets *sockets, uint32_t process, ck_time_t time);
/* The same where the process waits for the peer then. Of several that await
 * each other's data in a circle all do but the one whose data come first: until
 * then, *until, it has something to send, and sends it without what it looks
 * for. */
const struct sockets_stretch *sockets_awaited(const struct sockets *sockets,
                                              uint32_t process,
                                              ck_time_t time,
                                              ck_time_t *until);
/* Does a call of libc wait for what other threads or connections bring? */
bool sockets_is_wait(const struct sockets *sockets,
                     const struct history_span *call);
/* What began by then may still become a stretch. */
ck_time_t sockets_horizon(const struct sockets *sockets, ck_time_t now);

#endif
